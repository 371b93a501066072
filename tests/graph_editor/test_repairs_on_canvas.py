"""Repairs under a layer with an error: shown, previewed under the pointer, made by a click."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt

from studio.graph_editor.editing.fix_chips import FixChip
from studio.session.document.edits.layers import add_layer
from studio.session.document.report import Fix
from studio.session.document.state import DocumentState
from tests.graph_editor.hands import CTRL, Hands
from tests.session.document.networks import net


def faulty() -> DocumentState:
    """A convolution behind a row of numbers: its rule wants height, width and channels."""
    return add_layer(net("input 64"), "Conv2D", after="input")


def chips(hands: Hands) -> tuple[FixChip, ...]:
    hands.qtbot.waitUntil(lambda: bool(hands.canvas.fixes.chips))
    return hands.canvas.fixes.chips


def chip_place(hands: Hands, chip: FixChip) -> QPointF:
    seen = hands.canvas.view_point(chip.scenePos()) + chip.boundingRect().center()
    return hands.canvas.navigation.scene_at(seen)


def test_error_offers_repairs_that_are_previewed_and_made(hands: Hands) -> None:
    hands.open(faulty())
    assert hands.canvas.graph.nodes["conv2d"].card.condition == "error"
    chip = chips(hands)[0]
    assert chip.node_id == "conv2d"
    hands.move(chip_place(hands, chip))
    assert chip.hovered
    assert hands.canvas.overlay.ghost.nodes
    assert hands.steps == 0
    hands.move(hands.nowhere())
    assert not hands.canvas.overlay.ghost.nodes
    hands.click(chip_place(hands, chip))
    assert hands.steps == 1
    assert hands.document.report.is_valid
    assert hands.document.history.undo_text == chip.fix.text
    assert not hands.canvas.fixes.chips
    hands.document.undo()
    assert hands.state.content_hash == faulty().content_hash


def test_no_number_of_what_a_repair_brings_is_cut(hands: Hands) -> None:
    colours = hands.canvas.graph.colours
    effect = "block2_conv1 gets [8, 8, 16384] numbers"
    seen = set()
    for more in range(48):
        fix = Fix("Connect" + " x" * more, effect, lambda state: state)
        chip = FixChip("conv2d", fix, 0, colours)
        kept = chip.effect.removesuffix("\N{HORIZONTAL ELLIPSIS}").rstrip()
        seen.add(chip.effect)
        assert effect.startswith(kept)
        assert kept == effect or not (kept[-1:].isdigit() and effect[len(kept)].isdigit())
    assert len(seen) > 5


def test_chips_keep_their_size_on_the_screen_and_can_be_clicked_from_afar(hands: Hands) -> None:
    hands.open(faulty(), zoom=0.3)
    hands.click(chip_place(hands, chips(hands)[0]))
    assert hands.document.report.is_valid


def test_chips_stay_inside_the_view_while_their_layer_is_there(hands: Hands) -> None:
    hands.open(faulty())
    offered = chips(hands)
    canvas = hands.canvas
    room = canvas.viewport().width()
    at = canvas.view_point(offered[0].scenePos())
    canvas.navigation.pan(QPoint(round(room - 60 - at.x()), 0))
    for chip in offered:
        seen = chip.boundingRect().translated(canvas.view_point(chip.scenePos()))
        assert 0 <= seen.left() < seen.right() <= room
    assert len({chip.boundingRect().left() for chip in offered}) == 1
    hands.move(chip_place(hands, offered[0]))
    assert offered[0].hovered
    hands.move(hands.nowhere())
    canvas.navigation.pan(QPoint(round(120 - canvas.view_point(offered[0].scenePos()).x()), 0))
    assert offered[0].boundingRect().left() == -1
    hands.click(chip_place(hands, offered[0]))
    assert hands.document.report.is_valid


@pytest.mark.slow
def test_the_map_leaves_the_chips_free(hands: Hands) -> None:
    hands.open(faulty())
    offered = chips(hands)
    canvas, shown = hands.canvas, hands.canvas.chrome.minimap
    room = canvas.viewport().rect()
    right = room.right() - 150
    for place in (QPoint(right, room.bottom() - 100), QPoint(60, room.bottom() - 100)):
        canvas.navigation.pan(place - canvas.view_point(offered[0].scenePos()).toPoint())
        assert shown.is_shown
        for chip in offered:
            seen = chip.boundingRect().translated(canvas.view_point(chip.scenePos()))
            assert not QRectF(shown.area).intersects(seen)


@pytest.mark.slow
def test_chips_go_when_the_error_is_put_right_otherwise(hands: Hands) -> None:
    hands.open(faulty())
    chips(hands)
    hands.document.undo()
    hands.document.apply("Fix", net("input 8x8x1 > conv 8 3x3"))
    assert not hands.canvas.fixes.chips
    hands.qtbot.wait(250)
    assert not hands.canvas.fixes.chips


@pytest.mark.slow
def test_repairs_are_previewed_and_made_by_keys_alone(hands: Hands) -> None:
    hands.open(faulty())
    offered = chips(hands)
    assert len(offered) > 1
    hands.key(Qt.Key.Key_Period, CTRL)
    assert [chip.hovered for chip in offered].index(True) == 0
    assert hands.canvas.overlay.ghost.nodes
    hands.key(Qt.Key.Key_Period, CTRL)
    assert [chip.hovered for chip in offered].index(True) == 1
    hands.key(Qt.Key.Key_Escape)
    assert not any(chip.hovered for chip in offered)
    assert not hands.canvas.overlay.ghost.nodes
    hands.key(Qt.Key.Key_Period, CTRL)
    hands.key(Qt.Key.Key_Return)
    assert hands.steps == 1
    assert hands.document.report.is_valid
    assert hands.document.history.undo_text == offered[0].fix.text


def test_a_repair_asked_for_elsewhere_brings_the_keyboard_to_the_canvas(hands: Hands) -> None:
    hands.open(faulty())
    offered = chips(hands)
    hands.canvas.clearFocus()
    assert not hands.canvas.hasFocus()
    hands.studio.actions.trigger("graph.repair")
    assert hands.canvas.hasFocus()
    hands.key(Qt.Key.Key_Return)
    assert hands.document.history.undo_text == offered[0].fix.text


def test_enter_makes_the_repair_the_pointer_is_on(hands: Hands) -> None:
    hands.open(faulty())
    chip = chips(hands)[0]
    hands.move(chip_place(hands, chip))
    hands.key(Qt.Key.Key_Return)
    assert hands.document.history.undo_text == chip.fix.text


def test_nothing_to_repair_is_said(hands: Hands, refusals: list[str]) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3"))
    hands.key(Qt.Key.Key_Period, CTRL)
    assert refusals == ["graph.repair: there is nothing to fix"]


def test_what_a_repair_would_change_is_hardly_seen_under_its_ghost(hands: Hands) -> None:
    hands.open(faulty())
    chip = chips(hands)[0]
    hands.move(chip_place(hands, chip))
    items, ghosts = hands.canvas.graph.nodes, hands.canvas.overlay.ghost.nodes
    assert set(items) & set(ghosts)
    for node_id, item in items.items():
        assert (item.opacity() < 0.2) == (node_id in ghosts)
    hands.move(hands.nowhere())
    assert {item.opacity() for item in items.values()} == {1.0}
    assert {wire.opacity() for wire in hands.canvas.graph.wires.values()} == {1.0}
    assert {wire.chip.opacity() for wire in hands.canvas.graph.wires.values()} == {1.0}
