"""All rows of a table to columns: by pieces, and row by row where a piece cannot be read so."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from studio.engine.train.data.csv.bad_rows import BadRows
from studio.engine.train.data.csv.labels import LabelColumn, RowLines
from studio.engine.train.data.csv.numbers import NumberColumns, check_width
from studio.engine.train.data.csv.pieces import Floats, Piece, Wanted, label_cells, read_piece
from studio.engine.train.data.csv.rows import Row, Table

Bytes = npt.NDArray[np.uint8]


class FeatureBlocks:
    """Rows of features as they come, joined at the end.

    Args:
        columns: features of a row.
        may_be_bytes: whether rows that are all whole numbers from 0 to 255 become uint8.
    """

    def __init__(self, columns: int, *, may_be_bytes: bool = False) -> None:
        self._columns = columns
        self._all_bytes = may_be_bytes
        self._blocks: list[Floats | Bytes] = []

    def append(self, block: Floats) -> None:
        """Add float32 [rows, columns]; kept as bytes where these can be told from floats again."""
        if not self._all_bytes:
            self._blocks.append(block)
            return
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = block.astype(np.uint8)
        if (narrow == block).all():
            # A zero with a sign is a byte only where all else is.
            has_sign = bool(np.signbit(block).any())
            self._blocks.append(block if has_sign else narrow)
        else:
            self._all_bytes = False
            self._blocks.append(block)

    def matrix(self) -> Floats | Bytes:
        """All rows, uint8 or float32; empties this, block by block."""
        dtype = np.uint8 if self._all_bytes else np.float32
        result = np.empty((sum(map(len, self._blocks)), self._columns), dtype)
        at = 0
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            result[at : at + len(block)] = block
            at += len(block)
        return result


class Columns:
    """What is collected of a table.

    Args:
        table: where it is read from, standing behind its header.
        wanted: the columns.
        names: names of all columns, for messages.
        features: where rows of features go.
        labels: where the cells of each label column go.
        bad: what becomes of rows that cannot be read; None to refuse them.
    """

    def __init__(
        self,
        table: Table,
        wanted: Wanted,
        names: Sequence[str],
        features: FeatureBlocks,
        labels: Sequence[LabelColumn] = (),
        bad: BadRows | None = None,
    ) -> None:
        self.lines = RowLines()
        self._table = table
        self._wanted = wanted
        self._names = names
        self._features = features
        self._labels = labels
        self._bad = bad if bad is not None and bad.is_active else None

    def add_row(self, row: Row) -> None:
        """Add one row; DataError where it has another width or a feature is no finite number."""
        self._add_rows([row], 0)

    def add_rest(self) -> None:
        """Add all rows from here on; DataError at the first that cannot be read."""
        text = self._table.text
        while piece := text.piece():
            end = text.at + len(piece)
            as_numbers = [label.takes_numbers for label in self._labels]
            found = read_piece(self._table, piece, self._wanted, as_numbers)
            if found is None:
                self._add_rows(self._table.rows(), end)
            else:
                self._add(found)

    def _add_rows(self, rows: Iterable[Row], end: int) -> None:
        """Add rows one by one, up to a place in the text or the row that lies across it."""
        wanted, who = self._wanted, self._table.who
        numbers = NumberColumns(wanted.features, self._names, who)
        labels: list[list[str]] = [[] for _ in wanted.labels]
        lines: list[int] = []
        for row in rows:
            stays = True
            if self._bad is None:
                check_width(row, wanted.width, who)
                numbers.append(row)
            else:
                at = len(self.lines) + len(lines)
                stays = self._bad.take(row, wanted.width, numbers, at)
            if stays:
                for cells, column in zip(labels, wanted.labels, strict=True):
                    cells.append(row.cells[column])
                lines.append(row.line)
            if self._table.text.at >= end:
                break
        cells_of = [
            label_cells(cells, label.takes_numbers)
            for cells, label in zip(labels, self._labels, strict=True)
        ]
        if lines:
            self._add(Piece(numbers.matrix(), cells_of, np.array(lines, np.int64)))

    def _add(self, piece: Piece) -> None:
        self._features.append(piece.features)
        for column, cells in zip(self._labels, piece.labels, strict=True):
            column.add(cells)
        self.lines.extend(piece.lines)
