"""Trainings whose run cannot be written: they go on, say so, and can be written later."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio import __version__
from studio.engine.core.errors import DataError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.train.small_tasks import equal_bytes, project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend


@pytest.fixture
def saved(tmp_path: Path) -> Project:
    made = project(epochs=5)
    made.save(tmp_path / "spirals.glassbox")
    return made


class FullDisk:
    """A disk that is full for a while: nothing can be flushed to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self._flush: Callable[[int], None] = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, number: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._flush(number)


class Warnings:
    """What a training warns of."""

    def __init__(self, trainer: Trainer) -> None:
        self.texts: list[str] = []
        trainer.warned.connect(self._hear)

    def _hear(self, text: str) -> None:
        self.texts.append(text)


def test_a_run_says_on_what_and_with_what_it_was_trained(saved: Project, cpu: Backend) -> None:
    run = RunFolder.create(saved)
    task = Task.of_project(saved)
    with Trainer(task, cpu, run=run) as trainer:
        trainer.run()
    summary = run.summary()
    assert summary["data_hash"] == task.data_hash
    assert summary["version"] == __version__
    assert summary["device"] == cpu.device


def test_a_run_that_is_continued_says_that_it_trains(saved: Project, cpu: Backend) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.run()
    assert run.summary()["state"] == "finished"
    states: list[object] = []
    longer = saved.with_training(epochs=7)
    with Trainer(Task.of_project(longer), cpu, run=run) as trainer:
        last = run.last_checkpoint()
        assert last is not None
        trainer.resume(last)

        def hear(_epoch: int, _logs: object) -> None:
            states.append(run.summary()["state"])

        trainer.epoch_ended.connect(hear)
        trainer.run()
    assert states == ["running", "running"]
    assert run.summary()["state"] == "finished"


def test_a_training_outlives_a_full_disk_and_is_written_whole(
    saved: Project, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        told = Warnings(trainer)

        def hear(epoch: int, _logs: object) -> None:
            disk.is_full = epoch in (1, 2)

        trainer.epoch_ended.connect(hear)
        result = trainer.run()
        weights = trainer.read_weights()
    assert result.outcome == "finished"
    assert result.unsaved is None
    assert any("disk is full" in text for text in told.texts)
    assert len(told.texts) == len(set(told.texts))
    assert [m["epoch"] for m in run.metrics()] == [0, 1, 2, 3, 4]
    assert [m["loss"] for m in run.metrics()] == result.history["loss"]
    with Trained.of_run(run, cpu) as trained:
        assert equal_bytes(trained.weights(), weights)


def test_checkpoints_that_cannot_be_written_push_out_none(
    saved: Project, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:

        def hear(epoch: int, _logs: object) -> None:
            disk.is_full = epoch >= 1

        trainer.epoch_ended.connect(hear)
        result = trainer.run()
        assert result.unsaved is not None
        names = {path.stem for path in run.checkpoints.iterdir()}
        assert {"epoch-0001", "epoch-0002"} <= names
        assert "final" not in names
        assert Checkpoint.load(run.checkpoint_path("epoch-0002")).position.epoch == 2
        error = trainer.save_again()
        assert error is not None
        assert "the disk is full" in error.message
        disk.is_full = False
        assert trainer.save_again() is None
        weights = trainer.read_weights()
    assert run.summary()["state"] == "finished"
    with Trained.of_run(run, cpu) as trained:
        assert equal_bytes(trained.weights(), weights)


def test_a_line_that_was_torn_by_a_full_disk_is_cut_off(
    saved: Project, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder.create(saved)
    append = RunFolder.append_metrics

    def tear(self: RunFolder, epoch: int, logs: dict[str, float]) -> None:
        if epoch == 1 and not (self.path / "torn").exists():
            (self.path / "torn").touch()
            with (self.path / "metrics.jsonl").open("ab") as file:
                file.write(b'{"epoch": 1, "lo')
            raise DataError("cannot be written: No space left on device", who=self.name)
        append(self, epoch, logs)

    monkeypatch.setattr(RunFolder, "append_metrics", tear)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        result = trainer.run()
    assert [m["epoch"] for m in run.metrics()] == [0, 1, 2, 3, 4]
    assert [m["loss"] for m in run.metrics()] == result.history["loss"]


def test_a_training_outlives_its_folder(saved: Project, cpu: Backend) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        told = Warnings(trainer)

        def hear(epoch: int, _logs: object) -> None:
            if epoch == 1:
                shutil.rmtree(run.path)

        trainer.epoch_ended.connect(hear)
        result = trainer.run()
    assert len(result.epochs) == 5
    assert result.unsaved is not None
    assert told.texts


def test_what_was_wrong_with_a_training_is_told_although_its_folder_is_gone(
    saved: Project, cpu: Backend
) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:

        def hear(_epoch: int, _logs: object) -> None:
            shutil.rmtree(run.path, ignore_errors=True)
            raise RuntimeError("something else")

        trainer.epoch_ended.connect(hear)
        with pytest.raises(RuntimeError, match="something else"):
            trainer.run()
