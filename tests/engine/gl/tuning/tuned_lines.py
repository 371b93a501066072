"""Single instructions to tune, and what their kernels were made for on either kind of device."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import tile_variant
from studio.engine.gl.kernels.families import all_variants
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.products.dense_products import affordable
from studio.engine.gl.kernels.specs import BoundInstruction, Choices, DeviceCaps
from studio.engine.gl.kernels.tiles import REGISTER_TILES, TILES, best_tile
from studio.engine.gl.record.device_work import DeviceWork
from tests.engine.gl.naive import Array, draw
from tests.engine.gl.one_line import OneLine


def linear(rows: int = 6, inner: int = 16, out: int = 8) -> tuple[OneLine, Array]:
    """A fully connected layer, and what it answers by NumPy."""
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    return line, x @ w.T + b


def op_of(line: OneLine, caps: DeviceCaps | None = None) -> BoundInstruction:
    return BoundInstruction(
        line.program, line.instruction, line.batch, line.batch, caps or DeviceCaps(True)
    )


def products_of(op: BoundInstruction) -> list[Product]:
    """The products the shipped variant of an instruction consists of."""
    found: list[Product] = []

    class Listing(Choices):
        def tile(self, op: BoundInstruction, product: Product, tiles: object) -> None:
            found.append(product)

    caps = replace(op.caps, choices=Listing())
    listed = BoundInstruction(op.program, op.ins, op.batch, op.rows, caps)
    (registers,) = (v for v in all_variants()[op.ins.mnemonic] if v.name == "registers")
    registers.plan(listed)
    return found


def take_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels chosen as on a GPU of no more than OpenGL 4.3 promises, whatever the device."""
    caps = property(lambda work: DeviceCaps(choices=work.choices))
    monkeypatch.setattr(DeviceWork, "caps", caps)


def other_tiles(backend: GlBackend, product: Product) -> tuple[str, str]:
    """Variants of two tiles that are not the shipped one for a product."""
    caps = backend.work.caps
    tiles = REGISTER_TILES if caps.is_software else TILES
    fit = affordable(product, tiles, caps.shared_bytes)
    size = (product.rows, product.cols, product.depth, product.batches)
    shipped, _ = best_tile(*size, fit, software=caps.is_software)
    first, second = [tile_variant(t) for t in reversed(fit) if t != shipped][:2]
    return first, second


def tile_of(text: str) -> str:
    """The tile a kernel's text was made for, as variants name it."""
    given = dict(re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE))
    (found,) = (
        tile_variant(tile)
        for tile in (*TILES, *REGISTER_TILES)
        if all(given[name] == str(value) for name, value in tile.macros().items())
    )
    return found


def check_parts(backend: GlBackend, texts: list[str], parts: int) -> None:
    """Fail unless dispatches of so many parts are what the kind of device makes of them.

    A GPU's last work group adds a few parts up itself, a dispatch of its own does it elsewhere.
    """
    joins = parts > 1 and not backend.work.caps.is_software
    assert len(texts) == (1 if joins else parts)
    assert ("#define JOINS 1" in texts[0]) == joins
