"""Watched steps: the training comes out the same, and every second of it is counted once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.runtime.backend import Backend
from studio.engine.train.devices import open_backend
from studio.engine.train.loop import step_sampling
from studio.engine.train.loop.step_sampling import WINDOW_STEPS, StepSampler, StepWindow
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.network import STATE_ROLES
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, task

AUGMENTED = {**DIGITS, "augment": [{"type": "Shift", "config": {}}]}


@pytest.fixture
def gl() -> Iterator[Backend]:
    with open_backend("gl") as opened:
        yield opened.backend


def trained(backend: Backend, sampler: StepSampler | None, **settings: object) -> dict:
    """Everything a training leaves: parameters, statistics and optimiser slots."""
    with Trainer(task(cnn(), AUGMENTED, **settings), backend) as trainer:
        trainer.watch_steps(sampler)
        result = trainer.run()
        found = trainer.network.read(STATE_ROLES)
    return {**found, "history": np.array(list(result.history.values()))}


@pytest.mark.slow
def test_a_watched_training_ends_in_the_same_bytes(cpu: Backend) -> None:
    sampler = StepSampler(cpu.clocks(), interval=0.0, share=1e9)
    plain = trained(cpu, None, epochs=2, batch_size=24)
    watched = trained(cpu, sampler, epochs=2, batch_size=24)
    windows = sampler.take()
    assert sum(len(w.instrumented) for w in windows) >= 4
    assert equal_bytes(plain, watched)


@pytest.mark.slow
@pytest.mark.gl
def test_a_watched_training_ends_in_the_same_bytes_on_opengl(gl: Backend) -> None:
    sampler = StepSampler(gl.clocks(), interval=0.0, share=1e9)
    plain = trained(gl, None, epochs=2, batch_size=48)
    watched = trained(gl, sampler, epochs=2, batch_size=48)
    steps = [one for w in sampler.take() for one in w.instrumented]
    assert steps
    assert equal_bytes(plain, watched)
    assert len(gl.clocks()) == 1
    assert all(one.profile.device == gl.device for one in steps)


def test_instrumented_steps_are_steps_of_the_training(cpu: Backend) -> None:
    sampler = StepSampler(interval=0.0, share=1e9)
    with Trainer(task(mlp(), epochs=40, batch_size=24), cpu) as trainer:
        trainer.watch_steps(sampler)
        total = trainer.run().steps
        entries = len(trainer.network.executable("train", 24).profile(1).events)
    windows = sampler.take()
    counted = sum(w.steps + len(w.instrumented) for w in windows)
    steps = [one.step for w in windows for one in w.instrumented]
    # Eighty samples are three full batches and one of eight rows, which is left out.
    assert total == 160
    assert counted <= 120
    assert counted > 120 - 2 * WINDOW_STEPS
    assert all(step % 4 < 3 for step in steps)
    assert steps == sorted(set(steps))
    assert all(len(one.profile.events) == entries for w in windows for one in w.instrumented)


def test_windows_with_and_without_instrumented_steps_take_turns(cpu: Backend) -> None:
    sampler = StepSampler(interval=0.0, share=1e9)
    with Trainer(task(mlp(), epochs=60, batch_size=16), cpu) as trainer:
        trainer.watch_steps(sampler)
        trainer.run()
    kinds = [bool(window.instrumented) for window in sampler.take()]
    assert len(kinds) >= 4
    assert kinds == [bool(number % 2 == 0) for number in range(len(kinds))]


@pytest.mark.slow
def test_a_training_can_be_watched_from_its_middle_on_and_left_again(cpu: Backend) -> None:
    sampler = StepSampler(interval=0.0, share=1e9)
    with Trainer(task(mlp(), epochs=100_000, batch_size=16), cpu) as trainer:
        future = trainer.start()
        assert trainer.control.wait(["running"], 10)
        windows: list[StepWindow] = []
        trainer.watch_steps(sampler)
        deadline = time.monotonic() + 20
        while len(windows) < 3 and time.monotonic() < deadline:
            windows += sampler.take()
        trainer.watch_steps(None)
        trainer.control.pause()
        assert trainer.control.wait(["paused"], 10)
        sampler.take()
        trainer.control.step(2 * WINDOW_STEPS)
        trainer.control.wait(["running"], 1)
        assert trainer.control.wait(["paused"], 20)
        assert len(windows) >= 3
        assert sampler.take() == []
        trainer.control.stop()
        assert future.result().outcome == "stopped"


class Clocks:
    """Clocks turned by hand in place of the module ``time``."""

    def __init__(self) -> None:
        self.wall = 100.0
        self.busy = 7.0
        self.module = SimpleNamespace(perf_counter=lambda: self.wall, thread_time=lambda: self.busy)

    def pass_by(self, wall: float, busy: float = 0.0) -> None:
        self.wall += wall
        self.busy += busy


class Other:
    """A clock of another thread."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Instrument:
    """An executable that takes half a second a step, all of it in one kernel."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.finished = 0

    def finish(self) -> None:
        self.finished += 1
        self.clocks.pass_by(0.25)

    def profile(self, steps: int, *, while_busy: bool) -> Profile:
        assert while_busy, "nothing may be waited for in the middle of a training"
        self.clocks.pass_by(0.5, 0.4)
        event = KernelEvent(0, "forward", 0, "RELU", "relu", ("a",), 0.0, 5e5, 1, 1)
        return Profile("device", "wall clock", steps, 5e5, (event,))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(step_sampling, "time", made.module)
    return made


def test_every_second_of_a_window_is_counted_once(clocks: Clocks) -> None:
    sampler = StepSampler(interval=0.0, share=1e9)
    sampler.lap("waiting")
    begun = clocks.wall
    for part, seconds, steps in (
        ("data", 0.5, 0),
        ("transfers", 0.125, 0),
        ("steps", 4.0, 16),
        ("reports", 0.25, 0),
    ):
        clocks.pass_by(seconds, seconds / 2)
        sampler.lap(part, steps)
    (window,) = sampler.take()
    assert window.total == pytest.approx(clocks.wall - begun)
    assert window.seconds == {"data": 0.5, "transfers": 0.125, "steps": 4.0, "reports": 0.25}
    assert window.steps == 16
    assert window.busy == pytest.approx(2.0)


def test_a_pause_is_not_part_of_a_window(clocks: Clocks) -> None:
    sampler = StepSampler()
    sampler.lap("waiting")
    clocks.pass_by(0.25)
    sampler.lap("steps", 1)
    clocks.pass_by(1000.0)
    sampler.lap("waiting")
    clocks.pass_by(0.5)
    sampler.lap("steps", 4)
    sampler.lap("reports")
    (window,) = sampler.take()
    assert window.total == pytest.approx(0.75)
    assert window.steps == 5


def test_an_instrumented_step_stands_apart_from_what_was_queued_before(clocks: Clocks) -> None:
    other, helper = Other(3.0), Other(11.0)
    sampler = StepSampler((helper,), other, interval=0.0, share=1e9)
    executable = Instrument(clocks)
    assert not sampler.wants()  # the clock has not been started
    sampler.lap("waiting")
    clocks.pass_by(1.0)
    assert sampler.wants()
    assert sampler.run(executable, 41) == 1
    other.seconds += 0.125
    helper.seconds += 0.75
    clocks.pass_by(2.0, 1.5)
    sampler.lap("steps", 3)
    sampler.lap("reports")
    (window,) = sampler.take()
    (step,) = window.instrumented
    assert executable.finished == 1
    assert (step.step, step.when, step.seconds) == (41, pytest.approx(101.25), 0.5)
    assert window.seconds == {"steps": 3.25, "instrumented": 0.5, "reports": 0.0}
    assert window.steps == 3
    assert (window.interface, window.workers) == (0.125, 0.75)
    assert not sampler.wants()  # the window after one with instrumented steps holds none


def test_a_slow_instrument_is_used_rarely(clocks: Clocks) -> None:
    sampler = StepSampler(interval=0.125, share=0.01)
    executable = Instrument(clocks)
    sampler.lap("waiting")
    for _ in range(2):  # a window without an instrumented step tells the pace of plain ones
        clocks.pass_by(WINDOW_STEPS * 0.25)
        sampler.lap("steps", WINDOW_STEPS)
        sampler.lap("reports")
    assert sampler.wants()
    sampler.run(executable, 0)
    assert sampler.cost == pytest.approx(0.25)
    clocks.pass_by(24.5)
    sampler.lap("steps", 10)
    assert not sampler.wants()
    clocks.pass_by(0.75)
    assert sampler.wants()


def test_plain_steps_run_between_instrumented_ones(clocks: Clocks) -> None:
    sampler = StepSampler(interval=0.0, share=1e9)
    executable = Instrument(clocks)
    sampler.lap("waiting")
    ran = []
    for step in range(9):
        ran.append(sampler.wants())
        if ran[-1]:
            sampler.run(executable, step)
        else:
            clocks.pass_by(0.001)
            sampler.lap("steps", 1)
    assert ran == [True, False, False, False, True, False, False, False, True]


def test_the_listener_hears_of_finished_windows(clocks: Clocks) -> None:
    heard: list[int] = []
    sampler = StepSampler(told=lambda: heard.append(1))
    sampler.lap("waiting")
    for _ in range(3):
        clocks.pass_by(WINDOW_STEPS * 0.01)
        sampler.lap("steps", WINDOW_STEPS)
        sampler.lap("reports")
    assert len(heard) == 3
    assert len(sampler.take()) == 3


def test_a_thread_clock_counts_work_and_not_sleep() -> None:
    clock = ThreadClock.of_this_thread()
    if clock is None:
        pytest.skip("the system has no clocks of threads")
    begun, mine = clock.seconds, time.thread_time()
    total = 0
    while time.thread_time() - mine < 0.02:
        total += 1
    worked = clock.seconds
    assert worked - begun >= 0.02
    time.sleep(0.05)
    assert clock.seconds - worked < 0.04
