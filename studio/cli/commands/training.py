"""``glassbox train``: trains a project without a window, with a bar, an ETA and a recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED, USER_MISTAKE
from studio.cli.commands.using import cleaning_lines, cleaning_to_json, say_origin
from studio.cli.exports import complain_of_exports, export_to_json, say_exports
from studio.cli.options import (
    BackendOption,
    JsonOption,
    MpiOption,
    ProjectArgument,
    SeedOption,
    WorkersOption,
    load_trusted,
    make_folder,
    shared_project,
)
from studio.cli.progress_bar import ProgressBar
from studio.cli.workers import run_shared
from studio.engine.core.errors import StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.runtime.exchange import Exchange
from studio.engine.scale.parallel.joining import join_workers, shared_checkpoint
from studio.engine.scale.parallel.shared_control import SharedControl
from studio.engine.scale.remote.tickets import remove_ticket, ticket_of
from studio.engine.train.data.cleaning import Cleaning
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import Export, export_all
from studio.engine.train.loop.resuming import ResumePoint, beyond_an_early_stop, resume_point
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import WeightsOrigin

_TICK = 0.1

InOrderOption = Annotated[
    bool,
    typer.Option(
        "--in-order", help="Run kernels one after another: slower on a GPU, needs less memory."
    ),
]


def train(
    project: ProjectArgument,
    backend: BackendOption = "auto",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            help="Epochs to train in total, including those of a resumed run.",
            metavar="N",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", help="Rows of a step, those of all workers together.", metavar="N"),
    ] = None,
    seed: SeedOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last checkpoint of the last run.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the trained model.", metavar="DIR")
    ] = None,
    in_order: InOrderOption = False,
    workers: WorkersOption = None,
    mpi: MpiOption = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Train on a Dask cluster of yours, by its address; with --resume connect again.",
            metavar="ADDRESS",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a project, record the run beside it, and evaluate on the test part.

    Exit code 1: the training did not learn, or a file in --out could not be verified. Exit code 2:
    a file could not be written.
    """
    order = TrainingOrder(project, backend, epochs, batch, seed, resume, out, in_order, as_json)
    if cluster is not None:
        from studio.cli.cluster_training import train_on_cluster

        raise typer.Exit(train_on_cluster(order, cluster, alone=workers is None and not mpi))
    raise typer.Exit(run_shared(order, workers, mpi=mpi))


@dataclass(frozen=True)
class TrainingOrder:
    """What the command was asked for; its fields are those of the command."""

    project: str
    backend: str
    epochs: int | None
    batch: int | None
    seed: int | None
    resume: bool
    out: Path | None
    in_order: bool
    as_json: bool

    @property
    def words(self) -> list[str]:
        """The command of each worker."""
        valued = {
            "--backend": self.backend, "--epochs": self.epochs, "--batch": self.batch,
            "--seed": self.seed, "--out": self.out,
        }  # fmt: skip
        flags = {"--resume": self.resume, "--in-order": self.in_order, "--json": self.as_json}
        words = ["train", self.project, *(flag for flag, is_set in flags.items() if is_set)]
        for option, value in valued.items():
            if value is not None:
                words += [option, str(value)]
        return words

    def at(self, path: Path) -> TrainingOrder:
        """The same for the project file at a path."""
        return replace(self, project=str(path))

    def opened(self, path: Path) -> Project:
        """The project with the settings given."""
        return load_trusted(path).with_training(
            epochs=self.epochs, batch_size=self.batch, seed=self.seed
        )

    def run(self, exchange: Exchange | None = None) -> int:
        """Train; the code to end with. Of several workers only the first speaks and records."""
        return _Worker(self, shared_project(self.project, exchange), exchange).run()


class _Worker:
    """One training, or one worker's part in it.

    Args:
        order: what was asked for.
        path: the project file.
        exchange: brings the workers together, None for a training by one.
    """

    def __init__(self, order: TrainingOrder, path: Path, exchange: Exchange | None) -> None:
        self.order = order
        self.path = path
        self.exchange = exchange
        self.is_first = exchange is None or exchange.rank == 0
        self.is_quiet = order.as_json or not self.is_first
        self.point: ResumePoint | None = None

    def run(self) -> int:
        """Train, evaluate, export and say what came out; the code to end with."""
        order, exchange = self.order, self.exchange
        opened = order.opened(self.path)
        checkpoint = self._checkpoint(opened) if order.resume else None
        if checkpoint is not None and order.seed is None:
            # A seed given to the first part holds for the rest.
            opened = opened.with_training(seed=checkpoint.seed)
        task = Task.of_project(opened)
        if exchange is not None:
            join_workers(exchange, task, opened)
        if order.out is not None and self.is_first:
            make_folder(order.out)
        with open_backend(order.backend, in_order=order.in_order, exchange=exchange) as device:
            self._announce(device.why, checkpoint, task)
            run = self._run_folder(opened)
            control = None if exchange is None else SharedControl(exchange)
            with Trainer(task, device.backend, run=run, control=control) as trainer:
                self._begin(trainer, opened, run, checkpoint)
                result = train_with_bar(trainer, quiet=self.is_quiet)
                test = trainer.evaluate("test")
                if exchange is not None:
                    exchange.is_over = True
                if run is None:
                    return 0
                trained = trainer.trained()
                exports, refusal = _exported(trained, order.out, opened)
                origin = trained.origin
        self._tell(device.backend.device, run, result, test, exports, origin, task)
        return complain_of(result, exports, refusal)

    def _checkpoint(self, opened: Project) -> Checkpoint | None:
        """Where to go on, as the first worker has found it."""
        if self.is_first:
            self.point = resume_point(opened)
        point = self.point
        found = None if point is None else point.checkpoint
        if self.exchange is not None:
            path = "" if point is None else str(point.path)
            found = shared_checkpoint(self.exchange, found, path)
        return None if found is None else _from_there(found, self.order.epochs)

    def _announce(self, why: str, checkpoint: Checkpoint | None, task: Task) -> None:
        if self.is_quiet:
            return
        for line in (why, *cleaning_lines(task.cleaning)):
            console.note(line)
        if self.exchange is not None:
            each = task.settings.batch_size // self.exchange.size
            console.note(f"{self.exchange.size} workers, {each} rows of every batch each")
        for line in where_to_go_on(self.point, checkpoint, task.settings.epochs):
            console.note(line)

    def _run_folder(self, opened: Project) -> RunFolder | None:
        """Where the run is recorded; None for a worker that records nothing."""
        if not self.is_first:
            return None
        return self.point.run if self.point is not None else RunFolder.create(opened)

    def _begin(
        self, trainer: Trainer, opened: Project, run: RunFolder | None,
        checkpoint: Checkpoint | None,
    ) -> None:  # fmt: skip
        if checkpoint is not None:
            trainer.resume(checkpoint, project=opened)
            if self.point is not None:
                self.point.require_newest()
                self._leave_cluster(self.point.run)
        elif (text := _begun(trainer, opened, run)) and not self.is_quiet:
            console.note(text)

    def _leave_cluster(self, run: RunFolder) -> None:
        """What goes on here is not fetched from a cluster any more."""
        ticket = ticket_of(run)
        if ticket is not None:
            remove_ticket(run.path)
            if not self.is_quiet:
                console.note(f"the cluster at {ticket.address} is left: what it has trained since "
                             "is not fetched")  # fmt: skip

    def _tell(
        self, device: str, run: RunFolder, result: TrainingResult, test: dict[str, float],
        exports: list[Export], origin: WeightsOrigin | None, task: Task,
    ) -> None:  # fmt: skip
        if self.order.as_json:
            console.answer_json(
                {
                    "device": device,
                    "run": str(run.path),
                    "weights": None if origin is None else origin.to_json(),
                    **result_to_json(result, task.cleaning),
                    "test": test,
                    "exports": [export_to_json(each) for each in exports],
                }
            )
            return
        report(result, test, self.path)
        if origin is not None:
            say_origin(origin)
        console.say(f"run: {run.path}")
        say_exports(exports)


def _begun(trainer: Trainer, project: Project, run: RunFolder | None) -> str:
    """Begin with the weights that the settings ask for; which ones, as a sentence."""
    try:
        return begin_as_set(trainer, project)
    except StudioError as error:
        if run is not None:
            run.write_summary({"state": "failed", "reason": error.message, "started": run.name})
        raise


def _exported(
    trained: Trained, out: Path | None, project: Project
) -> tuple[list[Export], StudioError | None]:
    """The trained model as files, or why there is none: the training is reported all the same."""
    if out is None:
        return [], None
    try:
        return export_all(trained, out, project), None
    except StudioError as error:
        return [], error


def complain_of(result: TrainingResult, exports: list[Export], refusal: StudioError | None) -> int:
    """Name what went wrong; the code to end with."""
    code = complain_of_exports(exports)
    for error in (refusal, result.unsaved):
        if error is not None:
            console.complain(str(error))
            code = USER_MISTAKE
    return max(code, CHECK_FAILED if result.verdict is not None else 0)


def train_with_bar(trainer: Trainer, *, quiet: bool) -> TrainingResult:
    """Train on the trainer's own thread while a bar shows how far it is; Ctrl-C stops cleanly."""
    with ProgressBar(trainer, quiet=quiet) as bar:
        future = trainer.start()
        try:
            _wait(future, bar)
        except KeyboardInterrupt:
            console.note("stopping after this step")
            trainer.control.stop()
        return future.result()


def report(result: TrainingResult, test: dict[str, float], project: Path | None) -> None:
    """Say what came out of a training, and how to go on with one that was stopped."""
    if result.outcome == "stopped":
        console.say(f"stopped as you asked; go on with: glassbox train {project} --resume")
    elif result.outcome == "early":
        console.say(f"stopped early: {result.reason}")
    whole = result.total_seconds
    in_all = "" if whole - result.seconds < 0.05 else f", {whole:.1f} s in all"
    console.say(f"trained {result.steps:,} steps in all, {result.seconds:.1f} s now{in_all}")
    for name, value in test.items():
        console.say(f"test {name}: {value:.4f}")
    if result.verdict is not None:
        console.complain(f"{result.verdict.text}\n  hint: {result.verdict.hint}")


def result_to_json(result: TrainingResult, cleaning: Cleaning) -> dict[str, object]:
    """What came out of a training, as plain fields."""
    return {
        **cleaning_to_json(cleaning),
        "epochs": len(result.epochs),
        "seconds": result.seconds,
        "total_seconds": result.total_seconds,
        "outcome": result.outcome,
        "reason": result.reason,
        "verdict": None if result.verdict is None else result.verdict.to_json(),
        "history": result.history,
    }


def _wait(future: Future[TrainingResult], bar: ProgressBar) -> None:
    while not future.done():
        bar.refresh()
        wait([future], timeout=_TICK)
    bar.refresh()


def _from_there(found: Checkpoint, epochs: int | None) -> Checkpoint:
    """Where to go on; behind an early stop where more epochs than it has were asked for."""
    if epochs is not None and epochs > found.position.epoch:
        return beyond_an_early_stop(found)
    return found


def where_to_go_on(
    point: ResumePoint | None, checkpoint: Checkpoint | None, epochs: int
) -> Iterator[str]:
    """Which run goes on, where, and what is left to do; nothing where none goes on."""
    if point is None or checkpoint is None:
        return
    if point.passed_over:
        yield f"{point.passed_over[0]} is newer, but has no checkpoint"
    done = checkpoint.position.epoch
    counted = f"{done} epoch{' is' if done == 1 else 's are'} done"
    more = "ask for more with --epochs"
    if checkpoint.stop_reason is not None:
        yield f"nothing left to train: {counted}, then it was stopped early; {more}"
    elif done == epochs:
        yield f"nothing left to train: all {counted}; {more}"
    elif done > epochs:
        yield f"nothing left to train: {counted}, {epochs} asked for; {more}"
    else:
        place = f"{point.path.name} of run {point.run.path}"
        yield f"continuing after {done} of {epochs} epochs, from {place}"
