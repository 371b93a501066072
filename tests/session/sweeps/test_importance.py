"""How much each axis mattered, against SciPy's test, known variances and Optuna's answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis, Raw
from studio.session.sweeps.importance import NEEDED, importance_of
from tests.session.sweeps.tables import ACTIVATION, DROPOUT, RATE, SHUFFLE, UNITS, table, trial

EVERY = (RATE, UNITS, DROPOUT, ACTIVATION, SHUFFLE)


def number(value: Raw) -> float:
    assert isinstance(value, int | float)
    return float(value)


def shares(rows: list[TrialRow], axes: tuple[Axis, ...] = EVERY) -> dict[str, float]:
    return {each.name: each.share for each in importance_of(rows, axes).items}


def test_shares_are_those_of_the_known_variances() -> None:
    # Two equally spread terms of which one has four times the variance of the other.
    rows = table(
        (RATE, DROPOUT, UNITS),
        4000,
        lambda v: 2.0 * math.log10(number(v["learning_rate"])) / 3 + number(v["dropout.rate"]) * 2,
    )
    found = shares(rows, (UNITS, DROPOUT, RATE))
    assert list(found) == ["learning_rate", "dropout.rate", "hidden.units"]
    # Groups of a range are not the range itself: a little less lies between them.
    assert found["learning_rate"] == pytest.approx(0.8, abs=0.05)
    assert found["dropout.rate"] == pytest.approx(0.2, abs=0.05)
    assert found["hidden.units"] == pytest.approx(0.0, abs=0.01)


@pytest.mark.slow
def test_the_numbers_are_those_of_kruskal_and_wallis() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    kinds = rng.choice(["relu", "tanh", "gelu"], 60)
    worth = np.round(rng.normal(size=60) + (kinds == "gelu"), 1)
    rows = [trial(n, {"hidden.activation": str(k)}, float(w))
            for n, (k, w) in enumerate(zip(kinds, worth, strict=True))]  # fmt: skip
    statistic, chance = stats.kruskal(*(worth[kinds == k] for k in ("relu", "tanh", "gelu")))
    (found,) = importance_of(rows, [ACTIVATION]).items
    assert found.share == pytest.approx((statistic - 2) / 57)
    assert found.is_clear == (chance < 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [2, 3, 5, 9])
def test_what_chance_leaves_is_called_unclear_nineteen_times_of_twenty(groups: int) -> None:
    axis = Axis("kind", "…", "layer", "a", "kind", values=tuple(range(groups)))
    clear = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rows = [trial(n, {"kind": int(rng.integers(groups))}, float(rng.normal()))
                for n in range(60)]  # fmt: skip
        clear += importance_of(rows, [axis]).items[0].is_clear
    assert 3 <= clear <= 30


@pytest.mark.slow
def test_optuna_finds_the_same_order() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(values: dict[str, Raw]) -> float:
        rate = math.log10(number(values["learning_rate"])) + 2.5
        units = {16: 1.0, 32: 0.4, 64: 0.0}[int(number(values["hidden.units"]))]
        return rate**2 + 0.5 * units + 0.02 * number(values["dropout.rate"])

    rows = table((DROPOUT, UNITS, RATE), 400, objective)
    study = optuna.create_study()
    spaces = {
        "dropout.rate": optuna.distributions.FloatDistribution(0.0, 0.5),
        "hidden.units": optuna.distributions.CategoricalDistribution((16, 32, 64)),
        "learning_rate": optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True),
    }
    for row in rows:
        study.add_trial(optuna.trial.create_trial(
            params=dict(row.values), distributions=spaces, value=row.value
        ))  # fmt: skip
    theirs = optuna.importance.get_param_importances(study)
    ours = shares(rows, (DROPOUT, UNITS, RATE))
    assert list(ours) == list(theirs)
    # Both give the learning rate, a parabola, by far the most.
    assert ours["learning_rate"] > 3 * ours["hidden.units"]
    assert theirs["learning_rate"] > 2 * theirs["hidden.units"]


def test_a_few_diverged_trials_do_not_decide() -> None:
    rows = table((RATE, SHUFFLE), 200, lambda v: math.log10(number(v["learning_rate"])))
    wild = [
        trial(row.number, dict(row.values), 1e30) if row.number in (3, 5) else row for row in rows
    ]
    assert shares(wild, (RATE, SHUFFLE))["learning_rate"] > 0.9


def test_too_few_trials_say_so_and_nothing_else() -> None:
    rows = table((RATE,), NEEDED - 1, lambda v: number(v["learning_rate"]))
    rows += [trial(90 + n, {"learning_rate": 0.01}, None) for n in range(30)]
    rows += [trial(200, {"learning_rate": 0.01}, math.nan), TrialRow(201, {"learning_rate": 0.1})]
    found = importance_of(rows, [RATE])
    assert (found.trials, found.is_enough, found.items) == (NEEDED - 1, False, ())
    assert found.explanation == (
        "Too few trials: 9 with a result, at least 10 are needed to tell what mattered."
    )
    assert importance_of([], [RATE]).trials == 0


def test_what_the_trials_do_not_differ_in_is_not_known() -> None:
    rows = [trial(n, {"shuffle": True, "dropout.rate": math.nan, "learning_rate": 0.01 / (1 + n)},
                  1.0) for n in range(20)]  # fmt: skip
    found = importance_of(rows, (SHUFFLE, DROPOUT, RATE))
    assert [each.name for each in found.items] == ["shuffle", "dropout.rate", "learning_rate"]
    assert all(math.isnan(each.share) and not each.is_clear for each in found.items)


def test_values_of_other_kinds_and_trials_without_any_are_left_out() -> None:
    rows = table((UNITS, SHUFFLE), 60, lambda v: number(v["hidden.units"]))
    odd: list[dict[str, Raw]] = [{}, {"hidden.units": "32", "shuffle": 1}, {"hidden.units": None}]
    rows += [trial(100 + n, values, 5.0) for n, values in enumerate(odd)]
    found = {each.name: each for each in importance_of(rows, (UNITS, SHUFFLE)).items}
    assert found["hidden.units"].share == pytest.approx(1.0)
    assert found["hidden.units"].groups == 3
    assert found["shuffle"].groups == 2
