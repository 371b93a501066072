"""Which weights an answer comes from: by epoch, whatever the files' times, and said each time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio.engine.core.errors import DataError, FormatError
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import origin_of_run
from tests.engine.train.small_tasks import equal_bytes, project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend


def saved(folder: Path, **training: object) -> Project:
    made = project(**{"epochs": 4, **training})
    made.save(folder / "small.glassbox")
    return made


def trained(made: Project, cpu: Backend) -> RunFolder:
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:
        trainer.run()
    return run


def test_the_origin_names_run_file_and_epoch(tmp_path: Path, cpu: Backend) -> None:
    run = trained(saved(tmp_path), cpu)
    with Trained.of_run(run, cpu) as found:
        assert found.origin is not None
        assert found.origin.text == f"epoch 4, final.safetensors, run {run.path}"
        assert found.origin.to_json() == {
            "run": str(run.path),
            "checkpoint": str(run.checkpoints / "final.safetensors"),
            "epoch": 4,
            "step": 0,
            "imported": "",
            "notes": [],
        }


def test_times_of_files_do_not_decide(tmp_path: Path, cpu: Backend) -> None:
    run = trained(saved(tmp_path, checkpoints={"keep": 4}), cpu)
    for age, number in enumerate((4, 3, 2, 1)):
        os.utime(run.checkpoint_path(f"epoch-{number:04d}"), (1000 + age, 1000 + age))
    os.utime(run.checkpoint_path("best"), (5000, 5000))
    last = run.last_checkpoint()
    assert last == run.checkpoint_path("epoch-0004")
    (run.checkpoints / "final.safetensors").unlink()
    assert run.best_result() == run.checkpoint_path("epoch-0004")


def test_a_name_that_lies_about_its_epoch_does_not_decide(tmp_path: Path, cpu: Backend) -> None:
    run = trained(saved(tmp_path), cpu)
    shutil.copy(run.checkpoint_path("epoch-0003"), run.checkpoint_path("epoch-0009"))
    assert run.last_checkpoint() == run.checkpoint_path("epoch-0004")


def test_final_weights_of_before_are_not_the_result_of_a_run_that_went_on(
    tmp_path: Path, cpu: Backend
) -> None:
    run = trained(saved(tmp_path), cpu)
    first = run.checkpoint_path("final").read_bytes()
    task = Task.of_project(run.project()).with_settings(epochs=6)
    with Trainer(task, cpu, run=run) as trainer:
        trainer.resume(run.last_checkpoint() or "")
        trainer.run()
    run.checkpoint_path("final").write_bytes(first)
    assert origin_of_run(run).text == f"epoch 6, epoch-0006.safetensors, run {run.path}"


def test_weights_that_were_not_saved_are_missed(tmp_path: Path, cpu: Backend) -> None:
    run = trained(saved(tmp_path), cpu)
    for name in ("final", "epoch-0004", "best"):
        run.remove_checkpoint(name)
    found = origin_of_run(run)
    assert (found.epoch, found.file) == (3, "epoch-0003.safetensors")
    assert found.notes == (
        "the run recorded 4 epochs, its weights after epoch 3 were not saved",
    )  # fmt: skip


def test_weights_put_back_by_early_stopping_are_of_their_epoch(
    tmp_path: Path, cpu: Backend
) -> None:
    stopping = {"patience": 2, "monitor": "val_loss", "mode": "max", "restore_best_weights": True}
    run = trained(saved(tmp_path, epochs=9, early_stopping=stopping), cpu)
    ended = len(run.metrics())
    losses = [m["val_loss"] for m in run.metrics()]
    best = losses.index(max(losses)) + 1
    assert best < ended < 9
    found = origin_of_run(run)
    assert (found.epoch, found.ended, found.file) == (best, ended, "final.safetensors")
    assert found.trained == f"epoch {best}, the best of {ended}"
    assert found.notes == ()
    # Slots and counts are of the last epoch: a training goes on from its own weights.
    assert run.last_checkpoint() == run.checkpoint_path(f"epoch-{ended:04d}")


def test_a_damaged_checkpoint_is_left_out_and_that_is_said(tmp_path: Path, cpu: Backend) -> None:
    run = trained(saved(tmp_path), cpu)
    path = run.checkpoint_path("final")
    path.write_bytes(path.read_bytes()[:-20])
    found = origin_of_run(run)
    assert found.file == "epoch-0004.safetensors"
    assert found.notes == ("final.safetensors is damaged and was left out",)
    for other in run.checkpoints.iterdir():
        other.write_bytes(other.read_bytes()[:-20])
    with pytest.raises(FormatError):
        Trained.of_run(run, cpu)


def test_imported_weights_name_their_file(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    first = trained(made, cpu)
    run = import_weights(first.checkpoint_path("epoch-0003"), tmp_path / "small.glassbox")
    found = origin_of_run(run)
    assert found.text == (
        f"imported from epoch-0003.safetensors, final.safetensors, run {run.path}"
    )
    assert run.last_checkpoint() is None


def test_a_run_without_checkpoints_has_no_origin(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no checkpoint yet"):
        origin_of_run(RunFolder.create(saved(tmp_path)))


def test_a_network_in_memory_knows_which_file_holds_it(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:
        assert trainer.trained().origin is not None
        trainer.control.pause()
        future = trainer.start()
        trainer.control.step(3)
        while trainer.loop_or_none() is None or trainer.loop.total_step < 3:
            trainer.control.wait(["paused"], 0.01)
        begun = trainer.control.call(trainer.trained).result(60).origin
        trainer.control.resume()
        future.result(60)
        ended = trainer.trained()
        with Trained.of_run(run, cpu) as read:
            assert equal_bytes(read.weights(), ended.weights())
    assert begun is not None
    assert begun.text == f"3 steps of epoch 1, not saved, run {run.path}"
    assert ended.origin is not None
    assert ended.origin.text == f"epoch 4, final.safetensors, run {run.path}"
