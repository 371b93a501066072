"""What keeps a GPU busy while kernels are tried lasts as long as is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.timers import Sample
from studio.engine.gl.record import spinner as spinners
from studio.engine.gl.record.spinner import Spinner

pytestmark = pytest.mark.gl


@pytest.fixture
def backend() -> Iterator[GlBackend]:
    made = GlBackend()
    yield made
    made.close()


@pytest.mark.slow
def test_spinner_lasts_longer_for_more(backend: GlBackend) -> None:
    work = backend.work

    def steps() -> list[int]:
        asked: list[int] = []
        spinner = Spinner(work)
        spin = spinner._spin
        with patch.object(spinner, "_spin", lambda steps: (asked.append(steps), spin(steps))):
            for dispatches in (1, 100, 10**9):
                spinner.cover(dispatches)
        work.gl.finish()
        work.gl.check("spinning")
        return asked

    few, many, most = work.engine.call(steps)
    assert 0 < few < many < most
    assert work.pool.counters().in_use == 0


class StandingClock:
    """A timer whose device answers that nothing took any time, or does not answer at all."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = seconds

    def begin(self, step: int) -> bool:
        return True

    def mark(self, label: str) -> None:
        pass

    def end(self) -> None:
        pass

    def collect(self) -> list[Sample]:
        return [Sample(0, ("spin",), (one,), "gpu timestamps") for one in self.seconds]

    def release(self) -> None:
        pass


@pytest.mark.slow
def test_spinner_spins_no_longer_than_a_launch_can_say(backend: GlBackend) -> None:
    work = backend.work
    asked: list[int] = []

    def cover() -> None:
        timer = patch.object(spinners, "step_timer", lambda *_: StandingClock(0.0))
        with timer, patch.object(Spinner, "_spin", lambda _, steps: asked.append(steps)):
            Spinner(work).cover(10**9)

    work.engine.call(cover)
    assert 0 < max(asked) < 1 << 31


@pytest.mark.slow
def test_spinner_says_that_there_is_no_clock(backend: GlBackend) -> None:
    with (
        patch.object(spinners, "step_timer", lambda *_: StandingClock()),
        pytest.raises(BackendError, match="no time"),
    ):
        backend.work.engine.call(Spinner, backend.work)
    assert backend.work.pool.counters().in_use == 0


@pytest.mark.slow
def test_spinner_waits_for_the_clock_but_not_for_ever(backend: GlBackend) -> None:
    work = backend.work
    now = iter(range(10**6))

    def settled(spinner: Spinner, *steps: float) -> int:
        """How many of the readings are taken; every one takes a second of a clock of our own."""
        ahead = iter(steps)
        taken: list[float] = []

        def read() -> float:
            taken.append(next(ahead))
            return taken[-1]

        clock = patch.object(spinners, "time", SimpleNamespace(monotonic=lambda: next(now)))
        most = patch.object(spinners, "AWAKE_SECONDS", 4.5)
        with patch.object(spinner, "_timed_step", read), clock, most:
            spinner.settle()
        return len(taken)

    def readings() -> list[int]:
        spinner = Spinner(work)
        spinner._step = 1.0
        return [
            settled(spinner, 1.01),
            settled(spinner, 5.0, 5.0, 3.0, 1.01, 1.0),
            settled(spinner, *[2.0] * 9),
            settled(spinner, 2.03),
            settled(spinner, 1.0),
            settled(spinner, 2.0, 1.0),
        ]

    awake, risen, hot, still_hot, cooler, again = work.engine.call(readings)
    assert awake == 1
    assert risen == 4
    assert 4 < hot < 9
    assert (still_hot, cooler) == (1, 1), "the clock it last had is enough"
    assert again == 2
