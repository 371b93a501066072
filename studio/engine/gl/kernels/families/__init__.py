"""Variants of every instruction that has kernel files, one module per family, and the choice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from studio.engine.core.errors import BackendError
from studio.engine.gl.kernels.specs import BoundInstruction, Variant


@cache
def all_variants() -> Mapping[str, tuple[Variant, ...]]:
    """``VARIANTS`` of all modules in this folder, by mnemonic.

    A new family is a new module here; nothing else needs to know it.
    """
    merged: dict[str, tuple[Variant, ...]] = {}
    for module in sorted(iter_modules(__path__), key=lambda found: found.name):
        variants: Mapping[str, tuple[Variant, ...]] = import_module(
            f"{__name__}.{module.name}"
        ).VARIANTS
        for mnemonic, found in variants.items():
            merged[mnemonic] = (*merged.get(mnemonic, ()), *found)
    return merged


def choose(op: BoundInstruction, wanted: str = "") -> Variant:
    """The variant for an instruction: the wanted one, the tuned one, or the best for the device.

    One that does not apply is passed over.

    Raises:
        BackendError: no kernel runs this instruction, or none fits these shapes.
    """
    mnemonic = op.ins.mnemonic
    variants = [v for v in all_variants().get(mnemonic, ()) if v.applies(op)]
    wanted = wanted or op.caps.choices.variant(op)
    named = [v for v in variants if v.name == wanted]
    if named:
        return named[0]
    if not variants:
        raise BackendError(
            f"the OpenGL backend has no kernel for these operands of {mnemonic}",
            who="gl",
            origin=", ".join(op.ins.owners),
            hint="train with --backend cpu",
        )
    software = op.caps.is_software
    return max(variants, key=lambda v: v.software if software else v.hardware)
