"""Batch normalisation over a matrix [rows, features].

Statistics and results forward; sums and the input's gradient backward.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studio.engine.core.tensor import Ref
from studio.engine.cpu.memory.views import Doubles, Floats, Run, Views
from studio.engine.cpu.reductions.column_passes import ColumnPasses, column_passes
from studio.engine.isa.instruction import GradInstruction, Instruction


def _vector(views: Views, ref: Ref) -> Floats | None:
    return views.data(ref).reshape(-1) if ref.present else None


def build_forward(ins: Instruction, views: Views, features: int) -> Run:
    """y = gamma·(x - mean)/√(var + eps) + beta; updates and keeps statistics unless frozen."""
    gamma, beta = _vector(views, ins.ref("gamma")), _vector(views, ins.ref("beta"))
    mean, var = views.data(ins.ref("mean")).reshape(-1), views.data(ins.ref("var")).reshape(-1)
    eps = ins.value("eps")
    known = ins.value("frozen") or _given_sums(ins, views) is not None
    wanted = ["normalise"] if known else ["moments", "normalise"]
    arrays = [views.data(ins.ref("x")), views.data(ins.ref("y"))]
    passes = column_passes(views, arrays, features, wanted)
    scale, shift = views.scratch((features,)), views.scratch((features,))
    statistics = None if ins.value("frozen") else _Statistics(ins, views, passes)
    centre = mean if statistics is None else statistics.mean

    def run() -> None:
        if statistics is None:
            inverse: Doubles = 1.0 / np.sqrt(var.astype(np.float64) + eps)
        else:
            inverse = statistics.run()
        np.copyto(scale, inverse if gamma is None else inverse * gamma, casting="same_kind")
        np.copyto(shift, 0.0 if beta is None else beta)
        passes.normalise(centre, scale, shift)

    return run


def _given_sums(ins: Instruction, views: Views) -> Floats | None:
    """The two rows of sums another instruction has made, where there are any."""
    ref = ins.ref("stats")
    return views.data(ref).reshape(2, -1) if ref.present else None


def build_statistics(ins: Instruction, views: Views) -> Run:
    """The mean and the sum of squared deviations of each column of x."""
    x, result = views.data(ins.ref("x")), views.data(ins.ref("y"))
    passes = column_passes(views, [x], x.shape[-1], ["moments"])

    def run() -> None:
        mean, variance = passes.moments()
        np.copyto(result[0], mean, casting="same_kind")
        np.copyto(result[1], variance * passes.rows, casting="same_kind")

    return run


def build_products(ins: Instruction, views: Views) -> Run:
    """Σ dy and Σ dy·(x - mean) of each column."""
    x, dy, result = (views.any(ins.ref(name)) for name in ("x", "dy", "y"))
    mean = views.data(ins.ref("mean"))
    passes = column_passes(views, [x, dy], x.shape[-1], ["gradient_sums"])

    def run() -> None:
        product, plain = passes.gradient_sums(mean)
        np.copyto(result[0], plain, casting="same_kind")
        np.copyto(result[1], product, casting="same_kind")

    return run


class _Statistics:
    """Mean and inverse deviation of a batch; keeps them, and moves the running ones."""

    def __init__(self, ins: Instruction, views: Views, passes: ColumnPasses) -> None:
        self._running = [views.data(ins.ref(n)).reshape(-1) for n in ("mean", "var")]
        self.mean, self._kept_inverse = (
            views.grad(ins.ref(n)).reshape(-1) for n in ("mean", "var")
        )
        self._eps, self._factor = ins.value("eps"), ins.value("factor")
        self._passes = passes
        self._given = _given_sums(ins, views)

    def run(self) -> Doubles:
        """1/√(variance + eps) of the batch; its mean is in ``mean``."""
        if self._given is None:
            mean, variance = self._passes.moments()
        else:
            mean, squares = self._given.astype(np.float64)
            variance = squares / self._passes.rows
        np.copyto(self.mean, mean, casting="same_kind")
        inverse: Doubles = 1.0 / np.sqrt(variance + self._eps)
        np.copyto(self._kept_inverse, inverse, casting="same_kind")
        for running, batch in zip(self._running, (mean, variance), strict=True):
            np.multiply(running, 1.0 - self._factor, out=running)
            np.add(running, self._factor * batch, out=running, casting="same_kind")
        return inverse


def build_gradients(ins: GradInstruction, views: Views, features: int) -> Run:
    """dgamma = Σ dy·x̂, dbeta = Σ dy, dx = gamma·inv·(dy - Σdy/M - x̂·Σ(dy·x̂)/M).

    A frozen one has dx = gamma·inv·dy.
    """
    return _Gradients(ins, views, features).run


class _Gradients:
    """Sums of dy and of dy·x̂ over all rows, then the gradient of the input from them."""

    def __init__(self, ins: GradInstruction, views: Views, features: int) -> None:
        self._accumulators = {name: views.accumulator(ins, name) for name in ("x", "gamma", "beta")}
        arrays = [views.data(ins.ref("x")), views.grad(ins.ref("y"))]
        dx = self._accumulators["x"]
        if dx is not None:
            arrays.append(dx.into())
        self._given = _given_sums(ins, views)
        wanted = ["gradient_sums"] if self._given is None else []
        wanted += ["input_gradient"] if dx is not None else []
        self._passes = column_passes(views, arrays, features, wanted)
        self._gamma = _vector(views, ins.ref("gamma"))
        self._centre, self._inverse = _kept_statistics(ins, views)
        self._frozen = ins.value("frozen")
        self._factors = [views.scratch((features,)) for _ in range(3)]
        for name in ("gamma", "beta"):
            accumulator = self._accumulators[name]
            if accumulator is not None:
                accumulator.dense()

    def run(self) -> None:
        """Deliver all gradients wanted."""
        scale = self._inverse()
        if self._given is None:
            product, plain = self._passes.gradient_sums(self._centre)
        else:
            plain, product = self._given.astype(np.float64)
        np.multiply(product, scale, out=product)
        for name, found in (("gamma", product), ("beta", plain)):
            accumulator = self._accumulators[name]
            if accumulator is not None:
                np.copyto(accumulator.dense().reshape(-1), found, casting="same_kind")
                accumulator.deliver()
        dx = self._accumulators["x"]
        if dx is not None:
            self._input_gradient(scale, product, plain)
            dx.deliver()

    def _input_gradient(self, scale: Doubles, product: Doubles, plain: Doubles) -> None:
        outer, flat, slope = self._factors
        gamma, rows = self._gamma, self._passes.rows
        np.copyto(outer, scale if gamma is None else scale * gamma, casting="same_kind")
        if self._frozen:
            flat.fill(0.0)
            slope.fill(0.0)
        else:
            np.copyto(flat, plain / rows, casting="same_kind")
            np.copyto(slope, product * scale / rows, casting="same_kind")
        self._passes.input_gradient(self._centre, outer, flat, slope)


def _kept_statistics(ins: GradInstruction, views: Views) -> tuple[Floats, Callable[[], Doubles]]:
    """The mean to subtract, and a function giving the inverse deviation at run time."""
    mean, var = ins.ref("mean"), ins.ref("var")
    if ins.value("frozen"):
        running, eps = views.data(var).reshape(-1), ins.value("eps")
        return views.data(mean).reshape(-1), lambda: 1.0 / np.sqrt(running.astype(np.float64) + eps)
    kept = views.grad(var).reshape(-1)
    return views.grad(mean).reshape(-1), lambda: kept.astype(np.float64)
