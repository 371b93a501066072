"""Names, notes and titles of frames, written in place."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QLineEdit

from tests.graph_editor.hands import CTRL, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain


def test_rename_in_place(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F2)
    hands.type("stem")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "stem"
    assert hands.canvas.hasFocus()
    assert hands.steps == 1
    hands.key(K.Key_F2)
    hands.type("other")
    hands.key(K.Key_Escape)
    assert hands.state.nodes["conv2d"].name == "stem"


def test_double_click_on_the_title_renames(hands: Hands) -> None:
    hands.open(chain())
    hands.double_click(hands.title("conv2d"))
    assert hands.canvas.inline_editor.is_open
    hands.type("first")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "first"


def test_name_that_is_taken_is_refused_and_can_be_put_right(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F2)
    hands.type("dense")
    hands.key(K.Key_Return)
    assert hands.canvas.inline_editor.is_open
    assert "taken" in hands.studio.notices.all[-1].text
    hands.type("_in")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "dense_in"


def test_note_opens_a_field_to_write_in(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.key(K.Key_Return, CTRL)
    assert hands.state.nodes["note"].text == "warm up first"
    assert hands.steps == 2


def test_what_is_written_goes_with_what_it_was_written_in(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.document.undo()
    assert not hands.canvas.inline_editor.is_open
    assert hands.state == chain()
    assert not hands.studio.notices.all


def test_frame_goes_around_the_selection(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_J, CTRL)
    hands.type("stem")
    hands.key(K.Key_Return)
    frame = hands.canvas.graph.nodes["frame"].scene_area
    assert frame.contains(hands.canvas.graph.nodes["conv2d"].scene_area)
    assert hands.state.nodes["frame"].text == "stem"


def test_escape_keeps_what_was_written_in_a_note(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.key(K.Key_Escape)
    assert not hands.canvas.inline_editor.is_open
    assert hands.canvas.hasFocus()
    assert hands.state.nodes["note"].text == "warm up first"
    hands.key(K.Key_Z, CTRL)
    assert hands.state.nodes["note"].text == ""


def test_escape_in_a_note_that_was_not_changed_is_no_step(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.key(K.Key_Return, CTRL)
    steps = hands.steps
    hands.double_click(hands.body("note"))
    assert hands.canvas.inline_editor.is_open
    hands.key(K.Key_Escape)
    assert not hands.canvas.inline_editor.is_open
    assert hands.steps == steps


@pytest.mark.parametrize("zoom", [0.25, 1.0, 2.0])
def test_a_name_is_seen_whole_while_it_is_written(hands: Hands, zoom: float) -> None:
    hands.open(chain(), zoom=zoom)
    item = hands.canvas.graph.nodes["dense"]
    hands.canvas.navigation.look_at(item.scene_area.center())
    hands.click(hands.body("dense"))
    hands.key(K.Key_F2)
    field = hands.canvas.inline_editor.field
    assert isinstance(field, QLineEdit)
    name = "encoder_block_3_attention_output_projection"
    hands.type(name)
    assert field.text() == name
    room = field.width() - field.fontMetrics().horizontalAdvance(name)
    assert room >= 12
    assert hands.canvas.viewport().rect().contains(field.geometry())
    hands.key(K.Key_Return)
    assert hands.state.nodes["dense"].name == name


def test_a_name_at_the_right_edge_is_written_within_the_canvas(hands: Hands) -> None:
    hands.open(chain(), zoom=1.0)
    item, view = hands.canvas.graph.nodes["dense"], hands.canvas.navigation.visible
    right = item.scene_area.topRight()
    hands.canvas.navigation.look_at(right - QPointF(view.width() / 2, 0))
    hands.click(hands.body("dense"))
    hands.key(K.Key_F2)
    hands.type(80 * "n")
    field = hands.canvas.inline_editor.field
    assert isinstance(field, QLineEdit)
    assert hands.canvas.viewport().rect().contains(field.geometry())
    assert field.width() > field.fontMetrics().horizontalAdvance(80 * "n")
    hands.key(K.Key_Escape)
