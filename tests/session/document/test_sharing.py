"""Layers placed again with the same weights: uses, sizes, copies, and what a file keeps."""

from __future__ import annotations

import pytest

from studio.session.document.adding.preview import preview_chain
from studio.session.document.adding.quick_add import Place, QuickAdd, add_at_place
from studio.session.document.cards.card import card_of
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.copies import duplicate_mapped
from studio.session.document.edits.layers import add_layer, bypass, freeze, mark_output, rename
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sharing import place_again
from studio.session.document.edits.wires import connect
from studio.session.document.files.clipboard import copy_text, paste
from studio.session.document.files.project_file import project_of_state, state_of_project
from studio.session.document.finding.outline import accessible_text, find_layers, outline
from studio.session.document.repairs.search import with_fixes
from studio.session.document.state import DocumentState
from tests.session.document.networks import chain, net, refusal


def pair() -> DocumentState:
    """Two inputs of one shape, each through the same dense layer, joined behind."""
    state = net("input 4 > dense 3")
    state = add_layer(state, "Input", config={"shape": [4]})
    state = place_again(state, "dense", after="input_1")
    state = add_layer(state, "Concatenate", after="dense")
    state = connect(state, "dense_1", "concatenate")
    return mark_output(state, "concatenate")


def again(state: DocumentState, node_id: str) -> NewLayer:
    node = state.nodes[node_id]
    return NewLayer(node.type_name, node.config, node_id)


def test_a_layer_placed_again_has_its_name_its_options_and_its_weights() -> None:
    state = pair()
    first, use = state.nodes["dense"], state.nodes["dense_1"]
    assert (use.shares, use.config, use.sources) == ("dense", first.config, ("input_1",))
    assert state.uses_of("dense") == state.uses_of("dense_1") == ("dense", "dense_1")
    assert state.uses_of("input") == state.uses_of("gone") == ()
    assert broken_rules(state) == ()
    assert validate(state).parameters == 4 * 3 + 3
    graph = project_of_state(state).graph
    assert graph.node("dense").layer is graph.node("dense_1").layer


def test_a_use_of_a_use_is_one_of_the_same_owner() -> None:
    state = place_again(pair(), "dense_1")
    assert state.nodes["dense_2"].shares == "dense"


@pytest.mark.parametrize(
    ("node_id", "why"), [("input", "no weights"), ("note", "not a layer"), ("gone", "no longer")]
)
def test_what_cannot_be_placed_again_is_refused(node_id: str, why: str) -> None:
    from studio.session.document.edits.comments import add_note

    assert why in refusal(place_again, add_note(chain(), 0.0, 0.0), node_id).message


def test_cards_outline_and_words_tell_the_uses_apart() -> None:
    state = pair()
    report = validate(state)
    cards = [card_of(state, report, i) for i in ("dense", "dense_1", "input")]
    assert [card.uses for card in cards] == [2, 2, 0]
    assert [card.subtitle for card in cards[:2]] == ["Dense, use 1 of 2", "Dense, use 2 of 2"]
    assert [card.parameters for card in cards[:2]] == ["15", "shared"]
    rows = {row.id: row for row in outline(state, report).running}
    found = [(rows[i].uses, rows[i].parameters_text) for i in ("dense", "dense_1", "input")]
    assert found == [(2, "15"), (2, "shared"), (0, "")]
    assert "use 2 of 2 of this layer" in accessible_text(state, report, "dense_1")
    assert set(find_layers(state, "dense")) == {"dense", "dense_1"}


def test_an_edit_of_one_use_is_one_of_all_but_bypass() -> None:
    state = freeze(rename(pair(), "dense_1", "tower"), ["dense_1"])
    uses = [state.nodes[i] for i in ("dense", "dense_1")]
    assert [(use.name, use.frozen) for use in uses] == [("tower", True)] * 2
    state = bypass(pair(), ["dense"])
    assert [state.nodes[i].bypassed for i in ("dense", "dense_1")] == [True, False]
    assert validate(state).parameters == 15
    project = project_of_state(state)
    assert dict(state_of_project(project).state.nodes) == dict(state.nodes)
    card = card_of(state, validate(state), "dense_1")
    assert card.parameters == "15"


def test_without_its_owner_the_next_use_owns_the_weights_and_their_name() -> None:
    state = delete(place_again(pair(), "dense", after="input"), ["dense"])
    assert state.uses_of("dense_1") == ("dense_1", "dense_2")
    assert state.nodes["dense_1"].name == state.nodes["dense_2"].name == "dense"
    assert broken_rules(state) == ()


def test_uses_copied_without_their_owner_share_among_themselves() -> None:
    state = place_again(pair(), "dense", after="input")
    copied = duplicate_mapped(state, ["dense_1", "dense_2"])
    first, second = (copied.ids[i] for i in ("dense_1", "dense_2"))
    assert copied.state.uses_of(first) == (first, second)
    assert copied.state.nodes[first].name == copied.state.nodes[second].name != "dense"
    pasted = paste(DocumentState(), copy_text(state, ["dense_1", "dense_2"]))
    assert [len(pasted.uses_of(i)) for i in pasted.nodes] == [2, 2]
    for made in (copied.state, pasted):
        assert broken_rules(made) == ()


def test_sizes_are_compared_with_the_first_use_that_is_connected() -> None:
    state = place_again(net("input 4 > dense 3"), "dense", after="dense")
    assert [p.id for p in validate(state).errors] == ["layer.shared_sizes"]
    state = delete(state, ["input"], heal=False)
    assert "layer.shared_sizes" not in [p.id for p in validate(state).errors]


def test_a_preview_counts_no_weights_twice_and_says_where_they_do_not_fit() -> None:
    state = net("input 4 > dense 4 > dense 3")
    fits = preview_chain(state, [again(state, "dense")], after="dense")
    assert (fits.parameters, fits.message) == (0, "")
    refused = preview_chain(state, [again(state, "dense")], after="dense_1")
    assert "inputs of one shape" in refused.message


def test_the_search_offers_layers_of_the_document_where_their_weights_fit() -> None:
    state = net("input 4 > dense 4 > relu > dense 3")
    quick = QuickAdd()
    found = quick.offers(state, "dense", Place(source="re_lu"))
    assert [offer.entry.shares for offer in found if offer.entry.shares] == ["dense", "dense_1"]
    behind = quick.offers(state, "dense", Place(source="dense_1"))
    assert not [offer for offer in behind if offer.entry.shares]
    assert not [offer for offer in quick.offers(state) if offer.entry.shares]
    assert "inputs of one shape" in quick.why_none(state, "same", Place(source="dense_1"))
    entry = next(offer.entry for offer in found if offer.entry.shares == "dense")
    made = add_at_place(
        state, [NewLayer(entry.type_name, entry.config, entry.shares)], Place(source="re_lu")
    )
    assert made.state.nodes[made.ids[0]].shares == "dense"
    assert made.state.nodes[made.ids[0]].sources == ("re_lu",)


def test_messages_and_repairs_tell_the_uses_of_a_layer_apart() -> None:
    state = delete(pair(), ["concatenate"], heal=False)
    report = validate(state)
    (problem,) = report.problems
    both = "dense (use 1) and dense (use 2)"
    assert problem.message == f"none of the end layers is marked as output: {both}"
    texts = [fix.text for fix in with_fixes(report, state, None).problems[0].fixes]
    assert texts[:2] == [f"Mark {both} as outputs", "Mark dense (use 2) as output"]
