"""Each pane has the room it needs in the workspace that shows it, in windows of every size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.samples import open_copy
from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import MainWindow
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.ui.shell.docks.room_sight import LISTED, SETTINGS, Seen, look_around, settle, train
from tests.ui.shell.driving import finish

pytestmark = pytest.mark.slow

SMALL = (1024, 700)
SIZES = [SMALL, (1366, 768), (1600, 1000), (2560, 1440)]

Until = Callable[[Callable[[], object]], object]
Start = Callable[..., MainWindow]


@pytest.fixture
def until(qtbot: QtBot) -> Until:
    return lambda wanted: qtbot.waitUntil(lambda: bool(wanted()), timeout=120_000)


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """The digits network, which trains for a moment."""
    path = open_copy("digits-cnn", tmp_path)
    project = json.loads(path.read_text("utf-8"))
    project["training"]["epochs"] = 1
    path.write_text(json.dumps(project), "utf-8")
    return path


@pytest.fixture
def start(qtbot: QtBot, dark: object, digits: Path, until: Until) -> Iterator[Start]:
    """Opens a fresh window with the network, by its path or from the welcome page."""
    made: list[tuple[MainWindow, QtScheduler]] = []

    def begin(size: tuple[int, int], *, by_path: bool = True) -> MainWindow:
        scheduler = QtScheduler()
        studio = Studio(scheduler, AppDirs.below(digits.parent / f"places-{len(made)}"))
        studio.preferences.set("backend", "cpu")
        window = MainWindow(studio, LayoutStore(studio.dirs.config))
        made.append((window, scheduler))
        window.resize(QSize(*size))
        if by_path:
            studio.open(digits)
            window.show_canvas()
        with qtbot.waitExposed(window, timeout=60_000):
            window.show()
        if not by_path:
            settle(window, until)
            window.documents.open_path(digits)
        until(lambda: not window.is_welcoming)
        until(lambda: studio.compilation.shown is not None)
        settle(window, until)
        assert window.size() == QSize(*size)
        return window

    yield begin
    for window, scheduler in made:
        finish(qtbot, window)
        window.studio.close()
        scheduler.close()


def check_fresh(found: dict[str, Seen], *, small: bool) -> None:
    """What is seen of a network before it was trained."""
    half = 2 if small else 1
    assert found["build"]["listing"]["rows"] >= 15 // half
    assert set(LISTED) <= set(found["build"]["listing"]["columns"])
    for workspace in ("train", "profile"):
        wide, high = found[workspace]["tensor_map"]["picture"]
        assert (wide, high) >= (600 // half, 180 // half), workspace
        assert high >= 180 // half, workspace
    assert set(SETTINGS) <= set(found["train"]["training"]["settings"])
    for workspace in WORKSPACES:
        wide, high = found[workspace]["canvas"]
        assert (wide, high) >= (320, 240), workspace
        assert found[workspace]["outside"] == [], workspace
        assert all(share <= 0.1 for share in found[workspace]["empty"].values()), workspace


def check_trained(found: dict[str, Seen], *, small: bool) -> None:
    """What is seen once it was trained."""
    half = 2 if small else 1
    assert found["profile"]["profiler"]["rows"] >= 12 // half
    assert found["train"]["testing"]["labelled"]
    assert found["train"]["runs"]["rows"] >= 8 // half
    assert {"title", "metric.val_accuracy"} <= set(found["train"]["runs"]["columns"])
    heights = found["train"]["plots"]["heights"]
    assert len(heights) == 3
    assert min(heights) >= 200 // half
    assert found["build"]["listing"]["rows"] >= 15 // half
    assert set(LISTED) <= set(found["build"]["listing"]["columns"])
    for workspace in WORKSPACES:
        assert found[workspace]["outside"] == [], workspace
        assert all(share <= 0.1 for share in found[workspace]["empty"].values()), workspace


@pytest.mark.parametrize("size", SIZES)
def test_every_pane_has_the_room_it_needs(
    start: Start, until: Until, size: tuple[int, int]
) -> None:
    window = start(size)
    check_fresh(look_around(window, until), small=size == SMALL)
    train(window, until)
    check_trained(look_around(window, until), small=size == SMALL)


def test_a_network_opened_from_the_welcome_page_stands_as_one_opened_by_its_path(
    start: Start, until: Until
) -> None:
    for size in (SMALL, (1600, 1000)):
        found = []
        for by_path in (True, False):
            window = start(size, by_path=by_path)
            found.append(look_around(window, until))
            window.hide()
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("screen", "window", "small"),
    [("3200x2000", "1600x1000", False), ("2560x1440", "1280x720", True)],
)
def test_at_twice_the_scale_every_pane_has_the_room_it_needs(
    digits: Path, screen: str, window: str, small: bool
) -> None:
    code = (
        "import sys\n"
        "from tests.ui.virtual_display import ensure_display\n"
        f"ensure_display({screen + 'x24'!r})\n"
        "from tests.ui.shell.docks.room_sight import main\n"
        "raise SystemExit(main(sys.argv[1:]))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(digits), window],
        env=environment | {"QT_SCALE_FACTOR": "2"},
        capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ratio"] == 2
    assert found["size"] == [int(part) for part in window.split("x")]
    check_fresh(found["before"], small=small)
    check_trained(found["after"], small=small)


def test_a_splitter_that_was_dragged_stays_where_it_was_put(start: Start, until: Until) -> None:
    window = start((1600, 1000))
    left = window.docks["inspector"]
    grip = QPoint(left.mapTo(window, QPoint(left.width(), 0)).x() + 1, 500)
    before = left.width()
    QTest.mouseMove(window, grip)
    QTest.mousePress(window, Qt.MouseButton.LeftButton, pos=grip)
    for step in range(1, 9):
        QTest.mouseMove(window, grip + QPoint(15 * step, 0))
        QApplication.processEvents()
    QTest.mouseRelease(window, Qt.MouseButton.LeftButton, pos=grip + QPoint(120, 0))
    until(lambda: left.width() > before + 60)
    settle(window, until)
    dragged = left.width()
    # What a training has to show would give the panes other places.
    train(window, until)
    look_around(window, until)
    window.docks.switch("build")
    settle(window, until)
    assert left.width() == dragged
