"""A training that is followed: measured, frozen, quiet, and what stays of it."""

from __future__ import annotations

import time

import pytest

from studio.engine.train.loop.trainer import Trainer
from tests.session.profiling.bench import ProfilingBench


@pytest.mark.slow
def test_a_training_under_way_is_measured(profiler: ProfilingBench, trainer: Trainer) -> None:
    assert profiler.model.measurement is None
    assert profiler.model.rows() == ()
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.model.bar is not None and profiler.samples >= 3)
    assert profiler.model.is_live
    assert profiler.changes >= 1
    found = profiler.model.measurement
    assert found is not None
    assert found.subject.device == trainer.network.backend.device
    assert (found.subject.origin, found.clock) == ("training", "wall clock")
    rows = profiler.model.rows()
    program = trainer.network.program("train")
    lines = {index: line for _, index, line in program.located()}
    assert all(index in lines for row in rows for index in row.indices)
    assert {"conv1", "digit", "optimiser", "data"} <= {o for row in rows for o in row.owners}
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    bar = profiler.model.bar
    assert bar is not None
    assert sum(bar.parts.values()) == pytest.approx(bar.seconds)
    before = profiler.samples
    profiler.until(lambda: profiler.samples > before)


@pytest.mark.slow
def test_frozen_numbers_stand_still_while_the_training_is_still_measured(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.samples >= 1)
    profiler.model.set_frozen(True)
    rows, changes, frozen = profiler.model.rows(), profiler.changes, profiler.samples
    measured = profiler.model._measured
    assert measured is not None
    # Measuring takes so small a share of the time that a slow machine has a long wait for it.
    profiler.until(lambda: measured.samples > frozen)
    assert profiler.model.rows() == rows
    assert profiler.samples == frozen
    assert profiler.changes == changes
    profiler.model.set_frozen(False)
    assert profiler.samples > frozen


def test_quiet_measures_nothing_and_tells_the_other_views(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    heard: list[bool] = []
    listener = heard.append
    profiler.model.quiet_changed.connect(listener)
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.samples >= 1)
    profiler.model.set_quiet(True)
    assert heard == [True]
    assert not profiler.model.is_live
    before, changes = profiler.samples, profiler.changes
    for _ in range(10):
        time.sleep(0.01)
        profiler.scheduler.advance(0.5)
    assert (profiler.samples, profiler.changes) == (before, changes)
    profiler.model.set_quiet(False)
    assert heard == [True, False]
    # The same training goes on: what was measured before still counts.
    profiler.until(lambda: profiler.samples > before)


def test_the_preference_switches_measuring_off_and_on(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    profiler.preferences.set("profile_live", False)
    profiler.model.follow(trainer)
    profiler.scheduler.advance(1.0)
    assert not profiler.model.is_live
    profiler.preferences.set("profile_live", True)
    profiler.until(lambda: profiler.samples >= 1)
    profiler.preferences.set("profile_live", False)
    assert not profiler.model.is_live


@pytest.mark.slow
def test_what_was_measured_stays_when_the_training_ends(
    profiler: ProfilingBench, trainer: Trainer
) -> None:
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.samples >= 2)
    profiler.model.unfollow()
    assert not profiler.model.is_live
    assert profiler.samples >= 2
    # Nobody looks, so the machine is left alone.
    assert not profiler.model.is_busy
    assert profiler.model.peaks is None
    profiler.model.want_peaks()
    assert profiler.model.is_busy
    profiler.until(lambda: not profiler.model.is_busy)
    assert profiler.model.peaks is not None
    utilised = [row.utilisation for row in profiler.model.rows() if row.utilisation is not None]
    assert utilised
    assert all(value > 0 for value in utilised)


@pytest.mark.slow
def test_nothing_of_the_project_before_is_shown_as_if_it_were_of_this(
    profiler: ProfilingBench,
) -> None:
    profiler.model.start_dry_run()
    profiler.until(lambda: not profiler.model.is_busy)
    profiler.model.set_frozen(True)
    profiler.model.start_dry_run()
    heard: list[object] = []

    def hear() -> None:
        heard.append(profiler.model.measurement)

    profiler.model.changed.connect(hear)
    profiler.model.forget()
    profiler.until(lambda: not profiler.tasks.running)
    assert heard == [None]
    assert profiler.model.measurement is None
    assert profiler.model.times_ms() == {}
    assert profiler.model.dry_run_seconds is None
    assert not profiler.model.frozen
