"""The process that trains on a worker of a cluster: a project in a private folder.

Started as ``python -m studio.engine.scale.remote.training_process``. Messages are lines of JSON:
the order and then commands go in, events come out. When the input ends, its worker is gone, and so
is it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO

from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import DataError, InternalError, ParameterError, StudioError
from studio.engine.plugins.loading import load_plugins
from studio.engine.scale.remote.messages import (
    Began,
    Compiled,
    Ended,
    Entered,
    EpochDone,
    Failed,
    Line,
    Opened,
    Order,
    RemoteEvent,
    Said,
    line_of,
)
from studio.engine.scale.sweep.worker_process import message_output, send_message
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.control import Control
from studio.engine.train.loop.resuming import beyond_an_early_stop, point_of
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import StepsHeader

MODULE = "studio.engine.scale.remote.training_process"
_OWNER_GONE = 3


class _Commands:
    """What is wanted of a training: before it begins, and while it runs."""

    def __init__(self) -> None:
        self.control = Control()
        self.trainer: Trainer | None = None

    def take(self, do: str, value: object = None) -> None:
        """Carry out a command; an unknown one is of another version, and does nothing."""
        control = self.control
        plain: Mapping[str, Callable[[], object]] = {
            "stop": control.stop, "pause": control.pause, "resume": control.resume,
            "step_batch": lambda: control.step(1), "step_epoch": self._step_epoch,
        }  # fmt: skip
        if do in plain:
            plain[do]()
        elif do == "rate" and isinstance(value, int | float):
            control.set_learning_rate(float(value))

    def _step_epoch(self) -> None:
        trainer, control = self.trainer, self.control
        if trainer is None or trainer.loop_or_none() is None:
            control.step(1)
            return
        loop = trainer.loop
        steps = loop.feeder.steps
        control.call(lambda: control.step(steps - loop.step or steps))


def main() -> None:
    """Train what is ordered."""
    out = message_output()
    orders: SimpleQueue[Line] = SimpleQueue()
    commands = _Commands()
    threading.Thread(target=_listen, args=(sys.stdin, orders, commands), daemon=True).start()
    load_plugins(AppDirs.of_user().config)
    message = orders.get()

    def tell(event: RemoteEvent) -> None:
        send_message(out, **line_of(event))

    order = Order.from_json(message["order"])
    try:
        event: RemoteEvent = train(
            order, Path(message["base"]), Path(message["run"]), message["threads"], tell, commands
        )
    except StudioError as error:
        event = Failed(error)
    except MemoryError as error:
        event = Failed(InternalError("there is not enough memory", error, who="training"))
    except Exception as error:
        event = Failed(InternalError("training failed", error, who="training"))
    if isinstance(event, Failed):
        _note_failure(RunFolder(Path(message["run"])), event.error)
    tell(event)


def train(
    order: Order, base: Path, folder: Path, threads: int, tell: Callable[[RemoteEvent], object],
    commands: _Commands,
) -> Ended:  # fmt: skip
    """Train a project as ordered, and say how it goes.

    Args:
        base: file of the project, beside which its data lies.
        folder: of the run; holds its files where it goes on.
        threads: of the CPU backend.
    """
    run = RunFolder(folder)
    recorded = Project.from_json(order.settings, order.run)
    recorded.path = base
    project = recorded
    if order.data is not None:
        project = replace(recorded, data=DataSettings.from_json(order.data))
    if not order.resumes:
        _new_run(run, order)
    task = Task.of_project(project)
    point = point_of(run) if order.resumes else None
    control = commands.control
    with (
        open_backend(order.backend, in_order=order.in_order, threads=threads) as device,
        Trainer(task, device.backend, run=run, control=control) as trainer,
    ):
        reports = _Reports(trainer, tell)
        tell(Opened(device.why))
        for sentence in task.cleaning.sentences:
            tell(Said(f"data: {sentence}"))
        if point is None:
            if text := begin_as_set(trainer, project):
                tell(Said(text))
        else:
            found = point.checkpoint
            trainer.resume(
                beyond_an_early_stop(found) if order.passes_stop else found, project=recorded
            )
        commands.trainer = trainer
        result = trainer.run()
        del reports
        test = trainer.evaluate("test") if order.tests else {}
        return Ended(result, test, task.cleaning.to_json() if task.cleaning else {})


class _Reports:
    """Tells what a trainer says as long as it is kept: signals hold their listeners weakly."""

    def __init__(self, trainer: Trainer, tell: Callable[[RemoteEvent], object]) -> None:
        self._trainer = trainer
        self._tell = tell
        trainer.steps.began.connect(self._began)
        trainer.steps.added.connect(tell)
        trainer.epoch_ended.connect(self._epoch_ended)
        trainer.progress.connect(tell)
        trainer.compiling.connect(self._compiled)
        trainer.said.connect(self._said)
        trainer.warned.connect(self._warned)
        trainer.marked.connect(tell)
        trainer.control.changed.connect(self._entered)

    def _began(self, header: StepsHeader, step: int) -> None:
        self._tell(Began(header, step))

    def _epoch_ended(self, _epoch: int, numbers: Mapping[str, float]) -> None:
        self._tell(EpochDone(self._trainer.loop.total_step, dict(numbers)))

    def _compiled(self, done: int, total: int) -> None:
        self._tell(Compiled(done, total))

    def _said(self, text: str) -> None:
        self._tell(Said(text))

    def _warned(self, text: str) -> None:
        self._tell(Said(text, is_warning=True))

    def _entered(self, state: str) -> None:
        self._tell(Entered(state))


def _new_run(run: RunFolder, order: Order) -> None:
    try:
        run.checkpoints.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"a run cannot be recorded: {error.strerror}", who=run.name) from error
    run.write_json("settings.json", order.settings)
    run.write_summary({"state": "running", "started": run.name})


def _note_failure(run: RunFolder, error: StudioError) -> None:
    """Let the run say that it failed, where the training did not come to that."""
    summary = run.summary()
    if summary.get("state") == "running" and "device" not in summary and run.path.is_dir():
        run.write_summary({**summary, "state": "failed", "reason": error.message})


def _listen(lines: TextIO, orders: SimpleQueue[Line], commands: _Commands) -> None:
    for line in lines:
        found = json.loads(line)
        if "order" in found:
            orders.put(found)
            continue
        try:
            commands.take(found.get("do"), found.get("value"))
        except ParameterError:
            # A rate that no optimiser has; it was refused where it was typed.
            continue
    # Not at the next step or epoch: what it makes from now on has no owner.
    os._exit(_OWNER_GONE)


if __name__ == "__main__":
    main()
