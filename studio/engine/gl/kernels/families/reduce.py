"""How reductions over chosen dimensions run: one invocation a result, or several and a fold."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from studio.engine.gl.kernels.column_sums import LOCAL, SUM, fold, parts_of
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

_RULES: dict[str, Mapping[str, str]] = {
    "REDUCE_SUM": SUM,
    "REDUCE_MEAN": {**SUM, "FINISH(v)": "((v) / float(LAUNCH_1))"},
    "REDUCE_MAX": {
        "JOINS_SUM": "0",
        "START": "(-INFINITE)",
        "JOIN(a, b)": "larger(a, b)",
        "FINISH(v)": "(v)",
    },
    "REDUCE_MIN": {
        "JOINS_SUM": "0",
        "START": "INFINITE",
        "JOIN(a, b)": "smaller(a, b)",
        "FINISH(v)": "(v)",
    },
}


_WHOLE_RULES: dict[str, Mapping[str, str]] = {
    "REDUCE_SUM": {"START": "0", "JOIN(a, b)": "((a) + (b))"},
    "REDUCE_MAX": {"START": "(-2147483647 - 1)", "JOIN(a, b)": "max(a, b)"},
    "REDUCE_MIN": {"START": "2147483647", "JOIN(a, b)": "min(a, b)"},
}
_WHOLE_LANES = 64
"""Invocations that share a result of whole numbers at most."""


def _axes(op: BoundInstruction) -> tuple[int, ...]:
    return op.ins.value("axes") or tuple(range(len(op.shape("x"))))


def _count(op: BoundInstruction) -> int:
    """Elements that become one."""
    shape = op.shape("x")
    return prod(shape[axis] for axis in _axes(op))


def _mask(op: BoundInstruction) -> int:
    return sum(1 << axis for axis in _axes(op))


def _reduce_whole(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Whole numbers are joined in any order to the same bits, so one dispatch does."""
    count, lanes = _count(op), 1
    while lanes < _WHOLE_LANES and lanes < count and not op.caps.is_software:
        lanes *= 2
    return (
        DispatchSpec(
            "reduce_whole",
            groups=(groups_for(op.numel("y"), LOCAL // lanes), 1, 1),
            local=(LOCAL, 1, 1),
            defines={"REDUCED": _mask(op), "LANES": lanes, **_WHOLE_RULES[op.ins.mnemonic]},
            launch=(0, count),
        ),
    )


def _reduce(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if op.layout("x").value_type == "int":
        return _reduce_whole(op)
    count, kept = _count(op), op.numel("y")
    rank = len(op.shape("x"))
    rule = _RULES[op.ins.mnemonic]
    parts = parts_of(op, count, kept)
    room = parts * kept if parts > 1 else 0
    first = DispatchSpec(
        "reduce",
        groups=(groups_for(parts * kept, LOCAL), 1, 1),
        defines={"REDUCED": _mask(op), "LAST_REDUCED": int(rank - 1 in _axes(op)), **rule},
        launch=(parts, count),
        scratch=room,
        partial=parts > 1,
    )
    return (first, fold(op, "y", kept, parts, room, count, rule)) if parts > 1 else (first,)


def _grads_spread(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    mean = int(op.ins.mnemonic == "GRADS_REDUCE_MEAN")
    defines: dict[str, int | str] = {"REDUCED": _mask(op), "MEAN": mean}
    if not op.wants("x"):
        return ()
    return (DispatchSpec("grads_reduce", "dx", defines=defines, launch=(_count(op), 0)),)


def _grads_first(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    groups = groups_for(op.numel("y"), LOCAL)
    defines: dict[str, int | str] = {"REDUCED": _mask(op)}
    return (
        DispatchSpec(
            "grads_reduce_first",
            groups=(groups, 1, 1),
            defines=defines,
            launch=(_count(op), 0),
        ),
    )


def _argmax(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("argmax", "y", defines={"LENGTH": op.shape("x")[-1]}),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    **{name: (Variant("simple", _reduce),) for name in _RULES},
    "GRADS_REDUCE_SUM": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MEAN": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MAX": (Variant("simple", _grads_first),),
    "GRADS_REDUCE_MIN": (Variant("simple", _grads_first),),
    "ARGMAX": (Variant("simple", _argmax),),
}
