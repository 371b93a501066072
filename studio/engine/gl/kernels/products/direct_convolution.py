"""Convolutions with few channels and the gradients of their inputs without products."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.partial_sums import PartGrid
from studio.engine.gl.kernels.products.windows import covered
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec
from studio.engine.gl.shader.dispatch import groups_for

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


def _sides(op: BoundInstruction, gradient: bool) -> _Sides:
    if gradient:
        return _Sides("dy", "dx", flipped=True)
    return _Sides("x", "y", op.ref("b") if op.has("b") else None)


def is_direct(op: BoundInstruction, *, gradient: bool = False) -> bool:
    """Whether the kernel can run a convolution, or the gradient of its input."""
    ins, sides = op.ins, _sides(op, gradient)
    kh, kw = op.shape("w")[:2]
    channels, made = op.shape(sides.source)[3], op.shape(sides.result)[3]
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
        and op.shape(sides.result)[2] % _NEIGHBOURS[-1] == 0
        and op.layout(sides.source).vector_rows
        and op.layout(sides.result).vector_rows
    )


def direct_dispatch(op: BoundInstruction, *, gradient: bool = False) -> DispatchSpec:
    """The dispatch of a convolution, or of the gradient of its input."""
    ins, sides = op.ins, _sides(op, gradient)
    kh, kw = op.shape("w")[:2]
    channels = op.shape(sides.source)[3]
    n, height, width, made = op.shape(sides.result)
    threads = prod((n, height, width, made)) // 4
    fitting = [p for p in _NEIGHBOURS if width % p == 0]
    neighbours = next((p for p in fitting if threads // p >= _BUSY), fitting[-1])
    block = min(made, _BLOCK)
    rows = n * height * (width // neighbours)
    groups = groups_for(rows, _LOCAL * 4 // block) * (made // block)
    top, left = ins.value("pad_h"), ins.value("pad_w")
    if gradient:
        top, left = kh - 1 - top, kw - 1 - left
    bind = {"source": op.ref(sides.source), "y": op.ref(sides.result)}
    if sides.bias is not None:
        bind["bias"] = sides.bias
    return DispatchSpec(
        "conv2d_direct",
        groups=(groups, 1, 1),
        local=(_LOCAL, 1, 1),
        bind=bind,
        adds=frozenset({"y"} if op.adds(sides.result) else ()),
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
            "HALO": int(not gradient and covered(op)),
            "HAS_BIAS": int(sides.bias is not None),
        },
        launch=(rows, kh * channels // 4),
        held_stores=neighbours,
        sum_grid=PartGrid(_LOCAL * 4 // block * neighbours, block // 4),
    )
