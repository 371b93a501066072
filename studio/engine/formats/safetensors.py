"""The safetensors format: named arrays behind a checked JSON header, nothing executable.

Layout: header length as u64 little-endian, a JSON object ``{name: {dtype, shape, data_offsets}}``
padded with spaces to a multiple of 8, then the tensors' bytes, row-major and little-endian, which
the offsets tile without gap or overlap. ``__metadata__`` maps strings to strings. What is written
here is, byte for byte, what the reference library writes (metadata in sorted order).
"""

from __future__ import annotations

import json
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import (
    Array,
    ByteSource,
    FileOrBytes,
    check_axes,
    open_source,
    read_array,
)
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.formats.safe_json import JsonValue, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_METADATA = "__metadata__"
_RANKED = (
    "BOOL",
    "U8",
    "I8",
    "I16",
    "U16",
    "F16",
    "BF16",
    "I32",
    "U32",
    "F32",
    "F64",
    "I64",
    "U64",
)
"""Names in the library's own order; tensors of a later type are written first."""
_NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2", "BF16": "<u2",
    "I32": "<i4", "U32": "<u4", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8",
}  # fmt: skip
_NAMES = {np.dtype(code).newbyteorder("="): n for n, code in _NUMPY.items() if n != "BF16"}


class _Entry(NamedTuple):
    begin: int
    end: int
    name: str
    dtype: str
    shape: tuple[int, ...]


def load(
    source: FileOrBytes, limits: Limits = DEFAULT_LIMITS
) -> tuple[dict[str, Array], dict[str, str]]:
    """The tensors of a file, in the order of their bytes, and its metadata.

    bfloat16 tensors come as float32 of the same value. Beside the arrays no more memory is used
    than the header needs. Raises FormatError for anything that breaks the format or a limit.
    """
    with open_source(source, limits, "safetensors") as opened:
        entries, metadata = _read_entries(opened, limits)
        return {entry.name: _read_tensor(entry, opened) for entry in entries}, metadata


def load_names(
    source: FileOrBytes, limits: Limits = DEFAULT_LIMITS
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of the tensors and the metadata, without reading the tensors.

    Checks what `load` checks: a file that is too short is refused here as well.
    """
    with open_source(source, limits, "safetensors") as opened:
        entries, metadata = _read_entries(opened, limits)
        return tuple(entry.name for entry in entries), metadata


def _read_entries(opened: ByteSource, limits: Limits) -> tuple[list[_Entry], dict[str, str]]:
    """The tensors in the order of their bytes, and the metadata; stands at the data afterwards."""
    header = _read_header(opened, limits)
    metadata = _metadata(header.pop(_METADATA, {}), opened.who)
    if len(header) > limits.tensors:
        raise FormatError(
            f"too many tensors: expected at most {limits.tensors}, got {len(header)}",
            who=opened.who,
        )
    entries = [_entry(name, value, opened.who, limits) for name, value in header.items()]
    entries.sort()
    _check_tiling(entries, opened, limits)
    return entries, metadata


def _read_header(opened: ByteSource, limits: Limits) -> dict[str, JsonValue]:
    if opened.size < 8:
        raise FormatError(
            f"not a safetensors file: expected at least 8 bytes, got {opened.size}", who=opened.who
        )
    length = int.from_bytes(opened.read(8), "little")
    if length > min(limits.header_bytes, opened.remaining):
        raise FormatError(
            f"the header does not fit: expected at most "
            f"{min(limits.header_bytes, opened.remaining)} bytes, got {length}",
            who=opened.who,
        )
    data = opened.read(length)
    if not data.startswith(b"{"):
        raise FormatError("not a safetensors file: the header must begin with {", who=opened.who)
    header = parse_json(data, opened.who, limits)
    if not isinstance(header, dict):
        raise FormatError("the header must be a JSON object", who=opened.who)
    return header


def _metadata(value: JsonValue, who: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise FormatError(f"{_METADATA} must be an object of strings", who=who)
    result: dict[str, str] = {}
    for key, text in value.items():
        if not isinstance(text, str):
            raise FormatError(f"{_METADATA} must hold strings only, key {quoted(key)}", who=who)
        result[key] = text
    return result


def _entry(name: str, value: JsonValue, who: str, limits: Limits) -> _Entry:
    if len(name) > limits.name_chars:
        raise FormatError(
            f"tensor name too long: expected at most {limits.name_chars} characters, "
            f"got {len(name)}",
            who=who,
        )
    label = quoted(name)
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise FormatError(
            f"tensor {label} must state exactly dtype, shape and data_offsets", who=who
        )
    dtype = value["dtype"]
    if not isinstance(dtype, str) or dtype not in _NUMPY:
        raise FormatError(
            f"tensor {label} has a dtype that is not supported: expected one of "
            f"{', '.join(_RANKED)}, got {quoted(dtype)}",
            who=who,
        )
    shape = _naturals(value["shape"], f"the shape of {label}", who)
    offsets = _naturals(value["data_offsets"], f"the data_offsets of {label}", who)
    if len(shape) > limits.rank or len(offsets) != 2:
        raise FormatError(
            f"tensor {label} must have at most {limits.rank} axes and 2 data_offsets, "
            f"got {len(shape)} and {len(offsets)}",
            who=who,
        )
    begin, end = offsets
    itemsize = np.dtype(_NUMPY[dtype]).itemsize
    # bfloat16 doubles when it is loaded.
    check_axes(shape, 2 * itemsize, f"tensor {label}", who, limits)
    size = prod(shape) * itemsize
    if end - begin != size:
        raise FormatError(
            f"tensor {label} has a shape that contradicts its data_offsets: "
            f"expected {size} bytes, got {end - begin}",
            who=who,
        )
    return _Entry(begin, end, name, dtype, shape)


def _naturals(value: JsonValue, what: str, who: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise FormatError(f"{what} must be a list of numbers", who=who)
    numbers: list[int] = []
    for each in value:
        if not isinstance(each, int) or isinstance(each, bool) or each < 0:
            raise FormatError(
                f"{what} must hold whole numbers from 0 up, got {quoted(each)}", who=who
            )
        numbers.append(each)
    return tuple(numbers)


def _check_tiling(entries: list[_Entry], opened: ByteSource, limits: Limits) -> None:
    """Each byte of the data belongs to one tensor; ``entries`` come sorted by their offsets."""
    position = 0
    for entry in entries:
        if entry.begin != position:
            fault = (
                "overlaps the one before" if entry.begin < position else "leaves a gap before it"
            )
            raise FormatError(
                f"tensor {quoted(entry.name)} {fault}: expected offset {position}, "
                f"got {entry.begin}",
                who=opened.who,
            )
        position = entry.end
    if position != opened.remaining:
        raise FormatError(
            f"the data does not match the header: expected {position} bytes, "
            f"got {opened.remaining}",
            who=opened.who,
        )
    total = sum((e.end - e.begin) * (2 if e.dtype == "BF16" else 1) for e in entries)
    if total > limits.total_bytes:
        raise FormatError(
            f"the tensors are too large: expected at most {limits.total_bytes} bytes, got {total}",
            who=opened.who,
        )


def _read_tensor(entry: _Entry, opened: ByteSource) -> Array:
    flat = read_array(
        opened, np.dtype(_NUMPY[entry.dtype]), prod(entry.shape), f"tensor {quoted(entry.name)}"
    )
    if entry.dtype == "BF16":
        flat = (flat.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return flat.reshape(entry.shape)


def save(
    path: Path | str, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None
) -> None:
    """Write the tensors to ``path`` in one atomic step.

    Raises FormatError for a dtype the format has no name for, a reserved name, or a failed write.
    """
    header, order = _plan(tensors, metadata or {}, str(path))
    write_atomic(path, lambda file: _write(file, header, [tensors[name] for name in order]))


def to_bytes(tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes that `save` would write."""
    header, order = _plan(tensors, metadata or {}, "safetensors data")
    file = BytesIO()
    _write(file, header, [tensors[name] for name in order])
    return file.getvalue()


def _plan(
    tensors: Mapping[str, Array], metadata: Mapping[str, str], who: str
) -> tuple[bytes, list[str]]:
    """The padded header and the names in the order of the data."""
    kinds: dict[str, str] = {}
    for name, array in tensors.items():
        kind = _NAMES.get(array.dtype.newbyteorder("="))
        if kind is None or name == _METADATA:
            raise FormatError(
                f"tensor {quoted(name)} cannot be written: expected a bool, integer or float dtype "
                f"and a name other than {_METADATA}, got {array.dtype}",
                who=who,
            )
        kinds[name] = kind
    order = sorted(kinds, key=lambda name: (-_RANKED.index(kinds[name]), name))
    header: dict[str, JsonValue] = {}
    if metadata:
        header[_METADATA] = {key: metadata[key] for key in sorted(metadata)}
    begin = 0
    for name in order:
        end = begin + tensors[name].nbytes
        header[name] = {
            "dtype": kinds[name],
            "shape": list(tensors[name].shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"names must be valid text: {error.reason}", who=who) from error
    return data + b" " * (-len(data) % 8), order


def _write(file: BinaryIO, header: bytes, arrays: list[Array]) -> None:
    file.write(len(header).to_bytes(8, "little"))
    file.write(header)
    for array in arrays:
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        file.write(np.ascontiguousarray(little).tobytes() if little.ndim == 0 else little.data)
