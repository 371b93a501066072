"""The numbers of every step in a run's folder, for every way to train and to end."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError, NumericError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.train.callbacks.callback import Callback, Logs
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import (
    NAME,
    RATE,
    EpochSize,
    StepChunk,
    StepLog,
    StepsContent,
    StepsHeader,
    read_steps,
)
from tests.engine.train.small_tasks import project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

SIZE = EpochSize(10, 32, 310)
METRICS = ("loss", "accuracy", RATE)
HEADER = StepsHeader(METRICS, SIZE, 1000.0)


@pytest.fixture
def saved(tmp_path: Path) -> Project:
    made = project(epochs=4)
    made.save(tmp_path / "small.glassbox")
    return made


@pytest.fixture
def run(saved: Project) -> RunFolder:
    return RunFolder.create(saved)


def numbers(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, 3)).astype(np.float32)


def content_of(folder: Path) -> StepsContent:
    found = read_steps(folder)
    assert found is not None
    return found


class Heard(Callback):
    """The numbers of every step, as a callback gets them."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.logs: list[Logs] = []

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        self.batches.append(batch)
        self.logs.append(logs)


class Warnings:
    """What a training warns of."""

    def __init__(self, trainer: Trainer) -> None:
        self.texts: list[str] = []
        trainer.warned.connect(self._hear)

    def _hear(self, text: str) -> None:
        self.texts.append(text)


# -- the file -----------------------------------------------------------------------------------


def test_a_torn_record_is_left_out_and_cut_before_going_on(run: RunFolder) -> None:
    log = StepLog(run.path, HEADER)
    log.add([StepChunk(0, numbers(10), (1000.0, 1001.0), (0.0, 1.0))])
    log.close()
    path = run.path / NAME
    path.write_bytes(path.read_bytes()[:-5])
    assert len(content_of(run.path).records) == 9
    again = StepLog(run.path, HEADER)
    again.add([StepChunk(9, numbers(3), (1002.0, 1003.0), (1.0, 2.0))])
    again.close()
    assert content_of(run.path).records["step"].tolist() == list(range(1, 13))


def test_a_file_of_another_training_is_not_written_into(run: RunFolder) -> None:
    StepLog(run.path, HEADER).close()
    with pytest.raises(FormatError, match="another training"):
        StepLog(run.path, StepsHeader(("loss",), SIZE, 1000.0))


def test_chunks_written_together_read_like_chunks_written_one_by_one(tmp_path: Path) -> None:
    chunks = [
        StepChunk(0, numbers(5), (1000.0, 1001.0), (0.0, 1.0)),
        StepChunk(5, numbers(1, 1), (1003.0, 1003.5), (1.0, 1.5)),
        StepChunk(6, numbers(4, 2), (1003.5, 1004.0), (1.5, 2.0)),
    ]
    found = []
    for name, groups in (("one", [[c] for c in chunks]), ("all", [chunks])):
        (tmp_path / name).mkdir()
        log = StepLog(tmp_path / name, HEADER)
        for group in groups:
            log.add(group)
        log.close()
        found.append(content_of(tmp_path / name).records)
    for field in ("step", "wall", "relative", "values"):
        np.testing.assert_allclose(found[0][field], found[1][field], rtol=1e-6)
    assert found[1]["wall"][4:7].tolist() == pytest.approx([1.0, 3.5, 3.625], abs=1e-5)


def test_a_file_written_before_is_read_and_continued(run: RunFolder) -> None:
    line = (
        b'{"format": "glassbox-steps", "version": 1, "metrics": ["loss", "learning_rate"], '
        b'"epoch_steps": 5, "batch": 16, "epoch_items": 80, "began": 1700000000.5, "stride": 1}\n'
    )
    records = [struct.pack("<Iffff", n, n / 4, n / 8, 1.0 / n, 0.5) for n in (1, 2, 3)]
    (run.path / NAME).write_bytes(line + b"".join(records))
    content = content_of(run.path)
    assert content.header.metrics == ("loss", RATE)
    assert content.header.size == EpochSize(5, 16, 80)
    assert content.records["relative"].tolist() == [0.125, 0.25, 0.375]
    log = StepLog(run.path, StepsHeader(("loss", RATE), EpochSize(5, 16, 80), 1.7e9))
    log.add([StepChunk(3, np.full((2, 2), 0.25, np.float32), (1.7e9 + 2, 1.7e9 + 3), (0.5, 1.0))])
    log.close()
    content = content_of(run.path)
    assert content.records["step"].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(content.records["values"][:, 0, 0], [1, 1 / 2, 1 / 3, 1 / 4, 1 / 4])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_data_error(run: RunFolder) -> None:
    log = StepLog(run.path, HEADER)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._file.fileno())
    os.close(full)
    with pytest.raises(DataError, match="No space left"):
        log.add([StepChunk(0, numbers(10), (1000.0, 1001.0), (0.0, 1.0))])
    log.close()
    assert len(content_of(run.path).records) == 0


# -- what a training writes ---------------------------------------------------------------------


def test_every_step_of_a_training_is_recorded(saved: Project, run: RunFolder, cpu: Backend) -> None:
    heard = Heard()
    with Trainer(Task.of_project(saved), cpu, run=run, callbacks=[heard]) as trainer:
        result = trainer.run()
        rows = len(trainer.loop.feeder.samples)
    content = content_of(run.path)
    assert result.steps == 4 * 5
    assert heard.batches == [0, 1, 2, 3, 4] * 4
    assert content.header.size == EpochSize(5, 16, rows)
    assert content.header.metrics == ("loss", "accuracy", RATE)
    assert content.records["step"].tolist() == list(range(1, 21))
    values = content.records["values"][:, 0]
    for column, name in enumerate(("loss", "accuracy")):
        assert [logs[name] for logs in heard.logs] == values[:, column].tolist()
    assert set(values[:, 2].tolist()) == {float(np.float32(0.001))}
    seconds = content.records["relative"]
    assert np.all(np.diff(seconds) >= 0.0)
    assert 0.0 < seconds[0] <= seconds[-1] <= result.total_seconds + 1e-3
    # The epochs' means are those of the steps, each weighted by its rows.
    weights = np.array([16, 16, 16, 16, rows - 64])
    losses = values[:, 0].reshape(4, 5)
    np.testing.assert_allclose(losses @ weights / rows, result.history["loss"], rtol=1e-6)


def test_a_resumed_training_appends_its_steps(saved: Project, run: RunFolder, cpu: Backend) -> None:
    task = Task.of_project(saved)
    with Trainer(task.with_settings(epochs=2), cpu, run=run) as trainer:
        trainer.run()
    first = (run.path / NAME).read_bytes()
    with Trainer(task, cpu, run=run) as trainer:
        trainer.resume(run.checkpoint_path("final"))
        trainer.run()
    assert (run.path / NAME).read_bytes().startswith(first)
    assert content_of(run.path).records["step"].tolist() == list(range(1, 21))
    last = (run.path / NAME).read_bytes()
    with Trainer(task, cpu, run=run) as trainer:
        trainer.resume(run.checkpoint_path("final"))
        trainer.run()
    # Nothing was left to train.
    assert (run.path / NAME).read_bytes() == last


def test_steps_up_to_a_loss_that_is_no_number_are_recorded(tmp_path: Path, cpu: Backend) -> None:
    graph = LayerGraph("unbounded")
    x = graph.add(Dense(4, "relu"), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(2), x),)
    optimizer = {"type": "SGD", "config": {"learning_rate": 1e30}}
    made = project(graph, optimizer=optimizer, loss="mse", metrics=[], epochs=5)
    made.save(tmp_path / "bad.glassbox")
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer, pytest.raises(NumericError):
        trainer.run()
    losses = content_of(run.path).records["values"][:, 0, 0]
    assert np.isfinite(losses[0])
    assert not np.isfinite(losses).all()


def test_a_training_without_a_run_makes_no_file_and_no_chunks(saved: Project, cpu: Backend) -> None:
    before = sorted(saved.path.parent.iterdir()) if saved.path else []
    with Trainer(Task.of_project(saved), cpu) as trainer:
        trainer.run()
        assert not trainer.loop.heard.has_listeners
    assert saved.path is not None
    assert sorted(saved.path.parent.iterdir()) == before


def test_a_folder_in_the_way_is_told_and_the_training_goes_on(
    saved: Project, run: RunFolder, cpu: Backend
) -> None:
    (run.path / NAME).mkdir()
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        warnings = Warnings(trainer)
        result = trainer.run()
    assert result.outcome == "finished"
    (text,) = warnings.texts
    assert text.startswith("the steps of this run are no longer recorded: ")
    assert run.summary()["state"] == "finished"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_becomes_read_only_is_told_and_the_training_goes_on(
    saved: Project, run: RunFolder, cpu: Backend
) -> None:
    run.path.chmod(0o500)
    try:
        with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
            warnings = Warnings(trainer)
            assert trainer.run().outcome == "finished"
    finally:
        run.path.chmod(0o700)
    assert any("no longer recorded: permission denied" in text for text in warnings.texts)


_CHILD = """
import resource, sys
from pathlib import Path
from studio.engine.train.loop import recording
from studio.engine.train.devices import open_backend
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.project.task import Task
from studio.engine.train.loop.trainer import Trainer
recording.WRITE_SECONDS = 0.0
made = Project.load(sys.argv[1])
run = RunFolder.create(made)
print(run.path, flush=True)
def warn(text):
    print(text, flush=True)
with open_backend("cpu") as opened:
    with Trainer(Task.of_project(made), opened.backend, run=run) as trainer:
        trainer.warned.connect(warn)
        if len(sys.argv) > 2:
            limit = int(sys.argv[2]), resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        print(trainer.run().outcome, flush=True)
"""


def child(saved: Project, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(saved.path), *words],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_a_full_disk_ends_the_recording_and_not_the_training(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    made = project(epochs=40, batch_size=2, early_stopping=None)
    made.save(tmp_path / "small.glassbox")
    out, _ = child(made, "24000").communicate(timeout=120)
    folder, *said = out.splitlines()
    assert said[-1] == "finished"
    (text,) = [line for line in said if "steps of this run" in line]
    assert text == "the steps of this run are no longer recorded: cannot be written: File too large"
    steps = content_of(Path(folder)).records["step"].tolist()
    assert steps
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.slow
def test_a_killed_training_leaves_its_steps(tmp_path: Path) -> None:
    made = project(epochs=1_000_000, early_stopping=None)
    made.save(tmp_path / "small.glassbox")
    process = child(made)
    try:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        deadline = time.monotonic() + 60
        while not (folder / NAME).is_file() or (folder / NAME).stat().st_size < 5000:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.communicate()
    content = content_of(folder)
    steps = content.records["step"].tolist()
    assert steps == list(range(1, len(steps) + 1))
    assert np.isfinite(content.records["values"]).all()
    StepLog(folder, content.header).close()
    assert len(content_of(folder).records) == len(steps)
