"""Deleting layers, dots and comments, with the wire healed where a chain was broken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.session.document.edits.outputs import following_marks
from studio.session.document.edits.wires import connect
from studio.session.document.levels import descendants
from studio.session.document.state import CanvasNode, DocumentState, Wire


class Deletion(NamedTuple):
    """What a deletion gives: the state, how many things went, how many wires were joined again."""

    state: DocumentState
    deleted: int
    joined: int
    noun: str = "layer"

    @property
    def text(self) -> str:
        """What to tell the user."""
        things = f"{self.deleted} {self.noun}{'' if self.deleted == 1 else 's'}"
        if not self.joined:
            return f"Deleted {things}"
        return (
            f"Deleted {things}, reconnected {self.joined} wire{('' if self.joined == 1 else 's')}"
        )


def delete(state: DocumentState, node_ids: Iterable[str], *, heal: bool = True) -> DocumentState:
    """Remove things and their wires; see `delete_counted`."""
    return delete_counted(state, node_ids, heal=heal).state


def delete_counted(state: DocumentState, node_ids: Iterable[str], *, heal: bool = True) -> Deletion:
    """Remove things and their wires; a block with all that is in it.

    With ``heal`` a chain that is broken at exactly one wire in and one wire out is joined again,
    if what flowed in fits where it flowed out. Dots are always joined: they are only bends. What
    is given by name for inputs and outputs that are gone goes with them.
    """
    gone = [i for i in dict.fromkeys(node_ids) if i in state.nodes]
    if not gone:
        return Deletion(state, 0, 0)
    inside = {node.id for i in gone for node in descendants(state, i)}
    links = _links_to_heal(state, inside.union(gone), heal)
    after = without(state, inside.union(gone))
    joined = 0
    for source, wire in links:
        try:
            after = _joined(after, source, wire)
        except StudioError:
            continue
        joined += 1
    after = following_marks(state, after)
    chosen = [i for i in gone if i not in inside]
    kinds = {"port" if state.nodes[i].port else state.nodes[i].kind for i in chosen}
    return Deletion(after, len(chosen), joined, kinds.pop() if len(kinds) == 1 else "thing")


def _links_to_heal(state: DocumentState, gone: set[str], heal: bool) -> list[tuple[Port, Wire]]:
    """New source for each wire that ends behind a broken chain."""
    found = []
    for part in _parts(state, gone):
        only_dots = all(state.nodes[i].kind == "dot" for i in part)
        into = [w for i in part for w in state.wires_into(i) if w.source not in gone]
        out = [w for i in part for w in state.wires_from(i) if w.target not in gone]
        if only_dots and into:
            found += [(into[0].port, wire) for wire in out]
        elif heal and len(into) == 1 and len(out) == 1:
            found.append((into[0].port, out[0]))
    return found


def _parts(state: DocumentState, gone: set[str]) -> list[list[str]]:
    """The deleted layers and dots, those linked to each other together."""
    linked: dict[str, set[str]] = {i: set() for i in state.nodes if i in gone}
    for node_id in linked:
        for source in state.nodes[node_id].sources:
            if source in gone:
                linked[node_id].add(source)
                linked[source].add(node_id)
    parts, seen = [], set[str]()
    for node_id in linked:
        waiting, part = [node_id], []
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                part.append(at)
                waiting += linked[at]
        if part:
            parts.append(part)
    return parts


def _joined(state: DocumentState, source: Port, wire: Wire) -> DocumentState:
    """The wire with another source, at the input where it was."""
    made = connect(state, source, wire.target)
    inputs = list(made.nodes[wire.target].inputs)
    inputs.insert(min(wire.slot, len(inputs) - 1), inputs.pop())
    return made.with_nodes([replace(made.nodes[wire.target], inputs=tuple(inputs))])


def without(state: DocumentState, gone: set[str]) -> DocumentState:
    """The state without some things, their wires, and marks; shared layers get another owner."""
    changed: list[CanvasNode] = []
    successors: dict[str, str] = {}
    for node in state.nodes.values():
        if node.id in gone:
            continue
        after = node
        if any(source in gone for source in node.sources):
            after = replace(after, inputs=tuple(p for p in node.inputs if p.node not in gone))
        if node.shares in gone:
            successor = successors.setdefault(node.shares, node.id)
            after = replace(after, shares="" if successor == node.id else successor)
        if after is not node:
            changed.append(after)
    outputs = tuple(port for port in state.outputs if port.node not in gone)
    return state.with_nodes(changed, gone).replaced(outputs=outputs)
