"""Where a wire may end: the same answer as drawing it gives, for every layer."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import StudioError
from studio.session.document.adding.quick_add import Place, add_at_place
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.link_offers import (
    link_offer,
    linked,
    offers_from,
    offers_into,
    offers_to_move,
)
from studio.session.document.edits.wires import connect, move_outputs
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net, residual, wires


def bench() -> DocumentState:
    state = residual()
    for kind in ("Conv2D", "Flatten", "Dense", "Input", "Concatenate"):
        state = add_layer(state, kind, at=(0.0, 500.0))
    return state


BENCH = bench()


@pytest.mark.parametrize("source", list(BENCH.nodes))
def test_offer_is_accepted_exactly_where_drawing_succeeds(source: str) -> None:
    offers = offers_from(BENCH, source)
    assert set(offers) == set(BENCH.nodes) - {source}
    for target, offer in offers.items():
        if offer.accepted:
            made = linked(BENCH, source, target, offer)
            assert source in made.nodes[target].sources
            continue
        assert offer.reason
        with pytest.raises(StudioError):
            connect(BENCH, source, target)
        if len(BENCH.nodes[target].inputs) == 1 and source not in BENCH.nodes[target].sources:
            with pytest.raises(StudioError):
                connect(BENCH, source, target, 0, replacing=True)


@pytest.mark.parametrize("target", list(BENCH.nodes))
def test_offers_to_feed_an_input_agree_with_those_to_lead_there(target: str) -> None:
    for source, offer in offers_into(BENCH, target, None).items():
        assert offer.accepted == offers_from(BENCH, source)[target].accepted


@pytest.mark.parametrize("source", ["input", "conv2d", "conv2d_1"])
def test_refused_offer_to_take_over_all_wires_is_refused_by_the_edit(source: str) -> None:
    accepted = 0
    for to, offer in offers_to_move(BENCH, source).items():
        assert bool(offer.reason) != offer.accepted
        accepted += offer.accepted
        if not offer.accepted:
            with pytest.raises(StudioError):
                move_outputs(BENCH, source, to)
    assert 0 < accepted < len(BENCH.nodes) - 1


def test_taken_input_gives_way_where_it_is_the_only_one_or_meant() -> None:
    state = add_layer(chain(), "Conv2D", after="input")
    assert link_offer(state, "conv2d_1", "re_lu").replacing
    assert not link_offer(residual(), "conv2d_1", "add").accepted
    offer = link_offer(residual(), "conv2d", "add", 0)
    assert (offer.slot, offer.replacing) == (0, True)


def test_layers_are_added_behind_in_front_and_between() -> None:
    state = net("input 8x8x1 > conv 8 3x3 > flatten")
    layer = [NewLayer("BatchNormalization", {})]
    behind = add_at_place(state, layer, Place(source="conv2d"))
    assert wires(behind.state).endswith("conv2d>batch_normalization")
    between = add_at_place(state, layer, Place(wire=Wire("conv2d", "flatten", 0)))
    assert "conv2d>batch_normalization" in wires(between.state)
    assert "batch_normalization>flatten" in wires(between.state)
    front = add_at_place(
        add_layer(state, "Dense", at=(0.0, 300.0)), [NewLayer("Flatten", {})], Place(target="dense")
    )
    assert "flatten_1>dense" in wires(front.state)
