"""ALLREDUCE has no kernel: the host brings the tensors of workers together between dispatches."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant


def _on_the_host(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return ()


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "ALLREDUCE": (Variant("host", _on_the_host),),
}
