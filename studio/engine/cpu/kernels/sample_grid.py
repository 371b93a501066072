"""SAMPLE_GRID and its gradients: up to four cells for each place, weighed down and across.

Cells that weigh nothing take no part, so that no NaN of theirs gets in.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.index_places import Keys, add_by_key
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.image import SampleGrid


class Tap(NamedTuple):
    """One cell for every place, along one dimension: each array [N,H',W']."""

    cells: Keys
    weights: Floats
    slopes: Floats
    """How the weights change with the numbers of the grid."""


class Taps(NamedTuple):
    """All cells for every place, along one dimension."""

    each: tuple[Tap, ...]
    there: npt.NDArray[np.bool_]
    """Where places are finite."""


def _places(ins: SampleGrid, numbers: Floats, size: int) -> tuple[Floats, float]:
    """Places in cells, and how far they move with the numbers of the grid."""
    if ins.coords == "pixels":
        return numbers.copy(), 1.0
    if ins.coords == "align_corners":
        return (numbers + 1.0) * 0.5 * (size - 1.0), 0.5 * (size - 1)
    return ((numbers + 1.0) * float(size) - 1.0) * 0.5, 0.5 * size


def _reflected(ins: SampleGrid, p: Floats, slope: Floats, size: int) -> tuple[Floats, Floats]:
    """Places mirrored until they are inside, and their slopes turned as often."""
    corners = ins.coords == "align_corners"
    low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
    far = np.abs(p - low)
    turns = np.floor(far / span) if span else np.zeros_like(far)
    odd = turns - 2.0 * np.floor(turns * 0.5) > 0.5
    far = far - turns * span
    slope = np.where(odd ^ (p < low), -slope, slope)
    return np.where(odd, span - far, far) + low, slope


def taps_of(ins: SampleGrid, numbers: Floats, size: int) -> Taps:
    """The cells that numbers of a grid name among ``size``, with weights."""
    with np.errstate(all="ignore"):
        p, step = _places(ins, numbers, size)
    there = np.isfinite(p)
    p[~there] = 0.0
    slope = np.full_like(p, step)
    if ins.outside == "reflect":
        p, slope = _reflected(ins, p, slope, size)
    if ins.outside == "zeros":
        p = np.clip(p, -2.0, size + 1.0)
    else:
        slope[(p <= 0.0) | (p >= size - 1.0)] = 0.0
        p = np.clip(p, 0.0, size - 1.0)
    nearest = ins.method == "nearest"
    whole = np.rint(p) if nearest else np.floor(p)
    part = p - whole
    first = whole.astype(np.int64)
    if nearest:
        return Taps((_tap(first, np.ones_like(p), np.zeros_like(p), size),), there)
    pair = _tap(first, 1.0 - part, -slope, size), _tap(first + 1, part, slope, size)
    return Taps(pair, there)


def _tap(cells: Keys, weights: Floats, slopes: Floats, size: int) -> Tap:
    outside = (cells < 0) | (cells >= size)
    weights[outside] = 0.0
    slopes = np.where(outside, np.float32(0.0), slopes)
    return Tap(np.clip(cells, 0, size - 1), weights, slopes)


class _Places:
    """The taps of an instruction's grid, found anew at each run."""

    def __init__(self, ins: Instruction, forward: Instruction, views: Views) -> None:
        if not isinstance(forward, SampleGrid):
            raise TypeError(f"{forward.mnemonic} is no SAMPLE_GRID")
        self._ins = forward
        self._grid = views.data(ins.ref("grid"))
        self.n, self.height, self.width, self.channels = views.shape(ins.ref("x"))
        self.rows = np.arange(self.n, dtype=np.int64)[:, None, None]

    def find(self) -> tuple[Taps, Taps]:
        """Taps down and across."""
        down = taps_of(self._ins, self._grid[..., 1], self.height)
        return down, taps_of(self._ins, self._grid[..., 0], self.width)


def build(ins: Instruction, views: Views) -> Run:
    """y = the weighed cells of x around each place."""
    places = _Places(ins, ins, views)
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))

    def run() -> None:
        down, across = places.find()
        y.fill(0.0)
        with np.errstate(all="ignore"):
            for tall in down.each:
                row = np.zeros(y.shape, np.float32)
                for wide in across.each:
                    term = x[places.rows, tall.cells, wide.cells] * wide.weights[..., None]
                    np.add(row, term, out=row, where=wide.weights[..., None] != 0.0)
                row *= tall.weights[..., None]
                np.add(y, row, out=y, where=tall.weights[..., None] != 0.0)
        y[~(down.there & across.there)] = np.nan

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Cells get dy by their weights; the grid gets how the weights change, times dy and cells."""
    places = _Places(ins, ins.forward.of_grad(ins), views)
    dy = views.grad(ins.ref("y"))
    by_x, by_grid = _by_x(ins, views, dy, places), _by_grid(ins, views, dy, places)

    def run() -> None:
        by_x()
        by_grid()

    return run


def _by_x(ins: GradInstruction, views: Views, dy: Floats, places: _Places) -> Run:
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    direct = accumulator.target.flags.c_contiguous
    cells = (accumulator.target if direct else accumulator.dense()).reshape(1, -1, places.channels)
    sets = accumulator.sets or not direct

    def run() -> None:
        down, across = places.find()
        keys, given = [], []
        for tall, wide in product(down.each, across.each):
            weight = tall.weights * wide.weights
            key = (places.rows * places.height + tall.cells) * places.width + wide.cells
            keys.append(np.where((weight != 0.0) & down.there & across.there, key, -1))
            given.append(dy * weight[..., None])
        entries = np.stack(given, axis=3).reshape(1, -1, places.channels)
        add_by_key(np.stack(keys, axis=3).reshape(-1), entries, cells, sets=sets)
        if not direct:
            accumulator.deliver()

    return run


def _by_grid(ins: GradInstruction, views: Views, dy: Floats, places: _Places) -> Run:
    accumulator = views.accumulator(ins, "grid")
    if accumulator is None:
        return nothing
    x = views.data(ins.ref("x"))
    own = np.zeros(accumulator.target.shape, np.float32)
    views.own_bytes += own.nbytes
    deliver = add_or_set(accumulator.target, own, accumulator.sets)

    def run() -> None:
        down, across = places.find()
        own.fill(0.0)
        with np.errstate(all="ignore"):
            for tall, wide in product(down.each, across.each):
                cell = (x[places.rows, tall.cells, wide.cells] * dy).sum(axis=-1)
                for k, change in enumerate(
                    (tall.weights * wide.slopes, tall.slopes * wide.weights)
                ):
                    np.add(own[..., k], cell * change, out=own[..., k], where=change != 0.0)
        own[~(down.there & across.there)] = 0.0
        deliver()

    return run
