"""Matrix products cut for the threads that share them.

The longer side of the result is cut: every thread packs the other side whole, so that side should
be the short one.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from studio.engine.cpu.machine.threads import WORTH_FLOPS, cut_steps, run_together
from studio.engine.cpu.memory.views import Floats, Run, Views

_LANES = 16
"""Rows or columns are dealt out in groups of this many, as wide as a processor's vectors."""


def product(views: Views, left: Floats, right: Floats, out: Floats) -> Run:
    """A run of out = left·right, over the last two dimensions."""
    parts = product_parts(left, right, out, views.config.threads)
    rows, columns = out.shape[-2:]
    views.note("matmul", len(parts), "columns" if columns >= rows else "rows")
    return parts[0] if len(parts) == 1 else partial(run_together, parts)


def product_parts(
    left: Floats, right: Floats, out: Floats, threads: int, add: Floats | None = None
) -> list[Run]:
    """Runs that together make out = left·right + add; one where sharing does not pay.

    Args:
        left: [..., rows, inner].
        right: [..., inner, columns].
        out: [..., rows, columns].
        threads: how many may share the work.
        add: [columns], added to every row.
    """
    rows, columns = out.shape[-2:]
    count = threads if 2 * out.size * left.shape[-1] >= WORTH_FLOPS else 1
    if columns >= rows:
        return [
            _part(left, right[..., cut], out[..., cut], add if add is None else add[cut])
            for cut in cut_steps(columns, count, _LANES)
        ]
    cuts = cut_steps(rows, count, _LANES)
    return [_part(left[..., cut, :], right, out[..., cut, :], add) for cut in cuts]


def _part(left: Floats, right: Floats, out: Floats, add: Floats | None) -> Run:
    if add is None:
        return lambda: np.matmul(left, right, out=out)

    def run() -> None:
        np.matmul(left, right, out=out)
        np.add(out, add, out=out)

    return run
