from __future__ import annotations

from dataclasses import replace

import pytest

from studio.engine.train.project.project import MAX_COORDINATE, Project
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.document import Document
from studio.session.document.edits.block_places import connect_levels, move_out, move_to_level
from studio.session.document.edits.blocks import add_port, group, move_port
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete, delete_counted
from studio.session.document.edits.wires import add_dot, can_link
from studio.session.document.levels import contents, ports_in, ports_out
from studio.session.document.state import Wire
from tests.session.document.networks import chain, refusal, residual, wires
from tests.session.document.test_blocks import runs


def test_moving_into_a_block_and_out_again_changes_nothing_that_runs():
    before = residual()
    state = group(before, ["conv2d"], "stem")
    inside = move_to_level(state, ["conv2d_1"], "block")
    assert broken_rules(inside) == ()
    assert {n.id for n in contents(inside, "block")} == {"conv2d", "conv2d_1"}
    assert len(ports_out(inside, "block")) == 1
    assert runs(inside) == runs(before)
    out = move_out(inside, ["conv2d", "conv2d_1"])
    assert broken_rules(out) == ()
    assert contents(out, "block") == ()
    assert ports_in(out, "block") == ports_out(out, "block") == ()
    assert wires(out) == wires(before)


def test_a_port_that_carries_the_same_is_used_again():
    before = residual()
    state = group(before, ["conv2d"])
    state = move_to_level(state, ["add"], "block")
    assert broken_rules(state) == ()
    assert [p.sources for p in ports_in(state, "block")] == [("input",), ("conv2d_1",)]
    assert runs(state) == runs(before)


def test_moving_over_several_levels_leads_wires_through_all_ports():
    before = chain()
    state = group(group(before, ["conv2d", "re_lu"], "inner"), ["block"], "outer")
    moved = move_to_level(state, ["dense"], "block")
    assert broken_rules(moved) == ()
    assert runs(moved) == runs(before)
    back = move_to_level(moved, ["dense"], "")
    assert broken_rules(back) == ()
    assert runs(back) == runs(before)
    assert wires(back) == wires(state)


def test_a_block_never_stands_in_itself():
    state = group(group(chain(), ["conv2d"], "inner"), ["block", "re_lu"], "outer")
    assert "in itself" in refusal(move_to_level, state, ["block_1"], "block").message
    assert "in itself" in refusal(move_to_level, state, ["block_1"], "block_1").message
    assert "no block" in refusal(move_out, state, ["dense"]).message


def test_wires_between_levels_are_refused_or_led_through_a_port():
    state = group(chain(), ["conv2d", "re_lu"])
    state = add_layer(state, "Add", level="block")
    assert "not in the same block" in can_link(state, "input", "add")
    linked = connect_levels(state, "input", "add")
    assert broken_rules(linked) == ()
    assert linked.nodes["add"].sources == (ports_in(state, "block")[0].id,)
    out = connect_levels(add_layer(linked, "Flatten"), "add", "flatten_1")
    assert broken_rules(out) == ()
    assert len(ports_out(out, "block")) == 2


def test_new_layers_and_bends_stand_where_their_wires_run():
    state = group(chain(), ["conv2d", "re_lu"])
    assert add_layer(state, "ReLU", after="conv2d").nodes["re_lu_1"].parent == "block"
    port = ports_out(state, "block")[0].id
    assert add_layer(state, "ReLU", after=port).nodes["re_lu_1"].parent == ""
    bent = add_dot(state, Wire("conv2d", "re_lu", 0), 0, 0)
    assert bent.nodes["dot"].parent == "block"


def test_a_block_goes_with_all_that_is_in_it_and_the_chain_is_joined():
    state = group(chain(), ["re_lu"])
    found = delete_counted(state, ["block"])
    assert broken_rules(found.state) == ()
    assert (found.deleted, found.joined, found.noun) == (1, 1, "block")
    assert "re_lu" not in found.state.nodes
    assert found.state.nodes["max_pooling2d"].sources == ("conv2d",)


def test_a_port_goes_with_its_wires():
    state = group(chain(), ["re_lu"])
    after = delete(state, [ports_in(state, "block")[0].id])
    assert broken_rules(after) == ()
    assert after.nodes["re_lu"].inputs == ()


@pytest.mark.parametrize("side", ["in", "out"])
def test_ports_are_added_open_named_and_ordered(side):
    state = group(chain(), ["re_lu"])
    state = add_port(state, "block", side, "extra").state
    state = add_port(state, "block", side, "extra").state
    of_side = ports_in if side == "in" else ports_out
    names = [p.text for p in of_side(state, "block")]
    assert names == ["re_lu", "extra", "extra_1"]
    moved = move_port(state, of_side(state, "block")[2].id, 0)
    assert [p.text for p in of_side(moved, "block")] == ["extra_1", "re_lu", "extra"]
    assert broken_rules(moved) == ()
    assert moved.nodes["block"].height > group(chain(), ["re_lu"]).nodes["block"].height
    assert "not a port" in refusal(move_port, state, "re_lu", 0).message


def test_moved_things_make_way():
    state = group(chain(), ["conv2d", "re_lu"])
    dense = state.nodes["dense"]
    at = state.nodes["conv2d"]
    state = state.with_nodes([replace(dense, x=at.x, y=at.y)])
    moved = move_to_level(state, ["dense"], "block")
    assert moved.nodes["dense"].y > at.y


def test_ports_stay_within_what_a_file_holds():
    far = MAX_COORDINATE
    state = group(move(chain(), {"conv2d": (far, far), "re_lu": (-far, -far)}), ["conv2d", "re_lu"])
    again = Document.of_project(Project.from_json(Document(state).project().to_json()))
    assert again.warnings == ()
    assert again.state.nodes == state.nodes
