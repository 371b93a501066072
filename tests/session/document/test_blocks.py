from __future__ import annotations

import random
from dataclasses import replace

import pytest

from studio.engine.layers.graph import Port
from studio.engine.layers.graph_json import graph_to_json
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group, rename_block, ungroup
from studio.session.document.edits.comments import add_frame, add_note
from studio.session.document.edits.layers import add_layer, mark_output
from studio.session.document.levels import (
    blocks_around,
    contents,
    descendants,
    ends_of_wire,
    level_of_wire,
    path_of,
    ports_in,
    ports_out,
    shown_at,
    wires_at,
)
from studio.session.document.resolve import layer_graph, resolve
from studio.session.document.state import DocumentState
from tests.engine.layers.several_outputs import split_layer
from tests.session.document.networks import chain, net, places, refusal, residual, wires


def runs(state: DocumentState) -> object:
    """What must not change: the network in its order, and the ids and names of layers."""
    return (
        graph_to_json(layer_graph(state)),
        resolve(state),
        [(n.id, n.name) for n in state.layers()],
    )


def test_wires_across_the_border_pass_ports_named_after_what_is_inside():
    before = residual()
    state = group(before, ["conv2d", "conv2d_1"], "stem")
    assert broken_rules(state) == ()
    assert [p.text for p in ports_in(state, "block")] == ["conv2d"]
    assert [p.text for p in ports_out(state, "block")] == ["conv2d_1"]
    assert (
        wires(state)
        == "port>conv2d conv2d>conv2d_1 port_1>add input>add:1 input>port conv2d_1>port_1"
    )
    drawn = [ends_of_wire(state, wire) for wire in wires_at(state)]
    assert sorted(drawn) == [("block", "add"), ("input", "add"), ("input", "block")]
    assert runs(state) == runs(before)


def test_one_port_serves_all_wires_that_leave_one_output():
    before = residual()
    state = group(before, ["conv2d", "conv2d_1", "add"])
    assert len(ports_in(state, "block")) == 1
    assert len(ports_out(state, "block")) == 1
    assert runs(state) == runs(before)
    whole = group(before, ["input"])
    assert len(ports_out(whole, "block")) == 1
    assert runs(whole) == runs(before)


def test_what_nothing_follows_gets_an_open_output_each():
    before = add_layer(residual(), "Flatten", after="conv2d")
    before = add_layer(before, "Dense", after="flatten", config={"units": 3})
    before = mark_output(mark_output(before, "add"), "dense")
    state = group(before, ["conv2d", "conv2d_1", "add", "flatten", "dense"], "body")
    assert broken_rules(state) == ()
    assert {p.inputs for p in ports_out(state, "block")} == {(Port("add"),), (Port("dense"),)}
    assert state.outputs == before.outputs
    assert runs(state) == runs(before)
    whole = group(state, ["block"], "outer")
    assert broken_rules(whole) == ()
    inner = {Port(p.id) for p in ports_out(whole, "block")}
    assert {p.inputs[0] for p in ports_out(whole, "block_1")} == inner
    assert runs(whole) == runs(before)
    wired = add_layer(whole, "Flatten", after=ports_out(whole, "block_1")[0].id)
    assert broken_rules(wired) == ()
    assert len(wired.nodes) == len(whole.nodes) + 1
    assert ungroup(ungroup(whole, "block_1"), "block").nodes == before.nodes


def test_only_marked_outputs_of_an_end_layer_get_ports():
    with split_layer():
        before = add_layer(net("input 6"), "Split", config={"at": 2}, after="input")
        one = group(before, ["split"])
        assert [p.inputs for p in ports_out(one, "block")] == [(Port("split"),)]
        marked = mark_output(mark_output(before, Port("split", 1)), "split")
        both = group(marked, ["split"])
        assert [p.inputs[0].output for p in ports_out(both, "block")] == [0, 1]
        assert runs(both) == runs(marked)
        assert broken_rules(both) == ()


@pytest.mark.parametrize("ids", [["conv2d"], ["conv2d", "add"], ["input", "add"], ["conv2d_1"]])
def test_grouping_and_dissolving_gives_the_same_drawing(ids):
    before = residual()
    state = ungroup(group(before, ids), "block")
    assert state.nodes == before.nodes
    assert state.content_hash == before.content_hash


def test_blocks_nest_and_are_dissolved_in_any_order():
    before = chain()
    inner = group(before, ["conv2d", "re_lu"], "inner")
    outer = group(inner, ["block", "max_pooling2d"], "outer")
    assert broken_rules(outer) == ()
    assert path_of(outer, "block") == "outer/inner"
    assert blocks_around(outer, "re_lu") == ("block", "block_1")
    assert shown_at(outer, "re_lu") == "block_1"
    assert shown_at(outer, "re_lu", "block_1") == "block"
    assert shown_at(outer, "dense", "block") == ""
    assert {n.id for n in contents(outer, "block_1")} == {"block", "max_pooling2d"}
    assert {"conv2d", "re_lu", "block"} < {n.id for n in descendants(outer, "block_1")}
    assert runs(outer) == runs(before)
    descended = ("conv2d", "re_lu", "max_pooling2d")
    for order in (("block", "block_1"), ("block_1", "block")):
        state = outer
        for each in order:
            state = ungroup(state, each)
            assert broken_rules(state) == ()
            assert runs(state) == runs(before)
        assert wires(state) == wires(before)
        steps = {
            (x - places(before)[i][0], y - places(before)[i][1])
            for i, (x, y) in places(state).items()
            if i in descended
        }
        assert len(steps) == 1


def test_comments_come_along():
    state = add_frame(add_note(chain(), 0, 300, "why"), ["conv2d"], text="stem")
    state = group(state, ["conv2d", "note", "frame"])
    assert {n.id for n in contents(state, "block")} == {"conv2d", "note", "frame"}


def test_what_a_block_holds_follows_it_when_it_is_dissolved():
    before = chain()
    state = group(before, ["conv2d", "re_lu"])
    block = state.nodes["block"]
    state = ungroup(state.with_nodes([replace(block, x=block.x + 100, y=block.y - 50)]), "block")
    for node_id in ("conv2d", "re_lu"):
        x, y = places(before)[node_id]
        assert places(state)[node_id] == (x + 100, y - 50)


def test_what_is_refused():
    state = group(chain(), ["conv2d", "re_lu"], "stem")
    assert "different blocks" in refusal(group, state, ["conv2d", "dense"]).message
    assert "at least one layer" in refusal(group, state, ["port"]).message
    assert "taken" in refusal(group, state, ["dense"], "stem").message
    assert "slash" in refusal(group, state, ["dense"], "a/b").message
    assert "not a block" in refusal(ungroup, state, "dense").message
    assert "slash" in refusal(rename_block, state, "block", " ").message
    assert rename_block(state, "port", "image").nodes["port"].name == "image"


def test_a_wire_that_leaves_a_block_without_a_port_breaks_a_rule():
    state = group(chain(), ["conv2d", "re_lu"])
    wrong = state.with_nodes([replace(state.nodes["dense"], inputs=(Port("re_lu"),))])
    assert any("without a port" in rule for rule in broken_rules(wrong))
    assert level_of_wire(state, next(w for w in state.wires() if w.target == "re_lu")) == "block"


def test_states_without_blocks_keep_their_content_text():
    node = chain().nodes["dense"]
    assert node.content_text.endswith("0.0, 0.0, False)")


@pytest.mark.parametrize("seed", range(20))
def test_random_groups_change_nothing_that_runs(seed):
    choose, before = random.Random(seed), residual()
    state = before
    for _ in range(12):
        blocks = [n.id for n in state.nodes.values() if n.is_block]
        if blocks and choose.random() < 0.4:
            state = ungroup(state, choose.choice(blocks))
        else:
            level = choose.choice(["", *blocks])
            inside = [n.id for n in contents(state, level)]
            ids = choose.sample(inside, min(len(inside), choose.randint(1, 3)))
            if not any(state.nodes[i].flows or state.nodes[i].is_block for i in ids):
                continue
            state = group(state, ids)
        assert broken_rules(state) == ()
        assert runs(state) == runs(before)
    while blocks := [n.id for n in state.nodes.values() if n.is_block]:
        state = ungroup(state, blocks[0])
    assert wires(state) == wires(before)
