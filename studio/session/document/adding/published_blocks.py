"""Blocks that the user published: files of the configuration folder that the palette shows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from studio.engine.core.errors import FormatError, GraphError, StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import open_source
from studio.session.document.adding.quick_add import NOWHERE, Entry, Offer, Place
from studio.session.document.cards.geometry import box_of
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.blocks import checked_block
from studio.session.document.edits.copies import insert_copies
from studio.session.document.edits.insertion import insert_on_wire
from studio.session.document.edits.layers import WIRE_ROOM, place_for
from studio.session.document.edits.link_offers import link_offer, linked
from studio.session.document.files.clipboard import LIMITS, copy_text, pasted_nodes
from studio.session.document.flow import newly_refused
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.levels import card_of_output, level_of_output, ports_in, ports_out
from studio.session.document.state import CanvasNode, DocumentState


@dataclass
class PublishedBlocks:
    """The blocks of the palette, each kept in a file of a folder.

    Args:
        folder: where the files are; None keeps nothing.
    """

    folder: Path | None = None
    _found: dict[Path, Entry] | None = None
    _stamps: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _problems: dict[Path, str] = field(default_factory=dict)
    _told: dict[Path, str] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the palette shows, by name; of several files with one name, the first."""
        found = self._read() if self._found is None else self._found
        named = {entry.title: entry for entry in reversed(found.values())}
        return tuple(sorted(named.values(), key=lambda entry: entry.title.casefold()))

    def reread(self) -> bool:
        """Read the files again: another window may have changed them; whether one had."""
        before = self._found
        if before is not None and self._stamps == _stamps(self._files()):
            return False
        return self._read() != before

    def new_problems(self) -> tuple[str, ...]:
        """What is wrong with files, each told once."""
        found = [text for path, text in self._problems.items() if self._told.get(path) != text]
        self._told = dict(self._problems)
        return tuple(found)

    def publish(self, state: DocumentState, block_id: str) -> bool:
        """Keep a block; whether it replaced one of the same name.

        Raises:
            FormatError: its file cannot be written, or would be too large to be read.
            GraphError: there is no such block.
        """
        block = checked_block(state, block_id)
        if self.folder is None:
            raise GraphError("there is no folder for published blocks", who=block.name)
        text = copy_text(state, [block_id])
        _entry_of(text)
        before = next((p for p, entry in self._read().items() if entry.title == block.name), None)
        with suppress(OSError):
            # Where the folder cannot be made, the write below says why.
            self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(before or _free_path(self.folder, block.name), text.encode())
        self._read()
        return before is not None

    def remove(self, name: str) -> None:
        """Delete the file of a block; FormatError when that cannot be done."""
        for path, entry in self._read().items():
            if entry.title == name:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    reason = (error.strerror or str(error)).lower()
                    raise FormatError(
                        f"cannot remove the block: {reason}", who=str(path),
                        hint="delete the file yourself",
                    ) from error  # fmt: skip
        self._read()

    def _files(self) -> list[Path]:
        try:
            found = () if self.folder is None else tuple(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = error.strerror or str(error)
            self._problems[Path()] = f"Published blocks cannot be read: {self.folder}: {reason}"
            return []
        return sorted(path for path in found if path.suffix == ".json")

    def _read(self) -> dict[Path, Entry]:
        found: dict[Path, Entry] = {}
        self._problems.clear()
        files = self._files()
        # Before they are read: what is written meanwhile is read the next time.
        self._stamps = _stamps(files)
        for path in files:
            try:
                with open_source(path, LIMITS, "block") as opened:
                    found[path] = _entry_of(opened.read(opened.size).decode("utf-8", "replace"))
            except StudioError as error:
                where = f" ({error.origin})" if "line" in error.origin else ""
                self._problems[path] = f"{path} is not in the palette: {error.message}{where}"
        self._found = found
        return found


class Placed(NamedTuple):
    """A state with a published block in it, and the id of that block."""

    state: DocumentState
    block: str


def place_block(
    state: DocumentState,
    text: str,
    place: Place,
    at: tuple[float, float] | None = None,
    level: str = "",
) -> Placed:
    """Put a published block on the canvas, under free names.

    Args:
        state: what to change.
        text: the published block.
        place: what it is connected to, by its first port, where shapes fit; or the wire it goes on.
        at: its upper left corner; beside what feeds it, or right of everything, by default.
        level: the block it goes into where nothing feeds it.

    Raises:
        FormatError: the text holds no block.
        GraphError: it would stand in a linked copy of itself, or on a wire without having one input
            and one output.
    """
    nodes = pasted_nodes(text, "file")
    root = _root_of(nodes)
    after = place.before
    into = level_of_output(state, after) if after else level
    if place.wire is not None and at is None:
        source = box_of(state.node(card_of_output(state, after)))
        at = source.right + WIRE_ROOM, source.y
    x, y = place_for(state, replace(root, parent=into), after, at, sizes_in(state))
    made = insert_copies(
        state, [root, *(node for node in nodes if node is not root)],
        offset=(x - root.x, y - root.y), keep_inputs=False, level=into,
        exact=at is not None,
    )  # fmt: skip
    block = made.ids[root.id]
    if place.wire is not None:
        return Placed(
            insert_on_wire(made.state, [block], place.wire, check_shapes=False), block
        )  # fmt: skip
    return Placed(_connected(made.state, block, place), block)


def can_place(state: DocumentState, text: str, place: Place) -> bool:
    """Whether a published block would be connected to what a place names, and all layers fit."""
    try:
        made = place_block(state, text, place)
    except StudioError:
        return False
    if newly_refused(state, made.state):
        return False
    ins, outs = ports_in(made.state, made.block), ports_out(made.state, made.block)
    fed = any(port.inputs for port in ins)
    return fed if place.before else any(made.state.wires_from(port.id) for port in outs)


def block_offer(state: DocumentState, entry: Entry, place: Place) -> Offer | None:
    """A published block as it would be connected; None when it cannot be."""
    if place == NOWHERE:
        return Offer(entry, "", None)
    port = "in 1" if place.before else "out"
    return Offer(entry, port, None) if can_place(state, entry.block, place) else None


def _connected(state: DocumentState, block: str, place: Place) -> DocumentState:
    """With a wire between the block's first port and what a place names, where that fits."""
    ins, outs = ports_in(state, block), ports_out(state, block)
    if place.source and ins:
        source, target, slot = place.source, ins[0].id, None
    elif place.target and outs:
        source, target, slot = outs[0].id, place.target, place.slot
    else:
        return state
    offer = link_offer(state, source, target, slot)
    if not offer.accepted:
        return state
    after = linked(state, source, target, offer)
    # A wire into a port is checked against nothing: the layers inside say whether it fits.
    return state if newly_refused(state, after) else after


def _entry_of(text: str) -> Entry:
    """A published block as the palette shows it; raises as `pasted_nodes` does."""
    nodes = pasted_nodes(text, "file")
    count = sum(node.is_layer for node in nodes)
    name = _root_of(nodes).name
    doc = f"A published block of {count} layer{'' if count == 1 else 's'}."
    return Entry("", name, doc, "block", FrozenConfig(), (name, "block"), block=text)


def _root_of(nodes: tuple[CanvasNode, ...]) -> CanvasNode:
    """The block that holds all the others."""
    ids = {node.id for node in nodes}
    roots = [node for node in nodes if node.parent not in ids]
    if len(roots) != 1 or not roots[0].is_block:
        raise FormatError("the file holds no block", who="file", hint="publish the block again")
    return roots[0]


def _stamps(files: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """When files were written, and their sizes; of those that cannot be asked, nothing."""
    found = {}
    for path in files:
        with suppress(OSError):
            about = path.stat()
            found[path] = about.st_mtime_ns, about.st_size
    return found


def _free_path(folder: Path, name: str) -> Path:
    """A file for a block, beside what is there: a file that cannot be read is kept."""
    stem = "block-" + re.sub(r"[^\w-]+", "_", name)[:60]
    number, path = 1, folder / f"{stem}.json"
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.json"
    return path
