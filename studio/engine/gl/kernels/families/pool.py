"""How pooling runs: one invocation per result or four, and back one per cell or per window."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.specs import (
    BoundInstruction,
    DispatchSpec,
    Variant,
    value_gradient,
    value_kernel,
)
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64


def _fours(op: BoundInstruction) -> bool:
    """Whether four neighbouring channels are one access of every operand."""
    return op.layout("x").vector_rows and op.layout("y").vector_rows


def _windows(op: BoundInstruction) -> tuple[int, int]:
    """Rows and columns of a window."""
    return op.ins.value("window_h"), op.ins.value("window_w")


def _inner(op: BoundInstruction) -> bool:
    """Whether no window reaches over the edge of x."""
    ins = op.ins
    _, height, width, _ = op.shape("x")
    _, rows, cols, _ = op.shape("y")
    window_h, window_w = _windows(op)
    reach_h = (rows - 1) * ins.value("stride_h") + window_h
    reach_w = (cols - 1) * ins.value("stride_w") + window_w
    padded = bool(ins.value("pad_h") or ins.value("pad_w"))
    return not padded and bool(reach_h <= height and reach_w <= width)


def _maxpool_fours(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (
        DispatchSpec(
            "maxpool2d_four",
            groups=(groups_for(op.numel("y"), 4 * _LOCAL), 1, 1),
            vector=("x", "y"),
            defines={"INNER": int(_inner(op))},
        ),
    )


def _side_by_side(op: BoundInstruction) -> bool:
    """Whether every cell of x lies in one window at most, and in order."""
    ins = op.ins
    steps = ins.value("stride_h"), ins.value("stride_w")
    padded = bool(ins.value("pad_h") or ins.value("pad_w"))
    return _fours(op) and not padded and bool(steps == _windows(op))


def _grads_windows(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    n, height, width, channels = op.shape("x")
    cells = zip((height, width), _windows(op), strict=True)
    count = n * prod(groups_for(*pair) for pair in cells) * (channels // 4)
    return (
        DispatchSpec(
            "grads_maxpool2d_windows",
            groups=(groups_for(count, _LOCAL), 1, 1),
            vector=("x", "dy", "dx"),
        ),
    )


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "MAXPOOL2D": (
        *value_kernel("maxpool2d"),
        Variant("fours", _maxpool_fours, _fours, software=1, hardware=1),
    ),
    "GRADS_MAXPOOL2D": (
        *value_gradient("grads_maxpool2d"),
        Variant("windows", _grads_windows, _side_by_side, software=1, hardware=1),
    ),
    "AVGPOOL2D": value_kernel("avgpool2d"),
    "GRADS_AVGPOOL2D": value_gradient("grads_avgpool2d"),
    "GLOBAL_AVGPOOL2D": value_kernel("global_avgpool2d"),
    "GRADS_GLOBAL_AVGPOOL2D": value_gradient("grads_global_avgpool2d"),
}
