"""Repairs of a layer that is fed through bypassed ones: let those work again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.session.document.edits.bypassing import bypass
from studio.session.document.repairs.candidate import Broken, Candidate, named
from studio.session.document.state import DocumentState


def bypass_repairs(broken: Broken) -> Iterator[Candidate]:
    """What comes in passed bypassed layers: each of them alone, then all."""
    state, found = broken.state, _bypassed_before(broken)
    groups = [[each] for each in found] + ([found] if len(found) > 1 else [])
    for ids in groups:
        names = named(state.nodes[i].name for i in ids)
        yield Candidate(f"End the bypass of {names}", partial(_ended, ids=tuple(ids)), "bypass")


def _ended(state: DocumentState, ids: tuple[str, ...]) -> DocumentState:
    return bypass(state, ids, False)


def _bypassed_before(broken: Broken) -> list[str]:
    """Bypassed layers between the layer of the problem and those that work, nearest first."""
    nodes = broken.state.nodes
    found: dict[str, None] = {}
    waiting = list(broken.node.inputs)
    while waiting:
        node = nodes.get(waiting.pop(0))
        if node is None or not (node.kind == "dot" or node.bypassed):
            continue
        if node.bypassed:
            found[node.id] = None
        waiting += node.inputs[:1]
    return list(found)
