"""Duplicating: copies with new names, wired among themselves as the originals are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from studio.engine.layers.graph import free_name
from studio.session.document.cards.geometry import Box, SizeOf, box_of, node_size
from studio.session.document.edits.sharing import owners_among
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import checked_config, with_layers_renamed
from studio.session.document.naming import names_of
from studio.session.document.state import CanvasNode, DocumentState

STEP = 32.0
"""How far a copy lies right of and below its original."""

_NEARLY = STEP / 2


class Copied(NamedTuple):
    """A state with copies in it, and the id of each copy by that of its original."""

    state: DocumentState
    ids: Mapping[str, str]


def duplicate(
    state: DocumentState,
    node_ids: Iterable[str],
    *,
    keep_inputs: bool = False,
    size_of: SizeOf = node_size,
) -> DocumentState:
    """Copy things, a step right of and below; see `duplicate_mapped`."""
    return duplicate_mapped(state, node_ids, keep_inputs=keep_inputs, size_of=size_of).state


def duplicate_mapped(
    state: DocumentState,
    node_ids: Iterable[str],
    *,
    keep_inputs: bool = False,
    size_of: SizeOf = node_size,
) -> Copied:
    """Copy things, a step right of and below, wires between them included.

    With ``keep_inputs`` wires that come from outside lead to the copies too.
    """
    chosen = set(node_ids)
    originals = [node for node in state.nodes.values() if node.id in chosen]
    return insert_copies(
        state, originals, offset=(STEP, STEP), keep_inputs=keep_inputs, size_of=size_of
    )


def insert_copies(
    state: DocumentState,
    originals: Sequence[CanvasNode],
    *,
    offset: tuple[float, float],
    keep_inputs: bool,
    size_of: SizeOf = node_size,
) -> Copied:
    """Copies of nodes, which may be of another document, under new names and ids.

    It goes further by a step at a time until no copy lies on something that is there.
    """
    ids: dict[str, str] = {}
    taken = names_of(state) | set(state.nodes)
    names: dict[str, str] = {}
    for node in originals:
        names[node.id] = free_name(_stem(node.name), taken)
        ids[node.id] = names[node.id]
        taken.add(names[node.id])
    dx, dy = _clear_offset(state, originals, offset, size_of)
    owners = owners_among(originals)
    copied = {node.name: names[node.id] for node in originals if node.id not in owners}
    made = []
    for node in originals:
        kept = [
            ids.get(s, s) for s in node.inputs if s in ids or (keep_inputs and s in state.nodes)
        ]
        owner = owners.get(node.id, "")
        name = names[owner or node.id]
        copy = with_layers_renamed(node, copied) if node.is_layer else node
        made.append(
            replace(
                copy, id=ids[node.id], inputs=tuple(kept), x=node.x + dx, y=node.y + dy,
                shares=ids.get(owner, ""), config=_renamed(copy, name),
            )
        )  # fmt: skip
    return Copied(state.with_nodes(made), ids)


def _renamed(node: CanvasNode, name: str) -> FrozenConfig:
    if not node.is_layer:
        return node.config
    return checked_config(node.type_name, {**node.config.plain(), "name": name})


def _stem(name: str) -> str:
    """A name without the number at its end, so that copies count on."""
    stem, _, number = name.rpartition("_")
    return stem if stem and number.isdecimal() else name


def _clear_offset(
    state: DocumentState,
    originals: Sequence[CanvasNode],
    offset: tuple[float, float],
    size_of: SizeOf,
) -> tuple[float, float]:
    taken: dict[tuple[int, int], list[Box]] = {}
    for node in state.nodes.values():
        box = box_of(node, size_of)
        taken.setdefault(_cell(box.x, box.y), []).append(box)
    boxes = [box_of(node, size_of) for node in originals]
    dx, dy = offset
    while any(_hides(box.x + dx, box.y + dy, taken) for box in boxes):
        dx, dy = dx + STEP, dy + STEP
    return dx, dy


def _cell(x: float, y: float) -> tuple[int, int]:
    return int(x // _NEARLY), int(y // _NEARLY)


def _hides(x: float, y: float, taken: Mapping[tuple[int, int], Sequence[Box]]) -> bool:
    """Whether a copy would lie so nearly on something that only one of them is seen."""
    column, row = _cell(x, y)
    return any(
        abs(x - box.x) < _NEARLY and abs(y - box.y) < _NEARLY
        for across in (-1, 0, 1)
        for down in (-1, 0, 1)
        for box in taken.get((column + across, row + down), ())
    )
