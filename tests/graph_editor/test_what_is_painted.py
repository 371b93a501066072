"""What stands on the screen is what the document holds, however it came to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QImage, QPixmap

from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.scene.graph_view import GraphView
from studio.graph_editor.scene.overview import OVERVIEW_ZOOM
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.report import DataFacts
from studio.session.document.state import DocumentState
from studio.widgets import theme
from tests.graph_editor.hands import CTRL, SHIFT, Hands
from tests.graph_editor.test_repairs_on_canvas import chip_place
from tests.session.document.networks import net

pytestmark = pytest.mark.slow

LONG = 60_000

Pixels = npt.NDArray[np.int16]


@pytest.fixture
def moving(hands: Hands) -> Iterator[Hands]:
    """Hands where everything slides as it does for users."""
    theme.set_reduced_motion(False)
    # The map is painted over the drawing, and a new view has none.
    hands.studio.preferences.set("minimap", False)
    yield hands
    hands.canvas.navigation.stop()
    hands.canvas.sliding.finish()
    theme.set_reduced_motion(True)


def on_screen(hands: Hands) -> Pixels:
    """The pixels of the canvas on the screen; nothing is painted for this."""
    viewport = hands.canvas.viewport()
    corner = viewport.mapTo(viewport.window(), QPoint(0, 0))
    area = QRect(corner, viewport.size())
    shot = viewport.screen().grabWindow(viewport.window().winId(), *area.getRect())
    return pixels(shot)


def freshly_made(hands: Hands) -> Pixels:
    """The pixels of a new view that looks at the same part of the same document."""
    canvas, document = hands.canvas, hands.document
    fresh = GraphView()
    fresh.resize(canvas.size())
    fresh.graph.show_state(document.state, document.report)
    fresh.graph.use_pictures(canvas.pictures.picture)
    fresh.marks.show_selection(canvas.context.bus.selection)
    fresh.navigation.zoom_to(canvas.navigation.zoom)
    fresh.navigation.frame(QRectF(0, 0, 1, 1), canvas.navigation.zoom)
    for name in ("horizontalScrollBar", "verticalScrollBar"):
        getattr(fresh, name)().setValue(getattr(canvas, name)().value())
    fixes = FixOffers(CanvasContext(fresh, hands.studio))
    if canvas.fixes.chips:
        fixes.show()
        fixes.keep_within(QRectF(canvas.viewport().rect()), fresh.view_point)
    shot = pixels(fresh.viewport().grab())
    fresh.deleteLater()
    return shot


def pixels(picture: QPixmap) -> Pixels:
    image = picture.toImage().convertToFormat(QImage.Format.Format_RGB32)
    found = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4)
    return found[:, :, :3].astype(np.int16)


def apart(one: Pixels, other: Pixels) -> int:
    """How many spots of 3 by 3 pixels differ; the dots of the grid round differently."""
    assert one.shape == other.shape
    differ = np.abs(one - other).max(axis=2) > 40
    rows = differ[2:] & differ[1:-1] & differ[:-2]
    return int((rows[:, 2:] & rows[:, 1:-1] & rows[:, :-2]).sum())


def assert_true(hands: Hands) -> None:
    """What is on the screen becomes what a new canvas shows, and stays so."""
    hands.qtbot.waitUntil(lambda: is_true(hands), timeout=LONG)


def is_true(hands: Hands) -> bool:
    """Whether nothing slides, repairs have been looked for, and the screen shows the document."""
    canvas = hands.canvas
    if canvas.sliding.is_under_way or canvas.fixes.is_waiting:
        return False
    expected = freshly_made(hands)
    assert int(np.ptp(expected)) > 100
    return apart(on_screen(hands), expected) == 0


def branches(count: int) -> DocumentState:
    """Chains of dense layers that one input feeds."""
    state = net("input 16")
    for branch in range(count // 8):
        layers = [NewLayer("Dense", {"units": 4 + each}) for each in range(8)]
        state = add_chain(state, layers, after="input", at=(300.0, branch * 220.0)).state
    return state


def test_undo_of_a_large_layout_from_very_far_away(moving: Hands) -> None:
    hands = moving
    hands.open(branches(192))
    hands.key(Qt.Key.Key_Home)
    navigation = hands.canvas.navigation
    hands.qtbot.waitUntil(lambda: navigation.zoom < OVERVIEW_ZOOM, timeout=LONG)
    hands.click(hands.nowhere())
    for _ in range(3):
        hands.click(hands.body("dense_3"))
        hands.key(Qt.Key.Key_D, CTRL)
    assert_true(hands)
    hands.key(Qt.Key.Key_L, SHIFT)
    assert_true(hands)
    hands.key(Qt.Key.Key_Home)
    for _ in range(4):
        hands.key(Qt.Key.Key_Z, CTRL)
    assert hands.state == branches(192)
    assert_true(hands)


def test_what_is_marked_and_drawn_over_it_from_very_far_away(hands: Hands) -> None:
    hands.open(branches(192), zoom=0.1)
    hands.canvas.navigation.zoom_to(0.12)
    assert_true(hands)
    area = hands.canvas.graph.content_area()
    hands.carry(area.topLeft() - QPointF(60, 60), area.center())
    drawn = on_screen(hands)
    hands.qtbot.waitUntil(lambda: apart(on_screen(hands), drawn) > 0, timeout=LONG)
    hands.release()
    assert hands.selected
    assert_true(hands)
    hands.click(hands.nowhere())
    assert not hands.selected
    assert_true(hands)


@pytest.mark.parametrize("by", [QPointF(60, 0), QPointF(0, 60), QPointF(45, 60)], ids=str)
@pytest.mark.parametrize("zoom", [0.3, 0.7, 1.0])
def test_what_moved_after_the_canvas_was_scrolled(moving: Hands, by: QPointF, zoom: float) -> None:
    hands = moving
    hands.open(net("input 16 > dense 4 > dense 5 > dense 6"), zoom=zoom)
    start = hands.body("dense_1")
    hands.drag(start, start + QPointF(0, 150))
    assert_true(hands)
    hands.canvas.navigation.pan(by)
    assert_true(hands)
    hands.key(Qt.Key.Key_Z, CTRL)
    assert_true(hands)


def test_what_a_repair_moved_after_the_canvas_was_scrolled(moving: Hands) -> None:
    hands = moving
    facts = DataFacts((8, 8, 1), "images", 10)
    hands.open(net("input 8x8x1 > conv 16 3x3 > pool 2 > dense 10 > softmax"), zoom=0.6)
    hands.document.set_data_facts(facts)
    hands.qtbot.waitUntil(lambda: bool(hands.canvas.fixes.chips), timeout=LONG)
    hands.canvas.navigation.pan(QPointF(-80, 0))
    assert_true(hands)
    chip = hands.canvas.fixes.chips[0]
    hands.click(chip_place(hands, chip))
    assert "flatten" in hands.state.nodes
    assert_true(hands)
    hands.key(Qt.Key.Key_Z, CTRL)
    assert_true(hands)
