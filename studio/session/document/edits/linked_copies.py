"""Linked copies: blocks of one definition, of which an edit of one changes all.

Each copy has layers of its own, with weights of its own unless they are shared. Copies agree in
structure, options, comments and places; names, ids and the wires outside are their own. What
corresponds to each other has the same ``origin``, which is unique beside each other in a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TypeAlias

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import Port, free_name
from studio.session.document.edits.blocks import checked_block, sized
from studio.session.document.edits.outputs import following_marks
from studio.session.document.edits.removal import without
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import with_layers_renamed
from studio.session.document.levels import all_blocks, blocks_around, copies_of, members
from studio.session.document.naming import names_of, new_id
from studio.session.document.state import CanvasNode, DocumentState

Path: TypeAlias = tuple[str, ...]
Tree: TypeAlias = Mapping[Path, CanvasNode]

_ROUNDS = 4
"""Edits of a block inside a linked block reach both kinds of copies in as many rounds at most."""


def with_definition(state: DocumentState, block_id: str) -> DocumentState:
    """A block that can have linked copies: it has a definition, and what is in it an origin.

    Raises:
        GraphError: there is no such block.
    """
    block = checked_block(state, block_id)
    if block.definition:
        return state
    taken = {each.definition for each in all_blocks(state)}
    named = replace(block, definition=free_name(block.id, taken))
    return with_origins(state.with_nodes([named]))


def make_unique(state: DocumentState, block_id: str) -> DocumentState:
    """A block that no edit of a copy changes any more.

    Raises:
        GraphError: there is no such block, or it has no linked copies.
    """
    block = checked_block(state, block_id)
    if len(copies_of(state, block_id)) < 2:
        raise GraphError("it has no linked copies", who=block.name)
    return with_origins(state.with_nodes([replace(block, definition="")]))


def sync_copies(before: DocumentState, after: DocumentState) -> DocumentState:
    """The state after an edit, with linked copies changed as the one that was edited.

    Where one edit changed several copies in different ways, the first of them counts.
    """
    if before.nodes is after.nodes or not _has_copies(after):
        return after
    edited = after
    after = with_origins(after)
    for _ in range(_ROUNDS):
        was = after
        for copies in _by_definition(after):
            source = next((i for i in copies if _differs(before, after, i)), "")
            for other in copies if source else ():
                if other != source and other in after.nodes and source in after.nodes:
                    after = _followed(after, source, other)
        if after is was:
            break
    return following_marks(edited, after)


def with_origins(state: DocumentState) -> DocumentState:
    """What stands in linked blocks has an origin that is unique beside it; nothing else has one."""
    changed: list[CanvasNode] = []

    def mark(level: str, linked: bool) -> None:
        nodes = members(state, level)
        taken: set[str] = set()
        for node in nodes:
            origin = node.origin if linked and node.origin not in taken else ""
            if linked and not origin:
                origin = free_name(node.id, taken | {n.origin for n in nodes})
            taken.add(origin)
            if origin != node.origin:
                changed.append(replace(node, origin=origin))
            if node.is_block:
                mark(node.id, linked or bool(node.definition))

    mark("", False)
    return state.with_nodes(changed) if changed else state


def differing_copies(state: DocumentState) -> tuple[str, ...]:
    """Blocks that differ from the first of their linked copies; none after `sync_copies`."""
    return tuple(
        other
        for first, *others in _by_definition(state)
        for other in others
        if _signature(state, other) != _signature(state, first)
    )


def with_equal_copies(state: DocumentState) -> DocumentState:
    """Blocks of one definition as linked copies, where they are alike but for names and places.

    What corresponds is found by the order in the blocks. Blocks that differ get no definition.
    """
    for copies in _by_definition(state):
        first, *others = copies
        state = _numbered(state, copies)
        if all(_signature(state, i, False) == _signature(state, first, False) for i in others):
            for other in others:
                state = _followed(state, first, other)
        else:
            state = state.with_nodes(replace(state.nodes[i], definition="") for i in copies)
    alone = [b for b in all_blocks(state) if b.definition and len(copies_of(state, b.id)) < 2]
    return with_origins(state.with_nodes(replace(block, definition="") for block in alone))


def _numbered(state: DocumentState, blocks: tuple[str, ...]) -> DocumentState:
    """Copies whose contents correspond by their order."""
    first = blocks[0]

    def mark(level: str, keys: list[str]) -> Iterator[CanvasNode]:
        nodes = sorted(members(state, level), key=lambda n: (n.kind, n.port, n.y if n.port else 0))
        for index, node in enumerate(nodes):
            key = keys[index] if index < len(keys) else node.id
            yield replace(node, origin=key)

    def levels(block: str) -> Iterator[str]:
        yield block
        for node in members(state, block):
            if node.is_block:
                yield from levels(node.id)

    pattern = [[n.id for n in mark(level, [])] for level in levels(first)]
    changed = [
        node
        for block in blocks
        for level, keys in zip(levels(block), pattern, strict=False)
        for node in mark(level, keys)
    ]
    return state.with_nodes(changed)


def contents_agree(one: DocumentState, block: str, other: DocumentState, other_block: str) -> bool:
    """Whether two blocks, perhaps of two documents, are what linked copies are to each other."""
    return _signature(one, block) == _signature(other, other_block)


def _has_copies(state: DocumentState) -> bool:
    return any(block.definition for block in all_blocks(state)) or any(
        node.origin for node in state.nodes.values()
    )


def _by_definition(state: DocumentState) -> list[tuple[str, ...]]:
    """The ids of linked copies of each definition that has several, the outermost first.

    What moves between a linked block and one inside it is so followed as a whole.
    """
    found: dict[str, list[str]] = {}
    for block in all_blocks(state):
        if block.definition:
            found.setdefault(block.definition, []).append(block.id)
    several = [tuple(ids) for ids in found.values() if len(ids) > 1]
    return sorted(several, key=lambda ids: min(len(blocks_around(state, i)) for i in ids))


def _differs(before: DocumentState, after: DocumentState, block: str) -> bool:
    """Whether a copy was there before with the same definition and other contents."""
    was, now = before.nodes.get(block), after.nodes.get(block)
    if was is None or now is None or was.definition != now.definition:
        return False
    return _signature(before, block) != _signature(after, block)


def _tree(state: DocumentState, block: str, path: Path = ()) -> Iterator[tuple[Path, CanvasNode]]:
    for node in members(state, block):
        at = (*path, node.origin)
        yield at, node
        if node.is_block:
            yield from _tree(state, node.id, at)


def _signature(state: DocumentState, block: str, with_places: bool = True) -> object:
    """What linked copies have in common."""
    tree = dict(_tree(state, block))
    paths = {node.id: path for path, node in tree.items()}
    places = {node.name: _place_name(path) for path, node in tree.items() if node.is_layer}
    definition = state.nodes[block].definition
    owners: dict[object, Path] = {}
    found = []
    for path in sorted(tree):
        node = tree[path]
        shared = path
        if node.is_layer:
            shared = owners.setdefault(_owner_place(state, node, path, definition), path)
        links = _inner_links(node, block)
        config = {}
        if node.is_layer:
            config = {**with_layers_renamed(node, places).config.plain(), "name": ""}
        common = replace(
            node, id="", parent="", inputs=(), shares="", config=FrozenConfig(config), origin=""
        )
        wired = [(paths.get(link.node), link.output) for link in links]
        if not with_places:
            common = replace(common, x=0.0, y=0.0)
        found.append((path, common, shared, wired))
    return found


def _owner_place(state: DocumentState, node: CanvasNode, path: Path, definition: str) -> object:
    """The layer that one in a linked copy uses: its place, in whichever of the copies it stands.

    So copies agree where each uses the layer of one of them.
    """
    at = state.nodes.get(node.shares)
    found: Path = ()
    while at is not None and definition:
        found = (at.origin, *found)
        at = state.nodes.get(at.parent)
        if at is not None and at.definition == definition:
            return found
    return node.shares or path


def _place_name(path: Path) -> str:
    """A name for what stands at a place in a block, the same in all copies."""
    return f"at-{sha256('/'.join(path).encode()).hexdigest()[:16]}"


def _inner_links(node: CanvasNode, block: str) -> tuple[Port, ...]:
    """What feeds a thing in a block, without what comes from outside the block."""
    return () if node.port == "in" and node.parent == block else node.inputs


def _followed(state: DocumentState, source: str, target: str) -> DocumentState:
    """A copy made like another, its own ids, names and wires outside kept."""
    if _signature(state, source) == _signature(state, target):
        return state
    own = _counterparts(dict(_tree(state, source)), dict(_tree(state, target)))
    kept = {node.id for node in own.values()}
    state = without(state, {node.id for _, node in _tree(state, target)} - kept)
    theirs = dict(_tree(state, source))
    own = {path: state.nodes[node.id] for path, node in own.items()}
    ids, names = _ids_and_names(state, theirs, own)
    ids[source] = target
    renamed = {n.name: names[ids[n.id]] for n in theirs.values() if n.is_layer}
    shared = any(_owner(own[p]) == _owner(theirs[p]) for p in own if own[p].is_layer)
    made: list[CanvasNode] = []
    for path, node in theirs.items():
        mine = own.get(path)
        links = _inner_links(node, source)
        inputs = tuple(link._replace(node=ids.get(link.node, link.node)) for link in links)
        if node.port == "in" and node.parent == source:
            inputs = () if mine is None else mine.inputs
        owner = _new_owner(node, mine, ids, shared) if node.is_layer else ""
        copy = with_layers_renamed(node, renamed) if node.is_layer else node
        made.append(
            replace(
                copy, id=ids[node.id], inputs=inputs, parent=ids[node.parent],
                shares="" if owner == ids[node.id] else owner,
                config=_config(state, copy, owner, names),
            )
        )  # fmt: skip
    return sized(_with_users(state, made), target)


def _counterparts(theirs: Tree, own: Tree) -> dict[Path, CanvasNode]:
    """What corresponds in the target, by place in the source; also what changed its level."""
    found = {p: n for p, n in own.items() if p in theirs and _alike(n, theirs[p])}
    free = {path[-1]: node for path, node in own.items() if path not in found}
    for path, node in theirs.items():
        mine = free.get(path[-1])
        if path not in found and mine is not None and _alike(mine, node):
            found[path] = free.pop(path[-1])
    return found


def _alike(one: CanvasNode, other: CanvasNode) -> bool:
    return (one.kind, one.port) == (other.kind, other.port)


def _owner(node: CanvasNode) -> str:
    return node.shares or node.id


def _ids_and_names(
    state: DocumentState, theirs: Tree, own: Tree
) -> tuple[dict[str, str], dict[str, str]]:
    """For what is in the source, the ids in the target, and the names of layers by these ids."""
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    taken = names_of(state) | set(state.nodes)
    for path, node in theirs.items():
        mine = own.get(path)
        if mine is not None:
            ids[node.id] = mine.id
            names[mine.id] = mine.name
            if mine.shares:
                # Its name is that of another, and not its own should it get a layer of its own.
                names[mine.id] = free_name(mine.name, taken)
                taken.add(names[mine.id])
            continue
        stem, _, number = node.id.rpartition("_")
        made = new_id(state, stem if stem and number.isdecimal() else node.id, taken)
        taken.add(made)
        ids[node.id] = names[made] = made
    return ids, names


def _new_owner(
    node: CanvasNode, mine: CanvasNode | None, ids: Mapping[str, str], shared: bool
) -> str:
    """The id of the layer that a layer of the target uses: its own, or that of another."""
    owner = _owner(node)
    if owner in ids.values():
        return owner  # the source uses layers of the target
    if mine is not None and _owner(mine) == owner:
        return owner
    if mine is None and shared:
        return owner
    return ids.get(owner, owner)


def _config(
    state: DocumentState, node: CanvasNode, owner: str, names: Mapping[str, str]
) -> FrozenConfig:
    """The options of the source with the name of the layer that is used."""
    if not node.is_layer:
        return node.config
    name = names.get(owner) or state.nodes[owner].name
    return FrozenConfig({**node.config.plain(), "name": name})


def _with_users(state: DocumentState, made: list[CanvasNode]) -> DocumentState:
    """A state with nodes; uses of their layers elsewhere follow, and share an owner."""
    state = state.with_nodes(made)
    roots: list[CanvasNode] = []
    for node in state.layers():
        owner = state.nodes.get(node.shares)
        if owner is None:
            continue
        while owner.shares and owner.shares != node.id:
            owner = state.nodes[owner.shares]
        wanted = replace(node, shares=owner.id, type_name=owner.type_name, config=owner.config)
        if wanted != node:
            roots.append(wanted)
    return state.with_nodes(roots) if roots else state
