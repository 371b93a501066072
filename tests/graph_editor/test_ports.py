"""Layers with several outputs on the canvas: a port for each, wires from each by mouse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.layers.graph import Port
from studio.graph_editor.items.marks import PortKey
from studio.session.document.cards.card import wire_card
from studio.session.document.edits.wires import disconnect
from studio.session.document.finding.outline import accessible_text, accessible_wire_text
from studio.session.document.state import DocumentState, Wire
from tests.engine.layers.several_outputs import split_layer
from tests.graph_editor.hands import ALT, CTRL
from tests.session.document.test_ports import fork

SECOND = PortKey("out", 1)


@pytest.fixture(autouse=True)
def split() -> Iterator[None]:
    with split_layer():
        yield


def cut_off() -> DocumentState:
    """The fork without the wire from its second output."""
    return disconnect(fork(), "dense_1", 0)


def test_each_output_has_a_port_and_its_wire_leaves_it(hands):
    hands.open(fork())
    first, second = hands.port("split"), hands.port("split", SECOND)
    assert first.x() == second.x()
    assert second.y() > first.y()
    assert hands.canvas.graph.nodes["split"].card.shape == "2 · 4"
    said = accessible_text(hands.state, hands.studio.document.report, "split")
    assert "outputs 2 and 4" in said
    wire = hands.canvas.graph.wires[Wire("split", "dense_1", 0, 1)]
    assert wire.path().pointAtPercent(0.0) == second
    shape = wire_card(hands.studio.document.report, wire.wire).shape
    assert (shape, hands.canvas.graph.nodes["split"].card.outputs) == ("4", 2)


def test_a_wire_is_drawn_from_the_second_output(hands):
    hands.open(cut_off())
    hands.drag(hands.port("split", SECOND), hands.input("dense_1"))
    assert hands.state.nodes["dense_1"].inputs == (Port("split", 1),)
    said = accessible_wire_text(hands.state, hands.studio.document.report,
                                Wire("split", "dense_1", 0, 1))  # fmt: skip
    assert said == "Wire from output 1 of split to dense_1, carries 4"


def test_a_wire_from_an_input_ends_at_the_second_output(hands):
    hands.open(cut_off())
    hands.drag(hands.input("dense_1"), hands.port("split", SECOND))
    assert hands.state.nodes["dense_1"].inputs == (Port("split", 1),)


def test_a_wire_that_is_taken_off_keeps_its_output(hands):
    hands.open(fork())
    hands.drag(hands.input("dense_1"), hands.input("dense"))
    assert hands.state.nodes["dense_1"].inputs == ()
    assert hands.state.nodes["dense"].inputs == (Port("split", 1),)


def test_wires_of_one_output_are_moved_and_cut_alone(hands):
    hands.open(fork())
    hands.drag(hands.port("split", SECOND), hands.port("input"), keys=CTRL)
    assert hands.state.nodes["dense_1"].inputs == (Port("input"),)
    assert hands.state.nodes["dense"].inputs == (Port("split"),)
    hands.studio.document.undo()
    hands.click(hands.port("split", SECOND), keys=ALT)
    assert hands.state.nodes["dense_1"].inputs == ()
    assert hands.state.nodes["dense"].inputs == (Port("split"),)
