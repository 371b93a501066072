"""How moves run: copies in another shape, joins, slices, padding, fills."""

from __future__ import annotations

from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant, value_kernel
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.move import Join

_LOCAL = 64


def _joined(op: BoundInstruction) -> int:
    """The joined dimension, counted from the front."""
    ins: Instruction = op.ins
    forward = ins.forward.of_grad(ins) if isinstance(ins, GradInstruction) else ins
    if not isinstance(forward, Join):
        raise TypeError(f"{ins.mnemonic} joins nothing")
    return forward.axis_of(len(op.shape("y")))


def _parts(op: BoundInstruction) -> list[tuple[Ref, int]]:
    """Every part with where it begins along the joined dimension."""
    axis, begin = _joined(op), 0
    found = []
    for part in op.ins.refs("xs"):
        found.append((part, begin))
        begin += op.shape_of(part)[axis]
    return found


def _concat(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return tuple(
        DispatchSpec(
            "concat",
            groups=(groups_for(prod(op.shape_of(part)), _LOCAL), 1, 1),
            bind={"part": part},
            defines={"JOINED": _joined(op)},
            launch=(begin, 0),
        )
        for part, begin in _parts(op)
    )


def _grads_concat(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    ins = op.ins
    dispatches: list[DispatchSpec] = []
    met: set[Ref] = set()
    for part, begin in _parts(op):
        if not isinstance(ins, GradInstruction) or not op.wants("xs"):
            continue
        # A part that stands twice is set by its first place and added to by the others.
        adds = not ins.sets("xs") or part in met
        met.add(part)
        dispatches.append(
            DispatchSpec(
                "grads_concat",
                "dpart",
                bind={"dpart": part.gradient},
                adds=frozenset({"dpart"} if adds else ()),
                defines={"JOINED": _joined(op)},
                launch=(begin, 0),
            )
        )
    return tuple(dispatches)


def _reverse(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("reverse", "y", defines={"TURNED": _turned(op)}),)


def _grads_reverse(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    return (DispatchSpec("grads_reverse", "dx", defines={"TURNED": _turned(op)}),)


def _turned(op: BoundInstruction) -> int:
    """A bit for every dimension that is turned round."""
    axes = op.ins.value("axes") or range(len(op.shape("y")))
    return sum(1 << axis for axis in axes)


def _copies(op: BoundInstruction) -> bool:
    """Whether padding copies what lies inside."""
    return op.ins.value("mode") != "constant" and any(op.ins.value("pads"))


def _pad(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("pad_shown" if _copies(op) else "pad", "y"),)


def _grads_pad(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    kernel = "grads_pad_shown" if _copies(op) else "grads_pad"
    return (DispatchSpec(kernel, "dx"),) if op.wants("x") else ()


def _whole_words(op: BoundInstruction) -> bool:
    """Whether single elements can be stored: packed types cannot be joined part by part."""
    return op.layout("y").per_word == 1


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "FILL": value_kernel("fill"),
    "ZERO": value_kernel("zero"),
    "FLATTEN": value_kernel("flatten"),
    "GRADS_FLATTEN": value_kernel("grads_flatten", "dx"),
    "RESHAPE": value_kernel("reshape"),
    "GRADS_RESHAPE": value_kernel("grads_reshape", "dx"),
    "TRANSPOSE": value_kernel("transpose"),
    "GRADS_TRANSPOSE": value_kernel("grads_transpose", "dx"),
    "SLICE": value_kernel("slice"),
    "GRADS_SLICE": value_kernel("grads_slice", "dx"),
    "REVERSE": (Variant("simple", _reverse),),
    "GRADS_REVERSE": (Variant("simple", _grads_reverse),),
    "RANGE": value_kernel("range"),
    "PAD": (Variant("simple", _pad),),
    "GRADS_PAD": (Variant("simple", _grads_pad),),
    "ONE_HOT": value_kernel("one_hot"),
    "CONCAT": (Variant("simple", _concat, _whole_words),),
    "GRADS_CONCAT": (Variant("simple", _grads_concat),),
    "CONCAT_CHANNEL": (Variant("simple", _concat, _whole_words),),
    "GRADS_CONCAT_CHANNEL": (Variant("simple", _grads_concat),),
}
