"""A drawing made with the pointer, as the raw values of an image the network takes.

It is drawn finer than the network sees it and averaged down. Ink and ground are the values the data
has for them, and the drawing is put where the data's pictures stand, so that it is treated as the
data was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.train.data.stored_rows import SampleArray

Array: TypeAlias = npt.NDArray[np.generic]
Ink: TypeAlias = npt.NDArray[np.float32]

_FINE = 256
_LOOKED_AT = 512
_IS_INK = 0.25
_STEPS_BACK = 50


@dataclass(frozen=True)
class Frame:
    """A part of a picture, in shares of its height and width."""

    top: float = 0.0
    bottom: float = 1.0
    left: float = 0.0
    right: float = 1.0


@dataclass(frozen=True)
class Sheet:
    """What is drawn on.

    Attributes:
        shape: height, width and channels of the network's input.
        dtype: type of its raw values.
        ground: raw value where nothing is drawn.
        ink: raw value of full ink.
        frame: where the pictures of the data stand, or None where they fill theirs.
    """

    shape: tuple[int, int, int]
    dtype: DType
    ground: float
    ink: float
    frame: Frame | None = None

    @property
    def is_dark(self) -> bool:
        """Whether ink is lighter than the ground."""
        return self.ink > self.ground

    @property
    def knows_ground(self) -> bool:
        """Whether the data's images have one ground, as those of signs have."""
        return self.frame is not None


def sheet_of(
    images: SampleArray, value_range: tuple[float, float] | None, dtype: DType
) -> Sheet | None:
    """The sheet for pictures like some given ones; None where they are none.

    Args:
        images: raw samples [n, height, width] or [n, height, width, channels].
        value_range: lowest and highest raw value, where the data states them.
        dtype: type of the raw values.
    """
    if images.ndim not in (3, 4) or not len(images):
        return None
    shape = (*images.shape[1:], 1) if images.ndim == 3 else images.shape[1:]
    height, width, channels = shape
    if channels not in (1, 3) or min(height, width) < 2:
        return None
    step = max(1, len(images) // _LOOKED_AT)
    some = images[::step].reshape(-1, height, width, channels).astype(np.float64).mean(axis=3)
    low, high = value_range or (float(some.min()), float(some.max()))
    if not high > low:
        return None
    border = _borders(some).ravel()
    middle = (low + high) / 2
    light = float(np.median(border)) > middle
    ground, ink = (high, low) if light else (low, high)
    # Pictures of things have all kinds of borders; those of signs have the ground there.
    plain = float((np.abs(border - ground) < _IS_INK * (high - low)).mean()) > 0.6
    return Sheet(
        (height, width, channels), dtype, ground, ink, _frame(some, ground, ink) if plain else None
    )


def _borders(images: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The values along the edges of images [n, height, width], [n, values]."""
    edges = (images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1])
    return np.concatenate(edges, axis=1)


def stands_inverted(rows: Array, sheet: Sheet) -> npt.NDArray[np.bool_]:
    """Which images have their ground where the data's has its ink, [rows].

    The ground is what stands along the edges. Of data whose images have all kinds of edges, as
    photographs do, nothing can be said: then it is none.
    """
    flags = np.zeros(len(rows), bool)
    if not sheet.knows_ground or not len(rows):
        return flags
    wide = rows.reshape(len(rows), *sheet.shape).astype(np.float64).mean(axis=3)
    ground = np.median(_borders(wide), axis=1)
    flags[:] = np.abs(ground - sheet.ink) < np.abs(ground - sheet.ground)
    return flags


def inverted(rows: Array, flags: npt.NDArray[np.bool_], sheet: Sheet) -> Array:
    """Rows of which some are inverted: ink becomes ground, and ground ink."""
    made = rows.copy()
    # In float64: ink and ground together are more than some integers hold.
    turned = sheet.ink + sheet.ground - rows[flags].astype(np.float64)
    made[flags] = turned.astype(rows.dtype)
    return made


def _frame(some: npt.NDArray[np.float64], ground: float, ink: float) -> Frame | None:
    """Where ink usually is."""
    inked = np.asarray((some - ground) / (ink - ground) > _IS_INK)
    inked = inked[inked.any(axis=(1, 2))]
    if not len(inked):
        return None
    height, width = inked.shape[1:]
    rows, columns = np.asarray(inked.any(axis=2)), np.asarray(inked.any(axis=1))
    return Frame(
        float(rows.argmax(axis=1).mean()) / height,
        1.0 - float(rows[:, ::-1].argmax(axis=1).mean()) / height,
        float(columns.argmax(axis=1).mean()) / width,
        1.0 - float(columns[:, ::-1].argmax(axis=1).mean()) / width,
    )


class Drawing:
    """Ink on a sheet; places are shares of its width and height."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        height, width, _ = sheet.shape
        self.fine = max(1, -(-_FINE // max(height, width)))
        """Points of the drawing for each pixel of the network, along each side."""
        self.ink: Ink = np.zeros((height * self.fine, width * self.fine), np.float32)
        self._before: list[Ink] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is drawn."""
        return not self.ink.any()

    def begin(self) -> None:
        """A stroke begins: what is there now can be had back."""
        self._before = [*self._before[-_STEPS_BACK + 1 :], self.ink.copy()]

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        width: float,
        *,
        erase: bool = False,
    ) -> None:
        """Draw from one place to another.

        Args:
            start: x and y.
            end: x and y.
            width: of the line, a share of the longer side.
            erase: take ink away instead.
        """
        rows, columns = self.ink.shape
        x0, y0 = start[0] * columns, start[1] * rows
        x1, y1 = end[0] * columns, end[1] * rows
        radius = max(0.5, width * max(rows, columns) / 2)
        top, bottom = _reach(y0, y1, radius, rows)
        left, right = _reach(x0, x1, radius, columns)
        if top >= bottom or left >= right:
            return
        y = np.arange(top, bottom)[:, np.newaxis] + 0.5
        x = np.arange(left, right)[np.newaxis, :] + 0.5
        length = (x1 - x0) ** 2 + (y1 - y0) ** 2
        along = 0.0
        if length > 0:
            along = np.clip(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length, 0.0, 1.0)
        away = np.hypot(x - (x0 + along * (x1 - x0)), y - (y0 + along * (y1 - y0)))
        drawn = np.clip(radius - away + 0.5, 0.0, 1.0).astype(np.float32)
        part = self.ink[top:bottom, left:right]
        part[...] = np.minimum(part, 1.0 - drawn) if erase else np.maximum(part, drawn)

    def undo(self) -> bool:
        """Take the last stroke back; whether there was one."""
        if not self._before:
            return False
        self.ink = self._before.pop()
        return True

    def clear(self) -> None:
        """Take everything away; that can be undone too."""
        if not self.is_empty:
            self.begin()
            self.ink = np.zeros_like(self.ink)

    def row(self, *, fitted: bool = True) -> Array:
        """The drawing as one raw row [1, height, width, channels] of the network's input.

        Args:
            fitted: bring it to the size and place the data's pictures have.
        """
        height, width, channels = self.sheet.shape
        ink = self.ink
        if fitted and self.sheet.frame is not None and not self.is_empty:
            ink = _fitted(ink, self.sheet.frame)
        small = ink.reshape(height, self.fine, width, self.fine).mean(axis=(1, 3), dtype=np.float64)
        values = self.sheet.ground + small * (self.sheet.ink - self.sheet.ground)
        if self.sheet.dtype not in (DType.float32, DType.float16):
            values = np.rint(values)
        row = np.repeat(values[np.newaxis, :, :, np.newaxis], channels, axis=3)
        return row.astype(self.sheet.dtype.np)


def _reach(one: float, other: float, radius: float, most: int) -> tuple[int, int]:
    low, high = min(one, other) - radius - 1.0, max(one, other) + radius + 1.0
    return max(0, int(np.floor(low))), min(most, int(np.ceil(high)))


def _fitted(ink: Ink, frame: Frame) -> Ink:
    """The ink moved and scaled, its proportions kept, so that it fills the frame."""
    rows, columns = ink.shape
    there = ink > _IS_INK
    if not there.any():
        return ink
    down, across = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    top, bottom, left, right = down[0], down[-1] + 1, across[0], across[-1] + 1
    height, width = (frame.bottom - frame.top) * rows, (frame.right - frame.left) * columns
    scale = min(height / (bottom - top), width / (right - left))
    middle_y = (frame.top + frame.bottom) / 2 * rows
    middle_x = (frame.left + frame.right) / 2 * columns
    y = (np.arange(rows) + 0.5 - middle_y) / scale + (top + bottom) / 2
    x = (np.arange(columns) + 0.5 - middle_x) / scale + (left + right) / 2
    inside = ((y >= 0) & (y < rows))[:, np.newaxis] & ((x >= 0) & (x < columns))[np.newaxis, :]
    from_y = np.clip(np.floor(y).astype(int), 0, rows - 1)
    from_x = np.clip(np.floor(x).astype(int), 0, columns - 1)
    return np.where(inside, ink[np.ix_(from_y, from_x)], np.float32(0.0))
