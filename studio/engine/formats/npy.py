"""One NumPy array in NumPy's own file format, without its pickles and without evaluating anything.

Layout: ``\\x93NUMPY``, version, header length, a Python dictionary literal with the keys descr,
fortran_order and shape, then the elements. The literal is matched, never evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import (
    Array,
    ByteSource,
    FileOrBytes,
    Reader,
    check_axes,
    open_source,
    read_array,
)
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"\x93NUMPY"
_HEADER_BYTES = 4096
_ITEM = re.compile(
    r"\s*'(?P<key>\w{1,16})'\s*:\s*"
    r"(?:'(?P<text>[^'\\]{0,32})'|(?P<flag>True|False)|\((?P<sizes>[\d\s,L]*)\))"
    r"\s*(?:,|(?=\}))"
)
_STRUCTURED = re.compile(r"'descr'\s*:\s*\[")
_PLAIN = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248])")
_TEXT = re.compile(r"[<>|=]?U([1-9]\d{0,8})")


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What a ``.npy`` header declares: dtype (either byte order), order of axes, shape."""

    dtype: np.dtype[np.generic]
    fortran: bool
    shape: tuple[int, ...]

    @property
    def data_bytes(self) -> int:
        """Bytes of the elements."""
        return prod(self.shape) * self.dtype.itemsize


def load_npy(source: FileOrBytes, limits: Limits = DEFAULT_LIMITS) -> Array:
    """The array in a ``.npy`` file, in native byte order.

    Raises FormatError for object, structured and complex arrays, for text unless the limits allow
    it, for a header or data that do not fit one another, and for files beyond the limits.
    """
    with open_source(source, limits, "npy") as opened:
        return read_npy(opened, limits)


def read_npy(reader: Reader, limits: Limits) -> Array:
    """The array that fills the rest of ``reader`` exactly; raises FormatError as `load_npy`."""
    header = read_header(reader, limits)
    if header.data_bytes > limits.total_bytes:
        raise FormatError(
            f"the array is too large: expected at most {limits.total_bytes} bytes, "
            f"got {header.data_bytes}",
            who=reader.who,
        )
    flat = read_array(reader, header.dtype, prod(header.shape), "the array")
    return flat.reshape(header.shape[::-1]).T if header.fortran else flat.reshape(header.shape)


def map_npy(opened: ByteSource, limits: Limits = DEFAULT_LIMITS) -> Array:
    """The array of an opened ``.npy`` file mapped read-only, in the file's byte order.

    Nothing is allocated, so ``total_bytes`` does not apply; the file may be closed afterwards.

    Raises FormatError as `load_npy`, and for arrays that are empty, text, a single number, or in
    Fortran order, whose samples lie scattered.
    """
    header = read_header(opened, limits)
    if header.fortran or not header.shape:
        raise FormatError("a mapped array must be in C order, samples first", who=opened.who)
    if header.data_bytes == 0 or header.dtype.kind == "U":
        raise FormatError("a mapped array must hold numbers, and some of them", who=opened.who)
    return np.memmap(
        opened.file,
        dtype=header.dtype,
        mode="r",
        offset=opened.size - header.data_bytes,
        shape=header.shape,
    )


def read_header(reader: Reader, limits: Limits) -> NpyHeader:
    """The header; what remains of ``reader`` is then exactly the elements it declares."""
    start = reader.read(min(8, reader.remaining))
    if len(start) < 8 or not start.startswith(_MAGIC):
        raise FormatError("not a npy file: it does not begin with \\x93NUMPY", who=reader.who)
    major, minor = start[6], start[7]
    if major not in (1, 2, 3) or minor:
        raise FormatError(
            f"unknown npy version: expected 1.0, 2.0 or 3.0, got {major}.{minor}", who=reader.who
        )
    length = int.from_bytes(reader.read(2 if major == 1 else 4), "little")
    if length > _HEADER_BYTES:
        raise FormatError(
            f"the npy header is too long: expected at most {_HEADER_BYTES} bytes, got {length}",
            who=reader.who,
        )
    text = reader.read(length).decode("latin-1")
    fields = _fields(text, reader.who)
    descr, fortran, sizes = fields["descr"], fields["fortran_order"], fields["shape"]
    if descr["text"] is None or not fortran["flag"] or sizes["sizes"] is None:
        raise FormatError("the npy header is damaged: a field has a wrong type", who=reader.who)
    header = NpyHeader(
        _dtype(descr["text"], reader.who, limits),
        fortran["flag"] == "True",
        _shape(sizes["sizes"], reader.who, limits),
    )
    check_axes(header.shape, header.dtype.itemsize, "the array", reader.who, limits)
    if header.data_bytes != reader.remaining:
        raise FormatError(
            f"the data does not match the shape {quoted(list(header.shape))} of "
            f"{header.dtype.name}: expected {header.data_bytes} bytes, got {reader.remaining}",
            who=reader.who,
        )
    return header


def _fields(text: str, who: str) -> dict[str, dict[str, str | None]]:
    """The three entries of the dictionary literal, each matched once, in any order."""
    body = text.strip()
    fields: dict[str, dict[str, str | None]] = {}
    at = 1
    while body.startswith("{") and (found := _ITEM.match(body, at)):
        key = str(found["key"])
        if key in fields:
            break
        fields[key] = found.groupdict()
        at = found.end()
    if _STRUCTURED.search(body):
        raise FormatError("structured arrays are not supported", who=who)
    if body[at:].strip() != "}" or set(fields) != {"descr", "fortran_order", "shape"}:
        raise FormatError(
            "the npy header is damaged: expected descr, fortran_order and a shape of whole numbers",
            who=who,
        )
    return fields


def _dtype(descr: str, who: str, limits: Limits) -> np.dtype[np.generic]:
    if descr.lstrip("<>|=").startswith("O"):
        raise FormatError(
            "object arrays hold pickled Python code and are never loaded",
            who=who,
            hint="save it again as an array of numbers, for instance with .astype('float32')",
        )
    text = _TEXT.fullmatch(descr)
    is_short_text = text is not None and int(text[1]) <= limits.text_chars
    if not is_short_text and not _PLAIN.fullmatch(descr):
        raise FormatError(
            f"unsupported dtype: expected bool, integers or floats up to 64 bits, "
            f"got {quoted(descr)}",
            who=who,
        )
    return np.dtype(descr)


def _shape(sizes: str, who: str, limits: Limits) -> tuple[int, ...]:
    parts = [part.strip().removesuffix("L") for part in sizes.split(",")]
    if parts and not parts[-1]:
        parts.pop()
    if not all(part.isdecimal() and part.isascii() and len(part) <= 19 for part in parts):
        raise FormatError("the npy header is damaged: the shape is not a tuple of sizes", who=who)
    if len(parts) > limits.rank:
        raise FormatError(
            f"too many axes: expected at most {limits.rank}, got {len(parts)}", who=who
        )
    return tuple(int(part) for part in parts)


def npy_bytes(array: Array, who: str) -> bytes:
    """The array as the content of a ``.npy`` file, as NumPy writes it.

    Raises FormatError for dtypes that `load_npy` does not take.
    """
    if not _PLAIN.fullmatch(array.dtype.str):
        raise FormatError(
            f"unsupported dtype: expected bool, integers or floats up to 64 bits, "
            f"got {array.dtype.name}",
            who=who,
        )
    file = BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def save_npy(path: Path | str, array: Array) -> None:
    """Write one array in one atomic step; raises FormatError if that cannot be done."""
    write_atomic(path, npy_bytes(array, str(path)))
