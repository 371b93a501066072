"""One trial of a sweep, as a worker trains it: runs in a private place, and what came out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import DataError, StudioError, in_one_line
from studio.engine.core.options import Plain
from studio.engine.train.callbacks.callback import Callback, Logs, higher_is_better, monitored
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

TrialState: TypeAlias = Literal["finished", "pruned", "failed"]
Report: TypeAlias = Callable[[int, float, bool], bool]
"""Hears the epochs done, the objective, and whether an answer is wanted: False ends the trial."""

SUMMARY_KEY = "sweep"
"""Where the summary of a run says which trial it is of."""


@dataclass(frozen=True)
class Job:
    """What a worker is asked for, as plain data.

    Attributes:
        number: of the trial.
        attempt: how often it was begun before.
        sweep: name of the sweep.
        base: the project's file, beside which its data lies.
        place: private folder that the run folders are made in.
        settings: for each seed the project to train, as its run records it.
        data: the data section to open instead of the project's, where the data lies elsewhere.
        data_hash: what the data must hash to; empty for anything.
        values: of the axes, as a table shows them.
        objective: what is measured after each epoch.
        maximize: whether more of it is better.
        rungs: epochs after which pruning is decided; none without pruning.
        backend: where to train.
        threads: of the CPU backend.
        keeps_all: whether weights are kept however the trial ends.
        worth: else the objective from which they are; None for any.
    """

    number: int
    attempt: int
    sweep: str
    base: str
    place: str
    settings: tuple[Mapping[str, Plain], ...]
    data: Mapping[str, Plain] | None
    data_hash: str
    values: Mapping[str, Plain]
    objective: str
    maximize: bool
    rungs: tuple[int, ...]
    backend: str
    threads: int
    keeps_all: bool
    worth: float | None

    def to_json(self) -> dict[str, Plain]:
        """The job as a message holds it."""
        found: dict[str, Plain] = asdict(self)
        return found

    @classmethod
    def from_json(cls, fields: Mapping[str, object]) -> Job:
        """The job of a message; TypeError for one of another version."""
        given = dict(fields)
        for name in ("settings", "rungs"):
            listed = given.get(name)
            given[name] = tuple(listed) if isinstance(listed, list | tuple) else ()
        return cls(**given)  # type: ignore[arg-type]

    def run_names(self) -> tuple[str, ...]:
        """Names of its run folders."""
        return run_names(self.sweep, self.number, len(self.settings))


@dataclass(frozen=True)
class Outcome:
    """What became of a trial.

    Attributes:
        state: how it ended.
        reason: one sentence about that, or empty.
        values: the objective of each seed that was trained to its end.
        epochs: of all seeds.
        seconds: of all seeds, compiling included.
        device: where it was trained.
    """

    state: TrialState
    reason: str = ""
    values: tuple[float, ...] = ()
    epochs: int = 0
    seconds: float = 0.0
    device: str = ""

    @property
    def value(self) -> float | None:
        """The mean of the seeds; None where the trial has none."""
        if self.state != "finished" or not self.values:
            return None
        return math.fsum(self.values) / len(self.values)

    def to_json(self) -> dict[str, Plain]:
        """The outcome as a message and a run's summary hold it."""
        return {**asdict(self), "values": list(self.values)}

    @classmethod
    def from_json(cls, fields: Mapping[str, object]) -> Outcome:
        """The outcome a message or a summary holds; TypeError or ValueError for anything else."""
        values = fields["values"]
        state = fields["state"]
        if not isinstance(values, list) or state not in ("finished", "pruned", "failed"):
            raise ValueError("no outcome of a trial")
        numbers = [float(fields[name]) for name in ("epochs", "seconds")]  # type: ignore[arg-type]
        return cls(
            state, str(fields["reason"]), tuple(float(v) for v in values), int(numbers[0]),
            numbers[1], str(fields["device"]),
        )  # fmt: skip


class _Pruned(Exception):  # noqa: N818
    """The first seed of a trial was ended by the coordinator."""


class _Watch(Callback):
    """Reports the objective after each epoch, and ends the training where it is told to."""

    def __init__(self, job: Job, report: Report, *, may_end: bool) -> None:
        self._job = job
        self._report = report
        self._may_end = may_end
        self.values: list[float] = []
        self.pruned = False

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        value = monitored(logs, self._job.objective, "objective")
        self.values.append(value)
        done = epoch + 1
        asks = self._may_end and done in self._job.rungs and done < self.training.epochs
        if not self._report(done, value, asks):
            self.pruned = True
            self.training.stop_training(f"pruned after epoch {done}")


def run_names(sweep: str, number: int, seeds: int) -> tuple[str, ...]:
    """Names of the run folders of a trial, one for each seed."""
    stem = f"{sweep}-{number:04d}"
    return (stem,) if seeds == 1 else tuple(f"{stem}-{seed + 1}" for seed in range(seeds))


def run_trial(job: Job, report: Report) -> Outcome:
    """Train a trial, one seed after another; what fails in it is its outcome, never an error.

    Args:
        job: what to train, and where run folders are made.
        report: hears each epoch.
    """
    began, values, epochs, device = time.monotonic(), list[float](), 0, ""
    state: TrialState = "finished"
    reason = ""
    for index, (name, settings) in enumerate(zip(job.run_names(), job.settings, strict=True)):
        run = RunFolder(Path(job.place) / name)
        watch = _Watch(job, report, may_end=index == 0)
        try:
            value = _train(job, settings, run, watch)
            values.append(value)
        except _Pruned:
            state, reason = "pruned", f"pruned after epoch {len(watch.values)}"
        except StudioError as error:
            state, reason = "failed", _sentence(error)
        except MemoryError:
            state, reason = "failed", "not enough memory"
        except Exception as error:
            state, reason = "failed", in_one_line(error)
        epochs += len(watch.values)
        device = str(run.summary().get("device") or device)
        if state != "finished":
            break
    outcome = Outcome(
        state, reason, tuple(values), epochs, round(time.monotonic() - began, 3), device
    )
    _sign(job, outcome)
    return outcome


def failed_runs(job: Job, reason: str) -> Outcome:
    """The run folder of a trial that no worker could finish, and its outcome."""
    outcome = Outcome("failed", reason)
    _new_run(RunFolder(Path(job.place) / job.run_names()[0]), job.settings[0])
    _sign(job, outcome)
    return outcome


def drop_weights(run: RunFolder) -> None:
    """Delete the checkpoints of a run; its record stays."""
    for path in run.checkpoints.glob("*.safetensors"):
        run.remove_checkpoint(path.stem)
    summary = run.summary()
    if summary:
        run.write_summary({**summary, "checkpoint": "", "checkpoint_epoch": 0})


def _new_run(run: RunFolder, settings: Mapping[str, Plain]) -> None:
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        run.checkpoints.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"a run cannot be recorded: {error.strerror}", who=run.name) from error
    run.write_json("settings.json", settings)
    run.write_summary({"state": "running", "started": run.name})


def _train(job: Job, settings: Mapping[str, Plain], run: RunFolder, watch: _Watch) -> float:
    """The objective that a seed reached; `_Pruned` where the coordinator ended it."""
    _new_run(run, settings)
    project = Project.from_json(settings, run.name)
    project.path = Path(job.base)
    if job.data is not None:
        project = replace(project, data=DataSettings.from_json(job.data))
    task = Task.of_project(project)
    if job.data_hash not in ("", task.data_hash):
        raise DataError("the data is not the same as when the sweep began", who=project.name)
    with (
        open_backend(job.backend, threads=job.threads) as device,
        Trainer(task, device.backend, run=run, callbacks=[watch]) as trainer,
    ):
        begin_as_set(trainer, project)
        result = trainer.run()
    if result.unsaved is not None:
        raise result.unsaved
    if watch.pruned:
        raise _Pruned
    return _reached(job, task, watch)


def _reached(job: Job, task: Task, watch: _Watch) -> float:
    """The objective of the weights that a training ended with.

    That is the last epoch's, or the best's where early stopping put its weights back.
    """
    if not watch.values:
        raise DataError("no epoch was trained", who=job.objective)
    value, early = watch.values[-1], task.settings.early_stopping
    if early is not None and early.restore_best_weights and early.best_epoch >= 0:
        value = watch.values[early.best_epoch]
    if not math.isfinite(value):
        raise DataError(f"it became {value}, which is no number to compare", who=job.objective)
    return value


def _sign(job: Job, outcome: Outcome) -> None:
    """Write into each run which trial it is of, and how that ended; drop weights of no use."""
    value = outcome.value
    keeps = job.keeps_all or (
        value is not None
        and (job.worth is None or (value >= job.worth if job.maximize else value <= job.worth))
    )
    for index, name in enumerate(job.run_names()):
        run = RunFolder(Path(job.place) / name)
        if not (run.path / "summary.json").is_file():
            continue
        summary = run.summary()
        is_last = index == len(outcome.values)
        if outcome.state != "finished" and is_last:
            summary |= {"state": outcome.state, "reason": outcome.reason}
        summary[SUMMARY_KEY] = {
            "name": job.sweep,
            "trial": job.number,
            "values": dict(job.values),
            "objective": job.objective,
            "outcome": outcome.to_json(),
        }
        run.write_summary(summary)
        if not keeps:
            drop_weights(run)


def _sentence(error: StudioError) -> str:
    """An error on one line, with whom it is about."""
    text = f"[{error.who}] {error.message}" if error.who else error.message
    return " ".join(text.split())


def direction_of(objective: str, maximize: bool | None) -> bool:
    """Whether more of the objective is better: as asked for, else as its metric has it."""
    return higher_is_better(objective, "auto") if maximize is None else maximize


def sweep_of(run: RunFolder) -> str:
    """Name of the sweep that a run is a trial of; empty for other runs."""
    found = run.summary().get(SUMMARY_KEY)
    return str(found.get("name") or "") if isinstance(found, dict) else ""


def outcome_of_run(run: RunFolder, sweep: str, number: int) -> Outcome | None:
    """How a trial ended, as the summary of one of its runs says; None for another trial's run."""
    found = run.summary().get(SUMMARY_KEY)
    if not isinstance(found, dict) or (found.get("name"), found.get("trial")) != (sweep, number):
        return None
    outcome = found.get("outcome")
    try:
        return Outcome.from_json(outcome) if isinstance(outcome, dict) else None
    except (KeyError, TypeError, ValueError):
        return None
