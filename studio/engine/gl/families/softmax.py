"""How softmax runs: a row by one invocation, or by a work group where rows are long."""

from __future__ import annotations

from studio.engine.gl.dispatch import groups_for
from studio.engine.gl.families.pool import gradient
from studio.engine.gl.specs import Case, Pass, Variant

_LOCAL = 64
_SHORT = 16
"""Rows up to this long are one invocation's."""
_LONG = 512
"""Rows from this length on are the work of 256 invocations."""


def row_lanes(length: int) -> tuple[int, int]:
    """Invocations that share a row of that length on a GPU, and those of a work group."""
    if length <= _SHORT:
        return 1, _LOCAL
    if length < _LONG:
        return 32, _LOCAL
    return 256, 256


def _rows(kernel: str, result: str) -> tuple[Variant, ...]:
    def passes(case: Case, lanes: int, local: int) -> tuple[Pass, ...]:
        if result == "dx" and not case.wants("x"):
            return ()
        rows = case.numel("y") // case.ins.value("step")
        groups = groups_for(rows, local // lanes)
        return (Pass(kernel, groups=(groups, 1, 1), local=(local, 1, 1), defines={"LANES": lanes}),)

    def shared(case: Case) -> tuple[Pass, ...]:
        return passes(case, *row_lanes(case.ins.value("step")))

    return (
        Variant("rows", lambda case: passes(case, 1, _LOCAL), software=1),
        Variant("shared_rows", shared, hardware=1),
    )


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "SOFTMAX": _rows("softmax", "y"),
    "GRADS_SOFTMAX": _rows("grads_softmax", "dx"),
    "SOFTMAX_LOG": _rows("softmax_log", "y"),
    "GRADS_SOFTMAX_LOG": _rows("grads_softmax_log", "dx"),
    "SOFTMAX_CE": _rows("softmax", "y"),
    "GRADS_SOFTMAX_CE": gradient("grads_softmax_ce"),
}
