"""Two programs side by side: tensors and instructions aligned line by line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.isa.line import format_line
from studio.engine.isa.program import SECTIONS, Program
from studio.engine.isa.text import format_tensor

Change: TypeAlias = Literal["same", "removed", "added", "changed", "gap", "title"]

CONTEXT = 2
"""Unchanged lines kept round each change when the rest is hidden."""


class Side(NamedTuple):
    """One line of one program.

    Attributes:
        text: as the compiler prints it.
        owners: layers it came from; the layer whose port it is for a tensor.
        row: running index of an instruction, -1 for a tensor.
        name: a tensor's name, a mnemonic.
        part: its section; ``tensor map`` for a tensor.
    """

    text: str
    owners: tuple[str, ...]
    row: int
    name: str
    part: str


class DiffLine(NamedTuple):
    """One aligned line.

    Attributes:
        change: how it differs; ``gap`` stands for hidden lines, ``title`` begins a section, which
            comes again where sections alternate.
        before: the line before, None for an added one.
        after: the line after, None for a removed one.
        text: of a title; how many lines a gap hides.
    """

    change: Change
    before: Side | None = None
    after: Side | None = None
    text: str = ""


def program_diff(before: Program, after: Program) -> tuple[DiffLine, ...]:
    """Align two programs; empty where they are equal.

    Sections without a difference are left out, unless sections alternate in one of the programs.
    """
    found: list[DiffLine] = []
    for old, new in _parts(before, after):
        if [(s.part, s.text) for s in old] == [(s.part, s.text) for s in new]:
            continue
        title = ""
        for line in _aligned(old, new):
            part = next(side.part for side in (line.after, line.before) if side is not None)
            if part != title:
                title = part
                found.append(DiffLine("title", text=title))
            found.append(line)
    return tuple(found)


def hide_unchanged(lines: Sequence[DiffLine], context: int = CONTEXT) -> tuple[DiffLine, ...]:
    """The changes with a few lines round each, longer stretches between them as a gap."""
    shown = [False] * len(lines)
    for place, line in enumerate(lines):
        if line.change not in ("same", "title"):
            shown[max(place - context, 0) : place + context + 1] = [True] * (
                min(place + context + 1, len(lines)) - max(place - context, 0)
            )
    title = 0
    for place, line in enumerate(lines):
        if line.change == "title":
            title, shown[place] = place, False
        elif shown[place]:
            shown[title] = True
    found: list[DiffLine] = []
    hidden = 0
    for line, is_shown in zip(lines, shown, strict=True):
        if not is_shown:
            hidden += line.change != "title"
            continue
        if hidden:
            found.append(_gap(hidden))
        hidden = 0
        found.append(line)
    return tuple([*found, _gap(hidden)] if hidden else found)


def changed_count(lines: Sequence[DiffLine]) -> tuple[int, int, int]:
    """How many lines were added, removed and changed."""
    kinds = [line.change for line in lines]
    return kinds.count("added"), kinds.count("removed"), kinds.count("changed")


def _gap(hidden: int) -> DiffLine:
    return DiffLine("gap", text=f"{hidden} unchanged line{'s' if hidden > 1 else ''}")


def _parts(before: Program, after: Program) -> Iterator[tuple[Sequence[Side], Sequence[Side]]]:
    """What is aligned with each other: tensors, and section by section where none alternates."""
    yield _tensors(before), _tensors(after)
    old, new = _lines(before), _lines(after)
    if before.order or after.order:
        yield old, new
        return
    for section in SECTIONS:
        yield [s for s in old if s.part == section], [s for s in new if s.part == section]


def _tensors(program: Program) -> list[Side]:
    return [
        Side(format_tensor(t), (t.layer,) if t.layer else (), -1, t.name, "tensor map")
        for t in program.tensors.values()
    ]


def _lines(program: Program) -> list[Side]:
    return [
        Side(format_line(line), line.owners, index, line.mnemonic, section)
        for section, index, line in program.located()
    ]


def _aligned(old: Sequence[Side], new: Sequence[Side]) -> Iterator[DiffLine]:
    """Lines that are equal but for their index are the same; the others are paired by name."""
    for is_equal, a, b in _matched(old, new, lambda side: (side.text, side.owners, side.part)):
        if is_equal:
            yield from (DiffLine("same", *pair) for pair in zip(a, b, strict=True))
            continue
        for is_alike, c, d in _matched(a, b, lambda side: (side.name, side.owners, side.part)):
            if is_alike:
                yield from (DiffLine("changed", *pair) for pair in zip(c, d, strict=True))
            else:
                yield from (DiffLine("removed", before=side) for side in c)
                yield from (DiffLine("added", after=side) for side in d)


def _matched(
    old: Sequence[Side], new: Sequence[Side], key: Callable[[Side], Hashable]
) -> Iterator[tuple[bool, Sequence[Side], Sequence[Side]]]:
    """Stretches that are equal by a key, and what lies between them."""
    matcher = SequenceMatcher(None, [key(s) for s in old], [key(s) for s in new], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield tag == "equal", old[i1:i2], new[j1:j2]
