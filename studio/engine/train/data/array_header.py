"""The header of a NumPy array file, read by a strict grammar: no evaluation, no pickle."""

import re
import struct
from dataclasses import dataclass
from math import prod

import numpy as np

from studio.engine.core.dtypes import NumpyDType
from studio.engine.core.errors import FormatError
from studio.engine.train.data.source_files import DataLimits, ReadsInto, quoted, size_text

MAGIC = b"\x93NUMPY"

_MAX_HEADER = 10_000
_MAX_RANK = 32
_ITEM = re.compile(
    r"\s*(['\"])(?P<key>descr|fortran_order|shape)\1\s*:\s*"
    r"(?:(?P<quote>['\"])(?P<descr>[^'\"\\]{0,40})(?P=quote)|(?P<flag>True|False)"
    r"|\((?P<shape>[-\d\sL,]{0,1000})\)|(?P<open>\[))\s*,?"
)
_DTYPE = re.compile(r"[<>=|]?(?P<kind>[a-zA-Z])(?P<size>\d{0,9})")
_NUMERIC = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_REFUSED = {
    "O": "Python objects (a pickle), which are never loaded",
    "V": "structured records",
    "c": "complex numbers",
    "M": "dates",
    "m": "time differences",
    "S": "byte strings",
}
_MAX_TEXT_CHARS = 1024


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """What a ``.npy`` header declares: dtype (either byte order), shape, order, header bytes."""

    dtype: NumpyDType
    shape: tuple[int, ...]
    fortran_order: bool
    header_bytes: int

    @property
    def data_bytes(self) -> int:
        """Bytes of the array after the header."""
        return prod(self.shape) * self.dtype.itemsize


def read_array_header(stream: ReadsInto, who: str, limits: DataLimits) -> ArrayHeader:
    """Read and check the header at the beginning of ``stream``; allocates nothing for the data.

    Source: the NEP 1 format, versions 1.0 to 3.0.

    Raises:
        FormatError: not an array file, a malformed header, a type that is refused (objects,
            records, complex …), an empty array or one beyond ``limits.array_bytes``.
    """
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC:
        raise FormatError("this is not a NumPy array file", who=who)
    if start[6] not in (1, 2, 3):
        raise FormatError(
            f"unknown array format version: expected 1 to 3, got {start[6]}.{start[7]}", who=who
        )
    width = 2 if start[6] == 1 else 4
    length_bytes = stream.read(width)
    if len(length_bytes) < width:
        raise FormatError("the array header is cut short", who=who)
    length = struct.unpack("<H" if width == 2 else "<I", length_bytes)[0]
    if length > _MAX_HEADER:
        raise FormatError(
            f"the array header is too long: at most {_MAX_HEADER} bytes, got {length}", who=who
        )
    raw = stream.read(length)
    if len(raw) < length:
        raise FormatError("the array header is cut short", who=who)
    dtype, fortran, shape = _parse(raw.decode("utf-8", errors="replace"), who)
    header = ArrayHeader(dtype, shape, fortran, 8 + width + length)
    if 0 in shape or dtype.itemsize == 0:
        raise FormatError(f"the array is empty: its shape is {list(shape)}", who=who)
    if header.data_bytes > limits.array_bytes:
        raise FormatError(
            f"the array is too large: at most {size_text(limits.array_bytes)}, its header declares "
            f"{list(shape)[:8]} of {dtype} ({size_text(header.data_bytes)})",
            who=who,
        )
    return header


def _parse(text: str, who: str) -> tuple[NumpyDType, bool, tuple[int, ...]]:
    body = text.strip()
    malformed = FormatError(f"malformed array header {quoted(body)}", who=who)
    if not (body.startswith("{") and body.endswith("}")):
        raise malformed
    found: dict[str, re.Match[str]] = {}
    position, end = 1, len(body) - 1
    while body[position:end].strip():
        item = _ITEM.match(body, position, end)
        if item is None or item["key"] in found:
            raise malformed
        if item["open"]:
            raise FormatError("arrays of structured records are not data sets", who=who)
        found[item["key"]] = item
        position = item.end()
    descr, flag, shape = (
        found[key][group] if key in found else None
        for key, group in (("descr", "descr"), ("fortran_order", "flag"), ("shape", "shape"))
    )
    if descr is None or flag is None or shape is None:
        raise malformed
    return _dtype(descr, who), flag == "True", _shape(shape, who)


def _dtype(descr: str, who: str) -> NumpyDType:
    match = _DTYPE.fullmatch(descr)
    if match is None:
        raise FormatError(f"unknown element type {quoted(descr)}", who=who)
    kind, size = match["kind"], match["size"]
    if kind in _REFUSED:
        raise FormatError(f"expected numbers, the array holds {_REFUSED[kind]}", who=who)
    is_text = kind == "U" and size and 0 < int(size) <= _MAX_TEXT_CHARS
    if not is_text and kind + size not in _NUMERIC:
        raise FormatError(f"unknown element type {quoted(descr)}", who=who)
    return np.dtype(descr)


def _shape(text: str, who: str) -> tuple[int, ...]:
    parts = [part.strip().removesuffix("L") for part in text.split(",")]
    if parts[-1] == "":
        parts.pop()
    if len(parts) > _MAX_RANK or not all(
        part.isascii() and part.isdigit() and len(part) < 20 for part in parts
    ):
        raise FormatError(f"malformed array shape ({quoted(text)})", who=who)
    return tuple(int(part) for part in parts)
