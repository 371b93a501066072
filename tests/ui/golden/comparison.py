"""How far two pictures of the same thing are apart, as the eye would say and not byte by byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float32]

TINT = 3.5
"""Levels of 255 by which a blurred pixel may be off before its colour counts as another."""

SHAPE = 40.0
"""Levels from which on it shows something else than it should."""

MOST_TINTED = 0.015
MOST_SHAPED = 0.0005
"""Largest shares of the pixels that may be so."""

_COLOURS, _COMMON = 256, 64


@dataclass(frozen=True, eq=False)
class Difference:
    """What a comparison found.

    Attributes:
        tinted: share of pixels with another colour.
        shaped: share of pixels that show something else.
        levels: how far each pixel is off; empty where the sizes differ.
        problem: what keeps the two from being compared, or empty.
    """

    tinted: float
    shaped: float
    levels: Floats
    problem: str = ""

    @classmethod
    def impossible(cls, problem: str) -> Difference:
        """Two that cannot be compared."""
        return cls(1.0, 1.0, np.zeros((0, 0), np.float32), problem)

    @property
    def is_same(self) -> bool:
        """Whether a person would call the two the same."""
        return not self.problem and self.tinted <= MOST_TINTED and self.shaped <= MOST_SHAPED

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        return (
            f"{self.shaped:.3%} of the pixels show something else (at most {MOST_SHAPED:.2%}), "
            f"{self.tinted:.2%} have another colour (at most {MOST_TINTED:.1%})"
        )

    def picture(self) -> Pixels:
        """The difference: black where there is none, yellow for tints, red for shapes."""
        if self.problem:
            return np.zeros((1, 1, 3), np.uint8)
        made = np.zeros((*self.levels.shape, 3), np.uint8)
        made[self.levels > TINT] = (200, 180, 40)
        made[self.levels > SHAPE] = (255, 60, 60)
        return made


def compare(expected: Pixels, found: Pixels) -> Difference:
    """Compare two pictures [height, width, 3]."""
    if expected.shape != found.shape:
        sizes = [f"{shape[1]} by {shape[0]}" for shape in (expected.shape, found.shape)]
        return Difference.impossible(f"expected {sizes[0]} pixels, found {sizes[1]}")
    levels = np.abs(_blurred(expected) - _blurred(found)).max(axis=2)
    return Difference(float((levels > TINT).mean()), float((levels > SHAPE).mean()), levels)


def _blurred(picture: Pixels) -> Floats:
    """Each pixel mixed with its neighbours 1:2:1 both ways; edges smoothed elsewhere agree."""
    made = np.pad(picture.astype(np.float32), ((1, 1), (1, 1), (0, 0)), "edge")
    made = made[:-2] + 2 * made[1:-1] + made[2:]
    return (made[:, :-2] + 2 * made[:, 1:-1] + made[:, 2:]) / 16


def read(path: Path) -> Pixels:
    """A picture's pixels."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def write(path: Path, picture: Pixels) -> None:
    """Write a picture as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture, "RGB").save(path, optimize=True)


def write_small(path: Path, picture: Pixels) -> None:
    """Write a picture with a table of colours; those that fill areas stay exactly as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = picture.shape[:2]
    colours, places, counts = np.unique(
        picture.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    table = colours if len(colours) <= _COLOURS else _table(colours, counts)
    image = Image.fromarray(_nearest(colours, table)[places].reshape(height, width), "P")
    image.putpalette(table.reshape(-1).tolist())
    image.save(path, optimize=True)


def _table(colours: Pixels, counts: npt.NDArray[np.int64]) -> Pixels:
    """The commonest colours, then one by one that which the table serves worst."""
    order = np.argsort(-counts, kind="stable")
    chosen = [*order[:_COMMON]]
    place, weight = colours.astype(np.float32), np.sqrt(counts.astype(np.float32))
    apart = np.full(len(colours), np.inf, np.float32)
    for number in range(_COLOURS):
        if number >= len(chosen):
            chosen.append(int((apart * weight).argmax()))
        np.minimum(apart, np.square(place - place[chosen[number]]).sum(axis=1), out=apart)
    return colours[chosen]


def _nearest(colours: Pixels, table: Pixels) -> Pixels:
    """For each colour the place of the nearest in the table."""
    found = np.empty(len(colours), np.uint8)
    ours, theirs = colours.astype(np.int32), table.astype(np.int32)
    for begin in range(0, len(ours), 4096):
        apart = ours[begin : begin + 4096, None] - theirs[None]
        found[begin : begin + 4096] = np.square(apart).sum(axis=2).argmin(axis=1)
    return found
