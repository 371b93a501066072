"""Which measured steps count: not the first, nor those something else disturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studio.engine.profiler.events import Profile
from studio.engine.train.loop.step_sampling import InstrumentedStep, StepWindow
from studio.engine.train.loop.trainer import Trainer
from studio.session.profiling.measurement import Measurement, Origin
from studio.session.profiling.profiling import SETTLE_SECONDS
from tests.session.profiling.bench import ProfilingBench


@pytest.mark.slow
def test_the_step_bar_leaves_out_steps_during_which_panes_were_opened(
    measured: Measurement,
) -> None:
    assert measured.times is not None
    profile = Profile("a device", "wall clock", 1, 1e3, measured.times.events)

    def steps(studio: float, pace: float) -> list[StepWindow]:
        """200 plain steps and one instrumented; the training waits for the window in them."""
        own = (100 * pace * (1 - studio), 0.0, 100 * pace * studio)
        inside = (InstrumentedStep(0, 0.0, pace, profile),)
        took = {"steps": 100 * pace}
        return [
            StepWindow(100, {**took, "instrumented": pace}, *own, inside),
            StepWindow(100, took, *own),
        ]

    fresh = Measurement(measured.subject)
    fresh.add(steps(0.5, 10e-3), unsettled=True)
    # There is nothing else yet.
    assert fresh.bar is not None
    assert fresh.bar.share("studio") == pytest.approx(0.5)
    fresh.add(steps(0.05, 10e-3))
    assert fresh.bar.share("studio") == pytest.approx(0.05)
    calm = fresh.bar
    fresh.restart()
    fresh.add(steps(0.5, 10e-3), unsettled=True)
    fresh.add(steps(0.1, 2e-3))
    assert fresh.bar is calm
    fresh.add(steps(0.1, 8e-3))
    assert fresh.bar.share("studio") == pytest.approx(0.1)
    assert fresh.bar.plain_steps == 400
    assert fresh.samples == 4


@pytest.mark.slow
def test_opening_panes_keeps_the_bar_until_there_are_enough_steps_after_it(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    profiler.model.follow(trainer)
    profiler.scheduler.advance(SETTLE_SECONDS)
    profiler.until(lambda: profiler.model.bar is not None and profiler.model.bar.plain_steps > 100)
    before = profiler.model.bar
    profiler.model.unsettle()
    assert profiler.model.bar is before
    seen = profiler.samples
    profiler.until(lambda: profiler.samples > seen + 1)
    profiler.scheduler.advance(SETTLE_SECONDS)
    profiler.until(lambda: profiler.model.bar is not before)
    found = profiler.model.measurement
    assert found is not None
    assert found.bar is not None
    assert found.bar.seconds > 0


@pytest.mark.slow
def test_the_first_step_runs_cold_and_counts_only_while_there_is_no_other(
    measured: Measurement,
) -> None:
    assert measured.times is not None
    events = measured.times.events
    fresh = Measurement(measured.subject)
    for number, slow in enumerate((30.0, 1.0, 2.0)):
        timed = tuple(replace(event, duration_us=slow) for event in events)
        step = InstrumentedStep(number, 0.0, 1e-3, Profile("d", "wall clock", 1, 1e3, timed))
        fresh.add([StepWindow(1, {"steps": 1e-3}, 0.0, 0.0, 0.0, (step,))])
        shown = fresh.rows("kernel and layer", None)
        kernel = min(shown, key=lambda row: len(row.indices))
        mean = (30.0, 1.0, 1.5)[number]
        assert kernel.mean_us == pytest.approx(mean * len(kernel.indices))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("origin", "device", "apart", "wanted"),
    [
        ("training", "a GPU", True, [10.0, 10.0, 10.0, 2.0, 3.0]),
        ("training", "llvmpipe (software)", True, [10.0, 10.0, 10.0, 10.0, 7.0]),
        ("training", "a CPU", False, [10.0, 10.0, 10.0, 10.0, 7.0]),
        ("dry run", "a GPU", True, [10.0, 10.0, 10.0, 10.0, 7.0]),
    ],
)
def test_steps_of_a_gpu_whose_clock_rises_do_not_count_among_later_ones(
    measured: Measurement, origin: Origin, device: str, apart: bool, wanted: list[float]
) -> None:
    """Three slow ones in the first 0.4 seconds, then two at full speed."""
    assert measured.times is not None
    events = measured.times.events
    subject = replace(measured.subject, origin=origin, device=device, runs_apart=apart)
    fresh = Measurement(subject)
    found = []
    for when, took in ((50.0, 10.0), (50.2, 10.0), (50.4, 10.0), (50.6, 2.0), (50.8, 4.0)):
        timed = tuple(replace(event, duration_us=took) for event in events)
        step = InstrumentedStep(0, when, 1e-3, Profile(device, "wall clock", 1, 1e3, timed))
        fresh.add([StepWindow(1, {"steps": 1e-3}, 0.0, 0.0, 0.0, (step,))])
        assert fresh.times is not None
        found.append(fresh.times.median_us()[events[0].index])
    assert found == pytest.approx(wanted)
