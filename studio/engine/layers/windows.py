"""Geometry of sliding windows: output sizes and zero cells of ``valid`` and ``same`` padding."""

from __future__ import annotations

from typing import NamedTuple

from studio.engine.core.errors import ShapeError
from studio.engine.core.options import Option, choice
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import Layer, shape_text


def padding() -> Option[str]:
    """The option that chooses between the two."""
    return choice(
        "'valid': no padding; 'same': keeps the size (divided by the stride).", "valid", "same",
        effect="Decides whether the output becomes smaller at the edges.",
    )  # fmt: skip


class Window(NamedTuple):
    """Strides, cells in front and behind, per rows and columns."""

    strides: tuple[int, int]
    front: tuple[int, int]
    behind: tuple[int, int]

    @property
    def padded(self) -> bool:
        """Whether any cell is added."""
        return any(self.front) or any(self.behind)

    def attributes(self) -> dict[str, int | tuple[int, ...]]:
        """Attributes of a windowed instruction; the tail only where the ends differ."""
        return {
            "stride_h": self.strides[0],
            "stride_w": self.strides[1],
            "pad_h": self.front[0],
            "pad_w": self.front[1],
            "pad_end": () if self.front == self.behind else self.behind,
        }


def place_window(
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: str,
    dilation: tuple[int, int] = (1, 1),
) -> Window:
    """Cells a window needs around an input of ``size``.

    ``same`` gives ceil(size/stride) outputs and puts the odd cell behind, as Keras does; ``valid``
    adds none.
    """
    if padding == "valid":
        return Window(strides, (0, 0), (0, 0))
    front, behind = [], []
    for length, cells, step, spread in zip(size, window, strides, dilation, strict=True):
        span = (cells - 1) * spread + 1
        total = max((-(-length // step) - 1) * step + span - length, 0)
        front.append(total // 2)
        behind.append(total - total // 2)
    return Window(strides, (front[0], front[1]), (behind[0], behind[1]))


def output_size(
    layer: Layer,
    shape: Shape,
    window: tuple[int, int],
    placed: Window,
    dilation: tuple[int, int] = (1, 1),
) -> tuple[int, int]:
    """Output rows and columns; ShapeError naming the layer when the window does not fit."""
    sizes = []
    for axis in range(2):
        span = (window[axis] - 1) * dilation[axis] + 1
        room = shape[axis] + placed.front[axis] + placed.behind[axis] - span
        if room < 0:
            raise ShapeError(
                f"expected an input of at least {span} {('rows', 'columns')[axis]} for its window, "
                f"got {shape_text(shape)}",
                who=layer.who,
                hint="make the window smaller, or use padding 'same'",
            )
        sizes.append(room // placed.strides[axis] + 1)
    return sizes[0], sizes[1]
