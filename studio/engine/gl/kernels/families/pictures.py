"""How instructions of pictures run: one invocation an element, of the result or of a gradient."""

from __future__ import annotations

from studio.engine.gl.kernels.specs import Variant, value_gradient, value_kernel

VARIANTS: dict[str, tuple[Variant, ...]] = {
    "RESIZE": value_kernel("resize"),
    "GRADS_RESIZE": value_gradient("grads_resize"),
}
