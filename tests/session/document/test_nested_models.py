"""Models called inside others from Python: saved, opened in blocks, changed, saved again."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.engine import Add, Dense, Input, Model, ReLU, Sequential
from studio.engine.layers.graph import Port
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.train.project.blocks import Block, BlockKind, BlockPort
from studio.engine.train.project.project import Project
from studio.session.document.arrange.layered import layout_level
from studio.session.document.cards.card import card_of
from studio.session.document.cards.geometry import box_of
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.edits.blocks import group, ungroup
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.linked_copies import sync_copies
from studio.session.document.edits.removal import delete
from studio.session.document.files.project_file import project_of_state, state_of_project
from studio.session.document.finding.keyboard_navigation import first_layer
from studio.session.document.level_view import level_state
from studio.session.document.levels import all_blocks, contents, copies_of, ports_in, ports_out
from studio.session.document.resolve import layer_graph
from studio.session.document.state import DocumentState
from studio.session.inspector.facts import use_text
from tests.session.document.networks import net

KINDS: tuple[BlockKind, ...] = ("block", "model")


def tower() -> Sequential:
    return Sequential([Input((4,)), Dense(3, name="wide"), ReLU(name="bend")], name="tower")


def twice() -> Model:
    left, right = Input((4,), name="left"), Input((4,), name="right")
    once = tower()
    return Model([left, right], Add(name="sum")([once(left), once(right)]), "pair", backend="cpu")


def nested() -> Model:
    given = Input((4,), name="given")
    outer = Model(given, Dense(4, name="back")(tower()(given)), "outer")
    start = Input((4,), name="start")
    return Model(start, outer(outer(start)), "whole", backend="cpu")


def in_part() -> Model:
    given = Input((4,), name="given")
    two = Model(given, [Dense(2, name="a")(given), Dense(3, name="b")(given)], "two")
    start, again = Input((4,), name="start"), Input((4,), name="again")
    return Model([start, again], [*two(start), two(again)[1]], backend="cpu")


def unchanged() -> Model:
    """A model that gives one of its inputs as it is, and one output twice."""
    one, other = Input((4,), name="one"), Input((4,), name="other")
    made = Dense(4, name="mixed")(one)
    through = Model([one, other], [other, made, made], "through")
    start, again = Input((4,), name="start"), Input((4,), name="again")
    return Model([start, again], Add(name="sum")(through([start, again])), backend="cpu")


def opened(model: Model, folder: Path) -> tuple[Project, DocumentState]:
    """The project a model is saved as, and the document it opens as."""
    project = Project.load(model.save(folder / "saved"))
    found = state_of_project(project)
    assert found.warnings == ()
    return project, found.state


def inside(state: DocumentState, block: str) -> list[str]:
    return [node.id for node in contents(state, block)]


def names(state: DocumentState) -> dict[str, str]:
    """Ids of all blocks by their names."""
    return {block.name: block.id for block in all_blocks(state)}


def test_a_model_called_twice_opens_as_two_linked_blocks_with_one_set_of_weights(
    tmp_path: Path,
) -> None:
    _, state = opened(twice(), tmp_path)
    blocks = names(state)
    assert list(blocks) == ["tower", "tower_1"]
    first, second = blocks.values()
    assert all(state.nodes[i].model for i in (first, second))
    assert copies_of(state, first) == (first, second)
    assert (inside(state, first), inside(state, second)) == (["wide", "bend"], ["wide_1", "bend_1"])
    assert state.uses_of("wide") == ("wide", "wide_1")
    assert [port.name for port in ports_in(state, first)] == ["input"]
    assert [port.name for port in ports_out(state, second)] == ["bend"]
    assert [state.nodes[i].parent for i in ("left", "right", "sum")] == ["", "", ""]
    assert validate(state).is_valid
    assert validate(state).parameters == 4 * 3 + 3


def test_models_inside_models_open_as_blocks_inside_blocks(tmp_path: Path) -> None:
    _, state = opened(nested(), tmp_path)
    outer = [block for block in all_blocks(state) if not block.parent]
    inner = [block for block in all_blocks(state) if block.parent]
    assert [block.name for block in outer] == ["outer", "outer_1"]
    assert [(block.name, block.parent) for block in inner] == [
        ("tower", outer[0].id), ("tower", outer[1].id),
    ]  # fmt: skip
    assert len(copies_of(state, outer[0].id)) == len(copies_of(state, inner[0].id)) == 2
    assert state.nodes[ports_out(state, outer[1].id)[0].id].sources == ("back_1",)


@pytest.mark.parametrize("make", [twice, nested, in_part, unchanged])
def test_opening_and_saving_changes_neither_what_runs_nor_the_blocks(
    make: Callable[[], Model], tmp_path: Path
) -> None:
    project, state = opened(make(), tmp_path)
    assert project.blocks
    assert broken_rules(state) == ()
    again = project_of_state(state)
    assert graph_to_json(again.graph) == graph_to_json(project.graph)
    assert again.blocks == project.blocks
    assert dict(state_of_project(again).state.nodes) == dict(state.nodes)


def test_an_edit_in_one_call_is_one_of_all_and_the_other_outlives_its_owner(
    tmp_path: Path,
) -> None:
    _, state = opened(twice(), tmp_path)
    blocks = names(state)
    wider = sync_copies(state, set_option(state, "wide_1", "units", 5))
    assert [wider.nodes[i].config["units"] for i in ("wide", "wide_1")] == [5, 5]
    left = sync_copies(state, delete(state, [blocks["tower"]]))
    assert broken_rules(left) == ()
    assert (left.nodes["wide_1"].shares, left.nodes["wide_1"].name) == ("", "wide")
    assert "wide" not in left.nodes


def test_dissolving_a_call_keeps_what_runs(tmp_path: Path) -> None:
    _, state = opened(nested(), tmp_path)
    before = graph_to_json(layer_graph(state))
    for block in list(all_blocks(state)):
        state = ungroup(state, block.id)
        assert broken_rules(state) == ()
        assert graph_to_json(layer_graph(state)) == before
    assert not list(all_blocks(state))


def test_a_new_drawing_is_laid_out_level_by_level_with_ports_in_order(tmp_path: Path) -> None:
    _, state = opened(in_part(), tmp_path)
    first, second = names(state).values()
    assert state.nodes[first].x > state.nodes["start"].x + 100
    assert not box_of(state.nodes[first]).overlaps(box_of(state.nodes[second]), 0.0)
    for block in (first, second):
        outs = ports_out(state, block)
        assert [port.name for port in outs] == ["a", "b"]
        assert outs[0].x == outs[1].x > max(node.x for node in contents(state, block))


def test_cards_count_the_weights_of_a_shared_block_once(tmp_path: Path) -> None:
    _, state = opened(twice(), tmp_path)
    cards = [card_of(state, validate(state), i) for i in names(state).values()]
    assert [card.parameters for card in cards] == ["15", "shared"]
    assert use_text(state, "wide_1") == "in tower_1, after input"


@pytest.mark.parametrize("seed", range(60))
def test_any_blocks_that_a_file_may_hold_open_and_keep_what_runs(seed: int) -> None:
    chance = random.Random(seed)
    graph = chance.choice([twice, nested, unchanged])().graph
    paths = [""]
    for number in range(chance.randint(1, 5)):
        paths.append(f"{chance.choice(paths)}/b{number}".strip("/"))
    held = {node: chance.choice(paths) for node in graph.nodes}
    sources = [None, *(Port(node) for node in graph.nodes)]

    def ports() -> tuple[BlockPort, ...]:
        names = [f"p{number}" for number in range(chance.randint(0, 3))]
        return tuple(BlockPort(name, chance.choice(sources)) for name in names)

    blocks = {
        path: Block(
            chance.choice(KINDS), chance.choice(["", "one", "other"]),
            tuple(node for node in held if held[node] == path), ports(), ports(),
        )
        for path in paths[1:]
    }  # fmt: skip
    project = Project.from_json(Project("any", graph, blocks=blocks).to_json())
    state = state_of_project(project).state
    assert broken_rules(state) == ()
    again = project_of_state(state)
    assert graph_to_json(again.graph) == graph_to_json(graph)
    assert dict(state_of_project(again).state.nodes) == dict(state.nodes)


def test_a_block_that_data_leaves_and_comes_back_to_can_be_laid_out() -> None:
    state = net("input 4 > dense 4 > relu > dense 3")
    state = group(state, ["dense", "dense_1"], "ends")
    laid = layout_level(state)
    assert broken_rules(laid) == ()
    block = names(state)["ends"]
    boxes = [box_of(laid.nodes[i]) for i in ("input", "re_lu", block)]
    assert not any(one.overlaps(two, 0.0) for one in boxes for two in boxes if one is not two)
    assert first_layer(level_state(laid)) == "input"
