"""Names and comments of the open document: read, written, and written down in the journal."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import ParameterError, StudioError
from studio.session.compile.annotations import AnnotationModel
from studio.session.compile.compilation import affects_program
from studio.session.compile.provenance import Provenance
from studio.session.document.document import Document
from studio.session.document.edits.annotations import comment_instruction, name_tensor
from studio.session.safety.journal import PlainState, difference_to_json, state_to_json
from studio.session.safety.recovery_sessions import described
from tests.instruction_view.programs import sample_program

KEY = "conv1/kernel"


@pytest.fixture(scope="module")
def provenance() -> Provenance:
    return Provenance(sample_program("digits-cnn", "train"))


@pytest.fixture
def document() -> Document:
    return Document.new()


@pytest.fixture
def model(document: Document, provenance: Provenance) -> AnnotationModel:
    made = AnnotationModel(lambda: provenance, lambda: (provenance,))
    made.follow(document)
    return made


def test_what_is_written_is_one_step_with_a_name_and_tells_the_views(
    model: AnnotationModel, document: Document, provenance: Provenance
) -> None:
    told = []
    listener = lambda: told.append(model.found)  # noqa: E731
    model.changed.connect(listener)
    model.name_tensor(KEY, "w")
    model.comment(provenance.key_of(5), "slow")
    model.name_tensor(KEY, "")
    assert document.history.texts == (
        f"Name {KEY}",
        f"Comment on #5 {provenance.instruction_at(5).mnemonic}",
        f"Remove the name of {KEY}",
    )
    assert [dict(found.aliases) for found in told] == [{KEY: "w"}, {KEY: "w"}, {}]
    document.undo()
    assert model.found.alias_of(f"{KEY}.grad") == "w.grad"
    model.name_tensor(KEY, "w")
    assert len(told) == 4


def test_no_program_is_compiled_for_them(model: AnnotationModel, document: Document) -> None:
    changes = []
    listener = lambda change: changes.append(change)  # noqa: E731
    document.changed.connect(listener)
    model.name_tensor(KEY, "w")
    assert [affects_program(change) for change in changes] == [False]


@pytest.mark.parametrize("taken", ["conv1", "conv2/output", "digit/kernel.grad"])
def test_a_name_never_stands_for_something_else_too(model: AnnotationModel, taken: str) -> None:
    with pytest.raises(ParameterError):
        model.name_tensor(KEY, taken)
    assert model.found.aliases == {}


def test_a_name_is_taken_from_what_is_gone_and_from_nothing_else(
    model: AnnotationModel, document: Document
) -> None:
    document.apply("Gone", name_tensor(document.state, "gone/kernel", "w"))
    model.name_tensor(KEY, "w")
    assert model.found.aliases == {KEY: "w"}
    document.undo()
    assert model.found.aliases == {"gone/kernel": "w"}
    document.redo()
    with pytest.raises(ParameterError, match="already"):
        model.name_tensor("conv2/kernel", "w")
    assert model.found.aliases == {KEY: "w"}


def test_a_document_that_was_left_is_not_heard(model: AnnotationModel, document: Document) -> None:
    model.name_tensor(KEY, "w")
    other = Document.new()
    model.follow(other)
    assert model.found.aliases == {}
    document.undo()
    document.redo()
    assert model.found.aliases == {}
    model.name_tensor(KEY, "v")
    assert other.dirty


def test_a_journal_keeps_them(document: Document) -> None:
    before = document.state
    named = name_tensor(before, KEY, "w")
    said = comment_instruction(named, "train/forward/a/B/0", "why")
    plain = PlainState(state_to_json(before))
    for here, there in ((before, named), (named, said), (said, before), (before, said)):
        difference = difference_to_json(here, there)
        assert set(difference) == {"annotations"}
        plain.apply(difference)
        assert plain.state().content_hash == there.content_hash
    assert PlainState(state_to_json(said)).state() == said


def test_a_journal_from_before_there_were_any_is_read(document: Document) -> None:
    data = state_to_json(document.state)
    del data["annotations"]
    assert PlainState(data).state() == document.state


def test_a_journal_with_wrong_ones_is_refused(document: Document) -> None:
    data = {**state_to_json(document.state), "annotations": {"aliases": {"a": "0x1"}}}
    with pytest.raises(StudioError):
        PlainState(data).state()


def test_recovery_says_that_they_differ(document: Document) -> None:
    change = document.apply("Name", name_tensor(document.state, KEY, "w"))
    assert any("names and comments" in text for text in described(change))
