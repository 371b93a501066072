"""Models in Python: Keras' words and meanings."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine import (
    Adam,
    Add,
    BatchNormalization,
    Concatenate,
    Dense,
    EarlyStopping,
    Input,
    Masking,
    Model,
    ReduceLROnPlateau,
    Sequential,
    load_iris,
)
from studio.engine.core.errors import (
    CheckpointError,
    DataError,
    GraphError,
    ParameterError,
    ShapeError,
    StudioError,
)
from studio.samples import sample_root


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    iris = load_iris()
    order = np.random.default_rng(0).permutation(len(iris))
    return iris.x[order], iris.y[order]


@pytest.fixture
def model() -> Iterator[Sequential]:
    made = Sequential([Input((4,)), Dense(12, "relu"), Dense(3, "softmax")], backend="cpu")
    made.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    with made:
        yield made


def naive(model: Model, x: np.ndarray) -> np.ndarray:
    w1, b1, w2, b2 = (w.astype(np.float64) for w in model.get_weights())
    logits = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def test_it_learns_measures_and_predicts(
    model: Sequential, table: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = table
    history = model.fit(x[:120], y[:120], batch_size=16, epochs=60, validation_split=0.1)
    assert list(history.history) == [
        "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate",
    ]  # fmt: skip
    assert history.epoch == list(range(60))
    expected = naive(model, x[120:])
    np.testing.assert_allclose(model.predict(x[120:]), expected, atol=1e-5)
    loss, accuracy = model.evaluate(x[120:], y[120:])  # type: ignore[misc]
    assert accuracy == pytest.approx((expected.argmax(1) == y[120:]).mean())
    assert loss == pytest.approx(-np.log(expected[np.arange(30), y[120:]]).mean(), rel=1e-4)
    assert accuracy > 0.9


def test_validation_split_is_the_tail_before_shuffling(
    model: Sequential, table: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = table
    start = model.get_weights()
    split = model.fit(x, y, epochs=2, validation_split=0.2).history
    model.set_weights(start)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    given = model.fit(x[:120], y[:120], epochs=2, validation_data=(x[120:], y[120:])).history
    assert split == given


def test_sample_weights_of_zero_leave_samples_out(table: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = table
    weights = (y != 2).astype(np.float32)
    found = []
    for own, labels in ((weights, y), (weights, np.where(y == 2, 0, y))):
        with Sequential([Input((4,)), Dense(3, "softmax")], backend="cpu") as model:
            model.compile("sgd", "sparse_categorical_crossentropy")
            model.fit(x, labels, epochs=2, sample_weight=own)
            found.append(model.get_weights())
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_class_weight_equals_sample_weight_by_class(table: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = table
    found = []
    for options in (
        {"class_weight": {0: 1.0, 1: 0.5, 2: 3.0}},
        {"sample_weight": np.array([1.0, 0.5, 3.0])[y]},
    ):
        with Sequential([Input((4,)), Dense(3, "softmax")], backend="cpu") as model:
            model.compile("sgd", "sparse_categorical_crossentropy")
            model.fit(x, y, epochs=2, **options)
            found.append(model.get_weights())
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_indices_and_rows_as_targets_train_the_same(table: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = table
    found = []
    for loss, targets in (
        ("sparse_categorical_crossentropy", y),
        ("sparse_categorical_crossentropy", y[:, None].astype(np.int64)),
        ("categorical_crossentropy", np.eye(3)[y]),
        ("categorical_crossentropy", y),
    ):
        with Sequential([Input((4,)), Dense(3, "softmax")], backend="cpu") as model:
            model.compile("sgd", loss, metrics=["accuracy"])
            model.fit(x, targets, epochs=2)
            found.append(model.get_weights()[0])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6, atol=1e-7)


def test_a_second_fit_goes_on_with_the_optimiser(table: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = table

    def trained(parts: list[int]) -> list[np.ndarray]:
        with Sequential([Input((4,)), Dense(3, "softmax")], backend="cpu") as model:
            model.compile("adam", "sparse_categorical_crossentropy")
            done = 0
            for epochs in parts:
                done += epochs
                model.fit(x, y, epochs=done, initial_epoch=done - epochs)
            return model.get_weights()

    for a, b in zip(trained([4]), trained([1, 3]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_weights_have_keras_order_and_layout() -> None:
    model = Sequential([Input((5,)), Dense(7), BatchNormalization(), Dense(2, use_bias=False)])
    shapes = [w.shape for w in model.get_weights()]
    assert shapes == [(5, 7), (7,), (7,), (7,), (7,), (7,), (7, 2)]
    values = [np.full(s, i, np.float32) for i, s in enumerate(shapes)]
    model.set_weights(values)
    for a, b in zip(model.get_weights(), values, strict=True):
        np.testing.assert_array_equal(a, b)
    # gamma, beta, moving mean, moving variance, as Keras lists them
    ones = Sequential([Input((5,)), BatchNormalization()]).get_weights()
    assert [float(w[0]) for w in ones] == [1.0, 0.0, 0.0, 1.0]
    with pytest.raises(CheckpointError, match="expected 7 arrays"):
        model.set_weights(values[:-1])
    with pytest.raises(ShapeError, match="kernel"):
        model.set_weights([values[0].T, *values[1:]])


def test_several_inputs_outputs_and_a_shared_layer(rng: np.random.Generator) -> None:
    left, right = Input((3,), name="left"), Input((3,), name="right")
    shared = Dense(4, "tanh", name="shared")
    joined = Concatenate()([shared(left), shared(right)])
    model = Model(
        [left, right],
        [Dense(2, "softmax", name="which")(joined), Dense(1, name="size")(joined)],
        backend="cpu",
    )
    model.compile(
        Adam(0.02),
        ["sparse_categorical_crossentropy", "mse"],
        [1.0, 0.5],
        {"which": ["accuracy"], "size": ["mae"]},
    )
    a, b = rng.normal(size=(2, 200, 3)).astype(np.float32)
    which, size = (a.sum(1) > b.sum(1)).astype(np.int32), (a + b).sum(1)
    with model:
        history = model.fit([a, b], [which, size], epochs=30, validation_split=0.1).history
        own = {"loss", "which_loss", "size_loss", "which_accuracy", "size_mean_absolute_error"}
        assert set(history) == {*own, *(f"val_{name}" for name in own), "learning_rate"}
        parts = np.array(history["which_loss"]) + 0.5 * np.array(history["size_loss"])
        np.testing.assert_allclose(history["loss"], parts, rtol=1e-5)
        assert history["loss"][-1] < history["loss"][0] / 2
        shares, sizes = model.predict([a, b])
    w, v, ws, bs, wz, bz = model.get_weights()
    hidden = np.concatenate([np.tanh(a @ w + v), np.tanh(b @ w + v)], 1)
    np.testing.assert_allclose(sizes, hidden @ wz + bz, atol=1e-4)
    logits = hidden @ ws + bs
    first = 1 / (1 + np.exp(logits[:, 1] - logits[:, 0]))
    np.testing.assert_allclose(shares[:, 0], first, atol=1e-5)


def test_sample_weights_of_zero_leave_samples_out_of_every_output(
    rng: np.random.Generator,
) -> None:
    x = rng.normal(size=(30, 3)).astype(np.float32)
    kept = np.arange(30) % 3 > 0
    which, size = (x.sum(1) > 0).astype(np.int32), x.sum(1)
    found = []
    for left_out in (0, 1):
        start = Input((3,), name="start")
        outputs = [Dense(2, "softmax", name="which")(start), Dense(1, name="size")(start)]
        with Model(start, outputs, backend="cpu") as model:
            model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
            targets = [np.where(kept, each, left_out) for each in (which, size)]
            model.fit(x, targets, epochs=2, sample_weight=kept.astype(np.float32))
            found.append(model.get_weights())
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def two_outputs() -> Model:
    start = Input((3,), name="start")
    outputs = [Dense(2, "softmax", name="which")(start), Dense(1, name="size")(start)]
    return Model(start, outputs, backend="cpu")


TWO_LOSSES = ["sparse_categorical_crossentropy", "mse"]
SIX = np.arange(18, dtype=np.float32).reshape(6, 3) / 18
TWO_TARGETS = {"which": np.array([0, 1, 1, 0, 1, 0]), "size": SIX.sum(1)}


@pytest.mark.parametrize("loss", [{"which": "sparse_categorical_crossentropy"},
                                  ["sparse_categorical_crossentropy", None]])  # fmt: skip
def test_an_output_without_a_loss_needs_no_targets(loss: object) -> None:
    which, found = TWO_TARGETS["which"], []
    for y in ({"which": which}, [which], [which, None], [which, TWO_TARGETS["size"]]):
        with two_outputs() as model:
            model.compile("adam", loss, metrics={"which": ["accuracy"]})
            before = [w.copy() for w in model.get_weights()]
            history = model.fit(SIX, y, epochs=3, batch_size=4).history
            assert set(history) == {"loss", "which_accuracy", "learning_rate"}
            found.append([history["loss"], model.evaluate(SIX, y)])
            after = model.get_weights()
            assert not np.array_equal(before[0], after[0])
            np.testing.assert_array_equal(before[2], after[2])
            assert [a.shape for a in model.predict(SIX)] == [(6, 2), (6, 1)]
    assert all(each == found[0] for each in found)


def test_metrics_of_an_output_without_targets_are_refused() -> None:
    with two_outputs() as model:
        model.compile("sgd", [*TWO_LOSSES[:1], None], metrics=[["accuracy"], ["mse"]])
        with pytest.raises(StudioError, match=r"size.*a loss or metrics need targets"):
            model.fit(SIX, [TWO_TARGETS["which"], None])


def test_weights_of_none_leave_no_trace_in_weighted_metrics() -> None:
    """Batches without any weight count for nothing, and all of them together give 0 (Keras)."""
    y, weight = [SIX[:, 0], SIX[:, 1]], np.array([0, 0, 1, 2, 0, 0], np.float32)
    start = Input((3,), name="start")
    with Model(start, Dense(1, name="size")(start), backend="cpu") as model:
        model.compile("sgd", "mse", weighted_metrics=["mae", "mse"])
        measured = model.evaluate(SIX, y[0], 2, sample_weight=weight, return_dict=True)
        said = np.abs(model.predict(SIX)[:, 0] - y[0])  # type: ignore[call-overload]
        assert isinstance(measured, dict)
        wanted = float((said * weight).sum() / weight.sum())
        assert measured["mean_absolute_error"] == pytest.approx(wanted, rel=1e-5)
        assert model.evaluate(SIX, y[0], 2, sample_weight=weight * 0) == [0.0, 0.0, 0.0]


def test_metrics_of_an_epoch_count_every_position_behind_a_mask_alike() -> None:
    """Batches with few positions that count weigh little, with and without weights (Keras)."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6, 5, 3)).astype(np.float32)
    for row, length in enumerate((1, 1, 5, 4, 5, 2)):
        x[row, length:] = 0.0
    y, weight = rng.integers(0, 2, (6, 5)), rng.uniform(0, 2, (6, 5)).astype(np.float32)
    start = Input((5, 3), name="start")
    ending = Dense(2, "softmax", name="kind")(Masking()(start))
    with Model(start, ending, backend="cpu") as model:
        loss = "sparse_categorical_crossentropy"
        model.compile("sgd", loss, metrics=["accuracy"], weighted_metrics=["accuracy"])
        found = model.evaluate(x, y, 2, sample_weight=weight, return_dict=True)
        said = model.predict(x)
    assert isinstance(said, np.ndarray)
    assert isinstance(found, dict)
    right, counts = said.argmax(-1) == y, (x != 0).any(-1)
    assert found["accuracy"] == pytest.approx(right[counts].mean(), rel=1e-5)
    weights = weight * counts
    wanted = (right * weights).sum() / weights.sum()
    assert found["weighted_accuracy"] == pytest.approx(wanted, rel=1e-5)


def test_what_was_compiled_is_saved_and_loaded(tmp_path: Path) -> None:
    with two_outputs() as model:
        model.compile("sgd", [*TWO_LOSSES[:1], None], weighted_metrics=[["accuracy"], []])
        path = model.save(tmp_path / "two")
    written = json.loads(path.read_text("utf-8"))
    assert (written["version"], written["training"]["loss"]["size"]) == (2, None)
    with Model.load(path, backend="cpu") as again:
        history = again.fit(SIX, {"which": TWO_TARGETS["which"]}).history
    assert set(history) == {"loss", "which_accuracy", "learning_rate"}


def test_the_old_order_of_compile_works_with_a_warning() -> None:
    found = []
    for arguments in ((["accuracy"], [1.0, 0.5]), ([1.0, 0.5], [["accuracy"], ["accuracy"]])):
        with two_outputs() as model:
            old = "accuracy" in arguments[0]
            with (
                pytest.warns(DeprecationWarning, match="loss_weights, metrics")
                if old
                else contextlib.nullcontext()
            ):
                model.compile("sgd", ["categorical_crossentropy", "mse"], *arguments)
            found.append(model.evaluate(SIX, [np.eye(2)[[0, 1] * 3], SIX[:, :1]], return_dict=True))
    assert found[0] == found[1]
    assert {"which_accuracy", "size_accuracy"} <= set(found[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loss": ["mse"]}, "a loss for each of which, size, got 1"),
        ({"loss": {}}, "loss: at least one of the outputs which, size needs a loss"),
        ({"loss": [None, None]}, "loss: at least one of the outputs which, size needs a loss"),
        ({"loss": {"which": "mse", "sizes": "mse"}}, "loss: the network has no output 'sizes'"),
        ({"metrics": {"what": ["mse"]}}, "metrics: the network has no output 'what'"),
        ({"metrics": [["mse"]]}, "metrics: expected a list for each of which, size, got 1"),
        ({"metrics": "mse"}, "metrics: expected a list or an object"),
        ({"loss_weights": {"what": 1.0}}, "loss_weights: the network has no output 'what'"),
        ({"loss_weights": [1.0]}, "a weight for each of which, size, got 1"),
        ({"loss_weights": [1.0, None]}, "loss_weights: expected numbers, got None"),
        ({"weighted_metrics": {"what": ["mse"]}}, "weighted_metrics: the network has no output"),
        ({"weighted_metrics": [["mse"]]}, "weighted_metrics: expected a list for each of which"),
    ],
)
def test_what_does_not_fit_the_outputs_is_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(StudioError) as caught:
        two_outputs().compile(**{"loss": "mse", **arguments})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": {"begin": SIX}}, "x: the network has no input 'begin'"),
        ({"x": {}}, "x: nothing was given for 'start'"),
        ({"y": {"which": TWO_TARGETS["which"]}}, "y: nothing was given for 'size'"),
        ({"y": [SIX[:, 0]]}, "expected 2 target arrays, got 1"),
        ({"y": [SIX[:, 0]] * 3}, "expected 2 target arrays, got 3"),
        ({"sample_weight": {"what": np.ones(6)}}, "sample_weight: the network has no output"),
        ({"sample_weight": [np.ones(6)] * 3}, "an array for each of which, size, got 3"),
        ({"sample_weight": [np.ones(6), np.ones(5)]}, "sample_weight: expected 6 numbers"),
        ({"sample_weight": [np.ones(6), -np.ones(6)]}, "numbers of at least 0"),
        ({"sample_weight": np.ones((6, 3))}, "expected 6 numbers of at least 0, got an array [6"),
        ({"sample_weight": {"size": np.float32(1)}}, "expected 6 numbers of at least 0, got"),
        ({"class_weight": {0: 1.0}}, "class_weight: only for a network with one output"),
        ({"batch_size": 0}, "batch_size: expected a whole number from 1"),
        ({"verbose": 7}, "verbose: expected 0, 1, 2"),
    ],
)
def test_arrays_that_fit_no_input_or_output_are_named(
    arguments: dict[str, object], words: str
) -> None:
    with two_outputs() as model:
        model.compile("sgd", TWO_LOSSES)
        with pytest.raises(StudioError) as caught:
            model.fit(**{"x": SIX, "y": TWO_TARGETS, **arguments})
        assert words in str(caught.value)


def test_callbacks_watch_the_numbers_of_one_output() -> None:
    with two_outputs() as model:
        model.compile("sgd", TWO_LOSSES, metrics={"size": ["mae"]})
        stop = EarlyStopping("val_size_mae", min_delta=100.0, patience=2)
        slower = ReduceLROnPlateau("val_which_loss", min_delta=100.0, patience=1, factor=0.5)
        data = ({"start": SIX}, TWO_TARGETS, {"size": np.ones(6, np.float32)})
        history = model.fit(
            SIX, TWO_TARGETS, epochs=9, callbacks=[slower, stop], validation_data=data
        )
        assert len(history.epoch) == 3
        assert history.history["learning_rate"][-1] == pytest.approx(0.005)


def test_predict_takes_a_batch_size_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    with two_outputs() as model:
        whole = model.predict(SIX)
        parts = model.predict({"start": SIX}, batch_size=4, verbose=1)
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert capsys.readouterr().err == "predict  rows 6\n"


def test_a_model_is_a_layer_of_another() -> None:
    entry = Input((4,))
    inner = Model(entry, Dense(4, "relu", name="inner")(entry), backend="cpu")
    start = Input((4,), name="start")
    outer = Model(start, Add()([inner(start), inner(inner(start))]), backend="cpu")
    assert len(outer.get_weights()) == 2
    x = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    w, b = outer.get_weights()
    once = np.maximum(x @ w + b, 0)
    with outer:
        np.testing.assert_allclose(outer.predict(x), once + np.maximum(once @ w + b, 0), atol=1e-5)


def test_a_saved_model_comes_back_with_weights_and_training(
    model: Sequential, table: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    x, y = table
    model.fit(x, y, epochs=3)
    path = model.save(tmp_path / "iris.glassbox")
    with Model.load(path, backend="cpu") as again:
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.evaluate(x, y) == model.evaluate(x, y)
        assert again.get_layer("dense").who == "dense"


@pytest.mark.slow
def test_a_model_is_exported_and_checked_as_by_the_command(
    model: Sequential, table: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    model.fit(*table, epochs=1)
    made = model.export(tmp_path / "iris.npz")
    assert made.check is not None
    assert made.check.is_same
    with np.load(made.path) as found:
        np.testing.assert_array_equal(found["dense/kernel"], model.get_weights()[0])
    with pytest.raises(ParameterError, match=r"'iris\.unknown': expected one of"):
        model.export(tmp_path / "iris.unknown")
    with pytest.raises(ParameterError, match="is for"):
        model.export(tmp_path / "iris.npz", "keras")


def test_a_saved_model_keeps_what_each_output_is_trained_by(tmp_path: Path) -> None:
    start = Input((3,), name="start")
    outputs = [Dense(2, "softmax", name="which")(start), Dense(1, name="size")(start)]
    model = Model(start, outputs, backend="cpu")
    losses = {"which": "sparse_categorical_crossentropy", "size": "mae"}
    metrics = {"which": ["accuracy"], "size": ["mse"]}
    model.compile(Adam(0.1), losses, metrics=metrics, loss_weights={"size": 0.25})
    path = model.save(tmp_path / "two.glassbox")
    with Model.load(path, backend="cpu") as again, model:
        x, y = np.eye(3, dtype=np.float32), [np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])]
        found = again.evaluate(x, y, return_dict=True)
        assert found == model.evaluate(x, y, return_dict=True)
        assert isinstance(found, dict)
        assert found["loss"] == pytest.approx(found["which_loss"] + 0.25 * found["size_loss"])
        assert set(found) == {
            "loss", "which_loss", "size_loss", "which_accuracy", "size_mean_squared_error"
        }  # fmt: skip
        assert again.save(tmp_path / "again.glassbox").read_bytes() == path.read_bytes()


def test_a_project_opens_trains_and_predicts_raw_rows() -> None:
    with Model.load(sample_root() / "iris" / "iris.glassbox", backend="cpu") as model:
        model.fit()
        found = model.evaluate(return_dict=True)
        assert isinstance(found, dict)
        assert found["accuracy"] > 0.9
        iris = load_iris()
        assert (model.predict(iris.x).argmax(1) == iris.y).mean() > 0.9  # type: ignore[union-attr]


def test_early_stopping_as_in_keras(
    model: Sequential, table: tuple[np.ndarray, np.ndarray]
) -> None:
    x, _ = table
    stop = EarlyStopping("val_loss", patience=0)
    noise = np.random.default_rng(3).integers(0, 3, 150)
    history = model.fit(x, noise, epochs=400, validation_split=0.3, callbacks=[stop])
    assert len(history.epoch) < 400


@pytest.mark.parametrize(("label", "sample"), [(-1, 0), (3, 5), (255, 39)])
def test_a_class_that_no_output_stands_for_is_named(label: int, sample: int) -> None:
    x = np.zeros((40, 4), np.float32)
    y = np.zeros(40, np.int32)
    y[sample] = label
    model = Sequential([Input((4,)), Dense(3, activation="softmax")])
    model.compile(loss="sparse_categorical_crossentropy")
    with pytest.raises(DataError, match=f"indices from 0 to 2, got {label} for sample {sample}"):
        model.fit(x, y)


def test_mistakes_are_named(model: Sequential, table: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = table
    with pytest.raises(ShapeError, match=r"expected samples \[4\], got \[3\]"):
        model.predict(x[:, :3])
    with pytest.raises(DataError, match="same number of samples"):
        model.fit(x, y[:-1])
    with pytest.raises(DataError, match="there is no data"):
        model.fit()
    with pytest.raises(DataError, match="targets"):
        model.fit(x)
    with pytest.raises(ParameterError, match="compile the model"):
        Sequential([Input((4,)), Dense(3)]).fit(x, y)
    with pytest.raises(ParameterError, match="unknown loss"):
        model.compile("adam", "crossentropy")
    with pytest.raises(GraphError, match="first layer must be Input"):
        Sequential([Dense(3)])
    a, b = Input((2,), name="a"), Input((2,), name="b")
    with pytest.raises(GraphError, match="not among the inputs"):
        Model(a, Add()([a, b]))
    with pytest.raises(ParameterError, match="output of a layer"):
        Dense(3)(x)  # type: ignore[arg-type]


def test_verbose_tells_each_epoch(
    model: Sequential, table: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    model.fit(*table, epochs=2, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:2] for line in lines] == [["epoch", "1/2"], ["epoch", "2/2"]]
    assert all("loss" in line for line in lines)
    model.fit(*table, epochs=1)
    assert capsys.readouterr().err == ""


def test_the_library_lists_its_names() -> None:
    import studio.engine

    assert {"Sequential", "Dense", "EarlyStopping"} <= set(dir(studio.engine))
