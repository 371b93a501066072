"""A recorded run as a new beginning: its weights taken on, or a project of its own."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from studio.engine.core.errors import CheckpointError, DataError, cleaned
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_error
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.optim.emit_updates import STEP_NAME
from studio.engine.train.importing.project import place, workshop
from studio.engine.train.project.project import MAX_NAME, SUFFIX, Project
from studio.engine.train.runs.marks import MARKS, Mark, append_mark, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import require_free
from studio.engine.train.runs.step_log import NAME as STEPS
from studio.engine.train.runs.weights_origin import WeightsChoice, origin_of_run

_RECORDS = ("metrics.jsonl", MARKS, STEPS)
_KEPT = ("device", "data_hash", "version", "kernels", "source")
_MOST_NAME = 60


def project_of_run(run: RunFolder) -> Project:
    """What a run trained.

    Raises:
        FormatError: its settings are damaged.
        DataError: they have no graph.
    """
    project = run.project()
    if not project.graph.nodes:
        raise DataError("the run has no graph", who=run.name)
    return project


def checkpoint_of_run(run: RunFolder, weights: WeightsChoice) -> tuple[Path, Checkpoint]:
    """A checkpoint of a run and its file.

    Raises:
        DataError: it has no such weights.
        FormatError, CheckpointError: the file is damaged.
    """
    path = origin_of_run(run, weights).checkpoint
    if path is None:
        raise CheckpointError("the weights are not in a file", who=run.name)
    return path, Checkpoint.load(path)


def take_weights(
    run: RunFolder, weights: WeightsChoice, project: Project, title: str = ""
) -> RunFolder:
    """Record weights of a run as imported ones of a project, for trainings to begin with.

    The state of the optimiser comes along; that of callbacks and the order of samples do not.

    Args:
        run: whose weights.
        project: gets the new run; it has a path.
        title: what the run is called.

    Raises:
        StudioError: the weights are missing or damaged, or nothing can be written.
    """
    path, found = checkpoint_of_run(run, weights)
    tensors = {name: array for name, array in found.tensors.items() if name != STEP_NAME}
    made = RunFolder.create(project)
    try:
        taken = Checkpoint(
            tensors, Position(total_step=found.position.total_step), found.seed,
            found.batch_size, data_hash=found.data_hash,
        )  # fmt: skip
        taken.save(made.checkpoint_path("final"))
        source = f"{cleaned(title or run.name)[:_MOST_NAME]}, {path.name}"
        made.write_summary({"state": "imported", "source": source, "started": made.name})
    except BaseException:
        shutil.rmtree(made.path, ignore_errors=True)
        raise
    return made


def branch_path(project: Path) -> Path:
    """Where a branch of a project goes: beside it, under a name that is free."""
    count = 1
    while True:
        stem = f"{project.stem}-branch" + (f"-{count}" if count > 1 else "")
        target = project.with_name(f"{stem}{SUFFIX}")
        if not target.exists() and not target.with_suffix(".runs").exists():
            return target
        count += 1


def branch_run(run: RunFolder, target: Path, weights: WeightsChoice | None) -> Project:
    """Make a project of a run: its graph, settings and data, and the run itself to go on with.

    New trainings of the project begin with the weights, too. With the best weights the run ends
    where they were saved; what came after is left out. All is there in the end, or nothing is.

    Args:
        run: what is branched; it is not changed.
        target: the project to make.
        weights: which weights it goes on with; None for no run.

    Raises:
        DataError: the run has no graph or no such weights, another process trains it, or there
            is a project of that name.
        FormatError, CheckpointError: files of the run are damaged, or nothing can be written.
    """
    project = project_of_run(run)
    require_free(run.path)
    project.name = f"{project.name[: MAX_NAME - 10]} (branch)"
    begin = "fresh" if weights is None else "imported"
    made = replace(project.with_training(begin_with=begin), path=None)
    with workshop(target) as folder:
        made.save(folder / target.name)
        made.runs_path.mkdir()
        if weights is not None:
            _copy(run, RunFolder(made.runs_path / run.name), project, weights)
            take_weights(run, weights, made)
        place(folder, target)
    made.path = target
    return made


def _copy(run: RunFolder, into: RunFolder, project: Project, weights: WeightsChoice) -> None:
    path, found = checkpoint_of_run(run, weights)
    files = [path]
    if weights == "last":
        # What a training goes on from, and its best so far, besides what is used.
        others = (run.last_checkpoint(), run.checkpoint_path("best"))
        files += [other for other in others if other is not None and other.is_file()]
    try:
        into.checkpoints.mkdir(parents=True)
        for file in dict.fromkeys(files):
            shutil.copy2(file, into.checkpoints / file.name)
        if weights == "last":
            for name in _RECORDS:
                if (run.path / name).is_file():
                    shutil.copy2(run.path / name, into.path / name)
    except OSError as error:
        raise write_error(error, into.path) from error
    into.write_json("settings.json", project.to_json())
    summary = run.summary()
    if weights == "best":
        summary = _cut(run, into, found, summary)
    into.write_summary({**summary, "branched_from": run.name})


def _cut(
    run: RunFolder, into: RunFolder, found: Checkpoint, summary: Mapping[str, Plain]
) -> dict[str, Plain]:
    """Record what came before the best weights, and the summary as if the run ended there."""
    epochs, steps = found.position.epoch, found.position.total_step
    records = [record for record in run.metrics() if record["epoch"] < epochs]
    for record in records:
        logs = {name: value for name, value in record.items() if name != "epoch"}
        into.append_metrics(int(record["epoch"]), logs)
    before = [mark for mark in read_marks(run.path) if mark.step <= steps]
    for mark in before:
        append_mark(into.path, mark)
    wall = before[-1].wall if before else 0.0
    append_mark(into.path, Mark("stopped", steps, wall))
    last = (
        {name: value for name, value in records[-1].items() if name != "epoch"} if records else {}
    )
    return {
        **{name: summary[name] for name in _KEPT if name in summary},
        "state": "imported" if summary.get("state") == "imported" else "stopped",
        "reason": f"branched from run {run.name} at its best epoch, {epochs}",
        "started": run.name,
        "epochs": epochs,
        "steps": steps,
        "seconds": round(found.seconds, 3),
        "metrics": {name: value for name, value in last.items() if math.isfinite(value)},
    }
