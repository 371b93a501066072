"""The loss of each sample of numbers, for what is shown sample by sample."""

from __future__ import annotations

import numpy as np

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.optim.losses import Floats, Loss, PointwiseLoss
from studio.engine.train.network.execute import run_program


def sample_losses(loss: Loss, predicted: Floats, truth: Floats) -> Floats:
    """Loss of each sample, [samples], without weights.

    A loss that only its instructions state is computed by them on the CPU, in float32.

    Args:
        loss: what a network is trained by.
        predicted: its outputs, [samples, numbers].
        truth: the targets, [samples, numbers].
    """
    found = loss.of_samples(predicted, truth)
    if found is not None:
        return found
    if not isinstance(loss, PointwiseLoss):
        raise TypeError(f"{type(loss).__name__} does not say what the loss of a sample is")
    builder = ProgramBuilder("sample losses", "infer")
    shape = (BATCH, predicted.shape[1])
    p, t = (builder.tensor(name, shape, role=Role.INPUT) for name in ("predicted", "truth"))
    with builder.owned_by("loss"):
        losses = loss.emit_samples(builder, p, t, "forward")
    program = builder.finish((p, t), (losses,))
    rows = [np.ascontiguousarray(each, np.float32) for each in (predicted, truth)]
    backend = CpuBackend()
    try:
        return run_program(backend, program, {}, list(rows))[0].astype(np.float64)
    finally:
        backend.close()
