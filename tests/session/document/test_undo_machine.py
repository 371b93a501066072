from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.engine.train.project.project import Project
from studio.samples import sample_root
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.document import Document
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.linked_copies import differing_copies, sync_copies
from studio.session.document.edits.removal import delete
from studio.session.document.history import History
from tests.session.document.random_edits import Editor

RESNET: Path = sample_root() / "digits-resnet" / "digits-resnet.glassbox"


def run_machine(seed: int, commands: int) -> None:
    first = Document.open(RESNET).state
    document = Document(first, history=History(first, commands + 1, 1 << 40))
    editor, hashes = Editor(seed), [first.content_hash]
    for _ in range(commands):
        name, state = editor.step(document.state)
        assert broken_rules(state) == (), name
        change = document.apply(name, state)
        assert broken_rules(document.state) == (), name
        assert differing_copies(document.state) == (), name
        assert change.is_empty == (len(document.history.steps) < len(hashes))
        if not change.is_empty:
            hashes.append(document.state.content_hash)
    assert len(hashes) - 1 == len(document.history.steps) > commands / 2
    for expected in reversed(hashes[:-1]):
        assert document.undo()
        assert document.state.content_hash == expected
    assert not document.undo()
    assert not document.dirty
    for expected in hashes[1:]:
        assert document.redo()
        assert document.state.content_hash == expected
    assert not document.redo()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_undo_returns_to_every_state_and_redo_to_the_last(seed):
    run_machine(seed, 600)


@pytest.mark.slow
def test_ten_thousand_commands_are_undone_and_redone():
    run_machine(20_000, 10_000)


def some_state(seed: int, steps: int):
    editor = Editor(seed)
    state = Document.open(RESNET).state
    for _ in range(steps):
        # As a document takes it: an edit of a linked block goes to its copies.
        state = sync_copies(state, editor.step(state)[1])
    return editor, state


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 1 << 32), st.integers(0, 30), st.booleans())
def test_delete_then_undo_changes_nothing(seed, steps, heal):
    editor, state = some_state(seed, steps)
    document = Document(state)
    document.apply("Delete", delete(state, editor.some(state), heal=heal))
    assert broken_rules(document.state) == ()
    document.undo()
    assert document.state is state


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 1 << 32), st.integers(0, 30))
def test_insert_then_undo_changes_nothing(seed, steps):
    editor, state = some_state(seed, steps)
    wires = list(state.wires())
    if not wires:
        return
    document = Document(state)
    document.apply("Insert", add_on_wire(state, "ReLU", editor.random.choice(wires)))
    added = [node for node in document.state.nodes.values() if node.id not in state.nodes]
    # Inside a linked block one goes into each copy.
    assert {node.type_name for node in added} == {"ReLU"}
    assert len({node.parent for node in added}) == len(added)
    assert broken_rules(document.state) == ()
    document.undo()
    assert document.state is state


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(0, 40))
def test_any_state_survives_its_project_file(seed, steps):
    state = some_state(seed, steps)[1]
    text = Document(state).project().text()
    again = Document.of_project(Project.from_json(json.loads(text)))
    assert again.warnings == ()
    assert again.state == state
    assert list(again.state.nodes) == list(state.nodes)
    assert again.project().text() == text
