"""Names and comments given to a listing: kept in project files, and checked when read."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph
from studio.engine.train.project.annotations import (
    MAX_COMMENT,
    Annotations,
    annotations_from_json,
    check_alias,
)
from studio.engine.train.project.project import Project

SAID = Annotations({"dense/kernel": "w", "dense/output.grad": "Δ.out"}, {"a/b/0": "slow; why?"})


def test_a_gradient_is_called_after_its_tensor_unless_it_has_a_name() -> None:
    found = Annotations({"a": "x", "b.grad": "y"})
    assert [found.alias_of(k) for k in ("a", "a.grad", "b", "b.grad", "c.grad")] == [
        "x", "x.grad", "", "y", "",
    ]  # fmt: skip


def test_annotations_survive_their_plain_form() -> None:
    assert annotations_from_json(SAID.to_json()) == Annotations(
        dict(SAID.aliases), dict(SAID.comments)
    )
    assert Annotations().to_json() == {}
    assert annotations_from_json({}) == Annotations()


@pytest.mark.parametrize("text", ["w", "conv1_weights", "a.b/c:d-e+f", "überall", "x" * 60])
def test_names_that_are_allowed(text: str) -> None:
    assert check_alias(text) == text


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "0x1f", "12", "a,b", "a{b}", "w.grad", "x" * 61, "a\nb", "-a", "a\n"]
)
def test_names_that_are_not(text: str) -> None:
    with pytest.raises(StudioError):
        check_alias(text)


@pytest.mark.parametrize(
    "data",
    [
        [], "text", None, {"other": {}}, {"aliases": []}, {"aliases": {"a": 1}},
        {"comments": {"a": None}}, {"comments": {"a": ""}}, {"comments": {"a": "two\nlines"}},
        {"comments": {"a": "x" * (MAX_COMMENT + 1)}}, {"aliases": {"a": "x", "b": "x"}},
        {"aliases": {"a": "0x1"}},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_of_the_form_is_refused(data: object) -> None:
    with pytest.raises(StudioError):
        annotations_from_json(data)


def test_a_project_keeps_them_in_its_file(tmp_path: Path) -> None:
    graph = LayerGraph("net")
    graph.add(layer_class("Input")(shape=(4,), name="x"))
    project = Project("p", graph, annotations=SAID)
    path = project.save(tmp_path / "p.glassbox")
    assert Project.load(path).annotations.to_json() == SAID.to_json()
    assert Project.load(path).text() == path.read_text("utf-8")


def test_a_project_without_them_says_nothing_of_them(tmp_path: Path) -> None:
    project = Project("p", LayerGraph("net"))
    assert "annotations" not in project.text()


def test_wrong_ones_name_the_file(tmp_path: Path) -> None:
    document = {**Project("p", LayerGraph("net")).to_json(), "annotations": {"aliases": 3}}
    with pytest.raises(FormatError) as raised:
        Project.from_json(document, "some.glassbox")
    assert "some.glassbox" in raised.value.origin
