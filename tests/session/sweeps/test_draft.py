"""What the next sweep varies: suggestions, problems, and how it follows the document."""

from __future__ import annotations

import pytest

from studio.engine.scale.sweep.search_space import parse_axes
from studio.samples import sample_root
from studio.session.document.document import Document
from studio.session.document.edits.layers import rename
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_training
from studio.session.sweeps.draft import NO_VALUES, SweepDraft


def opened(name: str) -> Document:
    return Document.open(sample_root() / name / f"{name}.glassbox")


LARGER = ("digits-cnn", "digits-mlp", "spirals")


@pytest.fixture
def document() -> Document:
    return opened("digits-mlp")


@pytest.fixture
def draft(document: Document) -> SweepDraft:
    made = SweepDraft()
    made.follow(document)
    return made


@pytest.mark.parametrize(
    "name", ["iris", *(pytest.param(name, marks=pytest.mark.slow) for name in LARGER)]
)
def test_whatever_can_be_varied_has_a_suggestion_that_the_engine_takes(name: str) -> None:
    document = opened(name)
    draft = SweepDraft()
    draft.follow(document)
    assert len(draft.names()) > 20
    for each in draft.names():
        draft.add(each)
        assert draft.problem_of(each) == "", each
    for begin in range(0, len(draft.axes), 32):
        words = draft.words()[begin : begin + 32]
        assert len(parse_axes(words, document.project())) == len(words)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("learning_rate", "log:0.0001..0.01"),
        ("batch_size", "32,64,128"),
        ("shuffle", "true,false"),
        ("hidden1.units", "64,128,256"),
        ("hidden1.use_bias", "true,false"),
        ("dropout.rate", "0.1..0.4"),
        ("beta_1", "0.8..0.95"),
        ("epsilon", "log:1e-08..1e-06"),
        ("epsilon_at", "end,hat"),
        ("seed", "0,1,2"),
        ("clipnorm", "none,0.5,1,2"),
    ],
)
def test_a_suggestion_lies_around_the_present_value(
    document: Document, draft: SweepDraft, name: str, values: str
) -> None:
    settings = {"batch_size": 64, "optimizer": "Adam"}
    document.apply("Train", set_training(document.state, settings))
    assert draft.suggested(name) == values


def test_choices_are_suggested_whole(draft: SweepDraft) -> None:
    assert {"relu", "tanh", "gelu"} <= set(draft.suggested("hidden1.activation").split(","))
    assert draft.suggested("optimizer").split(",")[:2] == ["SGD", "RMSprop"]
    assert draft.suggested("hidden1.kernel_regularizer") == "none,l1,l2,l1_l2"


def test_what_cannot_be_varied_has_no_suggestion_and_a_problem(draft: SweepDraft) -> None:
    for name in ("validation", "nothing.units", "metrics"):
        assert name not in draft.names()
        draft.add(name)
        assert draft.problem_of(name)


def test_axes_keep_their_order_and_say_when_they_change(draft: SweepDraft) -> None:
    heard: list[tuple[tuple[str, str], ...]] = []
    hear = lambda: heard.append(draft.axes)  # noqa: E731
    draft.changed.connect(hear)
    draft.add("batch_size", "16,32")
    draft.add("hidden1.units")
    draft.add("batch_size", "8,9")
    assert draft.axes == (("batch_size", "16,32"), ("hidden1.units", "64,128,256"))
    assert draft.words() == ("batch_size=16,32", "hidden1.units=64,128,256")
    draft.set_values("batch_size", "8,9")
    draft.set_values("batch_size", "8,9")
    draft.set_values("epochs", "1,2")
    draft.remove("hidden1.units")
    draft.remove("hidden1.units")
    assert draft.axes == (("batch_size", "8,9"),)
    assert (draft.holds("batch_size"), draft.holds("hidden1.units")) == (True, False)
    draft.clear()
    draft.clear()
    assert [len(axes) for axes in heard] == [1, 2, 2, 1, 0]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ("", NO_VALUES),
        ("  ", NO_VALUES),
        ("8", "expected 2 to 1000 values"),
        ("8,x", "whole number"),
        ("8,8", "listed twice"),
        ("9..2", "9 is not below 2"),
        ("log:0..2", "begins above 0"),
        ("0,8", "from 1"),
        ("nan..inf", "expected a number"),
    ],
)
def test_a_wrong_axis_says_what_is_wrong(draft: SweepDraft, values: str, word: str) -> None:
    draft.add("hidden1.units", "8,16")
    assert draft.problem_of("hidden1.units") == ""
    draft.set_values("hidden1.units", values)
    assert word in draft.problem_of("hidden1.units")


def test_an_axis_keeps_its_layer_when_that_is_renamed(
    document: Document, draft: SweepDraft
) -> None:
    draft.add("hidden1.units", "8,16")
    draft.add("batch_size", "8,16")
    node = next(n.id for n in document.state.layers() if n.name == "hidden1")
    document.apply("Rename", rename(document.state, node, "wide"))
    assert draft.axes == (("wide.units", "8,16"), ("batch_size", "8,16"))
    assert draft.problem_of("wide.units") == ""
    document.undo()
    assert draft.axes == (("hidden1.units", "8,16"), ("batch_size", "8,16"))


def test_an_axis_whose_layer_is_gone_is_a_problem_until_undo(
    document: Document, draft: SweepDraft
) -> None:
    draft.add("dropout.rate", "0.1..0.2")
    heard: list[str] = []
    hear = lambda: heard.append(draft.problem_of("dropout.rate"))  # noqa: E731
    draft.changed.connect(hear)
    node = next(n.id for n in document.state.layers() if n.name == "dropout")
    document.apply("Delete", delete(document.state, [node]))
    document.undo()
    assert draft.axes == (("dropout.rate", "0.1..0.2"),)
    assert "there is no layer 'dropout'" in heard[0]
    assert heard[1] == ""


def test_another_layer_of_the_name_of_one_that_is_gone_keeps_its_own_axis(
    document: Document, draft: SweepDraft
) -> None:
    draft.add("hidden2.units", "32,64")
    draft.add("hidden1.units", "8,16")
    ids = {n.name: n.id for n in document.state.layers()}
    document.apply("Delete", delete(document.state, [ids["hidden2"]]))
    document.apply("Rename", rename(document.state, ids["hidden1"], "hidden2"))
    assert draft.axes == (("hidden2.units", "8,16"),)


def test_another_document_begins_without_axes(document: Document, draft: SweepDraft) -> None:
    draft.add("hidden1.units")
    heard: list[int] = []
    hear = lambda: heard.append(len(draft.axes))  # noqa: E731
    draft.changed.connect(hear)
    other = opened("iris")
    draft.follow(other)
    assert heard == [0]
    draft.add("batch_size")
    ids = {n.name: n.id for n in document.state.layers()}
    # The first document is heard no longer.
    document.apply("Delete", delete(document.state, [ids["hidden1"]]))
    assert heard == [0, 1]
    assert "hidden1.units" not in draft.names()


def test_an_empty_document_can_vary_its_training() -> None:
    draft = SweepDraft()
    assert draft.names() == ()
    assert draft.suggested("batch_size") == ""
    draft.follow(Document.new())
    assert "batch_size" in draft.names()
    assert draft.suggested("learning_rate") == "log:0.0001..0.01"
