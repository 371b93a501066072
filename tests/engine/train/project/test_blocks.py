from __future__ import annotations

import json

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.train.project.blocks import Block, BlockPort, blocks_from_json, blocks_to_json
from studio.engine.train.project.project import Project


def graph() -> LayerGraph:
    made = LayerGraph("net")
    made.add(Input([4], name="data_in"), node_id="data_in")
    made.add(Dense(3, name="one"), "data_in", node_id="one")
    made.add(Dense(2, name="two"), "one", node_id="two")
    made.outputs = (Port("two"),)
    return made


BLOCKS = {
    "stem": Block("model", "d", ("one",), (BlockPort("x", Port("data_in")), BlockPort("open"))),
    "stem/inner": Block(layers=("two",), outputs=(BlockPort("y", Port("two", 1)),)),
}


def test_blocks_are_kept_in_the_file_of_version_two():
    project = Project("p", graph(), blocks=BLOCKS)
    text = project.text()
    assert json.loads(text)["version"] == 2
    again = Project.from_json(json.loads(text))
    assert again.blocks == BLOCKS
    assert again.text() == text


def test_projects_without_blocks_are_written_as_before():
    written = Project("p", graph()).to_json()
    assert "blocks" not in written
    assert written["version"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": 3}, "object"),
        ({"a": {"kind": "frame"}}, "kind"),
        ({"a": {"kinds": "block"}}, "unknown field"),
        ({"a": {"definition": 3}}, "definition"),
        ({"a": {"layers": ["gone"]}}, "no layer"),
        ({"a": {"layers": ["one", "one"]}}, "twice"),
        ({"a": {"layers": [["one"]]}}, "no layer"),
        ({"a": {"layers": ["one"]}, "b": {"layers": ["one"]}}, "also stands in"),
        ({"a/b": {}}, "not there"),
        ({"": {}}, "name"),
        ({" a": {}}, "name"),
        ({"/".join(["a"] * 40): {}}, "in each other"),
        ({"a": {"inputs": [{"name": ""}]}}, "name"),
        ({"a": {"inputs": [{"name": "x"}, {"name": "x"}]}}, "same name"),
        ({"a": {"outputs": [{"name": "x", "source": "gone"}]}}, "no layer"),
        ({"a": {"outputs": [{"name": "x", "source": ["one", True]}]}}, "source"),
        ({"a": {"outputs": [{"name": "x", "source": ["one", -1]}]}}, "source"),
        ({"a": {"outputs": "x"}}, "list"),
        ([], "object"),
    ],
)
def test_wrong_blocks_are_refused(change, words):
    with pytest.raises(FormatError, match=words):
        blocks_from_json(change, graph())
    document = {**Project("p", graph()).to_json(), "version": 2, "blocks": change}
    with pytest.raises(FormatError) as caught:
        Project.from_json(document, "file")
    assert "blocks" in caught.value.origin


def test_plain_data_and_back():
    assert blocks_from_json(blocks_to_json(BLOCKS), graph()) == BLOCKS
