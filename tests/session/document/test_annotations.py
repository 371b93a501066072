"""Names and comments of the listing in the document: edits, undo, files, and layers renamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.core.errors import ParameterError
from studio.session.document.document import Document
from studio.session.document.edits.annotations import (
    annotations_of,
    comment_instruction,
    name_tensor,
)
from studio.session.document.edits.layers import rename
from studio.session.document.edits.removal import delete
from studio.session.document.state import DocumentState
from tests.session.document.networks import chain

KEY = "train/forward/dense/LINEAR/0"


def test_a_name_is_given_changed_and_taken_off() -> None:
    state = name_tensor(DocumentState(), "dense/kernel", "  w ")
    assert annotations_of(state).aliases == {"dense/kernel": "w"}
    assert name_tensor(state, "dense/kernel", "w") is state
    state = name_tensor(state, "dense/kernel", "weights")
    assert annotations_of(state).aliases == {"dense/kernel": "weights"}
    assert name_tensor(state, "dense/kernel", "") == DocumentState()


def test_a_comment_is_given_and_taken_off() -> None:
    state = comment_instruction(DocumentState(), KEY, " the slow one; why? ")
    assert annotations_of(state).comments == {KEY: "the slow one; why?"}
    assert comment_instruction(state, KEY, "  ") == DocumentState()


def test_two_tensors_are_never_called_alike() -> None:
    state = name_tensor(DocumentState(), "a", "w")
    with pytest.raises(ParameterError, match="a is already called 'w'"):
        name_tensor(state, "b", "w")


@pytest.mark.parametrize("text", ["0x1", "two words", "w.grad"])
def test_names_that_are_no_names_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        name_tensor(DocumentState(), "a", text)


def test_names_go_with_a_layer_that_is_renamed() -> None:
    state = chain()
    layer = next(node for node in state.layers() if node.type_name == "Dense")
    state = name_tensor(state, f"{layer.name}/kernel", "w")
    state = name_tensor(state, f"{layer.name}_2/kernel", "other")
    state = rename(state, layer.id, "classes")
    assert annotations_of(state).aliases == {
        "classes/kernel": "w", f"{layer.name}_2/kernel": "other",
    }  # fmt: skip


def test_undo_redo_save_and_open_keep_them(tmp_path: Path) -> None:
    document = Document(chain())
    before = document.state
    document.apply("Name", name_tensor(document.state, "dense/kernel", "w"))
    document.apply("Say", comment_instruction(document.state, KEY, "slow"))
    after = document.state
    assert after.content_hash != before.content_hash
    document.undo()
    assert annotations_of(document.state).comments == {}
    document.undo()
    assert document.state == before
    document.redo()
    document.redo()
    assert document.state == after
    path = document.save(tmp_path / "p.glassbox")
    assert not document.dirty
    opened = Document.open(path)
    assert opened.state.annotations == after.annotations
    assert opened.warnings == ()


def test_a_step_that_changes_them_says_so() -> None:
    document = Document(chain())
    change = document.apply("Name", name_tensor(document.state, "dense/kernel", "w"))
    assert change.sections == {"annotations"}
    assert (change.added, change.removed, change.modified) == ((), (), ())


def test_deleting_the_layer_keeps_them_for_undo() -> None:
    document = Document(chain())
    layer = next(node for node in document.state.layers() if node.type_name == "Dense")
    document.apply("Name", name_tensor(document.state, f"{layer.name}/kernel", "w"))
    document.apply("Delete", delete(document.state, [layer.id]))
    document.undo()
    assert annotations_of(document.state).aliases == {f"{layer.name}/kernel": "w"}
