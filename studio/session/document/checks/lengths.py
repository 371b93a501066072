"""Inputs of unknown length: bound to the data where there is data, else said at the input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import OpenShape, TensorType
from studio.engine.layers.graph import Port, require_same_parameters
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import shape_text
from studio.engine.layers.lengths import fits, reported, tried_shapes
from studio.session.document.edits.layers import set_option
from studio.session.document.flow import Flow, flow_of
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.report import DataFacts, Problem
from studio.session.document.state import DocumentState


def open_inputs(state: DocumentState) -> dict[str, OpenShape]:
    """Shapes of the inputs that have unknown lengths, by id; looked for once for each state."""
    known: dict[str, OpenShape] | None = state.__dict__.get("_open_inputs")
    if known is not None:
        return known
    layers = ((node.id, layer_at(node)) for node in state.layers() if is_input(node))
    found = {i: la.shape for i, la in layers if isinstance(la, Input) and la.has_unknown_lengths}
    state.__dict__["_open_inputs"] = found
    return found


def with_lengths_of(state: DocumentState, facts: DataFacts) -> DocumentState:
    """The state with the lengths of its data in place of unknown ones, where its data fits."""
    given = {each.name: each.shape for each in facts.inputs}
    for node_id, shape in open_inputs(state).items():
        found = given.get(state.nodes[node_id].name) if facts.inputs else facts.sample_shape
        if found is not None and fits(shape, found):
            state = set_option(state, node_id, "shape", list(found))
    return state


def shown_types(state: DocumentState) -> dict[str, tuple[TensorType, ...]]:
    """Types of the outputs of layers as people read them; only where a length is unknown."""
    if not open_inputs(state):
        return {}
    second = other_flow(state).outcomes
    found: dict[str, tuple[TensorType, ...]] = {}
    for node_id, outcome in flow_of(state).outcomes.items():
        others = second[node_id].types if node_id in second else ()
        if len(others) == len(outcome.types):
            found[node_id] = tuple(map(reported, outcome.types, others))
    return found


def shown_type(state: DocumentState, port: Port) -> TensorType | None:
    """Type of an output as people read it, if it is known."""
    found = flow_of(state).type_at(port)
    types = shown_types(state).get(port.node, ())
    return types[port.output] if found is not None and port.output < len(types) else found


def length_problems(state: DocumentState, *, has_data: bool) -> Iterator[Problem]:
    """Inputs whose length nothing says, and layers whose weights would depend on one.

    Args:
        state: the document, its inputs as they are stated.
        has_data: whether there is data that says lengths, or is about to.
    """
    unknown = open_inputs(state)
    if not unknown:
        return
    for node_id, shape in () if has_data else unknown.items():
        yield Problem(
            "input.unknown_length", "error", node_id,
            f"its shape {shape_text(shape)} has an unknown length",
            "choose data, which has a length, or put a number in place of None",
        )  # fmt: skip
    names = {state.nodes[i].name: shape for i, shape in unknown.items()}
    first, second = flow_of(state), other_flow(state)
    for node_id, outcome in first.outcomes.items():
        other = second.outcomes.get(node_id)
        if other is None or outcome.parameters == other.parameters:
            continue
        node = state.nodes[node_id]
        here, there = (tuple(t.sample for t in f.types(node.inputs)) for f in (first, second))
        try:
            require_same_parameters(layer_at(node), here, there, partial(dict, names))
        except StudioError as error:
            yield Problem("shape.unknown_length", "error", node_id, error.message, error.hint)


def other_flow(state: DocumentState) -> Flow:
    """What flows through the wires with other numbers in place of unknown lengths.

    That of the state itself where all lengths are known; worked out once for each state.
    """
    found = state.__dict__.get("_other_flow")
    if isinstance(found, Flow):
        return found
    other = state
    for node_id, shape in open_inputs(state).items():
        other = set_option(other, node_id, "shape", list(tried_shapes(shape)[1]))
    made = flow_of(other)
    state.__dict__["_other_flow"] = made
    return made
