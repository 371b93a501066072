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


AXES = ("slices", "rows", "columns")
"""What cells along the axes of a window are called, the last ones first used."""
SUFFIXES = ("d", "h", "w")
"""What attributes of windowed instructions end in, per axis."""


def axis_names(count: int) -> tuple[str, ...]:
    """What cells are called along each of ``count`` axes: steps for one, at most three."""
    return ("steps",) if count == 1 else AXES[len(AXES) - count :]


class Window(NamedTuple):
    """Strides, cells in front and behind, per axis."""

    strides: tuple[int, ...]
    front: tuple[int, ...]
    behind: tuple[int, ...]

    @property
    def padded(self) -> bool:
        """Whether any cell is added."""
        return any(self.front) or any(self.behind)

    def widened(self, count: int) -> Window:
        """The window over ``count`` axes, of which the first ones are new and one cell long."""
        more = count - len(self.strides)
        strides, none = (1,) * more, (0,) * more
        return Window(strides + self.strides, none + self.front, none + self.behind)

    def attributes(self) -> dict[str, int | tuple[int, ...]]:
        """Attributes of a windowed instruction; the tail only where the ends differ."""
        suffixes = SUFFIXES[len(SUFFIXES) - len(self.strides) :]
        return {
            **{f"stride_{s}": step for s, step in zip(suffixes, self.strides, strict=True)},
            **{f"pad_{s}": cells for s, cells in zip(suffixes, self.front, strict=True)},
            "pad_end": () if self.front == self.behind else self.behind,
        }


def place_window(
    size: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    dilation: tuple[int, ...] = (),
) -> Window:
    """Cells a window needs around an input of ``size``, all given per axis.

    ``same`` gives ceil(size/stride) outputs and puts the odd cell behind, as Keras does; ``valid``
    adds none. Without ``dilation`` the window's cells are neighbours.
    """
    if padding == "valid":
        none = (0,) * len(window)
        return Window(strides, none, none)
    front, behind = [], []
    for length, span, step in zip(size, _spans(window, dilation), strides, strict=True):
        total = max((-(-length // step) - 1) * step + span - length, 0)
        front.append(total // 2)
        behind.append(total - total // 2)
    return Window(strides, tuple(front), tuple(behind))


def output_size(
    layer: Layer,
    shape: Shape,
    window: tuple[int, ...],
    placed: Window,
    dilation: tuple[int, ...] = (),
) -> tuple[int, ...]:
    """Output cells per axis of an input [axes, channels].

    Raises ShapeError naming layer and axis when the window does not fit.
    """
    sizes = []
    names = axis_names(len(window))
    for axis, span in enumerate(_spans(window, dilation)):
        room = shape[axis] + placed.front[axis] + placed.behind[axis] - span
        if room < 0:
            raise ShapeError(
                f"expected an input of at least {span} {names[axis]} for its window, "
                f"got {shape_text(shape)}",
                who=layer.who,
                hint="make the window smaller, or use padding 'same'",
            )
        sizes.append(room // placed.strides[axis] + 1)
    return tuple(sizes)


def _spans(window: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    """Cells from the first to the last of a window, per axis."""
    spread = dilation or (1,) * len(window)
    return tuple((cells - 1) * step + 1 for cells, step in zip(window, spread, strict=True))
