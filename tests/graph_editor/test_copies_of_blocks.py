"""Copies of blocks by hand: pasted, linked, and sharing weights."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from studio.session.document.cards.lines import TIMES
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.places import move
from studio.session.document.levels import contents
from tests.graph_editor.hands import CTRL, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain


def test_a_linked_copy_follows_until_it_is_unlinked(inside: Hands):
    inside.key(K.Key_Escape)
    inside.key(K.Key_D, CTRL | SHIFT)
    (copy,) = inside.selected
    assert inside.steps == 1
    graph = inside.canvas.graph
    assert graph.nodes["block"].card.subtitle == f"2 layers, linked {TIMES}2"
    assert graph.nodes[copy].card.subtitle == f"2 layers, linked {TIMES}2"
    inside.key(K.Key_Return)
    (first, *_rest) = [n.id for n in contents(inside.state, copy) if n.is_layer]
    inside.document.apply("Filters", set_option(inside.state, first, "filters", 7))
    assert inside.state.nodes["conv2d"].config["filters"] == 7
    inside.key(K.Key_Escape)
    inside.key(K.Key_U, CTRL)
    assert graph.nodes["block"].card.subtitle == "2 layers"
    inside.document.apply("Filters", set_option(inside.state, first, "filters", 9))
    assert inside.state.nodes["conv2d"].config["filters"] == 7
    assert broken_rules(inside.state) == ()


@pytest.mark.slow
def test_a_block_is_used_again_with_the_same_weights(inside: Hands):
    inside.key(K.Key_Escape)
    inside.studio.actions.trigger("graph.share_block")
    (copy,) = inside.selected
    layers = [n for n in contents(inside.state, copy) if n.is_layer]
    assert sorted(n.shares for n in layers) == ["conv2d", "conv2d_1"]
    assert inside.steps == 1
    assert broken_rules(inside.state) == ()


def test_what_is_copied_is_pasted_into_the_open_block(inside: Hands):
    inside.key(K.Key_Escape)
    inside.click(inside.body("add"))
    inside.key(K.Key_C, CTRL)
    inside.double_click(inside.body("block"))
    inside.key(K.Key_Escape)
    inside.canvas.context.open_block.open("block")
    inside.key(K.Key_V, CTRL)
    (pasted,) = inside.selected
    assert inside.state.nodes[pasted].parent == "block"
    assert pasted in inside.canvas.graph.nodes


@pytest.mark.parametrize("keys", [((K.Key_C, CTRL), (K.Key_V, CTRL)), ((K.Key_D, CTRL),)])
def test_a_copied_block_is_selected_as_one_card(
    stem: Hands, keys: tuple[tuple[K, Qt.KeyboardModifier], ...]
):
    stem.click(stem.body("block"))
    for key, held in keys:
        stem.key(key, held)
    (made,) = stem.selected
    assert stem.canvas.graph.level == ""
    assert stem.state.nodes[made].is_block
    assert made in stem.canvas.graph.nodes
    assert made != "block"


def test_a_block_pasted_into_another_project_stays_closed(stem: Hands):
    stem.click(stem.body("block"))
    stem.key(K.Key_C, CTRL)
    stem.open(chain())
    stem.click(stem.nowhere())
    stem.key(K.Key_V, CTRL)
    (made,) = stem.selected
    assert stem.canvas.graph.level == ""
    assert stem.state.nodes[made].name == "stem"
    assert broken_rules(stem.state) == ()


def test_a_block_dragged_onto_its_linked_copy_goes_back(inside: Hands):
    inside.key(K.Key_Escape)
    inside.key(K.Key_D, CTRL | SHIFT)
    (copy,) = inside.selected
    inside.document.apply("Move", move(inside.state, {copy: (700, 500)}))
    inside.canvas.show_all()
    before = inside.state
    inside.drag(inside.title(copy), inside.body("block"))
    assert inside.state == before
