from __future__ import annotations

import pytest

from studio.engine.core.errors import GraphError
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits import wires
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.wires import add_dot
from studio.session.document.errors import CycleError, DuplicateLink, InputTaken, ShapeClash
from studio.session.document.state import Wire
from tests.session.document.networks import net, refusal, residual
from tests.session.document.networks import wires as drawn


def loose():
    """A chain, a loose ReLU and a loose Add."""
    state = add_layer(net("input 4 > dense 4 > dense 4"), "ReLU", at=(0.0, 300.0))
    return add_layer(state, "Add", at=(0.0, 500.0))


REFUSED = {
    "itself": (("dense", "dense"), CycleError, "close a loop"),
    "loop": (("dense_1", "dense"), CycleError, "'dense' already leads to 'dense_1'"),
    "twice": (("dense", "dense_1"), DuplicateLink, "'dense' already feeds 'dense_1'"),
    "taken": (("input", "dense_1"), InputTaken, "its input is connected to 'dense'"),
    "taken slot": (("input", "dense_1", 0), InputTaken, "connected to 'dense'"),
    "beyond the slots": (("input", "dense_1", 4), InputTaken, "connected to 'dense'"),
    "into an input": (("dense", "input"), InputTaken, "takes no wire"),
    "from a note": (("note", "re_lu"), GraphError, "a note takes no wires"),
    "to a note": (("dense", "note"), GraphError, "a note takes no wires"),
    "from nothing": (("gone", "re_lu"), GraphError, "the layer 'gone' no longer exists"),
    "to nothing": (("dense", "gone"), GraphError, "the layer 'gone' no longer exists"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wire_that_may_not_be_is_refused_with_a_reason(name):
    state = add_note(loose(), 0.0, 0.0)
    ends, kind, message = REFUSED[name]
    error = refusal(wires.connect, state, *ends)
    assert type(error) is kind
    assert message in error.message
    assert error.who
    if "nothing" not in name:
        assert wires.can_link(state, *ends) == error.message


def test_a_wire_whose_shape_does_not_fit_is_refused():
    state = add_layer(net("input 8x8x1 > flatten"), "Conv2D", at=(0.0, 300.0))
    error = refusal(wires.connect, state, "flatten", "conv2d")
    assert isinstance(error, ShapeClash)
    assert "[height, width, channels], got [64]" in error.message
    forced = wires.connect(state, "flatten", "conv2d", check_shapes=False)
    assert drawn(forced) == "input>flatten flatten>conv2d"


def test_a_merge_checks_shapes_once_both_are_there():
    state = net("input 8x8x1 > conv 4 3x3 same > conv 4 3x3")
    state = add_layer(state, "Add", after="conv2d")
    assert isinstance(refusal(wires.connect, state, "conv2d_1", "add"), ShapeClash)
    assert wires.can_link(state, "input", "add") == ""


def test_connect_takes_the_first_free_input():
    state = wires.connect(loose(), "input", "add")
    state = wires.connect(state, "dense", "add")
    assert drawn(state).endswith("input>add dense>add:1")
    state = wires.connect(state, "dense_1", "add", 0, replacing=True)
    assert drawn(state).endswith("dense_1>add dense>add:1")


def test_a_wire_may_take_the_place_of_another():
    state = wires.connect(loose(), "input", "dense_1", 0, replacing=True)
    assert drawn(state) == "input>dense input>dense_1"


def test_disconnect_moves_later_wires_up():
    state = wires.disconnect(residual(), "add", 0)
    assert state.nodes["add"].sources == ("input",)
    assert "input 1 has no wire" in refusal(wires.disconnect, state, "add", 1).message


def test_the_knife_cuts_several_wires_at_once():
    state = residual()
    cut = [Wire("input", "add", 1), Wire("conv2d_1", "add", 0), Wire("add", "gone", 0)]
    assert drawn(wires.cut_wires(state, cut)) == "input>conv2d conv2d>conv2d_1"
    assert wires.cut_wires(state, [Wire("add", "input", 0)]) is state


def test_all_wires_of_an_output_move_together():
    state = add_layer(residual(), "ReLU", after="input")
    state = wires.disconnect(state, "re_lu", 0)
    moved = wires.move_outputs(state, "input", "re_lu")
    assert drawn(moved) == "re_lu>conv2d conv2d>conv2d_1 conv2d_1>add re_lu>add:1"
    assert isinstance(refusal(wires.move_outputs, moved, "re_lu", "conv2d"), CycleError)
    assert wires.move_outputs(state, "re_lu", "input") is state


def test_wires_of_a_port_are_dropped():
    state = residual()
    out_of = wires.cut_wires(state, state.wires_from("input"))
    assert drawn(out_of) == "conv2d>conv2d_1 conv2d_1>add"
    into = wires.cut_wires(state, [wire for wire in state.wires() if wire.target == "add"])
    assert drawn(into) == "input>conv2d conv2d>conv2d_1"
    assert wires.cut_wires(state, []) is state


def test_a_dot_bends_a_wire_and_keeps_its_slot():
    state = add_dot(residual(), Wire("input", "add", 1), 30.0, 200.0)
    assert state.nodes["add"].sources == ("conv2d_1", "dot")
    assert state.nodes["dot"].sources == ("input",)
    assert broken_rules(state) == ()
    again = add_dot(state, Wire("dot", "add", 1), 60.0, 200.0)
    assert again.nodes["dot_1"].sources == ("dot",)
    assert "no longer exists" in refusal(add_dot, again, Wire("input", "add", 1), 0.0, 0.0).message


def test_a_wire_may_branch_from_a_dot():
    state = add_dot(loose(), Wire("dense", "dense_1", 0), 10.0, 10.0)
    branched = wires.connect(state, "dot", "re_lu")
    assert drawn(branched) == "input>dense dot>dense_1 dot>re_lu dense>dot"
    assert isinstance(refusal(wires.connect, state, "input", "dot"), InputTaken)
    looped = refusal(wires.connect, branched, "re_lu", "dense", 0, replacing=True)
    assert isinstance(looped, CycleError)
