"""``glassbox train --cluster``: one training on a Dask cluster, with the bar of a local one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from studio.cli import console
from studio.cli.commands.training import (
    TrainingOrder,
    complain_of,
    report,
    result_to_json,
    where_to_go_on,
)
from studio.cli.commands.using import say_origin
from studio.cli.options import find_project
from studio.cli.progress_bar import ProgressBar
from studio.engine.core.errors import BackendError, ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.scale.remote.messages import (
    Compiled,
    Ended,
    Entered,
    Failed,
    Lost,
    Opened,
    Order,
    RemoteEvent,
    Said,
)
from studio.engine.scale.remote.tickets import run_elsewhere
from studio.engine.scale.sweep.connection import checked_address, require_dask
from studio.engine.train.data.cleaning import NOTHING_CLEANED
from studio.engine.train.loop.progress import Progress
from studio.engine.train.loop.resuming import resume_point
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import origin_of_run

if TYPE_CHECKING:
    from studio.engine.scale.remote.training import ClusterTraining


class _Heard:
    """The signals of a trainer, of one that trains elsewhere."""

    def __init__(self) -> None:
        self.progress: Signal[[Progress]] = Signal()
        self.compiling: Signal[[int, int]] = Signal()
        self.said: Signal[[str]] = Signal()
        self.warned: Signal[[str]] = Signal()

    def tell(self, event: RemoteEvent) -> None:
        """Emit what fits an event."""
        if isinstance(event, Progress):
            self.progress.emit(event)
        elif isinstance(event, Compiled):
            self.compiling.emit(event.done, event.total)
        elif isinstance(event, Said):
            (self.warned if event.is_warning else self.said).emit(event.text)
        elif isinstance(event, Opened):
            self.said.emit(event.why)
        elif isinstance(event, Entered) and event.state == "waiting":
            self.said.emit("waiting until a worker is free")


def train_on_cluster(order: TrainingOrder, address: str, *, alone: bool) -> int:
    """Train a project on a cluster, or follow a training there again; the code to end with.

    Args:
        address: of the cluster.
        alone: no several workers were asked for.

    Raises:
        StudioError: it cannot be begun there, failed, or was lost.
    """
    if not alone or order.out is not None:
        raise ParameterError(
            "one process trains on a cluster, and leaves a run",
            who="--cluster",
            hint="leave --workers, --mpi and --out out; glassbox export makes files of a run",
        )
    address = checked_address(address)
    require_dask()
    path = find_project(order.project)
    project = order.opened(path)
    from studio.engine.scale.remote.training import ClusterTraining

    with ClusterTraining(address) as training:
        run = _begun(training, project, order)
        ended = _followed(training, run, quiet=order.as_json)
    result = replace(ended.result, history=_history(run), epochs=tuple(_epochs(run)))
    test = dict(ended.test)
    origin = origin_of_run(run) if run.has_result else None
    if order.as_json:
        weights = None if origin is None else origin.to_json()
        facts: dict[str, object] = {"device": run.summary().get("device", ""), "run": str(run.path)}
        facts |= {"weights": weights, **result_to_json(result, NOTHING_CLEANED), "test": test}
        if ended.cleaning:
            facts["cleaning"] = dict(ended.cleaning)
        console.answer_json({**facts, "exports": []})
    else:
        report(result, test, path)
        if origin is not None:
            say_origin(origin)
        console.say(f"run: {run.path}")
    return complain_of(result, [], None)


def _begun(training: ClusterTraining, project: Project, order: TrainingOrder) -> RunFolder:
    """The run that trains there now: one that did already, one that goes on, or a new one."""
    elsewhere = run_elsewhere(project, training.address) if order.resume else None
    if elsewhere is not None:
        training.again(elsewhere)
        if not order.as_json:
            console.note(f"connected again to run {elsewhere.path}")
        return elsewhere
    wanted = Order(
        "", {}, None, order.backend, order.in_order, order.resume, passes_stop=False, tests=True
    )
    if order.resume:
        point = resume_point(project)
        done = point.checkpoint.position.epoch
        if order.seed is None:
            project = project.with_training(seed=point.checkpoint.seed)
        beyond = order.epochs is not None and order.epochs > done
        if not order.as_json:
            for line in where_to_go_on(point, point.checkpoint, project.training.epochs):
                console.note(line)
        run, wanted = point.run, replace(wanted, passes_stop=beyond)
        training.begin(project, run, replace(wanted, settings=project.to_json()))
        return run
    training.require_workers(project)
    run = RunFolder.create(project)
    training.begin(project, run, replace(wanted, settings=project.to_json()))
    return run


def _followed(training: ClusterTraining, run: RunFolder, *, quiet: bool) -> Ended:
    """Follow a training to its end; Ctrl-C stops it there, and is followed to that end."""
    heard = _Heard()
    with ProgressBar(heard, quiet=quiet) as bar:
        while True:
            try:
                for event in training.follow():
                    if isinstance(event, Ended):
                        bar.refresh()
                        return event
                    if isinstance(event, Failed):
                        raise event.error
                    if isinstance(event, Lost):
                        raise _lost(training, event, run)
                    if event is not None:
                        heard.tell(event)
                    else:
                        bar.refresh()
            except KeyboardInterrupt:
                console.note("stopping after this step")
                training.tell("stop")


def _lost(training: ClusterTraining, event: Lost, run: RunFolder) -> StudioError:
    hint = f"continue with: glassbox train {_project_of(run)} --resume"
    if not run.has_result:
        hint = "no checkpoint had arrived; train again"
    if event.goes_on:
        hint = (
            f"connect again with: glassbox train {_project_of(run)} "
            f"--cluster {training.address} --resume"
        )
    return BackendError(event.why, who="--cluster", hint=hint)


def _project_of(run: RunFolder) -> str:
    return str(run.path.parent.with_suffix(".glassbox"))


def _history(run: RunFolder) -> dict[str, list[float]]:
    """For each metric a number per epoch."""
    found: dict[str, list[float]] = {}
    for record in run.metrics():
        for name, value in record.items():
            if name != "epoch":
                found.setdefault(name, []).append(value)
    return found


def _epochs(run: RunFolder) -> list[int]:
    return [int(record["epoch"]) for record in run.metrics()]
