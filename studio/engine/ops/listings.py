"""The instructions behind what was typed, and how tensors and listings look in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program
from studio.engine.ops import recording
from studio.engine.ops.call_trace import Trace
from studio.engine.ops.handle import Tensor, Variable
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.programs import call_of, written
from studio.engine.ops.recording import STATE
from studio.engine.ops.scopes import tensors_in
from studio.engine.runtime.transfers import Array

_ROWS, _COLUMNS, _LINES = 12, 12, 200
# Notebooks set cells of tables flush right.
_LEFT = 'style="text-align:left;white-space:pre"'


class Listing:
    """The lines of a program, with the place in the user's code each comes from.

    Attributes:
        program: the lines, unfused.
        sources: file and line of each.
    """

    def __init__(self, program: Program, trace: Trace) -> None:
        self.program = program
        self.sources = tuple(
            trace.source(index) if (index := call_of(ins.owners[0])) >= 0 else "" for ins in program
        )

    def __len__(self) -> int:
        return len(self.program)

    def __str__(self) -> str:
        found = [format_line(ins) for ins in self.program]
        width = max(map(len, found), default=0)
        lines = zip(found, self.sources, strict=True)
        return "\n".join(f"{line:<{width}}  ; {source}".rstrip(" ;") for line, source in lines)

    __repr__ = __str__

    def html(self) -> str:
        """The lines as a table, as a notebook shows them; the first of very many."""
        rows = []
        lines = zip(self.program.located(), self.sources, strict=True)
        for (section, index, ins), source in islice(lines, _LINES):
            cells = [str(index), section, format_line(ins), self._types(ins), source]
            rows.append("".join(f"<td {_LEFT}>{html.escape(cell)}</td>" for cell in cells))
        if len(self) > _LINES:
            more = f"… and {len(self) - _LINES:,} more lines; print() shows them all"
            rows.append(f'<td colspan="5" {_LEFT}>{more}</td>')
        head = "".join(
            f"<th {_LEFT}>{name}</th>" for name in ("#", "section", "instruction", "writes", "from")
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            '<table class="glassbox-listing" style="font-family:monospace;color:inherit">'
            f"<tr>{head}</tr>{body}</table>"
        )

    _repr_html_ = html

    def _types(self, ins: Any) -> str:
        return ", ".join(str(self.program.type_of(ref)) for ref in sorted(ins.effects().writes))


def listing(function: Callable[..., Any] | None = None, *given: Any) -> Listing:
    """The instructions of what was just typed, or of a function.

    Args:
        function: recorded for its listing and not run; without one, the calls that wait, or those
            that ran last.
        given: what it takes.
    """
    if function is None:
        trace = STATE.trace if STATE.trace.patterns else STATE.last or STATE.trace
        return Listing(written(trace, trace.live()).program, trace)
    recording.flush()
    trace = recording.new_trace()
    trace.limit = 1 << 60
    before, STATE.trace = STATE.trace, trace
    scopes, STATE.scopes = STATE.scopes, []
    trace.tape = False
    try:
        shown = list(tensors_in(function(*given)))
        live = tuple(sorted({t._place for t in shown if t._trace is trace}))
        made = Listing(written(trace, live or trace.live()).program, trace)
    finally:
        STATE.trace, STATE.scopes = before, scopes
        for handle in trace.handles:
            tensor = handle()
            if tensor is not None and tensor._trace is trace:
                tensor.dispose()
    return made


def tensor_html(tensor: Tensor) -> str:
    """A tensor as a notebook shows it: its type, its range and a corner of its numbers.

    Colours are left to the notebook, so that it can be read in light and in dark.
    """
    kind = TYPES[tensor._kind]
    if tensor._value is None and tensor._trace is not STATE.trace:
        return f"<div><b>{html.escape(repr(tensor))}</b></div>"
    values = tensor.numpy()
    title = str(kind)
    if isinstance(tensor, Variable):
        title = f"{tensor.name}: {title}"
    rows = "".join(f"<tr>{row}</tr>" for row in _rows(values))
    return (
        f'<div class="glassbox-tensor"><b>{html.escape(title)}</b>{_range(values)}'
        f'<table style="color:inherit">{rows}</table></div>'
    )


def _range(values: Array) -> str:
    """The smallest and the largest number, and how many are none."""
    good, told = values, ""
    if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
        good = values[finite]
        told = f", <b>{values.size - good.size} not finite</b>"
    return f", {_text(good.min())} to {_text(good.max())}{told}" if good.size else told


def _rows(values: Array) -> Iterator[str]:
    """The first rows; of more than two dimensions each with its place in front."""
    width = values.shape[-1] if values.ndim else 1
    flat = values.reshape((values.size // max(width, 1), width))
    for number, row in enumerate(flat[:_ROWS]):
        cells = [_text(value) for value in row[:_COLUMNS]]
        cells += ["…"] if width > _COLUMNS else []
        place = ""
        if values.ndim > 2:
            inner = map(str, np.unravel_index(number, values.shape[:-1]))
            place = f"<th>[{','.join(inner)}]</th>"
        yield place + "".join(f"<td>{cell}</td>" for cell in cells)
    if len(flat) > _ROWS:
        yield "<td>…</td>"


def _text(number: Any) -> str:
    return f"{number:.5g}" if number.dtype.kind == "f" else str(number)
