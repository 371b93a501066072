"""Drawing from the device's memory in a real window, while a real training runs on OpenGL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow

from studio.engine.core.app_dirs import AppDirs
from studio.engine.gl.live import live as gl_live
from studio.engine.gl.live.live import GlSnapshot, GlTap
from studio.engine.runtime.live import ArraySnapshot
from studio.session.core import entities
from studio.session.core.theme import Mode
from studio.session.live.frames import Frame
from studio.session.studio import Studio
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.shell.docks.panes import PANES, action_tables
from studio.ui.shell.start.shared_context import QtSharedProvider
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.engine.train.small_tasks import DIGITS, cnn, task

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

from studio.engine.gl.backend import GlBackend
from studio.engine.train.loop.trainer import Trainer

pytestmark = pytest.mark.gl

NAMES = ("conv2d/kernel", "dense/kernel", "conv2d/kernel.grad")


class Window:
    """A window with tensor views in docks over a training on OpenGL."""

    def __init__(self, studio: Studio, qtbot: QtBot) -> None:
        self.studio = studio
        self.qtbot = qtbot
        self.provider = QtSharedProvider(software_too=True)
        self.backend = GlBackend(self.provider)
        made = task(cnn(), DIGITS, epochs=4000, batch_size=32)
        self.trainer = Trainer(made, self.backend)
        self.future = self.trainer.start()
        studio.live.started(self.trainer)
        self.main = QMainWindow()
        self.main.resize(1200, 700)
        self.docks: list[QDockWidget] = []
        self.panes: list[TensorViewPane] = []
        for place, name in enumerate(NAMES):
            pane = TensorViewPane(studio)
            pane.set_pinned(True)
            pane.show_tensor(entities.Entity("tensor", name))
            dock = QDockWidget(name, self.main)
            dock.setObjectName(f"dock{place}")
            dock.setWidget(pane)
            self.main.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
            self.docks.append(dock)
            self.panes.append(pane)
        qtbot.addWidget(self.main)
        self.main.show()

    def drawn(self, pane: TensorViewPane) -> int:
        surface = pane.sheet.surface
        return 0 if surface is None else surface.frames

    def wait_drawn(self, pane: TensorViewPane) -> None:
        """Until the device has drawn another picture."""
        before = self.drawn(pane)
        self.qtbot.waitUntil(lambda: self.drawn(pane) > before)

    def close(self) -> None:
        for pane in self.panes:
            pane.close_view()
        self.trainer.control.stop()
        self.future.result(60)
        self.studio.live.ended()
        self.trainer.close()
        self.backend.close()
        self.provider.close()


@pytest.fixture
def studio(qapp: QApplication, scheduler: QtScheduler, tmp_path: Path) -> Iterator[Studio]:
    made = Studio(scheduler, AppDirs.below(tmp_path / "places"))
    made.actions.declare(*action_tables(PANES))
    made.preferences.set("shared_views", "always")
    theme.install(qapp, made.theme)
    yield made
    made.close()


@pytest.fixture
def window(qtbot: QtBot, studio: Studio) -> Iterator[Window]:
    made = Window(studio, qtbot)
    if not made.provider.is_shared:
        made.close()
        pytest.skip(f"no shared context: {made.provider.note}")
    yield made
    made.close()


def picture(pane: TensorViewPane) -> QImage:
    surface = pane.sheet.surface
    assert surface is not None
    return surface.grabFramebuffer()


def colours(image: QImage) -> set[int]:
    return {
        image.pixel(x, y)
        for x in range(2, image.width(), 5)
        for y in range(30, image.height() - 2, 5)
    }


def test_the_device_draws_and_only_statistics_come_back(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = gl_live.PendingRead

    def counted(pool: object, source: object) -> object:
        read.append(source.nbytes)  # type: ignore[attr-defined]
        return original(pool, source)  # type: ignore[arg-type]

    for pane in window.panes:
        window.wait_drawn(pane)
    monkeypatch.setattr(gl_live, "PendingRead", counted)
    frames = [window.drawn(pane) for pane in window.panes]
    window.qtbot.waitUntil(
        lambda: all(
            window.drawn(pane) > before + 5
            for pane, before in zip(window.panes, frames, strict=True)
        ),
        timeout=60000,
    )
    assert read
    assert set(read) == {416}
    for pane in window.panes:
        assert len(colours(picture(pane))) > 5


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_the_device_draws_on_the_ground_of_painted_pictures(window: Window, mode: Mode) -> None:
    pane = window.panes[2]
    window.wait_drawn(pane)
    window.studio.theme.choose(mode)
    wanted = QColor(window.studio.theme.colour("picture"))
    window.qtbot.waitUntil(lambda: picture(pane).pixelColor(2, 28) == wanted)
    sheet_layout = pane.view.sheet_layout
    assert sheet_layout is not None
    left, top = sheet_layout.tile_at(0)
    gap = (
        left + (sheet_layout.cells[1] + 0.5) * sheet_layout.cell,
        24 + top + sheet_layout.cell / 2,
    )
    assert picture(pane).pixelColor(*map(int, gap)) == wanted
    middle = (left + sheet_layout.cell / 2, 24 + top + sheet_layout.cell / 2)
    assert picture(pane).pixelColor(*map(int, middle)) != wanted


def test_the_device_draws_what_numpy_would(window: Window) -> None:
    pane = window.panes[1]
    window.wait_drawn(pane)
    control, loop = window.trainer.control, window.trainer.loop
    control.pause()
    assert control.wait(["paused"], 30)
    (tap,) = (each for each in window.trainer.network.live.taps if each.name == NAMES[1])

    def place() -> tuple[int, int]:
        """Steps made, and rows of the next."""
        return loop.total_step, loop.feeder.rows_of(loop.total_step % loop.feeder.steps)

    def settled() -> tuple[int, int]:
        return control.call(place).result(30)

    last, rows = settled()
    if rows < loop.feeder.batch_size:
        # The last step of an epoch is a small one, which is not looked at on its way.
        control.step()
        window.qtbot.waitUntil(lambda: settled()[0] > last)
        last, rows = settled()
    assert rows == loop.feeder.batch_size
    window.qtbot.waitUntil(lambda: tap.wanted)
    control.step()

    def has_come() -> bool:
        found = pane.view.frame
        snapshot = None if found is None else found.snapshot
        return isinstance(snapshot, GlSnapshot) and snapshot.moment.step == last + 1

    window.qtbot.waitUntil(has_come)
    frame = pane.view.frame
    assert isinstance(frame, Frame)
    assert isinstance(frame.snapshot, GlSnapshot)
    values = frame.snapshot.array()
    QApplication.processEvents()
    view, sheet_layout = pane.view, pane.view.sheet_layout
    assert sheet_layout is not None
    pane.sheet.refresh()
    image = picture(pane)
    down, across = sheet_layout.sheet.block
    low, high = view.colours.low, view.colours.high
    from studio.session.tensor_view.colours import colour_map

    table = colour_map(view.colours.map_name).astype(int)
    rows, columns = sheet_layout.cells
    apart = []
    for row in range(0, rows, 2):
        for column in range(0, columns, 7):
            block = values[row * down : (row + 1) * down, column * across : (column + 1) * across]
            value = float(block.flat[np.abs(block).argmax()])
            share = min(max((value - low) / (high - low), 0.0), 1.0)
            wanted = table[int(np.floor(share * 255 + 0.5))]
            x = sheet_layout.left + (column + 0.5) * sheet_layout.cell
            y = sheet_layout.top + 24 + (row + 0.5) * sheet_layout.cell
            found = image.pixelColor(int(x), int(y)).getRgb()[:3]
            apart.append(np.abs(np.array(found) - wanted).max())
    assert max(apart) <= 3


@pytest.mark.parametrize("moves", [20, pytest.param(200, marks=pytest.mark.full)])
def test_moves_of_docks_lose_no_picture(window: Window, moves: int) -> None:
    for pane in window.panes:
        window.wait_drawn(pane)
    for move in range(moves):
        dock = window.docks[move % 3]
        if move % 20 == 19:
            window.main.tabifyDockWidget(window.docks[0], window.docks[1])
        elif move % 20 == 9:
            window.main.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
        else:
            dock.setFloating(not dock.isFloating())
        dock.show()
        dock.raise_()
        QApplication.processEvents()
    for dock in window.docks:
        dock.setFloating(False)
        dock.show()
    for pane, dock in zip(window.panes, window.docks, strict=True):
        dock.raise_()
        window.wait_drawn(pane)
        assert len(colours(picture(pane))) > 5, "a view went black"
        assert not pane._device_refused
    assert not window.future.done()


def test_a_closed_window_gives_everything_back_while_training_goes_on(window: Window) -> None:
    for pane in window.panes:
        window.wait_drawn(pane)
    live = window.trainer.network.live
    taps = live.taps
    assert len(taps) == len(NAMES)
    for pane in window.panes:
        pane.close_view()
    window.main.close()
    window.qtbot.waitUntil(lambda: live.taps == ())
    step = window.trainer.loop.total_step
    window.qtbot.waitUntil(lambda: window.trainer.loop.total_step > step)

    def held() -> list[object]:
        """Buffers the taps have lent or keep for later."""
        window.backend.work.engine.call(lambda: None)
        return [
            each
            for tap in taps
            if isinstance(tap, GlTap)
            for each in (tap._spare, *tap._returned, *range(tap._in_use))
            if each is not None
        ]

    window.qtbot.waitUntil(lambda: held() == [])


def test_the_last_picture_stays_when_the_training_ends(window: Window) -> None:
    pane = window.panes[1]
    window.wait_drawn(pane)
    # The first picture is painted; of what is drawn the host has no numbers.
    window.qtbot.waitUntil(lambda: pane.view.frame and not pane.view.frame.tiles)
    window.trainer.control.stop()
    window.future.result(60)
    window.studio.live.ended()
    frame = pane.view.frame
    assert frame is not None
    assert isinstance(frame.snapshot, ArraySnapshot)
    assert pane.sheet.surface is None or not pane.sheet.surface.isVisible()
    picture, values = pane.view.picture(), frame.snapshot.array()
    assert picture is not None
    down, across = picture.tile.sheet.block
    for (row, column), high in np.ndenumerate(picture.tile.high[0, :, :, 0]):
        block = values[row * down : (row + 1) * down, column * across : (column + 1) * across]
        assert high == block.max()


def test_a_device_that_cannot_draw_is_told_and_the_picture_is_painted(window: Window) -> None:
    pane = window.panes[0]
    window.wait_drawn(pane)
    surface = pane.sheet.surface
    assert surface is not None
    surface.broke.emit("it is broken")
    assert "it is broken" in window.studio.notices.all[-1].text
    window.qtbot.waitUntil(lambda: pane.view.picture() is not None)
    window.qtbot.waitUntil(lambda: not surface.isVisible())
