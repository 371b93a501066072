"""How instructions of pictures run: one invocation an element, of the result or of a gradient."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import (
    BoundInstruction,
    DispatchSpec,
    Variant,
    value_gradient,
    value_kernel,
)


def _grads_sample_grid(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return tuple(
        DispatchSpec(f"grads_sample_grid_d{name}", f"d{name}")
        for name in ("x", "grid")
        if op.wants(name)
    )


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "RESIZE": value_kernel("resize"),
    "GRADS_RESIZE": value_gradient("grads_resize"),
    "SAMPLE_GRID": value_kernel("sample_grid"),
    "GRADS_SAMPLE_GRID": (Variant("simple", _grads_sample_grid),),
}
