from __future__ import annotations

import json

import pytest

from studio.engine.core.errors import GraphError, ParameterError, ShapeError, StudioError
from studio.engine.layers.catalog import all_layers, layer_class
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.layer import Layer
from studio.engine.layers.summary import summarize
from tests.recorded.layers.cases import CASES


def make(kind: str, *args: object, **options: object) -> Layer:
    return layer_class(kind)(*args, **options)


def small() -> LayerGraph:
    graph = LayerGraph("small")
    x = graph.add(make("Input", (8, 8, 1)))
    x = graph.add(make("Conv2D", 4, 3), x)
    x = graph.add(make("Flatten"), x)
    graph.outputs = (graph.add(make("Dense", 10), x),)
    return graph


def test_unnamed_layers_are_named_after_their_class() -> None:
    graph = small()
    graph.add(make("Dense", 3), "flatten")
    graph.add(make("MaxPooling2D"), "conv2d")
    assert list(graph.nodes) == ["input", "conv2d", "flatten", "dense", "dense_1", "max_pooling2d"]


def test_shapes_follow_the_links() -> None:
    assert small().shapes() == {
        "input": (8, 8, 1), "conv2d": (6, 6, 4), "flatten": (144,), "dense": (10,),
    }  # fmt: skip


def test_order_keeps_what_was_added_first_in_front() -> None:
    graph = LayerGraph()
    graph.add(make("Dense", 2, name="late"), "early")
    graph.add(make("Input", (3,), name="x"))
    graph.add(make("Dense", 2, name="early"), "x")
    graph.add(make("Dense", 2, name="aside"), "x")
    assert [n.id for n in graph.order()] == ["x", "early", "late", "aside"]


def test_a_long_chain_needs_no_recursion() -> None:
    graph = LayerGraph()
    x = graph.add(make("Input", (2,)))
    for index in range(5000):
        x = graph.add(make("ReLU", name=f"r{index}"), x)
    graph.outputs = (x,)
    graph.check()
    assert len(graph.order()) == 5001


def test_a_loop_is_named_link_by_link() -> None:
    graph = small()
    graph.add(make("Add", name="sum"), "flatten", "dense")
    graph.connect("dense", "sum")
    with pytest.raises(GraphError, match="links close a loop") as caught:
        graph.check()
    assert "'sum'" in caught.value.message
    assert "'dense'" in caught.value.message
    assert "remove the link" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda g: g.connect("dense"), GraphError, r"\[dense\] expected 1 connected input, got 0"),
        (lambda g: g.connect("dense", "gone"), GraphError, r"\[dense\] its input 'gone'"),
        (lambda g: g.connect("dense", "flatten", "input"), ShapeError,
         r"\[dense\] expected 1 input, got 2"),
        (lambda g: g.connect("dense", Port("flatten", 1)), GraphError, "has one output"),
        (lambda g: g.connect("conv2d", "flatten"), GraphError, "loop"),
        (lambda g: g.add(make("Dense", 1, name="flatten"), "dense", node_id="other"), GraphError,
         "names must be unique: 'flatten'"),
        (lambda g: setattr(g, "outputs", ()), GraphError, "needs an output"),
        (lambda g: setattr(g, "outputs", (Port("gone"),)), GraphError, "does not exist"),
        (lambda g: g.add(make("Add"), "dense"), GraphError, r"\[add\] expected 2 connected"),
        (lambda g: g.add(make("Conv2D", 2, 3), "dense"), ShapeError,
         r"\[conv2d_1\] expected an input \[height, width, channels\], got \[10\]"),
        (lambda g: g.add(make("Conv2D", 2, 9), "input"), ShapeError,
         r"\[conv2d_1\] expected an input of at least 9 rows .* got \[8,8,1\]"),
        (lambda g: g.add(make("Reshape", (7, -1)), "dense"), ShapeError,
         r"\[reshape\] expected a shape of 10 elements"),
        (lambda g: g.add(make("Add"), "dense", "flatten"), ShapeError,
         r"\[add\] expected inputs of one shape, got \[10\] and \[144\]"),
        (lambda g: g.add(make("Concatenate", axis=1), "conv2d", "input"), ShapeError,
         r"\[concatenate\] expected inputs that differ in dimension 1 only"),
        (lambda g: g.add(make("BatchNormalization", axis=1), "input"), ShapeError, "last dim"),
        (lambda g: g.add(make("Softmax", axis=0), "dense"), ShapeError, "after the batch"),
        (lambda g: g.add(g.layer("dense"), "dense"), GraphError, "shared layer needs inputs of"),
        (lambda g: g.add(make("Dense", 2**31 - 1), "conv2d"), GraphError, "elements"),
    ],
)  # fmt: skip
def test_mistakes_name_the_layer(change: object, error: type[StudioError], message: str) -> None:
    graph = small()
    change(graph)  # type: ignore[operator]
    with pytest.raises(error, match=message):
        graph.check()


def test_an_empty_graph_wants_an_input() -> None:
    with pytest.raises(GraphError, match="needs an Input layer"):
        LayerGraph().check()


@pytest.mark.parametrize("case", CASES)
def test_graphs_go_to_json_and_back(case: str) -> None:
    document = json.loads(json.dumps(graph_to_json(graph_from_json(CASES[case]))))
    again = graph_from_json(document)
    assert graph_to_json(again) == document
    assert again.shapes() == graph_from_json(CASES[case]).shapes()


def test_every_option_goes_to_json_and_back() -> None:
    given: dict[str, dict[str, object]] = {
        "Conv2D": {"filters": 3, "kernel_size": (2, 3), "strides": 2, "padding": "same",
                   "dilation_rate": 1, "activation": "swish", "use_bias": False,
                   "kernel_initializer": "variance_scaling(2,fan_out,uniform)",
                   "bias_initializer": "constant(0.5)", "kernel_regularizer": "l1(0.1)",
                   "bias_regularizer": "l2(0.1)", "trainable": False, "name": "c"},
        "ZeroPadding2D": {"padding": ((1, 2), (3, 4))},
        "ReLU": {"max_value": 6.0},
        "Dropout": {"rate": 0.5, "seed": 3},
        "Reshape": {"target_shape": (2, -1)},
    }  # fmt: skip
    for kind, options in given.items():
        made = make(kind, **options)
        again = type(made).from_config(json.loads(json.dumps(made.config())))
        assert again.option_values == made.option_values
        assert (again.name, again.trainable) == (made.name, made.trainable)


def test_a_convolution_takes_one_group_as_keras_does_by_default_and_no_more() -> None:
    plain = make("Conv2D", filters=4, kernel_size=3)
    assert make("Conv2D", filters=4, kernel_size=3, groups=1).config() == plain.config()
    assert "groups" not in plain.config()
    for groups in (2, 0, True):
        with pytest.raises(ParameterError) as caught:
            make("Conv2D", filters=4, kernel_size=3, groups=groups)
        assert caught.value.message == f"groups: expected a whole number equal to 1, got {groups}"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "an object is expected"),
        ({"nodes": {}}, "a list is expected"),
        ({"nodes": [], "outputs": [], "code": "x"}, "unknown field 'code'"),
        ({"nodes": [{"id": "a", "type": "Lambda"}], "outputs": []}, "unknown layer 'Lambda'"),
        ({"nodes": [{"id": "a", "type": "Dense", "config": {"units": 3, "evil": 1}}],
          "outputs": []}, "unknown option 'evil'"),
        ({"nodes": [{"id": "a", "type": "Dense", "config": {"units": 1e11}}], "outputs": []},
         "units: expected a whole number"),
        ({"nodes": [{"id": "a", "type": "Dense", "config": {"units": True}}], "outputs": []},
         "units: expected a whole number"),
        ({"nodes": [{"id": "a", "type": "Dense", "config": {"units": -1}}], "outputs": []},
         "units"),
        ({"nodes": [{"id": "../a", "type": "Flatten"}], "outputs": []}, "expected a name"),
        ({"nodes": [{"id": "data", "type": "Flatten"}], "outputs": []}, "expected a name"),
        ({"nodes": [{"id": "a", "type": "Flatten", "config": {"name": "x" * 1000}}],
          "outputs": []}, "expected a name"),
        ({"nodes": [{"id": "a", "type": "Flatten", "inputs": [["b", "c"]]}], "outputs": []},
         "a link is"),
        ({"nodes": [{"id": "a", "shares": "b"}], "outputs": []}, "there is no node 'b'"),
        ({"nodes": [{"id": "a", "type": "Flatten"}] * 2, "outputs": []}, "taken"),
        ({"nodes": [{"id": "a", "type": "Input", "config": {"shape": [10**9] * 3}}],
          "outputs": ["a"]}, "elements"),
    ],
)  # fmt: skip
def test_hostile_documents_are_refused_in_a_sentence(document: object, message: str) -> None:
    with pytest.raises((GraphError, ParameterError), match=message):
        graph_from_json(document).check()


def test_summary_counts_what_is_trained_and_what_is_not() -> None:
    graph = small()
    graph.outputs = (graph.add(make("BatchNormalization"), "dense"),)
    shared = graph.layer("dense")
    graph.add(shared, "flatten", node_id="again")
    shared.trainable = False
    found = summarize(graph)
    assert [(r.name, r.output, r.parameters) for r in found.rows] == [
        ("input", (8, 8, 1), 0), ("conv2d", (6, 6, 4), 40), ("flatten", (144,), 0),
        ("dense", (10,), 1450), ("batch_normalization", (10,), 40), ("dense", (10,), 0),
    ]  # fmt: skip
    assert (found.trainable, found.frozen, found.total) == (60, 1470, 1530)
    assert graph.parameter_count() == 1530
    assert "dense (Dense)" in found.text()
    assert "1,450" in found.text()


def test_every_layer_states_what_a_palette_and_an_inspector_need() -> None:
    names = {cls.__name__ for cls in all_layers()}
    assert names >= {
        "Input", "Dense", "Conv2D", "DepthwiseConv2D", "MaxPooling2D", "AveragePooling2D",
        "GlobalAveragePooling2D", "Flatten", "Reshape", "ZeroPadding2D", "Dropout",
        "BatchNormalization", "Activation", "ReLU", "Softmax", "Add", "Multiply", "Concatenate",
    }  # fmt: skip
    for cls in all_layers():
        assert cls.category, cls
        assert cls.__doc__, cls
        for option in cls.options:
            assert option.doc.endswith("."), (cls, option.name)
        known = {o.name for o in cls.options}
        assert set(cls.positional or ()) <= known, cls
