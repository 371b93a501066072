"""What belongs to the quick part: a sample of each table, and a report of what takes long in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick_part import SECONDS, SHOWN, too_long
from tests.tables import sampled

ROOT = Path(__file__).resolve().parent.parent

TWO_TESTS = """
import pytest

@pytest.mark.slow
def test_marked(): pass

def test_unmarked(): pass
"""


def test_one_case_of_each_kind_is_quick() -> None:
    made = sampled(["add-1", "add-2", "mul-1", "add-3"], by=lambda case: case[:3])
    assert [param.id for param in made] == ["add-1", "add-2", "mul-1", "add-3"]
    assert [[mark.name for mark in param.marks] for param in made] == [[], ["slow"], [], ["slow"]]


def test_the_longest_tests_come_first_and_quick_ones_are_left_out() -> None:
    assert too_long({"a": SECONDS, "b": SECONDS + 1, "c": SECONDS + 2}) == [
        f"{SECONDS + 2:6.1f} s  c", f"{SECONDS + 1:6.1f} s  b",
    ]  # fmt: skip
    many = too_long({f"test {number}": SECONDS + 1 + number for number in range(SHOWN + 5)})
    assert len(many) == SHOWN + 1
    assert many[-1] == "and 5 more"


@pytest.mark.slow
def test_a_run_reports_what_is_long_without_the_mark_and_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    (tmp_path / "conftest.py").write_text(
        "import tests.quick_part\n"
        "tests.quick_part.SECONDS = -1.0\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'slow: long')\n"
        "    config.pluginmanager.register(tests.quick_part.QuickPart())\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout
    _, _, report = done.stdout.partition("without the mark slow")
    assert "test_two.py::test_unmarked" in report
    assert "test_marked" not in report.replace("test_unmarked", "")
