"""Recorded runs: what is in the folder, torn lines, stale files, folders that cannot be written."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, latest_run, list_runs
from tests.engine.train.small_tasks import equal_bytes, project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend


@pytest.fixture
def saved(tmp_path: Path) -> Project:
    made = project(epochs=4)
    made.save(tmp_path / "spirals two.glassbox")
    return made


def test_a_run_records_settings_metrics_checkpoints_and_summary(
    saved: Project, cpu: Backend
) -> None:
    run = RunFolder.create(saved, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert run.path == saved.folder / "spirals two.runs" / "2026-01-02_03-04-05"
    assert run.summary()["state"] == "running"
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        result = trainer.run()
        weights = trainer.read_weights()
    assert run.project().to_json() == saved.to_json()
    assert [m["loss"] for m in run.metrics()] == result.history["loss"]
    names = sorted(p.name for p in run.checkpoints.iterdir())
    assert names == [f"{n}.safetensors" for n in ("best", "epoch-0003", "epoch-0004", "final")]
    summary = run.summary()
    assert (summary["state"], summary["epochs"], summary["steps"]) == ("finished", 4, 20)
    assert latest_run(saved) == run
    with Trained.of_run(run, cpu) as trained:
        assert equal_bytes(trained.weights(), weights)
        assert trained.evaluate()["loss"] == pytest.approx(result.last["val_loss"])


@pytest.mark.slow
def test_a_stopped_run_is_resumed_from_its_last_step(saved: Project, cpu: Backend) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.control.pause()
        future = trainer.start()
        trainer.control.step(7)
        while trainer.loop_or_none() is None or trainer.loop.total_step < 7:
            time.sleep(0.002)
        trainer.control.stop()
        assert future.result(30).outcome == "stopped"
    last = run.last_checkpoint()
    assert last is not None
    assert last.stem == "last"
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.resume(last)
        result = trainer.run()
    assert len(result.epochs) == 4
    assert [m["epoch"] for m in run.metrics()] == [0, 1, 2, 3]
    assert run.summary()["state"] == "finished"


def test_a_resumed_run_clears_away_what_a_kill_left(saved: Project, cpu: Backend) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.run()
    checkpoint = run.checkpoint_path("epoch-0003")
    path = run.path / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:9])
    stray = run.checkpoints / ".final.safetensors.0123456789ab.tmp"
    stray.write_bytes(b"half")
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.resume(checkpoint)
        trainer.run()
    assert path.read_bytes().splitlines(keepends=True)[3] == lines[3]
    assert [m["epoch"] for m in run.metrics()] == [0, 1, 2, 3]
    assert not stray.exists()


def test_a_torn_last_line_is_left_out_and_mended(saved: Project) -> None:
    run = RunFolder.create(saved)
    for epoch in range(3):
        run.append_metrics(epoch, {"loss": 1.0 / (epoch + 1), "bad": float("nan")})
    path = run.path / "metrics.jsonl"
    whole = path.read_bytes()
    for cut in range(2, 30):
        path.write_bytes(whole[:-cut])
        assert [m["epoch"] for m in run.metrics()] == [0, 1]
    run.mend_metrics()
    run.append_metrics(2, {"loss": 5.0})
    assert [m["loss"] for m in run.metrics()] == [1.0, 0.5, 5.0]
    assert np.isnan(run.metrics()[0]["bad"])


def test_a_repeated_epoch_counts_as_last_written(saved: Project) -> None:
    run = RunFolder.create(saved)
    for epoch, loss in ((0, 3.0), (1, 2.0), (1, 1.5), (2, 1.0)):
        run.append_metrics(epoch, {"loss": loss})
    assert [m["loss"] for m in run.metrics()] == [3.0, 1.5, 1.0]


@pytest.mark.parametrize(
    "line", [b"[]", b"{}", b'{"epoch": true}', b'{"epoch": 0, "x": "y"}', b"{"]
)
def test_a_damaged_line_elsewhere_is_named(saved: Project, line: bytes) -> None:
    run = RunFolder.create(saved)
    (run.path / "metrics.jsonl").write_bytes(line + b"\n" + b'{"epoch": 1}\n')
    with pytest.raises(FormatError, match=r"metrics\.jsonl:1"):
        run.metrics()


def test_a_folder_that_cannot_be_made_is_an_error_before_training(saved: Project) -> None:
    saved.runs_path.write_text("in the way")
    with pytest.raises(DataError, match="runs cannot be recorded here"):
        RunFolder.create(saved)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_an_error_before_training(saved: Project) -> None:
    saved.folder.chmod(0o500)
    try:
        with pytest.raises(DataError, match="Permission denied"):
            RunFolder.create(saved)
    finally:
        saved.folder.chmod(0o700)


def test_two_runs_of_one_second_have_folders_of_their_own(saved: Project) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    runs = [RunFolder.create(saved, now) for _ in range(3)]
    assert len({run.path for run in runs}) == 3
    assert list_runs(saved) == runs


def test_stale_temporary_files_are_swept_and_nothing_else(saved: Project) -> None:
    run = RunFolder.create(saved)
    stale = run.checkpoints / ".epoch-0001.safetensors.0123456789ab.tmp"
    kept = [run.checkpoints / "mine.tmp", run.checkpoints / ".hidden"]
    for path in (stale, *kept):
        path.write_text("x")
    os.utime(stale, (1, 1))
    RunFolder.create(saved)
    assert not stale.exists()
    assert all(path.exists() for path in kept)


@pytest.mark.parametrize("name", ["../final", "epoch-1", "best/x", "", "epoch-0001.safetensors"])
def test_only_checkpoint_names_become_paths(saved: Project, name: str) -> None:
    with pytest.raises(DataError, match="there is no checkpoint"):
        RunFolder.create(saved).checkpoint_path(name)


def test_a_damaged_summary_reads_as_none(saved: Project) -> None:
    run = RunFolder.create(saved)
    (run.path / "summary.json").write_text(json.dumps([1])[:-1])
    assert run.summary() == {}


def test_checkpoints_that_vanish_while_they_are_listed_are_passed_over(
    saved: Project, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.run()
    for name in ("final", "best"):
        run.remove_checkpoint(name)
    gone = run.checkpoints / "epoch-0004.safetensors"
    found = run._files()
    assert gone in found
    gone.unlink()
    monkeypatch.setattr(RunFolder, "_files", lambda _: found)
    last = run.last_checkpoint()
    assert last is not None
    assert last.stem == "epoch-0003"
