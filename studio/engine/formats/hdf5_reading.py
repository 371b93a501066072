"""HDF5 files of unknown origin: their arrays, attributes and groups, read without loading HDF5.

Another process opens the file and says where each array lies (`hdf5_process`). Its word is not
trusted: places, shapes and types are checked here, and the bytes are read from the file itself,
with the caps of all loaders.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.progress import Progress
from studio.engine.formats.atomic import write_error
from studio.engine.formats.byte_source import (
    Array,
    ByteSource,
    check_axes,
    open_regular,
    read_array,
)
from studio.engine.formats.hdf5_child import (
    DEFAULT_CHILD_LIMITS,
    ChildLimits,
    ask_child,
)
from studio.engine.formats.hdf5_chunks import FILTERS, ChunkReader, Chunks
from studio.engine.formats.limits import DEFAULT_LIMITS, MIB, Limits
from studio.engine.formats.safe_json import JsonValue, parse_json
from studio.engine.formats.safe_zip import Member, MemberReader

Attribute: TypeAlias = "str | int | float | list[str] | list[int | float]"
"""A bool is an int too; a list without elements is one of numbers."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_CHUNK = MIB
_TYPES = {
    "bool": "?", "bfloat16": "<u2",
    **{f"{order}{kind}{size}": f"{order}{kind}{size}" for order in "<>"
       for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8)))
       for size in sizes},
}  # fmt: skip


class Hdf5Array(NamedTuple):
    """What an array is, without its elements.

    Attributes:
        shape: its axes.
        dtype: as it is read, in native byte order.
        stored: name of its type in the file; ``bfloat16`` is read as float32 of the same value.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    stored: str


@dataclass(frozen=True)
class _Place:
    """Where the bytes of an array are: at an offset, in chunks, or here."""

    path: str
    kind: str
    shape: tuple[int, ...]
    offset: int = 0
    chunks: Chunks | None = None
    data: bytes | None = None

    @property
    def stored(self) -> np.dtype[np.generic]:
        """The type of its elements in the file."""
        return np.dtype(_TYPES[self.kind])

    @property
    def size(self) -> int:
        """Bytes of its elements in the file, unpacked."""
        return prod(self.shape) * self.stored.itemsize

    def extents(self) -> list[tuple[int, int]]:
        """Where in the file its bytes begin and end."""
        if self.chunks is not None:
            return [(begin, begin + size) for begin, size, _ in self.chunks.pieces]
        return [] if self.data is not None else [(self.offset, self.offset + self.size)]


class _Arrays(Mapping[str, Array]):
    """Arrays by path, each read from the file when asked for."""

    def __init__(self, places: Mapping[str, _Place], read: Callable[[_Place], Array]) -> None:
        self._places = places
        self._read = read

    def __getitem__(self, path: str) -> Array:
        return self._read(self._places[path])

    def __contains__(self, path: object) -> bool:
        return path in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Hdf5File:
    """An open HDF5 file; a context manager.

    Attributes:
        arrays: by path, such as ``layers/dense/vars/0``; each look-up reads the array from the
            file, in native byte order, so nothing is kept that the caller does not keep.
        described: shape and type of each array by path.
        attributes: by path of their group or array (``""`` for the file's own), then by name.
        groups: their paths, the file's own ``""`` first.
    """

    def __init__(
        self,
        read: Callable[[_Place], Array],
        places: Mapping[str, _Place],
        attributes: Mapping[str, Mapping[str, Attribute]],
        groups: tuple[str, ...],
        held: ExitStack,
    ) -> None:
        self.arrays: Mapping[str, Array] = _Arrays(places, read)
        self.described = {path: _described(place) for path, place in places.items()}
        self.attributes = attributes
        self.groups = groups
        self._held = held

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; arrays cannot be looked up afterwards."""
        self._held.close()


def _described(place: _Place) -> Hdf5Array:
    dtype = place.stored.newbyteorder("=")
    if place.kind == "bfloat16":
        return Hdf5Array(place.shape, np.dtype(np.float32), "bfloat16")
    return Hdf5Array(place.shape, dtype, dtype.name)


def read_hdf5(
    source: Path | str,
    *,
    offset: int = 0,
    length: int | None = None,
    who: str = "",
    limits: Limits = DEFAULT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
    progress: Progress | None = None,
) -> Hdf5File:
    """Open an HDF5 file, or the part of a file that is one.

    Numbers of 8 to 64 bits of any byte order, bools, and bfloat16 as Keras writes it are read.

    Args:
        source: the file.
        offset: where the HDF5 data begins.
        length: its bytes; to the end of the file by default.
        who: the file's name in errors, where it is not that of ``source``.
        limits: caps on what the file declares.
        child_limits: what the process that reads it may take.
        progress: called again and again while the other process reads; may raise to stop it.

    Raises:
        FormatError: the file is missing, damaged, beyond the limits, or holds what is not read:
            links, arrays of anything but numbers, data in other files or never written, unknown
            filters, attributes other than text, numbers and lists of them.
    """
    with ExitStack() as stack:
        who = who or str(source)
        file, size = open_regular(Path(source), limits.file_bytes, who, "HDF5")
        stack.enter_context(file)
        length = size - offset if length is None else length
        opened = ByteSource(file, size, who)
        return _open(opened, source, (offset, length), limits, child_limits, progress, stack)


def read_hdf5_member(
    opened: ByteSource,
    source: Path | str,
    member: Member,
    *,
    limits: Limits = DEFAULT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
    progress: Progress | None = None,
) -> Hdf5File:
    """Open an HDF5 file that is a member of a zip archive.

    A stored member is read where it lies; a packed one is unpacked to a temporary file, which goes
    when this is closed.

    Args:
        opened: the archive.
        source: its path.
        member: which of its members.
        limits: caps on what the file declares.
        child_limits: what the process that reads it may take.
        progress: called again and again; may raise to stop.

    Raises:
        FormatError: as `read_hdf5`, and for a member whose checksum is wrong.
    """
    reader = MemberReader(opened, member)
    with ExitStack() as stack:
        if member.is_stored:
            begin = opened.size - opened.remaining
            _drain(reader, None, progress)
            return read_hdf5(source, offset=begin, length=member.size, who=reader.who,
                             limits=limits, child_limits=child_limits,
                             progress=progress)  # fmt: skip
        with _explained(reader.who):
            unpacked = stack.enter_context(_Temporary())
        _drain(reader, unpacked.file, progress)
        copy = ByteSource(unpacked.file, member.size, reader.who)
        return _open(copy, unpacked.path, (0, member.size), limits, child_limits, progress, stack)


def _drain(reader: MemberReader, target: BinaryIO | None, progress: Progress | None) -> None:
    """Read a member to its end, for its checksum, and into a file where one is given."""
    total, buffer = reader.remaining, memoryview(bytearray(min(_CHUNK, reader.remaining)))
    while reader.remaining:
        part = buffer[: min(len(buffer), reader.remaining)]
        reader.readinto(part)
        if target is not None:
            with _explained(reader.who):
                target.write(part)
        if progress is not None:
            progress(1 - reader.remaining / total, "checking the HDF5 data")
    reader.finish()


@contextmanager
def _explained(who: str) -> Iterator[None]:
    """Turn what the system refuses of a temporary file into a FormatError about the file read."""
    try:
        yield
    except OSError as error:
        reason = write_error(error, who).message
        raise FormatError(f"unpacking it to a temporary file failed: {reason}", who=who) from error


class _Temporary:
    """A file for a while: open in this process, known to another by its path."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="glassbox-", suffix=".hdf5")
        self.path = Path(name)
        self.file: BinaryIO = os.fdopen(handle, "w+b", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.hide()

    def hide(self) -> None:
        """Take its name away, where the system can do that to an open file."""
        with suppress(OSError):
            self.path.unlink()


def _open(
    opened: ByteSource,
    source: Path | str,
    window: tuple[int, int],
    limits: Limits,
    child_limits: ChildLimits,
    progress: Progress | None,
    stack: ExitStack,
) -> Hdf5File:
    """Have a window of a file (its begin and length) described; ``stack`` closes what is held."""
    offset, length = window
    if not 0 <= offset <= offset + length <= opened.size:
        raise FormatError(
            f"the HDF5 data is cut off: expected {length} bytes at {offset}, "
            f"the file has {opened.size}",
            who=opened.who,
        )
    if not length:
        raise FormatError("the file is empty, expected HDF5 data", who=opened.who)
    opened.seek(offset)
    if length < len(SIGNATURE) or opened.read(len(SIGNATURE)) != SIGNATURE:
        raise FormatError(
            "not an HDF5 file: its signature is missing",
            who=opened.who,
            hint="it may be a file of another kind under this name",
        )
    child_limits = child_limits.for_length(length)
    request = {
        "path": os.path.abspath(source), "offset": offset, "length": length,
        "seconds": child_limits.cpu_seconds, "memory": child_limits.memory,
        "limits": dataclasses.asdict(limits),
    }  # fmt: skip
    try:
        answer = ask_child(request, limits.json_bytes, child_limits, progress)
    except FormatError as error:
        raise FormatError(error.message, who=opened.who, hint=error.hint) from error
    reading = _Answer(answer, opened, length, limits)
    lock = threading.Lock()

    def read(place: _Place) -> Array:
        with lock:
            return _read(opened, place, offset)

    return Hdf5File(read, reading.places(), reading.attributes(), reading.groups(), stack.pop_all())


def _read(source: ByteSource, place: _Place, base: int) -> Array:
    label = f"array {quoted(place.path)}"
    try:
        if place.chunks is not None:
            reader = ChunkReader(source, base)
            flat = reader.read(place.chunks, place.shape, place.stored, label)
        else:
            held = source
            if place.data is not None:
                held = ByteSource(BytesIO(place.data), place.size, source.who)
            held.seek(0 if place.data is not None else base + place.offset)
            flat = read_array(held, place.stored, prod(place.shape), label)
    except OSError as error:
        raise FormatError(
            f"cannot read the file: {error.strerror or error}", who=source.who
        ) from error
    if place.kind == "bfloat16":
        flat = (flat.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return flat.reshape(place.shape)


class _Answer:
    """What the other process answered, checked as a file would be.

    Raises:
        FormatError: it refused the file, or its answer makes no sense.
    """

    def __init__(self, data: bytes, opened: ByteSource, length: int, limits: Limits) -> None:
        self._who = opened.who
        self._limits = limits
        self._length = length
        answer = parse_json(data, opened.who, limits)
        if not isinstance(answer, dict):
            raise self._nonsense()
        error, hint = answer.get("error"), answer.get("hint", "")
        if isinstance(error, str) and isinstance(hint, str):
            raise FormatError(error, who=opened.who, hint=hint)
        status = os.fstat(opened.file.fileno())
        expected = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
        if answer.get("file") != [str(each) for each in expected]:
            raise FormatError("the file was changed while it was read", who=opened.who)
        self._answer = answer

    def _nonsense(self) -> FormatError:
        return FormatError("the HDF5 data is damaged: it is described in a wrong way",
                           who=self._who)  # fmt: skip

    def places(self) -> dict[str, _Place]:
        """The arrays by path, in the order of the file's groups."""
        listed = self._answer.get("arrays")
        if not isinstance(listed, list) or len(listed) > self._limits.tensors:
            raise self._nonsense()
        places: dict[str, _Place] = {}
        total = 0
        for each in listed:
            place = self._place(each)
            total += place.size * (2 if place.kind == "bfloat16" else 1)
            if place.path in places or total > self._limits.total_bytes:
                raise self._nonsense()
            places[place.path] = place
        self._check_overlaps(places.values())
        return places

    def _place(self, entry: JsonValue) -> _Place:
        if not isinstance(entry, dict):
            raise self._nonsense()
        path, kind = entry.get("path"), entry.get("type")
        if not isinstance(path, str) or not isinstance(kind, str) or kind not in _TYPES:
            raise self._nonsense()
        shape = self._naturals(entry.get("shape"))
        check_axes(shape, 8, f"array {quoted(path)}", self._who, self._limits)
        place = _Place(path, kind, shape)
        data, offset = entry.get("data"), entry.get("offset")
        if isinstance(data, str):
            place = replace(place, data=self._bytes(data))
        elif isinstance(offset, int):
            place = replace(place, offset=offset)
        else:
            place = replace(place, chunks=self._chunks(entry, place))
        is_wrong = place.data is not None and len(place.data) != place.size
        if is_wrong or len(shape) > self._limits.rank:
            raise self._nonsense()
        if not all(0 <= begin <= end <= self._length for begin, end in place.extents()):
            raise self._nonsense()
        return place

    def _naturals(self, value: JsonValue) -> tuple[int, ...]:
        """A list of whole numbers from 0 up."""
        listed = value if isinstance(value, list) else [None]
        numbers = [n for n in listed if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
        if len(numbers) != len(listed):
            raise self._nonsense()
        return tuple(numbers)

    def _bytes(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            raise self._nonsense() from None

    def _chunks(self, entry: Mapping[str, JsonValue], place: _Place) -> Chunks:
        filters = entry.get("filters")
        if not isinstance(filters, list) or filters != [n for n in FILTERS if n in filters]:
            raise self._nonsense()
        names = tuple(name for name in FILTERS if name in filters)
        shape, listed = self._naturals(entry.get("chunk")), self._naturals(entry.get("chunks"))
        if len(shape) != len(place.shape) or 0 in shape or len(listed) % 3:
            raise self._nonsense()
        pieces = list(zip(listed[::3], listed[1::3], listed[2::3], strict=True))
        chunks = Chunks(shape, names, pieces)
        count, held = prod(chunks.grid(place.shape)), sum(listed[1::3])
        size = count * prod(shape) * place.stored.itemsize
        most = max(self._limits.ratio_floor, self._limits.ratio * held)
        if count != len(pieces) or size > min(most, self._limits.total_bytes):
            raise self._nonsense()
        return chunks

    def _check_overlaps(self, places: Iterable[_Place]) -> None:
        """No byte of the file belongs to two arrays."""
        extents = sorted(
            (begin, end, place.path) for place in places for begin, end in place.extents()
            if end > begin
        )  # fmt: skip
        for (_, last, path), (begin, _, other) in pairwise(extents):
            if begin < last:
                raise FormatError(
                    f"arrays {quoted(path)} and {quoted(other)} overlap in the file",
                    who=self._who,
                )

    def attributes(self) -> dict[str, dict[str, Attribute]]:
        """Attributes by path of their owner and by name."""
        listed = self._answer.get("attributes")
        if not isinstance(listed, dict):
            raise self._nonsense()
        read: dict[str, dict[str, Attribute]] = {}
        for path, values in listed.items():
            if not isinstance(values, dict):
                raise self._nonsense()
            read[path] = {name: self._attribute(value) for name, value in values.items()}
        return read

    def _attribute(self, value: JsonValue) -> Attribute:
        if isinstance(value, (str, int, float)):
            return value
        if isinstance(value, list):
            texts = [each for each in value if isinstance(each, str)]
            numbers = [each for each in value if isinstance(each, (int, float))]
            if value and len(texts) == len(value):
                return texts
            if len(numbers) == len(value):
                return numbers
        raise self._nonsense()

    def groups(self) -> tuple[str, ...]:
        """Paths of the groups."""
        listed = self._answer.get("groups")
        if not isinstance(listed, list):
            raise self._nonsense()
        paths = tuple(each for each in listed if isinstance(each, str))
        if len(paths) != len(listed):
            raise self._nonsense()
        return paths
