"""How softmax runs: a row by one invocation, or by a work group where rows are long."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant, value_gradient
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import GradInstruction
from studio.engine.isa.ops.softmax import AxisFunction

_LOCAL = 64
_SHORT = 16
"""Rows up to this long are one invocation's."""
_LONG = 512
"""Rows from this length on are the work of 256 invocations."""


_WIDE_APART = 16
"""From this distance between neighbours of a row on, invocations take a row each."""


def row_lanes(length: int) -> tuple[int, int]:
    """Invocations that share a row of that length on a GPU, and those of a work group."""
    if length <= _SHORT:
        return 1, _LOCAL
    if length < _LONG:
        return 32, _LOCAL
    return 256, 256


def _apart(op: BoundInstruction) -> int:
    """How far apart neighbours of a row are."""
    ins = op.ins.forward.of_grad(op.ins) if isinstance(op.ins, GradInstruction) else op.ins
    return ins.apart(op.shape("y")) if isinstance(ins, AxisFunction) else 1


def _rows(kernel: str, result: str) -> tuple[Variant, ...]:
    def dispatches(op: BoundInstruction, lanes: int, local: int) -> tuple[DispatchSpec, ...]:
        if result == "dx" and not op.wants("x"):
            return ()
        rows = op.numel("y") // op.ins.value("step")
        groups = groups_for(rows, local // lanes)
        defines = {"LANES": lanes, "APART": _apart(op)}
        return (DispatchSpec(kernel, groups=(groups, 1, 1), local=(local, 1, 1), defines=defines),)

    def shared(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        # Neighbouring invocations read neighbouring elements, of one row or of neighbouring rows.
        if _apart(op) >= _WIDE_APART:
            return dispatches(op, 1, _LOCAL)
        return dispatches(op, *row_lanes(op.ins.value("step")))

    return (
        Variant("rows", lambda op: dispatches(op, 1, _LOCAL), software=1),
        Variant("shared_rows", shared, hardware=1),
    )


_KEEPERS = (64, 32)
"""Invocations that may keep a row between them, the more the better."""
_MOST_KEPT = 16
"""Most vec4 of a row an invocation keeps."""


def _keepers(length: int) -> int:
    """Invocations that keep a row of that length; 0 where none divide it evenly."""
    whole = (n for n in _KEEPERS if length % (4 * n) == 0 and length // (4 * n) <= _MOST_KEPT)
    return next(whole, 0)


def _kept(op: BoundInstruction) -> bool:
    """Whether rows divide evenly among the invocations that keep them, and lie without gaps."""
    length = op.ins.value("step")
    dense = all(op.layout(name).vector_rows and op.layout(name).dense for name in "xy")
    return _keepers(length) > 0 and dense and length >= _SHORT and _apart(op) == 1


def _kept_rows(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    length = op.ins.value("step")
    keepers = _keepers(length)
    groups = groups_for(op.numel("y") // length, _LOCAL // keepers)
    defines = {"LANES": keepers, "KEPT": length // (4 * keepers)}
    return (
        DispatchSpec(
            "softmax_kept", groups=(groups, 1, 1), local=(_LOCAL, 1, 1), defines=defines,
            vector=("x", "y"),
        ),
    )  # fmt: skip


def _softmax() -> tuple[Variant, ...]:
    kept = Variant("kept_rows", _kept_rows, _kept, hardware=2)
    return (*_rows("softmax", "y"), kept)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "SOFTMAX": _softmax(),
    "GRADS_SOFTMAX": _rows("grads_softmax", "dx"),
    "SOFTMAX_LOG": _rows("softmax_log", "y"),
    "GRADS_SOFTMAX_LOG": _rows("grads_softmax_log", "dx"),
    "SOFTMAX_CE": _softmax(),
    "GRADS_SOFTMAX_CE": value_gradient("grads_softmax_ce"),
}
