"""Models called inside others: what a graph remembers of them, and the blocks a project keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from studio.engine import Add, Dense, Input, Model, ReLU, Sequential
from studio.engine.layers.graph import Port
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.train.project.blocks import MAX_BLOCK_DEPTH, Block, BlockPort, blocks_of
from studio.engine.train.project.project import Project


def tower() -> Sequential:
    return Sequential([Input((4,)), Dense(3, name="wide"), ReLU(name="bend")], name="tower")


def siamese() -> Model:
    """One tower on two inputs, and the sum of what it gives."""
    left, right = Input((4,), name="left"), Input((4,), name="right")
    once = tower()
    return Model([left, right], Add(name="sum")([once(left), once(right)]), "pair", backend="cpu")


def flat() -> Model:
    """The same layers called one by one."""
    left, right = Input((4,), name="left"), Input((4,), name="right")
    wide, bend = Dense(3, name="wide"), ReLU(name="bend")
    ends = [bend(wide(left)), bend(wide(right))]
    return Model([left, right], Add(name="sum")(ends), "pair", backend="cpu")


def port(name: str, node: str, output: int = 0) -> BlockPort:
    return BlockPort(name, Port(node, output))


def test_a_model_called_twice_is_two_blocks_of_one_definition() -> None:
    blocks = blocks_of(siamese().graph)
    assert blocks == {
        "tower": Block("model", "tower", ("wide", "bend"),
                       (port("input", "left"),), (port("bend", "bend"),)),
        "tower_1": Block("model", "tower", ("wide_1", "bend_1"),
                         (port("input", "right"),), (port("bend", "bend_1"),)),
    }  # fmt: skip
    graph = siamese().graph
    assert graph.node("wide").layer is graph.node("wide_1").layer


def test_what_runs_is_as_if_its_layers_were_called_one_by_one() -> None:
    nested, plain = siamese(), flat()
    assert graph_to_json(nested.graph) == graph_to_json(plain.graph)
    for one, other in zip(nested.get_weights(), plain.get_weights(), strict=True):
        assert np.array_equal(one, other)
    assert nested.get_layer("wide") is nested.graph.node("wide_1").layer
    assert plain.graph.nested == {}


def test_models_inside_models_are_blocks_inside_blocks() -> None:
    at = Input((4,), name="given")
    inner = tower()
    outer = Model(at, Dense(4, name="back")(inner(at)), "outer")
    start = Input((4,), name="start")
    whole = Model(start, outer(outer(start)), "whole")
    blocks = blocks_of(whole.graph)
    assert list(blocks) == ["outer", "outer/tower", "outer_1", "outer_1/tower"]
    assert [b.definition for b in blocks.values()] == ["outer", "tower", "outer", "tower"]
    assert blocks["outer"].layers == ("back",)
    assert blocks["outer/tower"].layers == ("wide", "bend")
    assert blocks["outer_1"].inputs == (port("given", "back"),)
    assert blocks["outer_1/tower"].inputs == (port("input", "back"),)
    assert blocks["outer_1"].outputs == (port("back", "back_1"),)


def test_a_single_call_has_no_definition_and_models_of_one_name_have_two() -> None:
    at = Input((4,), name="given")
    single = Model(at, tower()(at))
    assert [b.definition for b in blocks_of(single.graph).values()] == [""]
    other = Sequential([Input((4,)), Dense(3, name="else")], name="tower")
    first = tower()
    both = Model(at, [first(at), first(at), other(at), other(at)])
    found = {path: b.definition for path, b in blocks_of(both.graph).items()}
    assert found == {
        "tower": "tower", "tower_1": "tower", "tower_2": "tower_1", "tower_3": "tower_1",
    }  # fmt: skip


def test_what_no_output_needs_leaves_an_open_port_and_no_definition() -> None:
    at = Input((4,), name="given")
    two = Model(at, [Dense(2, name="a")(at), Dense(3, name="b")(at)], "two")
    start, again = Input((4,), name="start"), Input((4,), name="again")
    whole = Model([start, again], [*two(start), two(again)[1]])
    blocks = blocks_of(whole.graph)
    assert blocks["two_1"].outputs == (BlockPort("a"), port("b", "b_1"))
    assert blocks["two_1"].layers == ("b_1",)
    assert [b.definition for b in blocks.values()] == ["", ""]


def test_names_and_depths_no_file_could_hold_are_made_to_fit(tmp_path: Path) -> None:
    at = Input((4,), name="given")
    model = Model(at, Dense(4, name="deep")(at), "a/b\n" + "x" * 80)
    for _ in range(MAX_BLOCK_DEPTH + 3):
        start = Input((4,), name="given")
        model = Model(start, model(start), "a/b\n" + "x" * 80, backend="cpu")
    model.name = model.graph.name = "deep"
    path = model.save(tmp_path / "deep")
    blocks = Project.load(path).blocks
    assert len(blocks) == MAX_BLOCK_DEPTH
    assert list(blocks.values())[-1].layers == ("deep",)


def test_saving_keeps_the_blocks_and_loading_knows_the_models(tmp_path: Path) -> None:
    path = siamese().save(tmp_path / "pair")
    project = Project.load(path)
    assert project.version == 2
    assert project.blocks == blocks_of(siamese().graph)
    loaded = Model.load(path, backend="cpu")
    assert blocks_of(loaded.graph) == project.blocks
    assert Project.load(loaded.save(tmp_path / "again")).blocks == project.blocks
    left, right = Input((4,), name="left"), Input((4,), name="right")
    inside = Model([left, right], loaded([left, right]), "more")
    assert list(blocks_of(inside.graph)) == ["pair", "pair/tower", "pair/tower_1"]


def test_blocks_that_are_no_models_belong_to_the_model_around_them(tmp_path: Path) -> None:
    project = Project.load(siamese().save(tmp_path / "pair"))
    first, second = project.blocks.values()
    project.blocks = {
        "all": Block(layers=("sum",)),
        "all/tower": replace(first, layers=("wide",)),
        "all/tower/end": Block(layers=("bend",)),
        "tower": second,
    }
    loaded = Model.load(project.save(tmp_path / "again"), backend="cpu")
    found = {path: nested.layers for path, nested in loaded.graph.nested.items()}
    assert found == {"tower": ("wide_1", "bend_1"), "tower_1": ("wide", "bend")}
    rows = [line.split()[0] for line in cells(loaded.summary(expand_nested=False))]
    assert rows == ["left", "right", "tower_1", "tower", "sum"]


def test_a_model_without_nested_ones_is_written_as_before(tmp_path: Path) -> None:
    project = Project.load(flat().save(tmp_path / "flat"))
    assert (project.version, project.blocks) == (1, {})


def test_the_summary_indents_the_layers_of_a_model_or_leaves_them_out() -> None:
    model = siamese()
    lines = [line.split("  ")[0] or line.strip().split("  ")[0] for line in cells(model.summary())]
    assert lines == [
        "left (Input)", "right (Input)", "tower (Model)", "wide (Dense)", "bend (ReLU)",
        "tower_1 (Model)", "wide (Dense)", "bend (ReLU)", "sum (Add)",
    ]  # fmt: skip
    assert "\n  wide (Dense)" in model.summary()
    short = model.summary(expand_nested=False)
    rows = [line.split() for line in cells(short)]
    assert [row[0] for row in rows] == ["left", "right", "tower", "tower_1", "sum"]
    assert rows[2] == ["tower", "(Model)", "[N,", "3]", "15", "left"]
    assert rows[3] == ["tower_1", "(Model)", "[N,", "3]", "0", "right"]
    assert short.splitlines()[-1] == model.summary().splitlines()[-1]
    assert "(Model)" not in flat().summary()


def cells(text: str) -> list[str]:
    """The lines of a summary between its head and its counts."""
    return text.splitlines()[4:-2]
