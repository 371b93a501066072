"""Several lengths on one session: the numbers, the weights they share, and what is given up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine import (
    Add,
    Concatenate,
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    Masking,
    MeanSquaredError,
    Model,
    Task,
    open_backend,
)
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.errors import ShapeError
from studio.engine.layers.shaping import Reshape
from studio.engine.train.data.samples import Samples
from studio.engine.train.network.evaluation import Evaluator
from studio.engine.train.network.recent_lengths import MOST_LENGTHS, RecentLengths
from studio.engine.train.network.trained import Trained
from studio.engine.train.settings import TrainingSettings
from studio.engine.train.weights import initial_weights

Floats = npt.NDArray[np.float64]
BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


def sequences(backend: str = "cpu") -> Model:
    """[None, 4] by a convolution over the steps and a global mean to two numbers."""
    x = Input((None, 4), name="tokens")
    y = Conv2D(6, (3, 1), activation="relu", name="conv")(Reshape((-1, 1, 4))(x))
    outputs = Dense(2, name="head")(GlobalAveragePooling2D()(y))
    model = Model(x, outputs, name="sequences", backend=backend, seed=3)
    model.compile("sgd", "mse")
    return model


def answers(model: Model, values: npt.NDArray[np.float32]) -> Floats:
    """What the network answers, in float64."""
    kernel, bias, head, shift = (w.astype(np.float64) for w in model.get_weights())
    x, steps = values.astype(np.float64), values.shape[1] - 2
    sums = sum(x[:, i : i + steps] @ kernel[i, 0] for i in range(3)) + bias
    mean = np.maximum(sums, 0.0).mean(axis=1)
    return np.asarray(mean @ head + shift)


def assert_right(model: Model, x: npt.NDArray[np.float32]) -> None:
    """The model's answers are those of float64."""
    found = np.asarray(model.predict(x), np.float64)
    np.testing.assert_allclose(found, answers(model, x), rtol=1e-5, atol=1e-6)


def rows(count: int, length: int, seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng((seed, length)).normal(size=(count, length, 4)).astype(np.float32)


@pytest.fixture
def model() -> Iterator[Model]:
    with sequences() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_predictions_of_several_lengths_are_those_of_float64(backend: str) -> None:
    with sequences(backend) as model:
        for length in (5, 8, 13, 5, 3):
            x = rows(7, length)
            assert_right(model, x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_losses_of_several_lengths_are_those_of_float64(backend: str) -> None:
    with sequences(backend) as model:
        for length in (5, 8, 13):
            x, y = rows(10, length), np.ones((10, 2), np.float32)
            wanted = float(((answers(model, x) - 1.0) ** 2).mean())
            assert model.evaluate(x, y, batch_size=4) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_training_of_one_length_is_used_on_others(backend: str) -> None:
    with sequences(backend) as model:
        x, y = rows(12, 6), np.ones((12, 2), np.float32)
        before = model.evaluate(x, y)
        model.fit(x, y, batch_size=4, epochs=3)
        assert model.evaluate(x, y) < before  # type: ignore[operator]
        for length in (6, 11):
            x = rows(5, length)
            assert_right(model, x)


def test_training_on_an_unknown_length_is_bit_equal_to_training_on_a_fixed_one() -> None:
    x, y = rows(12, 6), np.ones((12, 2), np.float32)
    with (
        sequences() as model,
        Model.of_graph(model.graph.bound((6,)), backend="cpu", seed=3) as other,
    ):
        other.compile("sgd", "mse")
        first, second = (m.fit(x, y, batch_size=4, epochs=3).history for m in (model, other))
        assert first == second
        for mine, theirs in zip(model.get_weights(), other.get_weights(), strict=True):
            assert mine.tobytes() == theirs.tobytes()


@contextmanager
def trained(backend: str = "cpu") -> Iterator[tuple[Trained, Model]]:
    """A network on a device, its own length 4, and a model with its weights."""
    with sequences() as model, open_backend(backend) as opened:
        task = Task(
            "sequences", model.graph.bound((4,)), TrainingSettings(),
            DataSpec((Source((4, 4)),), (Source((2,)),)), (MeanSquaredError(),),
            open_graph=model.graph,
        )  # fmt: skip
        weights = initial_weights(model.graph, 3)
        with Trained.of_weights(task, opened.backend, weights) as made:
            yield made, model


def test_weights_are_held_once_whatever_the_lengths() -> None:
    with trained() as (network, _):
        session, backend = network.network.session, network.network.backend
        network.predict(rows(2, 4))
        names, held = session.names(), backend.memory().persistent_bytes
        for length in range(5, 15):
            network.predict(rows(2, length))
        assert session.names() == names
        assert backend.memory().persistent_bytes == held


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_bounded_however_many_lengths_there_are(backend: str) -> None:
    with trained(backend) as (network, model):
        network.network.recent_lengths = RecentLengths(2)
        for length in (9, 10):
            network.predict(rows(2, length))
        device = network.network.backend
        most = device.memory().transient_bytes
        for length in (5, 6, 7, 8, 5):
            network.predict(rows(2, length))
            assert device.memory().transient_bytes <= most
        x = rows(2, 10)
        found = network.predict(x).astype(np.float64)
        np.testing.assert_allclose(found, answers(model, x), rtol=1e-5, atol=1e-6)


def test_the_lengths_used_last_are_kept() -> None:
    recent = RecentLengths()
    used = [recent.use((length,)) for length in range(MOST_LENGTHS)]
    assert used == [None] * MOST_LENGTHS
    assert recent.use((0,)) is None
    assert recent.use(()) is None
    assert recent.use((99,)) == (1,)
    assert recent.use((98,)) == (2,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_resident_data_of_lengths_that_were_given_up_is_brought_again(backend: str) -> None:
    with trained(backend) as (network, model):
        network.network.recent_lengths = RecentLengths(2)
        evaluators = {n: Evaluator(network.network) for n in (5, 6, 7)}
        samples = {n: Samples((rows(3, n),), (np.ones((3, 2), np.float32),)) for n in evaluators}
        first = {n: each.evaluate(samples[n], 2) for n, each in evaluators.items()}
        held = {name for name in network.network.session.names() if name.startswith("eval-")}
        assert held == {f"eval-{n}/{part}" for n in (6, 7) for part in ("x", "y", "order")}
        assert {n: each.evaluate(samples[n], 2) for n, each in evaluators.items()} == first
        for length, found in first.items():
            wanted = ((answers(model, rows(3, length)) - 1.0) ** 2).mean()
            assert found["loss"] == pytest.approx(wanted, rel=1e-5)


def test_arrays_that_do_not_fit_are_refused_by_name(model: Model) -> None:
    for wrong in (rows(2, 0), np.zeros((2, 5)), np.zeros((2, 5, 3)), np.zeros((2, 5, 4, 1))):
        with pytest.raises(ShapeError, match=r"\[tokens\] expected"):
            model.predict(wrong)
    with pytest.raises(ShapeError, match=r"\[conv\] .* at least 3 rows .*'tokens' \[2,4\]"):
        model.predict(rows(3, 2))
    x = rows(3, 5)
    assert_right(model, x)


def test_no_rows_give_an_empty_answer_of_the_length() -> None:
    x = Input((None, 4), name="tokens")
    with Model(x, Dense(3)(x), backend="cpu") as model:
        model.predict(rows(1, 5))
        assert np.shape(model.predict(rows(0, 7))) == (0, 7, 3)


def test_two_inputs_of_unknown_lengths() -> None:
    a, b = Input((None, 2), name="a"), Input((None, 2), name="b")
    means = [GlobalAveragePooling2D()(Reshape((-1, 1, 2))(each)) for each in (a, b)]
    with Model([a, b], Concatenate()(means), backend="cpu") as model:
        x, y = np.ones((3, 5, 2), np.float32), np.full((3, 9, 2), 2.0, np.float32)
        assert np.array_equal(model.predict([x, y]), np.tile([1, 1, 2, 2], (3, 1)))
    with Model([a, b], Add(name="sum")([a, b]), backend="cpu") as model:
        assert np.shape(model.predict([x, x])) == (3, 5, 2)
        with pytest.raises(ShapeError, match=r"\[sum\] .*'a' \[5,2\] and 'b' \[9,2\]"):
            model.predict([x, y])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_targets_and_weights_at_each_position_follow_the_length(backend: str) -> None:
    x = Input((None, 4), name="tokens")
    outputs = Dense(3, "softmax", name="tags")(Masking()(x))
    with Model(x, outputs, backend=backend, seed=1) as model:
        model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
        for length in (4, 7):
            values = rows(6, length)
            values[:, -1] = 0.0
            tags = np.random.default_rng(length).integers(0, 3, (6, length)).astype(np.int32)
            weights = np.random.default_rng(1).uniform(size=(6, length)).astype(np.float32)
            history = model.fit(values, tags, 3, 2, shuffle=False, sample_weight=weights).history
            kernel, bias = (w.astype(np.float64) for w in model.get_weights())
            found = model.evaluate(values, tags, 6, sample_weight=weights)
            logits = values @ kernel + bias
            shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
            losses = -np.log(np.take_along_axis(shares, tags[..., None], 2)[..., 0]) * weights
            assert found[0] == pytest.approx(losses[:, :-1].mean(), rel=1e-4)  # type: ignore[index]
            assert history["loss"][1] < history["loss"][0]
