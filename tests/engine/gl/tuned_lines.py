"""Single instructions to tune, and what their kernels were made for on either kind of device."""

from __future__ import annotations

from dataclasses import replace

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices import Choices
from studio.engine.gl.products import Product, affordable
from studio.engine.gl.specs import Case, Traits, all_variants
from studio.engine.gl.tiles import REGISTER_TILES, TILES, Tile, best_tile
from studio.engine.gl.tuning.table import tile_variant
from tests.engine.gl.naive import Array, draw
from tests.engine.gl.one_line import OneLine


def linear(rows: int = 6, inner: int = 16, out: int = 8) -> tuple[OneLine, Array]:
    """A fully connected layer, and what it answers by NumPy."""
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    return line, x @ w.T + b


def case_of(line: OneLine, traits: Traits | None = None) -> Case:
    return Case(line.program, line.instruction, line.batch, line.batch, traits or Traits(True))


def products_of(case: Case) -> list[Product]:
    """The products the shipped variant of a case consists of."""
    found: list[Product] = []

    class Listing(Choices):
        def tile(self, case: Case, product: Product, tiles: object) -> None:
            found.append(product)

    traits = replace(case.traits, choices=Listing())
    listed = Case(case.program, case.ins, case.batch, case.rows, traits)
    (registers,) = (v for v in all_variants()[case.ins.mnemonic] if v.name == "registers")
    registers.plan(listed)
    return found


def tiles_of(backend: GlBackend) -> tuple[Tile, ...]:
    """Tiles a product has to choose from on the kind of device the backend found."""
    return REGISTER_TILES if backend.info.is_software else TILES


def other_tiles(backend: GlBackend, product: Product) -> tuple[str, str]:
    """Variants of two tiles that are not the shipped one for a product."""
    tiles = affordable(product, tiles_of(backend))
    size = (product.rows, product.cols, product.depth, product.batches)
    shipped, _ = best_tile(*size, tiles, software=backend.info.is_software)
    first, second = [tile_variant(t) for t in reversed(tiles) if t != shipped][:2]
    return first, second


def tile_of(text: str) -> str:
    """The tile a kernel's text was made for, as variants name it."""
    rows, cols, shared = (
        text.split(f"#define {m} ", 1)[1].split()[0] for m in ("TILE_M", "TILE_N", "SHARED_TILES")
    )
    return f"{'tiles' if shared == '1' else 'registers'}_{rows}x{cols}"


def check_parts(backend: GlBackend, texts: list[str], parts: int) -> None:
    """Fail unless dispatches of so many parts are what the kind of device makes of them.

    A GPU's last work group adds a few parts up itself, a dispatch of its own does it elsewhere.
    """
    joins = parts > 1 and not backend.info.is_software
    assert len(texts) == (1 if joins else parts)
    assert ("#define JOINS 1" in texts[0]) == joins
