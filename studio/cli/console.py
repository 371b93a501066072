"""Where commands write: people and programs on standard output, complaints on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "") -> None:
    """Print a line as it stands (no markup)."""
    out.print(escape(text) if text else "")


def say_plain(text: str) -> None:
    """Write text unchanged, for listings that go into files and pipes."""
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a remark on standard error, so that it never mixes with an answer."""
    err.print(f"[dim]{escape(text)}[/dim]")


def complain(text: str) -> None:
    """Print an error: ``glassbox: `` and the sentence."""
    err.print(f"[bold red]glassbox:[/bold red] {escape(text)}")


def answer_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinities become null, which JSON has no other word for."""
    say_plain(json.dumps(_plain(value), indent=1, ensure_ascii=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows under headings; ``right`` lists the columns set to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        made.add_column(escape(column), justify="right" if index in right else "left")
    for row in rows:
        made.add_row(*(escape(cell) for cell in row))
    out.print(made)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
