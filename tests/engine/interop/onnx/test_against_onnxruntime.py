"""What is written as ONNX, against onnx' checker and the answers of onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role, TensorMap
from studio.engine.interop.onnx.nodes import entry
from studio.engine.isa.fields import Access
from studio.engine.isa.program import Program
from studio.engine.layers.graph_json import graph_from_json
from tests.engine.conformance.case import Case
from tests.engine.conformance.cases.all_cases import CASES as LINES
from tests.engine.conformance.harness import build, forward_class
from tests.engine.conformance.test_results import expected
from tests.engine.interop.onnx.running import content_of, fed, inference, on_cpu, on_runtime
from tests.recorded.layers.cases import CASES as LAYERS

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
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
