"""The project golden pictures show: a sample with runs whose every number is given.

The weights of its newest run were trained once and lie beside this file;
``python -m tests.ui.golden.example_project`` trains them anew.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from studio import __version__
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.profiler.totals import Peaks
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.step_sampling import InstrumentedStep, StepWindow
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.samples import open_copy
from studio.session.core.run_notes import RunNotes, write_notes
from studio.session.core.tasks import TaskHandle
from studio.session.profiling.dry_run import DryRun, dry_run
from studio.session.profiling.peaks import PeakStore
from tests.ui.golden.studio_of_pictures import NOW

SAMPLE = "digits-cnn"
WEIGHTS = Path(__file__).with_name("weights.npz")
DEVICE = "A processor, 8 threads"
STEPS_OF_AN_EPOCH = 45
_EPOCHS_TRAINED = 5


def make(folder: Path) -> Path:
    """Put the project with three runs into a folder; returns its file."""
    path = open_copy(SAMPLE, folder)
    project = Project.load(path)
    data_hash = Task.of_project(project).data_hash
    now = datetime.fromtimestamp(NOW, UTC)
    first = _run(project, data_hash, now - timedelta(days=1, hours=3), 12, 0.55, "stopped")
    write_notes(first, RunNotes(text="Too few epochs.", tags=("short",)))
    second = _run(project, data_hash, now - timedelta(hours=2), 40, 1.0, "finished")
    write_notes(second, RunNotes(title="Baseline", star=True, test={"accuracy": 0.9639}))
    newest = _run(project, data_hash, now - timedelta(minutes=20), 40, 1.35, "finished")
    with np.load(WEIGHTS) as stored:
        tensors = {name: stored[name].astype(np.float32) for name in stored.files}
    training = project.training
    Checkpoint(
        tensors,
        Position(40, 0, 40 * STEPS_OF_AN_EPOCH),
        training.seed or 0,
        training.batch_size,
        data_hash=data_hash,
    ).save(newest.checkpoint_path("final"))
    return path


def _run(
    project: Project, data_hash: str, when: datetime, epochs: int, pace: float, state: str
) -> RunFolder:
    """A run whose curves fall as ``pace`` says, with a little of noise's look."""
    run = RunFolder.create(project, when)
    logs: dict[str, float] = {}
    for epoch in range(epochs):
        logs = _numbers(epoch, pace)
        run.append_metrics(epoch, logs)
    run.write_summary({
        "state": state, "reason": "", "device": DEVICE, "epochs": epochs,
        "steps": epochs * STEPS_OF_AN_EPOCH, "seconds": 1.25 * epochs, "metrics": logs,
        "started": run.name, "version": __version__, "data_hash": data_hash,
    })  # fmt: skip
    return run


def _numbers(epoch: int, pace: float) -> dict[str, float]:
    fallen = math.exp(-pace * epoch / 6)
    wave = 0.03 * math.sin(2.4 * epoch) + 0.02 * math.sin(5.1 * epoch + 1)
    return {
        "loss": 0.06 + 2.1 * fallen + wave * (0.3 + fallen),
        "accuracy": 0.985 - 0.85 * fallen - 0.2 * wave * (0.2 + fallen),
        "val_loss": 0.11 + 2.0 * fallen + 1.6 * wave * (0.3 + fallen),
        "val_accuracy": 0.968 - 0.84 * fallen - 0.4 * wave * (0.2 + fallen),
        "learning_rate": 0.002 * 0.5 * (1 + math.cos(math.pi * epoch / 40)),
    }


def given_times(task: Task, choice: str, store: PeakStore, handle: TaskHandle) -> DryRun:
    """A dry run on this machine whose clocks are replaced: each kernel takes what it moves."""
    found = dry_run(task, choice, _GivenPeaks(store), handle)
    measured = next(window.instrumented[0] for window in found.windows if window.instrumented)
    steps = tuple(_given(measured, number) for number in range(8))
    seconds = {
        "steps": 32 * 0.00118, "instrumented": sum(step.seconds for step in steps),
        "data": 0.0021, "transfers": 0.0013, "reports": 0.0009, "waiting": 0.0,
    }  # fmt: skip
    with_profile = StepWindow(32, seconds, 32 * 0.00117, 0.0, 0.0, steps)
    plain = StepWindow(32, seconds | {"instrumented": 0.0}, 32 * 0.00117, 0.0, 0.0)
    subject = replace(found.subject, device=DEVICE)
    return DryRun(subject, (with_profile, plain) * 3, found.peaks, 0.6)


class _GivenPeaks(PeakStore):
    """Peaks nobody measured, told to a store."""

    def __init__(self, told: PeakStore) -> None:
        self._told = told

    def find(self, fingerprint: str) -> Peaks:
        given = Peaks(92.0, 21.0)
        self._told._known[fingerprint] = given
        return given


def _given(measured: InstrumentedStep, number: int) -> InstrumentedStep:
    begin, events = 0.0, []
    for event in measured.profile.events:
        took = 0.8 + event.flops / 60e3 + event.traffic_bytes / 14e3
        took *= 1 + 0.02 * math.sin(event.index + number)
        events.append(replace(event, start_us=begin, duration_us=took, kernel=event.mnemonic))
        begin += took + 0.2
    profile = replace(
        measured.profile, device=DEVICE, clock="wall clock", wall_us=begin, events=tuple(events)
    )
    return InstrumentedStep(number, 0.01 * number, begin * 1.04e-6, profile)


def train_weights() -> Mapping[str, np.ndarray]:
    """Train the sample for a moment; its weights in half precision, which is enough to show."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Project.load(open_copy(SAMPLE, Path(scratch)))
        project.training = project.training.replace(epochs=_EPOCHS_TRAINED)
        task = Task.of_project(project)
        with open_backend("cpu") as opened, Trainer(task, opened.backend) as trainer:
            trainer.run()
            weights = trainer.network.read()
    return {name: np.asarray(array, np.float16) for name, array in weights.items()}


if __name__ == "__main__":
    np.savez_compressed(WEIGHTS, **train_weights())
