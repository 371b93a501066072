"""Makes the plan of a sweep from what its user asks for, and refuses what cannot be done."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.cpu.machine.threads import usable_threads
from studio.engine.scale.sweep.connection import require_dask
from studio.engine.scale.sweep.folder import (
    MAX_SEEDS,
    MAX_THREADS,
    MAX_WORKERS,
    PRUNERS,
    SAMPLERS,
    Plan,
    Pruner,
    Sampler,
)
from studio.engine.scale.sweep.search_space import MAX_POINTS, grid_size, parse_axes
from studio.engine.scale.sweep.trial import direction_of
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.devices import CHOICES
from studio.engine.train.network.metrics_reader import metric_labels
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

DEFAULT_TRIALS = 20
_MOST_WORKERS = 4


@dataclass(frozen=True)
class Wishes:
    """What a user asks of a sweep; None for the default.

    Attributes:
        vary: the axes, as words.
        objective: what trials are compared by; loss on the validation part by default.
        maximize: whether more of it is better; as its metric has it by default.
        sampler: how values are chosen; TPE by default.
        prune: how hopeless trials are ended; not at all by default.
        trials: how many; 20 by default, or the whole grid.
        seeds: trainings of each; 1 by default.
        workers: trials at once.
        threads: of each; 1 by default.
        synchronous: whether values are chosen in rounds.
        seed: of the choice of values; 0 by default.
        backend: where to train; auto by default.
        keep: how many of the best keep their weights, 0 for all; 1 by default.
    """

    vary: Sequence[str] = ()
    objective: str | None = None
    maximize: bool | None = None
    sampler: str | None = None
    prune: str | None = None
    trials: int | None = None
    seeds: int | None = None
    workers: int | None = None
    threads: int | None = None
    synchronous: bool | None = None
    seed: int | None = None
    backend: str | None = None
    keep: int | None = None


def require_packages(*, cluster: bool = False) -> None:
    """ParameterError where a package of the extra is missing.

    Args:
        cluster: whether trials are trained on a cluster.
    """
    for package in ("optuna", *(["distributed"] if cluster else [])):
        if importlib.util.find_spec(package) is None:
            raise ParameterError(
                f"sweeps need the package {package}, which is not installed",
                who="sweep",
                hint='pip install "glassbox-studio[scale]", or use python3 start.py sweep …',
            )
    if cluster:
        require_dask()


def default_workers(threads: int | None) -> int:
    """Trials at once on this machine, where that was not asked for."""
    return min(_MOST_WORKERS, max(1, usable_threads() // (threads or 1)))


def kept_of(word: str) -> int:
    """How many of the best trials keep their weights, 0 for all; ParameterError for other words."""
    if word == "all":
        return 0
    if not (word.isascii() and word.isdecimal() and len(word) < 9 and 0 < int(word) <= MAX_POINTS):
        raise ParameterError(f"expected a number of trials or all, got {quoted(word)}",
                             who="--keep")  # fmt: skip
    return int(word)


def make_plan(
    project: Project,
    wishes: Wishes,
    workers: int,
    dataset: Callable[[DataSettings, Path], Dataset] | None = None,
) -> tuple[Plan, str]:
    """The plan, and a remark for the user, or empty.

    Args:
        project: what is varied.
        wishes: what was asked for.
        workers: trials at once, where that was not asked for.
        dataset: opens the data, or has it open.

    Raises:
        ParameterError: something asked for is wrong, or things asked for do not go together.
        DataError: there is nothing to train on.
        StudioError: the project itself cannot be trained.
    """
    sampler = cast("Sampler", _word(wishes.sampler or "tpe", SAMPLERS, "--sampler"))
    prune = cast("Pruner", _word(wishes.prune or "none", PRUNERS, "--prune"))
    seeds = _count(wishes.seeds, 1, MAX_SEEDS, "--seeds")
    axes = parse_axes(wishes.vary, project)
    if seeds > 1 and any(axis.place == "training" and axis.option == "seed" for axis in axes):
        raise ParameterError("the seed is varied already", who="--seeds",
                             hint="leave --seeds out, or do not vary seed")  # fmt: skip
    if wishes.backend is not None:
        _word(wishes.backend, CHOICES, "--backend")
    trials = _count(wishes.trials, DEFAULT_TRIALS, MAX_POINTS, "--trials")
    if sampler == "grid":
        size = grid_size(axes)
        if wishes.trials is not None and size > trials:
            raise ParameterError(
                f"the grid has {size:,} points, more than the {trials:,} trials asked for",
                who="--trials",
                hint="leave --trials out, list fewer values, or take --sampler random",
            )
        trials = size
    measured, remark = _measured_apart(project)
    task = _task(measured, dataset)
    objective = _objective(task, wishes.objective or "val_loss")
    if any(axis.option == "loss" and axis.place == "training" for axis in axes) and (
        objective.removeprefix("val_").endswith("loss")
    ):
        raise ParameterError(
            f"trials with different losses cannot be compared by {objective}",
            who="--objective",
            hint="choose a metric, such as val_accuracy",
        )
    plan = Plan(
        measured.to_json(), tuple(wishes.vary), objective,
        direction_of(objective, wishes.maximize), sampler, prune, trials, seeds,
        _count(wishes.workers, workers, MAX_WORKERS, "--workers"),
        _count(wishes.threads, 1, MAX_THREADS, "--threads"),
        bool(wishes.synchronous), _count(wishes.seed, 0, (1 << 63) - 1, "--seed", least=0),
        wishes.backend or "auto", _count(wishes.keep, 1, MAX_POINTS, "--keep", least=0),
        task.data_hash,
    )  # fmt: skip
    return plan, remark


def require_same(plan: Plan, wishes: Wishes) -> Plan:
    """The plan of a sweep that goes on, with the trials asked for now.

    Raises:
        ParameterError: something else is asked for than what the sweep began with.
    """
    kept = {
        "--vary": (tuple(wishes.vary) or None, plan.vary),
        "--objective": (wishes.objective, plan.objective),
        "--maximize": (wishes.maximize, plan.maximize),
        "--sampler": (wishes.sampler, plan.sampler),
        "--prune": (wishes.prune, plan.prune),
        "--seeds": (wishes.seeds, plan.seeds),
        "--threads": (wishes.threads, plan.threads),
        "--synchronous": (wishes.synchronous, plan.synchronous),
        "--seed": (wishes.seed, plan.seed),
        "--backend": (wishes.backend, plan.backend),
        "--keep": (wishes.keep, plan.keep),
    }
    if plan.synchronous:
        kept["--workers"] = (wishes.workers, plan.workers)
    for name, (asked, had) in kept.items():
        if asked is not None and asked != had:
            shown = " ".join(map(str, had)) if isinstance(had, tuple) else had
            raise ParameterError(
                f"a resumed sweep keeps what it began with: {shown}",
                who=name,
                hint="leave it out, or begin another sweep without --resume",
            )
    trials = plan.trials
    if wishes.trials is not None:
        trials = _count(wishes.trials, trials, MAX_POINTS, "--trials")
        if plan.sampler == "grid" and trials != plan.trials:
            raise ParameterError(f"the grid has {plan.trials} points", who="--trials",
                                 hint="leave it out")  # fmt: skip
    workers = _count(wishes.workers, plan.workers, MAX_WORKERS, "--workers")
    return replace(plan, trials=trials, workers=workers)


def _word(word: str, known: Sequence[str], who: str) -> str:
    """The word, where it is one of those known."""
    if word not in known:
        raise ParameterError(
            f"expected one of {', '.join(known)}, got {quoted(word)}",
            who=who,
            hint=did_you_mean(word, known),
        )
    return word


def _count(given: int | None, default: int, most: int, who: str, least: int = 1) -> int:
    found = default if given is None else given
    if not least <= found <= most:
        raise ParameterError(
            f"expected a whole number from {least} to {most:,}, got {found}", who=who
        )
    return found


def _measured_apart(project: Project) -> tuple[Project, str]:
    """The project with a validation part that is not its test part, and what was changed."""
    training = project.training
    if training.validation != "held-out":
        return project, ""
    share = f"{training.validation_fraction:.0%}"
    return project.with_training(validation="random"), (
        "this project validates on its test part; trials are measured on a random "
        f"{share} of the training part instead"
    )


def objectives_of(
    project: Project, dataset: Callable[[DataSettings, Path], Dataset] | None = None
) -> list[str]:
    """What trials of a project can be compared by.

    Args:
        project: what is varied.
        dataset: opens the data, or has it open.

    Raises:
        StudioError: the project cannot be trained.
    """
    measured, _ = _measured_apart(project)
    return _objectives(_task(measured, dataset))


def _task(project: Project, dataset: Callable[[DataSettings, Path], Dataset] | None) -> Task:
    if project.data is None:
        raise DataError("the project has no data to train on", who=project.name,
                        hint="attach some in the Data pane")  # fmt: skip
    opened = None if dataset is None else dataset(project.data, project.folder)
    return Task.of_project(project, opened)


def _objectives(task: Task) -> list[str]:
    """What trials of a task can be compared by; what is measured on the validation part first."""
    labels = metric_labels(Programs(task).program("train"))
    measured = () if task.validation is None else labels
    return [*(f"val_{label}" for label in measured), *labels]


def _objective(task: Task, name: str) -> str:
    """The objective, where trials report it."""
    known = _objectives(task)
    if name == "test" or name.startswith("test_"):
        raise ParameterError(
            "the test part is no objective: what is chosen by it is no longer tested by it",
            who="--objective",
            hint=f"choose one of {', '.join(known)}",
        )
    if name not in known:
        no_validation = task.validation is None and name.startswith("val_")
        reason = "the project has no validation part" if no_validation else (
            f"expected one of {', '.join(known)}"
        )  # fmt: skip
        hint = (
            "set validation to tail or random in its training settings, or take --objective loss"
            if no_validation
            else did_you_mean(name, known)
        )
        raise ParameterError(f"{reason}, got {quoted(name)}", who="--objective", hint=hint)
    return name
