"""How random instructions run: dropout, uniform numbers, augmentation."""

from __future__ import annotations

from math import prod

from studio.engine.core.errors import BackendError
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant, value_kernel
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64
_BLOCK = 4
"""Elements that share one block of the generator."""


def _groups(count: int) -> tuple[int, int, int]:
    return (groups_for(groups_for(count, _BLOCK), _LOCAL), 1, 1)


def _draws(op: BoundInstruction) -> int:
    """Whether a dropout draws at all; it needs the step block then."""
    if op.ins.value("rate") == 0.0:
        return 0
    if not op.has("step"):
        raise BackendError(
            "a draw needs the step block that keys it: the line has no step=",
            who=op.ins.mnemonic,
            origin=", ".join(op.ins.owners),
        )
    return 1


def _shared(op: BoundInstruction, operand: str) -> dict[str, int | str]:
    """Where elements begin among those of all workers, for lines with ``first``."""
    return {"ENTRY": prod(op.shape(operand)[1:])} if op.has("first") else {}


def _dropout(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    defines = {"DRAWS": _draws(op), **_shared(op, "x")}
    return (DispatchSpec("dropout", groups=_groups(op.numel("x")), defines=defines),)


def _grads_dropout(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    defines = {"DRAWS": _draws(op), **_shared(op, "x")}
    return (DispatchSpec("grads_dropout", groups=_groups(op.numel("x")), defines=defines),)


def _uniform(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (
        DispatchSpec("random_uniform", groups=_groups(op.numel("y")), defines=_shared(op, "y")),
    )


def _normal(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("random_normal", groups=_groups(op.numel("y")), defines=_shared(op, "y")),)


def _entry(op: BoundInstruction) -> dict[str, int | str]:
    return {"ENTRY": prod(op.shape("x")[1:])}


def _noise(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("augment_noise", "y", defines=_entry(op)),)


def _standardize(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    local = (16 if op.caps.is_software else 128, 1, 1)
    groups = (op.shape("x")[0], 1, 1)
    return (DispatchSpec("augment_standardize", groups=groups, local=local, defines=_entry(op)),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "DROPOUT": (Variant("simple", _dropout),),
    "GRADS_DROPOUT": (Variant("simple", _grads_dropout),),
    "RANDOM_UNIFORM": (Variant("simple", _uniform),),
    "RANDOM_NORMAL": (Variant("simple", _normal),),
    "AUGMENT_FLIP": value_kernel("augment_flip"),
    "AUGMENT_SHIFT": value_kernel("augment_shift"),
    "AUGMENT_ROTATE": value_kernel("augment_rotate"),
    "AUGMENT_NOISE": (Variant("simple", _noise),),
    "AUGMENT_STANDARDIZE": (Variant("simple", _standardize),),
}
