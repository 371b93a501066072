"""How reductions over chosen dimensions run: one invocation a result, or several and a fold."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from studio.engine.gl.kernels.column_sums import LOCAL, SUM, fold, parts_of
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.ops.reduce import ArgExtreme, ArgMax

_RULES: dict[str, Mapping[str, str]] = {
    "REDUCE_SUM": SUM,
    "REDUCE_MEAN": {**SUM, "FINISH(v)": "((v) / float(LAUNCH_1))"},
    "REDUCE_PROD": {
        "JOINS_SUM": "0",
        "START": "1.0",
        "JOIN(a, b)": "((a) * (b))",
        "FINISH(v)": "(v)",
    },
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
    "REDUCE_PROD": {"START": "1", "JOIN(a, b)": "((a) * (b))"},
    "REDUCE_MAX": {"START": "(-2147483647 - 1)", "JOIN(a, b)": "max(a, b)"},
    "REDUCE_MIN": {"START": "2147483647", "JOIN(a, b)": "min(a, b)"},
}
_WHOLE_LANES = 64
"""Invocations that share a result of whole numbers at most."""


_STRETCH = 8
"""Elements of a product whose gradients an invocation finds at least, where there are that many."""


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


def _grads_product(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Invocations of a work group share a group of elements, each with a stretch of them."""
    if not op.wants("x"):
        return ()
    count, lanes = _count(op), 1
    while lanes < LOCAL and lanes * _STRETCH < count and not op.caps.is_software:
        lanes *= 2
    return (
        DispatchSpec(
            "grads_reduce_prod",
            groups=(groups_for(op.numel("y"), LOCAL // lanes), 1, 1),
            local=(LOCAL, 1, 1),
            defines={"REDUCED": _mask(op), "LANES": lanes},
            launch=(count, 0),
            scratch=op.numel("x"),
        ),
    )


def _arg_extreme(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not isinstance(op.ins, ArgExtreme):
        raise TypeError(f"{op.ins.mnemonic} has no axis")
    shape = op.shape("x")
    axis = op.ins.axis_of(len(shape))
    defines = {
        "LENGTH": shape[axis] if axis else "LAUNCH_0",
        "APART": prod(shape[axis + 1 :]),
        "BEATS(a, b)": "((a) > (b))" if isinstance(op.ins, ArgMax) else "((a) < (b))",
    }
    return (DispatchSpec("arg_extreme", "y", defines=defines, launch=(shape[axis], 0)),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    **{name: (Variant("simple", _reduce),) for name in _RULES},
    "GRADS_REDUCE_SUM": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MEAN": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MAX": (Variant("simple", _grads_first),),
    "GRADS_REDUCE_MIN": (Variant("simple", _grads_first),),
    "GRADS_REDUCE_PROD": (Variant("simple", _grads_product),),
    "ARGMAX": (Variant("simple", _arg_extreme),),
    "ARGMIN": (Variant("simple", _arg_extreme),),
}
