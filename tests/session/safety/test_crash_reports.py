"""Faults of the process: written down, found by the next start, kept, never made up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from studio.engine.core.process_identity import ProcessIdentity
from studio.session.safety.crash_reports import CrashReports

ROOT = Path(__file__).resolve().parents[3]
CHILD = """
import ctypes, os, sys
from pathlib import Path
from studio.session.safety.crash_reports import CrashReports
reports = CrashReports(Path(sys.argv[1]))
reports.begin()
if sys.argv[2] == "fault":
    ctypes.string_at(0)
elif sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
reports.end()
"""


def no_watch(_file: IO[bytes] | None) -> None:
    """The tests' own handler of faults stays."""


def run(folder: Path, end: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), end], cwd=ROOT, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    return done.returncode


def start(folder: Path) -> tuple[Path, ...]:
    reports = CrashReports(folder, watch=no_watch)
    found = reports.begin()
    reports.end()
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_fault_is_reported_once_with_where_it_was(tmp_path: Path) -> None:
    assert run(tmp_path, "fault") < 0
    (report,) = start(tmp_path)
    text = report.read_text()
    assert "Segmentation fault" in text
    assert "string_at" in text
    assert "Glassbox" in text
    assert start(tmp_path) == ()
    assert report.is_file()


@pytest.mark.parametrize("end", ["well", "killed"])
def test_an_end_that_is_no_fault_leaves_nothing(tmp_path: Path, end: str) -> None:
    run(tmp_path, end)
    assert start(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_running_window_is_left_alone_and_five_reports_are_kept(tmp_path: Path) -> None:
    running = CrashReports(tmp_path, watch=no_watch)
    running.begin()
    for number in range(8):
        (tmp_path / f"{number}.running").write_text(f"process 0 gone\n\nfault {number}")
    (tmp_path / "damaged.running").write_bytes(b"\xff\xfe")
    other = CrashReports(tmp_path, ProcessIdentity(1, "another window"), no_watch)
    found = other.begin()
    assert {path.read_text().split()[-1] for path in found} <= {str(n) for n in range(8)}
    assert len(found) == len(list(tmp_path.glob("*.txt"))) == 5
    assert len(list(tmp_path.glob("*.running"))) == 2
    other.end()
    running.end()
    assert list(tmp_path.glob("*.running")) == []


def test_a_folder_that_cannot_be_made_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    reports = CrashReports(blocked / "crashes", watch=no_watch)
    assert reports.begin() == ()
    reports.end()
    assert "not written down" in caplog.text
