"""How running results and rankings along a dimension run."""

from __future__ import annotations

from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import GradInstruction

_LOCAL = 64

_JOINS: dict[str, dict[str, str]] = {
    "sum": {"BEGIN": "0", "JOIN(a, b)": "((a) + (b))"},
    "prod": {"BEGIN": "1", "JOIN(a, b)": "((a) * (b))"},
    "max": {"BEGIN": "(-INFINITE)", "JOIN(a, b)": "larger(a, b)"},
    "min": {"BEGIN": "INFINITE", "JOIN(a, b)": "smaller(a, b)"},
}
_WHOLE_BEGIN = {"max": "(-2147483647 - 1)", "min": "2147483647"}
_LONG_SUM = {
    "RUN": "LongSum",
    "BEGIN": "LongSum(0.0, 0.0)",
    "JOIN(a, b)": "plus(a, b)",
    "VALUE(a)": "whole(a)",
}


def _line(op: BoundInstruction) -> dict[str, int | str]:
    """How long a line along the axis is, and how far its elements are apart."""
    shape = op.shape("x")
    axis = op.ins.value("axis") % len(shape)
    return {"LENGTH": shape[axis], "INNER": prod(shape[axis + 1 :])}


def _lines(op: BoundInstruction) -> int:
    """Groups in which each line has an invocation."""
    return groups_for(op.numel("x") // int(_line(op)["LENGTH"]), _LOCAL)


def _join(name: str, kind: str) -> dict[str, int | str]:
    """The macros by which results run on, in floats or whole numbers."""
    if name == "sum" and kind == "float":
        return dict(_LONG_SUM)
    begin = _JOINS[name]["BEGIN"] if kind == "float" else _WHOLE_BEGIN.get(name)
    begin = begin or _JOINS[name]["BEGIN"]
    if kind == "float" and begin.isdigit():
        begin = f"{begin}.0"
    return {**_JOINS[name], "RUN": kind, "BEGIN": begin, "VALUE(a)": "(a)"}


def _cumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    ins = op.ins
    defines = {
        **_line(op),
        **_join(ins.value("op"), op.layout("x").value_type),
        "TURNED": int(ins.value("reverse")),
        "LEAVES_OUT": int(ins.value("exclusive")),
    }
    return (DispatchSpec("cumulate", groups=(_lines(op), 1, 1), defines=defines),)


def _grads_cumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    ins = op.ins
    if not isinstance(ins, GradInstruction) or not op.wants("x"):
        return ()
    name, groups = ins.value("op"), (_lines(op), 1, 1)
    if name == "sum":
        # A sum that goes the other way.
        bind: dict[str, Ref] = {"x": op.ref("dy"), "y": op.ref("dx")}
        defines = {
            **_line(op),
            **_LONG_SUM,
            "TURNED": int(not ins.value("reverse")),
            "LEAVES_OUT": int(ins.value("exclusive")),
        }
        adds = frozenset(() if ins.sets("x") else {"y"})
        return (DispatchSpec("cumulate", groups=groups, bind=bind, adds=adds, defines=defines),)
    if name == "prod":
        return (DispatchSpec("grads_cumulate_product", groups=groups, defines=_line(op)),)
    better = "((a) > (b))" if name == "max" else "((a) < (b))"
    defines = {**_line(op), "BETTER(a, b)": better}
    return (DispatchSpec("grads_cumulate_extreme", groups=groups, defines=defines),)


def _topk(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    defines = {**_line(op), "TOP": op.ins.value("k")}
    groups = (groups_for(op.numel("x"), _LOCAL), 1, 1)
    return (DispatchSpec("topk", groups=groups, defines=defines),)


def _grads_topk(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    defines = {**_line(op), "TOP": op.ins.value("k")}
    return (DispatchSpec("grads_topk", "dx", defines=defines),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "CUMULATE": (Variant("simple", _cumulate),),
    "GRADS_CUMULATE": (Variant("simple", _grads_cumulate),),
    "TOPK": (Variant("simple", _topk),),
    "GRADS_TOPK": (Variant("simple", _grads_topk),),
}
