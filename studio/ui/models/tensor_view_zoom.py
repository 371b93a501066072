"""Zooming into a tile and moving about in it: which part is looked at next."""

from __future__ import annotations

from dataclasses import replace

from studio.engine.core.tensor import Shape
from studio.ui.models.tensor_view_layout import Region
from studio.ui.models.tensor_view_look import Look

SMALLEST = 2
"""Rows or columns left at the closest."""


def zoomed(look: Look, shape: Shape, x: float, y: float, factor: float) -> Region | None:
    """The part to look at when zoomed by a factor round a pixel; None for the whole tile.

    Of several tiles nothing is zoomed: one is looked at by itself first.
    """
    placed = look.placed(shape)
    rows, columns = _whole(look, shape)
    if placed.tiles != 1 or rows < 1 or columns < 1 or placed.sheet.rows is None:
        return look.region
    now = look.region or Region(0, 0, rows, columns)
    down, across = placed.sheet.block
    at_row = now.row + min(max((y - placed.top) / placed.cell * down, 0.0), float(now.rows))
    at_column = now.column + min(
        max((x - placed.left) / placed.cell * across, 0.0), float(now.columns)
    )
    # Both axes by the same factor, until one has run out.
    tall = min(rows, max(SMALLEST, round(now.rows / factor)))
    wide = min(columns, max(SMALLEST, round(now.columns / factor)))
    if tall >= rows and wide >= columns:
        return None
    row = at_row - (at_row - now.row) * tall / now.rows
    column = at_column - (at_column - now.column) * wide / now.columns
    return _inside(round(row), round(column), tall, wide, rows, columns)


def moved(look: Look, shape: Shape, right: float, down: float) -> Region | None:
    """The part to look at when what is seen is dragged by so many pixels."""
    now = look.region
    if now is None:
        return None
    placed = look.placed(shape)
    rows, columns = _whole(look, shape)
    block_rows, block_columns = placed.sheet.block
    return _inside(
        round(now.row - down / placed.cell * block_rows),
        round(now.column - right / placed.cell * block_columns),
        now.rows,
        now.columns,
        rows,
        columns,
    )


def _whole(look: Look, shape: Shape) -> tuple[int, int]:
    sheet = replace(look, region=None).placed(shape).sheet
    rows = 1 if sheet.rows is None else sheet.picks[sheet.rows].count
    columns = 1 if sheet.columns is None else sheet.picks[sheet.columns].count
    return rows, columns


def _inside(row: int, column: int, tall: int, wide: int, rows: int, columns: int) -> Region:
    return Region(
        min(max(row, 0), rows - tall), min(max(column, 0), columns - wide), tall, wide
    )  # fmt: skip
