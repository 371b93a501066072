"""The instructions behind what was typed, and how tensors and listings look in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from studio.engine.core.tensor import shape_text
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program
from studio.engine.ops import recording
from studio.engine.ops.call_trace import Trace
from studio.engine.ops.handle import Tensor
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.programs import call_of, written
from studio.engine.ops.recording import STATE
from studio.engine.ops.scopes import tensors_in

_SHOWN = 1000
_ROWS, _COLUMNS = 12, 12


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
        """The lines as a table, as a notebook shows them."""
        rows = []
        for (section, index, ins), source in zip(self.program.located(), self.sources, strict=True):
            cells = [str(index), section, format_line(ins), self._types(ins), source]
            rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
        head = "".join(
            f"<th>{name}</th>" for name in ("#", "section", "instruction", "writes", "from")
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            '<table class="glassbox-listing" style="font-family:monospace;text-align:left">'
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
    """A tensor as a notebook shows it: its type, its range and a corner of its numbers."""
    kind = TYPES[tensor._kind]
    title = f"{kind.dtype.name} {shape_text(kind.shape)}"
    if tensor._value is None and tensor._trace is not STATE.trace:
        return f"<div><b>{html.escape(repr(tensor))}</b></div>"
    values = tensor.numpy()
    width = values.shape[-1] if values.ndim else 1
    flat = values.reshape((values.size // max(width, 1), width))
    told = ""
    if values.size:
        told = f", {_text(values.min())} to {_text(values.max())}"
    if values.dtype.kind == "f" and (bad := int(np.count_nonzero(~np.isfinite(values)))):
        told += f", <b>{bad} not finite</b>"
    rows = []
    for row in flat[:_ROWS]:
        cells = [_text(number) for number in row[:_COLUMNS]]
        cells += ["…"] if len(row) > _COLUMNS else []
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    rows += ["<td>…</td>"] if len(flat) > _ROWS else []
    body = "".join(chain.from_iterable(("<tr>", row, "</tr>") for row in rows))
    return f'<div class="glassbox-tensor"><b>{title}</b>{told}<table>{body}</table></div>'


def _text(number: Any) -> str:
    return f"{number:.5g}" if number.dtype.kind == "f" else str(number)
