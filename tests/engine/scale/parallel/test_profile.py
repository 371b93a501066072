"""Profiles of a step of several workers: each exchange has a time, bytes and a rate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from studio.engine.compiler.passes import bucket_gradients
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.program import Program
from studio.engine.optim.optimizers import Adam
from studio.engine.profiler.events import Profile
from studio.engine.profiler.totals import kernel_totals
from studio.engine.profiler.trace import chrome_trace
from studio.engine.runtime.exchange import Exchange
from studio.engine.scale.parallel.shared_control import SharedControl
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from tests.engine.scale.parallel.threads_exchange import together
from tests.engine.scale.parallel.trained import backend_of
from tests.engine.train.small_tasks import equal_bytes, mlp, task

STEPS = 3


def small() -> Task:
    return task(mlp(), batch_size=12, optimizer=Adam(0.01))


@dataclass(frozen=True)
class Found:
    """What a worker has profiled, and its weights behind that."""

    profile: Profile
    program: Program
    weights: Mapping[str, np.ndarray]


def profiled(device: str, exchange: Exchange) -> Found:
    backend = backend_of(device, exchange)
    try:
        with Trainer(small(), backend, control=SharedControl(exchange)) as trainer:
            found = trainer.profile(STEPS)
            return Found(found, trainer.network.program("train"), trainer.read_weights())
    finally:
        backend.close()


def test_exchanges_have_time_bytes_and_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    # Small buckets, so that several lines exchange gradients.
    monkeypatch.setattr(bucket_gradients, "BUCKET_BYTES", 40)
    first, second = together(2, lambda exchange: profiled("cpu", exchange))
    assert equal_bytes(first.weights, second.weights)
    require_exchanges(first.program, first.profile, second.profile)


def require_exchanges(program: Program, *profiles: Profile) -> None:
    """Each exchange of a step has a time, bytes and a rate, in the table and in the trace."""
    lines = {index: ins for _, index, ins in program.located() if isinstance(ins, AllReduce)}
    assert len(lines) > 2
    for found in profiles:
        events = [event for event in found.events if event.mnemonic == "ALLREDUCE"]
        assert [event.index for event in events] == [*lines] * STEPS
        for event in events:
            numbers = sum(program.type_of(ref).numel for ref in lines[event.index].xs)
            # Each goes out and comes back.
            assert event.traffic_bytes == 2 * 4 * numbers
            assert event.duration_us > 0
            assert "allreduce" in event.kernel
        totals = [each for each in kernel_totals(found) if each.mnemonic == "ALLREDUCE"]
        assert len(totals) == len(lines)
        for total in totals:
            rate = total.traffic_bytes / (total.median_us * 1e-6) * 1e-9
            assert total.gbytes == pytest.approx(rate)
        drawn = json.loads(chrome_trace(found))["traceEvents"]
        times = [each for each in drawn if each["name"] == "ALLREDUCE"]
        assert [each["args"]["bytes"] for each in times] == [each.traffic_bytes for each in events]
