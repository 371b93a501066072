"""What a line of the listing adds up to: operations, bytes and time of the entries in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from studio.session.listing.arrangement import Line
from studio.session.listing.rows import ProgramRows

Times: TypeAlias = Callable[[int], "float | None"]
"""Milliseconds of the entry that begins at a row, None where it was not measured."""


class Totals(NamedTuple):
    """Sums of a line.

    Attributes:
        flops: estimated arithmetic operations.
        nbytes: estimated bytes read and written.
        ms: measured time, None where a part was not measured.
        entries: kernels' worth of instructions in it, fused groups as one.
    """

    flops: float = 0
    nbytes: float = 0
    ms: float | None = None
    entries: int = 0


def no_times(_: int) -> None:
    """Nothing has been measured."""
    return


def line_totals(rows: ProgramRows, line: Line, times: Times = no_times) -> Totals:
    """The totals of a line.

    What several layers share is split evenly between them under the heading of a layer, so that the
    headings add up to the program.
    """
    if line.kind in ("removed", "failure", "reference"):
        return Totals()
    if line.kind != "heading":
        cost, ms = rows.cost(line.row), times(line.row)
        is_part = rows.group(line.row).first != line.row
        return Totals(cost.flops, cost.nbytes, None if is_part else ms, 1)
    by_layer = line.key.startswith("layer:")
    flops = nbytes = spent = 0.0
    is_measured = bool(line.members)
    for index in line.members:
        share = 1 / len(rows.listed_owners(index)) if by_layer else 1.0
        cost, ms = rows.cost(index), times(index)
        flops += cost.flops * share
        nbytes += cost.nbytes * share
        is_measured = is_measured and ms is not None
        spent += (ms or 0.0) * share
    return Totals(flops, nbytes, spent if is_measured else None, len(line.members))
