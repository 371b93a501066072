"""Batch normalisation over a matrix [rows, features], a stretch of rows at a time.

Three passes forward (mean, centred squares, scale) and two backward; sums are taken per stretch by
a matrix product and added up in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Ref
from studio.engine.cpu.picture_sums import StretchedSums, stretch_rows
from studio.engine.cpu.views import Floats, Run, Views
from studio.engine.isa.instruction import Instruction, Twin

Doubles = npt.NDArray[np.float64]


def _stretches(array: Floats, features: int) -> list[Floats]:
    """Runs of entries of an array as they lie, each about a stretch of rows."""
    per_entry = max(1, prod(array.shape[1:]) // max(features, 1))
    if array.flags.c_contiguous:
        matrix = array.reshape(-1, features)
        step = stretch_rows(features)
        return [matrix[i : i + step] for i in range(0, len(matrix), step)]
    step = max(1, stretch_rows(features) // per_entry)
    return [array[i : i + step] for i in range(0, len(array), step)]


def _together(arrays: list[Floats], features: int) -> list[tuple[Floats, ...]]:
    """Stretches of several arrays that meet; all by entries if one of them has gaps."""
    if all(a.flags.c_contiguous for a in arrays):
        return list(zip(*(_stretches(a, features) for a in arrays), strict=True))
    per_entry = max(1, prod(arrays[0].shape[1:]) // max(features, 1))
    step = max(1, stretch_rows(features) // per_entry)
    return [tuple(a[i : i + step] for a in arrays) for i in range(0, len(arrays[0]), step)]


def _vector(views: Views, ref: Ref) -> Floats | None:
    return views.data(ref).reshape(-1) if ref.present else None


@dataclass(frozen=True)
class _Place:
    """One stretch: its arrays as they lie, and a matrix without gaps of working memory."""

    arrays: tuple[Floats, ...]
    matrix: Floats
    shown: Floats


def _places(views: Views, arrays: list[Floats], features: int) -> list[_Place]:
    parts = _together(arrays, features)
    room = views.scratch((max((p[0].size for p in parts), default=0),))
    return [
        _Place(
            part,
            room[: part[0].size].reshape(-1, features),
            room[: part[0].size].reshape(part[0].shape),
        )
        for part in parts
    ]


def _spread(vector: Floats, array: Floats, features: int) -> Floats:
    """A vector over features in a shape that broadcasts against an array of entries."""
    if array.shape[-1] == features:
        return vector
    return vector.reshape(array.shape[1:])


def build_forward(ins: Instruction, views: Views, features: int) -> Run:
    """y = gamma·(x - mean)/√(var + eps) + beta; updates and keeps statistics unless frozen."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    gamma, beta = _vector(views, ins.ref("gamma")), _vector(views, ins.ref("beta"))
    mean, var = views.data(ins.ref("mean")).reshape(-1), views.data(ins.ref("var")).reshape(-1)
    eps = ins.value("eps")
    places = _places(views, [x, y], features)
    scale, shift = views.scratch((features,)), views.scratch((features,))
    frozen = ins.value("frozen")
    statistics = None if frozen else _Statistics(ins, views, places, features)

    def run() -> None:
        if statistics is None:
            centre, inverse = mean, 1.0 / np.sqrt(var.astype(np.float64) + eps)
        else:
            centre, inverse = statistics.run()
        np.copyto(scale, inverse if gamma is None else inverse * gamma, casting="same_kind")
        np.multiply(centre, scale, out=shift)
        if beta is None:
            np.negative(shift, out=shift)
        else:
            np.subtract(beta, shift, out=shift)
        for place in places:
            given, result = place.arrays
            if statistics is None:
                np.multiply(given, _spread(scale, given, features), out=result)
                np.add(result, _spread(shift, given, features), out=result)
                continue
            np.subtract(given, _spread(centre, given, features), out=result)
            np.multiply(result, _spread(scale, given, features), out=result)
            if beta is not None:
                np.add(result, _spread(beta, given, features), out=result)

    return run


class _Statistics:
    """Mean and inverse deviation of a batch; keeps them, and moves the running ones."""

    def __init__(self, ins: Instruction, views: Views, places: list[_Place], features: int) -> None:
        self._running = [views.data(ins.ref(n)).reshape(-1) for n in ("mean", "var")]
        self._kept = [views.grad(ins.ref(n)).reshape(-1) for n in ("mean", "var")]
        self._eps, self._factor = ins.value("eps"), ins.value("factor")
        self._places, self._features = places, features
        self._rows = sum(len(p.matrix) for p in places)
        longest = max((len(p.matrix) for p in places), default=0)
        self._sums = StretchedSums(views, features, longest)

    def run(self) -> tuple[Floats, Doubles]:
        """The batch mean (float32) and 1/√(variance + eps) (float64)."""
        kept_mean, kept_inverse = self._kept
        self._sums.clear()
        for place in self._places:
            given = place.arrays[0]
            if given.flags.c_contiguous:
                self._sums.take(given.reshape(place.matrix.shape))
            else:
                np.copyto(place.shown, given)
                self._sums.take(place.matrix)
        mean = self._sums.values / self._rows
        np.copyto(kept_mean, mean, casting="same_kind")
        self._sums.clear()
        for place in self._places:
            given = place.arrays[0]
            np.subtract(given, _spread(kept_mean, given, self._features), out=place.shown)
            np.multiply(place.shown, place.shown, out=place.shown)
            self._sums.take(place.matrix)
        variance = self._sums.values / self._rows
        inverse: Doubles = 1.0 / np.sqrt(variance + self._eps)
        np.copyto(kept_inverse, inverse, casting="same_kind")
        for running, batch in zip(self._running, (mean, variance), strict=True):
            np.multiply(running, 1.0 - self._factor, out=running)
            np.add(running, self._factor * batch, out=running, casting="same_kind")
        return kept_mean, inverse


def build_gradients(ins: Twin, views: Views, features: int) -> Run:
    """dgamma = Σ dy·x̂, dbeta = Σ dy, dx = gamma·inv·(dy - Σdy/M - x̂·Σ(dy·x̂)/M).

    A frozen one has dx = gamma·inv·dy.
    """
    sinks = {name: views.sink(ins, name) for name in ("x", "gamma", "beta")}
    x, dy = views.data(ins.ref("x")), views.grad(ins.ref("y"))
    dx = sinks["x"]
    arrays = [x, dy] if dx is None else [x, dy, dx.into()]
    places = _places(views, arrays, features)
    longest = max((len(p.matrix) for p in places), default=0)
    product, plain = (StretchedSums(views, features, longest) for _ in range(2))
    gamma = _vector(views, ins.ref("gamma"))
    centre, inverse = _kept_statistics(ins, views)
    frozen, rows = ins.value("frozen"), sum(len(p.matrix) for p in places)

    def sums() -> None:
        product.clear()
        plain.clear()
        mean, scale = centre, inverse()
        for place in places:
            given, slope = place.arrays[:2]
            if slope.flags.c_contiguous:
                plain.take(slope.reshape(place.matrix.shape))
            else:
                np.copyto(place.shown, slope)
                plain.take(place.matrix)
            np.subtract(given, _spread(mean, given, features), out=place.shown)
            np.multiply(place.shown, slope, out=place.shown)
            product.take(place.matrix)
        np.multiply(product.values, scale, out=product.values)

    def spread() -> None:
        scale = inverse()
        outer = (scale if gamma is None else scale * gamma).astype(np.float32)
        flat = (plain.values / rows).astype(np.float32)
        slope_of_x = (product.values * scale / rows).astype(np.float32)
        for place in places:
            given, slope, out = place.arrays
            if frozen:
                np.multiply(slope, _spread(outer, given, features), out=out)
                continue
            np.subtract(given, _spread(centre, given, features), out=place.shown)
            np.multiply(place.shown, _spread(slope_of_x, given, features), out=place.shown)
            np.subtract(slope, place.shown, out=place.shown)
            np.subtract(place.shown, _spread(flat, given, features), out=place.shown)
            np.multiply(place.shown, _spread(outer, given, features), out=out)

    def run() -> None:
        sums()
        for name, found in (("gamma", product), ("beta", plain)):
            sink = sinks[name]
            if sink is not None:
                np.copyto(sink.dense().reshape(-1), found.values, casting="same_kind")
                sink.deliver()
        if dx is not None:
            spread()
            dx.deliver()

    for name in ("gamma", "beta"):
        sink = sinks[name]
        if sink is not None:
            sink.dense()
    return run


def _kept_statistics(ins: Twin, views: Views) -> tuple[Floats, Callable[[], Doubles]]:
    """The mean to subtract, and a function giving the inverse deviation at run time."""
    mean, var = ins.ref("mean"), ins.ref("var")
    if ins.value("frozen"):
        running, eps = views.data(var).reshape(-1), ins.value("eps")
        return views.data(mean).reshape(-1), lambda: 1.0 / np.sqrt(running.astype(np.float64) + eps)
    kept = views.grad(var).reshape(-1)
    return views.grad(mean).reshape(-1), lambda: kept.astype(np.float64)
