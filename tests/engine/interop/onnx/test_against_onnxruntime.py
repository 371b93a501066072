"""What is written as ONNX, against onnx' checker and the answers of onnxruntime."""

from __future__ import annotations

import types
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ours import graph_of
from benchmarks.workloads import WORKLOADS
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Role, TensorMap, TensorType
from studio.engine.formats.onnx_wire import OPSETS
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.interop.onnx.nodes import entry
from studio.engine.interop.small_weights import WeightForm
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.fields import Access, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf, by_mnemonic
from studio.engine.isa.ops import activation, arithmetic, function, logic, move, reduce
from studio.engine.isa.program import Program
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.inputs import Input
from studio.engine.layers.rescaling import Rescaling
from studio.engine.layers.shaping import Flatten, Reshape
from studio.engine.layers.tied_dense import TiedDense
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from tests.engine.conformance.case import Case
from tests.engine.conformance.cases.all_cases import CASES as LINES
from tests.engine.conformance.harness import build, forward_class
from tests.engine.conformance.test_results import expected
from tests.engine.conformance.test_whole_numbers import CASES as WHOLE
from tests.engine.interop.onnx.running import (
    content_of,
    fed,
    inference,
    on_cpu,
    on_runtime,
    small_inference,
)
from tests.engine.registered import registered_meanwhile
from tests.recorded.layers.cases import ACTIVATIONS, chain
from tests.recorded.layers.cases import CASES as LAYERS

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
PROJECTS = sorted((Path(__file__).parents[4] / "projects").glob("*/*.glassbox"))
WEIGHTS = ("w", "b", "gamma", "beta", "mean", "var", "table")


def written(case: Case) -> bool:
    cls = forward_class(case)
    if entry(cls) is None or (
        cls.mnemonic.startswith("BATCHNORM") and not case.attrs.get("frozen")
    ):
        return False
    # What is computed in the halves of float32 is no file of ours.
    return not any(t.dtype is DType.float16 for t in build(case).tensors.values())


def as_program(case: Case) -> tuple[Program, dict[str, np.ndarray], list[np.ndarray]]:
    """The case as an inference program, its weights and what it is fed."""
    built, values = build(case), case.values()
    tensors = dict(built.tensors)
    weights: dict[str, np.ndarray] = {}
    inputs: dict[int, np.ndarray] = {}
    for name in case.operands:
        arrays = values[name] if isinstance(values[name], list) else [values[name]]
        for ref, array in zip(built.named[name], arrays, strict=True):
            fixed = name in WEIGHTS and case.mnemonic not in ("ADD", "MUL")
            fixed = fixed and not (
                name == "b" and case.mnemonic not in ("LINEAR", "CONV2D", "DEPTHWISE_CONV2D")
            )
            role = Role.PARAM if fixed else Role.INPUT
            tensors[ref.id] = tensors[ref.id].replace(role=role)
            if fixed:
                weights[tensors[ref.id].name] = array
            else:
                inputs[ref.id] = array
    outputs = tuple(
        r.id for s, r in built.ins.named_operands() if s.access is Access.WRITE and r.present
    )
    program = Program(
        "case",
        "infer",
        TensorMap(tensors.values()),
        {"forward": (built.ins,)},
        tuple(inputs),
        outputs,
    )
    return program, weights, list(inputs.values())


@pytest.mark.parametrize("case", [case for case in LINES if written(case)], ids=str)
def test_an_instruction_answers_as_the_reference(case: Case) -> None:
    program, weights, rows = as_program(case)
    newer = case.attrs.get("reduction") in ("max", "min")
    answers = on_runtime(content_of(program, weights, opset=18 if newer else 17), rows)
    wanted = expected(case)
    made = build(case).ins.named_operands()
    names = [s.name for s, ref in made if s.access is Access.WRITE and ref.present]
    for found, name in zip(answers, names, strict=True):
        np.testing.assert_allclose(
            found.astype(float),
            wanted[name],
            rtol=max(case.rtol, 1e-5),
            atol=max(case.atol, 1e-5),
            err_msg=name,
        )


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_answers_as_on_the_cpu(name: str) -> None:
    program, weights = inference(graph_from_json(LAYERS[name]))
    content = content_of(program, weights)
    for count in (1, 7):
        rows = fed(program, count)
        for one, other in zip(
            on_cpu(program, weights, rows), on_runtime(content, rows), strict=True
        ):
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", ["residual", "global_average_keep", "masking"])
def test_every_operator_set_answers_alike(name: str, opset: int) -> None:
    program, weights = inference(graph_from_json(LAYERS[name]))
    rows = fed(program, 4)
    (wanted,) = on_cpu(program, weights, rows)
    (found,) = on_runtime(content_of(program, weights, opset=opset), rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_answers_alike_behind_a_convolution(name: str, opset: int) -> None:
    graph = graph_from_json(
        chain(
            [5, 5, 2],
            ("Conv2D", {"filters": 3, "kernel_size": 2, "activation": name}),
            ("MaxPooling2D", {}),
        )
    )
    program, weights = inference(graph)
    rows = fed(program, 3)
    (wanted,) = on_cpu(program, weights, rows)
    (found,) = on_runtime(content_of(program, weights, opset=opset), rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize(
    "name", ["residual", "depthwise_multiplier_same", "dense_sequence", "shared", "dense"]
)
def test_small_weights_answer_as_what_they_are_widened_to(name: str, form: WeightForm) -> None:
    small, kept, program, weights = small_inference(graph_from_json(LAYERS[name]), form)
    rows = fed(program, 4)
    (wanted,) = on_cpu(program, weights, rows)
    (found,) = on_runtime(content_of(small, kept), rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_the_sample_projects_answer_as_on_the_cpu(path: Path) -> None:
    task = Task.of_project(Project.load(path))
    program, weights = inference(task.graph, data=task.spec)
    content = content_of(program, weights, facts=task.facts)
    for count in (1, 7):
        rows = fed(program, count)
        wanted = on_cpu(program, weights, rows)
        for one, other in zip(wanted, on_runtime(content, rows), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("work", ["W1", "W2", "W3", "W4"])
def test_the_benchmark_networks_answer_as_on_the_cpu(work: str) -> None:
    program, weights = inference(graph_of(WORKLOADS[work]))
    content = content_of(program, weights)
    rows = fed(program, 2)
    (wanted,) = on_cpu(program, weights, rows)
    (found,) = on_runtime(content, rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def ask(cls: type[Instruction], rows: list[np.ndarray]) -> np.ndarray:
    """What onnxruntime makes of one element-wise instruction."""
    builder = ProgramBuilder("asked", "infer")
    names = [spec.name for spec in cls.operand_fields if spec.access is Access.READ]
    refs = [
        builder.tensor(name, (BATCH, *row.shape[1:]), DType.of(row.dtype), Role.INPUT)
        for name, row in zip(names, rows, strict=True)
    ]
    made = builder.emit("forward", cls, **dict(zip(names, refs, strict=True)))
    program = builder.finish(tuple(refs), made)
    return on_runtime(content_of(program, {}), rows)[0]


SPECIAL = {
    "isnan": "1.0 if isnan({}) else 0.0",
    "isfinite": "1.0 if isfinite({}) else 0.0",
    "float": "float({} > 0.5)",
    "int": "float(int({}))",
}
"""Formulas for functions whose value is no float."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_formulas_answers_as_it_says(name: str) -> None:
    function = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    near = rng.uniform(-1, 1, 40) * 10.0 ** rng.integers(-6, 1, 40)
    rows = [np.concatenate([near, rng.uniform(-4, 4, 60)]) for _ in range(function.arity)]
    if name in ("log", "sqrt", "rsqrt", "log1p", "pow", "one_minus_pow"):
        rows[0] = np.abs(rows[0]) * (0.2 if name == "one_minus_pow" else 1.0) + 1e-6
    if name == "one_minus_pow":
        rows[1] = np.ceil(np.abs(rows[1]) + 0.1)
    if name in ("isnan", "isfinite"):
        rows[0][:3] = np.nan, np.inf, -np.inf
    rows = [row.astype(np.float32)[:, None] for row in rows]
    operands = ["x"] if function.arity == 1 else ["a", "b", "c"][: function.arity]
    formula = SPECIAL.get(name, f"{name}({', '.join('{}' for _ in operands)})")
    if function.bits:
        rows = [np.trunc(row * 8) for row in rows]
        formula = f"float({name}({', '.join('int({})' for _ in operands)}))"
    with registered_meanwhile():
        fields = {operand: reads("Operand.") for operand in operands}

        def infer(self: Instruction, of: TypeOf) -> tuple[TensorType, ...]:
            return (of(self.operands[0]),)

        body = {
            **fields, "y": writes("Result."), "formula": formula.format(*operands), "infer": infer,
            "__doc__": "Asked.",
        }  # fmt: skip
        for field, value in body.items():
            if hasattr(value, "__set_name__"):
                value.__set_name__(Instruction, field)
        asked = types.new_class(
            "Asked", (Instruction,), {"code": 498, "mnemonic": "ASKED", "category": "function"},
            lambda namespace: namespace.update(body),
        )  # fmt: skip
        found = ask(asked, rows)
    columns = zip(*(row[:, 0].astype(float).tolist() for row in rows), strict=True)
    if name == "float":
        wanted = [float(x > 0.5) for (x,) in columns]
    else:
        of = int if function.bits else float
        wanted = [float(function.meaning(*map(of, values))) for values in columns]
    np.testing.assert_allclose(found[:, 0], wanted, rtol=2e-5, atol=2e-7)


def odd_networks() -> list[LayerGraph]:
    """Networks with unusual names, outputs and inputs."""
    found = [LayerGraph('odd " \\\n\u202e\u4e2d \ud800 \x00'), LayerGraph("")]
    for graph in found:
        x = graph.add(Input((4,), name="same"))
        y = graph.add(Dense(3, name="gr\u00f6\u00dfe.x-1"), x)
        # An input that is an output, and an output that is two.
        graph.outputs = (x, y, y, graph.add(Dense(2, name="int64"), y))
    whole = LayerGraph("whole")
    x = whole.add(Input((4, 4, 2), name="a", dtype="int32"))
    z = whole.add(Input((4, 4, 2), name="b", dtype="int32"))
    whole.outputs = (
        whole.add(Rescaling(1 / 255, name="r"), x), whole.add(Flatten(name="f"), z),
        whole.add(Reshape((8, 4), name="s"), x),
    )  # fmt: skip
    tied = LayerGraph("tied")
    x = tied.add(Input((4,), name="a"))
    code = tied.add(Dense(2, name="code"), x)
    tied.outputs = (tied.add(TiedDense(units=4, tied_to="code", name="back"), code),)
    inner = LayerGraph("inner")
    x = inner.add(Input((4, 4, 2), name="a"))
    picture = inner.add(Conv2D(3, 2, name="c"), x)
    flat = inner.add(Flatten(name="flat"), picture)
    inner.outputs = (picture, flat, inner.add(Reshape((9, 3), name="rows"), flat))
    return [*found, whole, tied, inner]


@pytest.mark.parametrize("graph", odd_networks(), ids=lambda graph: ascii(graph.name))
def test_odd_networks_answer_as_on_the_cpu(graph: LayerGraph) -> None:
    program, weights = inference(graph)
    content = content_of(program, weights)
    for count in (1, 7):
        rows = fed(program, count)
        for one, other in zip(
            on_cpu(program, weights, rows), on_runtime(content, rows), strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["residual", "depthwise", "average_pool_same", "masking"])
def test_the_reference_evaluator_answers_alike(name: str) -> None:
    import onnx.reference

    program, weights = inference(graph_from_json(LAYERS[name]))
    rows = fed(program, 3)
    (wanted,) = on_cpu(program, weights, rows)
    model = onnx.load_model_from_string(content_of(program, weights))
    evaluator = onnx.reference.ReferenceEvaluator(model)
    (found,) = evaluator.run(None, dict(zip(evaluator.input_names, rows, strict=True)))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


STORED: list[tuple[type[Instruction], tuple[str, ...], dict[str, object]]] = [
    *((move.Pad, (dtype,), {"pads": (0, 0, 1, 0, 0, 2)}) for dtype in ("int32", "uint8", "bool")),
    *((move.Concat, (dtype, dtype), {"axis": 1}) for dtype in ("uint8", "bool", "float16")),
    *((move.Slice, (dtype,), {"begin": (0, 1, 0), "size": (-1, 2, -1)})
      for dtype in ("uint8", "bool")),
    *((move.Copy, (dtype,), {}) for dtype in ("int32", "uint8", "bool", "float16")),
    *((move.Cast, (dtype,), {"dtype": to}) for dtype in ("float32", "int32", "uint8", "bool")
      for to in ("float32", "int32", "uint8", "bool")),
    *((arithmetic.Select, ("bool", dtype, dtype), {}) for dtype in ("int32", "uint8", "bool")),
    *((arithmetic.Equal, (dtype, dtype), {}) for dtype in ("int32", "uint8", "bool", "float16")),
    *((cls, (dtype, dtype), {}) for cls in (arithmetic.Add, arithmetic.Mul, arithmetic.Maximum,
      arithmetic.Greater) for dtype in ("int32", "uint8", "float16")),
    *((logic.BitAnd, (dtype, dtype), {}) for dtype in ("int32", "uint8")),
    *((logic.BitShift, ("uint8", "int32"), {"direction": to}) for to in ("left", "right")),
    (logic.BitNot, ("uint8",), {}),
    *((function.Clip, (dtype,), {"low": 1, "high": 3}) for dtype in ("int32", "uint8", "float16")),
    *((activation.Relu, (dtype,), {}) for dtype in ("int32", "uint8", "float16")),
    *((reduce.ReduceMax, (dtype,), {"axes": (1,)}) for dtype in ("int32", "uint8", "bool")),
    *((reduce.ArgMax, (dtype,), {}) for dtype in ("int32", "uint8", "bool")),
    (activation.Sigmoid, ("float16",), {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "dtypes", "attrs"), STORED, ids=lambda each: getattr(each, "mnemonic", None)
)
def test_storage_types_answer_as_on_the_cpu(
    cls: type[Instruction], dtypes: tuple[str, ...], attrs: dict[str, object]
) -> None:
    builder = ProgramBuilder("asked", "infer")
    specs = [spec for spec in cls.operand_fields if spec.access is Access.READ]
    refs = [builder.tensor(f"i{k}", (BATCH, 3, 4), DType.parse(dtype), Role.INPUT)
            for k, dtype in enumerate(dtypes)]  # fmt: skip
    named = {s.name: tuple(refs) if s.variadic else r for s, r in zip(specs, refs, strict=False)}
    made = builder.emit("forward", cls, **named, **attrs)
    program = builder.finish(tuple(refs), made)
    rows = [np.asarray(row % 2 if dtype == "bool" else row, dtype)
            for row, dtype in zip(fed(program, 5), dtypes, strict=True)]  # fmt: skip
    (wanted,) = on_cpu(program, {}, rows)
    (found,) = on_runtime(content_of(program, {}), rows)
    assert found.dtype.name == program.tensors[made[0].id].dtype.name
    slack = 1e-3 if "float16" in dtypes else 1e-5
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=slack, atol=slack)


@pytest.mark.parametrize(
    "name",
    ["add", "multiply", "quotient", "quotient-by-0", "rest", "rest-by-0", "bits-of-both",
     "bits-of-either", "bits-over", "left", "right", "negate", "larger", "at-least"],
)  # fmt: skip
def test_whole_numbers_wrap_as_numpy_does(name: str) -> None:
    mnemonic, operands, attrs, wanted = WHOLE[name]
    cls = by_mnemonic(mnemonic)
    assert cls is not None
    builder = ProgramBuilder("asked", "infer")
    rank = max(values.ndim for values in operands.values())
    rows = [np.atleast_2d(v) if rank > 1 else v for v in operands.values()]
    # The first dimension is the batch, so what is repeated along it is given as often.
    rows = [np.repeat(row, 12 // len(row), axis=0) for row in rows]
    refs = {
        operand: builder.tensor(operand, (BATCH, *row.shape[1:]), DType.int32, Role.INPUT)
        for operand, row in zip(operands, rows, strict=True)
    }
    made = builder.emit("forward", cls, **refs, **attrs)
    program = builder.finish(tuple(refs.values()), made)
    (found,) = on_runtime(content_of(program, {}), rows)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, wanted())
