"""Rows of a listing as text for the clipboard: exact lines, or a table."""

from __future__ import annotations

from collections.abc import Iterable

from studio.instruction_view.model.rows import ProgramRows
from studio.instruction_view.model.totals import Times, no_times

COLUMNS = (
    "index", "section", "instruction", "flow", "parameters", "shape", "layers", "flops", "bytes",
    "ms",
)  # fmt: skip


def as_text(rows: ProgramRows, chosen: Iterable[int]) -> str:
    """The exact lines, one per row, as the compiler prints them."""
    return "".join(f"{rows.text(index)}\n" for index in chosen)


def as_tsv(rows: ProgramRows, chosen: Iterable[int], times: Times = no_times) -> str:
    """Every column of the rows with a heading, numbers exact, separated by tabs."""
    lines = ["\t".join(COLUMNS)]
    for index in chosen:
        cost, ms = rows.cost(index), times(index)
        owners = ", ".join(rows.name_of(owner) for owner in rows.owners(index))
        cells = (
            str(index), rows.section(index), rows.text(index), rows.flow(index),
            rows.parameters(index), rows.shape(index), owners,
            str(cost.flops), str(cost.nbytes), "" if ms is None else repr(ms),
        )  # fmt: skip
        lines.append("\t".join(cells))
    return "\n".join([*lines, ""])
