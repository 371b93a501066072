"""The beginning of an exported file as text: the file itself, or a summary and its first bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import shape_text
from studio.engine.formats import safetensors
from studio.engine.formats.byte_source import Array
from studio.engine.formats.gbi import load_gbi
from studio.engine.formats.npz import load_npz
from studio.engine.isa.program import SECTIONS
from studio.instruction_view.model.quantities import bytes_text, exact_text

LINES = 40
_WIDTH = 200
_HEX_LINES = 8
_HEX = 16
_METADATA_CHARS = 100


@dataclass(frozen=True)
class Preview:
    """The beginning of a file.

    Attributes:
        lines: at most `LINES`.
        total: lines of the whole file where it is text; 0 otherwise.
        nbytes: its length.
        weights: which weights it is of, in a sentence; empty for a picture.
    """

    lines: tuple[str, ...]
    total: int
    nbytes: int
    weights: str = ""

    @property
    def note(self) -> str:
        """How much of it is shown, in a few words."""
        size = bytes_text(self.nbytes)
        if self.total > len(self.lines):
            return f"the first {len(self.lines)} of {exact_text(self.total)} lines, {size}"
        return f"all {self.total} lines, {size}" if self.total else size


def preview_file(path: Path, form: str) -> Preview:
    """The beginning of an exported file; FormatError when it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", who=path.name) from error
    return preview_bytes(content, form)


def preview_bytes(content: bytes, form: str) -> Preview:
    """The beginning of what would be written."""
    if form in ("gbasm", "svg"):
        lines = content.decode("utf-8", "replace").splitlines()
        return Preview(tuple(line[:_WIDTH] for line in lines[:LINES]), len(lines), len(content))
    summary = list(_SUMMARIES[form](content))
    room = LINES - _HEX_LINES - 1
    if len(summary) > room:
        left = len(summary) - room + 1
        summary = [*summary[: room - 1], f"… and {left} more"]
    return Preview((*summary, "", *hex_lines(content, _HEX_LINES)), 0, len(content))


def hex_lines(content: bytes, count: int) -> Iterator[str]:
    """The first bytes as lines of offset, sixteen bytes and their characters."""
    for at in range(0, min(len(content), count * _HEX), _HEX):
        part = content[at : at + _HEX]
        digits = " ".join(f"{byte:02x}" for byte in part)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f"{at:08x}  {digits:<47}  {shown}"


def _of_gbi(content: bytes) -> Iterator[str]:
    found = load_gbi(content)
    program = found.program
    yield f"instruction file, version {struct.unpack_from('<I', content, 8)[0]}"
    yield f"SHA-256 {sha256(content).hexdigest()}"
    yield f"program {program.name!r} for {program.mode}: {len(program)} instructions"
    for name in SECTIONS:
        count = len(program.section(name))
        if count:
            yield f"  {name}: {count}"
    yield f"{len(program.tensors)} tensors"
    yield from _arrays(found.weights, "weights")
    for key, value in program.meta.items():
        yield f"{key}: {value[:_METADATA_CHARS]}"


def _of_safetensors(content: bytes) -> Iterator[str]:
    arrays, metadata = safetensors.load(content)
    yield f"safetensors, header of {struct.unpack_from('<Q', content)[0]} bytes"
    for key, value in metadata.items():
        yield f"{key}: {value[:_METADATA_CHARS]}"
    yield from _arrays(arrays, "arrays")


def _of_npz(content: bytes) -> Iterator[str]:
    yield "zip archive of arrays"
    yield from _arrays(load_npz(content), "arrays")


def _of_png(content: bytes) -> Iterator[str]:
    width, height = struct.unpack_from(">II", content, 16)
    yield f"PNG picture of {width} by {height} pixels"


def _arrays(arrays: Mapping[str, Array], noun: str) -> Iterator[str]:
    if not arrays:
        return
    total = sum(array.nbytes for array in arrays.values())
    yield f"{len(arrays)} {noun}, {bytes_text(total)}"
    for name, array in arrays.items():
        yield f"  {name}  {array.dtype.name}{shape_text(array.shape)}  {bytes_text(array.nbytes)}"


_SUMMARIES = {
    "gbi": _of_gbi,
    "safetensors": _of_safetensors,
    "checkpoint": _of_safetensors,
    "npz": _of_npz,
    "png": _of_png,
}
