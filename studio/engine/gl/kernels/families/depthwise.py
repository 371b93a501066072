"""How depthwise convolutions run: a result per invocation, weight gradients in parts and a fold."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.column_sums import LOCAL, column_sums, fold, parts_of
from studio.engine.gl.kernels.products.windows import geometry
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for


def _defines(op: BoundInstruction, *names: str) -> tuple[dict[str, int | str], int]:
    """Macros, and how many neighbours of the named operands one invocation takes."""
    multiplier = op.shape("w")[3]
    channels = op.shape("w")[2]
    vectors = multiplier == 1 and channels % 4 == 0
    width = 4 if vectors and all(op.layout(name).vector_rows for name in names) else 1
    return {**geometry(op), "MULTIPLIER": multiplier, "WIDTH": width}, width


def _elements(op: BoundInstruction, kernel: str, count: int, *names: str) -> DispatchSpec:
    defines, width = _defines(op, *names)
    # The weights' last dimension is the multiplier 1, so their rows are no vectors, but storage
    # order has four channels side by side.
    return DispatchSpec(
        kernel,
        groups=(groups_for(count, LOCAL * width), 1, 1),
        vector=names if width == 4 else (),
        defines=defines,
    )


def _depthwise(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (_elements(op, "depthwise_conv2d", op.numel("y"), "x", "y"),)


def _grads_depthwise(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    dispatches: list[DispatchSpec] = []
    if op.wants("w"):
        taps = op.numel("w")
        positions = prod(op.shape("y")[:3])
        parts = parts_of(op, positions, taps)
        defines, _ = _defines(op)
        dispatches.append(
            DispatchSpec(
                "grads_depthwise_conv2d_dw",
                groups=(groups_for(parts * taps, LOCAL), 1, 1),
                defines=defines,
                launch=(parts, 0),
                scratch=parts * taps,
            )
        )
        dispatches.append(fold(op, "dw", taps, parts, parts * taps))
    if op.wants("b"):
        dispatches += column_sums(op, "dy", "db")
    if op.wants("x"):
        dispatches.append(_elements(op, "grads_depthwise_conv2d_dx", op.numel("x"), "dy", "dx"))
    return tuple(dispatches)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "DEPTHWISE_CONV2D": (Variant("simple", _depthwise),),
    "GRADS_DEPTHWISE_CONV2D": (Variant("simple", _grads_depthwise),),
}
