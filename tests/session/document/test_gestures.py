"""Gestures of the canvas at the level of the document: what each leaves behind."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from studio.session.document.cards.geometry import GAP, box_of
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.document import Document
from studio.session.document.edits import arranging, comments, insertion, layers, places, removal
from studio.session.document.edits.wires import add_dot, connect, disconnect
from studio.session.document.errors import ShapeClash
from studio.session.document.flow import downstream
from studio.session.document.state import Wire
from tests.session.document.networks import chain, net, refusal, residual
from tests.session.document.networks import wires as drawn

HEALED = {
    "middle of a chain": (["re_lu"], True, "conv2d>max_pooling2d", 1),
    "two that follow each other": (["conv2d", "re_lu"], True, "input>max_pooling2d", 1),
    "two apart": (["conv2d", "max_pooling2d"], True, "input>re_lu re_lu>flatten", 2),
    "the end": (["dense"], True, "max_pooling2d>flatten", 0),
    "the beginning": (["input"], True, "conv2d>re_lu", 0),
    "without healing": (["re_lu"], False, "input>conv2d max_pooling2d>flatten", 0),
    "everything": (list(chain().nodes), True, "", 0),
}


@pytest.mark.parametrize("name", HEALED)
def test_deleting_joins_what_it_interrupts(name):
    ids, heal, expected, joined = HEALED[name]
    found = removal.delete_counted(chain(), ids, heal=heal)
    assert expected in drawn(found.state)
    assert (found.deleted, found.joined) == (len(ids), joined)
    assert broken_rules(found.state) == ()


def test_deleting_does_not_join_what_does_not_fit():
    state = net("input 8x8x1 > flatten > dense 4")
    cut = removal.delete(net("input 16 > reshape 4x4x1 > conv 2 3x3"), ["reshape"])
    assert drawn(cut) == ""
    assert drawn(removal.delete(state, ["flatten"])) == "input>dense"


def test_deleting_does_not_double_a_wire():
    state = removal.delete(residual(), ["conv2d", "conv2d_1"])
    assert state.nodes["add"].sources == ("input",)


def test_a_joined_wire_takes_the_slot_of_the_old_one():
    state = layers.add_layer(residual(), "Concatenate", after="conv2d")
    state = connect(connect(state, "conv2d_1", "concatenate"), "add", "concatenate")
    healed = removal.delete(state, ["conv2d_1"])
    assert healed.nodes["concatenate"].sources == ("conv2d", "add")
    assert healed.nodes["add"].sources == ("input",)


def test_deleting_a_branch_point_cuts_all_branches():
    state = layers.add_layer(
        layers.add_layer(chain(), "ReLU", after="flatten"), "Softmax", after="flatten"
    )
    assert drawn(removal.delete(state, ["flatten"])).endswith("re_lu>max_pooling2d")


def test_dots_are_joined_even_when_they_branch():
    state = add_dot(residual(), Wire("input", "conv2d", 0), 10.0, 10.0)
    state = disconnect(state, "add", 1)
    state = connect(state, "dot", "add")
    assert drawn(removal.delete(state, ["dot"], heal=False)) == (
        "input>conv2d conv2d>conv2d_1 conv2d_1>add input>add:1"
    )


def test_the_deletion_says_what_it_did():
    assert removal.delete_counted(chain(), ["conv2d", "re_lu"]).text == (
        "Deleted 2 layers, reconnected 1 wire"
    )
    assert removal.delete_counted(chain(), ["dense"]).text == "Deleted 1 layer"
    note = comments.add_note(chain(), 0.0, 0.0)
    assert removal.delete_counted(note, ["note", "dense"]).text == "Deleted 2 things"


def test_deleting_takes_the_mark_as_output_along():
    state = layers.mark_output(chain(), "dense")
    assert removal.delete(state, ["dense"]).outputs == ()


def loose_relu():
    return layers.add_layer(chain(), "Dropout", at=(0.0, 400.0))


def test_a_layer_dropped_on_a_wire_goes_in_between():
    state = insertion.insert_on_wire(loose_relu(), ["dropout"], Wire("conv2d", "re_lu", 0))
    assert state.nodes["dropout"].sources == ("conv2d",)
    assert state.nodes["re_lu"].sources == ("dropout",)


def test_a_chain_dropped_on_a_wire_goes_in_whole():
    state = layers.add_layer(loose_relu(), "ReLU", after="dropout")
    state = insertion.insert_on_wire(state, ["re_lu_1", "dropout"], Wire("conv2d", "re_lu", 0))
    assert "conv2d>dropout" in drawn(state)
    assert state.nodes["re_lu"].sources == ("re_lu_1",)


NOT_INSERTED = {
    "wired already": (["re_lu"], Wire("flatten", "dense", 0), "a free input"),
    "two apart": (["dropout", "dropout_1"], Wire("flatten", "dense", 0), "a free input"),
    "nothing": ([], Wire("flatten", "dense", 0), "a free input"),
    "an input": (["input_1"], Wire("flatten", "dense", 0), "a free input"),
    "no wire": (["dropout"], Wire("input", "dense", 0), "no longer exists"),
    "wrong shape": (["flatten_1"], Wire("input", "conv2d", 0), "height, width, channels"),
}


@pytest.mark.parametrize("name", NOT_INSERTED)
def test_what_does_not_go_on_a_wire_says_why(name):
    state = loose_relu()
    for type_name in ("Dropout", "Input", "Flatten"):
        state = layers.add_layer(state, type_name, at=(0.0, 800.0))
    ids, wire, message = NOT_INSERTED[name]
    assert message in insertion.can_insert(state, ids, wire)
    assert message in refusal(insertion.insert_on_wire, state, ids, wire).message
    assert insertion.can_insert(state, ["dropout"], Wire("flatten", "dense", 0)) == ""


def test_inserting_where_the_shape_does_not_fit_is_refused():
    state = layers.add_layer(chain(), "Flatten", at=(0.0, 400.0))
    error = refusal(insertion.insert_on_wire, state, ["flatten_1"], Wire("input", "conv2d", 0))
    assert isinstance(error, ShapeClash)


@pytest.mark.parametrize("push", ["right", "left"])
def test_neighbours_make_room(push):
    before = chain()
    state = insertion.add_on_wire(before, "Dropout", Wire("conv2d", "re_lu", 0), push=push)
    boxes = {i: box_of(node) for i, node in state.nodes.items()}
    assert not any(boxes[a].overlaps(boxes[b], GAP - 1) for a in boxes for b in boxes if a < b)
    moved = {i for i in before.nodes if state.nodes[i].x != before.nodes[i].x}
    beyond = downstream(before, ["re_lu"])
    assert moved == (beyond if push == "right" else set(before.nodes) - beyond)


def test_what_is_not_hit_stays_where_it_is():
    far = places.move_by(chain(), downstream(chain(), ["re_lu"]), 1000.0, 0.0)
    state = insertion.add_on_wire(far, "Dropout", Wire("conv2d", "re_lu", 0))
    assert all(state.nodes[i] == far.nodes[i] for i in far.nodes if i != "re_lu")


def test_inserting_is_undone_in_one_step():
    document = Document(chain())
    document.apply(
        "Insert", insertion.add_on_wire(document.state, "ReLU", Wire("input", "conv2d", 0))
    )
    assert document.undo()
    assert document.state == chain()
    assert not document.undo()


def overlapping(state):
    boxes = {node.id: box_of(node) for node in state.nodes.values() if node.flows}
    return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]


def test_straight_wires_are_level():
    state = places.move(chain(), {"re_lu": (464.0, 77.0), "flatten": (928.0, -31.0)})
    state = arranging.straighten(state, list(state.nodes))
    levels = {
        output_place(state.nodes[w.source])[1] - input_place(state.nodes[w.target])[1]
        for w in state.wires()
    }
    assert levels == {0.0}


def test_one_layer_is_straightened_towards_what_feeds_it():
    state = places.move(chain(), {"re_lu": (464.0, 77.0)})
    state = arranging.straighten(state, ["re_lu"])
    assert state.nodes["re_lu"].y == chain().nodes["re_lu"].y
    assert state.nodes["max_pooling2d"] == chain().nodes["max_pooling2d"]


def test_straightening_lays_no_layer_over_another():
    state = places.move(residual(), {"add": (696.0, 40.0)})
    state = layers.add_layer(state, "Activation", after="input", at=(232.0, 160.0))
    state = add_dot(state, Wire("input", "add", 1), 300.0, -60.0)
    before = overlapping(state)
    state = arranging.straighten(state, list(state.nodes))
    assert overlapping(state) == before == []
    assert state.nodes["activation"].y == 160.0
    levels = {i: output_place(state.nodes[i])[1] for i in ("input", "conv2d", "conv2d_1", "add")}
    assert len(set(levels.values())) == 1
    dot = next(i for i, node in state.nodes.items() if node.kind == "dot")
    assert arranging.straighten(state, [dot]) == state


def test_a_merge_is_straightened_towards_the_nearest_of_what_feeds_it():
    state = places.move(residual(), {"conv2d_1": (464.0, 200.0), "add": (696.0, -10.0)})
    state = arranging.straighten(state, ["add"])
    level = output_place(state.nodes["input"])[1]
    assert input_place(state.nodes["add"], 1)[1] == level


EDGES = {
    "left": lambda box: box.x,
    "right": lambda box: box.right,
    "top": lambda box: box.y,
    "bottom": lambda box: box.bottom,
    "centre_x": lambda box: box.x + box.width / 2,
    "centre_y": lambda box: box.y + box.height / 2,
}


@pytest.mark.parametrize("edge", EDGES)
def test_aligned_things_have_a_common_edge(edge):
    state = layers.collapse(places.move(chain(), {"re_lu": (400.0, 77.0)}), ["dense"])
    chosen = ["conv2d", "re_lu", "dense"]
    after = arranging.align(state, chosen, edge)
    assert len({EDGES[edge](box_of(after.nodes[i])) for i in chosen}) == 1
    assert arranging.align(state, ["dense"], edge) is state


def test_distributed_things_have_equal_spaces():
    state = places.move(
        chain(), {"conv2d": (10.0, 0.0), "re_lu": (900.0, 50.0), "flatten": (2000.0, 9.0)}
    )
    after = arranging.distribute(state, ["input", "conv2d", "re_lu", "flatten"])
    boxes = sorted(box_of(after.nodes[i]) for i in ("input", "conv2d", "re_lu", "flatten"))
    gaps = [b.x - a.right for a, b in pairwise(boxes)]
    assert max(gaps) - min(gaps) < 1e-6
    assert (boxes[0].x, boxes[-1].x) == (0.0, 2000.0)


def test_distribution_goes_along_the_longer_side():
    state = places.move(
        chain(), {"input": (0.0, 0.0), "conv2d": (5.0, 900.0), "re_lu": (9.0, 300.0)}
    )
    after = arranging.distribute(state, ["input", "conv2d", "re_lu"])
    assert after.nodes["re_lu"].x == 9.0
    boxes = [box_of(after.nodes[i]) for i in ("input", "re_lu", "conv2d")]
    assert boxes[1].y - boxes[0].bottom == pytest.approx(boxes[2].y - boxes[1].bottom)


def test_frames_hold_what_lies_in_them():
    state = comments.add_frame(chain(), ["conv2d", "re_lu"], text="stem")
    assert comments.inside_frame(state, "frame") == ("conv2d", "re_lu")
    state = comments.set_text(state, "frame", "the stem")
    assert state.nodes["frame"].text == "the stem"
    assert comments.resize(state, "frame", 1.0, 1.0).nodes["frame"].width == comments.MIN_SIDE
    assert "only notes" in refusal(comments.set_text, state, "dense", "x").message
    assert "at most" in refusal(comments.add_note, state, 0.0, 0.0, "x" * 20_000).message


def test_comments_do_not_change_what_runs():
    state = comments.add_frame(comments.add_note(chain(), 0.0, 0.0, "why"), ["dense"])
    assert (
        Document(state).project().graph.parameter_count()
        == Document(chain()).project().graph.parameter_count()
    )
    assert [n.id for n in state.nodes.values() if not n.flows] == ["note", "frame"]


def test_places_stay_within_what_a_file_may_hold():
    state = places.move(chain(), {"dense": (1e300, -1e300), "gone": (0.0, 0.0)})
    assert (state.nodes["dense"].x, state.nodes["dense"].y) == (1e7, -1e7)
