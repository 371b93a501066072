"""Metrics that count: per epoch, resumed, evaluated, with several outputs, on both backends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.verify import verify
from studio.engine.core.errors import CheckpointError, ParameterError
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.optim.counted_metrics import counts_of
from studio.engine.optim.precision_recall import Precision
from studio.engine.runtime.backend import Backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.model.model import Model
from studio.engine.train.model.sequential import Sequential
from studio.engine.train.network.metrics_reader import EpochCounts
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task
from tests.engine.train.small_tasks import task

RATES = [
    "auc",
    "accuracy",
    "precision",
    "recall",
    {"type": "F1Score", "config": {"threshold": 0.5}},
    "binary_iou",
]
NAMES = ["loss", "auc", "accuracy", "precision", "recall", "f1_score", "binary_iou"]


def rows(count: int = 203) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(count, 4)).astype(np.float32)
    y = (x[:, :1] + 0.7 * rng.normal(size=(count, 1)) > 0.3).astype(np.float32)
    return x, y


def model(device: str, rate: float = 0.0) -> Sequential:
    made = Sequential([Input((4,)), Dense(1, "sigmoid")], backend=device)
    optimizer = {"type": "SGD", "config": {"learning_rate": rate}}
    made.compile(optimizer, "binary_crossentropy", metrics=RATES)
    return made


@pytest.fixture(params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
def test_an_epoch_of_uneven_batches_counts_every_row_once(device: str) -> None:
    """At a rate of 0 every epoch sees the same network: each begins at zero."""
    x, y = rows()
    made = model(device)
    history = made.fit(x, y, epochs=3, batch_size=32).history
    assert [name for name in history if name != "learning_rate"] == NAMES
    p = made.predict(x)
    guess, true = p > 0.5, y > 0
    hits = float((guess & true).sum())
    wanted = {
        "precision": hits / guess.sum(),
        "recall": hits / true.sum(),
        "f1_score": 2 * hits / (guess.sum() + true.sum()),
        "auc": (p[true][:, None] > p[~true][None]).mean(),
    }
    for name, value in wanted.items():
        # The curve has 200 points, the pairs have them all.
        assert history[name] == pytest.approx([value] * 3, abs=3e-3 if name == "auc" else 1e-6)
    evaluated = made.evaluate(x, y, batch_size=50, return_dict=True)
    assert sorted(evaluated) == sorted(NAMES)
    made.close()
    for name in NAMES[1:]:
        assert evaluated[name] == pytest.approx(history[name][-1], abs=1e-6)


@pytest.mark.slow
def test_validation_counts_for_itself(device: str) -> None:
    x, y = rows()
    made = model(device, 0.5)
    fitted = made.fit(x[:150], y[:150], epochs=2, batch_size=32, validation_data=(x[150:], y[150:]))
    last = made.evaluate(x[150:], y[150:], return_dict=True)
    made.close()
    for name in NAMES:
        assert fitted.history[f"val_{name}"][-1] == pytest.approx(last[name], abs=1e-6)
    assert fitted.history["auc"][1] > fitted.history["auc"][0]


def test_outputs_have_metrics_of_their_own() -> None:
    x, y = rows(64)
    graph = LayerGraph("two")
    inner = graph.add(Input((4,), name="in"))
    graph.outputs = (
        graph.add(Dense(1, "sigmoid", name="yes"), inner),
        graph.add(Dense(2, name="size"), inner),
    )
    made = Model.of_graph(graph, backend="cpu")
    made.compile(
        "sgd",
        ["binary_crossentropy", "mse"],
        metrics={"yes": ["precision"], "size": ["r2_score", "mae"]},
    )
    history = made.fit(x, [y, x[:, :2]], epochs=1).history
    names = [name for name in history if name != "learning_rate"]
    assert names == [
        "loss",
        "yes_loss",
        "size_loss",
        "yes_precision",
        "size_r2_score",
        "size_mean_absolute_error",
    ]


def counted(epochs: int = 2) -> Task:
    return task(
        epochs=epochs, loss="categorical_crossentropy", metrics=["recall", "f1_score", "mean_iou"]
    )


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_a_training_stopped_within_an_epoch_goes_on_counting(
    cpu: Backend, tmp_path: Path, steps: int
) -> None:
    with Trainer(counted(), cpu) as trainer:
        whole = trainer.run()
    with Trainer(counted(), cpu) as first:
        first.control.pause()
        future = first.start()
        first.control.step(steps)
        while first.loop_or_none() is None or first.loop.total_step < steps:
            first.control.wait(["paused"], 0.01)
        saved = first.control.call(first.checkpoint).result(60)
        first.control.stop()
        future.result(60)
    with Trainer(counted(), cpu) as second:
        second.resume(saved)
        assert second.run().history == whole.history
    bare = saved.tensors.keys() - {t.name for t in counts_of(Programs(counted()).program("train"))}
    damaged = replace(saved, tensors={name: saved.tensors[name] for name in bare})
    with Trainer(counted(), cpu) as third:
        third.resume(damaged)
        with pytest.raises(CheckpointError, match="train/recall/counts"):
            third.run()


def test_a_program_that_counts_reads_back_as_written(tmp_path: Path) -> None:
    for mode in ("train", "evaluate"):
        program = Programs(counted()).program(mode)
        verify(program)
        path = tmp_path / "p.gbasm"
        save_gbasm(path, program)
        assert counts_of(load_gbasm(path)) == counts_of(program)
        assert "CONFUSION" in path.read_text(encoding="utf-8")


def test_a_metric_that_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="auc takes one probability of yes"):
        Programs(task(loss="categorical_crossentropy", metrics=["auc"])).program("train")
    with pytest.raises(ParameterError, match="precision compares rows"):
        Programs(task(loss="sparse_categorical_crossentropy", metrics=["precision"])).program(
            "train"
        )


def test_counts_go_on_growing_where_the_device_wraps_around() -> None:
    program = Programs(counted()).program("train")
    counts = EpochCounts(None, program)  # type: ignore[arg-type]
    tensors = counts_of(program)
    near = (1 << 32) - 10

    def reading(right: int) -> list[np.ndarray]:
        found = [np.full(t.shape, near, np.uint32) for t in tensors]
        found[0][0, 1, 1] = right
        return [array.view(np.int32) for array in found]

    assert tensors[0].name == "train/recall/counts"
    counts.take(reading(near))
    counts.take(reading(5))
    wanted = ((1 << 32) + 5) / ((1 << 32) + 5 + near)
    assert counts.put_between({"loss": 0.0})["recall"] == pytest.approx(wanted, rel=1e-12)


def test_a_metric_says_what_it_wants() -> None:
    assert Precision(thresholds=0.7).config() == {"thresholds": 0.7}
    with pytest.raises(ParameterError):
        Precision(thresholds=1.5)
