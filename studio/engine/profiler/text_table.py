"""Totals of kernels as a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studio.engine.profiler.totals import KernelTotal

COLUMNS = ("#", "section", "instruction", "layers", "kernel", "median µs", "share", "GFLOP/s",
           "GB/s")  # fmt: skip
PEAK_COLUMNS = ("bound", "of peak")
"""What stands behind them where the device's peaks are known."""
NUMBERS = (0, 5, 6, 7, 8, 10)
"""The columns set to the right."""


def kernel_cells(total: KernelTotal, *, peaks: bool = False) -> list[str]:
    """A row of the table; with ``peaks``, what limits the kernel too."""
    row = [
        str(total.index),
        total.section,
        total.mnemonic,
        ", ".join(total.owners),
        total.kernel,
        f"{total.median_us:.1f}",
        f"{total.share:.1%}",
        f"{total.gflops:.1f}",
        f"{total.gbytes:.1f}",
    ]
    if peaks:
        row += [total.bound, "" if total.peak_share is None else f"{total.peak_share:.0%}"]
    return row


def kernel_lines(totals: Iterable[KernelTotal]) -> list[str]:
    """The table in lines, in the order given."""
    rows: list[Sequence[str]] = [COLUMNS, *(kernel_cells(total) for total in totals)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.rjust(width) if place in NUMBERS else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
