"""Where commands write: people and programs on standard output, complaints on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_GAP = "  "

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "") -> None:
    """Write a text and a line break; text that ends with one, like a listing, gets no second."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a remark on standard error, so that it never mixes with an answer."""
    err.print(f"[dim]{escape(text)}[/dim]")


def complain(text: str) -> None:
    """Print an error: ``glassbox: `` and the sentence."""
    err.print(f"[bold red]glassbox:[/bold red] {escape(text)}")


def answer_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinities become null, which JSON has no other word for."""
    say(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows under headings; ``right`` lists the columns set to the right.

    In a terminal a table that is too wide is folded inside its columns; in a file or pipe lines
    are as long as they need to be.
    """
    body = [tuple(row) for row in rows]
    if out.is_terminal:
        _fancy_table(columns, body, right)
        return
    lines = [tuple(columns), *body]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(columns))]
    say("\n".join(_aligned(line, widths, right) for line in lines))


def _fancy_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> None:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        number = index in right
        made.add_column(
            escape(column),
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
        )
    for row in rows:
        made.add_row(*(escape(cell) for cell in row))
    out.print(made)


def _aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - cell_len(cell))
        parts.append(space + cell if index in right else cell + space)
    return _GAP.join(parts).rstrip()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
