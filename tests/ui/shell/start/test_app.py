"""Starting and ending the studio: options, scale, signals, the main job, and how long it takes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.engine.train.project.project import Project
from studio.session.core.preferences import Preferences
from studio.ui.shell.start import app
from studio.ui.shell.start.app import StudioApp, choose_scale
from studio.ui.shell.start.launch import LaunchOptions
from studio.ui.shell.start.scale import ScaleQuestion, largest_scale
from studio.ui.shell.window import LEAST
from studio.widgets import theme

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def dirs(tmp_path: Path) -> AppDirs:
    return AppDirs.below(tmp_path / "places")


@pytest.fixture
def start(
    qtbot: QtBot, qapp: QApplication, dirs: AppDirs, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., StudioApp]]:
    """Starts the studio in this process."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    interval = sys.getswitchinterval()
    made: list[StudioApp] = []

    def begin(**options: object) -> StudioApp:
        chosen = LaunchOptions(**options)
        session = StudioApp(qapp, chosen, dirs, choose_scale(chosen, dirs))
        made.append(session)
        session.begin()
        qtbot.waitUntil(lambda: session.window.is_ready)
        return session

    monkeypatch.setenv("QT_SCALE_FACTOR", "")
    yield begin
    for session in reversed(made):
        session.studio.document.history.mark_clean()
        session.window.close()
        qtbot.waitUntil(lambda session=session: not session.window.isVisible())
        session.close()
        session.window.deleteLater()
    sys.setswitchinterval(interval)


def test_a_project_is_opened_and_shown(start: Callable[..., StudioApp], project: Path) -> None:
    session = start(project=project)
    assert not session.window.is_welcoming
    assert session.studio.document.path == project


def test_a_project_that_cannot_be_read_leaves_the_welcome_page(
    start: Callable[..., StudioApp], tmp_path: Path
) -> None:
    session = start(project=tmp_path / "missing.glassbox")
    assert session.window.is_welcoming
    assert session.studio.notices.all[-1].severity == "error"


def test_a_theme_for_one_start_is_not_kept(start: Callable[..., StudioApp], dirs: AppDirs) -> None:
    session = start(theme="light")
    assert theme.current().mode == "light"
    session.studio.preferences.set("minimap", False)
    assert Preferences(dirs.config / "preferences.json").text("theme") == "system"


def test_preferences_are_in_force_at_once(start: Callable[..., StudioApp]) -> None:
    session = start()
    preferences = session.studio.preferences
    preferences.set("theme", "light")
    assert theme.current().mode == "light"
    preferences.set("high_contrast", True)
    assert theme.colour("text3") == theme.colour("text")
    preferences.set("reduced_motion", True)
    assert theme.duration(100) == 0
    preferences.set("reduced_motion", False)
    for choice, seconds in app.SWITCH_INTERVALS.items():
        preferences.set("priority", choice)
        assert sys.getswitchinterval() == pytest.approx(seconds)


def test_the_last_project_opens_where_that_is_wanted(
    start: Callable[..., StudioApp], dirs: AppDirs, project: Path
) -> None:
    Preferences(dirs.config / "preferences.json").set("restore_session", True)
    first = start(project=project)
    first.window.close()
    second = start()
    assert second.studio.document.path == project.resolve()


def test_a_new_scale_asks_whether_it_is_to_stay(
    start: Callable[..., StudioApp], dirs: AppDirs, qtbot: QtBot
) -> None:
    Preferences(dirs.config / "preferences.json").set("scale", 125)
    session = start()
    assert os.environ["QT_SCALE_FACTOR"] == "1.25"
    qtbot.waitUntil(lambda: session.window.findChild(ScaleQuestion) is not None)
    question = session.window.findChild(ScaleQuestion)
    question.findChild(QPushButton, "keep").click()
    qtbot.waitUntil(lambda: session.window.findChild(ScaleQuestion) is None)
    assert session.studio.preferences.number("scale") == 125


def test_a_scale_that_does_not_fit_the_screen_is_limited_before_it_is_applied(
    start: Callable[..., StudioApp], dirs: AppDirs
) -> None:
    session = start()
    studio, screen = session.studio, session.window.screen().availableSize()
    most = largest_scale(screen, 100, LEAST)
    assert screen.width() * 100 / most >= LEAST.width()
    assert screen.height() * 100 / most >= LEAST.height()
    studio.preferences.set("scale", most)
    assert studio.preferences.number("scale") == most
    assert not studio.notices.all
    studio.preferences.set("scale", 300)
    assert studio.preferences.number("scale") == most < 300
    assert Preferences(dirs.config / "preferences.json").number("scale") == most
    assert [notice.text for notice in studio.notices.all] == [
        f"300 % does not fit this screen. The scale is now {most} %."
    ]


@pytest.mark.parametrize(
    ("screen", "scale", "most"),
    [((2560, 1440), 100, 225), ((1920, 1080), 100, 150), ((1280, 720), 200, 225), ((640, 480), 100, 75)],  # noqa: E501
)  # fmt: skip
def test_the_largest_scale_is_the_one_at_which_the_window_fits(
    screen: tuple[int, int], scale: int, most: int
) -> None:
    assert largest_scale(QSize(*screen), scale, QSize(1024, 640)) == most


def test_a_scale_of_the_command_line_is_not_asked_about(
    start: Callable[..., StudioApp], dirs: AppDirs
) -> None:
    session = start(scale=150)
    assert os.environ["QT_SCALE_FACTOR"] == "1.5"
    assert session.window.findChild(ScaleQuestion) is None


def test_a_safe_restart_leaves_the_users_own_out_and_keeps_the_project(
    start: Callable[..., StudioApp], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start(project=project)
    codes: list[int] = []
    monkeypatch.setattr(session._app, "exit", codes.append)
    assert session.studio.actions.trigger("help.restart_safe")
    session.window.restart()
    assert codes == [app.RESTART_SAFE, app.RESTART]
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, words: commands.append(words))
    app._start_again(project, safe=True)
    app._start_again(None, safe=False)
    assert commands[0][-2:] == [str(project), "--safe"]
    assert commands[1][-1] == "studio"


def test_a_fault_of_the_last_time_is_told_and_can_be_copied(
    start: Callable[..., StudioApp], tmp_path: Path
) -> None:
    session = start()
    session.tell_crashes(())
    assert not session.studio.notices.all
    report = tmp_path / "report.txt"
    report.write_text("Segmentation fault in paint")
    session.tell_crashes([tmp_path / "older.txt", report])
    notice = session.studio.notices.all[-1]
    assert str(report) in notice.details
    word, copy = notice.action
    assert word == "Copy report"
    copy()
    assert QApplication.clipboard().text() == "Segmentation fault in paint"


def test_a_scale_multiplies_with_that_of_the_environment(
    dirs: AppDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_SCALE_FACTOR", "2")
    choose_scale(LaunchOptions(scale=150), dirs)
    assert os.environ["QT_SCALE_FACTOR"] == "3"


# -- in a process of its own ----------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path, qapp_args: list[str]) -> dict[str, str]:
    """The tests' display, and folders of the user in a place of their own."""
    names = ("CONFIG", "STATE", "CACHE", "DATA")
    folders = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in names}
    return dict(os.environ) | folders


def run(environment: dict[str, str], *words: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "studio", *words], cwd=ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_the_main_job_in_the_window(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "made"
    process = run(environment, "demo", "--out", str(out), "--exit", "--backend", "cpu")
    written, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    found = re.search(r"^test accuracy: (0\.\d{4})$", written, re.MULTILINE)
    assert found is not None, written
    assert float(found[1]) > 0.97
    assert re.search(r"^weights: +epoch \d+.*, final.safetensors, run ", written, re.MULTILINE), (
        written
    )
    for outcome in ("gbi", "gbasm", "safetensors", "npz"):
        assert (out / f"digits-cnn.{outcome}").is_file()
        assert (
            f"digits-cnn.{outcome}: reloaded by Glassbox, its answers on 64 samples differ by"
            in written
        )
    project = Project.load(out / "digits-cnn" / "digits-cnn.glassbox")
    assert any(project.runs_path.iterdir())


@pytest.mark.slow
def test_a_main_job_that_cannot_begin_says_why_and_ends(
    environment: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "made"
    out.mkdir()
    (out / "digits-cnn").write_text("a file where the folder of the project would be")
    process = run(environment, "demo", "--out", str(out), "--exit", "--backend", "cpu")
    _, complaints = process.communicate(timeout=120)
    assert process.returncode == 1, complaints
    assert "cannot be copied" in complaints
    assert "Traceback" not in complaints


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_closes_the_window_in_order(environment: dict[str, str], tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = run(environment | {"TMPDIR": str(temporary)}, start_new_session=True)
    deadline = time.monotonic() + 60
    while not _is_listening(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    # Nothing that a killed process would leave behind for no use.
    assert not list(temporary.glob("glassbox-safe-*"))
    os.kill(process.pid, signal.SIGINT)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    assert (tmp_path / "config" / "glassbox" / "layout.json").is_file()
    assert not list(temporary.iterdir())


def _is_listening(pid: int) -> bool:
    """Whether the process catches SIGTERM, as it does from the moment its window is made."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status)[1], 16)
    return bool(caught & (1 << (signal.SIGTERM - 1)))
