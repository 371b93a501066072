"""What adding a layer would change, before it is added: shapes and numbers of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import Port
from studio.session.document.checks.lengths import shown_type
from studio.session.document.checks.rule_checks import sharing_problem
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.flow import Flow, flow_of
from studio.session.document.resolve import resolve
from studio.session.document.state import DocumentState, Wire


@dataclass(frozen=True)
class AddPreview:
    """What adding something would change.

    Attributes:
        shape: its output shape; None if unknown.
        parameters: how many it would have; None if unknown.
        difference: change of the network's number of parameters; None if either is unknown.
        message: why it does not fit there; empty when it does.
    """

    shape: Shape | None = None
    parameters: int | None = None
    difference: int | None = None
    message: str = ""

    @property
    def text(self) -> str:
        """The change in words, such as ``+2,320 parameters``; empty if unknown."""
        if self.difference is None:
            return "" if self.parameters is None else _signed(self.parameters)
        return _signed(self.difference)


def preview_chain(
    state: DocumentState,
    layers: Sequence[NewLayer],
    after: str = "",
    *,
    wire: Wire | None = None,
) -> AddPreview:
    """What a chain would give: shape of its end, parameters of all of it."""
    try:
        added = add_chain(state, layers, after=after, wire=wire, at=(0.0, 0.0))
    except StudioError as error:
        return AddPreview(message=error.message)
    flow = flow_of(added.state)
    message = first_message(added.state, added.ids)
    parameters = [
        0 if added.state.nodes[node_id].shares else _parameters(flow, node_id)
        for node_id in added.ids
    ]
    known = [count for count in parameters if count is not None]
    end = shown_type(added.state, Port(added.ids[-1])) if added.ids else None
    if wire is not None and not message:
        target = flow.outcomes.get(wire.target)
        before = flow_of(state).outcomes.get(wire.target)
        if target is not None and target.error and before is not None and not before.error:
            name = state.nodes[wire.target].name
            message = f"{name} would no longer fit: {target.error.message}"
    return AddPreview(
        None if end is None else end.sample,
        sum(known) if len(known) == len(parameters) else None,
        _difference(state, added.state) if wire is not None else None,
        message,
    )


def first_message(state: DocumentState, ids: Sequence[str]) -> str:
    """Why the first of some layers that does not fit does not."""
    flow = flow_of(state)
    for node_id in ids:
        found = flow.outcomes.get(node_id)
        if found is not None and found.error is not None:
            return found.error.message
        problem = sharing_problem(state, state.nodes[node_id], flow)
        if problem is not None:
            return problem.message
    return ""


def preview_edit(before: DocumentState, after: DocumentState) -> AddPreview:
    """The change of the whole network's numbers between two states."""
    fed = resolve(after).fed
    if any(node.is_layer and node.id not in before.nodes and node.id not in fed
           for node in after.nodes.values()):  # fmt: skip
        # Nothing reaches what is new: its numbers are not known, which is not none.
        return AddPreview()
    return AddPreview(difference=_difference(before, after))


def total_parameters(state: DocumentState) -> int | None:
    """Numbers of all layers that take part; None while one of them is unknown."""
    flow, resolved = flow_of(state), resolve(state)
    total = 0
    counted: set[str] = set()
    for node_id in resolved.inputs:
        if node_id not in resolved.fed:
            continue
        count = _parameters(flow, node_id)
        if count is None:
            return None
        owner = state.nodes[node_id].shares or node_id
        total += 0 if owner in counted else count
        counted.add(owner)
    return total


def _difference(before: DocumentState, after: DocumentState) -> int | None:
    old, new = total_parameters(before), total_parameters(after)
    return None if old is None or new is None else new - old


def _parameters(flow: Flow, node_id: str) -> int | None:
    found = flow.outcomes.get(node_id)
    return None if found is None else found.parameters


def _signed(count: int) -> str:
    sign = "−" if count < 0 else "+"  # noqa: RUF001
    number = f"{abs(count):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{sign}{number} parameter{'' if abs(count) == 1 else 's'}"
