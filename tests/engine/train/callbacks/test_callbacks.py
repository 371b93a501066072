"""Callbacks against what Keras 3 documents, and against sequences worked out by hand."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.csv_logger import CSVLogger
from studio.engine.train.callbacks.early_stopping import EarlyStopping
from studio.engine.train.callbacks.learning_rate import LearningRateScheduler, ReduceLROnPlateau
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint


class Stage:
    """A training that only counts: its weights are the number of the epoch."""

    def __init__(self) -> None:
        self.epochs = 100
        self.learning_rate = 1.0
        self.stopped = False
        self.weights: dict[str, np.ndarray] = {}
        self.files: list[str] = []
        self.said: list[str] = []

    def set_learning_rate(self, rate: float) -> None:
        self.learning_rate = rate

    def stop_training(self, reason: str = "") -> None:
        self.stopped = True

    def read_weights(self) -> dict[str, np.ndarray]:
        return dict(self.weights)

    def write_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        self.weights = dict(weights)

    def save_checkpoint(self, name: str) -> str:
        self.files = [*(f for f in self.files if f != name), name]
        return name

    def remove_checkpoint(self, name: str) -> None:
        self.files.remove(name)

    def say(self, text: str) -> None:
        self.said.append(text)


def play(
    callback: Callback, values: list[float], name: str = "val_loss", first: int = 0
) -> tuple[Stage, int]:
    """Feed one value per epoch until the callback stops; the stage and the epochs played."""
    stage = Stage()
    callback.set_training(stage)
    callback.on_train_begin()
    played = 0
    for epoch, value in enumerate(values, first):
        stage.weights = {"w": np.array([float(epoch)])}
        callback.on_epoch_begin(epoch)
        callback.on_epoch_end(epoch, {name: value, "loss": value})
        played += 1
        if stage.stopped:
            break
    callback.on_train_end()
    return stage, played


@pytest.mark.parametrize(
    ("options", "values", "played", "best"),
    [
        ({"patience": 2}, [5, 4, 3, 3, 3, 1], 5, 2),
        ({"patience": 0}, [5, 4, 4, 1], 3, 1),
        ({"patience": 2, "min_delta": 0.5}, [5, 4.8, 4.6, 4.4], 3, 0),
        ({"patience": 1, "mode": "max"}, [1, 2, 3, 3], 4, 2),
        ({"patience": 1, "monitor": "val_accuracy"}, [0.1, 0.5, 0.4], 3, 1),
        ({"patience": 2, "baseline": 3.0}, [5, 4, 3.5, 3.5, 1], 4, 2),
        ({"patience": 2, "start_from_epoch": 3}, [1, 2, 3, 9, 8, 8, 8], 7, 4),
        ({"patience": 3}, [float("nan")] * 6, 3, 0),
    ],
)
def test_early_stopping_stops_when_keras_would(
    options: dict[str, object], values: list[float], played: int, best: int
) -> None:
    callback = EarlyStopping(restore_best_weights=True, **options)
    stage, count = play(callback, values, str(options.get("monitor", "val_loss")))
    assert count == played
    assert stage.weights["w"] == [best]


def test_early_stopping_names_what_there_is_to_watch() -> None:
    with pytest.raises(ParameterError, match="expected one of") as caught:
        play(EarlyStopping(monitor="val_f1"), [1.0])
    assert "validation" in caught.value.hint


def test_early_stopping_goes_on_from_its_state() -> None:
    values = [5.0, 4.0, 4.5, 4.4, 4.3, 1.0]
    whole = EarlyStopping(patience=3, restore_best_weights=True)
    stage, count = play(whole, values)
    first = EarlyStopping(patience=3, restore_best_weights=True)
    play(first, values[:3])
    second = EarlyStopping(patience=3, restore_best_weights=True)
    again = Stage()
    again.weights = {"w": np.array([0.0])}
    second.set_training(again)
    second.on_train_begin()
    second.restore(first.state(), first.arrays())
    left = 0
    for epoch, value in enumerate(values[3:], 3):
        again.weights = {"w": np.array([float(epoch)])}
        second.on_epoch_end(epoch, {"val_loss": value})
        left += 1
        if again.stopped:
            break
    second.on_train_end()
    assert (3 + left, again.weights["w"]) == (count, stage.weights["w"])


def test_plateau_lowers_the_rate_and_rests() -> None:
    options = {"factor": 0.5, "patience": 2, "cooldown": 2, "min_lr": 0.2}
    rates = [play(ReduceLROnPlateau(**options), [1.0] * n)[0].learning_rate for n in range(1, 13)]
    # epoch 0 is the best; 1 and 2 wait; lowered at 2; 3 rests, 4 rests and waits … lowered again.
    assert rates[:3] == [1.0, 1.0, 0.5]
    assert rates[3] == 0.5
    assert sorted(set(rates), reverse=True) == [1.0, 0.5, 0.25, 0.2]
    assert rates.index(0.25) - rates.index(0.5) == 3


def test_scheduler_sets_the_rate_of_each_epoch() -> None:
    seen = []

    def schedule(epoch: int, rate: float) -> float:
        seen.append((epoch, rate))
        return rate / 2

    stage, _ = play(LearningRateScheduler(schedule), [1.0] * 3)
    assert seen == [(0, 1.0), (1, 0.5), (2, 0.25)]
    assert stage.learning_rate == 0.125
    with pytest.raises(ParameterError, match="the schedule must give"):
        play(LearningRateScheduler(lambda *_: None), [1.0])  # type: ignore[arg-type,return-value]


def test_checkpoints_rotate_and_keep_the_best() -> None:
    stage, _ = play(ModelCheckpoint(keep=2), [3.0, 1.0, 2.0, 2.0])
    assert stage.files == ["best", "epoch-0003", "epoch-0004"]
    stage, _ = play(ModelCheckpoint(every=2, keep=3, best=False), [1.0] * 5)
    assert stage.files == ["epoch-0002", "epoch-0004"]


def test_log_is_a_table_that_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    play(CSVLogger(path), [0.5, 0.25])
    play(CSVLogger(path, append=True), [0.125], first=2)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(r["epoch"], float(r["loss"]), float(r["val_loss"])) for r in rows] == [
        ("0", 0.5, 0.5), ("1", 0.25, 0.25), ("2", 0.125, 0.125),
    ]  # fmt: skip
    with pytest.raises(DataError, match="log cannot be written"):
        play(CSVLogger(tmp_path / "none" / "log.csv"), [1.0])
