"""The layer of one operation: its declaration, its types, and Python's operators."""

from __future__ import annotations

import json

import numpy as np
import pytest

from studio.engine import Input, Model, Operator
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.symbol import graph_of


def test_names_of_other_libraries_mean_the_operation() -> None:
    for name in ("ReduceMean", "mean", "Mean"):
        assert Operator(name, axis=-1).config() == {"operation": "mean", "settings": {"axis": -1}}
    assert Operator("multiply", b=[2, 3]).config()["constants"] == {"b": [2, 3]}


def test_its_text_reads_back_as_the_same() -> None:
    for made in (
        Operator("mean(axis=-1, keepdims=True)"),
        Operator("add", b=[[1.5, -2.0]]),
        Operator("pad", pads=[[0, 0], [1, 2]], mode="reflect"),
        Operator("relu"),
    ):
        assert Operator(made.text).config() == made.config()
        again = Operator.from_config(json.loads(json.dumps(made.config())))
        assert again.config() == made.config()


def test_values_by_name_may_be_text() -> None:
    for text in ("axis=-1, keepdims=True", '{"axis": -1, "keepdims": true}'):
        assert Operator("mean", settings=text).settings == {"axis": -1, "keepdims": True}
    assert Operator("mean", settings="", constants=" ").config() == {"operation": "mean"}
    assert Operator("add", constants="b=[1, 2.5]").constants == {"b": (1.0, 2.5)}


def test_defaults_are_left_out() -> None:
    made = Operator("mean", axis=None, keepdims=False)
    assert made.settings == {}
    assert made.values == {"axis": None, "keepdims": False}
    assert Operator("one_hot", depth=3).settings == {"depth": 3}


@pytest.mark.parametrize(
    ("operation", "given", "words"),
    [
        ("maen", {}, "there is no operation 'maen'"),
        ("mean", {"axes": 1}, "mean has no option or operand 'axes'"),
        ("mean", {"axis": "x"}, "expected a dimension"),
        ("one_hot", {}, "depth must be given"),
        ("add", {"a": 1, "b": 2}, "every operand is a constant"),
        ("add", {"b": float("nan")}, "expected finite numbers"),
        ("add", {"b": 1e60}, "expected finite numbers"),
        ("add", {"b": "two"}, "expected a number or numbers"),
        ("add", {"b": []}, "expected 1 to 4096 numbers"),
        ("add", {"b": [[1], [2, 3]]}, "its rows must be of one length"),
        ("add", {"b": np.zeros(5000)}, "expected 1 to 4096 numbers"),
        ("add", {"b": 1 << 25}, "whole numbers of constants"),
        ("stack", {"xs": 1}, "takes any number of inputs"),
        ("mean(-1)", {}, "expected an operation with values by name"),
        ("mean(axis=open)", {}, "expected an operation with values by name"),
        (3, {}, "expected the name of an operation"),
        ("add", {"settings": 1}, "expected values by name"),
        ("add", {"settings": "{1}"}, "expected values by name"),
        ("add", {"constants": "2.0"}, "values by name"),
    ],
)
def test_wrong_declarations_are_refused(operation, given, words) -> None:
    with pytest.raises(ParameterError, match=words):
        Operator(operation, **given)


def test_unknown_names_come_with_near_ones() -> None:
    with pytest.raises(ParameterError) as caught:
        graph_from_json({"nodes": [{"id": "a", "type": "Operator", "config": {
            "name": "a", "operation": "ReduceMeen"}}], "outputs": []})  # fmt: skip
    assert "ReduceMean" in caught.value.hint
    assert caught.value.origin == "node 1"


def test_another_operation_keeps_what_fits() -> None:
    made = Operator("var", axis=-1, ddof=1).replace(operation="mean")
    assert made.config() == {"operation": "mean", "settings": {"axis": -1}}
    assert Operator("add", b=2.0).replace(operation="multiply").constants == {"b": 2.0}
    assert Operator("mean", axis=-1).replace(settings={"axis": 1}).values["axis"] == 1


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Operator("mean"), "expected a result that begins with the batch N"),
        (Operator("sum", axis=0), "expected a result that begins with the batch N"),
        (Operator("transpose"), "the batch must stay in front"),
        (Operator("ravel"), "the element count must not change"),
        (Operator("reshape", shape=(5,)), "reshape"),
        (Operator("add"), "expected 2 inputs, got 1"),
        (Operator("matmul", b=np.ones((3, 2))), "matmul"),
        (Operator("moveaxis"), "the batch must stay in front"),
    ],
)
def test_operations_that_lose_the_batch_are_refused(made: Operator, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        made(Input((4,)))


@pytest.mark.parametrize("name", ["zeros", "arange", "random_uniform"])
def test_operations_without_operands_are_refused(name: str) -> None:
    config = {"stop": 3} if name == "arange" else {}
    with pytest.raises(ShapeError, match="makes one tensor for the whole batch"):
        Operator(name, **config)(Input((4,)))


@pytest.mark.slow
def test_python_operators_are_operators() -> None:
    x = Input((3,), name="x")
    made = [
        (2 - x * 3, lambda v: 2 - v * 3),
        ((x / 4) ** 2, lambda v: (v / 4) ** 2),
        (2 / (abs(x) + 1), lambda v: 2 / (abs(v) + 1)),
        (-x % 0.75, lambda v: -v % 0.75),
        (x // 0.5, lambda v: v // 0.5),
        (1.5**x, lambda v: 1.5**v),
        (np.arange(3) + x, lambda v: np.arange(3) + v),
        (x @ np.ones((3, 2)), lambda v: v @ np.ones((3, 2))),
        ((x > 0) & ~(x >= 1), lambda v: (v > 0) & ~(v >= 1)),
        ((x < 0) | (x <= 1) ^ (x > 2), lambda v: (v < 0) | (v <= 1) ^ (v > 2)),
        (x - x, lambda v: v - v),
    ]
    model = Model(x, [symbol for symbol, _ in made], backend="cpu")
    values = np.random.default_rng(0).uniform(-2, 2, (5, 3)).astype(np.float32)
    for found, (_, answer) in zip(model.predict(values), made, strict=True):
        wanted = answer(values.astype(np.float64))
        assert found.dtype.kind == wanted.dtype.kind
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


@pytest.mark.slow
def test_indices_are_those_of_numpy() -> None:
    x = Input((5, 4), name="x")
    places = [
        np.s_[:, 0], np.s_[:, -1], np.s_[..., 1:3], np.s_[:, ::-1], np.s_[:, 1:4:2, ::2],
        np.s_[:, None], np.s_[:, 0, None, 1:], np.s_[..., None], np.s_[:, 4:0:-2], np.s_[:],
        np.s_[:, 2, 3], np.s_[:, None, :, 0],
    ]  # fmt: skip
    values = np.random.default_rng(0).random((3, 5, 4)).astype(np.float32)
    model = Model(x, [x[place] for place in places], backend="cpu")
    for place, found in zip(places, model.predict(values), strict=True):
        np.testing.assert_array_equal(found, values[place])
    steps = Input((None, 3))
    shapes = [steps[:, :, 0].shape, steps[:, -1].shape, steps[:, 1:].shape]
    assert shapes == [(None,), (3,), (None, 3)]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (0, "the batch cannot be indexed"),
        (np.s_[1:], "the batch cannot be indexed"),
        (None, "the batch cannot be indexed"),
        (np.s_[:, 9], "index 9 is outside of 5 places in dimension 1"),
        (np.s_[:, 0, 0, 0], "takes at most 3 indices, got 4"),
        (np.s_[:, "a"], "is no index"),
        (np.s_[:, True], "is no index"),
        (np.s_[:, [0, 1]], "is no index"),
        (np.s_[:, ::0], "must not be 0"),
    ],
)
def test_wrong_indices_are_refused(place, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        Input((5, 4))[place]


def test_outputs_are_no_sequences() -> None:
    with pytest.raises(TypeError, match="has no length"):
        list(Input((5, 4)))


def test_whole_numbers_take_the_type_of_their_neighbour() -> None:
    assert (Input((3,)) * 2).layer.constants == {"b": 2.0}
    whole = Input((3,), dtype="int32") * 2
    assert whole.layer.constants == {"b": 2}
    assert whole.dtype.name == "int32"
    assert (whole * 0.5).dtype.name == "float32"


def test_results_are_ports_and_survive_a_file() -> None:
    x = Input((6,), name="x")
    mean, variance = Operator("moments", axis=-1, keepdims=True)(x)
    best, places = Operator("top_k", k=2)(x)
    made = graph_of([x], [mean, variance, best, places, x + 1], "several")
    document = graph_to_json(made)
    again = graph_from_json(json.loads(json.dumps(document)))
    assert graph_to_json(again) == document
    assert again.types() == made.types()
    assert [str(t) for t in made.types().values()] == [
        "float32[N,6]", "float32[N,1]", "float32[N,1]", "float32[N,2]", "int32[N,2]",
        "float32[N,6]",
    ]  # fmt: skip
