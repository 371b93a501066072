"""The step bar against steps made by hand, and against the clock outside a real training."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.train.devices import open_backend
from studio.engine.train.loop import step_sampling
from studio.engine.train.loop.step_sampling import InstrumentedStep, StepSampler, StepWindow
from studio.engine.train.loop.step_sampling import Part as SampledPart
from studio.engine.train.loop.trainer import Trainer
from studio.session.profiling.step_bar import PARTS, StepBar, step_bar, without_overhead
from tests.engine.train.small_tasks import mlp, task

KERNELS = (("data", 100), ("forward", 300), ("loss", 100), ("backward", 800), ("update", 200),
           ("metrics", 50))  # fmt: skip


def instrumented(seconds: float, mark: float = 0.0) -> InstrumentedStep:
    """A step of kernels that take 1.55 ms, and ``mark`` µs longer each."""
    events, clock = [], 0.0
    for number, (section, length) in enumerate(KERNELS):
        events.append(KernelEvent(0, section, number, "X", "x", ("a",), clock, length + mark, 1, 1))
        clock += length + mark
    profile = Profile("a device", "wall clock", 1, clock, tuple(events))
    return InstrumentedStep(0, 0.0, seconds, profile)


def window(
    steps: int,
    pace: float,
    *,
    busy: float | None = None,
    workers: float = 0.0,
    interface: float = 0.0,
    inside: Sequence[InstrumentedStep] = (),
    **others: float,
) -> StepWindow:
    seconds = {"steps": steps * pace, **others}
    if inside:
        seconds["instrumented"] = sum(step.seconds for step in inside)
    cpu = pace if busy is None else busy
    own = (steps * cpu, steps * workers, steps * interface)
    return StepWindow(steps, seconds, *own, tuple(inside))


def check_sum(bar: StepBar, windows: Sequence[StepWindow]) -> None:
    count = sum(w.steps + len(w.instrumented) for w in windows)
    wall = sum(w.total for w in windows) / count
    assert bar.seconds == pytest.approx(wall)
    assert sum(bar.parts.values()) == pytest.approx(wall)
    assert set(bar.parts) == set(PARTS)
    assert all(value >= 0 for part, value in bar.parts.items() if part != "unexplained")


def test_a_step_of_kernels_and_gaps_is_read_as_such() -> None:
    # Kernels take 1.55 ms of a step of 1.65 ms; an instrumented one takes 1.85 ms.
    windows = [
        window(31, 1.65e-3, inside=[instrumented(1.85e-3)]),
        window(32, 1.65e-3, transfers=32e-6, data=64e-6, reports=128e-6),
    ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    us = {part: value * 1e6 for part, value in bar.parts.items()}
    assert us["forward"] == pytest.approx(400)  # the loss belongs to it
    assert us["backward"] == pytest.approx(800)
    assert us["update"] == pytest.approx(200)
    assert us["data"] == pytest.approx(100 + 1)
    assert us["transfers"] == pytest.approx(0.5)
    assert us["housekeeping"] == pytest.approx(50 + 2)
    assert us["gaps"] == pytest.approx(100)
    assert us["measuring"] == pytest.approx(200 / 64)
    assert us["studio"] == 0
    assert us["unexplained"] == pytest.approx(0, abs=1e-6)
    assert not bar.is_worrying
    assert (bar.plain_steps, bar.instrumented_steps) == (63, 1)


def test_time_the_training_waited_while_the_window_ran_is_the_studios() -> None:
    # Of 2 ms a step is on the processor for 1.6 ms; the window's thread ran 0.3 ms meanwhile.
    windows = [
        window(31, 2e-3, busy=1.6e-3, interface=0.3e-3, inside=[instrumented(2e-3)]),
        window(32, 2e-3, busy=1.6e-3, interface=0.3e-3),
    ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.share("studio") == pytest.approx(0.15)
    assert bar.share("unexplained") == pytest.approx(0.05)
    # Kernel times by the clock hold the waits; a fifth of them is not the kernels'.
    assert bar.parts["backward"] == pytest.approx(0.8 * 800e-6)
    assert bar.quiet_gain == pytest.approx(0.15)


def test_a_busy_window_that_the_training_did_not_wait_for_costs_nothing() -> None:
    windows = [
        window(31, 1.7e-3, interface=1.7e-3, inside=[instrumented(1.7e-3)]),
        window(32, 1.7e-3, interface=1.7e-3),
    ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    assert bar.parts["studio"] == 0


def test_what_nobody_accounts_for_is_unexplained_and_pointed_out() -> None:
    windows = [
        window(31, 2e-3, busy=1.6e-3, inside=[instrumented(2e-3)]),
        window(32, 2e-3, busy=1.6e-3),
    ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.share("unexplained") == pytest.approx(0.2)
    assert bar.is_worrying


def test_time_spent_waiting_for_helpers_belongs_to_the_kernels() -> None:
    windows = [
        window(31, 1.55e-3, busy=1e-3, workers=0.8e-3, inside=[instrumented(1.55e-3)]),
        window(32, 1.55e-3, busy=1e-3, workers=0.8e-3),
    ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["backward"] == pytest.approx(800e-6)
    assert bar.share("unexplained") == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("runs_apart", [False, True])
@pytest.mark.parametrize("cost", [0.0, 0.6, 1.0, 2.5])
def test_what_a_second_of_the_window_costs_is_found_by_comparing(
    rng: np.random.Generator, cost: float, runs_apart: bool
) -> None:
    # A quarter of the windows see the interface at work; helpers blur what waiting alone tells.
    windows = []
    for number in range(80):
        other = 0.4e-3 if number % 8 < 2 else 0.0
        pace = 1.55e-3 + cost * other + 4e-6 * rng.standard_normal()
        inside = [] if number % 2 else [instrumented(pace)]
        windows.append(window(32, pace, busy=1.2e-3, workers=1e-3, interface=other, inside=inside))
    bar = step_bar(windows, runs_apart=runs_apart)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["studio"] == pytest.approx(cost * 0.1e-3, rel=0.1, abs=3e-6)


def test_a_machine_slowed_by_others_is_not_laid_to_the_studio(rng: np.random.Generator) -> None:
    # The window takes 8 % of one processor all the time and costs what it takes; in some windows
    # other programs make everything up to three times as slow.
    windows = []
    for number in range(400):
        share = 0.08 + 0.02 * rng.standard_normal()
        pace = 1.55e-3 * (1.0 + 2.0 * rng.random()) / (1.0 - share)
        inside = [] if number % 2 else [instrumented(pace)]
        windows.append(window(32, pace, busy=1.2e-3, interface=share * pace, inside=inside))
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.share("studio") <= 0.085


def test_a_device_that_waits_for_the_host_shows_gaps() -> None:
    # The device works 1.55 ms of 2.5 ms; the host needs 2.4 ms of processor to feed it.
    windows = [
        window(31, 2.5e-3, busy=2.4e-3, inside=[instrumented(3e-3)]),
        window(32, 2.5e-3, busy=2.4e-3),
    ]
    bar = step_bar(windows, runs_apart=True)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["gaps"] == pytest.approx(0.95e-3)
    assert bar.parts["backward"] == pytest.approx(800e-6)
    assert bar.parts["measuring"] == pytest.approx(0.5e-3 / 64)
    assert bar.share("unexplained") == pytest.approx(0, abs=1e-9)


def test_a_device_kept_idle_by_the_window_shows_the_studio() -> None:
    windows = [
        window(31, 2e-3, busy=1e-3, interface=0.4e-3, inside=[instrumented(2e-3)]),
        window(32, 2e-3, busy=1e-3, interface=0.4e-3),
    ]
    bar = step_bar(windows, runs_apart=True)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["studio"] == pytest.approx(0.4e-3)
    assert bar.parts["gaps"] == pytest.approx(0.05e-3)


def test_kernels_slowed_by_their_marks_are_not_longer_than_the_step() -> None:
    # Marks add 75 µs to each of six kernels; the plain step is nothing but kernels.
    marked = instrumented(2e-3, mark=75)
    windows = [window(31, 1.55e-3, busy=1e-4, inside=[marked]), window(32, 1.55e-3, busy=1e-4)]
    bar = step_bar(windows, runs_apart=True)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["backward"] == pytest.approx(800e-6)
    assert bar.parts["update"] == pytest.approx(200e-6)
    assert bar.parts["measuring"] == pytest.approx(450e-6 / 64)


def test_steps_that_are_slower_beside_instrumented_ones_count_as_measuring() -> None:
    windows = []
    for number in range(8):
        pace = 1.65e-3 * (1 + 1e-4 * (number % 3))
        windows += [
            window(31, pace + 0.1e-3, inside=[instrumented(1.65e-3)]),
            window(32, pace),
        ]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.parts["measuring"] == pytest.approx(0.1e-3 * 31 / 64, rel=0.02)


def test_chance_is_not_called_measuring(rng: np.random.Generator) -> None:
    windows = []
    for _ in range(20):
        a, b = 1.65e-3 * (1 + 0.05 * rng.standard_normal(2))
        windows += [window(31, a, inside=[instrumented(a)]), window(32, b)]
    bar = step_bar(windows, runs_apart=False)
    assert bar is not None
    check_sum(bar, windows)
    assert bar.share("measuring") < 0.01


def test_without_an_instrumented_step_there_is_no_bar() -> None:
    assert step_bar([window(32, 1e-3)], runs_apart=False) is None
    assert step_bar([], runs_apart=True) is None


@pytest.mark.parametrize("most", [0.0, 1.0, 5.0, 9.5, 10.0, 40.0])
def test_overhead_comes_off_every_kernel_alike(most: float) -> None:
    spent = np.array([4.0, 0.5, 3.5, 2.0])
    kept = without_overhead(spent, most)
    assert kept.sum() == pytest.approx(min(most, 10.0))
    lost = spent - kept
    amount = lost.max()
    assert lost == pytest.approx(np.minimum(spent, amount))


@pytest.fixture
def sleeper() -> Iterator[ThreadClock | None]:
    """The clock of a thread that does nothing."""
    clocks: list[ThreadClock | None] = []
    ready, over = threading.Event(), threading.Event()

    def sleep() -> None:
        clocks.append(ThreadClock.of_this_thread())
        ready.set()
        over.wait(60)

    thread = threading.Thread(target=sleep)
    thread.start()
    ready.wait(10)
    yield clocks[0]
    over.set()
    thread.join()


class NotedClock:
    """The clocks of the module ``time``; knows what it said last."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self.said = 0.0

    def perf_counter(self) -> float:
        self.said = time.perf_counter()
        return self.said


class NotedSampler(StepSampler):
    """Notes when its windows end, on a clock that stands still while the training may pause."""

    def __init__(self, clock: NotedClock, *clocks: Any) -> None:
        super().__init__(*clocks, interval=0.0, share=1e9, told=self.note)
        self.clock = clock
        self.waited = 0.0
        self.closed: list[float] = []

    def note(self) -> None:
        # A busy machine may call back late: a window ends when the clock was looked at.
        self.closed.append(self.clock.said - self.waited)

    def lap(self, part: SampledPart, steps: int = 0) -> None:
        before = self.clock.said
        super().lap(part, steps)
        if part == "waiting":
            self.waited += self.clock.said - before


@pytest.mark.slow
def test_the_bar_of_a_training_sums_to_the_time_the_clock_saw(
    sleeper: ThreadClock | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = NotedClock()
    monkeypatch.setattr(step_sampling, "time", clock)
    with open_backend("cpu") as opened:
        sampler = NotedSampler(clock, opened.backend.clocks(), sleeper)
        data = {"source": "spirals", "n": 20_000, "noise": 0.02}
        made = task(mlp(units=64), data, epochs=1, batch_size=4, validation="none")
        with Trainer(made, opened.backend) as trainer:
            trainer.watch_steps(sampler)
            trainer.run()
    first, *windows = sampler.take()
    assert len(windows) >= 8
    bar = step_bar(windows, runs_apart=False, sees_studio=sampler.can_see_interface)
    assert bar is not None
    count = bar.plain_steps + bar.instrumented_steps
    # From the end of the first window to the end of the last.
    wall = (sampler.closed[-1] - sampler.closed[0]) / count
    assert sum(bar.parts.values()) == pytest.approx(wall, rel=1e-6)
    check_sum(bar, windows)
    assert min(bar.parts["forward"], bar.parts["backward"]) > 0
    # The other thread slept all the time: nothing can have been lost to it.
    assert bar.share("studio") < 0.001
    assert first.instrumented


def test_one_kernel_that_was_held_up_takes_nothing_from_the_others() -> None:
    calm = [instrumented(1.65e-3) for _ in range(9)]
    events = calm[0].profile.events
    struck = tuple(
        replace(event, duration_us=18_000.0) if event.section == "backward" else event
        for event in events
    )
    held = replace(calm[0], seconds=19e-3, profile=replace(calm[0].profile, events=struck))
    for inside in (calm, [*calm[1:], held]):
        windows = [
            window(31, 2e-3, busy=1.6e-3, inside=inside),
            window(32, 2e-3, busy=1.6e-3),
        ]
        bar = step_bar(windows, runs_apart=False)
        assert bar is not None
        check_sum(bar, windows)
        # Of kernels that are held up evenly a fifth is not theirs.
        theirs = 0.8 if inside is calm else 1.0
        assert bar.parts["forward"] == pytest.approx(theirs * 400e-6)
        assert bar.parts["backward"] == pytest.approx(theirs * 800e-6)


def test_the_kernels_of_a_step_are_gone_through_once_however_often_the_bar_is_made() -> None:
    class Counted(tuple[KernelEvent, ...]):
        looks = 0

        def __iter__(self) -> Iterator[KernelEvent]:
            Counted.looks += 1
            return super().__iter__()

    first = instrumented(1.85e-3)
    counted = replace(first, profile=replace(first.profile, events=Counted(first.profile.events)))
    windows = [window(31, 1.65e-3, inside=[counted]), window(32, 1.65e-3)]
    for number in range(5):
        # Every time another step has come, whose kernels are the new ones.
        windows.append(window(31, 1.65e-3, inside=[instrumented(1.85e-3 + number * 1e-6)]))
        bar = step_bar(windows, runs_apart=False)
        assert bar is not None
        assert bar.parts["backward"] == pytest.approx(800e-6)
    assert Counted.looks == 1
