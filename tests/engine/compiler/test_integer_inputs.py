"""Inputs of whole numbers: no float on the way, on either backend."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import (
    SGD,
    Add,
    Concatenate,
    Dense,
    Flatten,
    Input,
    Model,
    Multiply,
    Rescaling,
    Reshape,
    ZeroPadding2D,
)
from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_augment import Flip
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, DataError, ParameterError, ShapeError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.symbol import Symbol

BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))
LARGE = 2**24 + 1
"""The first whole number that float32 cannot hold."""


def fed(model: Model, program: Program) -> list[tuple[str, str]]:
    return [(program.tensors[i].name, program.tensors[i].dtype.name) for i in program.inputs]


def tokens() -> Symbol:
    return Input((2, 3), name="tokens", dtype="int32")


def scored(x: Symbol, **options: object) -> Model:
    return Model(x, Dense(2, name="scores")(Rescaling(0.5)(Flatten()(x))), **options)


def test_an_input_of_whole_numbers_says_so_in_files_and_in_the_listing() -> None:
    x = tokens()
    assert (x.type, repr(x)) == (
        TensorType.of_batch((2, 3), DType.int32), "<output int32[N, 2, 3] of tokens>",
    )  # fmt: skip
    model = scored(x)
    document = graph_to_json(model.graph)
    assert document["nodes"][0]["config"] == {"name": "tokens", "shape": [2, 3], "dtype": "int32"}
    assert graph_to_json(graph_from_json(document)) == document
    program = lower(model.graph, "infer")
    assert fed(model, program) == [("tokens/output", "int32")]
    assert [i.mnemonic for i in program.section("forward")] == [
        "FLATTEN", "CAST", "SCALE", "LINEAR",
    ]  # fmt: skip
    assert " ".join(model.summary().split()).count("tokens (Input) int32[N, 2, 3] 0") == 1


def test_an_input_of_floats_is_written_as_before() -> None:
    plain = graph_to_json(Model(x := Input((3,), name="x"), Dense(1)(x)).graph)
    assert plain["nodes"][0]["config"] == {"name": "x", "shape": [3]}
    with pytest.raises(ParameterError, match="dtype: expected one of float32, int32, got 'int64'"):
        Input((3,), dtype="int64")


def test_layers_that_compute_refuse_whole_numbers_and_those_that_move_take_them() -> None:
    x = tokens()
    flat = Flatten()(x)
    with pytest.raises(ShapeError, match=r"\[scores\] expected values of float32, got int32") as at:
        Dense(2, name="scores")(flat)
    assert "Rescaling(1.0)" in at.value.hint
    assert Reshape((6,))(x).dtype is DType.int32
    with pytest.raises(ShapeError, match=r"\[both\] expected inputs of one dtype, got int32"):
        Concatenate(name="both")([flat, Input((6,))])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_whole_numbers_are_moved_without_a_float_on_the_way(backend: str) -> None:
    x = Input((2, 3, 1), dtype="int32")
    wide = ZeroPadding2D(1)(x)
    rows = Concatenate()([Flatten()(wide), Flatten()(x)])
    values = np.array([LARGE, -LARGE, 3, 2**31 - 1, -(2**31), 0], np.int32).reshape(1, 2, 3, 1)
    with Model(x, rows, backend=backend) as model:
        found = model.predict(values)
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0))).reshape(1, 20)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.concatenate([padded, values.reshape(1, 6)], 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_whole_numbers_are_added_and_multiplied_exactly(backend: str) -> None:
    left, right = (Input((3,), name=name, dtype="int32") for name in ("left", "right"))
    a, b = (np.array([row], np.int32) for row in ([LARGE, -LARGE, 46341], [2, 3, -46340]))
    outputs = [Add()([left, right]), Multiply()([left, right])]
    assert [each.dtype for each in outputs] == [DType.int32] * 2
    with Model([left, right], outputs, backend=backend) as model:
        total, product = model.predict([a, b])
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(product, a * b)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("stored", [np.int32, np.uint8, np.int64, np.bool_, np.float64])
def test_a_network_learns_from_whole_numbers(
    backend: str, stored: type[np.generic], rng: np.random.Generator
) -> None:
    values = rng.integers(0, 2, (12, 2, 3)).astype(stored)
    targets = rng.normal(size=(12, 2)).astype(np.float32)
    with scored(tokens(), backend=backend) as model:
        kernel, bias = (w.astype(np.float64) for w in model.get_weights())
        model.compile(SGD(0.1), "mse")
        history = model.fit(values, targets, batch_size=12, epochs=2, shuffle=False).history
        predicted = model.predict(values)
    flat, losses = values.reshape(12, 6).astype(np.float64) * 0.5, []
    for _ in range(2):
        error = flat @ kernel + bias - targets
        losses.append((error**2).mean())
        kernel = kernel - 0.1 * flat.T @ (2 * error / error.size)
        bias = bias - 0.1 * (2 * error / error.size).sum(0)
    np.testing.assert_allclose(history["loss"], losses, rtol=1e-5)
    np.testing.assert_allclose(predicted, flat @ kernel + bias, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("value", [0.5, 3e9])
def test_numbers_that_are_no_int32_are_refused_by_the_name_of_the_input(value: float) -> None:
    message = r"\[tokens\] expected values that int32 can hold, got float32"
    with scored(tokens(), backend="cpu") as model, pytest.raises(DataError, match=message):
        model.predict(np.full((1, 2, 3), value))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (DataSpec((Source((2, 3)),)), "expected whole numbers, got float32"),
        (DataSpec((Source((2, 3), DType.uint8, (0.5,), (0.0,)),)), "got normalised ones"),
        (DataSpec((Source((2, 3), DType.uint8),), augment=(Flip(),)), "got augmented ones"),
    ],
)
def test_a_data_section_does_not_make_fractions(spec: DataSpec, message: str) -> None:
    graph = scored(tokens()).graph
    with pytest.raises(CompileError, match=rf"\[tokens\] .*{message}"):
        lower(graph, "train", loss="mse", data=DataSpec(
            spec.inputs, (Source((2,)),), augment=spec.augment,
        ))  # fmt: skip


def test_bytes_become_whole_numbers_in_the_data_section() -> None:
    spec = DataSpec((Source((2, 3), DType.uint8),), (Source((2,)),))
    program = lower(scored(tokens()).graph, "train", loss="mse", data=spec)
    assert [i.mnemonic for i in program.section("data")[:2]] == ["GATHER_BATCH", "CAST"]
    assert program.section("data")[1].value("dtype") == "int32"
    assert program.tensors.named("tokens/output").dtype is DType.int32


def test_the_listing_of_an_integer_network_reads_back() -> None:
    program = lower(scored(tokens()).graph, "infer")
    text = format_program(program)
    assert format_program(parse_program(text)) == text
    assert text.startswith(".glassbox 1\n")
