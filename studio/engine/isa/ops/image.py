"""Images in another size, and looked up at places that are computed."""

from __future__ import annotations

from math import ceil, floor
from typing import TypeAlias

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import PICTURES, require_pictures, require_rank
from studio.engine.isa.fields import choice, flag, integer, number, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf

LONGEST_SIDE = 1 << 14
"""Rows or columns at most: places are worked out in whole numbers of 32 bits."""

Weights: TypeAlias = dict[int, float]
"""What each of some cells weighs, by its index."""


class Resize(Instruction, code=470, mnemonic="RESIZE", category="image", saves=(), since=2):
    """Give images another size.

    Row i of H' looks at place p of the H rows of x, and columns likewise:
    half_pixel p = (i + 1/2)·H/H' - 1/2, align_corners p = i·(H - 1)/(H' - 1), asymmetric
    p = i·H/H'.
    nearest takes the cell that p is rounded to: half_up, half_down, down or up, exactly.
    bilinear weighs cells by 1 - |d| of their distance d from p; bicubic by Keys' polynomial:
    (a + 2)|d|³ - (a + 3)|d|² + 1 up to 1, a(|d|³ - 5|d|² + 8|d| - 4) up to 2, with a = ``cubic``.
    Cells beyond the border repeat the border; with ``exclude`` they are left out and the other
    weights divided by their sum. With ``antialias`` an image that shrinks is smoothed: the weights
    are as wide as the step between places, and cells beyond the border are left out.
    """

    synopsis = "{y} = resize({x}, {height}x{width})"
    merges = PICTURES

    x = reads("Images [N,…,H,W,C], float32; any type with nearest.")
    y = writes("Images [N,…,height,width,C].")
    height = integer("Rows of the result.", 1, low=1, high=LONGEST_SIDE)
    width = integer("Columns of the result.", 1, low=1, high=LONGEST_SIDE)
    method = choice("How cells are weighed.", "nearest", "bilinear", "bicubic")
    coords = choice("Where places are.", "half_pixel", "align_corners", "asymmetric")
    rounding = choice("Which cell nearest takes.", "half_up", "half_down", "down", "up")
    cubic = number("Coefficient a of bicubic weights.", -0.5, tail=True)
    exclude = flag("Leave cells beyond the border out.")
    antialias = flag("Smooth what shrinks; bilinear and bicubic only.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,…,height,width,C]."""
        x = of(self.x)
        lead, height, width, channels = require_pictures(self.mnemonic, x)
        if not 1 <= min(height, width) <= max(height, width) <= LONGEST_SIDE:
            raise ShapeError(
                f"images have 1 to {LONGEST_SIDE} rows and columns: got {x}", who=self.mnemonic
            )
        if self.method == "nearest":
            if self.antialias:
                raise ShapeError("nearest cannot smooth: antialias is set", who=self.mnemonic)
        elif x.dtype is not DType.float32:
            raise ShapeError(
                f"{self.method} takes float32, got {x.dtype.name}",
                who=self.mnemonic,
                hint="CAST it first",
            )
        return (TensorType((*lead, self.height, self.width, channels), x.dtype),)

    @property
    def leaves_out(self) -> bool:
        """Whether cells beyond the border have no weight."""
        return self.exclude or self.antialias

    def flops(self, of: TypeOf) -> int:
        """A product and a sum for each cell weighed, none for nearest."""
        cells = {"nearest": 0, "bilinear": 4, "bicubic": 16}[self.method]
        return 2 * cells * of(self.y).numel


class SampleGrid(
    Instruction, code=471, mnemonic="SAMPLE_GRID", category="image", saves=("x", "grid"), since=2
):
    """Look images up at real places.

    Element (u, v) of the grid is a place across and down, for a width of W and likewise down:
    half_pixel has the edges of the image at -1 and 1, p = ((u + 1)·W - 1)/2; align_corners the
    centres of the outermost cells, p = (u + 1)/2·(W - 1); pixels counts cells, p = u.
    bilinear weighs the four cells around by 1 - |d| of their distances; nearest takes the cell that
    p is rounded to, of two as near the even one. Cells outside are 0 with zeros; border moves p to
    the nearest cell; reflect mirrors it at the edges, with align_corners at the outermost centres.
    A place that is not finite gives NaN and no gradient. With nearest the grid has the gradient 0;
    cells add up what they gave in the same order in every run.
    """

    synopsis = "{y} = {x} at {grid}"

    x = reads("Images [N,H,W,C], float32.")
    grid = reads("Places [N,H',W',2], across then down, float32.")
    y = writes("Images [N,H',W',C].")
    method = choice("How cells are weighed.", "bilinear", "nearest")
    outside = choice("What lies beyond the border.", "zeros", "border", "reflect")
    coords = choice("What places count.", "half_pixel", "align_corners", "pixels")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,H',W',C]."""
        x, grid = of(self.x), of(self.grid)
        for name, found in (("x", x), ("grid", grid)):
            require_rank(self.mnemonic, name, found, 4)
            if found.dtype is not DType.float32:
                raise ShapeError(
                    f"{name} must be float32: got {found.dtype.name}",
                    who=self.mnemonic,
                    hint="CAST it first",
                )
        n, height, width, channels = x.shape
        if not 1 <= min(height, width) <= max(height, width) <= LONGEST_SIDE:
            raise ShapeError(
                f"images have 1 to {LONGEST_SIDE} rows and columns: got {x}", who=self.mnemonic
            )
        if grid.shape[0] != n or grid.shape[3] != 2:
            raise ShapeError(
                f"a grid for images {x} is [{'N' if n < 0 else n},H',W',2]: got {grid}",
                who=self.mnemonic,
            )
        return (TensorType((*grid.shape[:3], channels), DType.float32),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum for each of four cells, none for nearest."""
        return (8 if self.method == "bilinear" else 0) * of(self.y).numel


def _place(ins: Resize, i: int, size: int, length: int) -> tuple[int, int]:
    """The place of result i as a fraction of whole numbers, the divisor positive."""
    if ins.coords == "align_corners":
        return i * (size - 1), max(length - 1, 1)
    if ins.coords == "asymmetric":
        return i * size, length
    return (2 * i + 1) * size - length, 2 * length


def _nearest(ins: Resize, above: int, below: int, size: int) -> int:
    whole, rest = divmod(above, below)
    up = {
        "half_up": 2 * rest >= below,
        "half_down": 2 * rest > below,
        "down": False,
        "up": rest > 0,
    }[ins.rounding]
    return min(max(whole + up, 0), size - 1)


def _weight(ins: Resize, distance: float) -> float:
    d, a = abs(distance), ins.cubic
    if ins.method == "bilinear":
        return max(1.0 - d, 0.0)
    if d <= 1.0:
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    return a * (((d - 5.0) * d + 8.0) * d - 4.0) if d < 2.0 else 0.0


def weights_of(ins: Resize, i: int, size: int, length: int) -> Weights:
    """The cells that a row or column of the result takes, with their weights.

    Args:
        ins: how images get another size.
        i: the row or column.
        size: rows or columns of x.
        length: rows or columns of the result.
    """
    above, below = _place(ins, i, size, length)
    if ins.method == "nearest":
        return {_nearest(ins, above, below, size): 1.0}
    whole, rest = divmod(above, below)
    part, wide = rest / below, max(size / length, 1.0) if ins.antialias else 1.0
    reach = wide * (1.0 if ins.method == "bilinear" else 2.0)
    found: Weights = {}
    for tap in range(whole + floor(part - reach) + 1, whole + ceil(part + reach)):
        cell = min(max(tap, 0), size - 1)
        weight = _weight(ins, (tap - whole - part) / wide)
        if weight != 0.0 and not (ins.leaves_out and cell != tap):
            found[cell] = found.get(cell, 0.0) + weight
    total = sum(found.values()) if ins.leaves_out else 1.0
    return {cell: weight / total for cell, weight in found.items()}
