"""The journal of a sweep: Optuna chooses values, ends hopeless trials and keeps the record.

Values of random and grid trials depend on the seed and the trial's number alone. So do the random
numbers of TPE; what it chooses depends on the trials that have ended by then, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.pruners import BasePruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from studio.engine.core.errors import FormatError, in_one_line
from studio.engine.core.philox import bits, stream_of
from studio.engine.scale.sweep.folder import Plan, TrialRow
from studio.engine.scale.sweep.search_space import Axis, Raw, grid_point
from studio.engine.scale.sweep.trial import Outcome

ETA = 3
"""Of the trials at a rung one in so many goes on to the next, which is so many times as far."""
_RUNGS = 27
_STUDY = "sweep"


class TrialJournal:
    """The trials of a sweep; one process at a time has it.

    Args:
        path: of the journal.
        plan: what the sweep is asked for.
        axes: what varies.

    Raises:
        FormatError: the journal is damaged, or of other axes.
    """

    def __init__(self, path: Path, plan: Plan, axes: tuple[Axis, ...]) -> None:
        self._plan = plan
        self._axes = axes
        self._distributions = {axis.name: _distribution(axis) for axis in axes}
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            with _quiet():
                storage = JournalStorage(JournalFileBackend(str(path)))
                self._study = optuna.create_study(
                    storage=storage,
                    study_name=_STUDY,
                    direction="maximize" if plan.maximize else "minimize",
                    pruner=_pruner(plan),
                    load_if_exists=True,
                )
                trials = self._study.get_trials(deepcopy=False)
        except Exception as error:
            raise FormatError(
                f"the journal of the sweep is damaged: {in_one_line(error)}", who=str(path)
            ) from error
        if any(trial.params.keys() - self._distributions.keys() for trial in trials):
            raise FormatError("the journal belongs to another sweep", who=str(path))

    def rows(self) -> list[TrialRow]:
        """All trials, by number."""
        return [self._row(trial) for trial in self._study.get_trials(deepcopy=False)]

    def ask(self) -> TrialRow:
        """Begin the next trial, with the values its sampler chooses."""
        number = len(self._study.get_trials(deepcopy=False))
        self._study.sampler = _sampler(self._plan, self._axes, number)
        with _quiet():
            trial = self._study.ask(self._distributions)
        return TrialRow(trial.number, trial.params)

    def complete(self, row: TrialRow) -> TrialRow:
        """A trial whose choice of values a kill cut short, with all of them."""
        if row.values.keys() == self._distributions.keys():
            return row
        trial = self._trial(row.number)
        self._study.sampler = _sampler(self._plan, self._axes, row.number)
        with _quiet():
            for name, distribution in self._distributions.items():
                trial._suggest(name, distribution)
        return TrialRow(row.number, trial.params)

    def decide(self, number: int, epochs: int, value: float) -> bool:
        """Whether a trial goes on behind a rung; a trial that is tried again gets the same answer.

        Args:
            number: of the trial.
            epochs: epochs done.
            value: the objective behind them.
        """
        key = f"goes on after {epochs}"
        trial = self._trial(number)
        said = trial.user_attrs.get(key)
        if isinstance(said, bool):
            return said
        with _quiet():
            trial.report(value, epochs)
            goes_on = not trial.should_prune()
        trial.set_user_attr(key, goes_on)
        return goes_on

    def tell(self, number: int, outcome: Outcome, attempts: int) -> None:
        """Write down how a trial ended."""
        trial = self._trial(number)
        trial.set_user_attr("outcome", outcome.to_json())
        trial.set_user_attr("attempts", attempts)
        states = {"pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
        with _quiet():
            if outcome.value is None:
                self._study.tell(trial, state=states.get(outcome.state, TrialState.FAIL))
            else:
                self._study.tell(trial, outcome.value)

    def _trial(self, number: int) -> Trial:
        # A handle asks its sampler for values that depend on one another; this one has none.
        self._study.sampler = NumberedSampler(self._plan, self._axes)
        return Trial(self._study, self._study.get_trials(deepcopy=False)[number]._trial_id)

    def _row(self, trial: FrozenTrial) -> TrialRow:
        outcome: Outcome | None = None
        if trial.state.is_finished():
            try:
                outcome = Outcome.from_json(trial.user_attrs["outcome"])
            except (KeyError, TypeError, ValueError):
                outcome = Outcome("failed", "what came out of it was not recorded")
        attempts = trial.user_attrs.get("attempts", 0)
        return TrialRow(
            trial.number, dict(trial.params), outcome, attempts if isinstance(attempts, int) else 0
        )


class NumberedSampler(BaseSampler):
    """Random and grid values as a function of seed, trial number and axis."""

    def __init__(self, plan: Plan, axes: tuple[Axis, ...]) -> None:
        self._plan = plan
        self._axes = axes

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """No axis depends on another."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """No axis depends on another."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str,
        param_distribution: BaseDistribution,
    ) -> Raw:  # fmt: skip
        """The value of one axis."""
        return numbered_values(self._plan, self._axes, trial.number)[param_name]


def numbered_values(plan: Plan, axes: tuple[Axis, ...], number: int) -> Mapping[str, Raw]:
    """The values of a random or grid trial."""
    if plan.sampler == "grid":
        return grid_point(axes, number)
    return {axis.name: axis.at(_share(plan.seed, axis.name, number)) for axis in axes}


def rungs_of(epochs: int) -> tuple[int, ...]:
    """The epochs after which trials are compared: each `ETA` times the one before."""
    found, at = [], _first_rung(epochs)
    while at < epochs:
        found.append(at)
        at *= ETA
    return tuple(found)


def _first_rung(epochs: int) -> int:
    return max(1, epochs // _RUNGS)


def _share(seed: int, name: str, number: int) -> float:
    """A float64 in [0, 1) from 53 bits of the counter-based generator."""
    high, low = (int(word) for word in bits(seed, stream_of(f"sweep/{name}"), number, 2))
    return ((high >> 5) * (1 << 26) + (low >> 6)) / (1 << 53)


def _sampler(plan: Plan, axes: tuple[Axis, ...], number: int) -> BaseSampler:
    if plan.sampler != "tpe":
        return NumberedSampler(plan, axes)
    with _quiet():
        return TPESampler(seed=int(bits(plan.seed, stream_of("sweep"), number, 1)[0]))


def _pruner(plan: Plan) -> BasePruner:
    if plan.prune == "none":
        return NopPruner()
    epochs = plan.project(None).training.epochs
    return SuccessiveHalvingPruner(min_resource=_first_rung(epochs), reduction_factor=ETA)


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.values:
        return CategoricalDistribution(axis.values)
    if axis.is_whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.is_log)
    return FloatDistribution(axis.low, axis.high, log=axis.is_log)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Optuna's remarks for those who write programs with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
