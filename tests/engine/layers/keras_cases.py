"""Runs a recorded layer case through lowering, differentiation and the float64 interpreter."""

from __future__ import annotations

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.named_parameters import NamedParameter, named_parameters
from studio.engine.layers.weights import to_public
from tests.engine.oracle.interpreter import Interpreter
from tests.recorded.layers.cases import BATCH, CASES, Array, draw


def drawn_parameters(case: str, graph: LayerGraph, program: Program) -> dict[str, Array]:
    """Stored values of all parameters and statistics, drawn in their public form."""
    found = {}
    for tensor in program.of_role(Role.PARAM, Role.STATE):
        drawn = draw(case, tensor.name, owned(graph, tensor.name).public_shape)
        # Only dense kernels are stored otherwise.
        found[tensor.name] = drawn if drawn.shape == tensor.shape and drawn.ndim != 2 else drawn.T
    return found


def owned(graph: LayerGraph, name: str) -> NamedParameter:
    """The parameter of that name."""
    return next(each for each in named_parameters(graph) if each.name == name)


def run_case(case: str) -> dict[str, Array]:
    """The arrays a recording holds for the case, computed here."""
    graph = graph_from_json(CASES[case])
    inference = lower(graph, "infer")
    program = lower(graph, "train", loss="mse").with_sections(metrics=())
    inputs = [Ref(t) for t in range(len(graph.inputs))]
    program = differentiate(program, wrt=inputs)
    values = drawn_parameters(case, graph, program)
    for node, ref in zip(graph.inputs, inputs, strict=True):
        shape = (BATCH, *program.tensors[ref.id].shape[1:])
        values[program.tensors[ref.id].name] = draw(case, node.id, shape)
    quiet = Interpreter(inference, BATCH)
    quiet.run({n: v for n, v in values.items() if inference.tensors.has_name(n)})
    found = {"inference": quiet.get(Ref(inference.outputs[0]))}
    (target,) = program.of_role(Role.TARGET)
    values[target.name] = draw(case, "target", found["inference"].shape)
    machine = Interpreter(program, BATCH)
    machine.run(values)
    prediction, total = program.outputs
    found["training"] = machine.get(Ref(prediction))
    found["loss"] = machine.get(Ref(total))
    for tensor in program.of_role(Role.PARAM, Role.STATE):
        own = owned(graph, tensor.name)
        if tensor.role is Role.STATE or not tensor.trainable:
            value = machine.get(tensor.ref)
            found[f"after:{tensor.name}"] = to_public(own.layer, own.parameter, value)
        else:
            value = machine.get(tensor.ref.gradient)
            found[f"grad:{tensor.name}"] = to_public(own.layer, own.parameter, value)
    for node, ref in zip(graph.inputs, inputs, strict=True):
        found[f"grad:{node.id}"] = machine.get(ref.gradient)
    return found
