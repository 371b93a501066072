"""How running results and rankings along a dimension run."""

from __future__ import annotations

from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.sorting import LINE, joins
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import GradInstruction


def _line(op: BoundInstruction) -> dict[str, int | str]:
    """How long a line along the axis is, and how far its elements are apart."""
    shape = op.shape("x")
    axis = op.ins.value("axis") % len(shape)
    return {"LENGTH": shape[axis], "INNER": prod(shape[axis + 1 :])}


def _lines(op: BoundInstruction) -> int:
    """Groups in which each line has an invocation."""
    return groups_for(op.numel("x") // int(_line(op)["LENGTH"]), LINE)


def _cumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    ins = op.ins
    defines = {
        **_line(op),
        **joins(ins.value("op"), op.layout("x").value_type),
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
            **joins("sum", "float"),
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
    groups = (groups_for(op.numel("x"), LINE), 1, 1)
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
