"""The picture of one layer's output, small enough for its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.runtime.live import ArraySnapshot
from studio.engine.runtime.live_statistics import statistics_of
from studio.session.tensor_view.colours import EMPTY, ColourRange
from studio.session.tensor_view.layout import Placed
from studio.session.tensor_view.look import Look
from studio.session.tensor_view.picture import make_picture, short_number

Array: TypeAlias = npt.NDArray[Any]
Pixels: TypeAlias = npt.NDArray[np.uint8]

SIZE = (232.0, 160.0)
"""Pixels a picture takes at most."""
_NO_COLOUR = (0, 0, 0)


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A picture and what there is to say of it.

    Attributes:
        rgba: [rows, columns, 4].
        text: range of the values, and what is wrong with them.
    """

    rgba: Pixels
    text: str


def thumbnail(array: Array, *, image: bool) -> Thumbnail:
    """The picture of a batch of outputs: maps of the first sample, or samples below each other.

    Between tiles it is transparent: what is seen there is the ground it is laid on.

    Args:
        array: [N, …].
        image: three channels at the end are red, green and blue.
    """
    contiguous = np.asarray(array, order="C")
    look = Look(size=SIZE, colour=image)
    placed = look.placed(contiguous.shape)
    if placed.sheet.rows is None:
        # A vector is shown as one row of cells, which says more at this size than bars.
        placed = Placed(placed.sheet, 1, 0.0, 0.0, max(1.0, float(int(placed.cell))))
    with np.errstate(all="ignore"):
        found = statistics_of(contiguous)
        made = ArraySnapshot("preview", contiguous).render((placed.sheet,), statistics=False)
    colours = ColourRange().seen(found)
    picture = make_picture(made.tiles[placed.sheet], placed, colours, _NO_COLOUR, "largest")
    picture.pixels[picture.kinds == EMPTY] = 0
    scale = max(1, int(placed.cell))
    tall = scale if placed.sheet.rows is not None else max(scale, 24)
    rgba = np.repeat(np.repeat(picture.pixels, tall, axis=0), scale, axis=1)
    text = "nothing finite"
    if found.finite:
        text = f"{short_number(found.low)} … {short_number(found.high)}"
    if found.bad:
        text += f", {found.bad} not finite"
    return Thumbnail(np.ascontiguousarray(rgba), text)
