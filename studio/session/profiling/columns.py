"""The columns of the kernel table: what each says, how it sorts, and the table as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from studio.session.profiling.kernel_rows import KernelRow, matches

Value: TypeAlias = "str | float | int | None"
Form: TypeAlias = Literal["text", "count", "time_us", "time_ms", "share", "bytes", "number", "line"]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        id: its name in saved layouts and the first line of a CSV file.
        title: heading, with the unit.
        tip: what it says.
        form: how a value is written.
        value: of a row; None where there is none to say.
        shown: it is there until the user hides it.
        roomy: it is there too where the table is wide enough, until the user chooses columns.
        width: in characters.
    """

    id: str
    title: str
    tip: str
    form: Form
    value: Callable[[KernelRow], Value]
    shown: bool = False
    width: int = 8
    roomy: bool = False


COLUMNS: tuple[Column, ...] = (
    Column("instruction", "Instruction", "Instruction, or the instructions of a fused group.",
           "text",
           lambda r: r.mnemonic or r.id, shown=True, width=16),
    Column("layer", "Layer", "Layers it belongs to, or the part of the training step.", "text",
           lambda r: r.layers, shown=True, width=9),
    Column("kernel", "Kernel", "Kernels that ran, and their variants.", "text",
           lambda r: r.kernel, width=20),
    Column("section", "Section", "Section of the program.", "text", lambda r: r.section, width=9),
    Column("recent", "Latest", "Time of the latest 64 measured steps; the line begins at zero.",
           "line", lambda r: r.mean_us, width=9, roomy=True),
    Column("calls", "Calls", "How often it was measured.", "count", lambda r: r.calls, width=7),
    Column("total", "Total ms", "Time of all measured calls.", "time_ms", lambda r: r.total_ms),
    Column("median", "Median µs", "Median of the latest 512 calls.",
           "time_us", lambda r: r.median_us, shown=True, width=9),
    Column("mean", "Mean µs", "Mean time of a call; a few slow ones raise it.", "time_us",
           lambda r: r.mean_us, width=9),
    Column("p95", "p95 µs", "95th percentile of the latest 512 calls.", "time_us",
           lambda r: r.p95_us),
    Column("min", "Min µs", "Shortest call.", "time_us", lambda r: r.min_us),
    Column("max", "Max µs", "Longest call.", "time_us", lambda r: r.max_us),
    Column("share", "Share", "Fraction of the total kernel time.", "share",
           lambda r: r.share, shown=True, width=7),
    Column("wasted", "Wasted µs", "Time of a call above the roofline minimum.",
           "time_us", lambda r: r.wasted_us, width=9, roomy=True),
    Column("bytes", "Bytes", "Bytes read and written per call, estimated from the "
                             "instruction.",
           "bytes", lambda r: r.traffic_bytes),
    Column("flops", "FLOP", "Arithmetic operations per call, estimated from the instruction.",
           "number",
           lambda r: r.flops),
    Column("gbytes", "GB/s", "Memory bandwidth.", "number", lambda r: r.gbytes, width=7),
    Column("gflops", "GFLOP/s", "Arithmetic throughput.", "number", lambda r: r.gflops),
    Column("peak", "Of peak", "Fraction of the device's measured peak. A faster "
                              "kernel raises the peak. Empty if calls are too short "
                              "to measure.", "share",
           lambda r: r.utilisation, shown=True, width=7),
    Column("bound", "Bound by", "Limit by the roofline: compute or memory.",
           "text", lambda r: r.bound,
           width=10),
)  # fmt: skip

BY_ID = {column.id: column for column in COLUMNS}


@dataclass
class RowFilter:
    """Which rows are shown.

    Attributes:
        text: words that all must stand in a row's names.
        section: one section of the program, or empty for all.
        chosen: ids of the rows picked on the roofline; None for all.
        percentile: rows that took less time than this per cent of all rows are hidden.
    """

    text: str = ""
    section: str = ""
    chosen: Collection[str] | None = field(default=None)
    percentile: int = 0

    @property
    def is_open(self) -> bool:
        """Whether every row passes."""
        named = bool(self.text.strip() or self.section)
        return not named and self.chosen is None and self.percentile <= 0

    def apply(self, rows: Iterable[KernelRow]) -> tuple[KernelRow, ...]:
        """The rows that pass, in the order given."""
        words, rows = self.text.casefold().split(), tuple(rows)
        least = _percentile(rows, self.percentile)
        return tuple(
            row
            for row in rows
            if row.share >= least
            and matches(row, words)
            and (not self.section or self.section in row.section.split(", "))
            and (self.chosen is None or row.id in self.chosen)
        )


def _percentile(rows: Sequence[KernelRow], percentile: int) -> float:
    """The share of the time that this per cent of the rows stay below."""
    if not rows or percentile <= 0:
        return 0.0
    shares = [row.share for row in rows]
    return float(np.percentile(shares, min(percentile, 100), method="higher"))


def csv_text(rows: Sequence[KernelRow]) -> str:
    """The table with every column, exact numbers, times in the unit of their heading."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [column for column in COLUMNS if column.form != "line"]
    writer.writerow([column.id for column in columns])
    for row in rows:
        values = (column.value(row) for column in columns)
        writer.writerow(["" if value is None else value for value in values])
    return out.getvalue()
