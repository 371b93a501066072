"""Samples a page at a time: which there are, and one as a picture, a row or a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.normalization import Array
from studio.session.data.parts import Indices, Part

Pixels: TypeAlias = npt.NDArray[np.uint8]

MOST_POINTS = 20_000
"""Points plotted at once; of more, evenly spaced ones are shown, and it is said."""

_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample.

    Attributes:
        index: its number in the source.
        values: as stored.
        label: its class, or its target values, of every output; empty for a mask.
        klass: index of its class; -1 for regression.
        labels: what each output without masks has, in the data's order.
        mask: class of each pixel [height, width], of the first output with masks.
    """

    index: int
    values: Array
    label: str
    klass: int
    labels: tuple[str, ...] = ()
    mask: Array | None = None


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points to plot.

    Attributes:
        x: float32 [n, 2].
        klass: class of each.
        total: how many there are; more than ``len(x)`` where some are left out.
    """

    x: npt.NDArray[np.float32]
    klass: npt.NDArray[np.int32]
    total: int


class SampleBrowser(Sequence[Sample]):
    """The samples of a part, of one class or all, in the part's order; nothing is copied ahead.

    Args:
        part: the samples to look at.
        klass: only those of this class; -1 for all.
        place: of the input whose values are shown, among those of the data.
    """

    def __init__(self, part: Part, klass: int = -1, place: int = 0) -> None:
        self.part = part
        self.klass = klass
        self.dataset: Dataset = part.dataset
        self.array: InputArray = part.dataset.all_inputs()[place]
        self._indices: Indices = part.indices
        if klass >= 0 and self.dataset.has_class_each:
            self._indices = part.indices[self.dataset.y[part.indices] == klass]

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> list[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | list[Sample]:
        if isinstance(place, slice):
            return [self.sample(each) for each in range(*place.indices(len(self)))]
        return self.sample(place)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of the values of one sample."""
        return tuple(self.array.values.shape[1:])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the values of one sample, or empty."""
        return self.array.feature_names or (
            () if self.dataset.inputs else self.dataset.feature_names
        )

    @property
    def target_names(self) -> tuple[str, ...]:
        """Names of the outputs, where there are several with something to write down."""
        found = [each.name for each in self.dataset.targets if each.y.ndim < 3]
        return tuple(found) if len(found) > 1 else ()

    def page(self, first: int, count: int) -> list[Sample]:
        """At most ``count`` samples from place ``first`` on."""
        return self[max(0, first) : max(0, first + count)]

    def sample(self, place: int) -> Sample:
        """The sample at a place; IndexError beyond the last."""
        index = int(self._indices[place])
        targets = self.dataset.all_targets()
        labels = tuple(_label(each, index) for each in targets if each.y.ndim < 3)
        names = self.target_names or ("",) * len(labels)
        shown = [f"{name} {label}".lstrip() for name, label in zip(names, labels, strict=True)]
        klass = int(self.dataset.y[index]) if self.dataset.has_class_each else -1
        mask = next((t.y[index] for t in targets if t.class_names and t.y.ndim == 3), None)
        return Sample(index, self.array.values[index], ", ".join(shown), klass, labels, mask)

    def number_of(self, place: int) -> int:
        """The number in the source of the sample at a place; IndexError beyond the last."""
        return int(self._indices[place])

    def place_of(self, index: int) -> int:
        """Where a sample of the source stands; -1 if it is not shown."""
        found = np.flatnonzero(self._indices == index)
        return int(found[0]) if found.size else -1

    def points(self, most: int = MOST_POINTS) -> PointCloud:
        """The samples as points, at most so many, evenly spaced through the part."""
        chosen = self._indices
        if len(chosen) > most:
            chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
        x = self.dataset.x[chosen].reshape(len(chosen), -1)[:, :2].astype(np.float32)
        if self.dataset.has_class_each:
            klass = self.dataset.y[chosen].astype(np.int32)
        else:
            klass = np.full(len(chosen), -1, np.int32)
        return PointCloud(x, klass, len(self._indices))


def _label(target: TargetArray, index: int) -> str:
    """What an output has for a sample, in a few characters."""
    found = target.y[index]
    if target.y.ndim == 1:
        return target.class_names[int(found)]
    return ", ".join(f"{_MINUS * bool(v < 0)}{abs(float(v)):.4g}" for v in found)


def picture(values: Array, value_range: tuple[float, float] | None) -> Pixels:
    """A sample as grey [height, width] or colour [height, width, 3] pixels, one per cell.

    The range of the data (or its own, where none is stated) goes from black to white; values
    beyond it are cut off. Of other than 1 or 3 channels the first is shown.
    """
    wide = values.astype(np.float64)
    low, high = value_range if value_range is not None else (float(wide.min()), float(wide.max()))
    scaled = (wide - low) * (255.0 / (high - low if high > low else 1.0))
    pixels = np.rint(np.clip(scaled, 0.0, 255.0)).astype(np.uint8)
    if pixels.ndim == 3:
        if pixels.shape[2] == 4:
            return pixels[..., :3]
        if pixels.shape[2] != 3:
            return pixels[..., 0]
    return pixels
