"""Counts of an epoch on the device: zeroed when it begins, read while it runs and at its end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.isa.program import Program
from studio.engine.optim.counted_metrics import counted_labels, counts_of
from studio.engine.runtime.backend import BackendSession

Array: TypeAlias = npt.NDArray[Any]

_WRAP = 1 << 32


class EpochCounts:
    """The counts of one program in a session.

    Whole numbers are int32 on the device and wrap around; here they go on growing as long as fewer
    than 2^32 come between two readings.

    Args:
        session: holds them.
        program: counts.
    """

    def __init__(self, session: BackendSession, program: Program) -> None:
        self._session = session
        self._labels = counted_labels(program)
        self._tensors = {t.name: t for t in counts_of(program)}
        self._last: dict[str, Array] = {}
        self._totals: dict[str, Array] = {}

    def begin(self, *, fresh: bool) -> None:
        """Forget what was read; with ``fresh`` zero the counts on the device, too."""
        self._last, self._totals = {}, {}
        if not self._tensors:
            return
        self._session.ensure(list(self._tensors.values()))
        if fresh:
            for name, tensor in self._tensors.items():
                self._session.write(name, np.zeros(tensor.shape, tensor.dtype.np))

    def ask(self) -> list[Future[Array]]:
        """Begin to read them, behind the steps queued so far."""
        return [self._session.read(name) for name in self._tensors]

    def take(self, arrays: Sequence[Array]) -> None:
        """What a reading has brought."""
        for name, array in zip(self._tensors, arrays, strict=True):
            if array.dtype != np.int32:
                self._totals[name] = np.array(array, np.float64)
                continue
            now = array.view(np.uint32).astype(np.int64)
            before = self._last.get(name, np.zeros_like(now))
            self._totals[name] = self._totals.get(name, 0) + (now - before) % _WRAP
            self._last[name] = now

    def put_between(self, means: dict[str, float]) -> dict[str, float]:
        """The means of other metrics and the numbers of these, in the order of the settings."""
        if not self._totals:
            return means
        found = list(means.items())
        for one in self._labels:
            counts = {port: self._totals[tensor.name] for port, tensor in one.tensors.items()}
            found.insert(one.place, (one.label, one.metric.value(counts)))
        return dict(found)
