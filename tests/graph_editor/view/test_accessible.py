"""The canvas as a screen reader finds it."""

from __future__ import annotations

import gc

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication

from studio.graph_editor.model.edits.removal import delete
from studio.graph_editor.view.canvas import CanvasView
from tests.graph_editor.model.networks import chain, net
from tests.graph_editor.view.hands import Hands

NAME = QAccessible.Text.Name


def names(hands: Hands) -> list[str]:
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    return [canvas.child(i).text(NAME) for i in range(canvas.childCount())]


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
        assert interface.childCount() == 5
        other.close()
        other.deleteLater()
        del other, interface, child
        qapp.processEvents()
        gc.collect()
    assert len(names(hands)) == 5
