"""Pace and time left: rows by the clock, stalls and ends of epochs included, pauses left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest

from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.loop import epoch_loop as loop
from studio.engine.train.loop import progress as progress_module
from studio.engine.train.loop.progress import (
    LEAST_SECONDS,
    WINDOW_SECONDS,
    Pace,
    Progress,
    TimeLeft,
    TimeLeftEstimator,
)
from studio.engine.train.loop.step_sampling import StepSampler
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.metrics_reader import MetricsReader
from tests.engine.train.small_tasks import task


def test_there_is_no_pace_before_some_time_has_passed() -> None:
    made = Pace()
    made.note(0.1, 32)
    assert made.rows_per_second is None
    made.note(0.1 + 0.9 * LEAST_SECONDS, 64)
    assert made.rows_per_second is None
    assert made.seconds_left(100, 1) is None
    made.note(0.1 + LEAST_SECONDS, 96)
    assert made.rows_per_second == pytest.approx(64 / LEAST_SECONDS)


def test_the_first_step_is_left_out() -> None:
    made = Pace()
    made.note(60.0, 32)
    made.note(61.0, 132)
    assert made.rows_per_second == pytest.approx(100.0)


def test_stalls_count() -> None:
    made, now = Pace(), 0.0
    for step in range(1, 1001):
        # Nine of ten steps are fast: a median would drop the tenth.
        now += 0.2 if step % 10 == 0 else 0.001
        made.note(now, 32 * step)
    truth = 320 / (0.2 + 9 * 0.001)
    assert made.rows_per_second == pytest.approx(truth, rel=0.1)
    assert made.seconds_left(32_000, 0) == pytest.approx(32_000 / truth, rel=0.1)


def test_only_the_last_seconds_count() -> None:
    made, now = Pace(), 0.0
    for step in range(1, 201):
        now += 1.0 if step <= 100 else 0.2
        made.note(now, step)
    assert made.rows_per_second == pytest.approx(5.0)
    assert now - 100.0 > WINDOW_SECONDS


def test_steps_longer_than_the_window_have_a_pace_too() -> None:
    made = Pace()
    for step in range(1, 5):
        made.note(10.0 * step, step)
    assert made.rows_per_second == pytest.approx(0.1)


def test_the_ends_of_long_epochs_are_added_to_the_time_left() -> None:
    made, now = Pace(), 0.0
    for epoch in range(3):
        made.begin_steps(now)
        for step in range(1, 101):
            now += 0.1
            made.note(now, 100 * epoch + step)
        made.end_steps(now, 100 * (epoch + 1))
        now += 30.0
    made.begin_steps(now)
    now += 0.1
    made.note(now, 301)
    assert made.seconds_left(199, 2) == pytest.approx(199 * 0.1 + 2 * 30.0, rel=0.05)


def test_time_left_is_told_as_estimated_where_it_passes_as_expected() -> None:
    teller = TimeLeftEstimator()
    assert teller.tell(None, 0.0).seconds is None
    assert teller.tell(100.0, 10.0).seconds == 100.0
    assert teller.tell(95.0, 15.0) == (teller.tell(95.0, 15.0))
    assert teller.tell(90.0, 20.0).note == ""


@pytest.mark.parametrize(
    ("estimate", "note"), [(500.0, "slower than before"), (10.0, "faster than before")]
)
def test_a_jump_is_explained_for_a_while(estimate: float, note: str) -> None:
    teller = TimeLeftEstimator()
    teller.tell(100.0, 0.0)
    assert teller.tell(estimate, 1.0) == TimeLeft(estimate, note)
    assert teller.tell(estimate - 1.0, 2.0).note == note
    assert teller.tell(estimate - 6.0, 7.0) == TimeLeft(estimate - 6.0, "")


class Clock(Callback):
    """A clock that goes on only with the steps and epochs of a training."""

    def __init__(self, *, step: Callable[[int], float], end: float) -> None:
        self.now = 1000.0
        self._steps = 0
        self._step = step
        self._end = end

    def __call__(self) -> float:
        return self.now

    def on_train_batch_end(self, batch: int, logs: Mapping[str, float]) -> None:
        self._steps += 1
        self.now += self._step(self._steps)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, float]) -> None:
        self.now += self._end


def reports(
    cpu: Backend, clock: Clock, monkeypatch: pytest.MonkeyPatch, epochs: int
) -> list[Progress]:
    # A report behind every chunk of steps, however fast they run.
    monkeypatch.setattr(loop, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    seen: list[Progress] = []
    made = task(epochs=epochs, batch_size=32, shuffle=False)
    hear = seen.append
    with Trainer(made, cpu, callbacks=[clock], clock=clock) as trainer:
        trainer.progress.connect(hear)
        trainer.run()
    return seen


@pytest.mark.parametrize("end", [0.0, 0.5, 20.0], ids=["no end", "short end", "long end"])
def test_a_training_agrees_with_the_clock(
    cpu: Backend, monkeypatch: pytest.MonkeyPatch, end: float
) -> None:
    clock = Clock(step=lambda step: 0.5 if step % 4 == 0 else 0.01, end=end)
    seen = reports(cpu, clock, monkeypatch, 60)
    finish = seen[-1].elapsed
    late = [p for p in seen if 20 <= p.epoch < 50]
    assert len(late) > 30
    for progress in late:
        assert progress.left.seconds == pytest.approx(finish - progress.elapsed, rel=0.1)
    # Over whole epochs, whatever part of one the last seconds are.
    one, other = (next(p for p in seen if p.epoch == n and p.step == 0) for n in (20, 50))
    rows = 30 * one.rows / (other.elapsed - one.elapsed)
    if end < WINDOW_SECONDS:
        paces = [p.rows_per_second for p in late if p.rows_per_second]
        assert sum(paces) / len(paces) == pytest.approx(rows, rel=0.1)
    assert seen[-1].left.seconds == 0.0


def test_a_pause_is_no_time_of_the_training(cpu: Backend) -> None:
    clock, seen = Clock(step=lambda _: 0.1, end=0.0), []
    hear = seen.append
    with Trainer(task(epochs=4, batch_size=32), cpu, callbacks=[clock], clock=clock) as trainer:
        trainer.progress.connect(hear)
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 60)
        clock.now += 500.0
        trainer.control.step(7)
        deadline = time.monotonic() + 60
        while trainer.loop.total_step < 7 and time.monotonic() < deadline:
            time.sleep(0.002)
        assert trainer.control.wait(["paused"], 60)
        clock.now += 500.0
        trainer.control.resume()
        result = future.result(60)
    steps = result.steps
    assert result.seconds == pytest.approx(0.1 * steps)
    assert seen[-1].elapsed == pytest.approx(0.1 * steps)
    # The first step is left out; the last batch of an epoch has fewer rows.
    rows = 4 * seen[-1].rows
    assert seen[-1].rows_per_second == pytest.approx((rows - 32) / (0.1 * (steps - 1)), rel=0.02)


def test_rows_whose_numbers_arrive_late_raise_no_pace(
    cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    # Numbers are then read only where too many reads wait, and at the end of an epoch.
    monkeypatch.setattr(MetricsReader, "collect", lambda _: None)
    seen: list[Progress] = []
    hear = seen.append

    def clock() -> float:
        running = trainer.loop_or_none()
        return 0.0 if running is None else 0.1 * running.total_step

    with Trainer(task(epochs=3, batch_size=4), cpu, clock=lambda: clock()) as trainer:
        trainer.progress.connect(hear)
        trainer.run()
    paces = [p.rows_per_second for p in seen if p.rows_per_second]
    assert len(paces) > 10
    assert max(paces) <= 40.0 + 1e-6
    assert paces[-1] == pytest.approx(40.0, rel=0.05)


def test_instrumented_steps_are_left_out(cpu: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with Trainer(task(epochs=40, batch_size=16), cpu) as trainer:
        trainer.watch_steps(StepSampler(interval=0.0, share=1.0))
        heard: list[tuple[float, int]] = []
        plain = Pace.note
        monkeypatch.setattr(
            progress_module.Pace,
            "note",
            lambda self, s, r: (heard.append((s, r)), plain(self, s, r))[1],
        )
        result = trainer.run()
        measured = trainer.loop.measured_rows
        seconds = trainer.loop.measured_seconds
    assert measured > 0
    assert seconds > 0
    rows = 40 * len(trainer.loop.feeder.samples)
    assert heard[-1][1] == rows - measured
    assert heard[-1][0] <= result.seconds - seconds + 1e-6


def test_instrumented_steps_leave_the_time_left_alone(
    cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []

    class Heard(Pace):
        def note(self, seconds: float, rows: int) -> None:
            times.append(seconds)
            super().note(seconds, rows)

        def begin_steps(self, seconds: float) -> None:
            times.append(seconds)
            super().begin_steps(seconds)

    monkeypatch.setattr(progress_module, "Pace", Heard)
    with Trainer(task(epochs=40, batch_size=16), cpu) as trainer:
        trainer.watch_steps(StepSampler(interval=0.0, share=1.0))
        trainer.run()
        assert trainer.loop.measured_seconds > 0
    # Steps and ends of epochs are on one clock: it never goes back.
    assert len(times) > 40
    assert times == sorted(times)


def test_before_the_first_epoch_is_over_a_step_counts_whole(cpu: Backend) -> None:
    progress = Progress(0, 3, 5, 10, 5, rows=320, rows_per_second=640.0)
    assert progress.step_seconds == pytest.approx(0.05)
    assert Progress(0, 3, 5, 10, 5, rows=320).step_seconds is None


def test_the_first_end_of_an_epoch_compiles_and_is_not_expected_again() -> None:
    pace, now, rows = Pace(), 0.0, 0
    pace.note(now, 1)
    for end in (2.0, 0.1, 0.1):
        pace.begin_steps(now)
        for _ in range(10):
            now, rows = now + 0.1, rows + 100
            pace.note(now, rows + 1)
        pace.end_steps(now, rows + 1)
        now += end
    pace.begin_steps(now)
    left = pace.seconds_left(1000, 1)
    assert left == pytest.approx(1.0 + 0.1, rel=0.05)
