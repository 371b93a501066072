"""What is known better than the shipped tables about which kernel to take: nothing, by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.engine.gl.products import Product
    from studio.engine.gl.specs import Case
    from studio.engine.gl.tiles import Tile


class Choices:
    """Asked before the shipped tables, which choose wherever this has no answer."""

    @property
    def name(self) -> str:
        """What records call these choices; empty for the shipped ones."""
        return ""

    def variant(self, case: Case) -> str:
        """The variant an instruction is to take; empty where nothing is known."""
        return ""

    def tile(self, case: Case, product: Product, tiles: Sequence[Tile]) -> tuple[Tile, int] | None:
        """One of the tiles, and into how many parts to cut the depth; None where unknown."""
        return None


SHIPPED = Choices()
