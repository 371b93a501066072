"""Blocks by hand: one card outside, their layers inside, and the ways in and out."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.engine.layers.graph import Port
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.panes.outline import OutlinePane
from studio.session.core import entities
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group, ungroup
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.places import move, move_by
from studio.session.document.edits.wires import cut_wires, disconnect
from studio.session.document.finding.minimap import graph_map
from studio.session.document.finding.outline import accessible_text
from studio.session.document.level_view import drawn_at
from studio.session.document.levels import all_blocks, contents, level_of_wire, ports_in, ports_out
from studio.session.document.state import Wire
from tests.graph_editor.hands import ALT, CTRL, LEFT, RIGHT, SHIFT, Hands
from tests.graph_editor.test_panes_beside_the_canvas import carried
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain, nested_blocks, residual
from tests.session.document.random_edits import Editor


def drawn(hands: Hands) -> set[str]:
    return set(hands.canvas.graph.nodes)


def wires_seen(hands: Hands) -> set[tuple[str, str]]:
    return {(wire.source, wire.target) for wire in hands.canvas.graph.wires}


def test_a_block_is_one_card_with_its_ports_at_its_edges(stem: Hands):
    graph, state = stem.canvas.graph, stem.state
    assert drawn(stem) == {"input", "add", "block", "port", "port_1"}
    assert wires_seen(stem) == {("input", "port"), ("input", "add"), ("port_1", "add")}
    area = graph.nodes["block"].scene_area
    assert [p.id for p in (*ports_in(state, "block"), *ports_out(state, "block"))] == [
        "port", "port_1",
    ]  # fmt: skip
    assert stem.input("port").x() == area.left()
    assert stem.port("port_1").x() == area.right()
    assert area.top() < stem.input("port").y() < area.bottom()


def test_the_end_of_a_network_is_grouped_and_wired_on_from_its_block(hands: Hands):
    hands.open(chain())
    before = hands.state
    hands.click(hands.body("flatten"))
    hands.click(hands.body("dense"), SHIFT)
    hands.key(K.Key_G, CTRL)
    (block,) = hands.selected
    (port,) = ports_out(hands.state, block)
    assert port.inputs == (Port("dense"),)
    assert hands.steps == 1
    apart = add_layer(hands.state, "Dense", config={"units": 2}, at=(900, 600))
    hands.document.apply("Add a layer", apart)
    hands.drag(hands.port(port.id), hands.input("dense_1"))
    assert hands.state.nodes["dense_1"].inputs == (Port(port.id),)
    for _ in range(3):
        hands.document.undo()
    assert hands.state == before


@pytest.mark.slow
def test_wires_follow_the_ports_of_a_block_that_is_dragged(stem: Hands):
    graph = stem.canvas.graph
    before = stem.input("port") - graph.nodes["block"].pos()
    stem.drag(stem.body("block"), stem.body("block") + QPointF(0, 80))
    node = stem.state.nodes["block"]
    assert stem.input("port") == QPointF(node.x, node.y) + before
    path = graph.wires[Wire("input", "port", 0)].path()
    assert path.currentPosition() == stem.input("port")
    assert stem.steps == 1


def test_a_double_click_opens_a_block_and_esc_closes_it(stem: Hands):
    stem.double_click(stem.body("block"))
    graph = stem.canvas.graph
    assert graph.level == "block"
    inner = {node.id for node in contents(stem.state, "block")}
    assert inner <= drawn(stem)
    assert {"port", "port_1"} <= drawn(stem)
    assert not {"input", "add"} & drawn(stem)
    assert "conv2d_1" not in drawn(stem)
    stem.key(K.Key_Escape)
    assert graph.level == ""
    assert stem.selected == ["block"]
    assert stem.steps == 0


def test_enter_opens_the_selected_block_and_esc_first_clears_the_selection(stem: Hands):
    stem.click(stem.body("block"))
    stem.key(K.Key_Return)
    assert stem.canvas.graph.level == "block"
    stem.click(stem.body("block_1"))
    stem.key(K.Key_Return)
    assert stem.canvas.graph.level == "block_1"
    stem.click(stem.body("conv2d_1"))
    stem.key(K.Key_Escape)
    assert stem.canvas.graph.level == "block_1"
    assert stem.selected == []
    stem.key(K.Key_Escape)
    assert (stem.canvas.graph.level, stem.selected) == ("block", ["block_1"])


def test_grouping_and_dissolving_by_keys_are_one_step_each(hands: Hands):
    hands.open(residual())
    before = hands.state
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("conv2d_1"), SHIFT)
    hands.key(K.Key_G, CTRL)
    assert hands.steps == 1
    assert hands.selected == ["block"]
    assert drawn(hands) == {"input", "add", "block", "port", "port_1"}
    assert wires_seen(hands) == {("input", "port"), ("input", "add"), ("port_1", "add")}
    assert hands.canvas.chrome.breadcrumbs.isVisible()
    hands.key(K.Key_G, CTRL | SHIFT)
    assert hands.steps == 2
    assert set(hands.selected) == {"conv2d", "conv2d_1"}
    assert wires_seen(hands) == {(w.source, w.target) for w in before.wires()}
    assert not hands.canvas.chrome.breadcrumbs.isVisible()
    hands.document.undo()
    hands.document.undo()
    assert hands.state == before
    assert drawn(hands) == set(before.nodes)


@pytest.mark.slow
def test_wires_of_a_nested_block_are_drawn_where_the_outer_one_is_dissolved(stem: Hands):
    grouped = wires_seen(stem)
    stem.click(stem.body("block"))
    stem.key(K.Key_G, CTRL | SHIFT)
    dissolved = {(wire.source, wire.target) for wire in stem.state.wires()}
    (port,) = (each.id for each in ports_in(stem.state, "block_1"))
    inside = {pair for pair in dissolved if "conv2d_1" in pair}
    assert ("conv2d", port) in wires_seen(stem)
    assert wires_seen(stem) == dissolved - inside
    stem.key(K.Key_Z, CTRL)
    assert wires_seen(stem) == grouped
    stem.key(K.Key_Z, CTRL | SHIFT)
    assert wires_seen(stem) == dissolved - inside


def test_undo_of_the_group_whose_inside_is_open_shows_what_it_stood_in(hands: Hands):
    hands.open(residual())
    hands.canvas.context.select(["conv2d", "conv2d_1"])
    hands.key(K.Key_G, CTRL)
    hands.key(K.Key_Return)
    assert hands.canvas.graph.level == "block"
    hands.key(K.Key_Z, CTRL)
    assert hands.canvas.graph.level == ""
    assert drawn(hands) == set(residual().nodes)
    hands.key(K.Key_Z, CTRL | SHIFT)
    assert drawn(hands) == {"input", "add", "block", "port", "port_1"}


def test_a_layer_chosen_in_another_view_is_shown_at_its_level(stem: Hands):
    stem.studio.bus.select([entities.node("conv2d_1")], source="listing")
    assert stem.canvas.graph.level == "block_1"
    stem.studio.bus.select([entities.node("add")], source="problems")
    assert stem.canvas.graph.level == ""


def test_find_goes_into_blocks(stem: Hands):
    stem.key(K.Key_F, CTRL)
    stem.type("conv2d_1")
    assert stem.canvas.graph.level == "block_1"
    assert stem.selected == ["conv2d_1"]


def test_a_wire_is_drawn_from_inside_to_the_open_port(hands: Hands):
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    hands.open(state)
    hands.double_click(hands.body("block"))
    hands.drag(hands.input("conv2d"), hands.nowhere())
    assert ("port", "conv2d") not in wires_seen(hands)
    hands.drag(hands.port("port"), hands.input("conv2d"))
    assert ("port", "conv2d") in wires_seen(hands)
    assert broken_rules(hands.state) == ()


def test_a_wire_from_a_card_leaves_its_port(stem: Hands):
    stem.drag(stem.input("port"), stem.nowhere())
    assert ("input", "port") not in wires_seen(stem)
    stem.drag(stem.port("input"), stem.input("port"))
    assert ("input", "port") in wires_seen(stem)
    assert broken_rules(stem.state) == ()


@pytest.mark.slow
def test_everything_at_the_open_level_is_selected_and_no_more(stem: Hands):
    stem.key(K.Key_A, CTRL)
    assert set(stem.selected) == {"input", "add", "block"}
    area = stem.canvas.graph.content_area().adjusted(-40, -40, 40, 40)
    stem.key(K.Key_Escape)
    stem.drag(area.topLeft(), area.bottomRight())
    assert set(stem.selected) == {"input", "add", "block"}


def test_arrow_keys_walk_over_blocks_at_one_level(stem: Hands):
    stem.click(stem.title("input"))
    stem.key(K.Key_Right)
    assert stem.selected in (["block"], ["add"])
    stem.canvas.context.select(["block"])
    stem.key(K.Key_Right)
    assert stem.selected == ["add"]
    stem.canvas.context.select(["block"])
    stem.key(K.Key_Left)
    assert stem.selected == ["input"]


def test_layers_are_added_in_the_open_block(inside: Hands):
    inside.double_click(inside.nowhere())
    inside.type("relu")
    inside.key(K.Key_Return)
    (made,) = inside.selected
    assert inside.state.nodes[made].parent == "block"
    assert made in drawn(inside)
    assert inside.steps == 1
    assert broken_rules(inside.state) == ()


def test_a_layer_dropped_in_the_open_block_stands_there(inside: Hands):
    carrier = carried(inside, "Dense")
    carrier.drop(inside.nowhere())
    (made,) = inside.selected
    assert inside.state.nodes[made].parent == "block"
    carrier = carried(inside, "Dropout")
    carrier.drop(inside.middle("conv2d", "conv2d_1"))
    assert "dropout>conv2d_1" in inside.wires
    assert inside.state.nodes["dropout"].parent == "block"
    assert broken_rules(inside.state) == ()


def test_a_layer_behind_the_selected_block_follows_its_output(stem: Hands):
    stem.click(stem.body("block"))
    stem.key(K.Key_Tab)
    stem.type("relu")
    stem.key(K.Key_Return)
    assert "port_1>re_lu" in stem.wires
    assert stem.state.nodes["re_lu"].parent == ""
    assert broken_rules(stem.state) == ()


def test_a_layer_behind_the_selected_output_of_the_open_block_goes_in_front_of_it(inside: Hands):
    inside.click(inside.port("port_1", PortKey("in")) + QPointF(30, 0))
    assert inside.selected == ["port_1"]
    inside.key(K.Key_Tab)
    inside.type("relu")
    inside.key(K.Key_Return)
    assert "re_lu>port_1" in inside.wires
    assert "conv2d_1>re_lu" in inside.wires
    assert inside.state.nodes["re_lu"].parent == "block"
    assert broken_rules(inside.state) == ()


def test_notes_and_frames_stay_at_the_open_level(inside: Hands):
    inside.key(K.Key_C)
    inside.type("first part")
    inside.key(K.Key_Return, CTRL)
    inside.click(inside.body("conv2d"))
    inside.key(K.Key_J, CTRL)
    inside.key(K.Key_Return)
    kinds = {n.kind: n.parent for n in inside.state.nodes.values() if n.kind in ("note", "frame")}
    assert kinds == {"note": "block", "frame": "block"}


def test_blocks_and_their_ports_are_renamed_in_place(stem: Hands):
    stem.click(stem.body("block"))
    stem.key(K.Key_F2)
    stem.type("encoder")
    stem.key(K.Key_Return)
    assert stem.state.nodes["block"].name == "encoder"
    assert stem.steps == 1
    stem.double_click(stem.body("block"))
    assert [b.text() for b in stem.canvas.chrome.breadcrumbs.buttons] == ["Model", "encoder"]
    stem.double_click(stem.port("port") - QPointF(30, 0))
    stem.type("picture")
    stem.key(K.Key_Return)
    assert stem.state.nodes["port"].name == "picture"
    stem.key(K.Key_Escape)
    stem.key(K.Key_Escape)
    assert stem.canvas.graph.nodes["block"].card.ports_in == (("port", "picture"),)


def pick(hands: Hands, at: QPointF, words: str) -> None:
    """Click an entry of the context menu of a place."""
    hands.click(at, button=RIGHT)
    hands.qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=60_000)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    entry = next(each for each in menu.actions() if each.text().startswith(words))
    assert entry.isEnabled()
    hands.qtbot.mouseClick(menu, LEFT, pos=menu.actionGeometry(entry).center())


def test_a_port_is_marked_renamed_and_given_neighbours_from_outside(stem: Hands):
    before = stem.canvas.viewport().grab().toImage()
    pick(stem, stem.input("port"), "Rename")
    stem.type("image")
    stem.key(K.Key_Return)
    assert stem.state.nodes["port"].name == "image"
    assert stem.canvas.graph.level == ""
    assert stem.canvas.graph.nodes["port"].marks.selected
    assert stem.canvas.viewport().grab().toImage() != before
    pick(stem, stem.input("port"), "Add an input to the block")
    assert len(ports_in(stem.state, "block")) == 2
    assert broken_rules(stem.state) == ()


def test_layout_arranges_one_level(stem: Hands):
    before = stem.state
    stem.key(K.Key_L, SHIFT)
    after = stem.state
    assert stem.steps == 1
    boxes = {i: stem.canvas.graph.nodes[i].scene_area for i in ("input", "block", "add")}
    assert boxes["input"].right() < boxes["block"].left()
    assert boxes["block"].right() < boxes["add"].left()
    assert all(after.nodes[i] is n for i, n in before.nodes.items() if n.parent)
    stem.double_click(stem.body("block"))
    stem.key(K.Key_L, SHIFT)
    graph = stem.canvas.graph
    inner = [graph.nodes[i].scene_area for i in ("port", "conv2d", "block_1", "port_1")]
    assert all(left.right() < right.left() for left, right in pairwise(inner))
    assert all(stem.state.nodes[i] is after.nodes[i] for i in ("input", "add", "block", "conv2d_1"))


@pytest.mark.slow
def test_the_card_shows_the_worst_of_its_layers(hands: Hands):
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    hands.open(state)
    wire = Wire("conv2d_1", "port_1", 0)
    card = hands.canvas.graph.nodes["block"].card
    assert (card.condition, card.subtitle, card.parameters) == ("ok", "2 layers", "296")
    hands.document.apply("Widen", set_option(hands.state, "conv2d_1", "filters", 5))
    assert hands.canvas.graph.nodes["block"].card.condition == "ok"
    hands.document.apply("Cut", cut_wires(hands.state, [wire]))
    hands.document.apply("Break", set_option(hands.state, "conv2d", "kernel_size", [30, 30]))
    hands.document.apply("Break", set_option(hands.state, "conv2d", "padding", "valid"))
    card = hands.canvas.graph.nodes["block"].card
    assert card.condition == "error"
    assert card.message.startswith("conv2d: ")


def test_the_outline_lists_layers_in_their_blocks(stem: Hands, qtbot: QtBot):
    pane = OutlinePane(stem.studio)
    qtbot.addWidget(pane)
    pane.show()
    top = [pane.tree.topLevelItem(row) for row in range(pane.tree.topLevelItemCount())]
    assert [item.text(0) for item in top] == ["input", "stem", "add"]
    block = top[1]
    assert [block.child(row).text(0) for row in range(block.childCount())] == ["conv2d", "inner"]
    assert block.child(1).child(0).text(0) == "conv2d_1"
    assert (block.text(1), block.text(3)) == ("Block", "296")
    pane.tree.setCurrentItem(block.child(1).child(0))
    assert stem.canvas.graph.level == "block_1"
    assert stem.selected == ["conv2d_1"]
    stem.key(K.Key_Escape)
    stem.document.apply("Dissolve", ungroup(stem.state, "block"))
    qtbot.waitUntil(lambda: pane.tree.topLevelItem(1).text(0) == "conv2d", timeout=60_000)
    assert pane.tree.topLevelItem(2).child(0).text(0) == "conv2d_1"


def test_the_map_shows_the_open_level(stem: Hands):
    found = graph_map(stem.state, stem.document.report)
    assert found is not None
    assert {(mark.id, mark.family) for mark in found.marks} == {
        ("input", "data"), ("block", "block"), ("add", "merge"),
    }  # fmt: skip
    inner = graph_map(stem.state, stem.document.report, "block_1")
    assert inner is not None
    assert {mark.id for mark in inner.marks if mark.kind == "layer"} == {"conv2d_1"}


def test_blocks_are_spoken_of(stem: Hands):
    report = stem.document.report
    assert accessible_text(stem.state, report, "block") == (
        "Block stem, 2 layers, input conv2d, output conv2d_1, no errors"
    )
    assert "in block stem/inner" in accessible_text(stem.state, report, "conv2d_1")
    spoken = QAccessible.queryAccessibleInterface(stem.canvas)
    names = [spoken.child(row).text(QAccessible.Text.Name) for row in range(spoken.childCount())]
    assert names[1].startswith("Block stem, 2 layers")
    assert "Wire from input to port conv2d of stem, carries 8 by 8 by 4" in names
    assert not any("conv2d_1, filters" in name for name in names)
    stem.double_click(stem.body("block"))
    assert spoken.text(QAccessible.Text.Name) == "Inside of block stem, 4 items"
    names = [spoken.child(row).text(QAccessible.Text.Name) for row in range(spoken.childCount())]
    assert names[0] == "Input conv2d, carries 8 by 8 by 4, in block stem"


def test_an_input_is_added_to_a_block_and_taken_away(inside: Hands):
    inside.studio.actions.trigger("graph.add_block_input")
    (port,) = inside.selected
    assert inside.state.nodes[port].parent == "block"
    inside.key(K.Key_Escape)
    inside.key(K.Key_Escape)
    assert len(inside.canvas.graph.nodes["block"].card.ports_in) == 2
    place = inside.input(port)
    assert inside.canvas.graph.nodes["block"].scene_area.contains(place)
    inside.drag(inside.port("input"), place)
    assert f"input>{port}" in inside.wires
    inside.double_click(inside.body("block"))
    inside.click(inside.port(port) - QPointF(30, 0))
    inside.key(K.Key_Delete)
    assert port not in inside.state.nodes
    assert broken_rules(inside.state) == ()


def test_a_layer_is_moved_out_of_the_open_block(inside: Hands):
    inside.click(inside.body("conv2d_1"))
    inside.studio.actions.trigger("graph.move_out")
    assert inside.canvas.graph.level == ""
    assert inside.selected == ["conv2d_1"]
    assert inside.state.nodes["conv2d_1"].parent == ""
    assert inside.steps == 1
    assert broken_rules(inside.state) == ()


def test_all_wires_of_a_block_are_disconnected(stem: Hands):
    pick(stem, stem.body("block"), "Disconnect all wires")
    assert wires_seen(stem) == {("input", "add")}
    stem.double_click(stem.body("block"))
    assert ("port", "conv2d") in wires_seen(stem)
    stem.key(K.Key_Escape)
    stem.click(stem.body("block"))
    registry = stem.studio.actions
    assert registry.why_not("graph.drop_wires") == "the selection has no wires"


def test_menus_of_blocks_and_ports_hold_what_can_be_done(inside: Hands, qtbot: QtBot):
    def titles(at: QPointF) -> list[str]:
        inside.click(at, button=RIGHT)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=60_000)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        found = [action.text().partition("\t")[0] for action in menu.actions() if action.text()]
        menu.close()
        return found

    assert "Add an input to the block" in titles(inside.port("port") - QPointF(30, 0))
    assert "Close the block" in titles(inside.nowhere())
    assert "Move out of the block" in titles(inside.body("conv2d"))
    inside.key(K.Key_Escape)
    inside.key(K.Key_Escape)
    found = titles(inside.body("block"))
    assert found[:2] == ["Open the block", "Rename"]
    assert "Unlink the block" in found
    assert "Close the block" not in titles(inside.nowhere())
    assert titles(inside.port("port_1"))[:2] == ["Rename", "Add an input to the block"]


def test_what_follows_a_block_stands_right_of_its_card(hands: Hands):
    state = move_by(residual(), ["conv2d", "conv2d_1"], 0, 1200)
    state = group(state, ["conv2d", "conv2d_1"], "stem")
    hands.open(move(state, {"block": (232, 96), "input": (0, 80), "add": (600, 80)}))
    hands.canvas.context.select(["block"])
    hands.key(K.Key_Tab)
    hands.type("relu")
    hands.key(K.Key_Return)
    card, made = (hands.canvas.graph.nodes[i].scene_area for i in ("block", "re_lu"))
    assert made.left() > card.right()
    assert abs(made.top() - card.top()) < 200
    on_wire = add_on_wire(hands.state, "Dropout", Wire("port_1", "add", 0))
    node = on_wire.nodes["dropout"]
    assert card.right() < node.x < 900
    assert abs(node.y - card.top()) < 200


def test_q_brings_a_layer_level_with_the_port_of_a_block(hands: Hands):
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    state = disconnect(state, "add", 1)
    hands.open(move_by(state, ["add"], 0, 37))
    hands.click(hands.body("add"))
    hands.key(K.Key_Q)
    assert hands.input("add").y() == hands.port("port_1").y()


@pytest.mark.slow
def test_layout_puts_the_ports_of_blocks_and_layers_at_one_height(inside: Hands):
    inside.key(K.Key_Escape)
    inside.key(K.Key_Escape)
    inside.document.apply("Cut", disconnect(inside.state, "add", 1))
    inside.key(K.Key_L, SHIFT)
    heights = {inside.port("input").y(), inside.input("port").y(), inside.port("port_1").y()}
    assert len(heights) == 1
    assert inside.input("add").y() in heights


def test_a_wire_dropped_on_a_card_ends_at_its_nearest_free_port(inside: Hands):
    inside.studio.actions.trigger("graph.add_block_input")
    (port,) = inside.selected
    inside.key(K.Key_Escape)
    inside.key(K.Key_Escape)
    inside.drag(inside.port("input"), inside.body("block"))
    assert f"input>{port}" in inside.wires
    assert broken_rules(inside.state) == ()


def test_the_view_before_a_jump_into_a_block_comes_back(stem: Hands):
    stem.studio.bus.select([entities.node("conv2d_1")], source="listing")
    assert stem.canvas.graph.level == "block_1"
    stem.key(K.Key_Left, ALT)
    assert stem.canvas.graph.level == ""
    stem.key(K.Key_Right, ALT)
    assert stem.canvas.graph.level == "block_1"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_canvas_shows_the_open_level_after_any_edit(hands: Hands, seed: int):
    """Whatever is changed or undone, things and wires are those of the open level."""
    rng, editor = random.Random(seed), Editor(seed)
    hands.open(nested_blocks())
    graph = hands.canvas.graph
    for _ in range(250):
        hands.document.apply(*editor.step(hands.state))
        if rng.random() < 0.3:
            hands.document.undo()
        if rng.random() < 0.2:
            blocks = [node.id for node in all_blocks(hands.state)]
            hands.canvas.context.open_block.open(rng.choice(["", *blocks]))
        assert drawn(hands) == set(drawn_at(hands.state, graph.level))
        here = [w for w in hands.state.wires() if level_of_wire(hands.state, w) == graph.level]
        assert set(graph.wires) == set(here)
        for wire, item in graph.wires.items():
            end = graph.port_place(wire.target, PortKey("in", wire.slot))
            assert item.path().currentPosition() == end


def test_a_layer_dragged_onto_a_card_goes_into_the_block(stem: Hands):
    stem.carry(stem.title("add"), stem.body("block"))
    assert stem.canvas.graph.nodes["block"].marks.caught
    stem.release()
    assert stem.steps == 1
    assert stem.state.nodes["add"].parent == "block"
    assert stem.selected == ["block"]
    assert broken_rules(stem.state) == ()
    assert not stem.canvas.graph.nodes["block"].marks.caught
    stem.document.undo()
    assert stem.state == nested_blocks()


def test_with_alt_what_is_dragged_stays_beside_the_card(stem: Hands):
    stem.drag(stem.title("add"), stem.body("block"), end_keys=ALT)
    assert stem.state.nodes["add"].parent == ""
    assert stem.steps == 1
