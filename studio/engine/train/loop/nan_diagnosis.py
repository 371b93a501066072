"""Finds the instruction that made a loss NaN or infinite, by repeating the epoch up to it."""

from __future__ import annotations

import numpy as np

from studio.engine.core.errors import NumericError, StudioError
from studio.engine.train.loop.rates import RateTable
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import STATE_ROLES, Network, Snapshot


class NanDiagnosis:
    """Repeats the steps of an epoch to one that went wrong.

    Args:
        network: what trained.
        feeder: brings its samples.
        rates: learning rates of the steps.
        snapshot: state at ``first_step``, or None to look at the state as it is now.
        first_step: index within the epoch of the snapshot.
        total_step: steps of all epochs before it.
    """

    def __init__(
        self,
        network: Network,
        feeder: DataFeeder,
        rates: RateTable,
        snapshot: Snapshot | None,
        first_step: int,
        total_step: int,
    ) -> None:
        self._network = network
        self._feeder = feeder
        self._rates = rates
        self._snapshot = snapshot
        self._first = first_step
        self._total = total_step

    def find(self, epoch: int, shuffle: bool, bad_step: int) -> StudioError:
        """The error to raise: what check mode finds, or that it found nothing."""
        self._clear_ring()
        # A broken update shows in the loss of the next step only: look at both.
        first = bad_step if self._snapshot is None else max(self._first, bad_step - 1)
        if self._snapshot is not None:
            self._network.write(self._snapshot, STATE_ROLES)
            self._replay(epoch, shuffle, self._first, first)
        for step in range(first, bad_step + 1):
            try:
                self._check_at(epoch, shuffle, step)
            except NumericError as error:
                where = f"epoch {epoch + 1}, step {step + 1}"
                error.origin = f"{error.origin}, {where}" if error.origin else where
                error.step = self._total + step - self._first + 1
                return error
        return NumericError(
            f"the loss is NaN or infinite in epoch {epoch + 1}, step {bad_step + 1}",
            who=self._network.task.name,
            hint="lower the learning rate, or clip gradients (clipnorm)",
        )

    def _clear_ring(self) -> None:
        """Take the broken losses out, which check mode would find before their cause."""
        ring = self._network.program("train").tensors.named("train/ring")
        self._network.session.write(ring.name, np.zeros(ring.shape, np.float32))

    def _replay(self, epoch: int, shuffle: bool, begin: int, end: int) -> None:
        done = begin
        for step_range in self._feeder.step_ranges(epoch, shuffle, begin):
            if done >= end:
                return
            self._position(epoch, step_range, done)
            executable = self._network.executable("train", step_range.batch, step_range.lengths)
            for _ in range(min(step_range.steps, end - done)):
                self._rates.prepare(self._total + done - self._first, 1)
                executable.run(1)
                done += 1

    def _check_at(self, epoch: int, shuffle: bool, step: int) -> None:
        step_range = next(self._feeder.step_ranges(epoch, shuffle, step))
        self._position(epoch, step_range, step)
        self._rates.prepare(self._total + step - self._first, 1)
        self._network.executable("train", step_range.batch, step_range.lengths).check()

    def _position(self, epoch: int, step_range: StepRange, step: int) -> None:
        total = self._total + step - self._first
        self._feeder.position(step_range, step=total, epoch=epoch, record=total)
