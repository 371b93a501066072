"""Turns a driver's compile log into an error at kernel file and line.

Each kernel file has a block of a thousand line numbers in the joined source, since drivers keep
line numbers in their messages but not always the number of the file.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.engine.core.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BLOCK_LINES = 1000
GENERATED = "generated"

_LINE_DIRECTIVE = re.compile(r"^\s*#\s*line\s+(\d+)")

# One pattern per family of drivers, tried in this order on each line of the log. The number before
# the line is the driver's own idea of a file and is left out of everything.
LOG_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "mesa",
        re.compile(
            r"^\d+:(?P<line>\d+)\((?P<column>\d+)\): "
            r"(?:preprocessor )?(?P<severity>error|warning): (?P<text>.*)$"
        ),
    ),
    (
        "nvidia",
        re.compile(
            r"^\d+\((?P<line>\d+)\) ?: (?:fatal )?(?P<severity>error|warning) "
            r"(?P<code>C\d+): (?P<text>.*)$"
        ),
    ),
    (
        "amd",
        re.compile(
            r"^(?P<severity>ERROR|WARNING): \d+:(?P<line>\d+): "
            r"(?:error|warning)\(#(?P<code>\d+)\):? (?P<text>.*)$"
        ),
    ),
    (
        "intel",
        re.compile(
            r"^(?P<severity>ERROR|WARNING): \d+:(?P<line>\d+):(?:(?P<column>\d+):)? (?P<text>.*)$"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the driver.

    Attributes:
        vendor: the family of drivers whose form it has.
        line: the line number the driver gave.
        is_error: False for a warning.
        text: what it says, without position and code.
    """

    vendor: str
    line: int
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line number of the log lies.

    Attributes:
        file: the kernel file, or ``generated``.
        line: the line in that file; of the whole source where it was generated.
        excerpt: the line with its neighbours, numbered, the line itself marked with ``>``.
    """

    file: str
    line: int
    excerpt: str


def parse_log(log: str) -> list[Diagnostic]:
    """All messages of a log that carry a line number, in the driver's order."""
    found = []
    for text in log.replace("\x00", "").splitlines():
        for vendor, pattern in LOG_PATTERNS:
            match = pattern.match(text.strip())
            if match:
                is_error = match["severity"].lower() == "error"
                found.append(Diagnostic(vendor, int(match["line"]), is_error, match["text"]))
                break
    return found


class LineMap:
    """Finds the file and line behind a line number of the joined source.

    Args:
        text: the source as the driver got it, with its ``#line`` directives.
        files: names by block of a thousand line numbers; block 0 is generated text.
    """

    def __init__(self, text: str, files: Sequence[str]) -> None:
        self._lines = text.splitlines()
        self._files = tuple(files)
        self._numbers: list[int] = []
        number = 1
        for line in self._lines:
            self._numbers.append(number)
            directive = _LINE_DIRECTIVE.match(line)
            # From GLSL 3.30 on the directive names the number of the line after it.
            number = int(directive[1]) if directive else number + 1

    def locate(self, number: int) -> Place | None:
        """The place of a line number, None when no line of the source has it."""
        index = self._index_of(number)
        if index is None:
            return None
        block = number // BLOCK_LINES
        if 0 < block < len(self._files):
            start = block * BLOCK_LINES
            return Place(self._files[block], number - start, self._excerpt(index, number - start))
        return Place(GENERATED, index + 1, self._excerpt(index, index + 1))

    def _index_of(self, number: int) -> int | None:
        for index, candidate in enumerate(self._numbers):
            if candidate == number and not _LINE_DIRECTIVE.match(self._lines[index]):
                return index
        return None

    def _excerpt(self, index: int, shown: int) -> str:
        rows = []
        for step in (-1, 0, 1):
            position = index + step
            if 0 <= position < len(self._lines):
                line = self._lines[position]
                if not _LINE_DIRECTIVE.match(line):
                    mark = ">" if step == 0 else " "
                    rows.append(f"{mark} {shown + step:4d} | {line}")
        return "\n".join(rows)


def shader_error(
    log: str,
    *,
    name: str,
    text: str,
    files: Sequence[str],
    instruction: str = "",
    debug_folder: Path | None = None,
    line_offset: int = 0,
) -> ShaderError:
    """The error for a kernel the driver refused.

    Args:
        log: what the driver said.
        name: what the kernel is called.
        text: the source as the driver got it.
        files: file names by block of line numbers.
        instruction: the instruction it was made for, as the listing prints it.
        debug_folder: where to write the whole source; nowhere when None.
        line_offset: what this driver adds to line numbers after ``#line``.
    """
    hints = []
    if debug_folder is not None:
        written = _write_source(debug_folder, name, text)
        hints.append(f"full source in {written}" if written else "")
    errors = [found for found in parse_log(log) if found.is_error]
    if errors:
        first = errors[0]
        place = LineMap(text, files).locate(first.line - line_offset)
        where = f"{place.file}:{place.line}" if place else f"{name}, line {first.line}"
        message = f"{where}: {first.text}"
        if place:
            message = f"{message}\n{place.excerpt}"
        if len(errors) > 1:
            hints.insert(0, f"the first of {len(errors)} errors; the others often follow from it")
    else:
        said = " ".join(log.replace("\x00", "").split()) or "no reason given"
        message = f"{name} was refused by the driver: {said}"
    hint = "; ".join(part for part in hints if part)
    return ShaderError(message, who="gl", origin=instruction, hint=hint)


def _write_source(folder: Path, name: str, text: str) -> str:
    """Write the source for reading; empty when it cannot be written, which must hide no error."""
    stem = re.sub(r"\W+", "_", name) or "kernel"
    path = folder / f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.glsl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError:
        return ""
    return str(path)
