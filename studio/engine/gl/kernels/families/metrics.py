"""How counts over an epoch run: whole numbers in any order, weights and sums in a fixed one."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64
_SUM_LOCAL = {True: 16, False: 256}
"""Invocations that share a column on a software renderer and on a GPU."""


def _per_weight(op: BoundInstruction, operand: str) -> dict[str, int | str]:
    """Rows that have one weight together."""
    if not op.has("weights"):
        return {}
    rows = prod(op.shape(operand)[:-1])
    return {"PER_WEIGHT": max(rows // max(op.numel("weights"), 1), 1)}


def _counted(
    op: BoundInstruction, kernel: str, invocations: int, rows: int, defines: dict[str, int | str]
) -> tuple[DispatchSpec, ...]:
    return (
        DispatchSpec(
            kernel,
            groups=(groups_for(invocations, _LOCAL), 1, 1),
            local=(_LOCAL, 1, 1),
            defines={"CLASSES": op.shape("p")[-1], **defines, **_per_weight(op, "p")},
            launch=(rows, 0),
        ),
    )


def _thresholds(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    count = op.numel("p")
    if op.has("weights"):
        return _counted(op, "threshold_sums", op.numel("counts") // 2, count, {})
    return _counted(op, "threshold_counts", count, count, {})


def _confusion(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    shape = op.shape("p")
    rows = prod(shape[:-1])
    defines: dict[str, int | str] = {"SPARSE": int(len(op.shape("t")) < len(shape))}
    if op.has("weights"):
        return _counted(op, "confusion_sums", shape[-1], rows, defines)
    return _counted(op, "confusion", rows, rows, defines)


def _accumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    shape = op.shape("x")
    return (
        DispatchSpec(
            "accumulate",
            groups=(shape[-1] + 1, 1, 1),
            local=(_SUM_LOCAL[op.caps.is_software], 1, 1),
            defines={"COLS": shape[-1], **_per_weight(op, "x")},
            launch=(prod(shape[:-1]), 0),
        ),
    )


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "THRESHOLD_COUNTS": (Variant("simple", _thresholds),),
    "CONFUSION": (Variant("simple", _confusion),),
    "ACCUMULATE": (Variant("simple", _accumulate),),
}
