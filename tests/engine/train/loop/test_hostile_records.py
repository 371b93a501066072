"""Checkpoints and records of runs with wild values: taken, or refused in one clean sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, DataError, FormatError
from studio.engine.formats import safetensors
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.callbacks.csv_logger import CSVLogger
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import METRICS_LIMITS, RunFolder
from tests import hostile
from tests.engine.train.small_tasks import mlp, project, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend


def small(epochs: int) -> Task:
    return task(
        mlp(),
        epochs=epochs,
        optimizer={"type": "Adam", "config": {"learning_rate": 0.01}},
        early_stopping={"patience": 5, "restore_best_weights": True},
        callbacks=[{"type": "ReduceLROnPlateau", "config": {"patience": 1}}],
    )


class Stored:
    """A checkpoint after one of two epochs, to be taken apart and resumed."""

    def __init__(self, cpu: Backend, path: Path) -> None:
        self.cpu = cpu
        with Trainer(small(1), cpu) as trainer:
            trainer.run()
            trainer.checkpoint().save(path)
        self.tensors, self.metadata = safetensors.load(path)
        self.state = json.loads(self.metadata["state"])
        self.task = small(2)

    def resume(self, state: bytes | None = None, **tensors: np.ndarray) -> None:
        text = json.dumps(self.state) if state is None else state.decode("utf-8", "replace")
        content = safetensors.to_bytes(
            {**self.tensors, **tensors}, {**self.metadata, "state": text}
        )
        with Trainer(self.task, self.cpu) as trainer:
            trainer.resume(Checkpoint.load(content))
            trainer.run()


@pytest.fixture
def stored(cpu: Backend, tmp_path: Path) -> Stored:
    return Stored(cpu, tmp_path / "checkpoint.safetensors")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("history", "history", "loss"), ["text"], "history of 'loss' holds something other"),
        (("history", "history", "loss"), [None], "history of 'loss' holds something other"),
        (("history", "history", "loss"), "x", "history of 'loss' holds something other"),
        (("position", "total_step"), 2**32 - 1, "total_step is missing or of the wrong kind"),
        (("position", "total_step"), 2**31 - 1, "total_step is missing or of the wrong kind"),
        (("position", "total_step"), 10**18, "total_step is missing or of the wrong kind"),
        (("position", "sums"), ["1.0"] * 9, "do not fit its 5 steps"),
        (("position", "sums"), [1.0], "sums is missing or of the wrong kind"),
        (("position", "step"), 10**6, "do not fit its 5 steps"),
        (("position", "rows"), 10**12, "do not fit its 5 steps"),
        (("data_hash",), "\x1b[31m\n", r"made with \\x1b\[31m\\n"),
    ],
)
def test_a_wrong_value_in_a_checkpoint_is_refused_when_resumed(
    stored: Stored, path: tuple[str, ...], value: object, said: str
) -> None:
    state = hostile.changed(stored.state, path, value)
    with pytest.raises(CheckpointError, match=said):
        stored.resume(json.dumps(state).encode())


def test_best_weights_of_another_network_are_refused_before_training(stored: Stored) -> None:
    with pytest.raises(CheckpointError, match="best weights of EarlyStopping do not fit"):
        stored.resume(**{"callback/0/dense/bias": np.zeros(99, np.float32)})


@pytest.mark.slow
def test_values_of_a_checkpoint(stored: Stored) -> None:
    some = list(hostile.texts(stored.state))[::3]
    assert hostile.refusals(stored.resume, some) > 200


@pytest.mark.slow
def test_values_of_a_checkpoint_are_read_or_refused(stored: Stored) -> None:
    def load(text: bytes) -> None:
        state = {"state": text.decode("utf-8", "replace")}
        Checkpoint.load(safetensors.to_bytes({}, {**stored.metadata, **state}))

    assert hostile.refusals(load, hostile.texts(stored.state)) > 500


def test_names_a_checkpoint_did_not_write_are_not_deleted(cpu: Backend, tmp_path: Path) -> None:
    saved = project(epochs=3)
    saved.save(tmp_path / "kept.glassbox")
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.run()
        found = trainer.checkpoint()
    callbacks = tuple(
        (kind, {**state, "kept": ["final", "best", "../x", "epoch-0001"]})
        if kind == "ModelCheckpoint"
        else (kind, state)
        for kind, state in found.callbacks
    )
    assert any(kind == "ModelCheckpoint" for kind, _ in callbacks)
    longer = saved.with_training(epochs=6)
    with Trainer(Task.of_project(longer), cpu, run=run) as trainer:
        trainer.resume(Checkpoint(**{**vars(found), "callbacks": callbacks}))
        trainer.run()
    assert run.checkpoint_path("final").is_file()
    assert run.checkpoint_path("best").is_file()


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    saved: Project = project(epochs=2)
    saved.save(tmp_path / "p.glassbox")
    return RunFolder.create(saved)


def test_values_of_metrics(run: RunFolder) -> None:
    path = run.path / "metrics.jsonl"

    def load(text: bytes) -> None:
        path.write_bytes(text.replace(b"\n", b"") + b"\n")
        run.metrics()
        run.mend_metrics()

    files = hostile.texts({"epoch": 0, "loss": 1.0, "val_loss": None})
    assert hostile.refusals(load, files) > 100


def test_metrics_are_read_up_to_a_cap(run: RunFolder) -> None:
    path = run.path / "metrics.jsonl"
    path.write_bytes(b'{"epoch":0,"loss":1.0}\n' + b"x" * (METRICS_LIMITS.json_bytes + 1))
    with pytest.raises(FormatError, match="a line is too long"):
        run.metrics()
    with path.open("wb") as file:
        file.truncate(METRICS_LIMITS.file_bytes + 1)
    with pytest.raises(FormatError, match="the file is too large"):
        run.metrics()


def test_a_torn_line_is_cut_off_and_the_rest_kept(run: RunFolder) -> None:
    path = run.path / "metrics.jsonl"
    whole = b'{"epoch":0,"loss":1.0}\n' * 5000
    for torn in (b"", b"{", b'{"epoch":1,"lo'):
        path.write_bytes(whole + torn)
        run.mend_metrics()
        assert path.read_bytes() == whole
    path.write_bytes(b"{torn")
    run.mend_metrics()
    assert path.read_bytes() == b""


def test_a_log_that_is_no_text_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="cannot be appended to"):
        CSVLogger(path, append=True).on_train_begin()
