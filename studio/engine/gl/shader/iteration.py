"""The index space of an element-wise kernel, neighbouring dimensions merged where possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.engine.core.tensor import Shape
from studio.engine.gl.shader.layout import SYMBOLS, Layout


@dataclass(frozen=True)
class Axis:
    """One merged dimension.

    Attributes:
        size: elements, not counting the symbol.
        symbol: ``BATCH``, ``ROWS`` or empty; multiplies the size.
        strides: one per operand; 0 where the operand repeats.
    """

    size: int
    symbol: str
    strides: tuple[int, ...]

    @property
    def text(self) -> str:
        """The number of elements as a GLSL expression."""
        if not self.symbol:
            return str(self.size)
        return self.symbol if self.size == 1 else f"({self.symbol} * {self.size})"


@dataclass(frozen=True)
class Iteration:
    """Merged axes from slowest to fastest, and how operands lie along them.

    Attributes:
        axes: at least one.
        offsets: first cell of each operand.
    """

    axes: tuple[Axis, ...]
    offsets: tuple[int, ...]

    @property
    def numel_text(self) -> str:
        """The number of elements as a GLSL expression."""
        return " * ".join(axis.text for axis in self.axes)

    @property
    def vectors(self) -> bool:
        """Whether four neighbours are one aligned access of every operand (or one repeated value).

        A single axis may end in the middle of four: storages are rounded up to 16 bytes.
        """
        last = self.axes[-1]
        if len(self.axes) > 1 and last.size % 4:
            return False
        for operand, stride in enumerate(last.strides):
            outer = [axis.strides[operand] for axis in self.axes[:-1]]
            if stride == 1 and any(step % 4 for step in (*outer, self.offsets[operand])):
                return False
            if stride not in (0, 1):
                return False
        return True

    def cell(self, operand: int) -> str:
        """The cell of an operand as a GLSL expression over the axis indices ``c0``, ``c1``, …"""
        terms = [str(self.offsets[operand])] if self.offsets[operand] else []
        for k, axis in enumerate(self.axes):
            stride = axis.strides[operand]
            if stride:
                terms.append(f"c{k}" if stride == 1 else f"c{k} * {stride}")
        return " + ".join(terms) or "0"

    def split(self, index: str) -> list[str]:
        """Statements that set ``c0`` … from a row-major index."""
        last = len(self.axes) - 1
        if last == 0:
            return [f"int c0 = {index};"]
        lines = [f"int rest = {index};"]
        for k in range(last, 0, -1):
            size = self.axes[k].text
            lines += [f"int c{k} = rest % {size};", f"rest /= {size};"]
        return [*lines, "int c0 = rest;"]


def iteration_over(shape: Shape, layouts: Sequence[Layout]) -> Iteration:
    """The index space of ``shape`` (symbols kept) for operands that broadcast to it."""
    columns = [aligned_strides(shape, layout) for layout in layouts]
    axes: list[Axis] = []
    for k, size in enumerate(shape):
        strides = tuple(column[k] for column in columns)
        symbol = SYMBOLS.get(size, "")
        axis = Axis(1 if symbol else size, symbol, strides)
        if size == 1:
            continue
        if axes and _mergeable(axes[-1], axis):
            before = axes.pop()
            axis = Axis(before.size * axis.size, before.symbol or axis.symbol, strides)
        axes.append(axis)
    if not axes:
        axes = [Axis(1, "", (0,) * len(layouts))]
    return Iteration(tuple(axes), tuple(layout.offset for layout in layouts))


def aligned_strides(shape: Shape, layout: Layout) -> list[int]:
    """Strides of an operand along the dimensions of ``shape``, 0 where it repeats."""
    missing = len(shape) - layout.rank
    strides = [0] * len(shape)
    for k, (size, stride) in enumerate(zip(layout.sizes, layout.strides, strict=True)):
        if size != 1:
            strides[k + missing] = stride
    return strides


def _mergeable(outer: Axis, inner: Axis) -> bool:
    if inner.symbol:
        return False
    return all(a == b * inner.size for a, b in zip(outer.strides, inner.strides, strict=True))
