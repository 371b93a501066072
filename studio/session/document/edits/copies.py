"""Duplicating: copies with new names, wired among themselves as the originals are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import Port, free_name
from studio.session.document.cards.geometry import Box, bounds, box_of, free_corner
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.block_places import check_recursion
from studio.session.document.edits.blocks import checked_block, free_block_name
from studio.session.document.edits.linked_copies import (
    contents_agree,
    with_definition,
    with_origins,
)
from studio.session.document.edits.sharing import owners_among
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import checked_config, is_input, with_layers_renamed
from studio.session.document.levels import (
    TOP,
    descendants,
    level_of_output,
    members,
)
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
    linked: bool = False,
) -> DocumentState:
    """Copy things; see `duplicate_mapped`."""
    return duplicate_mapped(state, node_ids, keep_inputs=keep_inputs, linked=linked).state


def duplicate_mapped(
    state: DocumentState,
    node_ids: Iterable[str],
    *,
    keep_inputs: bool = False,
    linked: bool = False,
) -> Copied:
    """Copy things, wires between them included: a step right of and below, blocks on free ground.

    With ``keep_inputs`` wires that come from outside lead to the copies too. With ``linked`` blocks
    and their copies follow each other's edits; a copy of a linked block always does.
    """
    chosen = set(node_ids)
    if linked:
        for node_id in [i for i in state.nodes if i in chosen and state.nodes[i].is_block]:
            state = with_definition(state, node_id)
    originals = with_contents(state, chosen)
    has_block = any(node.is_block for node in originals)
    offset = (0.0, 0.0) if has_block else (STEP, STEP)
    return insert_copies(state, originals, offset=offset, keep_inputs=keep_inputs)


def share_block(state: DocumentState, block_id: str) -> Copied:
    """Use a block again as a whole: a linked copy whose layers are the same, with one set of
    weights.

    Raises:
        GraphError: there is no such block, or data enters the network in it.
    """
    checked_block(state, block_id)
    for node in descendants(state, block_id):
        if is_input(node):
            raise GraphError("an input cannot be used twice", who=node.name)
    found = duplicate_mapped(state, [block_id], linked=True)
    made, changed = found.state, []
    for original, copy in found.ids.items():
        node = made.nodes[original]
        if node.is_layer:
            owner = node.shares or node.id
            changed.append(replace(made.nodes[copy], shares=owner, config=node.config))
    changed += [replace(made.nodes[i], model=True) for i in (block_id, found.ids[block_id])]
    return Copied(made.with_nodes(changed), found.ids)


def with_contents(state: DocumentState, node_ids: Collection[str]) -> list[CanvasNode]:
    """Things and all that is in the blocks among them; ports only with their block."""
    chosen = set(node_ids)
    for node_id in node_ids:
        chosen.update(node.id for node in descendants(state, node_id))
    return [
        node
        for node in state.nodes.values()
        if node.id in chosen and (not node.port or node.parent in chosen)
    ]


def insert_copies(
    state: DocumentState,
    originals: Sequence[CanvasNode],
    *,
    offset: tuple[float, float],
    keep_inputs: bool,
    level: str | None = None,
    exact: bool = False,
) -> Copied:
    """Copies of nodes, which may be of another document, under new names and ids.

    They go into the block ``level``, by default to where the originals stand. Blocks go down to
    free ground, unless their place is ``exact``. Other things go further by a step at a time until
    no copy hides something that is there. A copy of a linked block is linked too where a copy of
    its definition is here.

    Raises:
        GraphError: a block would stand in a linked copy of itself.
    """
    ids = _new_ids(state, originals)
    roots = {
        node.id: _level_for(state, node.parent, level)
        for node in originals
        if node.parent not in ids
    }
    for root, into in roots.items():
        check_recursion(state, into, [node for node in originals if node.id == root], originals)
    shift = _shift(state, [n for n in originals if n.id in roots], roots, offset, exact=exact)
    definitions = _definitions(state, originals)
    owners = owners_among(originals)
    copied = {node.name: ids[node.id] for node in originals if node.id not in owners}
    made: list[CanvasNode] = []
    for node in originals:
        at = roots.get(node.id)
        border = roots.get(node.parent) if node.port == "in" else at
        dx, dy = (0.0, 0.0) if at is None else shift
        owner = owners.get(node.id, "")
        copy = with_layers_renamed(node, copied) if node.is_layer else node
        made.append(
            replace(
                copy, id=ids[node.id], x=node.x + dx, y=node.y + dy,
                inputs=tuple(_kept_inputs(state, node, ids, keep_inputs, border)),
                shares=ids.get(owner, ""),
                config=_renamed(copy, ids[owner or node.id]),
                parent=ids[node.parent] if at is None else at,
                origin=node.origin if at is None else "",
                definition=definitions.get(node.definition, ""),
            )
        )  # fmt: skip
    after = state.with_nodes(made)
    for node in made:
        if node.is_block:
            text = free_block_name(after, node)
            after = after.with_nodes([replace(node, text=text)])
    return Copied(with_origins(after), ids)


def _new_ids(state: DocumentState, originals: Sequence[CanvasNode]) -> dict[str, str]:
    """Ids of copies, which are the names of layers too, by the ids of their originals."""
    ids: dict[str, str] = {}
    taken = names_of(state) | set(state.nodes)
    for node in originals:
        ids[node.id] = free_name(_stem(node.name if node.is_layer else node.id), taken)
        taken.add(ids[node.id])
    return ids


def _level_for(state: DocumentState, parent: str, level: str | None) -> str:
    """The level of a copy: the given one, or that of its original where it is here."""
    wanted = parent if level is None else level
    block = state.nodes.get(wanted)
    return wanted if block is not None and block.is_block else TOP


def _kept_inputs(
    state: DocumentState,
    node: CanvasNode,
    ids: Mapping[str, str],
    keep_inputs: bool,
    level: str | None,
) -> Iterator[Port]:
    """What feeds a copy: copies, and what fed the original from outside, if wanted."""
    for port in node.inputs:
        if port.node in ids:
            yield port._replace(node=ids[port.node])
        elif keep_inputs and port.node in state.nodes:
            # What stands deeper in a block is fed from inside it alone.
            yield from (port,) if level_of_output(state, port.node) == level else ()


def _definitions(state: DocumentState, originals: Sequence[CanvasNode]) -> dict[str, str]:
    """What definitions of copied blocks are here; those that come alone are none."""
    found: dict[str, str] = {}
    copied = [node.definition for node in originals if node.definition]
    here = {node.definition for node in state.nodes.values() if node.is_block} - {""}
    for definition in dict.fromkeys(copied):
        if _is_here(state, originals, definition):
            found[definition] = definition
        elif copied.count(definition) > 1:
            found[definition] = free_name(definition, here | set(found.values()))
    return found


def _is_here(state: DocumentState, originals: Sequence[CanvasNode], definition: str) -> bool:
    """Whether a block of a definition is in the document, the same as the copied one."""
    mine = next((n for n in state.nodes.values() if n.definition == definition), None)
    if mine is None:
        return False
    copied = next(n for n in originals if n.definition == definition)
    nodes = MappingProxyType({node.id: node for node in originals})
    return contents_agree(DocumentState(nodes=nodes), copied.id, state, mine.id)


def _renamed(node: CanvasNode, name: str) -> FrozenConfig:
    if not node.is_layer:
        return node.config
    return checked_config(node.type_name, {**node.config.plain(), "name": name})


def _stem(name: str) -> str:
    """A name without the number at its end, so that copies count on."""
    stem, _, number = name.rpartition("_")
    return stem if stem and number.isdecimal() else name


def _shift(
    state: DocumentState,
    originals: Sequence[CanvasNode],
    levels: Mapping[str, str],
    offset: tuple[float, float],
    *,
    exact: bool,
) -> tuple[float, float]:
    """How far copies lie from their originals: by ``offset``, and further where that is taken."""
    there = [node for level in set(levels.values()) for node in members(state, level)]
    if not exact and any(node.is_block for node in originals):
        return _free_offset(state, originals, there, offset)
    return _clear_offset(originals, there, offset)


def _free_offset(
    state: DocumentState,
    originals: Sequence[CanvasNode],
    there: Sequence[CanvasNode],
    offset: tuple[float, float],
) -> tuple[float, float]:
    """Down to where the copies together lie on nothing."""
    size_of = sizes_in(state)
    around = bounds(originals, size_of)
    if around is None:
        return offset
    solid = (node for node in there if node.kind != "frame" and not node.port)
    taken = [box_of(node, size_of) for node in solid]
    wanted = Box(around.x + offset[0], around.y + offset[1], around.width, around.height)
    x, y = free_corner(taken, wanted)
    return x - around.x, y - around.y


def _clear_offset(
    originals: Sequence[CanvasNode], there: Sequence[CanvasNode], offset: tuple[float, float]
) -> tuple[float, float]:
    """Further by steps until no copy hides what is there, or is hidden by it."""
    taken: dict[tuple[int, int], list[Box]] = {}
    for node in there:
        box = box_of(node)
        taken.setdefault(_cell(box.x, box.y), []).append(box)
    boxes = [box_of(node) for node in originals]
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
