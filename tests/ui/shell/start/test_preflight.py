"""What is looked for before Qt is loaded: each thing missing is named in one sentence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from studio.ui.shell.start.preflight import can_load, check_display, check_window

ROOT = Path(__file__).resolve().parents[4]


def everything(_library: str) -> bool:
    return True


def test_no_display_at_all_is_said_before_any_library() -> None:
    found = check_window({}, "linux", lambda _: False)
    assert not found.ok
    assert "no display" in found.problem
    assert "DISPLAY is not set" in found.problem


def test_a_display_that_does_not_answer_is_named() -> None:
    found = check_window({"DISPLAY": ":9999"}, "linux", everything)
    assert not found.ok
    assert found.problem == "the display :9999 cannot be opened"


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("libxcb-cursor.so.0", "libxcb-cursor0"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libEGL.so.1", "libegl1"),
    ],
)
def test_a_missing_library_comes_with_the_command_that_installs_it(
    missing: str, package: str, qapp_args: list[str]
) -> None:
    found = check_window(dict(os.environ), "linux", lambda name: name != missing)
    assert not found.ok
    assert missing in found.problem
    assert package in found.hint
    assert "apt-get install" in found.hint
    assert "\n" not in found.problem


def test_several_missing_libraries_are_one_sentence_and_one_command(qapp_args) -> None:
    gone = ("libxcb-cursor.so.0", "libxcb-icccm.so.4")
    found = check_window(dict(os.environ), "linux", lambda name: name not in gone)
    assert "are not installed" in found.problem
    assert found.packages == ("libxcb-cursor0", "libxcb-icccm4")


def test_the_display_of_the_tests_is_fine(qapp_args: list[str]) -> None:
    assert check_window(dict(os.environ)).ok


def test_platforms_without_a_screen_need_none() -> None:
    assert check_window({"QT_QPA_PLATFORM": "offscreen"}, "linux", everything).ok
    assert check_window({}, "win32", lambda _: False).ok
    assert check_window({}, "darwin", lambda _: False).ok


def test_a_compositor_is_asked_over_its_socket(tmp_path: Path) -> None:
    environment = {"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert not check_display(environment, x11=False).ok
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen()
        assert check_display(environment, x11=False).ok


def test_libraries_are_really_tried() -> None:
    assert can_load("libc.so.6")
    assert not can_load("libno-such-thing.so.1")


def glassbox(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "studio", *words], cwd=ROOT, env=inherited | environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("nothing.glassbox",), ("--reset-layout",), ("open",)])
def test_without_a_display_one_sentence_and_code_2(words: tuple[str, ...]) -> None:
    answer = glassbox(*words)
    assert answer.returncode == 2
    assert "no display" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


@pytest.mark.slow
def test_a_dead_display_gives_one_sentence_and_code_2() -> None:
    answer = glassbox(DISPLAY=":9999")
    assert answer.returncode == 2
    assert "the display :9999 cannot be opened" in answer.stderr


def test_looking_first_loads_no_qt() -> None:
    code = (
        "import sys; from studio.ui.shell.start.preflight import check_window; check_window();"
        "sys.exit(any(name.startswith('PySide6') for name in sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert answer.returncode == 0
