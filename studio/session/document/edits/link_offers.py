"""Where a wire that is being drawn may end, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.session.document.edits.wires import connect
from studio.session.document.errors import InputTaken
from studio.session.document.flow import downstream, flow_of, refusal, upstream
from studio.session.document.layer_types import is_input
from studio.session.document.state import DocumentState, Wire, as_port


@dataclass(frozen=True)
class LinkOffer:
    """What would come of ending a wire at a layer or dot.

    Attributes:
        slot: the input it would take; None when it is refused.
        replacing: the wire that is there gives way.
        reason: why it is refused; empty when it may be drawn.
    """

    slot: int | None = None
    replacing: bool = False
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the wire may be drawn."""
        return self.slot is not None


def link_offer(
    state: DocumentState, source: Port | str, target: str, slot: int | None = None
) -> LinkOffer:
    """What would come of a wire from ``source`` to ``target``.

    A free input is taken first. Where there is none, the wire that is in ``slot`` gives way, or
    that of the only input.
    """
    node = state.node(target)
    taken = slot is not None and slot < len(node.inputs)
    try:
        if not taken:
            connect(state, source, target)
            return LinkOffer(len(node.inputs))
    except InputTaken as error:
        if slot is not None or len(node.inputs) != 1:
            return LinkOffer(reason=error.message)
    except StudioError as error:
        return LinkOffer(reason=error.message)
    place = slot if slot is not None else 0
    try:
        connect(state, source, target, place, replacing=True)
    except StudioError as error:
        return LinkOffer(reason=error.message)
    return LinkOffer(place, replacing=True)


def offers_from(state: DocumentState, source: Port | str) -> dict[str, LinkOffer]:
    """The offer of every layer and dot for a wire that leaves an output."""
    start = as_port(source).node
    before = upstream(state, [start])
    return {
        node.id: _loop(state, node.id, start) if node.id in before
        else link_offer(state, source, node.id)
        for node in state.nodes.values()
        if node.flows and node.id != start
    }  # fmt: skip


def offers_into(state: DocumentState, target: str, slot: int | None) -> dict[str, LinkOffer]:
    """The offer of every layer and dot to feed an input of ``target``."""
    behind = downstream(state, [target])
    return {
        node.id: _loop(state, target, node.id) if node.id in behind
        else link_offer(state, node.id, target, slot)
        for node in state.nodes.values()
        if node.flows and node.id != target
    }  # fmt: skip


def offers_to_move(state: DocumentState, source: Port | str) -> dict[str, LinkOffer]:
    """The offer of the first output of every layer and dot to feed all that an output feeds.

    What is accepted may still be refused by the edit itself, where layers further on clash.
    """
    wires = state.wires_from(source)
    behind = downstream(state, [wire.target for wire in wires])
    return {
        node.id: _loop(state, wires[0].target, node.id) if node.id in behind
        else _offer_to_move(state, wires, behind, node.id)
        for node in state.nodes.values()
        if node.flows and node.id != as_port(source).node
    }  # fmt: skip


def _offer_to_move(
    state: DocumentState, wires: Sequence[Wire], behind: Set[str], to: str
) -> LinkOffer:
    """Whether every wire's target takes what leaves ``to`` in place of what it gets now."""
    flow = flow_of(state)
    for wire in wires:
        node = state.nodes[wire.target]
        if Port(to) in node.inputs:
            return LinkOffer(reason=f"{state.nodes[to].name!r} already feeds {node.name!r}")
        sources = (*node.inputs[: wire.slot], Port(to), *node.inputs[wire.slot + 1 :])
        given = flow.types(sources)
        passes = len(given) < len(sources)
        # What comes from behind the wires changes with them.
        passes = passes or any(each.node in behind for each in sources)
        error = None if passes else refusal(node, given, flow.masks(sources))
        if error is not None:
            return LinkOffer(reason=f"{node.name!r}: {error.message}")
    return LinkOffer(0)


def linked(
    state: DocumentState, source: Port | str, target: str, offer: LinkOffer
) -> DocumentState:
    """The state with the wire that an offer is about; raises as `connect` does."""
    slot = offer.slot if offer.replacing else None
    return connect(state, source, target, slot, replacing=offer.replacing)


def _loop(state: DocumentState, target: str, source: str) -> LinkOffer:
    if is_input(state.nodes[target]):
        return LinkOffer(reason="an input layer takes no wire")
    names = state.nodes[target].name, state.nodes[source].name
    return LinkOffer(
        reason=f"the wire would close a loop: {names[0]!r} already leads to {names[1]!r}"
    )
