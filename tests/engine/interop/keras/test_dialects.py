"""Keras' JSON as plain data: both dialects, all ways to write one thing, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats.safe_json import parse_json
from studio.engine.interop.keras.description import KerasModel, KerasTensor
from studio.engine.interop.keras.dialects import MAX_DEPTH, model_from_json
from studio.engine.layers.graph import MAX_NODES
from tests.engine.interop.keras.documents import (
    Document,
    chain,
    entry,
    functional,
    given,
    nested,
    old,
    sequential,
    tensor,
)


def read(document: Any, **options: Any) -> KerasModel:
    return model_from_json(document, "net.keras", **options)


def calls(model: KerasModel, name: str) -> list[list[tuple[str, int, int]]]:
    """What a layer is called on, as plain tuples."""
    layer = next(each for each in model.layers if each.name == name)
    return [[tuple(each) for each in call] for call in layer.calls]


def test_a_functional_model() -> None:
    model = read(chain(given(), entry("Dense", "d", units=2, trainable=False, dtype="float32")))
    assert (model.name, model.is_sequential, model.is_old) == ("net", False, False)
    assert model.inputs == (KerasTensor("x"),)
    assert model.outputs == (KerasTensor("d"),)
    layer = model.layers[1]
    assert (layer.class_name, layer.trainable, layer.dtype) == ("Dense", False, "float32")
    assert layer.config == {"units": 2}
    assert calls(model, "x") == [[]]
    assert calls(model, "d") == [[("x", 0, 0)]]


@pytest.mark.parametrize(
    "ends", [["x", 0, 0], [["x", 0, 0]], {"data": ["x", 0, 0]}, [[["x", 0, 0]]]]
)
def test_every_way_to_write_the_ends(ends: Any) -> None:
    document = functional(given(), entry("Flatten", "f", tensor("x")), inputs=ends)
    assert read(document).inputs == (KerasTensor("x"),)


@pytest.mark.parametrize(
    "call",
    [
        [tensor("x"), tensor("y")],
        {"args": [tensor("x"), tensor("y")], "kwargs": {}},
        {"args": [[tensor("x"), tensor("y")], None], "kwargs": {"mask": [None, None]}},
        {"args": [], "kwargs": {"inputs": [tensor("x"), tensor("y")], "training": False}},
    ],
)
def test_every_way_to_call_on_several(call: Any) -> None:
    document = functional(given("x"), given("y"), entry("Add", "a", call),
                          inputs=[["x", 0, 0], ["y", 0, 0]])  # fmt: skip
    assert calls(read(document), "a") == [[("x", 0, 0), ("y", 0, 0)]]


@pytest.mark.parametrize("node", [[["x", 0, 0, {}], ["y", 0, 0, {}]], [["x", 0, 0], ["y", 0, 0]]])
def test_calls_of_keras_2(node: Any) -> None:
    inputs = [
        old("InputLayer", name, batch_input_shape=[None, 4], dtype="float32") for name in "xy"
    ]
    document = functional(*inputs, old("Add", "a", node), inputs=[["x", 0, 0], ["y", 0, 0]])
    model = read(document, version="2.15.0")
    assert calls(model, "a") == [[("x", 0, 0), ("y", 0, 0)]]
    assert model.is_old
    assert not read(document, version="3.1.0").is_old


def test_a_call_of_one_tensor_in_keras_2() -> None:
    document = functional(given(), old("Flatten", "f", ["x", 0, 0, {"training": None}]))
    assert calls(read(document), "f") == [[("x", 0, 0)]]


def inner(name: str = "inner") -> Document:
    return chain(given("seen"), entry("Dense", "d", units=4), name=name)


def test_calls_of_nested_models_are_counted_from_0_in_every_dialect() -> None:
    new = functional(
        given(), nested(inner(), tensor("x"), tensor("inner", 0)),
        entry("Flatten", "f", tensor("inner", 1)), outputs=[["inner", 2, 0], ["f", 0, 0]],
    )  # fmt: skip
    second: Document = {**inner(), "name": "inner",
                        "inbound_nodes": [[["x", 0, 0, {}]], [["inner", 1, 0, {}]]]}  # fmt: skip
    other = functional(
        given(), second, old("Flatten", "f", [["inner", 2, 0, {}]]),
        outputs=[["inner", 2, 0], ["f", 0, 0]],
    )  # fmt: skip
    for document in (new, other):
        model = read(document)
        assert calls(model, "inner") == [[("x", 0, 0)], [("inner", 0, 0)]]
        assert calls(model, "f") == [[("inner", 1, 0)]]
        assert model.outputs == (KerasTensor("inner", 1), KerasTensor("f"))
        found = model.layers[1].model
        assert found is not None
        assert [each.name for each in found.layers] == ["seen", "d"]


def test_a_nested_model_is_given_its_inputs_by_name() -> None:
    two = functional(given("p"), given("q"), entry("Add", "sum", [tensor("p"), tensor("q")]),
                     inputs=[["p", 0, 0], ["q", 0, 0]], name="two")  # fmt: skip
    call = {"args": [{"q": tensor("x"), "p": tensor("y")}], "kwargs": {}}
    ends = [["x", 0, 0], ["y", 0, 0]]
    document = functional(given("x"), given("y"), nested(two, call), inputs=ends)
    assert calls(read(document), "two") == [[("y", 0, 0), ("x", 0, 0)]]
    named = {**two, "config": {**two["config"], "input_layers": {"a": ["q", 0, 0],
                                                                 "b": ["p", 0, 0]}}}  # fmt: skip
    call = {"args": [{"b": tensor("x"), "a": tensor("y")}], "kwargs": {}}
    document = functional(given("x"), given("y"), nested(named, call), inputs=ends)
    assert calls(read(document), "two") == [[("y", 0, 0), ("x", 0, 0)]]


@pytest.mark.parametrize(
    "document",
    [
        sequential(given(), entry("Dense", "d", units=2)),
        sequential(entry("Dense", "d", units=2, batch_input_shape=[None, 4])),
        sequential(entry("Dense", "d", units=2), build_input_shape=[None, 4]),
        sequential(inner(), entry("Dense", "d", units=2)),
        {"class_name": "Sequential", "config": [
            {"class_name": "Dense", "config": {"name": "d", "units": 2,
                                               "batch_input_shape": [None, 4]}}]},
    ],
)  # fmt: skip
def test_a_sequential_model_has_its_input_and_calls_filled_in(document: Document) -> None:
    model = read(document)
    assert model.is_sequential
    first, *others = model.layers
    assert first.class_name == "InputLayer"
    assert first.config["batch_shape"] == [None, 4]
    assert model.inputs == (KerasTensor(first.name),)
    names = [each.name for each in model.layers]
    assert [each.calls for each in others] == [((KerasTensor(name),),) for name in names[:-1]]
    assert model.outputs == (KerasTensor("d"),)


def test_layers_without_names_get_keras_names() -> None:
    document = sequential(given(), {"class_name": "Dense", "config": {"units": 2}},
                          {"class_name": "Dense", "config": {"units": 2}})  # fmt: skip
    assert [each.name for each in read(document).layers] == ["x", "dense", "dense_1"]


@pytest.mark.parametrize(
    "dtype",
    ["mixed_float16", {"module": "keras", "class_name": "DTypePolicy", "registered_name": None,
                       "config": {"name": "mixed_float16"}, "shared_object_id": 1}],
)  # fmt: skip
def test_a_dtype_is_a_word_or_a_policy(dtype: Any) -> None:
    model = read(chain(given(), entry("Dense", "d", units=2, dtype=dtype)))
    assert model.layers[1].dtype == "mixed_float16"


@pytest.mark.parametrize(
    ("change", "class_name"),
    [
        ({"module": "os"}, "os.Dense"),
        ({"module": "keras.src.ops.numpy"}, "keras.src.ops.numpy.Dense"),
        ({"module": "mine.layers", "registered_name": "mine>Dense"}, "mine>Dense"),
        ({"module": "keras.src.layers.core.dense"}, "Dense"),
        ({"module": "tf_keras.layers", "registered_name": "Dense"}, "Dense"),
    ],
)
def test_a_class_is_keras_only_where_its_module_is(change: Document, class_name: str) -> None:
    model = read(chain(given(), {**entry("Dense", "d", units=2), **change}))
    assert model.layers[1].class_name == class_name


def test_layers_that_are_not_here_may_be_called_in_ways_of_their_own() -> None:
    document = functional(
        given(),
        {**entry("Add", "plus", {"args": [tensor("x"), 2.5], "kwargs": {}}), "module": None},
        entry("LSTM", "l", {"args": [tensor("plus")], "kwargs": {"initial_state": [1]}}),
        entry("Flatten", "f", tensor("l")),
    )
    model = read(document)
    assert [each.class_name for each in model.layers[1:3]] == ["keras.ops.Add", "LSTM"]


def deep(count: int) -> Document:
    """Models in one another."""
    model = inner("m0")
    for index in range(1, count):
        model = chain(given("seen"), nested(model, tensor("seen")), name=f"m{index}")
    return model


@pytest.mark.slow
def test_a_long_chain_is_refused_without_going_deep() -> None:
    layers = [given(), *(entry("Activation", f"a{i}", activation="relu") for i in range(100_000))]
    with pytest.raises(FormatError, match=f"at most {MAX_NODES} layers, got 100001"):
        read(chain(*layers))


def test_models_in_models_are_bounded() -> None:
    assert read(deep(MAX_DEPTH)).name == f"m{MAX_DEPTH - 1}"
    with pytest.raises(FormatError, match=f"too deeply: expected at most {MAX_DEPTH}"):
        read(deep(MAX_DEPTH + 1))


def changed(change: Callable[[Document], object]) -> Document:
    """A chain of three layers, after a change."""
    document = chain(given(), entry("Dense", "d", units=2), entry("Flatten", "f"))
    change(document)
    return document


def last(document: Document) -> Document:
    found: Document = document["config"]["layers"][-1]
    return found


def call_of(**options: Any) -> list[Document]:
    return [{"args": [tensor("d")], "kwargs": options}]


HOSTILE: dict[str, tuple[Any, str]] = {
    "no object": ([], "the model: expected an object"),
    "no model": ({"class_name": "Dense", "config": {}}, "expected a Functional or Sequential"),
    "a class of its own": ({"class_name": "MyModel", "config": {}}, "got 'MyModel'"),
    "Functional from elsewhere": (
        changed(lambda d: d.update(module="os")), "got 'os.Functional'"),
    "no class": ({"config": {}}, "class_name of the model: expected text, got None"),
    "no layers": (functional(given()) | {"config": {"name": "n", "layers": []}},
                  "the model 'n' has no layers"),
    "layers of another kind": (changed(lambda d: d["config"].update(layers={"d": 1})),
                               "layers of 'net': expected a list"),
    "unknown entry of a model": (changed(lambda d: d["config"].update(extra=1)),
                                 "not known here: 'extra'"),
    "unknown entry of a layer": (changed(lambda d: last(d).update(code="os.system")),
                                 "not known here: 'code'"),
    "one name twice": (changed(lambda d: last(d).update(name="d")), "'d' occurs twice"),
    "no name": (changed(lambda d: last(d).update(name="")), "'' is none"),
    "name that is no text": (changed(lambda d: last(d).update(name=["f"])), "expected text"),
    "dangling call": (changed(lambda d: last(d).update(inbound_nodes=[[["no", 0, 0, {}]]])),
                      "there is no layer 'no'"),
    "wrong call": (changed(lambda d: last(d).update(inbound_nodes=[[["d", 7, 0, {}]]])),
                   "called once, got number 7"),
    "negative call": (changed(lambda d: last(d).update(inbound_nodes=[[["d", -1, 0, {}]]])),
                      "expected numbers of a call and an output"),
    "call that is a bool": (changed(lambda d: last(d).update(inbound_nodes=[[["d", True, 0]]])),
                            "expected numbers of a call and an output"),
    "call on a number": (changed(lambda d: last(d).update(inbound_nodes=[{"args": [[2.5]]}])),
                         "expected the output of a layer, got 2.5"),
    "call on an array": (changed(lambda d: last(d).update(inbound_nodes=[
        {"args": [tensor("d"), {"class_name": "__numpy__", "config": {}}]}])),
        "inputs by name are for models only"),
    "tensor without history": (changed(lambda d: last(d).update(inbound_nodes=[
        {"args": [{"class_name": "__keras_tensor__"}]}])), "expected the output of a layer"),
    "training by hand": (changed(lambda d: last(d).update(inbound_nodes=call_of(training=True))),
                         "got 'training' = True"),
    "a mask by hand": (changed(lambda d: last(d).update(inbound_nodes=call_of(mask=tensor("d")))),
                       "got 'mask' = "),
    "an unknown option of a call": (
        changed(lambda d: last(d).update(inbound_nodes=call_of(scale=2))), "got 'scale' = 2"),
    "an input that is called": (changed(lambda d: d["config"]["layers"][0].update(
        inbound_nodes=[[["d", 0, 0, {}]]])), "the input 'x' is given something"),
    "no outputs": (changed(lambda d: d["config"].update(output_layers=[])),
                   "output_layers of 'net': expected at least one"),
    "an input twice": (changed(lambda d: d["config"].update(
        input_layers=[["x", 0, 0], ["x", 0, 0]])), "one stands there twice"),
    "trainable as a number": (changed(lambda d: last(d)["config"].update(trainable=1)),
                              "trainable of 'f': expected true or false, got 1"),
    "dtype as a list": (changed(lambda d: last(d)["config"].update(dtype=["float32"])),
                        "dtype of 'f': expected text"),
    "one layer in two models": (
        functional(given(), {**nested(inner("a"), tensor("x")), "shared_object_id": 3},
                   {**nested(inner("b"), tensor("a")), "shared_object_id": 3}),
        "is shared by several models"),
    "a Sequential model that was not built": (sequential(entry("Dense", "d", units=2)),
                                              "does not say what shape its input has"),
    "an input in the middle": (sequential(given(), entry("Flatten", "f"), given("y")),
                               "'y' must be the first layer"),
    "two outputs in a Sequential model": (
        sequential(given(), functional(given("p"), entry("Flatten", "f", tensor("p")), name="two",
                                       outputs=[["f", 0, 0], ["p", 0, 0]])),
        "expected one input and one output, got 1 and 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_keras_does_not_write_is_refused(name: str) -> None:
    document, message = HOSTILE[name]
    with pytest.raises(FormatError) as caught:
        read(document)
    assert message in str(caught.value)
    assert caught.value.who == "net.keras"


def test_a_name_of_a_megabyte_is_shown_short() -> None:
    document = changed(lambda d: last(d).update(inbound_nodes=[[["n" * 2**20, 0, 0, {}]]]))
    with pytest.raises(FormatError) as caught:
        read(document)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        b'{"class_name": "Sequential", "config": {"x": NaN}}',
        b'{"class_name": "Sequential", "class_name": "Functional"}',
        '{"class_name": "Sequential"}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"class_name": "\\ud800"}',
        b'{"class_name": "Sequential", "config": {"units": ' + b"9" * 5000 + b"}}",
        b'{"class_name": "Sequential", "config": {"units": 1e999}}',
    ],
)
def test_text_that_two_programs_could_read_differently_is_refused(text: bytes) -> None:
    with pytest.raises(FormatError):
        read(parse_json(text, "net.keras"))


def test_the_documents_of_these_tests_are_json() -> None:
    assert json.loads(json.dumps(deep(3))) == deep(3)
