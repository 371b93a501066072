"""Keyboard navigation of the graph: arrow keys follow wires sideways, and siblings up and down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from studio.session.document.cards.geometry import SizeOf, box_of, node_size
from studio.session.document.flow import running_order
from studio.session.document.state import DocumentState

Direction: TypeAlias = Literal["left", "right", "up", "down"]


def next_node(
    state: DocumentState, node_id: str, direction: Direction, *, size_of: SizeOf = node_size
) -> str:
    """The id of the next node in a direction; empty if there is none.

    Left and right follow the wires, past dots. Up and down go to nodes with a common source or
    target; if there are none, to the nearest node above or below.
    """
    node = state.nodes.get(node_id)
    if node is None:
        return ""
    if direction == "left":
        return _nearest_across(state, node_id, _sources(state, node_id), size_of)
    if direction == "right":
        return _nearest_across(state, node_id, _targets(state, node_id), size_of)
    return _sibling(state, node_id, direction, size_of)


def first_layer(state: DocumentState) -> str:
    """Where navigation begins if nothing is selected: the first layer to run, or empty."""
    order = running_order(state.nodes)
    return next((i for i in order if state.nodes[i].is_layer), "")


def _sources(state: DocumentState, node_id: str) -> list[str]:
    found = []
    for source in state.nodes[node_id].sources:
        at = source
        while state.nodes[at].kind == "dot" and state.nodes[at].sources:
            at = state.nodes[at].sources[0]
        found.append(at)
    return found


def _targets(state: DocumentState, node_id: str) -> list[str]:
    found: list[str] = []
    waiting = [wire.target for wire in state.wires_from(node_id)]
    while waiting:
        at = waiting.pop(0)
        if state.nodes[at].kind == "dot":
            waiting += [wire.target for wire in state.wires_from(at)]
        elif at not in found:
            found.append(at)
    return found


def _nearest_across(
    state: DocumentState, node_id: str, among: Iterable[str], size_of: SizeOf
) -> str:
    """The one whose middle is nearest in height."""
    middle = _middle(state, node_id, size_of)[1]
    ranked = [(abs(_middle(state, i, size_of)[1] - middle), n, i) for n, i in enumerate(among)]
    return min(ranked)[2] if ranked else ""


def _sibling(state: DocumentState, node_id: str, direction: Direction, size_of: SizeOf) -> str:
    related: set[str] = set()
    for source in _sources(state, node_id):
        related.update(_targets(state, source))
    for target in _targets(state, node_id):
        related.update(_sources(state, target))
    related.discard(node_id)
    others = [i for i, n in state.nodes.items() if n.kind in ("layer", "note") and i != node_id]
    return _beyond(state, node_id, related, direction, size_of) or _beyond(
        state, node_id, others, direction, size_of
    )


def _beyond(
    state: DocumentState,
    node_id: str,
    among: Iterable[str],
    direction: Direction,
    size_of: SizeOf,
) -> str:
    """The nearest that lies above or below; what is aside counts as further away."""
    x, y = _middle(state, node_id, size_of)
    sign = -1.0 if direction == "up" else 1.0
    ranked = []
    for other in among:
        ox, oy = _middle(state, other, size_of)
        step = sign * (oy - y)
        if step > 0.5:
            ranked.append((step + 2.0 * abs(ox - x), other))
    return min(ranked)[1] if ranked else ""


def _middle(state: DocumentState, node_id: str, size_of: SizeOf) -> tuple[float, float]:
    box = box_of(state.nodes[node_id], size_of)
    return box.x + box.width / 2, box.y + box.height / 2
