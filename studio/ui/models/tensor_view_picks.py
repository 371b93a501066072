"""One element pointed at in every view of the same shape: a weight, and beside it its gradient."""

from __future__ import annotations

from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Shape


class SharedPick:
    """The element pointed at last, by shape."""

    def __init__(self) -> None:
        self.picked: Signal[[Shape, tuple[int, ...], object]] = Signal()
        self._last: dict[Shape, tuple[int, ...]] = {}

    def pick(self, shape: Shape, index: tuple[int, ...], source: object) -> None:
        """Point at an element; views of the same shape hear it, `source` among them."""
        if self._last.get(shape) != index:
            self._last[shape] = index
            self.picked.emit(shape, index, source)

    def of(self, shape: Shape) -> tuple[int, ...] | None:
        """What is pointed at in views of a shape."""
        return self._last.get(shape)
