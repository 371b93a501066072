"""Variants of every instruction that has kernel files, one module per family."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from studio.engine.gl.specs import Variant


def gathered() -> Mapping[str, tuple[Variant, ...]]:
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
