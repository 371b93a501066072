"""Adding several layers that follow each other, in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.engine.layers.graph import Port
from studio.session.document.edits.insertion import Push, insert_on_wire
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.sharing import next_use, place_again
from studio.session.document.edits.wires import wire_exists
from studio.session.document.levels import TOP, level_of_wire
from studio.session.document.naming import new_name
from studio.session.document.state import DocumentState, Wire


@dataclass(frozen=True)
class NewLayer:
    """A layer to add.

    Attributes:
        type_name: its type.
        config: the options that are given.
        shares: id of a layer on the canvas that is placed again instead; empty for a new one.
    """

    type_name: str
    config: Mapping[str, object]
    shares: str = ""


@dataclass(frozen=True)
class Chained:
    """A state with new layers in it, and their ids in order."""

    state: DocumentState
    ids: tuple[str, ...]


def add_chain(
    state: DocumentState,
    layers: Sequence[NewLayer],
    *,
    after: Port | str = "",
    wire: Wire | None = None,
    at: tuple[float, float] | None = None,
    level: str = TOP,
    push: Push = "right",
) -> Chained:
    """Add layers that feed each other: behind an output, on a wire, or in the block ``level``.

    Raises:
        ParameterError: an unknown type or a wrong option.
        GraphError: the wire is gone, or the chain cannot go there.
    """
    ids: list[str] = []
    before: Port | str = "" if wire is not None else after
    if wire is not None and wire_exists(state, wire):
        level = level_of_wire(state, wire)
    for layer in layers:
        place = at if not ids else None
        if layer.shares:
            made = next_use(state, layer.shares)
            state = place_again(state, layer.shares, made, after=before, at=place, level=level)
        else:
            made = new_name(state, layer.type_name, layer.config)
            state = add_layer(
                state,
                layer.type_name,
                after=before,
                at=place,
                config=layer.config,
                level=level,
            )
        before = made
        ids.append(made)
    if wire is not None and ids:
        state = insert_on_wire(state, ids, wire, push=push, check_shapes=False)
    return Chained(state, tuple(ids))
