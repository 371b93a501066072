"""Batch normalisation over a matrix [rows, features], a stretch of rows at a time.

Three passes forward (mean, centred squares, scale) and two backward; sums are taken per stretch by
a matrix product and added up in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Ref
from studio.engine.cpu.picture_sums import StretchedSums, stretch_rows
from studio.engine.cpu.team import cut_evenly, run_together
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


def _places(views: Views, arrays: list[Floats], features: int) -> list[list[_Place]]:
    """The stretches each thread takes; every thread has working memory of its own."""
    parts = _together(arrays, features)
    longest = max((p[0].size for p in parts), default=0)
    shares = []
    for share in cut_evenly(len(parts), views.threads, arrays[0].size):
        room = views.scratch((longest,))
        shares.append([_place(parts[i], room, features) for i in share])
    return shares


def _place(part: tuple[Floats, ...], room: Floats, features: int) -> _Place:
    size, shape = part[0].size, part[0].shape
    return _Place(part, room[:size].reshape(-1, features), room[:size].reshape(shape))


def _rows(shares: list[list[_Place]]) -> int:
    return sum(len(place.matrix) for share in shares for place in share)


def _sums_of(views: Views, shares: list[list[_Place]], features: int) -> list[StretchedSums]:
    """Sums for every thread."""
    longest = max((len(p.matrix) for share in shares for p in share), default=0)
    return [StretchedSums(views, features, longest) for _ in shares]


def _total(sums: Sequence[StretchedSums]) -> Doubles:
    """What the threads found together; always added in the same order."""
    first, *others = sums
    for other in others:
        first.add(other)
    return first.values


def _each(work: Callable[[int], None], shares: Sequence[object]) -> Run:
    """Runs ``work`` with the number of every share, on a thread each."""
    parts = [partial(work, number) for number in range(len(shares))]
    return lambda: run_together(parts)


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
    shares = _places(views, [x, y], features)
    scale, shift = views.scratch((features,)), views.scratch((features,))
    frozen = ins.value("frozen")
    statistics = None if frozen else _Statistics(ins, views, shares, features)
    centre = mean if statistics is None else statistics.mean

    def spread(number: int) -> None:
        for place in shares[number]:
            given, result = place.arrays
            if statistics is None:
                np.multiply(given, _spread(scale, given, features), out=result)
                np.add(result, _spread(shift, given, features), out=result)
                continue
            np.subtract(given, _spread(centre, given, features), out=result)
            np.multiply(result, _spread(scale, given, features), out=result)
            if beta is not None:
                np.add(result, _spread(beta, given, features), out=result)

    spread_all = _each(spread, shares)

    def run() -> None:
        if statistics is None:
            inverse: Doubles = 1.0 / np.sqrt(var.astype(np.float64) + eps)
        else:
            inverse = statistics.run()
        np.copyto(scale, inverse if gamma is None else inverse * gamma, casting="same_kind")
        np.multiply(centre, scale, out=shift)
        if beta is None:
            np.negative(shift, out=shift)
        else:
            np.subtract(beta, shift, out=shift)
        spread_all()

    return run


class _Statistics:
    """Mean and inverse deviation of a batch; keeps them, and moves the running ones."""

    def __init__(
        self, ins: Instruction, views: Views, shares: list[list[_Place]], features: int
    ) -> None:
        self._running = [views.data(ins.ref(n)).reshape(-1) for n in ("mean", "var")]
        self.mean, self._kept_inverse = (
            views.grad(ins.ref(n)).reshape(-1) for n in ("mean", "var")
        )
        self._eps, self._factor = ins.value("eps"), ins.value("factor")
        self._shares, self._features = shares, features
        self._rows = _rows(shares)
        self._sums = _sums_of(views, shares, features)
        self._sum_all = _each(self._sum, shares)
        self._square_all = _each(self._square, shares)

    def run(self) -> Doubles:
        """1/√(variance + eps) of the batch; its mean is in ``mean``."""
        self._sum_all()
        mean = _total(self._sums) / self._rows
        np.copyto(self.mean, mean, casting="same_kind")
        self._square_all()
        variance = _total(self._sums) / self._rows
        inverse: Doubles = 1.0 / np.sqrt(variance + self._eps)
        np.copyto(self._kept_inverse, inverse, casting="same_kind")
        for running, batch in zip(self._running, (mean, variance), strict=True):
            np.multiply(running, 1.0 - self._factor, out=running)
            np.add(running, self._factor * batch, out=running, casting="same_kind")
        return inverse

    def _sum(self, number: int) -> None:
        sums = self._sums[number]
        sums.clear()
        for place in self._shares[number]:
            given = place.arrays[0]
            if given.flags.c_contiguous:
                sums.take(given.reshape(place.matrix.shape))
            else:
                np.copyto(place.shown, given)
                sums.take(place.matrix)

    def _square(self, number: int) -> None:
        sums = self._sums[number]
        sums.clear()
        for place in self._shares[number]:
            given = place.arrays[0]
            np.subtract(given, _spread(self.mean, given, self._features), out=place.shown)
            np.multiply(place.shown, place.shown, out=place.shown)
            sums.take(place.matrix)


def build_gradients(ins: Twin, views: Views, features: int) -> Run:
    """dgamma = Σ dy·x̂, dbeta = Σ dy, dx = gamma·inv·(dy - Σdy/M - x̂·Σ(dy·x̂)/M).

    A frozen one has dx = gamma·inv·dy.
    """
    return _Gradients(ins, views, features).run


class _Gradients:
    """Sums of dy and of dy·x̂ over all rows, then the gradient of the input from them."""

    def __init__(self, ins: Twin, views: Views, features: int) -> None:
        self._sinks = {name: views.sink(ins, name) for name in ("x", "gamma", "beta")}
        x, dy = views.data(ins.ref("x")), views.grad(ins.ref("y"))
        dx = self._sinks["x"]
        self._shares = _places(views, [x, dy] if dx is None else [x, dy, dx.into()], features)
        self._features = features
        self._product = _sums_of(views, self._shares, features)
        self._plain = _sums_of(views, self._shares, features)
        self._gamma = _vector(views, ins.ref("gamma"))
        self._centre, self._inverse = _kept_statistics(ins, views)
        self._frozen, self._rows = ins.value("frozen"), _rows(self._shares)
        self._factors = [views.scratch((features,)) for _ in range(3)]
        self._sum_all = _each(self._sum, self._shares)
        spread = self._spread_frozen if self._frozen else self._spread
        self._spread_all = _each(spread, self._shares)
        for name in ("gamma", "beta"):
            sink = self._sinks[name]
            if sink is not None:
                sink.dense()

    def run(self) -> None:
        """Deliver all gradients wanted."""
        self._sum_all()
        scale = self._inverse()
        product, plain = _total(self._product), _total(self._plain)
        np.multiply(product, scale, out=product)
        for name, found in (("gamma", product), ("beta", plain)):
            sink = self._sinks[name]
            if sink is not None:
                np.copyto(sink.dense().reshape(-1), found, casting="same_kind")
                sink.deliver()
        dx = self._sinks["x"]
        if dx is None:
            return
        outer, flat, slope = self._factors
        gamma = self._gamma
        np.copyto(outer, scale if gamma is None else scale * gamma, casting="same_kind")
        np.copyto(flat, plain / self._rows, casting="same_kind")
        np.copyto(slope, product * scale / self._rows, casting="same_kind")
        self._spread_all()
        dx.deliver()

    def _sum(self, number: int) -> None:
        product, plain = self._product[number], self._plain[number]
        product.clear()
        plain.clear()
        for place in self._shares[number]:
            given, slope = place.arrays[:2]
            if slope.flags.c_contiguous:
                plain.take(slope.reshape(place.matrix.shape))
            else:
                np.copyto(place.shown, slope)
                plain.take(place.matrix)
            np.subtract(given, _spread(self._centre, given, self._features), out=place.shown)
            np.multiply(place.shown, slope, out=place.shown)
            product.take(place.matrix)

    def _spread(self, number: int) -> None:
        features = self._features
        outer, flat, slope_of_x = self._factors
        for place in self._shares[number]:
            given, slope, out = place.arrays
            np.subtract(given, _spread(self._centre, given, features), out=place.shown)
            np.multiply(place.shown, _spread(slope_of_x, given, features), out=place.shown)
            np.subtract(slope, place.shown, out=place.shown)
            np.subtract(place.shown, _spread(flat, given, features), out=place.shown)
            np.multiply(place.shown, _spread(outer, given, features), out=out)

    def _spread_frozen(self, number: int) -> None:
        outer = self._factors[0]
        for place in self._shares[number]:
            given, slope, out = place.arrays
            np.multiply(slope, _spread(outer, given, self._features), out=out)


def _kept_statistics(ins: Twin, views: Views) -> tuple[Floats, Callable[[], Doubles]]:
    """The mean to subtract, and a function giving the inverse deviation at run time."""
    mean, var = ins.ref("mean"), ins.ref("var")
    if ins.value("frozen"):
        running, eps = views.data(var).reshape(-1), ins.value("eps")
        return views.data(mean).reshape(-1), lambda: 1.0 / np.sqrt(running.astype(np.float64) + eps)
    kept = views.grad(var).reshape(-1)
    return views.grad(mean).reshape(-1), lambda: kept.astype(np.float64)
