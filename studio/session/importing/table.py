"""The table of arrays and parameters that the user looks at before weights are brought in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Shape
from studio.engine.train.importing.matching import MATCH_WORDS, MatchState, MatchTable

_Step: TypeAlias = tuple[MatchTable, frozenset[str]]
FRESH = "Begins fresh"
LEFT_OUT = "Left out"


@dataclass(frozen=True)
class MatchLine:
    """One line: an array of the file, or a parameter that nothing is taken for.

    Attributes:
        key: tells lines apart.
        name: of the array; empty for a parameter that nothing is taken for.
        shape: of the array.
        parameter: of the network; empty for an array that is no parameter.
        wanted: its shape.
        word: how they found each other, or what happens instead.
        state: of the match; None for a parameter that nothing is taken for.
        can_take: whether the user may take it or leave it out.
        is_taken: whether it is taken.
    """

    key: str
    name: str
    shape: Shape | None
    parameter: str
    wanted: Shape | None
    word: str
    state: MatchState | None
    can_take: bool = False
    is_taken: bool = False


class MatchingTable:
    """What matches, and what of it the user takes.

    Args:
        table: what was found.
    """

    def __init__(self, table: MatchTable) -> None:
        self.changed: Signal[[]] = Signal()
        self._table = table
        self._left_out: frozenset[str] = frozenset()
        self._undone: list[_Step] = []
        self._done: list[_Step] = []

    @property
    def chosen(self) -> MatchTable:
        """What is taken."""
        return self._table.without(self._left_out)

    def take(self, name: str, on: bool) -> None:
        """Take an array for its parameter, or leave it out."""
        row = self._table.rows_by_name.get(name)
        if row is None or not row.is_matched or on == (name not in self._left_out):
            return
        self._go_to(self._table, self._left_out ^ {name})

    def choices(self, name: str) -> tuple[str, ...]:
        """Parameters an array can be taken for: of its shape, with nothing else taken for them.

        Its own is among them.
        """
        return self.chosen.without([name]).choices(name)

    def parameter_of(self, name: str) -> str:
        """The parameter an array is taken for now; empty for none."""
        row = self.chosen.rows_by_name.get(name)
        return row.parameter if row is not None and row.is_matched else ""

    def choose(self, name: str, parameter: str) -> None:
        """Take an array for a parameter of its shape, or with an empty one for nothing.

        Raises:
            CheckpointError: the parameter is none of `choices`.
        """
        if parameter == self.parameter_of(name):
            return
        if not parameter:
            self.take(name, False)
            return
        # What was left out may have had the parameter: it cannot be taken for it any more.
        rivals = {
            row.name for row in self._table.rows
            if row.name in self._left_out and (row.parameter == parameter or row.name == name)
        }  # fmt: skip
        table = self._table.without(rivals).with_choice(name, parameter)
        self._go_to(table, self._left_out - rivals)

    @property
    def can_undo(self) -> bool:
        """Whether a choice can be taken back."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether a choice that was taken back can be made again."""
        return bool(self._undone)

    def undo(self) -> None:
        """Take the last choice back."""
        if self._done:
            self._undone.append((self._table, self._left_out))
            self._table, self._left_out = self._done.pop()
            self.changed.emit()

    def redo(self) -> None:
        """Make the choice again that was taken back last."""
        if self._undone:
            self._done.append((self._table, self._left_out))
            self._table, self._left_out = self._undone.pop()
            self.changed.emit()

    def _go_to(self, table: MatchTable, left_out: frozenset[str]) -> None:
        self._done.append((self._table, self._left_out))
        self._undone.clear()
        self._table, self._left_out = table, left_out
        self.changed.emit()

    def why_not(self) -> str:
        """Why nothing can be brought in; empty when something can."""
        if any(row.is_matched for row in self.chosen.rows):
            return ""
        if any(row.is_matched for row in self._table.rows):
            return "no array is taken"
        return "none of its arrays fits a parameter of the network"

    def lines(self) -> tuple[MatchLine, ...]:
        """Arrays in the order of the file, then parameters that nothing is taken for."""
        made = []
        for row in self._table.rows:
            taken = row.is_matched and row.name not in self._left_out
            word = LEFT_OUT if row.is_matched and not taken else MATCH_WORDS[row.state]
            made.append(
                MatchLine(
                    f"array {row.name}", row.name, row.shape, row.parameter,
                    row.wanted if row.parameter else None, word, row.state, row.is_matched, taken,
                )
            )  # fmt: skip
        made += [
            MatchLine(f"parameter {name}", "", None, name, shape, FRESH, None)
            for name, shape in self.chosen.unmet
        ]
        return tuple(made)

    def sentence(self) -> str:
        """What is taken, what is not, and what begins fresh."""
        chosen = self.chosen
        taken = [row for row in chosen.rows if row.is_matched]
        by_shape = sum(row.state == "shape" for row in taken)
        text = f"{len(taken)} of {_count(len(chosen.rows), 'array')} taken"
        by_hand = sum(row.state == "hand" for row in taken)
        if by_hand:
            text += f", {by_hand} by hand"
        if by_shape:
            text += f", {by_shape} by {'its' if by_shape == 1 else 'their'} shape alone"
        if chosen.unmet:
            begin = "begins" if len(chosen.unmet) == 1 else "begin"
            text += f"; {_count(len(chosen.unmet), 'parameter')} {begin} fresh"
        return text


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
