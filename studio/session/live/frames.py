"""Messages between views of tensors and the thread that makes their pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.runtime.live import ArraySnapshot, Snapshot
from studio.engine.runtime.live_sheet import Sheet, Tile
from studio.engine.runtime.live_statistics import Statistics

Sheets: TypeAlias = "Callable[[Shape], tuple[Sheet, ...]]"
"""Says which sheets a view wants of a tensor of a shape."""
Paint: TypeAlias = "Callable[[Shape, Statistics | None, Mapping[Sheet, Tile]], object]"
State: TypeAlias = Literal[
    "waiting", "live", "after", "compiling", "resting", "held", "missing", "quiet"
]

INTERVAL = 0.1
"""Seconds between two pictures at least."""


def no_sheets(_: Shape) -> tuple[Sheet, ...]:
    """A view that draws from the snapshot itself needs none."""
    return ()


@dataclass(frozen=True, eq=False)
class HeldTensor:
    """A tensor kept as it was.

    Attributes:
        snapshot: its numbers, on the host.
        label: when that was.
    """

    snapshot: ArraySnapshot
    label: str


@dataclass(frozen=True, eq=False)
class Wish:
    """What a view wants; a new one for every change.

    Attributes:
        active: whether the view is visible; hidden, nothing is captured.
        sheets: which tiles to make.
        statistics: whether to make statistics.
        element: an index whose element is wanted exactly.
        minus: show the difference to this snapshot.
        held: show this snapshot, and look at nothing.
        paint: makes more of the tiles while the window need not wait, as `Frame.painted`.
        from_device: what lies on the device is drawn from there, so that it needs no tiles.
        interval: seconds between two pictures at least.
        keep: recompile the program to store a tensor that exists only inside a fused kernel.
    """

    active: bool = False
    sheets: Sheets = no_sheets
    statistics: bool = True
    element: tuple[int, ...] | None = None
    minus: ArraySnapshot | None = None
    held: HeldTensor | None = None
    paint: Paint | None = None
    from_device: bool = False
    interval: float = INTERVAL
    keep: bool = True


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture's worth of a tensor.

    Attributes:
        snapshot: the tensor; the owner of the frame releases it.
        statistics: of what is shown.
        tiles: by sheet.
        wish: what it was made for.
        value: the element wanted, and None without.
        place: the index of that element.
        label: where the numbers come from, as the corner of the picture says it.
        state: whether it is of a step, behind an instruction, or of weights at rest.
        painted: what the wish's ``paint`` made.
    """

    snapshot: Snapshot
    statistics: Statistics | None
    tiles: Mapping[Sheet, Tile]
    wish: Wish
    value: np.generic | None
    place: tuple[int, ...] | None
    label: str
    state: State
    painted: object = None

    @property
    def tile(self) -> Tile | None:
        """The first tile, where there is one."""
        return next(iter(self.tiles.values()), None)


@dataclass(frozen=True)
class Status:
    """Why a view shows what it shows.

    Attributes:
        state: in a word.
        text: in a sentence.
        hint: what to do about it.
    """

    state: State
    text: str
    hint: str = ""


ELSEWHERE = Status("waiting", "Not shown for a training on a cluster: its tensors stay there")
