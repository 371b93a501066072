"""What a program becomes as ONNX: nodes, names, layouts, small weights, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Role
from studio.engine.formats.onnx_wire import Model, load_model, model_bytes
from studio.engine.interop.file_format import Exportable, format_named
from studio.engine.interop.onnx.nodes import ENTRIES, entry
from studio.engine.interop.onnx_file import onnx_model, refusal
from studio.engine.interop.small_weights import WeightForm
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.families import Unary
from studio.engine.isa.instruction import GradInstruction, Instruction, all_instructions
from studio.engine.isa.ops.index import Scatter
from studio.engine.isa.ops.logic import BitNot
from studio.engine.isa.ops.order import Cumulate
from studio.engine.isa.ops.random import Dropout
from studio.engine.isa.program import Program
from studio.engine.layers.graph_json import graph_from_json
from tests.engine.interop.onnx.running import inference, small_inference
from tests.engine.registered import registered_meanwhile
from tests.recorded.layers.cases import CASES, chain, single

Golden = Callable[[str, str], None]

TRAINING_ONLY = {
    "ALLREDUCE",
    "ACCUMULATE", "ACCURACY", "ADVANCE", "AUGMENT_FLIP", "AUGMENT_NOISE", "AUGMENT_ROTATE",
    "AUGMENT_SHIFT", "BEGIN_UPDATE", "CLIP_NORM", "CLIP_VALUE", "COLUMN_PRODUCTS", "COLUMN_STATS",
    "CONFUSION", "DROPOUT", "GATHER_BATCH", "GLOBAL_NORM", "LOSS_BCE", "LOSS_CE", "LOSS_L1L2",
    "LOSS_MAE", "LOSS_MEAN", "LOSS_MSE", "LOSS_SPARSE_CE", "MOVING_AVERAGE", "RANDOM_NORMAL",
    "RANDOM_UNIFORM",
    "RECORD", "ROW_CE", "ROW_SPARSE_CE", "THRESHOLD_COUNTS", "UPDATE_ADADELTA", "UPDATE_ADAGRAD",
    "UPDATE_ADAM", "UPDATE_ADAMAX", "UPDATE_MOMENTUM", "UPDATE_RMSPROP", "UPDATE_SGD",
    "WEIGHTED_ACCURACY",
}  # fmt: skip
"""Instructions that no inference program holds."""

NETWORK = chain(
    [6, 6, 2],
    ("Conv2D", {"filters": 4, "kernel_size": 3, "activation": "relu", "name": "conv1"}),
    ("DepthwiseConv2D", {"kernel_size": 3, "padding": "same", "use_bias": False}),
    ("BatchNormalization", {}),
    ("Activation", {"activation": "silu", "name": "bend"}),
    ("AveragePooling2D", {"pool_size": 2}),
    ("Flatten", {}),
    ("Dense", {"units": 3, "activation": "softmax", "name": "answer"}),
)


def written(document: dict[str, object], **options: object) -> Model:
    return onnx_model(*inference(graph_from_json(document)), **options)


def text_of(model: Model) -> Iterator[str]:
    """The graph as lines, floats as the shortest text of float32."""
    graph = model.graph
    for what, ports in (("in", graph.inputs), ("out", graph.outputs)):
        for port in ports:
            yield f"{what} {port.name} {port.dtype}[{','.join(map(str, port.shape))}]"
    for name, array in graph.initializers.items():
        yield f"constant {name} {array.dtype.name}{list(array.shape)}"
    for node in graph.nodes:
        values = {
            k: str(np.float32(v)) if isinstance(v, float) else v for k, v in node.attributes.items()
        }
        said = "".join(f" {key}={value}" for key, value in values.items())
        yield f"{node.name}: {node.op}({', '.join(node.inputs)}) -> {node.outputs[0]}{said}"
        if node.note:
            yield f"    {node.note}"


def test_small_networks_become_these_graphs(golden: Golden) -> None:
    lines = []
    documents = {"network": NETWORK, **{name: CASES[name] for name in
                 ("residual", "masking", "dense_sequence", "relu_all", "shared")}}  # fmt: skip
    for name, document in documents.items():
        lines += [f"{name}:", *(f"  {line}" for line in text_of(written(document))), ""]
    golden("interop/onnx.txt", "\n".join(lines))


def test_every_instruction_of_an_inference_program_has_an_entry() -> None:
    """One that is missing here gets an entry in `ENTRIES`, or is only used in training."""
    lines = [c for c in all_instructions() if not issubclass(c, GradInstruction)]
    without = {c.mnemonic for c in lines if entry(c) is None} - {"FUSE", "END"}
    assert without == TRAINING_ONLY
    assert ENTRIES.keys() <= {c.mnemonic for c in lines}


def test_a_chain_of_pictures_is_transposed_where_it_begins_and_ends() -> None:
    counts = Counter(node.op for node in written(NETWORK).graph.nodes)
    assert counts["Transpose"] == 2
    assert counts["Conv"] == 2
    assert "BatchNormalization" not in counts


def test_branches_share_one_transposed_value() -> None:
    transposed = [n for n in written(CASES["residual"]).graph.nodes if n.op == "Transpose"]
    assert [node.name for node in transposed] == ["x/Transpose", "pool/Transpose"]


def test_names_and_notes_are_those_of_the_listing() -> None:
    model = written(NETWORK)
    nodes = {node.name: node for node in model.graph.nodes}
    assert "conv1/Conv" in nodes
    assert nodes["answer/Gemm"].note.startswith("LINEAR 0x")
    assert {"conv1/kernel", "conv1/bias", "answer/kernel"} <= model.graph.initializers.keys()
    assert [port.shape for port in model.graph.inputs] == [("batch", 6, 6, 2)]
    assert [(port.name, port.shape) for port in model.graph.outputs] == [("answer", ("batch", 3))]


def test_kernels_are_turned_as_onnx_wants_them() -> None:
    program, weights = inference(graph_from_json(NETWORK))
    constants = onnx_model(program, weights).graph.initializers
    kernel = weights["conv1/kernel"]
    assert constants["conv1/kernel"].shape == (4, 2, 3, 3)
    for out, come, row, column in np.ndindex(4, 2, 3, 3):
        assert constants["conv1/kernel"][out, come, row, column] == kernel[row, column, come, out]
    np.testing.assert_array_equal(constants["answer/kernel"], weights["answer/kernel"])


def test_the_same_program_gives_the_same_bytes() -> None:
    facts = {"b": "2", "a": "1"}
    one, other = (
        model_bytes(onnx_model(*inference(graph_from_json(NETWORK)), given))
        for given in (facts, dict(reversed(facts.items())))
    )
    assert one == other
    assert load_model(one).metadata == {"a": "1", "b": "2"}


def test_an_unknown_operator_set_is_refused() -> None:
    with pytest.raises(FormatError, match="expected an operator set of 13 to 21, got 22"):
        written(NETWORK, opset=22)


@pytest.mark.parametrize(("opset", "op"), [(17, "Tanh"), (18, "Mish")])
def test_an_operator_is_used_from_its_first_set_on(opset: int, op: str) -> None:
    model = written(single([4], "Activation", activation="mish"), opset=opset)
    assert model.graph.nodes[-2 if op == "Tanh" else -1].op == op
    assert model.opset == opset


# -- programs made by hand --


def by_hand(cls: type[Instruction], **fields: object) -> Program:
    """One line of a layer, from an input to an output of the same shape."""
    builder = ProgramBuilder("hand", "infer")
    x = builder.tensor("x", (-1, 4, 3), role=Role.INPUT)
    with builder.owned_by("first_layer"):
        (y,) = builder.emit("forward", cls, x=x, **fields)
    return builder.finish((x,), (y,))


def test_what_has_no_entry_is_refused_by_layer_and_instruction() -> None:
    program = by_hand(Dropout, rate=0.5)
    with pytest.raises(FormatError, match="nothing for the instruction DROPOUT") as refused:
        onnx_model(program, {})
    assert refused.value.who == "first_layer"
    assert ".gbi" in refused.value.hint
    graph = graph_from_json(NETWORK)
    form = format_named("onnx")
    why = form.why_not(Exportable("net", graph, {}, make_program=lambda: (program, {})))
    assert why is not None
    assert "DROPOUT" in why.message
    bare = form.why_not(Exportable("net", graph, {}))
    assert bare is not None
    assert "weights only" in bare.message


def test_an_element_wise_instruction_of_a_plugin_needs_no_entry() -> None:
    with registered_meanwhile():

        class Bent(Unary, code=498, mnemonic="BENT", category="activation"):
            """Bends."""

            formula = "x * rsqrt(1 + x**2)"

        ops = [node.op for node in onnx_model(by_hand(Bent), {}).graph.nodes]
    assert ops == ["Mul", "Add", "Sqrt", "Div", "Mul"]


def test_bits_need_an_operator_set_that_has_them() -> None:
    builder = ProgramBuilder("bits", "infer")
    x = builder.tensor("x", (-1, 4), DType.int32, Role.INPUT)
    program = builder.finish((x,), builder.emit("forward", BitNot, x=x))
    assert onnx_model(program, {}).opset == 18
    with pytest.raises(FormatError, match="needs operator set 18, got 17"):
        onnx_model(program, {}, opset=17)


def test_weights_that_are_missing_are_named() -> None:
    program, weights = inference(graph_from_json(NETWORK))
    with pytest.raises(FormatError, match="holds weights, and there are none"):
        onnx_model(program, {})
    del weights["conv1/bias"]
    with pytest.raises(FormatError, match="no values for 'conv1/bias'"):
        onnx_model(program, weights)


def test_a_model_beyond_two_gigabytes_is_refused_before_anything_is_made() -> None:
    program, weights = inference(graph_from_json(NETWORK))
    large = {**weights, "answer/kernel": np.broadcast_to(np.float32(0), (1 << 15, 1 << 14))}
    why = refusal(program, large)
    assert why is not None
    assert "at most 2,147,483,647 bytes" in why.message


# -- small weights --


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_small_weights_are_widened_by_nodes(form: WeightForm) -> None:
    network = graph_from_json(NETWORK)
    small, stored, _, weights = small_inference(network, form)
    graph = onnx_model(small, stored).graph
    makers = {node.outputs[0]: node for node in graph.nodes}

    def value(name: str) -> np.ndarray:
        if name in graph.initializers:
            return graph.initializers[name].astype(np.float64)
        node = makers[name]
        one = value(node.inputs[0])
        if node.op == "Cast":
            return one
        other = value(node.inputs[1])
        assert (other > 0).all() or node.op == "Mul"
        along = [-1 if axis == node.attributes.get("axis") else 1 for axis in range(one.ndim)]
        return one * (other.reshape(along) if node.op == "DequantizeLinear" else other)

    op = {"float16": "Cast", "int8": "DequantizeLinear"}[form]
    assert Counter(node.op for node in graph.nodes)[op] == 3
    assert makers["conv1/kernel"].op == op
    wanted = weights["conv1/kernel"].transpose(3, 2, 0, 1)
    np.testing.assert_allclose(value("conv1/kernel"), wanted, rtol=3e-7)
    folded = weights["layer1/kernel/folded"].transpose(2, 3, 0, 1).reshape(4, 1, 3, 3)
    np.testing.assert_allclose(value("layer1/kernel/folded"), folded, rtol=3e-7)
    np.testing.assert_allclose(value("answer/kernel"), weights["answer/kernel"], rtol=3e-7)
    kept = {name: array.dtype.name for name, array in graph.initializers.items()}
    assert kept["conv1/bias"] == kept["layer1/kernel/folded_bias"] == "float32"
    assert [name for name, dtype in kept.items() if dtype == form] == [
        f"{name}/{form}" for name in ("conv1/kernel", "layer1/kernel", "answer/kernel")
    ]


# -- the format --


def test_a_preview_says_what_is_in_the_file(tmp_path: Path) -> None:
    graph = graph_from_json(NETWORK)
    program, weights = inference(graph)
    program = replace(program, meta={"class_names": '["a"]'})
    model = Exportable("net", graph, {}, make_program=lambda: (program, weights))
    form = format_named("onnx")
    form.write(model, tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    assert form.sniff(content)
    lines = [line for line in form.summary(content) if isinstance(line, str)]
    assert lines[0].startswith("ONNX model, file form 8, operator set 17, written by Glassbox ")
    assert "  x  float32[batch,6,6,2]" in lines
    assert "  Conv: 2" in lines
    assert 'class_names: ["a"]' in lines
    assert form.why_not(model) is None


LACKING = {
    "no max of what is scattered; 18 has": (Scatter, {"reduction": "max"}, (4, 3)),
    "no running prod, .* the axis is 2000 long": (Cumulate, {"op": "prod"}, (2, 2000)),
}


@pytest.mark.parametrize("said", LACKING)
def test_what_an_operator_set_does_not_have_is_refused(said: str) -> None:
    cls, attrs, shape = LACKING[said]
    builder = ProgramBuilder("lacking", "infer")
    refs = [builder.tensor("x", shape, role=Role.INPUT)]
    if cls is Scatter:
        refs.append(builder.tensor("i", shape, DType.int32, Role.INPUT))
        refs.append(builder.tensor("u", shape, role=Role.INPUT))
    made = builder.emit("forward", cls, **dict(zip("xiu", refs, strict=False)), **attrs)
    with pytest.raises(FormatError, match=said):
        onnx_model(builder.finish(tuple(refs), made), {})
