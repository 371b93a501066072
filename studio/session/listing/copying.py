"""Rows of a listing as text for the clipboard: exact lines, or a table."""

from __future__ import annotations

from collections.abc import Iterable

from studio.session.listing.labels import Labels
from studio.session.listing.rows import ProgramRows
from studio.session.listing.totals import Times, no_times

COLUMNS = (
    "index", "section", "instruction", "flow", "parameters", "shape", "layers", "flops", "bytes",
    "ms", "names", "comment",
)  # fmt: skip


def as_text(rows: ProgramRows, chosen: Iterable[int]) -> str:
    """The exact lines, one per row, as the compiler prints them."""
    return "".join(f"{rows.text(index)}\n" for index in chosen)


def as_tsv(
    rows: ProgramRows,
    chosen: Iterable[int],
    times: Times = no_times,
    labels: Labels | None = None,
) -> str:
    """Every column of the rows with a heading, numbers exact, separated by tabs.

    Args:
        rows: the program.
        chosen: which rows.
        times: measured times of entries.
        labels: what a person calls registers and says of instructions.
    """
    labels = labels or Labels(rows)
    lines = ["\t".join(COLUMNS)]
    for index in chosen:
        cost, ms = rows.cost(index), times(index)
        owners = ", ".join(rows.name_of(owner) for owner in rows.owners(index))
        cells = (
            str(index), rows.section(index), rows.text(index), rows.flow(index),
            rows.parameters(index), rows.shape(index), owners,
            str(cost.flops), str(cost.nbytes), "" if ms is None else repr(ms),
            _names(labels, index), labels.comment(index),
        )  # fmt: skip
        lines.append("\t".join(cells))
    return "\n".join([*lines, ""])


def _names(labels: Labels, index: int) -> str:
    """The registers of a row that a person has named, with their names."""
    refs = dict.fromkeys(span.ref for span in labels.spans(index) if span.ref in labels.names)
    return ", ".join(f"{ref}={labels.names[ref]}" for ref in refs)
