"""Blocks are drawing only: random edits of blocks leave all that runs as it was."""

from __future__ import annotations

import json

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.train.project.project import Project
from studio.samples import sample_root
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.document import Document
from studio.session.document.edits.blocks import ungroup
from studio.session.document.levels import all_blocks
from studio.session.document.resolve import layer_graph, resolve
from studio.session.document.state import DocumentState
from tests.session.document.random_edits import Editor

RESNET = sample_root() / "digits-resnet" / "digits-resnet.glassbox"


def network(state: DocumentState) -> tuple[object, ...]:
    """What a program, its random streams and its weights are made from."""
    graph = layer_graph(state)
    names = [(node.id, node.name, node.shares) for node in state.layers()]
    return graph_to_json(graph), list(graph.nodes), resolve(state).inputs, names


def run_blocks(seed: int, steps: int) -> None:
    editor, document = Editor(seed), Document.open(RESNET)
    first, expected, made = document.state, network(document.state), 0
    for step in range(steps):
        edit = editor.random.choice(editor.block_edits)
        try:
            state = edit(document.state)
        except StudioError:
            continue
        assert broken_rules(state) == (), (step, edit.__name__)
        made += not document.apply(edit.__name__, state).is_empty
        assert network(document.state) == expected, (step, edit.__name__)
        if len(list(all_blocks(document.state))) > 12:
            document.apply("ungroup", editor.ungroup(document.state))
    assert made > steps / 5
    text = document.project().text()
    again = Document.of_project(Project.from_json(json.loads(text)))
    assert again.state.nodes == document.state.nodes
    assert network(again.state) == expected
    state = document.state
    while found := list(all_blocks(state)):
        state = ungroup(state, found[0].id)
    assert list(state.wires()) == list(first.wires())
    assert list(state.nodes) == list(first.nodes)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_edits_of_blocks_change_no_network(seed):
    run_blocks(seed, 60)


@pytest.mark.slow
def test_ten_thousand_edits_of_blocks_change_no_network():
    run_blocks(3, 10_000)
