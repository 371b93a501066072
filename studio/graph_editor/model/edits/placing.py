"""Adding what was searched for at the place the search was opened for."""

from __future__ import annotations

from collections.abc import Sequence

from studio.graph_editor.model.edits.chains import Chained, NewLayer, add_chain
from studio.graph_editor.model.link_offers import link_offer, linked
from studio.graph_editor.model.quick_add import Place
from studio.graph_editor.model.state import DocumentState


def add_at_place(
    state: DocumentState,
    layers: Sequence[NewLayer],
    place: Place,
    at: tuple[float, float] | None = None,
) -> Chained:
    """Add layers behind, in front of or between what a place names.

    Args:
        state: what to change.
        layers: what to add, in order.
        place: what they are connected to.
        at: where the first one stands; beside what it is connected to by default.

    Raises:
        ParameterError: an unknown type or a wrong option.
        GraphError: they cannot be connected there.
    """
    if not place.target:
        return add_chain(state, layers, after=place.source, wire=place.wire, at=at)
    made = add_chain(state, layers, at=at)
    offer = link_offer(made.state, made.ids[-1], place.target, place.slot)
    return Chained(linked(made.state, made.ids[-1], place.target, offer), made.ids)
