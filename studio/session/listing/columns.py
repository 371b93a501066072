"""The columns of a listing and what stands in each for every kind of line."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, TypeAlias

from studio.session.core.quantities import bytes_text, count_text, exact_text, ms_text
from studio.session.listing.arrangement import Level, Line
from studio.session.listing.kernels import order_text, size_text
from studio.session.listing.labels import GAP, Labels
from studio.session.listing.listing import Listing
from studio.session.listing.rows import ProgramRows

ColumnKey: TypeAlias = Literal[
    "row",
    "instruction",
    "flow",
    "parameters",
    "shape",
    "layers",
    "flops",
    "bytes",
    "ms",
    "section",
    "order",
]


class Column(NamedTuple):
    """One column.

    Attributes:
        key: its identity, kept in layouts.
        title: its heading for instructions.
        tip: what it says, in one sentence.
        chars: width in characters before the user has chosen one.
        is_number: right-aligned.
        is_shown: shown before the user has chosen.
    """

    key: ColumnKey
    title: str
    tip: str
    chars: int
    is_number: bool = False
    is_shown: bool = True


COLUMNS: tuple[Column, ...] = (
    Column("row", "#", "Index in the program, from 0.", 4, is_number=True),
    Column("instruction", "Instruction",
           "The line as the compiler prints it, with your names and comments.", 44),
    Column("flow", "Out ← in", "Registers written and read.", 28, is_shown=False),
    Column("parameters", "Parameters", "Scalars by name.", 30, is_shown=False),
    Column("shape", "Shape out", "Shape of the first result; N is the batch.", 14),
    Column("order", "Issued",
           "Place in the order kernels are issued in, level, and whether it waits at a barrier; "
           "kernels of one level may run at the same time. On a processor: who shares a call.",
           26, is_shown=False),
    Column("layers", "Layer", "Layers it came from; housekeeping where there is none.", 13),
    Column("ms", "ms", "Median of the measured times, ms per run.", 7, is_number=True),
    Column("bytes", "Bytes", "Bytes read and written, estimated from the instruction.", 9,
           is_number=True),
    Column("flops", "FLOPs", "Arithmetic operations, estimated from the instruction.", 7,
           is_number=True),
    Column("section", "Section", "Section of the program.", 9),
)  # fmt: skip

_TITLES: dict[Level, dict[ColumnKey, str]] = {
    "layers": {"instruction": "Layer", "layers": "Instructions"},
    "instructions": {},
    "kernels": {"shape": "Shape out, groups"},
}

_CHARS: dict[Level, dict[ColumnKey, int]] = {
    "layers": {"instruction": 20, "layers": 34},
    "instructions": {},
    "kernels": {"shape": 24},
}


def title_of(column: Column, level: Level) -> str:
    """The heading of a column at a level."""
    return _TITLES[level].get(column.key, column.title)


def chars_of(column: Column, level: Level) -> int:
    """Width of a column at a level, in characters."""
    return _CHARS[level].get(column.key, column.chars)


def cell_text(listing: Listing, line: Line, key: ColumnKey) -> str:
    """What stands in a cell; empty where a column has nothing to say of a line."""
    rows = listing.rows
    if rows is None:
        return ""
    if key in ("flops", "bytes", "ms"):
        return _amount(listing, line, key)
    if line.kind == "instruction" and key == "instruction" and listing.labels is not None:
        return _labelled(listing.labels, line.row)
    if line.kind == "heading":
        return _heading_cell(rows, line, key, listing.level)
    if line.kind in ("failure", "removed"):
        return line.title if key == "instruction" else ""
    if line.kind == "kernel":
        return _kernel_cell(listing, line, key)
    return _row_cell(rows, line.row, key)


def exact_cell(listing: Listing, line: Line, key: ColumnKey) -> str:
    """The exact number behind a rounded one, for a tip; empty for other columns."""
    if line.kind == "kernel":
        return ""
    totals = listing.totals(line)
    if key == "bytes" and totals.nbytes:
        return f"{exact_text(round(totals.nbytes))} bytes read and written"
    if key == "flops" and totals.flops:
        return f"{exact_text(round(totals.flops))} operations"
    if key == "ms" and totals.ms is not None:
        return f"{totals.ms:.6f} ms"
    return ""


def _amount(listing: Listing, line: Line, key: ColumnKey) -> str:
    if line.kind == "kernel":
        return ""
    totals = listing.totals(line)
    if key == "ms":
        return "" if totals.ms is None else ms_text(totals.ms)
    amount = totals.nbytes if key == "bytes" else totals.flops
    if not amount:
        return ""
    return bytes_text(amount) if key == "bytes" else count_text(amount)


def _labelled(labels: Labels, row: int) -> str:
    """A line with the names and the comment a person gave it."""
    tail = labels.tail(row)
    return f"{labels.text(row)}{' ' * GAP}{tail}" if tail else labels.text(row)


def _row_cell(rows: ProgramRows, row: int, key: ColumnKey) -> str:
    if key == "row":
        return str(row)
    if key == "instruction":
        return rows.text(row)
    if key == "flow":
        return rows.flow(row)
    if key == "parameters":
        return rows.parameters(row)
    if key == "shape":
        return rows.shape(row)
    if key == "layers":
        return ", ".join(rows.named_owners(row))
    return rows.section(row) if key == "section" else ""


def _kernel_cell(listing: Listing, line: Line, key: ColumnKey) -> str:
    """What a dispatch is and when it runs; all else stands in the line of its instruction."""
    runs = () if listing.kernels is None else listing.kernels.of(line.row)
    if line.number >= len(runs):
        return ""
    run = runs[line.number]
    if key == "instruction":
        return f"{run.name} ({run.variant})" if run.variant else run.name
    if key == "shape":
        return size_text(run)
    return order_text(run) if key == "order" else ""


def _heading_cell(rows: ProgramRows, line: Line, key: ColumnKey, level: Level) -> str:
    if key == "instruction":
        return rows.name_of(line.title)
    by_layer = line.key.startswith("layer:")
    if key == "layers":
        return _counts(rows, line) if level == "layers" or not by_layer else ""
    if key == "shape" and by_layer:
        return rows.output_shapes.get(line.title, "")
    return ""


def _counts(rows: ProgramRows, line: Line) -> str:
    """How many instructions of each section, fused groups as one."""
    counts = Counter(rows.section(row) for row in line.members)
    if len(counts) == 1:
        return str(len(line.members))
    return " + ".join(f"{count} {section}" for section, count in counts.items())
