"""What losses share: rows of predictions, the weight of each, the value and how gradients scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studio.engine.cpu.memory.views import Anything, Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import DenseIn, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

EPS = 1e-7


class LossRows:
    """Predictions as a matrix, and the factor each row enters the loss with.

    A row is the last dimension where the loss is per position, else what has one weight: a whole
    entry, where there are no weights of positions.

    Attributes:
        p: predictions [R,K].
        factors: float32[R,1]: weight of the row / (N · rows of an entry), after ``load``.
        rows: R.
    """

    def __init__(self, ins: Instruction, views: Views, *, entries: bool) -> None:
        source = views.data(ins.ref("p"))
        count = source.shape[0]
        weights = ins.ref("weights")
        self._weights = views.data(weights)[:, None] if weights.present else None
        apart = count if self._weights is None else len(self._weights)
        self.width = source.size // max(apart, 1) if entries else source.shape[-1]
        self.rows = source.size // max(self.width, 1)
        self._p = DenseIn(views, source, (self.rows, self.width))
        self.p = self._p.array
        self.per_entry = self.rows // max(count, 1)
        self.factors = views.scratch((self.rows, 1))
        self.spare = views.scratch((self.rows, self.width))
        self._t = views.any(ins.ref("t"))
        self._targets = views.scratch((self.rows, self.width))
        self._shown = self._targets.reshape(self._t.shape) if self._has_rows() else None

    def _has_rows(self) -> bool:
        return int(self._t.size) == self.rows * self.width

    @property
    def t(self) -> Floats:
        """Targets as float32 in the shape of ``p``, after ``load``."""
        return self._targets

    def load(self, divisor: float) -> None:
        """Bring predictions, targets and factors up to date; factors are weight / divisor."""
        self._p.load()
        if self._shown is not None:
            np.copyto(self._shown, self._t, casting="unsafe")
        if self._weights is None:
            self.factors.fill(1.0 / divisor)
            return
        spread = self.factors.reshape(len(self._weights), -1)
        np.multiply(self._weights, 1.0 / divisor, out=spread)

    @property
    def mean(self) -> float:
        """The divisor of the mean over batch and positions."""
        return float(self.rows)

    def value(self, per_row: Floats) -> float:
        """Σ factor · loss over the rows, in float64."""
        return float(np.add.reduce(per_row * self.factors, axis=None, dtype=np.float64))


def slope_of(ins: Instruction, views: Views) -> Floats:
    """The gradient of the loss itself, a scalar."""
    return views.grad(ins.ref("y"))


def gradient_matrix(accumulator: GradAccumulator, rows: LossRows) -> Floats:
    """Where the gradient of the predictions is written, as a matrix."""
    return accumulator.dense().reshape(rows.rows, rows.width)


def normalized(p: Floats, out: Floats, total: Floats) -> None:
    """out = p / Σp per row; the sums stay in ``total``."""
    np.add.reduce(p, axis=1, keepdims=True, out=total)
    np.divide(p, total, out=out)


def through_clip(q: Floats, slope: Floats) -> None:
    """Clear a slope where the clip at EPS and 1 - EPS holds a share."""
    np.copyto(slope, 0.0, where=(q < np.float32(EPS)) | (q > np.float32(1.0 - EPS)))


def log_sum_exp(p: Floats, shifted: Floats, powers: Floats) -> tuple[Floats, Floats]:
    """p - max into ``shifted``, its powers of e into ``powers``; ln Σ and Σ per row."""
    np.subtract(p, np.maximum.reduce(p, axis=1, keepdims=True), out=shifted)
    np.exp(shifted, out=powers)
    total: Anything = np.add.reduce(powers, axis=1, keepdims=True)
    return np.log(total), total


def run_value(y: Floats, compute: Callable[[], float]) -> Run:
    """A run that writes one number."""

    def run() -> None:
        y.fill(compute())

    return run


def run_mean(
    ins: Instruction,
    views: Views,
    each: Callable[[LossRows], Floats],
    divisor: Callable[[float], float] = float,
) -> Run:
    """A run of a loss that is a sum over all elements of the predictions.

    Args:
        ins: the loss.
        views: its arrays.
        each: gives the loss of every element, [R,K].
        divisor: what the sum is divided by, from the count of elements; by default that count.
    """
    rows = LossRows(ins, views, entries=True)
    whole = divisor(rows.mean * rows.width)

    def value() -> float:
        rows.load(whole)
        return rows.value(np.add.reduce(each(rows), axis=1, keepdims=True, dtype=np.float64))

    return run_value(views.data(ins.ref("y")), value)


def run_mean_slope(
    ins: GradInstruction,
    views: Views,
    each: Callable[[LossRows, Floats], object],
    divisor: Callable[[float], float] = float,
) -> Run:
    """A run of the gradient of such a loss; ``each`` writes the slope of every element."""
    accumulator = views.accumulator(ins, "p")
    if accumulator is None:
        return nothing
    rows, dy = LossRows(ins, views, entries=True), slope_of(ins, views)
    out = gradient_matrix(accumulator, rows)
    whole = divisor(rows.mean * rows.width)

    def run() -> None:
        rows.load(whole)
        each(rows, out)
        np.multiply(rows.factors, dy, out=rows.factors)
        np.multiply(out, rows.factors, out=out)
        accumulator.deliver()

    return run
