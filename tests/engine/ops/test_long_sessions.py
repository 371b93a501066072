"""Long sessions at the prompt: counters stay exact, and neither process nor device grows."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import ShapeError

GROWTH = 24 << 20
"""Bytes the process may grow by: allocators keep what they got."""


def resident_bytes() -> int:
    """Memory of this process, or 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        return 0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Session:
    """What somebody does again and again: trains, looks, forgets, and makes mistakes."""

    def __init__(self) -> None:
        draws = np.random.default_rng(0)
        self.x = ops.tensor(draws.normal(size=(32, 16)).astype(np.float32))
        self.y = ops.tensor(draws.normal(size=(32, 4)).astype(np.float32))
        self.w = ops.variable(np.zeros((16, 4), np.float32))
        self.v = ops.variable(np.zeros((16, 4), np.float32))
        self.first = self.last = 0.0

    def round(self) -> None:
        """Some of everything; at its end all is computed."""
        self.train(20)
        kept = [ops.tidy(lambda: ops.softmax(self.x @ self.w)) for _ in range(3)]
        assert all(np.isfinite(each.numpy()).all() for each in kept)
        for size in (1, 7, 64):
            with ops.tidy():
                big = ops.ones((size, 33)) * 2.0
                ops.keep(ops.sum(big, axis=0)).dispose()
                assert ops.max(big).item() == 2
        with pytest.raises(ShapeError):
            self.x @ self.y
        future = (self.x * 0.5).data()
        assert future.result().shape == (32, 16)

    def train(self, steps: int) -> None:
        """Momentum, with the loss read now and then."""
        for step in range(steps):
            loss, slope = ops.value_and_grad(lambda w: ops.mean((self.x @ w - self.y) ** 2))(self.w)
            self.v.assign(self.v * 0.9 - slope * 0.05)
            self.w.assign(self.w + self.v)
            if step % 4 == 3:
                self.last = loss.item()
                self.first = self.first or self.last


def counters() -> tuple[int, ...]:
    """Everything that is counted."""
    found = ops.memory()
    return (found.tensors, found.bytes, found.waiting, found.device_bytes, found.buffers)


def stays_level(choice: str, *, rounds: int = 0, seconds: float = 0.0) -> tuple[int, ...]:
    """Work for so many rounds, or so long; the counters, which were the same after each round."""
    ops.backend(choice)
    gc.collect()
    before = ops.memory().tensors
    session = Session()
    end = time.monotonic() + seconds
    found: list[tuple[int, ...]] = []
    done = 0
    while done < rounds or time.monotonic() < end:
        session.round()
        done += 1
        # What is kept for reuse is reached in the first rounds.
        if done > 5 and counters() not in found:
            found.append(counters())
    assert len(found) == 1, found
    assert found[0][0] - before == 4
    assert session.last < session.first
    return found[0]


@pytest.mark.slow
def test_counters_are_exact_round_after_round(device: str) -> None:
    stays_level(device, rounds=30)


@pytest.mark.full
@pytest.mark.gl
@pytest.mark.timeout(7200)
def test_an_hour_without_growth() -> None:
    sizes: list[int] = []
    held: dict[str, set[tuple[int, ...]]] = {"cpu": set(), "gl": set()}
    try:
        for _ in range(15):
            for choice, kept in held.items():
                kept.add(stays_level(choice, seconds=120.0))
                sizes.append(resident_bytes())
    finally:
        ops.close()
    assert all(len(kept) == 1 for kept in held.values())
    # The first visit to each device loads its libraries and compiles its kernels.
    assert max(sizes) - sizes[3] < GROWTH
