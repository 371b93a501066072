"""Training on batches of different lengths: as Keras 3.15.1 recorded, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studio.engine
from studio.engine import SGD, Dense, Input, Model
from studio.engine.core.errors import DataError, ShapeError
from studio.engine.layers.summary import summarize
from studio.engine.train.network.recent_lengths import MOST_LENGTHS
from tests.recorded.lengths.cases import CASES, EPOCHS, TOLERANCE, Array, Case, start

RECORDED = json.loads(
    (Path(__file__).parents[3] / "recorded" / "lengths" / "keras.json").read_text("utf-8")
)
BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


class Batches:
    """Batches as Keras' ``PyDataset`` gives them."""

    def __init__(self, batches: list[tuple[Array, Array]]) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        return self._batches[index]


def built(case: Case, backend: str = "cpu") -> Model:
    """The model with the weights the recording began with, compiled."""
    model = Model.of_graph(case.build(studio.engine).graph, backend=backend)
    weights = start([w.shape for w in model.get_weights()])
    model.set_weights([w.astype(np.float32) for w in weights])
    model.compile(SGD(0.05, momentum=0.9), **case.compile)
    return model


def numbers(measured: object) -> list[float]:
    """What evaluate gives as a list."""
    return measured if isinstance(measured, list) else [measured]  # type: ignore[list-item]


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_batches_of_different_lengths_train_as_in_keras(name: str, backend: str) -> None:
    case, recorded = CASES[name], RECORDED[name]
    with built(case, backend) as model:
        shapes = [list(row.output) for row in summarize(model.graph).rows]
        assert shapes == recorded["shapes"]
        history = model.fit(Batches(case.data()), epochs=EPOCHS, shuffle=False).history
        measured = numbers(model.evaluate(Batches(case.data())))
        for metric, values in recorded["history"].items():
            if case.padded and metric != "loss":
                # Keras on JAX loses the mask of metrics while it trains; evaluate has it.
                continue
            np.testing.assert_allclose(history[metric], values, rtol=TOLERANCE, err_msg=metric)
        np.testing.assert_allclose(measured, recorded["evaluate"], rtol=TOLERANCE)
        for found, wanted in zip(model.get_weights(), recorded["weights"], strict=True):
            values = found.astype(np.float64).ravel()
            np.testing.assert_allclose(values, wanted, rtol=2e-4, atol=2e-5)


def test_a_list_and_an_iterator_of_batches_train_like_a_data_set() -> None:
    case = CASES["sequence"]
    losses = []
    for given in (Batches(case.data()), case.data(), iter(case.data())):
        with built(case) as model:
            losses.append(model.fit(given, epochs=2, shuffle=False).history["loss"])
    assert losses[0] == losses[1] == losses[2]


def test_shuffling_mixes_the_batches_and_every_row_counts_once() -> None:
    case = CASES["sequence"]
    with built(case) as model:
        measured = model.evaluate(case.data())
        model.compile(SGD(0.0), "mse")
        for loss in model.fit(case.data(), epochs=2).history["loss"]:
            assert loss == pytest.approx(measured, rel=1e-6)
    steps: list[list[float]] = []
    for shuffle in (False, True):
        told: list[float] = []
        with built(case) as model:
            model.compile(SGD(0.0), "mse")
            model.fit(case.data(), shuffle=shuffle, callbacks=[Steps(told)])
        steps.append(told)
    assert steps[0] != steps[1]
    assert sorted(steps[0]) == sorted(steps[1])


class Steps(studio.engine.Callback):
    """Notes the loss of every step."""

    def __init__(self, told: list[float]) -> None:
        super().__init__()
        self._told = told

    def on_train_batch_end(self, batch: int, logs: Any) -> None:
        self._told.append(logs["loss"])


def samples(case: Case) -> list[Array]:
    """The rows of all batches one by one."""
    return [row for x, _ in case.data() for row in x]


def test_single_samples_are_grouped_by_length() -> None:
    case = CASES["sequence"]
    x, y = samples(case), np.concatenate([y for _, y in case.data()])
    with built(case) as model:
        measured = model.evaluate(case.data())
        assert model.evaluate(x, y, batch_size=3) == pytest.approx(measured, rel=1e-6)
        objects = np.empty(len(x), object)
        objects[:] = x
        assert model.evaluate(objects, y) == pytest.approx(measured, rel=1e-6)
        found = np.concatenate([np.asarray(model.predict(batch)) for batch, _ in case.data()])
        np.testing.assert_allclose(np.asarray(model.predict(x)), found, rtol=1e-5, atol=1e-6)
        before = model.fit(x, y, 3, epochs=6, sample_weight=np.ones(len(x))).history["loss"]
        assert before[-1] < before[0]


def test_outputs_of_different_lengths_are_a_list() -> None:
    case = CASES["tags"]
    x = samples(case)
    with built(case) as model:
        found = model.predict(x)
        assert isinstance(found, list)
        assert [np.shape(each) for each in found] == [(len(row), 3) for row in x]
        for row, answer in zip(x, found, strict=True):
            alone = np.asarray(model.predict(row[np.newaxis]))[0]
            np.testing.assert_allclose(np.asarray(answer), alone, rtol=1e-5)
        targets = [y for _, own in case.data() for y in own]
        losses = [
            -np.log(np.asarray(p)[range(len(t)), t]) for p, t in zip(found, targets, strict=True)
        ]
        # The batches are all samples of a length, so that what a mask leaves out counts the same.
        by_length: dict[int, list[int]] = {}
        for index, row in enumerate(x):
            by_length.setdefault(len(row), []).append(index)
        total = 0.0
        for indices in by_length.values():
            counts = np.array([(x[i] != 0).any(axis=1) for i in indices])
            own = np.array([losses[i] for i in indices])
            total += len(indices) * own[counts].sum() / counts.sum()
        assert numbers(model.evaluate(x, targets))[0] == pytest.approx(total / len(x), rel=1e-5)


def test_validation_may_have_other_lengths() -> None:
    case = CASES["sequence"]
    (x, y), *others = case.data()
    with built(case) as model:
        history = model.fit(x, y, validation_data=others, epochs=2).history
        assert history["val_loss"][-1] == pytest.approx(model.evaluate(others), rel=1e-6)
        history = model.fit(case.data(), validation_data=(x, y)).history
        assert history["val_loss"][-1] == pytest.approx(model.evaluate(x, y), rel=1e-6)


@pytest.mark.slow
def test_more_lengths_than_are_kept_train_all_the_same() -> None:
    case = CASES["sequence"]
    rng = np.random.default_rng(0)
    batches = [
        (rng.normal(size=(2, n, 4)).astype(np.float32), np.ones((2, 2), np.float32))
        for n in range(3, 6 + MOST_LENGTHS)
    ]
    with built(case) as model:
        model.compile(SGD(0.0), "mse")
        answers = [np.asarray(model.predict(x), np.float64) for x, _ in batches]
        wanted = np.mean([((found - 1.0) ** 2).mean() for found in answers])
        for loss in model.fit(batches, epochs=2).history["loss"]:
            assert loss == pytest.approx(wanted, rel=1e-5)


def empty() -> Iterator[tuple[Array, Array]]:
    yield from ()


def test_wrong_batches_are_refused_in_a_sentence() -> None:
    case = CASES["sequence"]
    (x, y), *_ = case.data()
    with built(case) as model:
        for wrong, message in (
            (empty(), "expected batches, got none"),
            ([(x, y), (x,)], r"expected batches \(x, y\) or \(x, y, weights\), batch 1"),
            (Batches([x, x]), "batch 0 is ndarray"),  # type: ignore[list-item]
            ([(x, y), (x, y[:, 0])], "differs from the first"),
            ([(x, y), (x, y[:3])], "the same number of samples"),
        ):
            with pytest.raises(DataError, match=message):
                model.fit(wrong)
        with pytest.raises(ShapeError, match=r"\[conv\] .*'tokens' \[2,4\]"):
            model.fit([(x, y), (x[:, :2], y)])
        with pytest.raises(ShapeError, match=r"\[tokens\] expected samples \[None,4\]"):
            model.fit([*x, x[0][:, :3]], np.zeros((5, 2)))
        single = [*x, x[0][:4]]
        for targets, weights in ((y, None), (np.zeros((6, 2)), None), (np.zeros((5, 2)), [1.0])):
            with pytest.raises(DataError, match=r"expected 5 entries, one for each sample, got"):
                model.fit(single, targets, sample_weight=weights)
        with pytest.raises(DataError, match="samples of one length to take a part of"):
            model.fit(case.data(), validation_split=0.2)
        assert np.isfinite(model.fit(case.data()).history["loss"][0])


def test_ragged_lists_and_targets_are_refused_in_a_sentence() -> None:
    x = Input((None, 4), name="tokens")
    with Model(x, Dense(2)(x), backend="cpu") as model:
        model.compile("sgd", "mse")
        samples = [np.zeros((length, 4)) for length in (3, 5, 5)]
        with pytest.raises(DataError, match=r"\[tokens\] .* got rows of different lengths"):
            model.predict([each.tolist() for each in samples])
        targets = [np.zeros((length, 2)) for length in (3, 5, 6)]
        with pytest.raises(DataError, match=r"\[y\] expected entries of one shape"):
            model.fit(samples, targets)
        with pytest.raises(DataError, match=r"\[targets\] .* got rows of different lengths"):
            model.fit(np.zeros((3, 5, 4)), [each.tolist() for each in targets])
        with pytest.raises(DataError, match="sample_weight: expected an array of 3 numbers"):
            model.fit(*np.zeros((2, 3, 5, 4)), sample_weight=[[1], [2, 3], [4]])
        with pytest.raises(DataError, match=r"\[y\] expected entries of one shape"):
            model.fit(samples, tuple(targets))


def test_a_network_of_fixed_lengths_takes_batches_too() -> None:
    with Model(x := Input((3,)), Dense(2)(x), backend="cpu") as model:
        model.compile("sgd", "mse")
        batch = (np.ones((4, 3), np.float32), np.ones((4, 2), np.float32))
        assert len(model.fit([batch, batch], epochs=2).history["loss"]) == 2
