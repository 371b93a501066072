"""The canvas as a screen reader finds it."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication

from studio.graph_editor.canvas.view import CanvasView
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.removal import delete
from studio.session.document.edits.wires import connect
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain, net

NAME = QAccessible.Text.Name


def names(hands: Hands) -> list[str]:
    """What is said of the layers."""
    return [name for name in all_names(hands) if not name.startswith("Wire ")]


def wires(hands: Hands) -> list[str]:
    """What is said of the wires."""
    return [name for name in all_names(hands) if name.startswith("Wire ")]


def all_names(hands: Hands) -> list[str]:
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    return [canvas.child(i).text(NAME) for i in range(canvas.childCount())]


@pytest.mark.slow
def test_every_layer_is_a_named_child_in_running_order(hands: Hands) -> None:
    hands.open(chain())
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    assert canvas.role() == QAccessible.Role.List
    assert canvas.text(NAME) == "Canvas, 6 layers"
    found = names(hands)
    assert len(found) == len(hands.state.nodes)
    assert found[0].startswith("Input input")
    assert "input from conv2d" in found[2]
    assert all("no errors" in name for name in found)
    first = canvas.child(0)
    assert first.role() == QAccessible.Role.ListItem
    assert first.parent().role() == QAccessible.Role.List
    assert first.rect().width() > 0


@pytest.mark.slow
def test_every_wire_is_a_named_child_behind_the_layers(hands: Hands) -> None:
    hands.open(chain())
    said = all_names(hands)
    assert [name.startswith("Wire ") for name in said] == [False] * 6 + [True] * 5
    assert said[6] == "Wire from input to conv2d, carries 8 by 8 by 1"
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    wire = canvas.child(8)
    assert canvas.indexOfChild(wire) == 8
    assert wire.rect().width() > 0
    place = hands.canvas.viewport().mapToGlobal(
        hands.canvas.view_point(hands.middle("re_lu", "max_pooling2d")).toPoint()
    )
    assert canvas.childAt(place.x(), place.y()).text(NAME) == wire.text(NAME)
    assert not wire.state().selected
    hands.click(hands.middle("re_lu", "max_pooling2d"))
    assert wire.state().selected
    assert wire.state().focused
    assert canvas.focusChild().text(NAME).startswith("Wire from re_lu to max_pooling2d")
    hands.key(Qt.Key.Key_Delete)
    assert len(wires(hands)) == 4
    hands.document.undo()
    assert len(wires(hands)) == 5


def test_inputs_bends_and_misfits_of_wires_are_said(hands: Hands) -> None:
    hands.open(chain())
    hands.double_click(hands.middle("conv2d", "re_lu"))
    assert [name.partition(",")[0] for name in wires(hands) if "bend" in name] == [
        "Wire from a bend to re_lu", "Wire from conv2d to a bend",
    ]  # fmt: skip
    state = net("input 8x8x1 > conv 8 3x3 > flatten")
    state = add_layer(state, "Add", at=(600.0, 300.0))
    for slot, source in enumerate(("input", "flatten")):
        state = connect(state, source, "add", slot, check_shapes=False)
    hands.open(state)
    said = [name for name in wires(hands) if " to add" in name]
    assert said[0].startswith("Wire from input to add, input 1 of 2, carries 8 by 8 by 1")
    qtbot = hands.qtbot
    qtbot.waitUntil(lambda: any(name.endswith("does not fit") for name in wires(hands)))


def test_child_at_a_place_and_focus_follow_the_canvas(hands: Hands) -> None:
    hands.open(chain())
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    place = hands.canvas.viewport().mapToGlobal(
        hands.canvas.view_point(hands.body("flatten")).toPoint()
    )
    assert "flatten" in canvas.childAt(place.x(), place.y()).text(NAME)
    hands.click(hands.body("flatten"))
    assert "flatten" in canvas.focusChild().text(NAME)


def test_layers_that_are_gone_are_no_longer_children(hands: Hands) -> None:
    hands.open(chain())
    names(hands)
    hands.document.apply("Delete", delete(hands.state, ["re_lu", "flatten"]))
    assert len(names(hands)) == 4
    hands.document.undo()
    assert len(names(hands)) == 6
    hands.open(net("input 4 > dense 3"))
    assert len(names(hands)) == 2


@pytest.mark.slow
def test_canvases_come_and_go_while_a_reader_looks(hands: Hands, qapp: QApplication) -> None:
    for _ in range(20):
        hands.open(chain())
        other = CanvasView(hands.studio)
        other.show()
        interface = QAccessible.queryAccessibleInterface(other)
        for index in range(interface.childCount()):
            child = interface.child(index)
            assert child.text(NAME)
            QAccessible.uniqueId(child)
        hands.document.apply("Delete", delete(hands.state, ["re_lu"]))
        assert interface.childCount() == 5 + 4
        other.close()
        other.deleteLater()
        del other, interface, child
        qapp.processEvents()
        gc.collect()
    assert len(names(hands)) == 5
