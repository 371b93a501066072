"""A run's folder on another machine, and what of it is here: files that grew, changed or went.

Records only grow, so what is missing is their end. Everything else is replaced as a whole, and is
known by size and time; what arrived gets the time it has there. So the folder itself says what is
still missing, also after another process has filled a part of it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO, TypeAlias

from studio.engine.core.errors import DataError
from studio.engine.scale.sweep.bundle import file_names, place_of

Known: TypeAlias = tuple[int, int]
"""Of a file that grows its size and a check of its ends; of others size and time."""
Part: TypeAlias = tuple[str, int, int, int]
"""A file of which a part is here: name, size and time of the whole, and how much of it."""

TICKET = "cluster.json"
"""The file of a run here that says where it trains; exists until all of it arrived."""
CHUNK = 8 << 20
_GROWING = ("metrics.jsonl", "marks.jsonl", "steps.bin")
_OWN = (TICKET, "studio.json", "training-*.lock", ".*.tmp")
_ENDS = 512


@dataclass(frozen=True)
class Piece:
    """A piece of a file.

    Attributes:
        name: of the file, below the run's folder.
        start: where the piece belongs.
        content: its bytes.
        size: of the whole file.
        stamp: when the file was written, in microseconds; 0 for one that grows.
    """

    name: str
    start: int
    content: bytes
    size: int
    stamp: int


def is_sent(name: str) -> bool:
    """Whether a file of a run goes from one machine to the other."""
    return not any(fnmatch(name.rpartition("/")[2], pattern) for pattern in _OWN)


def known_of(folder: Path) -> dict[str, Known]:
    """What a folder has."""
    found = {}
    for name in filter(is_sent, file_names(folder)):
        with suppress(OSError), (folder / name).open("rb") as file:
            facts = os.fstat(file.fileno())
            size, grows = facts.st_size, name in _GROWING
            found[name] = (size, _check(file, size) if grows else stamp_of(facts))
    return found


def stamp_of(facts: os.stat_result) -> int:
    """When a file was written, as exactly as file systems keep it."""
    return facts.st_mtime_ns // 1000


def pieces_of(
    folder: Path, known: Mapping[str, Known], part: Part | None, most: int = CHUNK
) -> tuple[list[Piece], list[str], bool]:
    """What another folder lacks, the names of all files, and whether there is more to send.

    Args:
        folder: the one that is sent.
        known: what the other has.
        part: a file that it has begun to get.
        most: bytes to send at once.
    """
    names = [name for name in file_names(folder) if is_sent(name)]
    found, room = list[Piece](), most
    for name in sorted(names, key=lambda name: _turn(folder, name, part)):
        if room <= 0:
            return found, names, True
        with suppress(FileNotFoundError), (folder / name).open("rb") as file:
            facts = os.fstat(file.fileno())
            stamp, size = 0, facts.st_size
            if name in _GROWING:
                start = _start_growing(file, size, known.get(name))
                is_there = name in known and start == size
            else:
                stamp = stamp_of(facts)
                is_there = known.get(name) == (size, stamp)
                has_part = part is not None and part[:3] == (name, size, stamp)
                start = part[3] if part is not None and has_part else 0
            if is_there:
                continue
            file.seek(start)
            content = file.read(min(room, size - start))
            room -= max(1, len(content))
            found.append(Piece(name, start, content, size, stamp))
            if start + len(content) < size:
                return found, names, True
    return found, names, False


def _turn(folder: Path, name: str, part: Part | None) -> tuple[int, float, str]:
    """Records first, then what was begun, then the newest checkpoints."""
    if "/" not in name:
        return (0, 0.0, name)
    if part is not None and part[0] == name:
        return (1, 0.0, name)
    try:
        return (2, -(folder / name).stat().st_mtime, name)
    except OSError:
        return (3, 0.0, name)


def _start_growing(file: BinaryIO, size: int, known: Known | None) -> int:
    """How much of a file that grows the other has; 0 where it has other beginnings."""
    if known is None or known[0] > size:
        return 0
    return known[0] if _check(file, known[0]) == known[1] else 0


def _check(file: BinaryIO, size: int) -> int:
    """A check of the first and last bytes of the first ``size``.

    The last, since a run that goes on cuts its records back to a checkpoint, and may have written
    more than before by the next look.
    """
    file.seek(0)
    head = file.read(min(size, _ENDS))
    file.seek(max(0, size - _ENDS))
    return zlib.crc32(file.read(min(size, _ENDS)), zlib.crc32(head))


@dataclass
class Mirror:
    """The folder of a run here that follows one elsewhere.

    Attributes:
        folder: of the run.
        known: what it has.
        part: a file that has begun to arrive.
    """

    folder: Path
    known: dict[str, Known] = field(init=False)
    part: Part | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.known = known_of(self.folder)

    def take(self, pieces: Iterable[Piece], names: Iterable[str], *, is_whole: bool) -> None:
        """Write what arrived; with the last of it checkpoints go that are gone there.

        Raises:
            DataError: a name leads out of the folder, or something cannot be written.
        """
        try:
            for piece in filter(lambda piece: is_sent(piece.name), pieces):
                self._write(piece, place_of(piece.name, self.folder))
            if is_whole:
                self._remove_others(frozenset(names))
        except OSError as error:
            raise DataError(
                f"what was trained elsewhere cannot be written here: {error.strerror}",
                who=str(self.folder),
            ) from error

    def _write(self, piece: Piece, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        done = piece.start + len(piece.content)
        if piece.name in _GROWING:
            with path.open("r+b" if piece.start else "wb") as file:
                file.seek(piece.start)
                file.write(piece.content)
                file.truncate()
            with path.open("rb") as file:
                self.known[piece.name] = (done, _check(file, done))
            return
        half = path.with_name(f".{path.name}.{0:012x}.tmp")
        with half.open("r+b" if piece.start else "wb") as file:
            file.seek(piece.start)
            file.write(piece.content)
            file.truncate()
        if done < piece.size:
            self.part = (piece.name, piece.size, piece.stamp, done)
            return
        os.utime(half, ns=(piece.stamp * 1000, piece.stamp * 1000))
        half.replace(path)
        self.part = None
        self.known[piece.name] = (piece.size, piece.stamp)

    def _remove_others(self, names: frozenset[str]) -> None:
        for name in [name for name in self.known if "/" in name and name not in names]:
            del self.known[name]
            with suppress(FileNotFoundError):
                place_of(name, self.folder).unlink()
