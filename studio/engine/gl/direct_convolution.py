"""Convolutions with few channels and their gradients without products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.column_sums import product_fold
from studio.engine.gl.dispatch import groups_for
from studio.engine.gl.specs import Case, Pass
from studio.engine.gl.tallies import TallyGrid
from studio.engine.gl.windows import covered, geometry

_LOCAL = 128
_BLOCK = 16
"""Channels of the result whose weights a work group keeps."""
_MOST_CHANNELS = 32
_FEWEST_CHANNELS = 8
_ROOM = 24 << 10
"""Bytes of shared memory the weights may take."""
_NEIGHBOURS = (8, 4)
"""Positions an invocation may have, the more the better."""
_BUSY = 65536
"""Invocations that keep a GPU busy."""
_WIDEST = 5
"""Columns of a filter whose sums an invocation can keep."""
_MOST_FACTORS = 64
"""Channels and filters up to which its gradient is made without a product."""
_MOST_LOCAL = 256
_WEIGHT_GROUPS = 264
"""Work groups worth having for the gradient of weights."""
_FEWEST_ROWS = 12
"""Rows of neighbours an invocation goes over there at least, where there are that many."""


@dataclass(frozen=True)
class _Sides:
    """What is convolved into what.

    Attributes:
        source: accessor name of the input.
        result: accessor name of the result.
        bias: added to every position, where present.
        flipped: whether weights are taken turned round, inputs and results exchanged.
    """

    source: str
    result: str
    bias: Ref | None = None
    flipped: bool = False


def _sides(case: Case, gradient: bool) -> _Sides:
    if gradient:
        return _Sides("dy", "dx", flipped=True)
    return _Sides("x", "y", case.ref("b") if case.has("b") else None)


def is_direct(case: Case, *, gradient: bool = False) -> bool:
    """Whether the kernel can run a convolution, or the gradient of its input."""
    ins, sides = case.ins, _sides(case, gradient)
    kh, kw = case.shape("w")[:2]
    channels, made = case.shape(sides.source)[3], case.shape(sides.result)[3]
    steps = [ins.value(f"{name}_{side}") for name in ("stride", "dil") for side in "hw"]
    block = min(made, _BLOCK)
    return (
        all(step == 1 for step in steps)
        and min(channels, made) >= _FEWEST_CHANNELS
        and max(channels, made) <= _MOST_CHANNELS
        and kh * kw > 1
        and made % block == 0
        and (block & (block - 1)) == 0
        and kh * kw * channels * block * 4 <= _ROOM
        and case.shape(sides.result)[2] % _NEIGHBOURS[-1] == 0
        and case.layout(sides.source).vector_rows
        and case.layout(sides.result).vector_rows
    )


def direct_pass(case: Case, *, gradient: bool = False) -> Pass:
    """The dispatch of a convolution, or of the gradient of its input."""
    ins, sides = case.ins, _sides(case, gradient)
    kh, kw = case.shape("w")[:2]
    channels = case.shape(sides.source)[3]
    n, height, width, made = case.shape(sides.result)
    threads = prod((n, height, width, made)) // 4
    fitting = [p for p in _NEIGHBOURS if width % p == 0]
    neighbours = next((p for p in fitting if threads // p >= _BUSY), fitting[-1])
    block = min(made, _BLOCK)
    rows = n * height * (width // neighbours)
    groups = groups_for(rows, _LOCAL * 4 // block) * (made // block)
    top, left = ins.value("pad_h"), ins.value("pad_w")
    if gradient:
        top, left = kh - 1 - top, kw - 1 - left
    bind = {"source": case.ref(sides.source), "y": case.ref(sides.result)}
    if sides.bias is not None:
        bind["bias"] = sides.bias
    return Pass(
        "conv2d_direct",
        groups=(groups, 1, 1),
        local=(_LOCAL, 1, 1),
        bind=bind,
        adds=frozenset({"y"} if case.adds(sides.result) else ()),
        vector=("source", "y", "bias", *(() if gradient else ("w",))),
        defines={
            "KH": kh,
            "KW": kw,
            "IN_C": channels,
            "OUT_C": made,
            "TOP": top,
            "LEFT": left,
            "BLOCK": block,
            "NEIGHBOURS": neighbours,
            "FLIPPED": int(gradient),
            "HALO": int(not gradient and covered(case)),
            "HAS_BIAS": int(sides.bias is not None),
        },
        launch=(rows, kh * channels // 4),
        takes=TallyGrid(_LOCAL * 4 // block * neighbours, block // 4),
    )


@dataclass(frozen=True)
class WeightGrid:
    """How work groups lie over the gradient of a convolution's weights.

    Attributes:
        quads: quadruples of filters a work group has.
        slots: shares of the positions a work group's invocations go over side by side.
        local: invocations of a work group.
        neighbours: positions of a row an invocation takes at once.
        parts: work groups that share the positions.
    """

    quads: int
    slots: int
    local: int
    neighbours: int
    parts: int


def weight_grid(case: Case) -> WeightGrid | None:
    """The grid for the gradient of the weights; None where the kernel cannot make it."""
    ins = case.ins
    kh, kw, channels, filters = case.shape("w")
    n, height, width, _ = case.shape("y")
    neighbours = next((p for p in (4, 2) if width % p == 0), 0)
    suits = (
        ins.value("dil_h") == ins.value("dil_w") == 1
        and neighbours > 0
        and 1 < kw <= _WIDEST
        and channels % 4 == filters % 4 == 0
        and max(channels, filters) <= _MOST_FACTORS
        and case.layout("x").vector_rows
        and case.layout("dy").vector_rows
    )
    each = kh * (channels // 4)
    quads = filters // 4
    while quads % 2 == 0 and each * quads > _MOST_LOCAL:
        quads //= 2
    if not suits or each * quads > _MOST_LOCAL:
        return None
    slots = max(_MOST_LOCAL // (each * quads), 1)
    rows = n * height * (width // neighbours)
    most = groups_for(_WEIGHT_GROUPS, filters // 4 // quads)
    parts = max(min(groups_for(rows, slots * _FEWEST_ROWS), most), 1)
    return WeightGrid(quads, slots, each * quads * slots, neighbours, parts)


def weight_passes(case: Case, grid: WeightGrid) -> tuple[Pass, Pass]:
    """The dispatches of the gradient of the weights: parts, and their sum."""
    count, filters = case.numel("w"), case.shape("w")[3]
    adds = frozenset({"y"} if case.adds("dw") else ())
    first = Pass(
        "grads_conv2d_dw_direct",
        groups=(filters // 4 // grid.quads * grid.parts, 1, 1),
        local=(grid.local, 1, 1),
        bind={"y": case.ref("dw")},
        adds=adds,
        vector=("x", "dy"),
        defines={
            **geometry(case),
            "QUADS": grid.quads,
            "SLOTS": grid.slots,
            "NEIGHBOURS": grid.neighbours,
        },
        launch=(grid.parts, 0),
        scratch=grid.parts * count,
    )
    return first, product_fold(case, first, grid.parts, filters, count)
