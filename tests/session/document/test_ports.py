"""Layers with several outputs in the document: wires keep which one they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from studio.engine.layers.graph import Port
from studio.engine.train.project.project import Project
from studio.session.document.cards.geometry import PORT_STEP, TITLE_HEIGHT, box_of
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.document import Document
from studio.session.document.edits.arranging import straighten
from studio.session.document.edits.comments import add_frame, inside_frame
from studio.session.document.edits.copies import duplicate
from studio.session.document.edits.insertion import add_on_wire, make_room
from studio.session.document.edits.layers import add_layer, bypass, mark_output
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.wires import add_dot, can_link, connect, wire_exists
from studio.session.document.errors import AbsentOutput, DuplicateLink
from studio.session.document.files.clipboard import copy_text, paste
from studio.session.document.files.project_file import project_of_state, state_of_project
from studio.session.document.finding.minimap import graph_map
from studio.session.document.flow import flow_of
from studio.session.document.repairs.search import with_fixes
from studio.session.document.resolve import layer_graph, output_names, resolve
from studio.session.document.state import DocumentState, Wire
from studio.session.safety.journal import PlainState, state_to_json
from tests.engine.layers.several_outputs import split_layer
from tests.session.document.networks import chain, refusal, residual


@pytest.fixture(autouse=True)
def split() -> Iterator[None]:
    with split_layer():
        yield


def fork() -> DocumentState:
    """Six features cut into two and four, each through a layer, and joined."""
    state = add_layer(DocumentState(), "Input", config={"shape": [6]}, at=(0, 0))
    state = add_layer(state, "Split", config={"at": 2}, after="input", at=(240, 0))
    state = add_layer(state, "Dense", config={"units": 3}, at=(480, 0))
    state = add_layer(state, "Dense", config={"units": 3}, at=(480, 200))
    state = add_layer(state, "Add", at=(720, 0))
    for source, target in (
        (Port("split"), "dense"),
        (Port("split", 1), "dense_1"),
        (Port("dense"), "add"),
        (Port("dense_1"), "add"),
    ):
        state = connect(state, source, target)
    return state


def test_each_wire_carries_what_leaves_its_output():
    state, flow = fork(), flow_of(fork())
    assert state.nodes["dense_1"].inputs == (Port("split", 1),)
    assert (flow.shape("split"), flow.shape(Port("split", 1))) == ((2,), (4,))
    assert flow.outcomes["dense_1"].parameters == 4 * 3 + 3
    assert state.wires_from("split") == (
        Wire("split", "dense", 0), Wire("split", "dense_1", 0, 1)
    )  # fmt: skip
    assert state.wires_from(Port("split", 1)) == (Wire("split", "dense_1", 0, 1),)
    assert validate(state).is_valid
    assert broken_rules(state) == ()
    assert layer_graph(state).shapes()["add"] == (3,)


def test_both_outputs_may_feed_one_layer_and_each_only_once():
    state = add_layer(fork(), "Concatenate", at=(480, 400))
    for output in (0, 1):
        state = connect(state, Port("split", output), "concatenate")
    assert flow_of(state).shape("concatenate") == (6,)
    error = refusal(connect, state, Port("split", 1), "concatenate")
    assert isinstance(error, DuplicateLink)


def test_an_output_that_is_not_there_is_refused_by_name():
    error = refusal(connect, fork(), Port("split", 2), "add")
    assert isinstance(error, AbsentOutput)
    assert error.message == "'split' has 2 outputs, 0 to 1: got 2"
    assert can_link(fork(), Port("dense", 1), "add") == "'dense' has one output, number 0: got 1"


def test_a_wire_from_an_output_that_is_not_there_is_reported_at_its_end():
    state = connect(fork(), Port("split", 2), "dense", 0, replacing=True, check_shapes=False)
    (problem,) = validate(state).problems
    assert (problem.id, problem.node, problem.port) == ("link.output", "dense", 0)
    assert problem.message == "'split' has 2 outputs, 0 to 1: got 2"
    fixes = with_fixes(validate(state), state, None).problems[0].fixes
    assert [fix.text for fix in fixes[:2]] == [
        "Connect output 0 of split to dense", "Connect output 1 of split to dense"
    ]  # fmt: skip
    assert fixes[0].apply(state) == fork()


def test_a_marked_output_that_is_not_there_is_reported():
    state = fork().replaced(outputs=(Port("add"), Port("split", 2)))
    (problem,) = validate(state).errors
    assert (problem.id, problem.node) == ("output.absent", "split")
    assert problem.message == "'split' has 2 outputs, 0 to 1: got 2"
    fix = with_fixes(validate(state), state, None).problems[0].fixes[0]
    assert fix.apply(state).outputs == (Port("add"),)


def test_dots_and_bypassed_layers_hand_on_the_output_that_feeds_them():
    state = add_dot(fork(), Wire("split", "dense_1", 0, 1), 300.0, 100.0)
    assert state.nodes["dot"].inputs == (Port("split", 1),)
    assert resolve(state).inputs["dense_1"] == (Port("split", 1),)
    state = add_on_wire(state, "ReLU", Wire("dot", "dense_1", 0))
    state = bypass(state, ["re_lu"])
    assert resolve(state).inputs["dense_1"] == (Port("split", 1),)
    assert layer_graph(state).nodes["dense_1"].inputs == (Port("split", 1),)
    assert delete(state, ["dot", "re_lu"]).nodes["dense_1"].inputs == (Port("split", 1),)


def test_a_bypassed_layer_with_several_outputs_hands_its_input_to_all_of_them():
    state = bypass(fork(), ["split"])
    assert flow_of(state).shape(Port("split", 1)) == (6,)
    assert resolve(state).inputs["dense_1"] == (Port("input"),)
    assert validate(state).is_valid


def test_second_outputs_are_marked_by_themselves():
    state = mark_output(fork(), Port("split", 1))
    state = mark_output(state, "add")
    assert resolve(state).outputs == (Port("split", 1), Port("add"))
    assert output_names(state) == layer_graph(state).output_names() == ("split_1", "add")
    assert mark_output(state, Port("split", 1)).outputs == (Port("add"),)
    assert delete(state, ["split"]).outputs == (Port("add"),)


def test_copies_are_wired_from_the_same_outputs():
    state = duplicate(fork(), ["split", "dense_1"])
    assert state.nodes["dense_2"].inputs == (Port("split_1", 1),)
    state = duplicate(fork(), ["dense_1"], keep_inputs=True)
    assert state.nodes["dense_2"].inputs == (Port("split", 1),)
    text = copy_text(fork(), fork().nodes)
    assert '"version": 2' in text
    assert paste(DocumentState(), text).nodes["dense_1"].inputs == (Port("split", 1),)
    assert '"version": 1' in copy_text(chain(), chain().nodes)


def test_a_project_with_second_outputs_is_opened_as_it_was_saved(tmp_path):
    state = mark_output(mark_output(fork(), Port("split", 1)), "add")
    project = project_of_state(state)
    assert project.canvas is None
    project.save(tmp_path / "fork.glassbox")
    opened = state_of_project(Project.load(tmp_path / "fork.glassbox"))
    assert opened.warnings == ()
    assert (dict(opened.state.nodes), opened.state.outputs) == (dict(state.nodes), state.outputs)


@pytest.mark.parametrize(
    ("state", "version"),
    [
        (lambda: add_dot(fork(), Wire("split", "dense_1", 0, 1), 300.5, 100.0), 2),
        (lambda: add_dot(fork(), Wire("dense", "add", 0), 600.0, 0.0), 2),
        (lambda: add_dot(residual(), Wire("input", "add", 1), 300.0, 200.0), 1),
    ],
    ids=["a bent second output", "a second output elsewhere", "first outputs only"],
)
def test_the_drawing_has_the_lowest_version_that_can_say_it(state, version, tmp_path):
    drawn, path = state(), tmp_path / "drawn.glassbox"
    project = project_of_state(drawn)
    assert project.canvas is not None
    assert project.canvas["version"] == version
    document = Document(drawn)
    document.save(path)
    opened = Document.open(path)
    assert (dict(opened.state.nodes), opened.warnings) == (dict(drawn.nodes), ())


def test_the_journal_keeps_ports():
    state = mark_output(fork(), Port("split", 1))
    assert PlainState(state_to_json(state)).state() == state


def test_hashes_of_documents_without_second_outputs_are_what_they_were():
    # Cards had one width then, so layers that follow each other stood 232 pixels apart.
    even = move(chain(), {i: (232.0 * n, 0.0) for n, i in enumerate(chain().nodes)})
    assert even.content_hash[:16] == "844d62194c21b7d6"
    assert residual().content_hash[:16] == "c953d6ef6579fd78"
    assert mark_output(even, "flatten").content_hash[:16] == "069d446219df6059"
    other = fork().with_nodes([replace(fork().nodes["dense"], inputs=(Port("split", 1),))])
    assert other.content_hash != fork().content_hash


def test_a_wire_is_there_only_from_its_own_output():
    assert wire_exists(fork(), Wire("split", "dense_1", 0, 1))
    assert not wire_exists(fork(), Wire("split", "dense_1", 0))


def many(count: int = 12) -> DocumentState:
    """The fork with its second output so far down that the card is high."""
    return connect(
        fork(), Port("split", count - 1), "dense_1", 0, replacing=True, check_shapes=False
    )


def test_a_new_layer_finds_a_place_below_all_outputs():
    state = move(many(), {"split": (400.0, -100.0)})
    high = box_of(state.nodes["split"], sizes_in(state))
    assert high.height > box_of(state.nodes["split"]).height
    state = add_layer(state, "ReLU", after="input")
    placed = box_of(state.nodes["re_lu"])
    state = move(state, {"split": (placed.x, placed.y - high.height / 2)})
    state = delete(state, ["re_lu"])
    state = add_layer(state, "ReLU", after="input")
    assert not box_of(state.nodes["re_lu"]).overlaps(box_of(state.nodes["split"], sizes_in(state)))


def test_what_is_put_on_a_wire_gets_room_for_its_outputs():
    # Below the source's wire there is a layer that only a low card would leave alone.
    state = move(many(), {"dense": (240.0 + 8, 0.0), "dense_1": (248.0, 180.0)})
    wide = make_room(state, ["split"])
    own = box_of(wide.nodes["split"], sizes_in(wide))
    assert own.bottom > wide.nodes["dense_1"].y
    assert not any(own.overlaps(box_of(wide.nodes[i])) for i in ("dense", "dense_1"))


def test_straightening_makes_the_wire_of_a_lower_output_level():
    state = move(many(), {"dense": (480.0, -300.0)})
    made = straighten(state, ["split", "dense_1"])
    size_of = sizes_in(made)
    leaves = output_place(made.nodes["split"], size_of, 11)[1]
    assert leaves == made.nodes["split"].y + TITLE_HEIGHT / 2 + 11 * PORT_STEP
    assert input_place(made.nodes["dense_1"], 0, size_of)[1] == leaves


def test_a_frame_around_a_layer_with_many_outputs_holds_all_of_it():
    state = add_frame(many(), ["split"])
    assert inside_frame(state, "frame") == ("split",)


def test_a_row_of_the_map_is_as_high_as_the_card():
    state = many()
    found = graph_map(state, validate(state))
    assert found is not None
    (mark,) = (mark for mark in found.marks if mark.id == "split")
    assert mark.box == box_of(state.nodes["split"], sizes_in(state))
