"""Runs that are resumed: nothing is lost, nothing is left over, and killed ones end the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, NumericError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.optim.optimizers import SGD
from studio.engine.train.loop import epoch_loop, recording
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock
from studio.engine.train.runs.weights_origin import origin_of_run
from tests.engine.train.small_tasks import equal_bytes, mlp, project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

STOPPING = {"patience": 2, "monitor": "val_loss", "mode": "max", "restore_best_weights": True}
"""Counts a falling loss as no improvement, and so ends a training after a few epochs."""


class Killed(BaseException):
    """Ends a training at once, as a kill would: nothing after it is written."""


def saved(folder: Path, **training: object) -> Project:
    made = project(**{"epochs": 4, **training})
    made.save(folder / "small.glassbox")
    return made


def train(
    made: Project, cpu: Backend, run: RunFolder, checkpoint: Path | Checkpoint | None = None
) -> TrainingResult:
    with Trainer(Task.of_project(made), cpu, run=run, clock=lambda: 0.0) as trainer:
        if checkpoint is not None:
            trainer.resume(checkpoint)
        return trainer.run()


def resume(made: Project, cpu: Backend, run: RunFolder) -> TrainingResult:
    last = run.last_checkpoint()
    assert last is not None
    return train(made, cpu, run, last)


def files_of(run: RunFolder) -> dict[str, bytes]:
    return {str(p.relative_to(run.path)): p.read_bytes() for p in run.path.rglob("*.*")}


def names_of(run: RunFolder) -> list[str]:
    return sorted(path.stem for path in run.checkpoints.iterdir())


def killed_before(
    made: Project, cpu: Backend, number: int, monkeypatch: pytest.MonkeyPatch
) -> RunFolder:
    """A training that is killed before it writes its checkpoint of that number, from 1."""
    run, written = RunFolder.create(made), 0
    save = Checkpoint.save

    def count(self: Checkpoint, path: Path | str) -> None:
        nonlocal written
        written += 1
        if written >= number:
            raise Killed
        save(self, path)

    def nothing(*_: object, **__: object) -> None:
        """A killed process writes no summary."""

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", count)
        patch.setattr(Trainer, "_summarise", nothing)
        with pytest.raises(Killed):
            train(made, cpu, run)
    return run


def test_a_run_with_nothing_left_to_train_stays_as_it_is(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    whole = train(made, cpu, run)
    before = files_of(run)
    for epochs in (4, 2):
        lock = RunLock(run.path)
        lock.take()
        # Nothing is written, so that the folder may be read-only, or another's.
        again = resume(made.with_training(epochs=epochs), cpu, run)
        lock.release()
        assert files_of(run) == before
        assert (again.outcome, again.steps, again.history) == (
            "finished", whole.steps, whole.history
        )  # fmt: skip


def test_a_run_killed_before_its_final_weights_is_completed(
    tmp_path: Path, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    train(made, cpu, run)
    expected = run.checkpoint_path("final").read_bytes()
    # Two checkpoints for each of the four epochs, so the ninth is the final one.
    other = killed_before(made, cpu, 9, monkeypatch)
    assert "final" not in names_of(other)
    resume(made, cpu, other)
    assert other.checkpoint_path("final").read_bytes() == expected
    summary = other.summary()
    assert (summary["state"], summary["epochs"], summary["steps"]) == ("finished", 4, 20)


@pytest.mark.slow
@pytest.mark.parametrize("stopping", [None, STOPPING])
def test_a_training_killed_at_any_checkpoint_ends_in_the_same_bytes(
    tmp_path: Path,
    cpu: Backend,
    monkeypatch: pytest.MonkeyPatch,
    stopping: dict[str, object] | None,
) -> None:
    epochs = 4 if stopping is None else 30
    made = saved(tmp_path, epochs=epochs, early_stopping=stopping)
    run = RunFolder.create(made)
    whole = train(made, cpu, run)
    ended = len(whole.epochs)
    assert whole.outcome == ("finished" if stopping is None else "early")
    expected = {name: run.checkpoint_path(name).read_bytes() for name in ("best", "final")}
    count = 0
    for number in range(2, 2 * ended + 2):
        other = killed_before(made, cpu, number, monkeypatch)
        if other.last_checkpoint() is None:
            continue
        again = resume(made, cpu, other)
        assert (again.outcome, again.reason) == (whole.outcome, whole.reason)
        found = {name: other.checkpoint_path(name).read_bytes() for name in expected}
        assert found == expected, number
        assert len(names_of(other)) == len(names_of(run))
        count += 1
    assert count >= ended


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3, 5, 9])
def test_a_training_killed_within_an_epoch_goes_on_there(
    tmp_path: Path, cpu: Backend, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Steps of their own, each behind a checkpoint.
    monkeypatch.setattr(epoch_loop, "CHUNK_SECONDS", 0.0)
    made = saved(tmp_path, epochs=2, checkpoints={"best": False})
    whole = RunFolder.create(made)
    train(made, cpu, whole)
    with monkeypatch.context() as patch:
        patch.setattr(recording, "CHECKPOINT_SECONDS", 0.0)
        killed = killed_before(made, cpu, number, patch)
    position = Checkpoint.load(killed.last_checkpoint() or "").position
    steps = 5
    # One at the end of each epoch, and one before each of its steps.
    assert (position.epoch, position.step) == divmod(number - 2, steps + 1)
    resume(made, cpu, killed)
    assert names_of(killed) == names_of(whole)
    ours, theirs = (Checkpoint.load(run.checkpoint_path("final")) for run in (killed, whole))
    assert equal_bytes(ours.tensors, theirs.tensors)
    assert killed.metrics() == whole.metrics()


def test_a_checkpoint_within_an_epoch_waits_for_ten_minutes(
    tmp_path: Path, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recording.CHECKPOINT_SECONDS == 600
    written: list[str] = []
    save = Checkpoint.save

    def noted(self: Checkpoint, path: Path | str) -> None:
        written.append(Path(path).stem)
        save(self, path)

    monkeypatch.setattr(Checkpoint, "save", noted)
    made = saved(tmp_path, epochs=1)
    train(made, cpu, RunFolder.create(made))
    assert "last" not in written
    monkeypatch.setattr(recording, "CHECKPOINT_SECONDS", 0.0)
    train(made, cpu, RunFolder.create(made))
    assert "last" in written


def test_a_bad_loss_leaves_the_last_good_place(
    tmp_path: Path, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_loop, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(recording, "CHECKPOINT_SECONDS", 0.0)
    made = saved(tmp_path, optimizer=SGD(3e38))
    run = RunFolder.create(made)
    with pytest.raises(NumericError):
        train(made, cpu, run)
    found = Checkpoint.load(run.checkpoint_path("last"))
    assert all(np.isfinite(number) for number in found.position.sums)


def test_resumes_leave_no_checkpoint_over(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path, epochs=3)
    run = RunFolder.create(made)
    train(made, cpu, run)
    for epochs in range(4, 9):
        resume(made.with_training(epochs=epochs), cpu, run)
        kept = [f"epoch-{number:04d}" for number in (epochs - 1, epochs)]
        assert names_of(run) == ["best", *kept, "final"]


def test_what_earlier_resumes_left_over_goes(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    train(made, cpu, run)
    for number in (1, 2):
        run.checkpoint_path(f"epoch-{number:04d}").write_bytes(
            run.checkpoint_path("epoch-0003").read_bytes()
        )
    resume(made.with_training(epochs=5), cpu, run)
    assert names_of(run) == ["best", "epoch-0004", "epoch-0005", "final"]


def test_the_place_of_a_stop_goes_when_the_run_has_ended(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:

        def stop(_epoch: int, _logs: object) -> None:
            trainer.control.stop()

        trainer.epoch_ended.connect(stop)
        trainer.run()
    assert "last" in names_of(run)
    resume(made, cpu, run)
    assert names_of(run) == ["best", "epoch-0003", "epoch-0004", "final"]


@pytest.mark.parametrize("changes", [{"optimizer": "adagrad"}, {}])
def test_a_resume_that_is_refused_changes_nothing(
    tmp_path: Path, cpu: Backend, changes: Mapping[str, object]
) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    train(made, cpu, run)
    before = files_of(run)
    other = project(mlp() if changes else mlp(units=9), epochs=6, **changes)
    with pytest.raises(CheckpointError, match="made for another"):
        resume(other, cpu, run)
    assert files_of(run) == before


def test_a_run_that_was_stopped_early_stays_so(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path, epochs=30, early_stopping=STOPPING)
    run = RunFolder.create(made)
    whole = train(made, cpu, run)
    before = files_of(run)
    again = resume(made, cpu, run)
    assert (again.outcome, again.reason, again.epochs) == ("early", whole.reason, whole.epochs)
    assert files_of(run) == before


def test_a_stopped_training_keeps_the_weights_that_were_put_back_too(
    tmp_path: Path, cpu: Backend
) -> None:
    made = saved(tmp_path, epochs=30, early_stopping={**STOPPING, "patience": 20})
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:

        def stop(epoch: int, _logs: object) -> None:
            if epoch == 4:
                trainer.control.stop()

        trainer.epoch_ended.connect(stop)
        result = trainer.run()
        test = trainer.evaluate()
    assert result.outcome == "stopped"
    last, origin = run.last_checkpoint(), origin_of_run(run)
    assert last == run.checkpoint_path("last")
    assert origin.file == "final.safetensors"
    assert origin.epoch < 5 == origin.ended
    assert test["loss"] == pytest.approx(run.metrics()[origin.epoch - 1]["val_loss"])
