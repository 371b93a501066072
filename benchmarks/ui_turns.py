"""A training beside the window and the same without one, in processes that take turns.

Each process trains the same project; all but one are stopped, and after every turn another is let
go on. So what a window costs by being there is seen too, and each turn is compared with one a
second away. Whole epochs are timed. Needs a system that can stop processes (not Windows).

    xvfb-run -a -s "-screen 0 1920x1200x24" python -m benchmarks.ui_turns
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.ui_probes import mean_and_error, whole_epochs
from benchmarks.ui_window import OpenWindow, project_copy
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

KINDS = ("bare", "default", "quiet")
PATIENCE = 120.0
WARM_EPOCHS = 30


class Ends:
    """Writes when each epoch of a training ended, on the clock that all processes share."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="ascii", buffering=1)

    def note(self, _epoch: int, _numbers: Mapping[str, float]) -> None:
        """An epoch has ended just now."""
        self._file.write(f"{time.perf_counter()}\n")


def train_alone(project: Path, backend: str, ends: Ends) -> None:
    """Train, recorded as in the studio, until the process ends."""
    loaded = Project.load(project)
    run = RunFolder.create(loaded)
    task = Task.of_project(loaded)
    with open_backend(backend) as opened, Trainer(task, opened.backend, run=run) as trainer:
        trainer.epoch_ended.connect(ends.note)
        trainer.start().result()


def train_in_a_window(project: Path, backend: str, ends: Ends, *, quiet: bool) -> None:
    """Train in the studio until the process ends."""
    window = OpenWindow(project, backend, project.parent / "places")
    window.start_training()
    trainer = window.studio.training.trainer
    assert trainer is not None
    trainer.epoch_ended.connect(ends.note)
    window.studio.profiling.set_quiet(quiet)
    while window.studio.training.is_busy:
        window.spin(1.0)


class Contender:
    """A process that trains while it is its turn.

    Args:
        kind: ``bare``, ``default`` or ``quiet``.
        backend: where it trains.
        project: a sample project.
        folder: for its files.
    """

    def __init__(self, kind: str, backend: str, project: str, folder: Path) -> None:
        self._ends = folder / "ends.txt"
        path = project_copy(project, folder / "project")
        command = [sys.executable, "-m", "benchmarks.ui_turns", "--be", kind, str(path)]
        self._process = subprocess.Popen([*command, "--backends", backend, "--ends", self._ends])

    def __enter__(self) -> Self:
        end = time.monotonic() + PATIENCE
        while len(self._read()) < WARM_EPOCHS:
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                raise RuntimeError("a training did not get under way")
            time.sleep(0.1)
        self._process.send_signal(signal.SIGSTOP)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

    def turn(self, seconds: float) -> list[float]:
        """Let it train for a while; seconds of each whole epoch."""
        begun = time.perf_counter()
        self._process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGSTOP)
        return whole_epochs(self._read(), begun, time.perf_counter())

    def _read(self) -> list[float]:
        text = self._ends.read_text(encoding="ascii") if self._ends.exists() else ""
        return [float(line) for line in text.split("\n")[:-1]]


def measure(backend: str, project: str, rounds: int, seconds: float) -> None:
    """Take turns and print the table."""
    order, kept = random.Random(0), []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        made = {
            kind: stack.enter_context(Contender(kind, backend, project, Path(folder) / kind))
            for kind in KINDS
        }
        for _ in range(rounds):
            turn = {kind: made[kind].turn(seconds) for kind in order.sample(KINDS, len(KINDS))}
            if all(turn.values()):
                kept.append({kind: sum(each) / len(each) for kind, each in turn.items()})
    for kind in KINDS:
        slower, error = mean_and_error([math.log(each[kind] / each["bare"]) for each in kept])
        epoch, _ = mean_and_error([1e3 * each[kind] for each in kept])
        print(f"| {backend} | {kind} | {epoch:.1f} ms an epoch | {slower:.1%} ± {error:.1%} |")
    print(f"{len(kept)} rounds", flush=True)


def main() -> None:
    """Take turns, or be one of those that do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="cpu,gl", help="comma-separated: cpu, gl")
    parser.add_argument("--project", default="digits-cnn", help="a sample project")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn")
    parser.add_argument("--be", nargs=2, metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--ends", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.be is None:
        for backend in given.backends.split(","):
            measure(backend, given.project, given.rounds, given.seconds)
        return
    kind, path, ends = given.be[0], Path(given.be[1]), Ends(given.ends)
    if kind == "bare":
        train_alone(path, given.backends, ends)
    else:
        train_in_a_window(path, given.backends, ends, quiet=kind == "quiet")


if __name__ == "__main__":
    main()
