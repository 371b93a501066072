"""ALLREDUCE has no kernel: the host brings the tensors of workers together between dispatches."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import Variant

VARIANTS: dict[str, tuple[Variant, ...]] = {
    "ALLREDUCE": (Variant("host", lambda _: ()),),
}
