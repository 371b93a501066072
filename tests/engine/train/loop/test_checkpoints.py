"""Checkpoints: a resumed training ends in the same bytes, and hostile files are refused."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, StudioError
from studio.engine.formats import safetensors
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.network import STATE_ROLES
from studio.engine.train.project.task import Task
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

AUGMENTED = {**DIGITS, "test_fraction": 0.9, "augment": [{"type": "Shift", "config": {}}]}
SHARDED = {"source": "spirals", "n": 140_000}


def tasks(epochs: int) -> dict[str, Task]:
    adam = {"type": "Adam", "config": {"learning_rate": 0.01}}
    return {
        "statistics, dropout, augmentation": task(
            cnn(), AUGMENTED, epochs=epochs, batch_size=32, optimizer=adam,
            early_stopping={"patience": 50, "restore_best_weights": True},
            callbacks=[{"type": "ReduceLROnPlateau", "config": {"patience": 1, "factor": 0.5}}],
        ),
        "momentum": task(
            mlp(rate=0.2), epochs=epochs,
            optimizer={"type": "SGD", "config": {"momentum": 0.9, "learning_rate": 0.05}},
        ),
    }  # fmt: skip


def state(trainer: Trainer) -> dict[str, np.ndarray]:
    return trainer.network.read(STATE_ROLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(tasks(1)))
def test_six_epochs_equal_three_and_three_resumed(name: str, cpu: Backend, tmp_path: Path) -> None:
    with Trainer(tasks(6)[name], cpu) as trainer:
        whole = trainer.run()
        expected = state(trainer)
    path = tmp_path / "half.safetensors"

    class SaveHalf(Callback):
        def on_epoch_end(self, epoch: int, logs: object) -> None:
            if epoch == 2:
                first.checkpoint().save(path)

    saver = SaveHalf()
    with Trainer(tasks(3)[name], cpu) as first:
        first.callbacks.append(saver)
        first.run()
    with Trainer(tasks(6)[name], cpu) as second:
        second.resume(path)
        resumed = second.run()
        assert equal_bytes(state(second), expected)
    assert resumed.history == whole.history
    assert resumed.steps == whole.steps


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_a_training_stopped_within_an_epoch_goes_on_at_that_step(
    cpu: Backend, tmp_path: Path, steps: int
) -> None:
    name = "statistics, dropout, augmentation"
    with Trainer(tasks(3)[name], cpu) as trainer:
        whole = trainer.run()
        expected = state(trainer)
    path = tmp_path / "stopped.safetensors"
    with Trainer(tasks(3)[name], cpu) as first:
        first.control.pause()
        future = first.start()
        first.control.step(steps)
        while first.loop_or_none() is None or first.loop.total_step < steps:
            first.control.wait(["paused"], 0.01)
        first.control.call(lambda: first.checkpoint().save(path)).result(30)
        first.control.stop()
        assert future.result(30).outcome == "stopped"
    with Trainer(tasks(3)[name], cpu) as second:
        second.resume(path)
        resumed = second.run()
        assert equal_bytes(state(second), expected)
    assert resumed.history == whole.history


@pytest.mark.slow
def test_a_streamed_training_resumes_bit_for_bit(cpu: Backend, tmp_path: Path) -> None:
    def made(epochs: int) -> Task:
        return task(mlp(), SHARDED, data_budget=1, batch_size=2000, epochs=epochs)

    with Trainer(made(2), cpu) as trainer:
        trainer.run()
        expected = state(trainer)
    with Trainer(made(2), cpu) as first:
        assert first.task.training is not None
        first.control.pause()
        future = first.start()
        first.control.step(30)
        while first.loop_or_none() is None or first.loop.total_step < 30:
            first.control.wait(["paused"], 0.01)
        saved = first.control.call(first.checkpoint).result(30)
        assert not first.loop.feeder.plan.is_resident
        first.control.stop()
        future.result(30)
    with Trainer(made(2), cpu) as second:
        second.resume(saved)
        second.run()
        assert equal_bytes(state(second), expected)


def example() -> Checkpoint:
    return Checkpoint(
        {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "a/n": np.zeros(0, np.int32)},
        Position(2, 3, 13, 48, (0.1, 1 / 3)),
        seed=7,
        batch_size=16,
        learning_rate=0.25,
        history={"epoch": [0, 1], "history": {"loss": ["0.5", "nan"]}},
        callbacks=(("EarlyStopping", {"best": 0.25, "wait": 1}),),
        callback_arrays=({"a/kernel": np.ones((2, 3), np.float32)},),
        data_hash="ab" * 32,
    )


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    example().save(path)
    found = Checkpoint.load(path)
    assert equal_bytes(dict(found.tensors), dict(example().tensors))
    assert equal_bytes(dict(found.callback_arrays[0]), dict(example().callback_arrays[0]))
    for name in ("position", "seed", "batch_size", "learning_rate", "history", "callbacks",
                 "data_hash"):  # fmt: skip
        assert getattr(found, name) == getattr(example(), name)
    first = path.read_bytes()
    found.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, "not a checkpoint"),
        ({"version": "9"}, "reads up to 1"),
        ({"state": "{}"}, "callbacks is missing"),
        ({"state": "[]"}, "must be an object"),
        ({"state": "{"}, "broken JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    path = tmp_path / "c.safetensors"
    example().save(path)
    tensors, metadata = safetensors.load(path)
    safetensors.save(path, tensors, {**metadata, **changes})
    with pytest.raises(StudioError, match=words):
        Checkpoint.load(path)


@pytest.mark.parametrize("field", ["position", "seed", "batch_size", "history", "callbacks"])
@pytest.mark.parametrize("value", [None, -1, "x", [1], True])
def test_fields_of_the_wrong_kind_are_named(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "c.safetensors"
    example().save(path)
    tensors, metadata = safetensors.load(path)
    fields = {**json.loads(metadata["state"]), field: value}
    safetensors.save(path, tensors, {**metadata, "state": json.dumps(fields)})
    with pytest.raises(CheckpointError, match="missing or of the wrong kind"):
        Checkpoint.load(path)


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.full)])
def test_mutated_checkpoints_load_or_are_refused(tmp_path: Path, count: int) -> None:
    path = tmp_path / "c.safetensors"
    example().save(path)
    original, rng = path.read_bytes(), random.Random(3)
    for _ in range(count):
        data = bytearray(original)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(StudioError):
            Checkpoint.load(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))


def test_a_checkpoint_of_another_training_is_refused(cpu: Backend) -> None:
    made = task()
    with Trainer(made, cpu) as trainer:
        trainer.run()
        found = trainer.checkpoint()
    others: list[tuple[Task, str]] = [
        (task(seed=1), "seed"),
        (task(batch_size=8), "batch size"),
        (task(data={"source": "moons", "n": 100}), "data hash"),
    ]
    for other, words in others:
        with Trainer(other, cpu) as trainer, pytest.raises(CheckpointError, match=words):
            trainer.resume(found)
    for other in (task(mlp(units=9)), task(optimizer="adagrad")):
        with Trainer(other, cpu) as trainer:
            trainer.resume(found)
            with pytest.raises(CheckpointError, match="made for another"):
                trainer.run()
