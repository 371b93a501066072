"""Types of ports: shape, dtype and batch of what flows between layers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from studio.engine import Add, Dense, Input, Model, Sequential
from studio.engine.compiler.lower import lower
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, GraphError, ShapeError
from studio.engine.core.tensor import BATCH, Ref, Shape, TensorType
from studio.engine.isa.ops import move
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.context import LayerContext
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.layer import Layer
from studio.engine.layers.summary import summarize
from tests.engine.layers.several_outputs import split_layer
from tests.engine.registered import registered_meanwhile
from tests.recorded.layers.cases import CASES


@pytest.fixture
def split() -> Iterator[Any]:
    with split_layer() as found:
        yield found


def parted(split: Any) -> LayerGraph:
    """[6] cut into [2] and [4], a dense layer on the second, outputs the first and that."""
    graph = LayerGraph("parted")
    x = graph.add(layer_class("Input")((6,)))
    first = graph.add(split(2), x)
    dense = graph.add(layer_class("Dense")(3), first._replace(output=1))
    graph.outputs = (first, dense)
    return graph


def test_a_type_knows_its_batch_and_its_samples() -> None:
    batch = TensorType.of_batch((3, 2), DType.int32)
    assert batch == TensorType((BATCH, 3, 2), DType.int32)
    assert (batch.is_batch, batch.sample) == (True, (3, 2))
    assert batch.with_sample((6,)) == TensorType((BATCH, 6), DType.int32)
    table = TensorType((5, 4))
    assert (table.is_batch, table.sample) == (False, (5, 4))
    assert table.with_sample((2,)) == TensorType((2,))


@pytest.mark.parametrize("case", CASES)
def test_every_layer_states_the_types_it_is_lowered_to(case: str) -> None:
    graph = graph_from_json(CASES[case])
    shapes = graph.shapes()
    assert graph.types() == {Port(i): TensorType.of_batch(s) for i, s in shapes.items()}
    program = lower(graph, "infer")
    assert [program.tensors[i].type for i in program.outputs] == [
        graph.types()[port] for port in graph.outputs
    ]


def test_a_layer_that_only_knows_shapes_refuses_other_dtypes_by_name() -> None:
    dense = layer_class("Dense")(2, name="scores")
    with pytest.raises(ShapeError, match=r"\[scores\] expected values of float32, got int32") as at:
        dense.check_dtypes(TensorType.of_batch((3,), DType.int32))
    assert "Rescaling(1.0)" in at.value.hint
    both = TensorType.of_batch((3,)), TensorType.of_batch((3,), DType.bool)
    with pytest.raises(
        ShapeError, match="expected values of float32 or int32 at input 2, got bool"
    ):
        layer_class("Add")().check_dtypes(*both)


def test_each_output_has_a_type_a_place_in_files_and_a_row_in_the_summary(split: Any) -> None:
    graph = parted(split)
    graph.check()
    assert graph.types() == {
        Port("input"): TensorType.of_batch((6,)),
        Port("split"): TensorType.of_batch((2,)),
        Port("split", 1): TensorType.of_batch((4,)),
        Port("dense"): TensorType.of_batch((3,)),
    }
    assert graph.shapes() == {"input": (6,), "split": (2,), "dense": (3,)}
    assert graph.parameter_shapes()["dense"] == ((4,),)
    document = json.loads(json.dumps(graph_to_json(graph)))
    assert document["nodes"][2]["inputs"] == [["split", 1]]
    assert graph_to_json(graph_from_json(document)) == document
    assert "split (Split)  [N, 2], [N, 4]" in summarize(graph).text()


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (Port("split", 2), r"\[dense\] 'split' has 2 outputs, 0 to 1: got 2"),
        (Port("split", -1), r"\[dense\] 'split' has 2 outputs, 0 to 1: got -1"),
        (Port("input", 1), r"\[dense\] 'input' has one output, number 0: got 1"),
        (Port("gone", 1), r"\[dense\] its input 'gone' does not exist"),
    ],
)
def test_a_port_that_does_not_exist_is_named(split: Any, port: Port, message: str) -> None:
    graph = parted(split)
    graph.connect("dense", port)
    with pytest.raises(GraphError, match=message):
        graph.check()


def test_an_output_of_the_network_that_does_not_exist_is_named(split: Any) -> None:
    graph = parted(split)
    graph.outputs = (Port("split", 2_000_000_000),)
    with pytest.raises(GraphError, match="'split' has 2 outputs, 0 to 1: got 2000000000"):
        graph.check()


def test_outputs_of_one_layer_have_names_of_their_own(split: Any) -> None:
    graph = parted(split)
    graph.outputs = (Port("split", 1), Port("split"), Port("dense"), Port("split"))
    assert graph.output_names() == ("split_1", "split", "dense", "split_2")


def test_a_call_gives_a_list_of_symbols_where_there_are_several(split: Any) -> None:
    x = Input((6,), name="x")
    parts = split(2, name="cut")(x)
    assert [part.shape for part in parts] == [(2,), (4,)]
    assert repr(parts[1]) == "<output 1 [N, 4] of cut>"
    assert repr(x) == "<output [N, 6] of x>"
    sums = [Dense(3, name=f"d{index}")(part) for index, part in enumerate(parts)]
    inner = Model(x, [Add(name="sum")(sums), parts[0]], name="inner")
    assert inner.graph.outputs == (Port("sum"), Port("cut"))
    assert inner.graph.node("d1").inputs == (Port("cut", 1),)
    other = Input((6,), name="y")
    total, first = inner(other)
    outer = Model(other, [first, total, inner.graph.layer("cut")(other)[1]])
    assert outer.graph.outputs == (Port("cut"), Port("sum"), Port("cut_1", 1))
    assert outer.get_layer("d1") is inner.get_layer("d1")


def test_layers_in_a_row_have_one_output(split: Any) -> None:
    with pytest.raises(GraphError, match=r"\[cut\] the layer has 2 outputs"):
        Sequential([Input((6,)), split(2, name="cut"), Dense(1)])


def test_a_shared_layer_keeps_its_input_type_also_behind_a_second_output(split: Any) -> None:
    graph = parted(split)
    graph.add(graph.layer("dense"), Port("split"))
    with pytest.raises(GraphError, match=r"shared layer needs inputs of .* \[4\] and \[2\]"):
        graph.check()


def test_a_nested_model_refuses_another_type() -> None:
    x = Input((4,))
    inner = Model(x, Dense(2)(x), name="inner")
    with pytest.raises(GraphError, match=r"\[inner\] expected an input float32\[N,4\], got float"):
        inner(Input((5,)))


def test_tensors_are_named_after_layer_and_output(split: Any) -> None:
    program = lower(parted(split), "infer")
    made = [t for t in program.tensors.values() if t.layer == "split"]
    assert [(t.name, t.port) for t in made] == [
        ("split/output", "output"), ("split/output_1", "output_1"),
    ]  # fmt: skip
    assert [i.owners for i in program.section("forward")[:2]] == [("split",), ("split",)]


@pytest.mark.parametrize(("stated", "message"), [
    ([(2,)], "output_types states nothing for output 1"),
    ([(2,), (5,)], r"states float32\[N,5\] for output 1, lower made float32\[N,4\]"),
    ([(2,), (4,), (1,)], "lower made 2 outputs, output_types states more"),
])  # fmt: skip
def test_lowering_to_other_types_than_stated_is_refused(
    split: Any, stated: list[Shape], message: str
) -> None:
    class Wrong(split, abstract=True):  # type: ignore[misc]
        def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
            return tuple(types[0].with_sample(shape) for shape in stated)

    graph = parted(Wrong)
    graph.outputs = (Port("wrong"),)
    graph.nodes.pop("dense")
    with pytest.raises(CompileError, match=rf"\[wrong\] .*{message}"):
        lower(graph, "infer")


def test_a_dtype_of_its_own_needs_no_shape_rule() -> None:
    with registered_meanwhile():

        class Signs(Layer):
            """Whether a number is not 0."""

            category = "preprocessing"

            def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
                return (types[0]._replace(dtype=DType.bool),)

            def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
                return context.emit(move.Cast, x=inputs[0], dtype="bool")

        graph = LayerGraph()
        graph.outputs = (graph.add(Signs(), graph.add(layer_class("Input")((3,)))),)
        graph.check()
        assert graph.types()[Port("signs")] == TensorType.of_batch((3,), DType.bool)
        assert "signs (Signs)  bool[N, 3]" in summarize(graph).text()
        graph.add(layer_class("Dense")(2, name="d"), "signs")
        with pytest.raises(ShapeError, match=r"\[d\] expected values of float32, got bool"):
            graph.check()
