"""Where trials stand on parallel axes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studio.engine.scale.sweep.folder import TrialRow
from studio.session.sweeps.parallel import ParallelTrials
from tests.session.sweeps.tables import ACTIVATION, DEPTH, DROPOUT, RATE, SHUFFLE, UNITS, trial

AXES = (RATE, UNITS, DROPOUT, ACTIVATION, SHUFFLE)


def of(*rows: TrialRow, maximize: bool = False) -> ParallelTrials:
    return ParallelTrials.of(rows, AXES, "val_loss", maximize=maximize)


def values(rate: float = 1e-2, units: int = 32, dropout: float = 0.25) -> dict[str, object]:
    return {"learning_rate": rate, "hidden.units": units, "dropout.rate": dropout,
            "hidden.activation": "tanh", "shuffle": False}  # fmt: skip


def test_ranges_lists_and_magnitudes_each_have_their_scale() -> None:
    found = of(trial(0, values(), 1.0), trial(1, values(1e-4, 16, 0.5), 3.0))  # type: ignore[arg-type]
    assert found.places[0, :5] == pytest.approx([2 / 3, 0.5, 0.5, 0.5, 1.0])
    assert found.places[1, :3] == pytest.approx([0.0, 0.0, 1.0])
    assert found.places[:, 5] == pytest.approx([0.0, 1.0])
    assert found.words(1)[:3] == (
        ("learning_rate", "0.0001"), ("hidden.units", "16"), ("dropout.rate", "0.5"),
    )  # fmt: skip


def test_trials_are_ranked_by_the_direction_of_the_objective() -> None:
    rows = [trial(n, values(), v) for n, v in enumerate((3.0, None, 1.0, 2.0, 1.0))]  # type: ignore[arg-type]
    found = of(*rows)
    # Of equals the earlier trial is the better.
    assert found.order == (0, 3, 4, 2)
    assert found.shares()[[0, 2, 3]] == pytest.approx([0.0, 1.0, 0.5])
    assert math.isnan(found.shares()[1])
    best = of(*rows, maximize=True)
    assert best.best == 0
    assert best.shares()[[0, 2]] == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_place(bad: float) -> None:
    odd = trial(1, {**values(), "learning_rate": bad, "hidden.units": "many"}, bad)  # type: ignore[dict-item]
    found = of(trial(0, values(), 1.0), odd, trial(2, {}, 2.0))  # type: ignore[arg-type]
    assert np.isnan(found.places[1, [0, 1, 5]]).all()
    assert np.isnan(found.places[2, :5]).all()
    assert found.reached.tolist() == [True, False, True]
    assert found.order == (2, 0)
    assert set(dict(found.words(2)).values()) == {"\N{EN DASH}", "2"}


@pytest.mark.parametrize("numbers", [[], [1.0], [2.0, 2.0], [-1e308, 1e308], [0.0], [1e-9, 1e9]])
def test_any_objectives_have_an_axis(numbers: list[float]) -> None:
    found = of(*(trial(n, values(), v) for n, v in enumerate(numbers)))  # type: ignore[arg-type]
    assert found.places.shape == (len(numbers), 6)
    assert np.isfinite(found.places[:, 5]).all()
    assert np.isfinite(found.shares()).all()
    assert all(0.0 <= t.place <= 1.0 for t in found.axes[5].ticks(5))


def test_objectives_that_differ_by_much_are_drawn_by_magnitude() -> None:
    found = of(*(trial(n, values(), v) for n, v in enumerate((1e-3, 1e-1, 10.0))))  # type: ignore[arg-type]
    assert found.places[:, 5] == pytest.approx([0.0, 0.5, 1.0])


def test_ticks_are_as_many_as_there_is_room_for() -> None:
    rate, units, _, activation, shuffle, _ = of(trial(0, values(), 1.0)).axes  # type: ignore[arg-type]
    assert [t.text for t in rate.ticks(4)] == ["1e\N{MINUS SIGN}4", "0.001", "0.01", "0.1"]
    assert [t.text for t in units.ticks(3)] == ["16", "32", "64"]
    assert [t.text for t in units.ticks(2)] == ["16", "64"]
    assert [t.text for t in activation.ticks(9)] == ["relu", "tanh", "gelu"]
    assert [t.text for t in shuffle.ticks(9)] == ["true", "false"]
    whole = ParallelTrials.of([], [DEPTH], "loss", maximize=False).axes[0]
    assert all(float(t.text).is_integer() for t in whole.ticks(30))


def test_ranges_leave_trials_out() -> None:
    found = of(*(trial(n, values(rate=r), 1.0 + n) for n, r in enumerate((1e-4, 1e-3, 1e-2))))  # type: ignore[arg-type]
    assert found.within([(0, 0.3, 1.0)]).tolist() == [False, True, True]
    assert found.within([(0, 0.3, 1.0), (5, 0.0, 0.6)]).tolist() == [False, True, False]
    failed = of(trial(0, values(), None), trial(1, values(), 1.0))  # type: ignore[arg-type]
    assert failed.within([(5, 0.0, 1.0)]).tolist() == [False, True]


def test_the_nearest_line_is_found_and_of_equals_the_best() -> None:
    rows = [trial(0, values(1e-4), 1.0), trial(1, values(1e-1), 2.0), trial(2, values(1e-1), 0.5)]  # type: ignore[arg-type]
    found = of(*rows)
    everyone = np.ones(3, bool)
    assert found.nearest(0.0, 0.05, everyone) == (0, pytest.approx(0.05))
    assert found.nearest(0.0, 0.9, everyone) == (2, pytest.approx(0.1))
    assert found.nearest(0.0, 0.9, np.array([True, True, False])) == (1, pytest.approx(0.1))
    # Halfway to the next axis, where all stand in the middle.
    assert found.nearest(0.5, 0.25, everyone) == (0, pytest.approx(0.0))
    assert found.nearest(9.0, 0.5, everyone) is None
    assert found.nearest(0.0, 0.5, np.zeros(3, bool)) is None
    assert ParallelTrials().nearest(0.0, 0.5, np.ones(0, bool)) is None
