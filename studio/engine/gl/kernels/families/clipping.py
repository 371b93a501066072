"""How the norm of all gradients is taken; clipping itself is a row."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.kernels.totals import summed, terms, total


def _global_norm(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    counts = [prod(op.shape_of(ref)) for ref in op.ins.refs("gs")]
    lengths = [summed(op, count) for count in counts]
    room = sum(lengths)
    dispatches = []
    base = 0
    for ref, count, length in zip(op.ins.refs("gs"), counts, lengths, strict=True):
        one = terms(op, "global_norm", count, {}, base=base, room=room, bind={"part": ref})
        dispatches.append(one)
        base += length
    return (*dispatches, total(op, room, "sqrt(sum)", room=room))


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "GLOBAL_NORM": (Variant("simple", _global_norm),),
}
