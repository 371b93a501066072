"""Trainings that differ in their seed, as one curve: against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.train.runs.step_log import RATE, EpochSize, StepChunk
from studio.session.core.run_notes import trial_of
from studio.session.plots.curves import RunCurves
from studio.session.plots.spread import spread_of

SIZE = EpochSize(4, 8)


def training(loss: list[float], validation: list[float], first: int = 0) -> RunCurves:
    """The curves of a training of four steps an epoch."""
    made = RunCurves("run")
    made.begin_part(SIZE, ("loss", RATE), first, 0.0)
    values = np.stack([np.array(loss, np.float32), np.full(len(loss), 0.1, np.float32)], axis=1)
    made.add(StepChunk(first, values, (0.0, 1.0), (0.0, 1.0)))
    for epoch, value in enumerate(validation):
        made.add_epoch(first + 4 * (epoch + 1), {"val_loss": value})
    return made


def named(*each: RunCurves) -> list[tuple[str, RunCurves]]:
    return [(f"seed {number}", curves) for number, curves in enumerate(each, 1)]


def test_each_point_is_the_mean_between_the_lowest_and_the_highest() -> None:
    rng = np.random.default_rng(0)
    steps, epochs = rng.normal(size=(3, 8)).astype(np.float32), rng.normal(size=(3, 2))
    runs = [training(list(a), list(b)) for a, b in zip(steps, epochs, strict=True)]
    found = spread_of("trial", named(*runs))
    assert found is not None
    assert found.members == ("seed 1", "seed 2", "seed 3")
    for part, wanted in (("training", steps), ("validation", epochs)):
        ((_, mean),) = found.mean.series("loss", part)  # type: ignore[arg-type]
        low, high = found.bounds[mean]
        wide = wanted.astype(np.float64)
        np.testing.assert_allclose(mean.values, wide.mean(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(low.values, wide.min(axis=0))
        np.testing.assert_array_equal(high.values, wide.max(axis=0))
        each = np.arange(len(mean))
        ((_, first),) = runs[0].series("loss", part)  # type: ignore[arg-type]
        np.testing.assert_array_equal(mean.steps.at(each), first.steps.at(each))
    assert found.mean.plots == ("loss", RATE)


def test_it_goes_as_far_as_all_of_them() -> None:
    long, short = training([1.0] * 8, [1.0, 2.0]), training([3.0] * 5, [3.0])
    found = spread_of("trial", named(long, short))
    assert found is not None
    ((_, steps),) = found.mean.series("loss", "training")
    ((_, epochs),) = found.mean.series("loss", "validation")
    assert (steps.values.tolist(), epochs.values.tolist()) == ([2.0] * 5, [2.0])


def test_where_one_is_no_number_the_mean_is_none_and_is_counted() -> None:
    odd = training([1.0, np.nan, np.inf, 1.0], [1.0])
    found = spread_of("trial", named(training([3.0] * 4, [3.0]), odd))
    assert found is not None
    ((_, mean),) = found.mean.series("loss", "training")
    assert np.isfinite(mean.values).tolist() == [True, False, False, True]
    assert mean.bad.total == 2


def test_what_does_not_stand_at_the_same_steps_is_not_joined() -> None:
    one = training([1.0] * 4, [1.0])
    assert spread_of("trial", named(one)) is None
    assert spread_of("trial", named(one, training([1.0] * 4, [1.0], first=4))) is None
    continued = training([1.0] * 4, [1.0])
    continued.begin_part(SIZE, ("loss", RATE), 2, 9.0)
    continued.add(StepChunk(2, np.ones((4, 2), np.float32), (9.0, 9.5), (2.0, 3.0)))
    assert spread_of("trial", named(one, continued)) is None
    without = RunCurves("run")
    without.begin_part(SIZE, ("loss", RATE), 0, 0.0)
    without.add(StepChunk(0, np.ones((4, 2), np.float32), (0.0, 1.0), (0.0, 1.0)))
    assert spread_of("trial", named(one, without)) is None


def test_averages_over_several_steps_are_joined_as_they_are() -> None:
    from studio.session.plots.series import EvenSteps, Series

    runs = []
    for level in (1.0, 3.0):
        made = training([level] * 4, [level])
        mean = np.array([level, level + 1.0], np.float32)
        made.segments[0].steps["loss"] = Series.of_groups(EvenSteps(0, 50), mean, mean - 1, mean)
        runs.append(made)
    found = spread_of("trial", named(*runs))
    assert found is not None
    ((_, mean_of_both),) = found.mean.series("loss", "training")
    assert mean_of_both.values.tolist() == [2.0, 3.0]
    assert mean_of_both.steps.at(np.arange(2)).tolist() == [50.0, 100.0]


@pytest.mark.parametrize(
    ("name", "trial"),
    [
        ("2026-01-02_03-04-05-0003-2", "2026-01-02_03-04-05-0003"),
        ("2026-01-02_03-04-05_002-0012-11", "2026-01-02_03-04-05_002-0012"),
        ("2026-01-02_03-04-05-0003", ""),
        ("2026-01-02_03-04-05_002", ""),
        ("2026-01-02_03-04-05", ""),
        ("my-notes-of-the-day-0003-2", ""),
        ("", ""),
    ],
)
def test_the_trial_of_a_seed_is_in_the_name_of_its_run(name: str, trial: str) -> None:
    assert trial_of(name) == trial
