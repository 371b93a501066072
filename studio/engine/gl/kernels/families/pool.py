"""How pooling runs: one invocation per result or four, and back one per cell or per window."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.specs import Case, Pass, Variant, value_kernel
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64


def gradient(kernel: str, operand: str = "x") -> tuple[Variant, ...]:
    """The single variant of a gradient whose file is a value kernel over one operand's gradient."""

    def plan(case: Case) -> tuple[Pass, ...]:
        return (Pass(kernel, f"d{operand}"),) if case.wants(operand) else ()

    return (Variant("simple", plan),)


def _fours(case: Case) -> bool:
    """Whether four neighbouring channels are one access of every operand."""
    return case.layout("x").vector_rows and case.layout("y").vector_rows


def _windows(case: Case) -> tuple[int, int]:
    """Rows and columns of a window."""
    return case.ins.value("window_h"), case.ins.value("window_w")


def _inner(case: Case) -> bool:
    """Whether no window reaches over the edge of x."""
    ins = case.ins
    _, height, width, _ = case.shape("x")
    _, rows, cols, _ = case.shape("y")
    window_h, window_w = _windows(case)
    reach_h = (rows - 1) * ins.value("stride_h") + window_h
    reach_w = (cols - 1) * ins.value("stride_w") + window_w
    padded = bool(ins.value("pad_h") or ins.value("pad_w"))
    return not padded and bool(reach_h <= height and reach_w <= width)


def _maxpool_fours(case: Case) -> tuple[Pass, ...]:
    return (
        Pass(
            "maxpool2d_four",
            groups=(groups_for(case.numel("y"), 4 * _LOCAL), 1, 1),
            vector=("x", "y"),
            defines={"INNER": int(_inner(case))},
        ),
    )


def _side_by_side(case: Case) -> bool:
    """Whether every cell of x lies in one window at most, and in order."""
    ins = case.ins
    steps = ins.value("stride_h"), ins.value("stride_w")
    padded = bool(ins.value("pad_h") or ins.value("pad_w"))
    return _fours(case) and not padded and bool(steps == _windows(case))


def _grads_windows(case: Case) -> tuple[Pass, ...]:
    if not case.wants("x"):
        return ()
    n, height, width, channels = case.shape("x")
    cells = zip((height, width), _windows(case), strict=True)
    count = n * prod(groups_for(*pair) for pair in cells) * (channels // 4)
    return (
        Pass(
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
        *gradient("grads_maxpool2d"),
        Variant("windows", _grads_windows, _side_by_side, software=1, hardware=1),
    ),
    "AVGPOOL2D": value_kernel("avgpool2d"),
    "GRADS_AVGPOOL2D": gradient("grads_avgpool2d"),
    "GLOBAL_AVGPOOL2D": value_kernel("global_avgpool2d"),
    "GRADS_GLOBAL_AVGPOOL2D": gradient("grads_global_avgpool2d"),
}
