"""What is written as ONNX, against onnx' checker and the answers of onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.ours import graph_of
from benchmarks.workloads import WORKLOADS
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role, TensorMap
from studio.engine.formats.onnx_wire import OPSETS
from studio.engine.interop.onnx.nodes import entry
from studio.engine.interop.small_weights import WeightForm
from studio.engine.isa.fields import Access
from studio.engine.isa.program import Program
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from tests.engine.conformance.case import Case
from tests.engine.conformance.cases.all_cases import CASES as LINES
from tests.engine.conformance.harness import build, forward_class
from tests.engine.conformance.test_results import expected
from tests.engine.interop.onnx.running import (
    content_of,
    fed,
    inference,
    on_cpu,
    on_runtime,
    small_inference,
)
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
    (found,) = on_runtime(content_of(program, weights), rows)
    wanted = expected(case)["y"]
    np.testing.assert_allclose(
        found.astype(float), wanted, rtol=max(case.rtol, 1e-5), atol=max(case.atol, 1e-5)
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
