"""The journal of a document: every state since it was saved, appended as it changes.

A file of records behind the magic ``GBJ1``: u32 length and u32 CRC-32 of the content, both
little-endian, then the content, JSON compressed by zlib. The first record says whose journal it is,
the second holds a whole state, the others what differs from the state before. A record is written
by one call, so that a process that is killed leaves it whole or torn; a torn one is left out.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.options import Plain
from studio.engine.core.process_identity import ProcessIdentity
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import parse_json
from studio.engine.train.project.annotations import annotations_from_json
from studio.engine.train.project.plugin_use import plugins_used, prepare_stand_ins
from studio.engine.train.project.sample_facts import sample_facts_from_json
from studio.engine.train.settings import TrainingSettings
from studio.session.document.edits.sections import training_of
from studio.session.document.files.drawing import node_to_json, nodes_from_json, ports_from_json
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import CanvasNode, DocumentState, plain_port

MAGIC = b"GBJ1"
SUFFIX = ".journal"
MAX_RECORD = 64 * MIB

_HEAD = struct.Struct("<II")
_LEVEL = 1
_LIMITS = Limits(file_bytes=256 * MIB, json_bytes=64 * MIB, json_depth=32, json_values=2_000_000)

_TEXTS = ("name", "graph_name", "notes")
_SECTIONS = (*_TEXTS, "outputs", "data", "training", "annotations", "samples")


@dataclass(frozen=True)
class JournalOwner:
    """Whose journal it is.

    Attributes:
        uuid: of the document.
        path: the document's file; None where it has none yet.
        process: the process that writes it.
    """

    uuid: str
    path: Path | None
    process: ProcessIdentity


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds.

    Attributes:
        owner: whose it is.
        state: the last state that was written whole; None where none was.
        when: when that was, seconds since the epoch.
        text: name of the step that led to it.
        steps: how many states were written.
        is_torn: whether something behind it could not be read.
    """

    owner: JournalOwner
    state: DocumentState | None
    when: float
    text: str
    steps: int
    is_torn: bool


class Journal:
    """Writes one journal; a new one takes the place of an old one of the same name.

    Args:
        path: the file; its folder is made.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path, owner: JournalOwner) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.nbytes = 0
        self._last: DocumentState | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        self._file: int | None = os.open(path, flags, 0o600)
        begin: dict[str, Plain] = {
            "uuid": owner.uuid,
            "path": None if owner.path is None else str(owner.path),
            "pid": owner.process.pid,
            "started": owner.process.started,
            "time": time.time(),
        }
        self._write(MAGIC + _record(begin))

    def append(self, state: DocumentState, text: str) -> None:
        """Add a state; OSError where it cannot be written, and then nothing of it is."""
        made: dict[str, Plain] = {"time": time.time(), "text": text}
        if self._last is None:
            made["state"] = state_to_json(state)
        else:
            made["difference"] = difference_to_json(self._last, state)
        self._write(_record(made))
        self._last = state

    def flush(self) -> None:
        """Bring everything to the disk; may be called from another thread."""
        if self._file is not None:
            with suppress(OSError):
                os.fsync(self._file)

    def close(self) -> None:
        """Stop writing; more than once does nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Stop writing and delete the file."""
        self.close()
        with suppress(OSError):
            self.path.unlink()

    def _write(self, content: bytes) -> None:
        if self._file is None:
            raise OSError(errno.EBADF, "the journal is closed")
        written = os.write(self._file, content)
        if written < len(content):
            # The disk is full: without its end the record would hide those that follow.
            with suppress(OSError):
                os.ftruncate(self._file, self.nbytes)
                os.lseek(self._file, self.nbytes, os.SEEK_SET)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.nbytes += written


def _record(content: dict[str, Plain]) -> bytes:
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    packed = zlib.compress(text.encode("utf-8"), _LEVEL)
    return _HEAD.pack(len(packed), zlib.crc32(packed)) + packed


def read_journal(path: Path) -> JournalContent:
    """What a journal holds, up to the first record that is torn; FormatError for another file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", who=path.name) from error
    if not content.startswith(MAGIC):
        raise FormatError("this is no journal", who=path.name)
    at = len(MAGIC)
    begin, at = _next(content, at)
    owner = _owner(begin, path.name)
    plain: PlainState | None = None
    when, text, steps = path.stat().st_mtime, "", 0
    is_torn = False
    while at < len(content):
        record, at = _next(content, at)
        if record is None:
            is_torn = True
            break
        try:
            if plain is None or "state" in record:
                plain = PlainState(record.get("state"))
            else:
                plain.apply(record.get("difference"))
        except FormatError:
            is_torn = True
            break
        when, text, steps = _number(record.get("time"), when), str(record.get("text")), steps + 1
    state, damaged = _state(plain)
    return JournalContent(owner, state, when, text, steps, is_torn or damaged)


def _state(plain: PlainState | None) -> tuple[DocumentState | None, bool]:
    if plain is None:
        return None, False
    try:
        return plain.state(), False
    except StudioError:
        return None, True


def _next(content: bytes, at: int) -> tuple[dict[str, object] | None, int]:
    """The record at a place and where the next one begins; None where it is torn or damaged."""
    if len(content) - at < _HEAD.size:
        return None, len(content)
    length, check = _HEAD.unpack_from(content, at)
    at += _HEAD.size
    packed = content[at : at + length]
    if len(packed) < length or zlib.crc32(packed) != check:
        return None, len(content)
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(packed, MAX_RECORD)
        found = parse_json(text, "journal", _LIMITS)
    except (zlib.error, StudioError):
        return None, len(content)
    return (dict(found) if isinstance(found, dict) else None), at + length


def _owner(begin: dict[str, object] | None, who: str) -> JournalOwner:
    found = begin or {}
    uuid, pid, started = (found.get(key) for key in ("uuid", "pid", "started"))
    if not isinstance(uuid, str) or not isinstance(pid, int) or not isinstance(started, str):
        raise FormatError("it does not say whose journal it is", who=who)
    path = found.get("path")
    place = Path(path) if isinstance(path, str) else None
    return JournalOwner(uuid, place, ProcessIdentity(pid, started))


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def state_to_json(state: DocumentState) -> dict[str, Plain]:
    """Everything in a state."""
    return {
        "nodes": [node_to_json(node) for node in state.nodes.values()],
        **{section: _section(state, section) for section in _SECTIONS},
        **_plugins(state.nodes.values(), training_of(state)),
    }


def difference_to_json(before: DocumentState, after: DocumentState) -> dict[str, Plain]:
    """What has to be known beside ``before`` to make ``after``; small for a small edit."""
    made: dict[str, Plain] = {}
    old, new = before.nodes, after.nodes
    if old is not new:
        fresh = [node for key, node in new.items() if old.get(key) is not node]
        changed = [node for node in fresh if old.get(node.id) != node]
        removed = [key for key in old if key not in new]
        if changed:
            made["nodes"] = [node_to_json(node) for node in changed]
        if removed:
            made["removed"] = list(removed)
        kept = [key for key in old if key in new]
        if [*kept, *(node.id for node in changed if node.id not in old)] != list(new):
            made["order"] = list(new)
    for section in _SECTIONS:
        if getattr(before, section) != getattr(after, section):
            made[section] = _section(after, section)
    training = training_of(after) if "training" in made else None
    drawn = [node for node in new.values() if old.get(node.id) is not node]
    return {**made, **_plugins(drawn, training)}


def _plugins(nodes: Iterable[CanvasNode], training: TrainingSettings | None) -> dict[str, Plain]:
    """What is used of plugins, so that it can be read where they are not loaded."""
    drawn = ((node.type_name, node.config) for node in nodes if node.is_layer)
    uses = plugins_used(None, training, drawn)
    return {"plugins": {use.plugin.name: use.to_json() for use in uses}} if uses else {}


class PlainState:
    """A state as plain data, brought forward by differences; read as a state only at the end.

    Args:
        data: what `state_to_json` gave; FormatError for anything else.
    """

    def __init__(self, data: object) -> None:
        fields = _mapping(data)
        prepare_stand_ins(fields.get("plugins", {}))
        self._nodes = _entries(fields.get("nodes"))
        self._sections = {name: fields.get(name) for name in _SECTIONS}
        # Journals older than these sections hold none.
        for section in ("annotations", "samples"):
            self._sections[section] = fields.get(section, {})

    def apply(self, difference: object) -> None:
        """Go on to the state that differs in this; FormatError where it does not fit."""
        fields = _mapping(difference)
        prepare_stand_ins(fields.get("plugins", {}))
        for gone in _list(fields.get("removed", [])):
            self._nodes.pop(str(gone), None)
        self._nodes.update(_entries(fields.get("nodes", [])))
        if "order" in fields:
            order = [str(each) for each in _list(fields["order"])]
            if len(order) != len(self._nodes) or set(order) != set(self._nodes):
                raise FormatError("the order names other layers than there are", who="journal")
            self._nodes = {key: self._nodes[key] for key in order}
        self._sections.update((name, fields[name]) for name in _SECTIONS if name in fields)

    def state(self) -> DocumentState:
        """The state; StudioError where the data describes none."""
        nodes = nodes_from_json(list(self._nodes.values()))
        sections = {name: _read(name, value) for name, value in self._sections.items()}
        return DocumentState().with_nodes(nodes).replaced(**sections)


def _section(state: DocumentState, name: str) -> Plain:
    value: object = getattr(state, name)
    if isinstance(value, FrozenConfig):
        return value.plain()
    if isinstance(value, tuple):
        return [plain_port(each) for each in value]
    return None if value is None else str(value)


def _read(name: str, value: object) -> object:
    if name == "data" and value is None:
        return None
    if name in _TEXTS:
        if not isinstance(value, str):
            raise FormatError(f"{name}: expected text", who="journal")
        return value
    if name == "outputs":
        return ports_from_json(value, "outputs")
    if name == "annotations":
        return FrozenConfig(annotations_from_json(value).to_json())
    if name == "samples":
        return FrozenConfig(sample_facts_from_json(value).to_json())
    return FrozenConfig(_mapping(value))


def _entries(value: object) -> dict[str, object]:
    return {str(_mapping(entry).get("id")): entry for entry in _list(value)}


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise FormatError("expected a list", who="journal")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise FormatError("expected an object", who="journal")
    return value
