"""Trains a task as one of several workers, and compares what they end with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.gl.backend import GlBackend
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.exchange import Exchange
from studio.engine.scale.parallel.shared_control import SharedControl
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.loop.control import Control
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.train.small_tasks import equal_bytes

CLOSE = {"rtol": 2e-4, "atol": 2e-5}
"""As for two backends after 200 steps: sums are added in another order."""


@dataclass(frozen=True)
class Found:
    """What a worker ends with."""

    result: TrainingResult
    weights: Mapping[str, np.ndarray]
    measured: Mapping[str, float]
    checkpoint: Checkpoint


def backend_of(device: str, exchange: Exchange | None) -> Backend:
    if device == "gl":
        return GlBackend(exchange=exchange)
    return CpuBackend(config=ExecutionConfig(exchange=exchange))


def train(
    made: Task,
    exchange: Exchange | None = None,
    *,
    device: str = "cpu",
    resumed: Checkpoint | None = None,
    run: RunFolder | None = None,
    callbacks: Sequence[Callback] = (),
) -> Found:
    backend = backend_of(device, exchange)
    control = Control() if exchange is None else SharedControl(exchange)
    try:
        with Trainer(made, backend, run=run, control=control, callbacks=callbacks) as trainer:
            if resumed is not None:
                trainer.resume(resumed)
            result = trainer.run()
            test = trainer.evaluate("validation")
            return Found(result, trainer.read_weights(), test, trainer.checkpoint())
    finally:
        backend.close()


def require_alike(workers: list[Found]) -> None:
    """All workers of one training have the same bits."""
    first = workers[0]
    for other in workers[1:]:
        assert equal_bytes(other.weights, first.weights)
        assert other.result.history == first.result.history
        assert other.measured == first.measured


def require_close(found: Found, alone: Found, **tolerance: float) -> None:
    limits = tolerance or CLOSE
    for name, values in alone.weights.items():
        np.testing.assert_allclose(found.weights[name], values, **limits, err_msg=name)
    assert found.result.steps == alone.result.steps
    for name, numbers in alone.result.history.items():
        np.testing.assert_allclose(found.result.history[name], numbers, **limits, err_msg=name)
    for name, number in alone.measured.items():
        np.testing.assert_allclose(found.measured[name], number, **limits, err_msg=name)
