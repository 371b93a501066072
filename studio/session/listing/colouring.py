"""What the colour band of a line stands for: its layers, opcode, section, time or bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import SECTIONS
from studio.session.listing.arrangement import Line
from studio.session.listing.rows import ProgramRows, base_mnemonic
from studio.session.listing.totals import Times, line_totals, no_times

ColourBy: TypeAlias = Literal["layer", "opcode", "section", "time", "bytes", "nothing"]

COLOURINGS: tuple[ColourBy, ...] = get_args(ColourBy)
HUES = 12
"""Hues the bands are made of; neighbours in the program get neighbours in the table."""


class Band(NamedTuple):
    """One part of the colour band of a line.

    Attributes:
        hue: which of the hues, -1 for housekeeping.
        heat: 0 to 1 where the band stands for a quantity, else None.
        name: what it stands for.
    """

    hue: int
    heat: float | None = None
    name: str = ""


def hues_of(rows: ProgramRows, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """A hue for every layer, in the order of the program; layers known before keep theirs."""
    found = dict(known or {})
    for layer in rows.layers:
        found.setdefault(layer, len(found) % HUES)
    return found


class Colouring:
    """Colours the lines of one program.

    Args:
        rows: the program.
        by: what colours stand for.
        times: measured times, for ``time``.
        hues: hues of layers by their id; by default in the order of the program.
    """

    def __init__(
        self,
        rows: ProgramRows,
        by: ColourBy,
        times: Times = no_times,
        hues: Mapping[str, int] | None = None,
    ) -> None:
        self.by = by
        self._rows = rows
        self._times = times
        self._hues = hues_of(rows) if hues is None else hues
        self._opcodes = {name: place % HUES for place, name in enumerate(rows.opcodes)}
        self._most: float | None = None

    def hue_of(self, owner: str) -> int:
        """The hue of a layer, -1 for housekeeping."""
        return self._hues.get(owner, -1)

    def bands(self, line: Line) -> tuple[Band, ...]:
        """The parts of a line's band, top to bottom; none where it has no colour."""
        if self.by == "nothing" or line.kind in ("removed", "failure"):
            return ()
        if self.by == "layer":
            return self._layer_bands(line)
        if self.by in ("time", "bytes"):
            return self._heat_band(line)
        if line.kind == "heading" and not line.key.startswith("section:"):
            return ()
        if self.by == "section":
            section = self._rows.section(line.row)
            return (Band(max(-1, 2 * SECTIONS.index(section) - 2), None, section),)
        if line.kind == "heading":
            return ()
        names = (base_mnemonic(part) for part in self._parts(line.row))
        return tuple(Band(self._opcodes[name], None, name) for name in dict.fromkeys(names))

    def _layer_bands(self, line: Line) -> tuple[Band, ...]:
        if line.kind == "heading":
            if not line.key.startswith("layer:"):
                return ()
            return (Band(self.hue_of(line.title), None, self._rows.name_of(line.title)),)
        owners = self._rows.owners(line.row)
        named = [o for o in owners if o in self._hues] or list(owners)
        return tuple(Band(self.hue_of(o), None, self._rows.name_of(o)) for o in named)

    def _heat_band(self, line: Line) -> tuple[Band, ...]:
        amount = self._amount(line)
        if amount is None:
            return ()
        if self._most is None:
            lines = (Line("instruction", "", index) for index in self._rows.entries)
            self._most = max((self._amount(each) or 0.0 for each in lines), default=0.0)
        return (Band(-1, min(amount / self._most, 1.0) if self._most else 0.0),)

    def _amount(self, line: Line) -> float | None:
        totals = line_totals(self._rows, line, self._times)
        return totals.ms if self.by == "time" else totals.nbytes

    def _parts(self, index: int) -> tuple[Instruction, ...]:
        entry = self._rows.entries.get(index)
        return (self._rows.instruction(index),) if entry is None else entry.parts
