"""How data instructions run: gathering batches, looking rows up, the step block, the ring."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

_AT_ONCE = 4
"""Scalars one dispatch of ``record`` writes."""
_WIDE_LOCAL = 256
_FULL = 528
"""Work groups that fill a GPU; from there on invocations rather copy several pieces each."""
_MOST_EACH = 4


def _take(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("take", "y", defines={"INNER": prod(op.shape("table")[1:])}),)


def _gather(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("gather_batch", "y", defines={"INNER": prod(op.shape("data")[1:])}),)


def _gather_wide(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    four = op.layout("data").vector_rows and op.layout("y").vector_rows
    groups = groups_for(op.numel("y"), (4 if four else 1) * _WIDE_LOCAL)
    each = min(max(groups // _FULL, 1), _MOST_EACH)
    return (
        DispatchSpec(
            "gather_batch_wide",
            groups=(groups_for(groups, each), 1, 1),
            local=(_WIDE_LOCAL, 1, 1),
            vector=("data", "y") if four else (),
            defines={"INNER": prod(op.shape("data")[1:]), "FOUR": int(four), "EACH": each},
        ),
    )


def _words(op: BoundInstruction) -> bool:
    """Whether an element of the batch is stored without regard to its neighbours."""
    return op.layout("y").per_word == 1


def _record(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    values = op.ins.refs("values")
    dispatches = []
    for first in range(0, len(values), _AT_ONCE):
        some = values[first : first + _AT_ONCE]
        dispatches.append(
            DispatchSpec(
                "record",
                local=(1, 1, 1),
                bind={f"v{k}": ref for k, ref in enumerate(some)},
                defines={"FIRST": first, "COUNT": len(some)},
            )
        )
    return tuple(dispatches)


def _begin_update(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("begin_update", local=(op.numel("step"), 1, 1)),)


def _advance(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("advance", local=(1, 1, 1), launch=(op.shape("x")[0], 0)),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "GATHER_BATCH": (
        Variant("simple", _gather, software=1),
        Variant("wide", _gather_wide, _words, hardware=1),
    ),
    "TAKE": (Variant("simple", _take),),
    "RECORD": (Variant("simple", _record),),
    "ADVANCE": (Variant("simple", _advance),),
    "BEGIN_UPDATE": (Variant("simple", _begin_update),),
}
