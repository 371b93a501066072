"""The workloads in JAX: one jitted step, strict float32."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.timing import Row, measure
from benchmarks.workloads import Workload, data, start

jax.config.update("jax_default_matmul_precision", "highest")

_DIMS = ("NHWC", "HWIO", "NHWC")
_NORM_EPS = 1e-3
_NORM_FACTOR = 0.01


class JaxLayers:
    """Functional JAX layers over a list of parameters; running statistics are collected."""

    def __init__(self, params: list[Any], running: list[Any], training: bool) -> None:
        self.params = iter(params)
        self.running = iter(running)
        self.updated: list[Any] = []
        self.training = training

    def dense(self, x: Any, units: int) -> Any:
        """Fully connected layer."""
        return x @ next(self.params) + next(self.params)

    def conv(self, x: Any, filters: int, size: int, stride: int = 1, bias: bool = True) -> Any:
        """Convolution."""
        w = next(self.params)
        y = lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=_DIMS)
        return y + next(self.params) if bias else y

    def depthwise(self, x: Any, size: int, stride: int = 1) -> Any:
        """Depthwise convolution."""
        w = next(self.params).transpose(0, 1, 3, 2)
        return lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=_DIMS,
            feature_group_count=x.shape[3],
        )  # fmt: skip

    def norm(self, x: Any) -> Any:
        """Batch normalisation."""
        gamma, beta = next(self.params), next(self.params)
        mean, var = next(self.running)
        if self.training:
            batch_mean, batch_var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            self.updated.append(
                (
                    mean + _NORM_FACTOR * (batch_mean - mean),
                    var + _NORM_FACTOR * (batch_var - var),
                )
            )
            mean, var = batch_mean, batch_var
        return (x - mean) * (gamma * lax.rsqrt(var + _NORM_EPS)) + beta

    def relu(self, x: Any, ceiling: float | None = None) -> Any:
        """Rectifier."""
        return jnp.maximum(x, 0) if ceiling is None else jnp.clip(x, 0, ceiling)

    def maxpool(self, x: Any) -> Any:
        """2x2 maximum."""
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def mean(self, x: Any) -> Any:
        """Mean over rows and columns."""
        return x.mean((1, 2))

    def flatten(self, x: Any) -> Any:
        """One row per entry."""
        return x.reshape(x.shape[0], -1)

    def add(self, x: Any, y: Any) -> Any:
        """Sum."""
        return x + y


def _running(weights: list[np.ndarray]) -> list[Any]:
    ones = [i for i, w in enumerate(weights) if w.ndim == 1 and w.size and w[0] == 1]
    return [(jnp.zeros(weights[i].shape), jnp.ones(weights[i].shape)) for i in ones]


def _loss(work: Workload, params: Any, running: Any, x: Any, y: Any) -> Any:
    layers = JaxLayers(params, running, training=True)
    logits = work.network(layers, x)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
    return -picked.mean(), layers.updated


def _adam(params: Any, grads: Any, slots: Any, t: Any) -> Any:
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, slots[0], grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, slots[1], grads)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-7), params, m, v)
    return params, (m, v)


def _momentum(params: Any, grads: Any, slots: Any, _t: Any) -> Any:
    m = jax.tree.map(lambda m, g: 0.9 * m - 0.01 * g, slots[0], grads)
    return jax.tree.map(jnp.add, params, m), (m, slots[1])


def train_rows(work: Workload, batch: int, steps: int) -> list[Row]:
    """Step time of one workload."""
    weights = [jnp.asarray(w) for w in start(work)]
    zeros = [jnp.zeros_like(w) for w in weights]
    update = _adam if work.optimizer == "adam" else _momentum

    def step(state: Any, x: Any, y: Any) -> Any:
        params, slots, running, t = state
        (loss, updated), grads = jax.value_and_grad(
            lambda p: _loss(work, p, running, x, y), has_aux=True
        )(params)
        params, slots = update(params, grads, slots, t)
        return (params, slots, updated, t + 1), loss

    jitted = jax.jit(step, donate_argnums=0)
    x_host, y_host = data(work, batch)
    x, y = jnp.asarray(x_host), jnp.asarray(y_host)
    kept: dict[str, Any] = {"state": (weights, (zeros, list(map(jnp.copy, zeros))),
                                      _running(start(work)), jnp.float32(1))}  # fmt: skip

    def block() -> float:
        begun = time.perf_counter()
        for _ in range(steps):
            kept["state"], kept["loss"] = jitted(kept["state"], x, y)
        float(kept["loss"])
        return time.perf_counter() - begun

    found = measure(block, steps)
    return [Row(work.id, batch, "JAX jit", found, loss=float(kept["loss"]))]


def infer_rows(work: Workload, batch: int, steps: int) -> list[Row]:
    """Inference time of one workload."""
    weights = [jnp.asarray(w) for w in start(work)]
    running = _running(start(work))
    jitted = jax.jit(lambda x: work.network(JaxLayers(weights, running, training=False), x))
    x = jnp.asarray(data(work, batch)[0])

    def block() -> float:
        begun = time.perf_counter()
        for _ in range(steps):
            y = jitted(x)
        y.block_until_ready()
        return time.perf_counter() - begun

    return [Row(work.id, batch, "JAX jit", measure(block, steps))]
