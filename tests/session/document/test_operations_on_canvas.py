"""Operations of the table in a document: searched, added, changed, shown, copied and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.core.errors import GraphError, ParameterError
from studio.engine.operations import OPERATIONS
from studio.session.document.adding.palette import Palette, load_palette, save_palette
from studio.session.document.adding.quick_add import Place, QuickAdd, entries
from studio.session.document.cards.card import NodeCard, card_of
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.edits.layers import add_layer, rename, set_option
from studio.session.document.edits.switching import switch_type
from studio.session.document.edits.wires import connect
from studio.session.document.files.clipboard import copy_text, paste
from studio.session.document.files.project_file import project_of_state, state_of_project
from studio.session.document.layer_types import arity, input_count, layer_at
from studio.session.document.state import DocumentState
from tests.session.document.networks import refusal

LISTED = {name for name in OPERATIONS if OPERATIONS[name].operands}


def added(operation: str, **config: object) -> DocumentState:
    """An input of 8 numbers, and an operation of it."""
    state = add_layer(DocumentState(), "Input", config={"shape": [8]})
    given = {"operation": operation, **config}
    return add_layer(state, "Operator", after="input", config=given)


def card(state: DocumentState, node_id: str) -> NodeCard:
    return card_of(state, validate(state), node_id)


# -- palette and search ---------------------------------------------------------------------------


def test_the_palette_lists_every_operation_with_operands_once() -> None:
    (found,) = [group for group in Palette().groups() if group.key == "operation"]
    assert not found.entries
    titles = [entry.title for group in found.groups for entry in group.entries]
    assert set(titles) == LISTED
    assert len(titles) == len(LISTED)
    assert [group.title for group in found.groups][:3] == ["Activations", "Angles", "Arithmetic"]
    for group in found.groups:
        families = {OPERATIONS[entry.title].family for entry in group.entries}
        assert {group.key} == {f"operation/{family}" for family in families}


def test_every_name_of_other_libraries_finds_its_operation() -> None:
    palette = Palette()
    for operation in (OPERATIONS[name] for name in LISTED):
        for name in {name for given in operation.aliases.values() for name in given}:
            palette.search(name)
            found = [entry.title for entry in palette.groups()[0].entries]
            assert operation.name in found, f"{name} does not find {operation.name}"


def test_layers_come_before_operations_of_the_same_name() -> None:
    palette = Palette()
    palette.search("multiply")
    assert [entry.title for entry in palette.groups()[0].entries][:2] == ["Multiply", "multiply"]
    palette.search("conx")
    assert palette.groups()[0].entries == ()


def test_favourites_and_recent_ones_keep_the_operation(tmp_path: Path) -> None:
    palette = Palette()
    palette.set_favourite("Operator:mean", True)
    palette.used("Operator", {"operation": "add"})
    palette.used("Operator", {"operation": "mean"})
    save_palette(palette, tmp_path / "palette.json")
    kept = load_palette(tmp_path / "palette.json")
    assert kept.favourites == ("Operator:mean",)
    assert kept.recent == ("Operator:mean", "Operator:add")
    titles = [[entry.title for entry in group.entries] for group in kept.groups()[:2]]
    assert titles == [["mean"], ["mean", "add"]]


def test_the_search_behind_a_layer_offers_what_takes_its_output() -> None:
    state = add_layer(DocumentState(), "Input", config={"shape": [8]})
    offers = {o.entry.title: o for o in QuickAdd().offers(state, "mean", Place("input"))}
    assert offers["mean"].shape == ()
    search = {o.entry.title for o in QuickAdd().offers(state, "bitwise", Place("input"))}
    assert not search, "bits need whole numbers"
    assert "whole numbers" in QuickAdd().why_none(state, "bitwise_not", Place("input"))


def test_every_operation_of_the_search_can_be_added() -> None:
    for entry in entries():
        if entry.family == "operation":
            state = add_layer(DocumentState(), entry.type_name, config=entry.config)
            (node,) = state.nodes.values()
            assert (node.id, node.name) == (entry.title, entry.title)
            assert layer_at(node).first_name() == entry.title


# -- names, options and inputs --------------------------------------------------------------------


def test_a_name_follows_the_operation_until_the_user_gives_one() -> None:
    state = set_option(added("mean"), "mean", "operation", "ReduceMax")
    assert state.nodes["mean"].name == "max"
    assert state.nodes["mean"].config["settings"] == {"axis": -1}
    state = rename(state, "mean", "largest")
    state = set_option(state, "mean", "operation", "min")
    assert state.nodes["mean"].name == "largest"
    assert state.nodes["mean"].config["operation"] == "min"


def test_options_of_the_operation_are_checked_by_it() -> None:
    state = set_option(added("mean"), "mean", "settings.keepdims", True)
    assert state.nodes["mean"].config["settings"] == {"axis": -1, "keepdims": True}
    state = set_option(state, "mean", "settings.axis", "[1]")
    assert state.nodes["mean"].config["settings"]["axis"] in (1, [1])
    error = refusal(set_option, state, "mean", "settings.axis", "tall")
    assert isinstance(error, ParameterError)
    assert "expected a dimension" in error.message
    assert isinstance(refusal(set_option, state, "mean", "settings.width", 1), ParameterError)
    assert isinstance(refusal(set_option, state, "mean", "operation", "mine"), ParameterError)


def test_a_constant_takes_the_place_of_an_input() -> None:
    state = added("subtract")
    assert arity(state.nodes["subtract"]) == (2, 2)
    state = set_option(state, "subtract", "constants.a", "1")
    assert state.nodes["subtract"].config["constants"] == {"a": 1}
    assert input_count(state.nodes["subtract"]) == 1
    assert validate(state).status("subtract").shape == (8,)
    state = set_option(state, "subtract", "constants.a", "")
    assert "constants" not in state.nodes["subtract"].config
    assert input_count(state.nodes["subtract"]) == 2


def test_connected_inputs_are_not_taken_away() -> None:
    state = add_layer(added("subtract"), "ReLU", after="input")
    state = connect(state, "re_lu", "subtract")
    for name, value in (("constants.b", 2.0), ("operation", "negative")):
        error = refusal(set_option, state, "subtract", name, value)
        assert isinstance(error, GraphError)
        assert error.message == "that leaves 1 input, 2 are connected"
    assert not list(broken_rules(state))


def test_a_layer_becomes_an_operation_and_back() -> None:
    state = add_layer(add_layer(DocumentState(), "Input", config={"shape": [8]}), "ReLU",
                      after="input")  # fmt: skip
    state = switch_type(state, "re_lu", "Operator", {"operation": "abs"})
    node = state.nodes["re_lu"]
    assert (node.type_name, node.name, node.sources) == ("Operator", "absolute", ("input",))
    state = switch_type(state, "re_lu", "Operator", {"operation": "square"})
    assert state.nodes["re_lu"].name == "square"
    state = switch_type(state, "re_lu", "ReLU")
    assert state.nodes["re_lu"].type_name == "ReLU"


# -- on the canvas --------------------------------------------------------------------------------


def test_the_card_tells_operation_symbol_settings_and_operands() -> None:
    found = card(added("subtract"), "subtract")
    assert (found.title, found.subtitle, found.family) == ("subtract", "subtract  -", "operation")
    assert found.input_names == ("a", "b")
    assert found.lines == ()
    assert found.inputs == 2
    found = card(set_option(added("subtract"), "subtract", "constants.b", 0.5), "subtract")
    assert [(line.label, line.value) for line in found.lines] == [("b", "0.5")]
    assert found.input_names == ()
    found = card(added("mean"), "mean")
    assert [(line.label, line.value) for line in found.lines] == [("axis", "-1")]
    assert found.subtitle == "mean"
    many = card(added("concatenate"), "concatenate")
    assert many.input_names == (), "inputs of one kind are only numbered"


def test_several_results_are_several_outputs() -> None:
    found = card(added("moments"), "moments")
    assert (found.outputs, found.shape) == (2, " · ")


def test_copies_and_files_keep_all_of_it() -> None:
    state = set_option(added("subtract"), "subtract", "constants.b", [0.5] * 8)
    pasted = paste(state, copy_text(state, ["subtract"]))
    assert pasted.nodes["subtract_1"].config["constants"] == {"b": [0.5] * 8}
    opened = state_of_project(project_of_state(state)).state
    assert opened.nodes == state.nodes
    assert card(opened, "subtract") == card(state, "subtract")


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_form_writes_what_it_shows(name: str) -> None:
    layer = layer_at(add_layer(DocumentState(), "Operator", config={"operation": name}).nodes[name])
    for option, value in layer.form_values():
        if value is None:
            continue
        made = type(layer).from_config(layer.config_with(option.name, value))
        assert made.config() == layer.config(), option.name
        typed = (
            type(layer).from_config(layer.config_with(option.name, str(value)))
            if option.form_editor == "text"
            else made
        )
        assert typed.config() == layer.config(), option.name
