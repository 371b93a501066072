"""Keras models as layer graphs: blocks, shared layers, names, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from studio.engine.core.errors import FormatError, GraphError, ShapeError, StudioError
from studio.engine.interop.imported import ImportedLayer
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import named_parameters
from tests.engine.interop.keras.documents import (
    Document,
    chain,
    entry,
    functional,
    given,
    nested,
    sequential,
    tensor,
)


def read(document: Document) -> tuple[LayerGraph, dict[str, ImportedLayer]]:
    graph, layers = graph_from_keras(model_from_json(document, "net.keras"))
    return graph, {each.name: each for each in layers}


def links(graph: LayerGraph) -> dict[str, list[str]]:
    return {node.id: [port.node for port in node.inputs] for node in graph.nodes.values()}


def inner(name: str = "inner", **dense: Any) -> Document:
    return chain(given("seen"), entry("Dense", "d", units=4, **dense), name=name)


def test_layers_are_called_in_the_order_they_can_be() -> None:
    document = functional(
        given(), entry("Add", "sum", [tensor("b"), tensor("a")]),
        entry("Dense", "a", tensor("b"), units=4), entry("Dense", "b", tensor("x"), units=4),
        outputs=[["sum", 0, 0]],
    )  # fmt: skip
    graph, layers = read(document)
    assert links(graph) == {"x": [], "b": ["x"], "a": ["b"], "sum": ["b", "a"]}
    assert {each.note for each in layers.values()} == {""}


def test_a_shared_layer_stays_one() -> None:
    document = functional(
        given(), entry("Dense", "d", tensor("x"), tensor("d", 0), units=4),
        outputs=[["d", 1, 0], ["d", 0, 0]],
    )  # fmt: skip
    graph, _ = read(document)
    assert links(graph) == {"x": [], "d": ["x"], "d_1": ["d"]}
    assert [port.node for port in graph.outputs] == ["d_1", "d"]
    assert [each.name for each in named_parameters(graph)] == ["d/kernel", "d/bias"]


def test_a_nested_model_called_twice_is_two_blocks_of_shared_layers() -> None:
    document = functional(
        given(), nested(inner(), tensor("x"), tensor("inner", 0)), outputs=[["inner", 2, 0]]
    )
    graph, layers = read(document)
    assert list(graph.nested) == ["inner", "inner_1"]
    first, second = graph.nested.values()
    assert first.model is second.model
    assert (first.layers, second.layers) == (("d",), ("d_1",))
    assert [name for name, _ in first.inputs] == ["seen"]
    assert [name for name, _ in first.outputs] == ["d"]
    assert layers["inner/seen"] == ImportedLayer(
        "inner/seen", "InputLayer", "", "an input of the block inner"
    )
    assert layers["inner"].note == "a model, now a block"
    assert layers["inner/d"].layer == "d"


def test_models_in_models_are_blocks_in_blocks() -> None:
    document = chain(given(), nested(chain(given("p"), nested(inner()), name="outer")))
    graph, layers = read(document)
    assert list(graph.nested) == ["outer", "outer/inner"]
    assert layers["outer/inner/d"].layer == "d"


def test_names_that_are_taken_or_impossible_are_changed_and_said() -> None:
    document = chain(
        given("data"), entry("Dense", "d", units=4), nested(inner()),
        entry("Dense", "block/conv é", units=4), entry("Dense", "n" * 100, units=4),
        entry("Dense", "n" * 101, units=4), entry("Dense", "..", units=4),
    )  # fmt: skip
    graph, layers = read(document)
    assert layers["data"] == ImportedLayer("data", "InputLayer", "data_1", "now called data_1")
    assert layers["inner/d"].note == "now called inner_d"
    assert layers["block/conv é"].layer == "block_conv_é"
    assert layers["n" * 100].layer == "n" * 64
    assert layers["n" * 101].layer == "n" * 56
    assert layers[".."].layer == "_.."
    names = [layer.name for layer in graph.layers()]
    assert sorted(each.layer for each in layers.values() if each.layer) == sorted(names)


def test_what_no_output_needs_is_left_out_and_said() -> None:
    document = functional(
        given(), entry("Dense", "d", tensor("x"), units=4),
        entry("Dense", "e", tensor("x"), units=4),
        outputs=[["d", 0, 0]],
    )  # fmt: skip
    graph, layers = read(document)
    assert "e" not in graph.nodes
    assert layers["e"] == ImportedLayer("e", "Dense", "", "left out, since no output needs it")


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_frozen_stays_frozen(whole: bool) -> None:
    model = inner(trainable=False)
    model["config"]["trainable"] = whole
    other = chain(given("seen"), entry("Dense", "e", units=4), name="other")
    other["config"]["trainable"] = whole
    graph, _ = read(chain(given(), nested(model), nested(other)))
    assert graph.layer("d").trainable is False
    assert graph.layer("e").trainable is whole


def test_an_activation_that_is_a_layer_is_behind_its_layer() -> None:
    leak = {"class_name": "LeakyReLU", "config": {"negative_slope": 0.1}}
    graph, layers = read(
        chain(given(), entry("Dense", "d", units=4, activation=leak), entry("Flatten", "f"))
    )
    assert links(graph) == {"x": [], "d": ["x"], "d_activation": ["d"], "f": ["d_activation"]}
    assert layers["d"].note == "its activation is a layer of its own"


def test_the_end_of_a_mask_is_said() -> None:
    document = chain(
        given("x", (3, 2)), entry("Masking", "m", mask_value=0.0), entry("Flatten", "f")
    )
    _, layers = read(document)
    assert layers["f"].note == "the mask of its input ends here"


def test_a_call_that_is_no_training_is_said_where_it_matters() -> None:
    still = {"training": False}
    document = functional(
        given(),
        nested(inner(), {"args": [tensor("x")], "kwargs": still}),
        entry("BatchNormalization", "b", {"args": [tensor("inner")], "kwargs": still}),
        entry("Dropout", "d", {"args": [tensor("b")], "kwargs": still}, rate=0.5),
    )
    _, layers = read(document)
    said = "called with training=False: freeze it, so that training leaves its statistics alone"
    assert layers["inner"].note == f"a model, now a block; {said}"
    assert (layers["b"].note, layers["d"].note) == (said, "")
    document["config"]["layers"][2]["inbound_nodes"] = [[["inner", 1, 0, still]]]
    assert read(document)[1]["b"].note == said


def test_all_layers_that_are_not_here_are_named_at_once() -> None:
    lost = chain(given("seen"), entry("GRU", "g", units=4), name="inner")
    document = chain(
        given(), *(entry("LSTM", f"l{i}", units=4) for i in range(5)), nested(lost),
        entry("Lambda", "f", function={"class_name": "__lambda__"}),
        {**entry("Dense", "own"), "module": "mine", "registered_name": "mine>Dense"},
    )  # fmt: skip
    with pytest.raises(FormatError) as caught:
        read(document)
    text = str(caught.value)
    assert "8 layers are of a kind that is not here yet: GRU ('inner/g')" in text
    assert "LSTM ('l0', 'l1', 'l2' and 2 more)" in text
    assert "Lambda ('f')" in text
    assert "mine>Dense ('own')" in text
    assert "Dense ('d" not in text


def loop(document: Document) -> Document:
    """The first layer behind the input given what the last one gives."""
    layers = document["config"]["layers"]
    layers[1]["inbound_nodes"] = [{"args": [tensor(layers[-1]["name"])], "kwargs": {}}]
    return document


def doubled(depth: int) -> Document:
    """Models that call the model inside twice, so that calls double with each."""
    model = inner("m0")
    for index in range(1, depth):
        name = f"m{index - 1}"
        model = chain(given("seen"), nested(model), name=f"m{index}")
        node = {"args": [tensor(name, 0)], "kwargs": {}}
        model["config"]["layers"][1]["inbound_nodes"].append(node)
        model["config"]["output_layers"] = [[name, 2, 0]]
    return model


WRONG: dict[str, tuple[Callable[[], Document], type[StudioError], str]] = {
    "a loop": (
        lambda: loop(chain(given(), entry("Dense", "a", units=4), entry("Dense", "b", units=4))),
        FormatError, "its calls close a loop"),
    "a layer that is given itself": (
        lambda: loop(chain(given(), entry("Dense", "a", units=4))),
        FormatError, "its calls close a loop"),
    "an output there is not": (
        lambda: functional(given(), entry("Flatten", "f", tensor("x", 0, 1))),
        FormatError, "output 1 of 'x', which there is not"),
    "an input that is none": (
        lambda: functional(given(), entry("Flatten", "f", tensor("x")), inputs=[["f", 0, 0]]),
        FormatError, "expected an input layer as input"),
    "an input that is not named": (
        lambda: functional(given("x"), given("y"), entry("Add", "a", [tensor("x"), tensor("y")])),
        GraphError, "depend on 'y', which is not among the inputs"),
    "shapes that do not fit": (
        lambda: chain(given("x", (4,)), entry("Conv2D", "c", filters=2, kernel_size=2)),
        ShapeError, "[c] expected an input [height, width, channels]"),
    "too few inputs": (
        lambda: chain(given(), entry("Add", "a")), ShapeError, "[a] expected at least 2 inputs"),
    "too many inputs of a model": (
        lambda: functional(given(), nested(inner(), [tensor("x"), tensor("x")]),
                           outputs=[["inner", 1, 0]]),
        GraphError, "expected 1 inputs, got 2"),
    "another shape than a model states": (
        lambda: chain(given("x", (5,)), nested(inner())),
        GraphError, "[inner/seen] expected an input [4], got [5]"),
    "another dtype than a model states": (
        lambda: functional({**given(), "config": {"batch_shape": [None, 4], "dtype": "int32"}},
                           nested(inner(), tensor("x")), outputs=[["inner", 1, 0]]),
        GraphError, "expected an input of float32, got int32"),
    "one layer for two shapes": (
        lambda: functional(given(), entry("Dense", "d", tensor("x"), tensor("d"), units=3),
                           outputs=[["d", 1, 0]]),
        GraphError, "a shared layer needs inputs of one shape"),
    "an axis that is not the last": (
        lambda: chain(given("x", (4, 4, 2)), entry("BatchNormalization", "b", axis=1)),
        ShapeError, "axis: expected the last dimension"),
    "a layer too large for any memory": (
        lambda: sequential(given("x", (2**20, 2**20)), entry("Flatten", "f")),
        GraphError, "expected an output of 1 to"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    make, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        read(make())
    assert message in str(caught.value)


@pytest.mark.slow
def test_calls_that_double_with_every_model_are_bounded() -> None:
    with pytest.raises(GraphError, match="at most 10000 calls of layers"):
        read(doubled(16))


@pytest.mark.slow
def test_a_chain_as_long_as_can_be_is_read() -> None:
    layers = [entry("Activation", f"a{index}", activation="relu") for index in range(9_999)]
    graph, found = read(chain(given(), *layers))
    assert len(graph.nodes) == len(found) == 10_000
