"""The process that alone opens HDF5 files of unknown origin: says what is in them, or refuses.

Damaged files crash and hang the HDF5 library, and make it take memory without bound. So only this
process loads it, under limits of the system where there are any. It answers requests, one line of
JSON each, until its input ends. It hands out no bytes of arrays, only where they lie, and writes
nothing but its answers.

    request: {path, offset, length, seconds, memory, limits}
    answer: {file, arrays: [{path, type, shape, …}], attributes, groups}, or {error, hint}

``file`` are numbers by which the asker knows that both opened the same file. An array has an
``offset`` where it lies in one piece; ``data`` in base64 where it lies in a header, being small;
else the shape of a ``chunk``, the ``filters`` that packed it, and ``chunks``: offset, size and mask
of filters left out, for each in the order of the grid they form.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5p, h5s, h5t, h5z

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import JsonValue

if TYPE_CHECKING:
    from collections.abc import Mapping

IDLE_SECONDS = 60.0
"""After which a process without work ends itself, where the system can do that."""
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DEPTH = 64
_ATTRIBUTES = 100_000
_CHUNKS = 200_000
_HEADER_BYTES = 1 << 16
"""The most a header can hold."""
_FILTERS = {h5z.FILTER_SHUFFLE: "shuffle", h5z.FILTER_DEFLATE: "deflate",
            h5z.FILTER_FLETCHER32: "fletcher32"}  # fmt: skip
"""In the only order in which they are known."""
_TYPES = {f"{kind}{size}" for kind, sizes in (("i", "1248"), ("u", "1248"), ("f", "248"))
          for size in sizes}  # fmt: skip


class Window(RawIOBase):
    """A part of a file as a file of its own, to be read only.

    Args:
        file: the whole file.
        offset: where the part begins.
        length: bytes of it.
    """

    def __init__(self, file: BinaryIO, offset: int, length: int) -> None:
        super().__init__()
        self._file = file
        self._offset = offset
        self._length = length
        self._at = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The place in the part."""
        return self._at

    def seek(self, place: int, whence: int = SEEK_SET, /) -> int:
        """Go on reading at a place, which may lie behind the end."""
        self._at = {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._length}[whence] + place
        return self._at

    def readinto(self, target: Any, /) -> int:
        """Fill ``target`` as far as the part goes; how many bytes that were."""
        view = memoryview(target).cast("B")
        count = max(0, min(len(view), self._length - self._at))
        self._file.seek(self._offset + self._at)
        done = self._file.readinto(view[:count])  # type: ignore[attr-defined]
        self._at += done
        return int(done)


@dataclass
class _Found:
    """What was found in a file so far."""

    arrays: list[dict[str, JsonValue]] = field(default_factory=list)
    attributes: dict[str, JsonValue] = field(default_factory=dict)
    groups: list[JsonValue] = field(default_factory=list)
    total: int = 0
    chunks: int = 0
    attribute_bytes: int = 0
    attribute_count: int = 0


class Hdf5Description:
    """Walks through an open file and describes it; nothing is followed that leaves it.

    Args:
        file: the file.
        length: bytes of it.
        limits: caps on what may be in it.
    """

    def __init__(self, file: h5f.FileID, length: int, limits: Limits) -> None:
        self._file = file
        self._length = length
        self._limits = limits
        self._found = _Found()
        self._seen: dict[int, str] = {}

    def describe(self) -> dict[str, JsonValue]:
        """Arrays, attributes and groups.

        Raises:
            FormatError: something in it is not read here, or beyond the limits.
        """
        if self._file.get_create_plist().get_userblock():
            raise FormatError("foreign data comes before the HDF5 data")
        root = h5g.open(self._file, b"/")
        self._seen[h5o.get_info(root).addr] = "/"
        todo: list[tuple[str, int, h5g.GroupID]] = [("", 0, root)]
        while todo:
            path, depth, group = todo.pop()
            self._found.groups.append(path)
            self._read_attributes(path, group)
            names: list[bytes] = list(group)
            if len(self._seen) + len(names) > 2 * self._limits.tensors + self._limits.members:
                raise FormatError(f"too many objects: expected at most "
                                  f"{2 * self._limits.tensors + self._limits.members}")  # fmt: skip
            if names and depth >= _DEPTH:
                raise FormatError(f"groups are nested too deeply: expected at most {_DEPTH} levels")
            inner = []
            for raw in names:
                name = self._name(raw)
                below = f"{path}/{name}" if path else name
                self._check_link(group, raw, below)
                opened = h5o.open(group, raw)
                if isinstance(opened, h5g.GroupID):
                    inner.append((below, depth + 1, opened))
                elif isinstance(opened, h5d.DatasetID):
                    self._read_array(below, opened)
                else:
                    raise FormatError(f"{quoted(below)} is neither a group nor an array")
            todo.extend(reversed(inner))
        found = self._found
        return {"arrays": list(found.arrays), "attributes": found.attributes,
                "groups": found.groups}  # fmt: skip

    def _name(self, raw: bytes) -> str:
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatError(f"the name {quoted(raw)} is not valid UTF-8") from None
        if not 0 < len(name) <= self._limits.name_chars:
            raise FormatError(f"a name is too long: expected 1 to {self._limits.name_chars} "
                              f"characters, got {len(name)}")  # fmt: skip
        if name in (".", "..") or "/" in name:
            raise FormatError(f"the name {quoted(name)} is a path")
        return name

    def _check_link(self, group: h5g.GroupID, raw: bytes, path: str) -> None:
        """Refuse what leads out of the file or to what was there before."""
        kind = group.links.get_info(raw).type
        if kind != h5l.TYPE_HARD:
            what = {h5l.TYPE_SOFT: "a soft link", h5l.TYPE_EXTERNAL: "a link to another file"}
            raise FormatError(
                f"{quoted(path)} is {what.get(kind, 'an unknown link')}, which is never followed"
            )
        place = h5o.get_info(group, raw).addr
        if place in self._seen:
            raise FormatError(f"{quoted(path)} and {quoted(self._seen[place])} are the same object")
        self._seen[place] = path

    def _read_array(self, path: str, data: h5d.DatasetID) -> None:
        label, limits = quoted(path), self._limits
        if len(self._found.arrays) >= limits.tensors:
            raise FormatError(f"too many arrays: expected at most {limits.tensors}")
        self._read_attributes(path, data)
        space = data.get_space()
        if space.get_simple_extent_type() == h5s.NULL:
            raise FormatError(f"array {label} has no shape")
        shape: tuple[int, ...] = tuple(int(n) for n in space.get_simple_extent_dims())
        if len(shape) > limits.rank:
            raise FormatError(
                f"array {label} has too many axes: expected at most {limits.rank}, got {len(shape)}"
            )
        kind, stored = self._kind(path, data)
        size = prod(shape) * stored.itemsize
        self._found.total += size * (2 if kind == "bfloat16" else 1)
        if self._found.total > limits.total_bytes:
            raise FormatError(f"the arrays are too large: expected at most {limits.total_bytes} "
                              f"bytes, {label} makes it {self._found.total}")  # fmt: skip
        place: dict[str, JsonValue] = {"offset": 0}
        if size:
            place = self._place(label, data, shape, stored.itemsize)
        self._found.arrays.append({"path": path, "type": kind, "shape": list(shape), **place})

    def _kind(self, path: str, data: h5d.DatasetID) -> tuple[str, np.dtype[Any]]:
        """Name of the type of an array's elements, and the type as NumPy has it."""
        stored: h5t.TypeID = data.get_type()
        label = quoted(path)
        try:
            dtype = np.dtype(stored.dtype)
        except (TypeError, ValueError, RuntimeError):
            raise _not_numbers(label, stored) from None
        if isinstance(stored, h5t.TypeOpaqueID) and stored.get_size() == 2:
            if self._attributes_of(path).get("dtype") == "bfloat16":
                return "bfloat16", np.dtype("V2")
            raise FormatError(f"array {label} holds bytes of an unknown meaning")
        kind = f"{dtype.kind}{dtype.itemsize}"
        # The type NumPy has must be the one in the file bit by bit, as bytes are read without HDF5.
        if dtype == np.bool_ and stored.equal(h5t.py_create(dtype)):
            return "bool", dtype
        plain = isinstance(stored, (h5t.TypeIntegerID, h5t.TypeFloatID)) and kind in _TYPES
        if not plain or not stored.equal(h5t.py_create(dtype)):
            raise _not_numbers(label, stored)
        big = dtype.newbyteorder(">") == dtype and dtype.itemsize > 1
        return f"{'>' if big else '<'}{kind}", dtype

    def _attributes_of(self, path: str) -> Mapping[str, JsonValue]:
        found = self._found.attributes.get(path)
        return found if isinstance(found, dict) else {}

    def _place(
        self, label: str, data: h5d.DatasetID, shape: tuple[int, ...], itemsize: int
    ) -> dict[str, JsonValue]:
        """Where the bytes of an array are."""
        size, made = prod(shape) * itemsize, data.get_create_plist()
        layout = made.get_layout()
        if layout == h5d.VIRTUAL or made.get_external_count():
            raise FormatError(f"array {label} lies in another file, which is never opened")
        if layout == h5d.CONTIGUOUS:
            place: int | None = data.get_offset()
            if place is None or data.get_storage_size() != size:
                raise _unwritten(label)
            if not 0 <= place <= self._length - size:
                raise FormatError(f"array {label} is cut off: it needs {size} bytes at {place}, "
                                  f"the file has {self._length}")  # fmt: skip
            return {"offset": place}
        if layout == h5d.CHUNKED:
            return self._chunks(label, data, shape, itemsize)
        if layout != h5d.COMPACT or not data.get_storage_size() == size <= _HEADER_BYTES:
            raise FormatError(f"array {label} has an unknown layout")
        target = np.empty(shape, data.dtype)
        data.read(h5s.ALL, h5s.ALL, target)
        return {"data": base64.b64encode(target.tobytes()).decode("ascii")}

    def _chunks(
        self, label: str, data: h5d.DatasetID, shape: tuple[int, ...], itemsize: int
    ) -> dict[str, JsonValue]:
        """Where the chunks of an array are; every one must be there."""
        made, limits = data.get_create_plist(), self._limits
        chunk: tuple[int, ...] = made.get_chunk()
        grid = [-(-n // c) for n, c in zip(shape, chunk, strict=True)]
        count = prod(grid)
        held: int = data.get_storage_size()
        size = count * prod(chunk) * itemsize
        if not held:
            raise _unwritten(label)
        most = min(limits.total_bytes, max(limits.ratio_floor, limits.ratio * held))
        if held > self._length or size > most:
            raise FormatError(f"array {label} unpacks to {size} bytes from {held}: "
                              f"expected at most {most}")  # fmt: skip
        self._found.chunks += count
        if self._found.chunks > _CHUNKS:
            raise FormatError(f"the arrays have too many chunks: expected at most {_CHUNKS}")
        places: dict[int, tuple[int, int, int]] = {}

        def note(info: h5d.StoreInfo) -> None:
            at = _index(info.chunk_offset, chunk, grid)
            places[at] = (info.byte_offset, info.size, info.filter_mask)

        data.chunk_iter(note)
        if sorted(places) != list(range(count)):
            raise _unwritten(label)
        return {
            "chunk": list(chunk),
            "filters": self._filters(label, made, itemsize),
            "chunks": [number for index in range(count) for number in places[index]],
        }

    def _filters(self, label: str, made: h5p.PropDCID, itemsize: int) -> list[JsonValue]:
        """Names of what packed the chunks of an array, in the order it was done."""
        names: list[JsonValue] = []
        for index in range(made.get_nfilters()):
            code, _, values, _ = made.get_filter(index)
            name = _FILTERS.get(code)
            if name is None:
                raise FormatError(
                    f"array {label} is packed by an unsupported filter ({code})",
                    hint="save it again without compression or with gzip",
                )
            if name == "shuffle" and values[:1] != (itemsize,):
                raise FormatError(f"array {label} is damaged: its bytes are shuffled in a wrong "
                                  f"way")  # fmt: skip
            names.append(name)
        if names != [name for name in _FILTERS.values() if name in names]:
            raise FormatError(f"array {label} is packed by filters in an unknown order")
        return names

    def _read_attributes(self, path: str, owner: h5g.GroupID | h5d.DatasetID) -> None:
        """Keep the attributes of a group or array."""
        read: dict[str, JsonValue] = {}
        for index in range(h5a.get_num_attrs(owner)):
            found = h5a.open(owner, index=index)
            name = self._name(found.name)
            label = f"attribute {quoted(name)} of {quoted(path or '/')}"
            value = self._attribute(found, label)
            if name in read:
                raise FormatError(f"{label} is there twice")
            read[name] = value
            self._found.attribute_count += 1 + (len(value) if isinstance(value, list) else 0)
            if self._found.attribute_count > _ATTRIBUTES:
                raise FormatError(f"too many attributes: expected at most {_ATTRIBUTES} values")
        if read:
            self._found.attributes[path] = read

    def _attribute(self, found: h5a.AttrID, label: str) -> JsonValue:
        stored, space = found.get_type(), found.get_space()
        shape: tuple[int, ...] = found.shape or ()
        is_null = space.get_simple_extent_type() == h5s.NULL
        if is_null or not isinstance(
            stored, (h5t.TypeStringID, h5t.TypeIntegerID, h5t.TypeFloatID, h5t.TypeEnumID)
        ):
            what = "nothing" if is_null else _type_name(stored)
            raise FormatError(f"{label} must hold text or numbers, got {what}")
        self._count_bytes(prod(shape) * stored.get_size(), label)
        if len(shape) > 1:
            raise FormatError(f"{label} must be one value or a list, got {len(shape)} axes")
        if isinstance(stored, h5t.TypeStringID):
            return self._texts(found, shape, label)
        dtype = np.dtype(stored.dtype)
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise FormatError(f"{label} must hold text or numbers, got {_type_name(stored)}")
        target = np.empty(shape, dtype)
        found.read(target)
        if dtype.kind == "f" and not np.isfinite(target).all():
            raise FormatError(f"{label} is no finite number")
        values: JsonValue = target.tolist()
        return values

    def _texts(self, found: h5a.AttrID, shape: tuple[int, ...], label: str) -> JsonValue:
        """The text of an attribute, or its list of texts."""
        dtype = np.dtype(found.dtype)
        target = np.empty(shape, dtype)
        found.read(target)
        texts: list[JsonValue] = []
        for each in target.reshape(-1).tolist():
            raw = each if isinstance(each, bytes) else str(each or "").encode("utf-8", "replace")
            if dtype.kind == "O":
                self._count_bytes(len(raw), label)
            try:
                texts.append(raw.decode("utf-8"))
            except UnicodeDecodeError:
                raise FormatError(f"{label} is not valid UTF-8") from None
        return texts if shape else texts[0]

    def _count_bytes(self, size: int, label: str) -> None:
        self._found.attribute_bytes += size
        # Quotes and control codes take up to six bytes in the answer, which has the same cap.
        if self._found.attribute_bytes > self._limits.json_bytes // 2:
            raise FormatError(
                f"the attributes are too large: expected at most "
                f"{self._limits.json_bytes // 2} bytes, with {label} it is "
                f"{self._found.attribute_bytes}"
            )


def _index(offset: tuple[int, ...], chunk: tuple[int, ...], grid: list[int]) -> int:
    """The place of a chunk in the order of its grid; -1 outside."""
    at = 0
    for place, step, count in zip(offset, chunk, grid, strict=True):
        if place % step or not 0 <= place // step < count:
            return -1
        at = at * count + place // step
    return at


def _unwritten(label: str) -> FormatError:
    return FormatError(f"array {label} was never written, or only in part")


def _not_numbers(label: str, stored: h5t.TypeID) -> FormatError:
    return FormatError(
        f"array {label} must hold numbers of 8 to 64 bits or bools, got {_type_name(stored)}"
    )


def _type_name(stored: h5t.TypeID) -> str:
    names = {h5t.STRING: "text", h5t.COMPOUND: "records", h5t.REFERENCE: "references",
             h5t.ENUM: "names of values", h5t.VLEN: "lists", h5t.ARRAY: "arrays",
             h5t.OPAQUE: "bytes of an unknown meaning", h5t.BITFIELD: "bits",
             h5t.INTEGER: "integers of another form", h5t.FLOAT: "floats of another form",
             h5t.TIME: "times"}  # fmt: skip
    return names.get(stored.get_class(), "another type")


def _first_line(error: BaseException) -> str:
    """What the library says, in short."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line if len(line) <= 160 else f"{line[:157]}..."


def describe(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Answer a request.

    Raises:
        FormatError: the file is refused.
    """
    limits = Limits(**request["limits"])
    offset, length = int(request["offset"]), int(request["length"])
    with Path(request["path"]).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if status.st_size < offset + length:
            raise FormatError("the file shrank while it was read")
        window = Window(file, offset, length)
        try:
            opened = h5py.File(window, "r")
        except (OSError, RuntimeError, ValueError) as error:
            raise FormatError(f"not a whole HDF5 file: {_first_line(error)}") from None
        with opened:
            found = Hdf5Description(opened.id, length, limits).describe()
    identity: list[JsonValue] = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return {"file": [str(each) for each in identity], **found}


def reply(request: Mapping[str, Any]) -> dict[str, JsonValue]:
    """The answer to a request, or why there is none; never raises for what a file holds."""
    try:
        return describe(request)
    except FormatError as error:
        return {"error": error.message, "hint": error.hint}
    except MemoryError:
        return {"error": f"reading it takes more than {int(request['memory']) >> 20} MiB of memory"}
    except Exception as error:
        # The library raises errors of nearly every kind for damaged files.
        return {"error": f"the HDF5 data is damaged: {_first_line(error)}"}


def _own_bytes() -> int:
    """Address space this process has; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return pages * int(os.sysconf("SC_PAGE_SIZE"))
    return 0


def _restrict(seconds: float, memory: int) -> None:
    """Limits of the system for what comes next, where it has any.

    Args:
        seconds: of processor time from now on.
        memory: bytes of address space in all; 0 for no limit.
    """
    if sys.platform == "win32":
        return
    import resource

    def limit(what: int, most: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))

    used = resource.getrusage(resource.RUSAGE_SELF)
    # The limit counts whole seconds, the timer less than that.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    if memory:
        limit(resource.RLIMIT_AS, memory)


def _next_line() -> bytes:
    """The next request; ends the process where none comes for a while."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, IDLE_SECONDS)
    line = sys.stdin.buffer.readline()
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, 0)
    return line


def _rest() -> None:
    """Count no more processor time, of which a little passes until the next request is there."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> NoReturn:
    """Answer requests until there are no more."""
    # Who presses Ctrl-C in a terminal means the process that asks, which ends this one if it likes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own = _own_bytes()
    while line := _next_line():
        request = json.loads(line)
        _restrict(request["seconds"], own + request["memory"] if own else 0)
        answer = json.dumps(reply(request), separators=(",", ":"))
        sys.stdout.buffer.write(answer.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()
        _rest()
    sys.exit(0)


if __name__ == "__main__":
    main()
