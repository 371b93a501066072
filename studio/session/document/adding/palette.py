"""The palette: all layers by family, a search, favourites and those used last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.session.document.adding.published_blocks import PublishedBlocks
from studio.session.document.adding.quick_add import Entry, entries, entry_key, operation_of
from studio.session.document.cards.families import FAMILY_NAMES, Family
from studio.session.document.state import DocumentState

MOST_RECENT = 6
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=1000)


class Group(NamedTuple):
    """Entries under one heading.

    Attributes:
        key: ``favourites``, ``recent``, ``blocks``, ``found``, or the family.
        title: the heading.
        entries: what stands under it.
        groups: headings below it with entries of their own.
    """

    key: str
    title: str
    entries: tuple[Entry, ...]
    groups: tuple[Group, ...] = ()


class Palette:
    """What the palette shows.

    Args:
        favourites: keys of entries marked by the user, types and operations.
        recent: keys of those used last, the latest first.
        blocks: those the user published; none by default.
    """

    def __init__(
        self,
        favourites: Iterable[str] = (),
        recent: Iterable[str] = (),
        blocks: PublishedBlocks | None = None,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._favourites = [name for name in dict.fromkeys(favourites) if name in _by_key()]
        self._recent = [name for name in dict.fromkeys(recent) if name in _by_key()][:MOST_RECENT]
        self._blocks = blocks or PublishedBlocks()
        self._query = ""

    @property
    def query(self) -> str:
        """What is searched for."""
        return self._query

    @property
    def favourites(self) -> tuple[str, ...]:
        """Keys of the entries marked by the user, in the order they were marked."""
        return tuple(self._favourites)

    @property
    def recent(self) -> tuple[str, ...]:
        """Keys of the entries used last, the latest first."""
        return tuple(self._recent)

    def search(self, query: str) -> None:
        """Show what fits a query only; an empty one shows everything."""
        if query != self._query:
            self._query = query
            self.changed.emit()

    def set_favourite(self, key: str, marked: bool) -> None:
        """Mark the entry of a key, or not any more."""
        if marked != (key in self._favourites):
            if marked:
                self._favourites.append(key)
            else:
                self._favourites.remove(key)
            self.changed.emit()

    def used(self, type_name: str, config: Mapping[str, object]) -> None:
        """A layer of that type was added; of an operator counts which operation it is."""
        key = entry_key(type_name, config)
        if key in _by_key() and self._recent[:1] != [key]:
            self._recent = [key, *(each for each in self._recent if each != key)][:MOST_RECENT]
            self.changed.emit()

    @property
    def blocks(self) -> tuple[Entry, ...]:
        """The published blocks, by name."""
        return self._blocks.entries

    @property
    def blocks_folder(self) -> Path | None:
        """Where the published blocks are kept."""
        return self._blocks.folder

    def publish(self, state: DocumentState, block_id: str) -> bool:
        """Add a block; whether it replaced one of the same name; raises as `PublishedBlocks`."""
        replaced = self._blocks.publish(state, block_id)
        self.changed.emit()
        return replaced

    def remove_block(self, name: str) -> None:
        """Remove a published block; FormatError when its file cannot be deleted."""
        try:
            self._blocks.remove(name)
        finally:
            self.changed.emit()

    def reread_blocks(self) -> tuple[str, ...]:
        """See what other windows published; what is newly wrong with the files."""
        if self._blocks.reread():
            self.changed.emit()
        return self._blocks.new_problems()

    def found_blocks(self, query: str) -> tuple[Entry, ...]:
        """The published blocks that fit a query, best first."""
        return _ranked(query, self.blocks)

    def groups(self) -> tuple[Group, ...]:
        """What to show: what was found, or favourites, recent ones and families."""
        if self._query.strip():
            return (Group("found", "Found", self._found()),)
        known = _by_key()
        made = [
            Group("favourites", "Favourites", tuple(known[n] for n in self._favourites)),
            Group("recent", "Recent", tuple(known[n] for n in self._recent)),
            Group("blocks", "Blocks", self.blocks),
        ]
        family: Family
        for family, title in FAMILY_NAMES.items():
            own = tuple(entry for entry in known.values() if entry.family == family)
            parts = _kinds_of_operations(own) if family == "operation" else ()
            made.append(Group(family, title, () if parts else own, parts))
        return tuple(group for group in made if group.entries or group.groups)

    def _found(self) -> tuple[Entry, ...]:
        return _ranked(self._query.strip(), (*entries(), *self.blocks))


def _by_key() -> Mapping[str, Entry]:
    """Entries that may be favourites or recent; plugins bring more of them at any time."""
    return {entry.key: entry for entry in entries() if entry.key}


def _kinds_of_operations(found: Iterable[Entry]) -> tuple[Group, ...]:
    """Operations under what they belong to, such as arithmetic; both by name."""
    kinds: dict[str, list[Entry]] = {}
    for entry in found:
        kinds.setdefault(operation_of(entry).family, []).append(entry)
    return tuple(
        Group(f"operation/{kind}", kind.capitalize(), tuple(kinds[kind])) for kind in sorted(kinds)
    )


def _ranked(query: str, among: Iterable[Entry]) -> tuple[Entry, ...]:
    scored = [(score, entry) for entry in among if (score := entry.score(query)) is not None]
    # Layers come before the operations of the same name.
    scored.sort(key=lambda item: (-item[0], item[1].family == "operation", item[1].title))
    return tuple(entry for _, entry in scored)


def load_palette(path: Path, blocks: PublishedBlocks | None = None) -> Palette:
    """The palette as it was left; as new where the file is missing or damaged."""
    try:
        data = load_json(path, _LIMITS) if path.is_file() else {}
    except StudioError:
        data = {}
    given = data if isinstance(data, dict) else {}
    return Palette(_names(given.get("favourites")), _names(given.get("recent")), blocks)


def save_palette(palette: Palette, path: Path) -> None:
    """Keep it; FormatError when the file cannot be written."""
    with suppress(OSError):
        # Where the folder cannot be made, the write below says why.
        path.parent.mkdir(parents=True, exist_ok=True)
    data = {"favourites": list(palette.favourites), "recent": list(palette.recent)}
    write_atomic(path, (json.dumps(data, indent=2) + "\n").encode())


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
