"""Colours of numbers: two perceptually uniform maps, and marks for NaN and infinity.

Maps are paths through the OKLab space (Ottosson 2020), walked in equal steps of its distance. One
table of `PALETTE` colours serves pictures made here and those a shader draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.runtime.live_sheet import HAS_FINITE, HAS_MINUS, HAS_NAN, HAS_PLUS, Tile
from studio.engine.runtime.live_statistics import Statistics

MapName: TypeAlias = Literal["sequential", "diverging"]
Choice: TypeAlias = Literal["largest", "greatest", "least"]
Floats: TypeAlias = npt.NDArray[np.float64]
Pixels: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int32]

CHOICES: tuple[Choice, ...] = ("largest", "greatest", "least")
"""What stands for a cell of many elements: the largest in size, the greatest, the least."""

STEPS = 256
SPECIAL = ("empty", "under", "over", "nan", "stripe", "plus", "minus", "ground")
"""Entries behind the map: no element; below and above the range; NaN and its hatch; +Inf and
-Inf, and the ground their wedges stand on."""
PALETTE = STEPS + len(SPECIAL)
EMPTY, UNDER, OVER, NAN, STRIPE, PLUS, MINUS, GROUND = range(STEPS, PALETTE)

_MARKS: dict[str, tuple[int, int, int]] = {
    "under": (47, 224, 255),
    "over": (255, 65, 51),
    "nan": (255, 0, 255),
    "stripe": (74, 0, 74),
    "plus": (255, 255, 255),
    "minus": (216, 216, 216),
    "ground": (24, 24, 28),
}

# Lightness, chroma and hue in degrees along each path.
_PATHS: dict[MapName, tuple[tuple[float, float, float], ...]] = {
    "sequential": (
        (0.26, 0.105, 295.0),
        (0.42, 0.105, 262.0),
        (0.58, 0.100, 210.0),
        (0.75, 0.135, 155.0),
        (0.94, 0.150, 107.0),
    ),
    "diverging": (
        (0.50, 0.135, 252.0),
        (0.95, 0.000, 252.0),
        (0.95, 0.000, 52.0),
        (0.62, 0.145, 52.0),
    ),
}


@cache
def colour_map(name: MapName) -> Pixels:
    """The 256 colours of a map, [256, 3]; not to be changed."""
    if name == "diverging":
        # Zero, in the middle of the range, has colour 128: the neutral one, where the arms meet.
        blue, orange = _PATHS[name][:2], _PATHS[name][2:]
        path = np.concatenate([_walk(blue, STEPS // 2 + 1)[:-1], _walk(orange, STEPS // 2)])
    else:
        path = _walk(_PATHS[name], STEPS)
    found = np.round(np.clip(_to_srgb(path), 0.0, 1.0) * 255).astype(np.uint8)
    found.flags.writeable = False
    return found


def palette(name: MapName, empty: tuple[int, int, int] = (16, 18, 22)) -> Pixels:
    """All colours, [`PALETTE`, 4] with alpha; `empty` is the colour of where nothing is."""
    found = np.full((PALETTE, 4), 255, np.uint8)
    found[:STEPS, :3] = colour_map(name)
    for place, mark in enumerate(SPECIAL, STEPS):
        found[place, :3] = empty if mark == "empty" else _MARKS[mark]
    return found


def shades(values: npt.NDArray[Any], low: float, high: float) -> Numbers:
    """Numbers of the colours, 0 to 255, of finite values; those outside the range get its ends."""
    first, last = np.float32(low), np.float32(high)
    with np.errstate(all="ignore"):
        # Ends further apart than the largest float32 cannot be subtracted as they are.
        lift = np.float32(1 if np.isfinite(last - first) else 0.25)
        reach = last * lift - first * lift
        scale = np.float32(255) / reach if reach > 0 else np.float32(0)
        scale = scale if np.isfinite(scale) else np.float32(0)
        lifted = values if lift == 1 else np.multiply(values, lift, dtype=np.float32)
        found = np.subtract(lifted, first * lift, dtype=np.float32)
        found *= scale
        found += np.float32(0.5)
        np.floor(found, out=found)
        if scale == 0:
            found = np.where(values >= last, np.float32(255), found)
        np.clip(found, 0, 255, out=found)
        # What is no number has a mark of its own, whatever it becomes here.
        np.nan_to_num(found, copy=False, nan=0.0)
    made: Numbers = found.astype(np.int32)
    return made


def shown_values(tile: Tile, choice: Choice) -> npt.NDArray[np.float32]:
    """The number that stands for each cell; NaN where it has no finite element."""
    if choice == "greatest":
        return tile.high
    if choice == "least":
        return tile.low
    if tile.low is tile.high:
        return tile.high
    return np.where(np.abs(tile.low) > np.abs(tile.high), tile.low, tile.high)


def entries(tile: Tile, low: float, high: float, choice: Choice = "largest") -> Numbers:
    """For every cell the number of its colour in the palette; NaN outranks infinities."""
    values = shown_values(tile, choice)
    found = shades(values, low, high)
    with np.errstate(invalid="ignore"):
        found[values < np.float32(low)] = UNDER
        found[values > np.float32(high)] = OVER
    if (tile.marks != HAS_FINITE).any():
        for mark, number in ((HAS_MINUS, MINUS), (HAS_PLUS, PLUS), (HAS_NAN, NAN)):
            found[(tile.marks & mark) != 0] = number
    return found


def coloured(
    tile: Tile, low: float, high: float, colours: Pixels, choice: Choice = "largest"
) -> tuple[Pixels, Numbers]:
    """Colours [tiles, rows, columns, 4] of the cells, and what each is, as `entries` says.

    Three channels are red, green and blue from `low` to `high`; the last index of the palette's
    marks stands where any of them is no number.
    """
    if tile.low.shape[-1] == 1:
        numbers = entries(tile, low, high, choice)[..., 0]
        # A colour is taken as one word, which is four times as fast as four bytes.
        words = np.ascontiguousarray(colours).view(np.uint32)[:, 0]
        return np.take(words, numbers).view(np.uint8).reshape(*numbers.shape, 4), numbers
    levels = shades(shown_values(tile, choice)[..., :3], low, high)
    pixels = np.full((*levels.shape[:3], 4), 255, np.uint8)
    pixels[..., : levels.shape[-1]] = levels
    if levels.shape[-1] < 3:
        pixels[..., levels.shape[-1] : 3] = 0
    marks = np.bitwise_or.reduce(tile.marks[..., :3], axis=-1)
    numbers = np.zeros(marks.shape, np.int32)
    for mark, number in ((HAS_MINUS, MINUS), (HAS_PLUS, PLUS), (HAS_NAN, NAN)):
        bad = (marks & mark) != 0
        numbers[bad] = number
        pixels[bad] = colours[number]
    return pixels, numbers


# -- OKLab ---------------------------------------------------------------------------------------


def _walk(points: tuple[tuple[float, float, float], ...], count: int) -> Floats:
    """Points in OKLab at equal distances along a smooth path through the given ones."""
    fine = np.linspace(0.0, 1.0, 4001)
    at = np.linspace(0.0, 1.0, len(points))
    lightness, chroma, hue = (
        _smooth(at, np.array(axis), fine) for axis in zip(*points, strict=True)
    )
    angle = np.radians(hue)
    path = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    wanted = np.interp(np.linspace(0.0, walked[-1], count), walked, fine)
    return np.stack([np.interp(wanted, fine, path[:, k]) for k in range(3)], axis=1)


def _smooth(at: Floats, values: Floats, fine: Floats) -> Floats:
    """The polynomial through the points (few, evenly spaced)."""
    return np.asarray(np.polyval(np.polyfit(at, values, len(at) - 1), fine))


def _to_srgb(lab: Floats) -> Floats:
    """sRGB of OKLab colours; outside 0 to 1 where a screen cannot show them."""
    to_roots = np.array(
        [
            [1.0, 0.3963377774, 0.2158037573],
            [1.0, -0.1055613458, -0.0638541728],
            [1.0, -0.0894841775, -1.2914855480],
        ]
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = (lab @ to_roots.T) ** 3 @ to_linear.T
    low = np.abs(linear) <= 0.0031308
    curved = 1.055 * np.maximum(linear, 1e-12) ** (1 / 2.4) - 0.055
    return np.asarray(np.where(low, 12.92 * linear, curved))


@dataclass(frozen=True)
class ColourRange:
    """Two handles over the histogram.

    Attributes:
        low: value of the first colour.
        high: value of the last.
        signed: colours are centred on zero, because values of both signs have been seen.
        follows: the range is fitted to every picture; otherwise it stays.
    """

    low: float = 0.0
    high: float = 1.0
    signed: bool = False
    follows: bool = True

    @property
    def map_name(self) -> MapName:
        """The colours that suit it."""
        return "diverging" if self.signed else "sequential"

    def seen(self, statistics: Statistics) -> ColourRange:
        """The range behind a new picture."""
        if not self.follows:
            return self
        return self.fitted(statistics)

    def fitted(self, statistics: Statistics) -> ColourRange:
        """The range that just holds everything finite, centred on zero where signs differ."""
        low, high = statistics.low, statistics.high
        if not statistics.finite or not math.isfinite(low) or not math.isfinite(high):
            return self
        signed = self.signed or low < 0
        if signed:
            reach = max(abs(low), abs(high)) or 1.0
            return replace(self, low=-reach, high=reach, signed=True)
        if low == high:
            low, high = (0.0, high) if high > 0 else (0.0, 1.0)
        return replace(self, low=low, high=high, signed=False)

    def moved(self, low: float | None = None, high: float | None = None) -> ColourRange:
        """The range with a handle moved; it stays there. A signed one stays centred."""
        if self.signed:
            reach = abs(low) if low is not None else abs(high) if high is not None else self.high
            reach = max(reach, 1e-30)
            return replace(self, low=-reach, high=reach, follows=False)
        begin = self.low if low is None else low
        end = self.high if high is None else high
        if begin > end:
            begin, end = (end, end) if low is not None else (begin, begin)
        return replace(self, low=begin, high=end, follows=False)

    def kept(self, statistics: Statistics | None) -> ColourRange:
        """Fitted once, to stay."""
        fitted = self if statistics is None else self.fitted(statistics)
        return replace(fitted, follows=False)

    def following(self) -> ColourRange:
        """Fitted to every picture from now on."""
        return replace(self, follows=True)
