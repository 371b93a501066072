"""The recorded layer cases on the CPU backend: outputs, and gradients as one step of descent."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.weights import to_public
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.layers.keras_cases import drawn_parameters, owned
from tests.engine.layers.test_layers_match_keras import recorded
from tests.recorded.layers.cases import BATCH, CASES, Array, draw


def run_on_cpu(case: str, graph: LayerGraph, program: Program) -> tuple[Array, dict[str, Array]]:
    """The first output, and how far each parameter (or statistic) went, in public form."""
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, BATCH)
    start = drawn_parameters(case, graph, program)
    for name, value in start.items():
        session.write(name, value.astype(np.float32))
    if program.tensors.has_name("train/rates"):
        session.write("train/rates", np.ones(256, np.float32))
    for tensor in (program.tensors[i] for i in program.inputs):
        name = "target" if tensor.role is Role.TARGET else tensor.name.split("/")[0]
        shape = (BATCH, *tensor.shape[1:])
        executable.feed(tensor.id, draw(case, name, shape).astype(np.float32))
    executable.run()
    output = executable.fetch(Ref(program.outputs[0])).result().astype(np.float64)
    moved = {}
    for name in start:
        tensor = program.tensors.named(name)
        value = session.read(name).result().astype(np.float64)
        change = value if tensor.role is Role.STATE else start[name] - value
        own = owned(graph, name)
        moved[name] = to_public(own.layer, own.parameter, change)
    backend.close()
    return output, moved


def near(found: Array, wanted: Array, name: str) -> None:
    slack = 2e-6 * max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=slack, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_outputs_and_gradients_are_those_of_keras(case: str) -> None:
    graph, wanted = graph_from_json(CASES[case]), recorded()[case]
    output, _ = run_on_cpu(case, graph, lower(graph, "infer"))
    near(output, wanted["inference"], "inference")
    program = lower(graph, "train", loss="mse")
    trained = [t for t in program.of_role(Role.PARAM) if t.trainable]
    if trained:
        program = emit_updates(differentiate(program), SGD(1.0))
    output, moved = run_on_cpu(case, graph, program)
    near(output, wanted["training"], "training")
    for tensor in trained:
        near(moved[tensor.name], wanted[f"grad:{tensor.name}"], tensor.name)
    for tensor in program.of_role(Role.STATE):
        near(moved[tensor.name], wanted[f"after:{tensor.name}"], tensor.name)
