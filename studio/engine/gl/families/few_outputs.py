"""How fully connected layers with few outputs run on a GPU: no tile would be full of them."""

from __future__ import annotations

from functools import partial
from math import prod

from studio.engine.compiler.target import GL
from studio.engine.gl.dispatch import groups_for
from studio.engine.gl.specs import Case, Pass, Variant

MOST_OUTPUTS = 16
_MOST_DEPTH = 4096
"""Longer sums are better cut into parts."""
_MOST_ROWS = {"LINEAR": 4096, "GRADS_LINEAR": 1024}
"""With more rows a tile reads the weights less often, and the sums of dw are worth more groups."""
_LOCAL = 256
_SLICES = 16
"""Invocations that share a sum."""
_FULL = 512
"""Work groups from which on rows rather share what is read."""
_FEW_ROWS = 256
"""Rows up to which work groups of dw have twice the columns."""
_LARGEST_COVER = 4


def _few(case: Case) -> bool:
    """Whether outputs, rows and depth suit."""
    out, depth = case.shape("w")
    rows = prod(case.shape("y")[:-1])
    most = _MOST_ROWS[case.ins.mnemonic]
    return out <= MOST_OUTPUTS and depth <= _MOST_DEPTH and 0 < rows <= most


def _cover(out: int, least: int) -> int:
    """The power of two that covers the outputs."""
    cover = least
    while cover < out:
        cover *= 2
    return cover


def _rows_each(units: int) -> int:
    """Rows an invocation has, where so many work groups would have one each."""
    each = 1
    while each < _LARGEST_COVER and units > _FULL * each:
        each *= 2
    return each


def _linear(case: Case) -> tuple[Pass, ...]:
    rows = prod(case.shape("y")[:-1])
    cover = _cover(case.shape("w")[0], 1)
    lines = _LOCAL // (_SLICES * cover)
    each = _rows_each(groups_for(rows, lines))
    return (
        Pass(
            "linear_few",
            groups=(groups_for(rows, lines * each), 1, 1),
            local=(_LOCAL, 1, 1),
            vector=("x", "w"),
            defines={
                **_sizes(case, "x", "w"),
                "COVER": cover,
                "SLICES": _SLICES,
                "ROWS_EACH": each,
            },
        ),
    )


def _sizes(case: Case, *vectors: str) -> dict[str, int | str]:
    out, depth = case.shape("w")
    four = {f"FOUR_{name.upper()}": int(case.layout(name).vector_rows) for name in vectors}
    return {"OUT": out, "IN": depth, **four}


def _grads_linear(case: Case) -> tuple[Pass, ...]:
    rows = prod(case.shape("y")[:-1])
    out, depth = case.shape("w")
    quads = 4 if rows <= _FEW_ROWS else 2
    blocks = groups_for(depth, 4 * quads) if case.wants("w") else int(case.wants("b"))
    units = groups_for(rows * groups_for(depth, 4), _LOCAL)
    each = _rows_each(units)
    units = groups_for(groups_for(rows, each) * groups_for(depth, 4), _LOCAL)
    make = partial(
        Pass,
        local=(_LOCAL, 1, 1),
        vector=("x", "w", "dw", "dx"),
        defines={
            **_sizes(case, "x", "w", "dw", "dx"),
            "COVER": _cover(out, 4),
            "QUADS": quads,
            "ROWS_EACH": each,
        },
    )
    # One dispatch each: that of the weights takes longer than that of x and is wanted later.
    passes = []
    if blocks:
        late = rows <= GL.lingering_rows
        passes.append(make("grads_linear_few_dw", groups=(blocks, 1, 1), patient=late))
    if case.wants("x"):
        passes.append(make("grads_linear_few_dx", groups=(units, 1, 1)))
    return tuple(passes)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "LINEAR": (Variant("few", _linear, _few, hardware=3),),
    "GRADS_LINEAR": (Variant("few", _grads_linear, _few, hardware=3),),
}
