"""Checks of a state: one error at the first layer whose rule fails, the rest waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from studio.engine.core.errors import ShapeError, StudioError
from studio.engine.core.tensor import Shape
from studio.graph_editor.model.flow import Flow, flow_of
from studio.graph_editor.model.layer_types import arity, is_input, is_known, layer_at
from studio.graph_editor.model.report import DataFacts, NodeStatus, Problem, Report
from studio.graph_editor.model.resolve import Resolved, resolve
from studio.graph_editor.model.state import CanvasNode, DocumentState


def validate(state: DocumentState, facts: DataFacts | None = None) -> Report:
    """What is right and wrong with a state, given what is known of the data."""
    del facts
    flow, resolved = flow_of(state), resolve(state)
    problems: list[Problem] = []
    statuses: dict[str, NodeStatus] = {}
    for node_id in flow.order:
        node = state.nodes[node_id]
        status, problem = _node_status(state, node, flow, resolved)
        statuses[node_id] = status
        if problem is not None:
            problems.append(problem)
    if not any(p.severity == "error" for p in problems):
        problems += _whole(state, resolved)
    order = tuple(i for i in flow.order if i in resolved.reached)
    return Report(
        MappingProxyType(statuses),
        tuple(problems),
        order,
        resolved.outputs,
        _totals(state, order, flow),
    )


def _node_status(
    state: DocumentState, node: CanvasNode, flow: Flow, resolved: Resolved
) -> tuple[NodeStatus, Problem | None]:
    found = flow.outcomes.get(node.id)
    shape = None if found is None else found.shape
    count = None if found is None or node.shares else found.parameters
    count = 0 if node.shares and shape is not None else count
    if not _takes_part(state, node, resolved):
        return NodeStatus("unreached", shape, count, "not reached"), None
    if node.id in flow.waiting:
        names = " and ".join(state.nodes[i].name for i in flow.waiting[node.id])
        return NodeStatus("waiting", None, None, f"waiting for {names}"), None
    problem = _rule_problem(node, flow)
    if problem is not None:
        return NodeStatus("error", None, None, problem.message), problem
    return NodeStatus("ok", shape, count), None


def _takes_part(state: DocumentState, node: CanvasNode, resolved: Resolved) -> bool:
    if node.id in resolved.inputs:
        return node.id in resolved.reached
    return any(wire.target in resolved.reached for wire in state.wires_from(node.id))


def _rule_problem(node: CanvasNode, flow: Flow) -> Problem | None:
    found = flow.outcomes.get(node.id)
    if found is None:
        low = arity(node)[0]
        need = f"expected {low} connected input{'' if low == 1 else 's'}, got {len(node.inputs)}"
        return Problem("link.missing", "error", node.id, need, "connect a layer to it")
    if found.error is not None:
        return Problem(
            _rule_id(found.error), "error", node.id, found.error.message, found.error.hint
        )
    return None


def _rule_id(error: StudioError) -> str:
    return "shape" if isinstance(error, ShapeError) else error.code


def _whole(state: DocumentState, resolved: Resolved) -> Iterator[Problem]:
    """What is wrong with the network as a whole."""
    entries = [node.id for node in state.layers() if is_input(node)]
    if not entries:
        yield Problem("network.no_input", "error", "", "the network needs an Input layer",
                      "add an Input with the shape of one sample")  # fmt: skip
    elif not resolved.outputs and len(resolved.ends) > 1:
        names = " and ".join(state.nodes[i].name for i in resolved.ends)
        yield Problem("network.several_ends", "error", resolved.ends[-1],
                      f"the network ends at {names}", "mark one as output")  # fmt: skip
    elif not resolved.outputs:
        yield Problem("network.no_output", "error", entries[0], "nothing follows the input",
                      "add a layer after it")  # fmt: skip


def _totals(state: DocumentState, order: Iterable[str], flow: Flow) -> tuple[int, int] | None:
    """Trained and other numbers; a shared layer counts once."""
    trained = other = 0
    counted: set[str] = set()
    for node_id in order:
        node, found = state.nodes[node_id], flow.outcomes.get(node_id)
        if found is None or found.parameters is None:
            return None
        owner = node.shares or node.id
        if owner in counted or not is_known(node.type_name):
            continue
        counted.add(owner)
        learned = _trained(node, flow)
        trained, other = trained + learned, other + found.parameters - learned
    return trained, other


def _trained(node: CanvasNode, flow: Flow) -> int:
    if node.frozen:
        return 0
    shapes: list[Shape] = [s for i in node.inputs if (s := flow.shape(i)) is not None]
    return sum(p.size for p in layer_at(node).parameters(*shapes) if not p.state)
