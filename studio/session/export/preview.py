"""The beginning of an exported file as text: the file itself, or a summary and its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import shape_text
from studio.engine.interop.file_format import Array, FileFormat
from studio.session.core.quantities import bytes_text, exact_text

LINES = 40
LARGEST = 512 << 20
"""Bytes of a file that is read as a whole; of a larger one only the beginning is shown."""
_WIDTH = 200
_HEX_LINES = 8
_HEX = 16
_FILES = 10
"""Of a folder's files so many are listed."""

Summary: TypeAlias = Callable[[bytes], Iterator[str | Mapping[str, Array]]]
"""Sums a file's content up; a mapping stands for the list of its arrays."""


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


def preview_file(path: Path, form: FileFormat) -> Preview:
    """The beginning of an exported file; FormatError when it cannot be read.

    Of a folder, its files and the beginning of the one that stands for them.
    """
    if path.is_dir():
        return _preview_folder(path, form)
    try:
        nbytes = path.stat().st_size
        with path.open("rb") as file:
            content = file.read(_HEX_LINES * _HEX if nbytes > LARGEST else -1)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", who=path.name) from error
    if nbytes > LARGEST:
        lines = (form.title, "too large to summarise", "", *hex_lines(content, _HEX_LINES))
        return Preview(lines, 0, nbytes)
    if form.is_text:
        return text_preview(content)
    noun = "weights" if form.holds == "program" else "arrays"
    return binary_preview(content, form.summary, noun)


def _preview_folder(path: Path, form: FileFormat) -> Preview:
    sizes = {each.name: each.stat().st_size for each in sorted(path.iterdir())}
    main = next(name for name in sizes if fnmatchcase(name, form.files[0]))
    shown = preview_file(path / main, form)
    files = [f"{name}  {bytes_text(size)}" for name, size in sizes.items()]
    if len(files) > _FILES:
        files[_FILES - 1 :] = [f"… and {len(files) - _FILES + 1} more files"]
    lines = (*files, "", *shown.lines)
    return Preview(lines[:LINES], 0, sum(sizes.values()))


def text_preview(content: bytes) -> Preview:
    """The first lines of a text."""
    lines = content.decode("utf-8", "replace").splitlines()
    return Preview(tuple(line[:_WIDTH] for line in lines[:LINES]), len(lines), len(content))


def binary_preview(content: bytes, summary: Summary, noun: str = "arrays") -> Preview:
    """A summary of a file, and its first bytes."""
    lines = list(_lines(summary(content), noun))
    room = LINES - _HEX_LINES - 1
    if len(lines) > room:
        left = len(lines) - room + 1
        lines = [*lines[: room - 1], f"… and {left} more"]
    return Preview((*lines, "", *hex_lines(content, _HEX_LINES)), 0, len(content))


def hex_lines(content: bytes, count: int) -> Iterator[str]:
    """The first bytes as lines of offset, sixteen bytes and their characters."""
    for at in range(0, min(len(content), count * _HEX), _HEX):
        part = content[at : at + _HEX]
        digits = " ".join(f"{byte:02x}" for byte in part)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f"{at:08x}  {digits:<47}  {shown}"


def _lines(summary: Iterator[str | Mapping[str, Array]], noun: str) -> Iterator[str]:
    for part in summary:
        if isinstance(part, str):
            yield part[:_WIDTH]
        else:
            yield from _arrays(part, noun)


def _arrays(arrays: Mapping[str, Array], noun: str) -> Iterator[str]:
    if not arrays:
        return
    total = sum(array.nbytes for array in arrays.values())
    yield f"{len(arrays)} {noun}, {bytes_text(total)}"
    for name, array in arrays.items():
        yield f"  {name}  {array.dtype.name}{shape_text(array.shape)}  {bytes_text(array.nbytes)}"
