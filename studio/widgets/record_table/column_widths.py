"""Fits the name column of a table, so that no number at the right edge is cut (4640 to 46)."""

from __future__ import annotations

from itertools import accumulate, takewhile

from PySide6.QtWidgets import QTableView

from studio.widgets.frames.side_fades import FADE


def fit_column(table: QTableView, place: int, least: int, most: int | None = None) -> None:
    """Give a column the room that the others leave.

    Where they do not all fit, the last one in sight is whole; the next begins under the fade that
    tells of it, unless that costs a column.

    Args:
        table: what is looked at.
        place: the column that gets more or less, as the model counts.
        least: pixels it has always.
        most: pixels that are enough for all it says, where it need not fill the table.
    """
    header, room = table.horizontalHeader(), table.viewport().width()
    others = [
        table.columnWidth(each)
        for each in map(header.logicalIndex, range(header.count()))
        if each != place and not table.isColumnHidden(each)
    ]
    left = room - sum(others)
    if left >= least:
        table.setColumnWidth(place, left if most is None else max(least, min(left, most)))
        return
    left = room - least
    with_fade, without = _whole(others, left - FADE), _whole(others, left)
    if with_fade == without:
        left -= FADE
    table.setColumnWidth(place, least + max(0, left - sum(others[:without])))


def _whole(widths: list[int], room: int) -> int:
    """How many columns have room, from the first on."""
    ends = accumulate(widths)
    return sum(1 for _ in takewhile(lambda end: end <= room, ends))
