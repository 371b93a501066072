"""How moves run: copies, joins, slices, padding, fills, looking rows up."""

from __future__ import annotations

from studio.engine.gl.specs import Variant, value_kernel

VARIANTS: dict[str, tuple[Variant, ...]] = {
    "FILL": value_kernel("fill"),
    "ZERO": value_kernel("zero"),
    "GATHER_BATCH": value_kernel("gather_batch"),
}
