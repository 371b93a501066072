"""Blocks by hand: one card outside, their layers inside, and the ways in and out."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtTest import QTest

from studio.session.core import entities
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group
from studio.session.document.levels import contents, ports_in, ports_out
from studio.session.document.state import DocumentState, Wire
from tests.graph_editor.hands import CTRL, LEFT, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain, residual


def nested() -> DocumentState:
    """A residual network with its convolutions in a block, the second in a block of its own."""
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    return group(state, ["conv2d_1"], "inner")


def drawn(hands: Hands) -> set[str]:
    return set(hands.canvas.graph.nodes)


def wires_seen(hands: Hands) -> set[tuple[str, str]]:
    return {(wire.source, wire.target) for wire in hands.canvas.graph.wires}


@pytest.fixture
def stem(hands: Hands) -> Hands:
    """A canvas with two nested blocks."""
    hands.open(nested())
    return hands


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


def test_the_bar_names_the_way_and_leads_back(stem: Hands):
    bar = stem.canvas.chrome.breadcrumbs
    assert [button.text() for button in bar.buttons] == ["Model"]
    stem.canvas.context.open_block.open("block_1")
    assert [button.text() for button in bar.buttons] == ["Model", "stem", "inner"]
    QTest.mouseClick(bar.buttons[1], LEFT)
    assert stem.canvas.graph.level == "block"
    assert stem.selected == ["block_1"]
    QTest.mouseClick(bar.buttons[0], LEFT)
    assert stem.canvas.graph.level == ""
    assert [button.text() for button in bar.buttons] == ["Model"]


def test_without_blocks_there_is_no_bar(hands: Hands):
    hands.open(chain())
    assert not hands.canvas.chrome.breadcrumbs.isVisible()
    hands.key(K.Key_Escape)
    assert hands.canvas.graph.level == ""


def test_grouping_and_dissolving_by_keys_are_one_step_each(hands: Hands):
    hands.open(residual())
    before = hands.state
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("conv2d_1"), SHIFT)
    hands.key(K.Key_G, CTRL)
    assert hands.steps == 1
    assert hands.selected == ["block"]
    assert drawn(hands) == {"input", "add", "block", "port", "port_1"}
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
