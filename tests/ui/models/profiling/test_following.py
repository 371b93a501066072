"""A training that is followed: measured, frozen, quiet, and what stays of it."""

from __future__ import annotations

import time

import pytest

from studio.engine.train.trainer import Trainer
from tests.ui.models.profiling.profiling_bench import Bench


def test_a_training_under_way_is_measured(bench: Bench, trainer: Trainer) -> None:
    assert bench.model.measurement is None
    assert bench.model.rows() == ()
    bench.model.follow(trainer)
    bench.until(lambda: bench.model.bar is not None and bench.samples >= 3)
    assert bench.model.is_live
    assert bench.changes >= 1
    found = bench.model.measurement
    assert found is not None
    assert found.subject.device == trainer.network.backend.device
    assert (found.subject.origin, found.clock) == ("training", "wall clock")
    rows = bench.model.rows()
    program = trainer.network.program("train")
    lines = {index: line for _, index, line in program.located()}
    assert all(index in lines for row in rows for index in row.indices)
    assert {"conv1", "digit", "optimizer", "data"} <= {o for row in rows for o in row.owners}
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    bar = bench.model.bar
    assert bar is not None
    assert sum(bar.parts.values()) == pytest.approx(bar.seconds)
    before = bench.samples
    bench.until(lambda: bench.samples > before)


def test_frozen_numbers_stand_still_while_the_training_is_still_measured(
    bench: Bench, trainer: Trainer
) -> None:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 1)
    bench.model.set_frozen(True)
    rows, changes = bench.model.rows(), bench.changes
    for _ in range(20):
        time.sleep(0.02)
        bench.scheduler.advance(0.5)
    assert bench.model.rows() == rows
    assert bench.changes == changes
    frozen = bench.samples
    bench.model.set_frozen(False)
    assert bench.samples > frozen


def test_quiet_measures_nothing_and_tells_the_other_views(bench: Bench, trainer: Trainer) -> None:
    heard: list[bool] = []
    listener = heard.append
    bench.model.quiet_changed.connect(listener)
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 1)
    bench.model.set_quiet(True)
    assert heard == [True]
    assert not bench.model.is_live
    before, changes = bench.samples, bench.changes
    for _ in range(10):
        time.sleep(0.01)
        bench.scheduler.advance(0.5)
    assert (bench.samples, bench.changes) == (before, changes)
    bench.model.set_quiet(False)
    assert heard == [True, False]
    # The same training goes on: what was measured before still counts.
    bench.until(lambda: bench.samples > before)


def test_the_preference_switches_measuring_off_and_on(bench: Bench, trainer: Trainer) -> None:
    bench.preferences.set("profile_live", False)
    bench.model.follow(trainer)
    bench.scheduler.advance(1.0)
    assert not bench.model.is_live
    bench.preferences.set("profile_live", True)
    bench.until(lambda: bench.samples >= 1)
    bench.preferences.set("profile_live", False)
    assert not bench.model.is_live


def test_what_was_measured_stays_when_the_training_ends(bench: Bench, trainer: Trainer) -> None:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 2)
    bench.model.unfollow()
    assert not bench.model.is_live
    assert bench.samples >= 2
    # Nobody looks, so the machine is left alone.
    assert not bench.model.is_busy
    assert bench.model.peaks is None
    bench.model.want_peaks()
    assert bench.model.is_busy
    bench.until(lambda: not bench.model.is_busy)
    assert bench.model.peaks is not None
    utilised = [row.utilisation for row in bench.model.rows() if row.utilisation is not None]
    assert utilised
    assert all(value > 0 for value in utilised)


def test_nothing_of_the_project_before_is_shown_as_if_it_were_of_this(bench: Bench) -> None:
    bench.model.start_dry_run()
    bench.until(lambda: not bench.model.is_busy)
    bench.model.set_frozen(True)
    bench.model.start_dry_run()
    heard: list[object] = []

    def hear() -> None:
        heard.append(bench.model.measurement)

    bench.model.changed.connect(hear)
    bench.model.forget()
    bench.until(lambda: not bench.tasks.running)
    assert heard == [None]
    assert bench.model.measurement is None
    assert bench.model.times_ms() == {}
    assert bench.model.dry_run_seconds is None
    assert not bench.model.frozen
