"""``.gbasm``: a program as text that people read and edit; it carries no weights."""

from __future__ import annotations

import shlex
from pathlib import Path

from studio.engine.core.errors import FormatError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import FileOrBytes, open_source
from studio.engine.formats.gbi import MAGIC, ProgramFile, load_gbi
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program


def save_gbasm(path: Path | str, program: Program) -> None:
    """Write a ``.gbasm`` file atomically; FormatError when it cannot be written."""
    write_atomic(path, format_program(program).encode("utf-8"))


def load_gbasm(source: FileOrBytes, limits: Limits = DEFAULT_LIMITS) -> Program:
    """Read a ``.gbasm`` file; FormatError with the line number for anything that is not its form.

    The text may be as long as the cap on JSON texts.
    """
    with open_source(source, limits, ".gbasm") as opened:
        head = opened.read(min(len(MAGIC), opened.size))
        if head == MAGIC:
            raise FormatError(
                "this is a binary instruction file (.gbi), not a listing",
                who=opened.who,
                hint=_as_listing(source),
            )
        if opened.size > limits.json_bytes:
            raise FormatError(
                f"expected at most {limits.json_bytes} bytes of text, got {opened.size}",
                who=opened.who,
            )
        data = head + opened.read(opened.size - len(head))
        who = opened.who
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text at byte {error.start}", who=who) from None
    return parse_program(text.replace("\r\n", "\n"), who)


def _as_listing(source: FileOrBytes) -> str:
    """What to type to make a listing of an instruction file."""
    if isinstance(source, bytes):
        return "read it as .gbi"
    path = Path(source)
    return f"glassbox dis {shlex.quote(str(path))} {shlex.quote(path.stem + '.gbasm')}"


def load_program_file(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> ProgramFile:
    """Read an instruction file of either form, told apart by its first bytes."""
    with open_source(path, limits, ".gbi") as opened:
        head = opened.read(min(len(MAGIC), opened.size))
    if head == MAGIC:
        return load_gbi(path, limits)
    return ProgramFile(load_gbasm(path, limits), {})
