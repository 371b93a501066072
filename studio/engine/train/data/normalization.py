"""Input normalisation as plain data: scale and shift per trailing axis, for the device to apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.train.data.stored_rows import SampleArray, StoredRows

Array: TypeAlias = npt.NDArray[np.generic]
"""A NumPy array of any element type."""

Floats: TypeAlias = npt.NDArray[np.float32]

NormalizationKind: TypeAlias = Literal["none", "unit", "symmetric", "standard"]

KINDS: tuple[str, ...] = get_args(NormalizationKind)

CHUNK_ELEMENTS = 1 << 20
"""Numbers that are summed at a time; sums depend on it in their last bits."""

_LARGEST = 3e38


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Mean, standard deviation (population), minimum and maximum of each feature, float64[c].

    A feature is an index of the trailing axis: a column of a table, a channel of an image.
    """

    mean: npt.NDArray[np.float64]
    std: npt.NDArray[np.float64]
    minimum: npt.NDArray[np.float64]
    maximum: npt.NDArray[np.float64]


def _chunks(x: SampleArray) -> Iterator[npt.NDArray[np.float64]]:
    """Blocks of ``x`` as rows [m, c] in float64, small enough to stay beside a set of any size.

    They are the same for samples in memory and in their files, so sums over them are, too.
    """
    width = x.shape[-1]
    step = max(1, CHUNK_ELEMENTS // width)
    if not isinstance(x, StoredRows):
        rows = x.reshape(-1, width)
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step].astype(np.float64)
        return
    each = prod(x.shape[1:-1])
    for begin in range(0, len(x) * each, step):
        end = min(begin + step, len(x) * each)
        first = begin // each
        rows = x[first : -(-end // each)].reshape(-1, width)
        yield rows[begin - first * each : end - first * each].astype(np.float64)


def feature_statistics(x: SampleArray) -> Statistics:
    """Statistics over all axes of ``x`` but the last, in float64 and two passes.

    Give it the training part only: what is held out must not reach the normalisation.

    Args:
        x: [n, …, c] with at least one element, of any numeric dtype.
    """
    if x.ndim < 2 or x.size == 0:
        raise DataError(
            f"statistics need samples: expected [n, …, features], got shape {list(x.shape)}",
            who="statistics",
        )
    width = x.shape[-1]
    count = x.size // width
    total, squares = np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for chunk in _chunks(x):
        total += chunk.sum(axis=0)
        low = np.minimum(low, chunk.min(axis=0))
        high = np.maximum(high, chunk.max(axis=0))
    mean = total / count
    for chunk in _chunks(x):
        squares += np.square(chunk - mean).sum(axis=0)
    return Statistics(mean, np.sqrt(squares / count), low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Normalization:
    """The affine map ``x * scale + shift``, scale and shift float32[c] along the trailing axis.

    It describes an instruction: training and exported programs apply it on the device, so that
    raw data is what stays resident and what a user of the exported file feeds in.
    """

    kind: NormalizationKind
    scale: Floats
    shift: Floats

    def apply(self, x: Array) -> Floats:
        """The normalised values in float32, for previews and as the instruction's reference."""
        return np.asarray(x.astype(np.float32) * self.scale + self.shift, dtype=np.float32)

    def invert(self, values: Array) -> Floats:
        """Raw values from normalised ones, for display."""
        return np.asarray((values.astype(np.float64) - self.shift) / self.scale, dtype=np.float32)

    def to_json(self) -> dict[str, str | list[float]]:
        """Plain data from which `from_json` makes the same normalisation, bit for bit."""
        return {"kind": self.kind, "scale": self.scale.tolist(), "shift": self.shift.tolist()}

    @classmethod
    def from_json(cls, fields: Mapping[str, object]) -> Normalization:
        """Check and read what `to_json` wrote; raises DataError naming the wrong field."""
        scale, shift = (_numbers(fields, name) for name in ("scale", "shift"))
        if scale.shape != shift.shape or not np.all(scale):
            raise DataError(
                "scale and shift must have the same length and no scale may be 0: "
                f"got {scale.size} and {shift.size} numbers",
                who="normalization",
            )
        return cls(parse_kind(fields.get("kind")), scale, shift)


def _numbers(fields: Mapping[str, object], name: str) -> Floats:
    value = fields.get(name)
    items = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    numbers = [
        float(item)
        for item in items
        if isinstance(item, int | float) and not isinstance(item, bool) and abs(item) < _LARGEST
    ]
    if not numbers or len(numbers) != len(items):
        raise DataError(f"{name} must be a list of finite numbers", who="normalization")
    return np.array(numbers, dtype=np.float32)


def parse_kind(value: object) -> NormalizationKind:
    """``value`` if it names a normalisation, else ParameterError listing the names."""
    if value not in KINDS:
        raise ParameterError(
            f"unknown normalisation: expected one of {', '.join(KINDS)}, got {quoted(value)}",
            who="normalization",
        )
    return cast(NormalizationKind, value)


def make_normalization(
    kind: NormalizationKind,
    training: SampleArray,
    value_range: tuple[float, float] | None = None,
) -> Normalization:
    """The normalisation of a kind for data like ``training``.

    ``unit`` maps the range to [0, 1], ``symmetric`` to [-1, 1]; ``standard`` gives mean 0 and
    standard deviation 1. The range is ``value_range`` (the same for all features, as for pixels)
    or, without one, each feature's own minimum and maximum in the training part. A feature that
    never changes is only shifted, so nothing is divided by zero.

    Args:
        kind: which normalisation.
        training: the training part of x, [n, …, c].
        value_range: lowest and highest raw value where the kind of data states them.
    """
    width = training.shape[-1]
    if parse_kind(kind) == "none":
        return Normalization(kind, np.ones(width, np.float32), np.zeros(width, np.float32))
    if kind == "standard":
        found = feature_statistics(training)
        scale = 1.0 / np.where(found.std > 0.0, found.std, 1.0)
        return _rounded(kind, scale, -found.mean * scale)
    if value_range is not None:
        low, high = np.full(width, value_range[0]), np.full(width, value_range[1])
    else:
        found = feature_statistics(training)
        low, high = found.minimum, found.maximum
    scale = 1.0 / np.where(high > low, high - low, 1.0)
    if kind == "symmetric":
        return _rounded(
            kind, 2.0 * scale, np.where(high > low, -2.0 * low * scale - 1.0, -2.0 * low)
        )
    return _rounded(kind, scale, -low * scale)


def _rounded(
    kind: NormalizationKind, scale: npt.NDArray[np.float64], shift: npt.NDArray[np.float64]
) -> Normalization:
    # Adding zero turns the -0.0 of an unshifted feature into 0.0, which prints as "0".
    return Normalization(kind, scale.astype(np.float32), shift.astype(np.float32) + np.float32(0.0))
