"""Checks of a state: one error at the first layer whose rule fails, the rest waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from studio.engine.core.tensor import Shape, TensorType
from studio.engine.train.project.plugin_use import missing_settings
from studio.session.document.checks.data_checks import input_problems, output_problems
from studio.session.document.checks.lengths import (
    length_problems,
    shown_types,
    with_lengths_of,
)
from studio.session.document.checks.rule_checks import layer_problem, shared_problems
from studio.session.document.edits.sections import training_of
from studio.session.document.flow import Flow, absent_output, flow_of
from studio.session.document.layer_types import is_input, is_known, layer_at
from studio.session.document.report import DataFacts, NodeStatus, Problem, Report
from studio.session.document.resolve import Resolved, resolve
from studio.session.document.state import CanvasNode, DocumentState


def validate(state: DocumentState, facts: DataFacts | None = None) -> Report:
    """What is right and wrong with a state, given what is known of the data.

    Lengths that an input leaves open are those of the data; without data shapes say ``UNKNOWN``.
    """
    stated = state
    if facts is not None:
        facts = facts.under(state.data)
        state = with_lengths_of(state, facts)
    flow, resolved = flow_of(state), resolve(state)
    shown = shown_types(state)
    statuses: dict[str, NodeStatus] = {}
    problems: list[Problem] = []
    for node_id in flow.order:
        status, problem = _node_status(state, state.nodes[node_id], flow, resolved, shown)
        statuses[node_id] = status
        if problem is not None:
            problems.append(problem)
    broken = {problem.node for problem in problems}
    problems += (p for p in _network_problems(state, resolved) if p.node not in broken)
    problems += _absent_outputs(state, resolved, flow)
    problems += (p for p in shared_problems(state, flow) if p.node in resolved.reached)
    problems += length_problems(stated, has_data=state.data is not None)
    problems += _missing_problems(state)
    totals = _totals(state, flow, resolved)
    if facts is not None:
        problems += input_problems(state, resolved, flow, facts)
        problems += output_problems(state, resolved, flow, facts)
        problems += _nothing_to_train(state, resolved, totals)
    problems += _left_out_problems(state, resolved)
    for problem in problems:
        if problem.node:
            statuses[problem.node] = _marked(statuses[problem.node], problem)
    return Report(
        MappingProxyType(statuses),
        _in_order(problems, flow.order),
        tuple(i for i in flow.order if i in resolved.reached),
        resolved.outputs,
        totals,
    )


def _node_status(
    state: DocumentState,
    node: CanvasNode,
    flow: Flow,
    resolved: Resolved,
    shown: Mapping[str, tuple[TensorType, ...]],
) -> tuple[NodeStatus, Problem | None]:
    found = flow.outcomes.get(node.id)
    types = shown.get(node.id, () if found is None else found.types)
    shape = types[0].sample if types else None
    shapes = tuple(each.sample for each in types) if len(types) > 1 else ()
    count = None if found is None else found.parameters
    if count is not None and state.counted_at(node.id) != node.id:
        count = 0
    unknown = node.is_layer and not is_known(node.type_name)
    if not _takes_part(state, node, resolved):
        if not unknown:
            return NodeStatus("unreached", shape, count, "not reached", shapes, False), None
    elif node.id in flow.waiting:
        names = " and ".join(state.nodes[i].name for i in flow.waiting[node.id][:3])
        return NodeStatus("waiting", None, None, f"waiting for {names}"), None
    return NodeStatus("ok", shape, count, shapes=shapes), layer_problem(state, node, flow)


def _takes_part(state: DocumentState, node: CanvasNode, resolved: Resolved) -> bool:
    if node.id in resolved.inputs:
        return node.id in resolved.reached
    waiting, seen = [node.id], set[str]()
    while waiting:
        at = waiting.pop()
        if at in resolved.reached:
            return True
        if at in seen or (at in resolved.inputs and at != node.id):
            continue
        seen.add(at)
        waiting += [wire.target for wire in state.wires_from(at)]
    return any(port.node == node.id for port in state.outputs)


def _marked(status: NodeStatus, problem: Problem) -> NodeStatus:
    """The status of a layer at which a problem was found; the first error has the word."""
    if status.state == "error" or (status.state == "warning" and problem.severity == "warning"):
        return status
    return replace(status, state=problem.severity, message=problem.message)


def _in_order(problems: Iterable[Problem], order: Iterable[str]) -> tuple[Problem, ...]:
    """Errors first, each in running order, those of the whole network at the end."""
    place = {node_id: index for index, node_id in enumerate(order)}
    last = len(place)
    return tuple(sorted(problems, key=lambda p: (p.severity != "error", place.get(p.node, last))))


def _nothing_to_train(
    state: DocumentState, resolved: Resolved, totals: tuple[int, int] | None
) -> Iterator[Problem]:
    if totals is not None and totals[0] == 0 and resolved.outputs:
        frozen = [i for i in resolved.inputs if i in resolved.reached and state.nodes[i].frozen]
        last = frozen[-1] if frozen else resolved.outputs[0].node
        reason = "all parameters are frozen" if totals[1] else "no layer has parameters"
        yield Problem(
            "training.nothing_to_train", "error", last,
            f"there is nothing to train: {reason}",
            "make a layer trainable" if totals[1] else "add a layer with parameters",
        )  # fmt: skip


def _totals(state: DocumentState, flow: Flow, resolved: Resolved) -> tuple[int, int] | None:
    """Trained and other numbers of what runs; a shared layer counts once, None while unknown."""
    trained = other = 0
    counted: set[str] = set()
    for node_id in resolved.inputs:
        if node_id not in resolved.reached:
            continue
        node, found = state.nodes[node_id], flow.outcomes.get(node_id)
        if found is None or found.parameters is None:
            return None
        owner = node.shares or node.id
        if owner not in counted:
            counted.add(owner)
            learned = _trained(node, flow) if found.parameters else 0
            trained, other = trained + learned, other + found.parameters - learned
    return trained, other


def _trained(node: CanvasNode, flow: Flow) -> int:
    if node.frozen:
        return 0
    shapes: list[Shape] = [s for i in node.inputs if (s := flow.shape(i)) is not None]
    return sum(p.size for p in layer_at(node).parameters(*shapes) if not p.state)


def _network_problems(state: DocumentState, resolved: Resolved) -> Iterator[Problem]:
    """What keeps the network from having an input and an output."""
    entries = [i for i in resolved.inputs if is_input(state.nodes[i])]
    if not entries:
        yield Problem(
            "network.no_input", "error", next(iter(_roots(state, resolved)), ""),
            "the network needs an Input layer", "add an Input with the shape of one sample",
        )  # fmt: skip
    elif not resolved.outputs and resolved.ends:
        names = _listed([state.called(i) for i in resolved.ends])
        yield Problem(
            "network.several_ends", "error", resolved.ends[-1],
            f"none of the end layers is marked as output: {names}",
            "mark one or more as outputs, or merge them",
        )  # fmt: skip
    elif not resolved.outputs:
        yield Problem(
            "network.no_layers", "error", entries[0], "nothing is connected to the input",
            "connect a layer to it",
        )  # fmt: skip


def _absent_outputs(state: DocumentState, resolved: Resolved, flow: Flow) -> Iterator[Problem]:
    """Outputs of the network that their layers do not have."""
    for port in resolved.outputs:
        types = flow.outcomes[port.node].types if port.node in flow.outcomes else ()
        if types and flow.type_at(port) is None:
            name = state.nodes[port.node].name
            error = absent_output(port, len(types), name, name)
            yield Problem(
                "output.absent", "error", port.node, error.message, "mark another as output"
            )


def _left_out_problems(state: DocumentState, resolved: Resolved) -> Iterator[Problem]:
    """Layers wired to each other that no data reaches; single ones lie ready and are no problem."""
    if not resolved.outputs:
        return
    followers: dict[str, list[str]] = {}
    for node_id, sources in resolved.inputs.items():
        for source, _ in sources:
            followers.setdefault(source, []).append(node_id)
    for root in _roots(state, resolved):
        if root in resolved.reached or root not in followers:
            continue
        chain, waiting = [], [root]
        while waiting:
            at = waiting.pop(0)
            if at not in chain and at not in resolved.fed:
                chain.append(at)
                waiting += followers.get(at, ())
        if len(chain) > 1:
            names = _listed([state.called(i) for i in chain])
            yield Problem(
                "link.unfed", "warning", root,
                f"no data reaches {names}",
                "connect them, or delete them", 0,
            )  # fmt: skip


def _missing_problems(state: DocumentState) -> Iterator[Problem]:
    """What the training settings have of plugins that are not loaded."""
    found: dict[str, list[str]] = {}
    for each in missing_settings(training_of(state)):
        found.setdefault(str(each.home), []).append(type(each).__name__)
    for number, (plugin, names) in enumerate(found.items()):
        parts = _listed(names)
        verb = "is" if len(names) == 1 else "are"
        yield Problem(
            f"training.plugin.{number}", "error", "",
            f"{plugin} is not loaded; {parts} of the training settings {verb} part of it",
            "turn the plugin on in the preferences, or choose other settings",
        )  # fmt: skip


def _roots(state: DocumentState, resolved: Resolved) -> list[str]:
    """Layers that nothing feeds and that are no inputs."""
    return [
        i
        for i, sources in resolved.inputs.items()
        if not sources and not is_input(state.nodes[i]) and is_known(state.nodes[i].type_name)
    ]


def _listed(names: list[str], most: int = 4) -> str:
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 2 else names)
