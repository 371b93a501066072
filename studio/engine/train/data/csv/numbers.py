"""Cells of a table to a float32 matrix, with the row and column of any that is not a number."""

from array import array
from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.csv.rows import Row, looks_like_number

_BLOCK_CELLS = 1 << 18
_TOO_LARGE = 2.0**128 - 2.0**103
"""The smallest number that is infinite as a float32."""
_MISSING = ("?", "-", "na", "n/a", "nan", "null", "none", "missing")


class NumberColumns:
    """Collects chosen columns of rows into blocks of float32; `matrix` joins them.

    Args:
        columns: indices of the columns to take.
        names: names of all columns, for messages.
        who: the file's name.
    """

    def __init__(
        self,
        columns: Sequence[int],
        names: Sequence[str],
        who: str,
    ) -> None:
        self._columns = tuple(columns)
        self._names = names
        self._who = who
        self._values = array("d")
        self._rows = 0
        self._blocks: list[npt.NDArray[np.float32]] = []
        self._block_rows = max(1, _BLOCK_CELLS // max(1, len(self._columns)))

    def append(self, row: Row) -> None:
        """Parse the columns of one row; DataError names the first bad cell."""
        cells = [row.cells[i] for i in self._columns]
        begin = len(self._values)
        try:
            self._values.extend(map(float, cells))
            are_numbers = True
        except ValueError:
            are_numbers = False
        # float() reads "1_000"; no table means a number by that.
        if not are_numbers or "_" in "".join(cells):
            del self._values[begin:]
            bad = next(i for i in self._columns if not looks_like_number(row.cells[i]))
            raise self.refusal(row, bad)
        # Checked row by row, so that the error is about the first bad row.
        if not all(-_TOO_LARGE < value < _TOO_LARGE for value in self._values[begin:]):
            values = zip(self._columns, self._values[begin:], strict=True)
            bad = next(i for i, value in values if not -_TOO_LARGE < value < _TOO_LARGE)
            del self._values[begin:]
            raise self.refusal(row, bad)
        self._rows += 1
        if self._rows == self._block_rows:
            self._close_block()

    def bad_columns(self, row: Row) -> list[int]:
        """The columns of one row that hold no finite number."""
        return [i for i in self._columns if not is_finite_number(row.cells[i])]

    def refusal(self, row: Row, column: int) -> DataError:
        """The error for a cell that is no finite number."""
        place = f"row {row.line}, column {column + 1} ({quoted(self._names[column])})"
        return not_a_number(place, row.cells[column], self._who)

    def _close_block(self) -> None:
        # A buffer must not be empty, as it is without columns.
        values = np.frombuffer(self._values) if self._values else np.zeros(0)
        block = values.reshape(self._rows, len(self._columns))
        self._blocks.append(block.astype(np.float32))
        self._values, self._rows = array("d"), 0

    def matrix(self) -> npt.NDArray[np.float32]:
        """All rows so far as float32 [rows, columns]; empties the collector."""
        if self._rows:
            self._close_block()
        blocks, self._blocks = self._blocks, []
        if not blocks:
            return np.zeros((0, len(self._columns)), np.float32)
        result = np.empty((sum(map(len, blocks)), len(self._columns)), np.float32)
        position = 0
        blocks.reverse()
        while blocks:
            block = blocks.pop()
            result[position : position + len(block)] = block
            position += len(block)
        return result


def is_finite_number(cell: str) -> bool:
    """Whether a cell is a number within float32."""
    return looks_like_number(cell) and -_TOO_LARGE < float(cell) < _TOO_LARGE


def not_a_number(place: str, cell: str, who: str) -> DataError:
    """The error for a cell that is no finite number; ``place`` names its row and column."""
    if not cell:
        return DataError(
            f"{place}: the cell is empty where a number is expected",
            who=who,
            hint="fill it in, remove the row, or leave the column out",
        )
    hint = "leave a column of text out, or use it as classes"
    if cell.casefold() in _MISSING:
        hint = "fill in the missing value, or remove the row"
    if looks_like_number(cell.replace(",", ".", 1)) and "," in cell:
        hint = "write decimals with a point: 1.5"
    return DataError(
        f"{place}: expected a finite number within float32, got {quoted(cell)}",
        who=who,
        hint=hint,
    )


def check_width(row: Row, width: int, who: str) -> None:
    """DataError where a row has not the number of cells the table began with."""
    if len(row.cells) != width:
        shown = ", ".join(quoted(cell) for cell in islice(row.cells, 3))
        raise DataError(
            f"row {row.line}: expected {width} cells as in the first row, got {len(row.cells)} "
            f"({shown}{', …' if len(row.cells) > 3 else ''})",
            who=who,
        )
