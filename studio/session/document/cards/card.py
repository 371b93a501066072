"""What a thing on the canvas shows of itself: title, options, shape, how it is."""

from __future__ import annotations

from dataclasses import dataclass

from studio.session.document.cards.families import Family, family_of
from studio.session.document.cards.lines import CardLine, card_lines, shape_label
from studio.session.document.cards.ports import has_output, input_count
from studio.session.document.report import NodeCondition, NodeStatus, Report
from studio.session.document.state import CanvasNode, DocumentState, Wire


@dataclass(frozen=True)
class NodeCard:
    """A layer, dot, note or frame as the canvas draws it.

    Attributes:
        node: the thing itself.
        title: its name.
        subtitle: its type, and what it shares its parameters with.
        family: what it is coloured by.
        lines: the options it shows.
        shape: shape of its output as text; empty while unknown.
        parameters: numbers it owns as text; empty for none.
        condition: how it is.
        message: what to say about that.
        inputs: how many inputs are drawn.
        filled: how many of them have a wire.
        has_output: whether wires may leave it.
        is_output: whether it is one of the network's outputs.
    """

    node: CanvasNode
    title: str = ""
    subtitle: str = ""
    family: Family = "linear"
    lines: tuple[CardLine, ...] = ()
    shape: str = ""
    parameters: str = ""
    condition: NodeCondition = "ok"
    message: str = ""
    inputs: int = 0
    filled: int = 0
    has_output: bool = False
    is_output: bool = False


def card_of(state: DocumentState, report: Report, node_id: str) -> NodeCard:
    """What a thing on the canvas shows."""
    node = state.nodes[node_id]
    if not node.flows:
        return NodeCard(node, title=node.text)
    status = report.status(node_id)
    return NodeCard(
        node=node,
        title=node.name,
        subtitle=_subtitle(state, node),
        family=family_of(node.type_name) if node.is_layer else "shape",
        lines=card_lines(node),
        shape="" if status.shape is None else shape_label(status.shape),
        parameters=parameters_label(status),
        condition=status.state,
        message=status.message,
        inputs=input_count(node),
        filled=len(node.inputs),
        has_output=has_output(node),
        is_output=node_id in report.outputs,
    )


def parameters_label(status: NodeStatus) -> str:
    """The number of parameters with thin spaces, or nothing."""
    return f"{status.parameters:,}".replace(",", "\u2009") if status.parameters else ""


def _subtitle(state: DocumentState, node: CanvasNode) -> str:
    if node.kind == "dot":
        return "bend"
    owner = state.nodes.get(node.shares)
    return node.type_name if owner is None else f"{node.type_name} of {owner.name}"


@dataclass(frozen=True)
class WireCard:
    """A wire as the canvas draws it.

    Attributes:
        condition: ``error`` where what flows does not fit, ``waiting`` where nothing flows yet.
        shape: of what flows, as text; empty while unknown.
    """

    condition: NodeCondition
    shape: str


def wire_card(report: Report, wire: Wire) -> WireCard:
    """What a wire shows."""
    start, end = report.status(wire.source), report.status(wire.target)
    shape = "" if start.shape is None else shape_label(start.shape)
    if end.state == "error" and any(
        p.port in (None, wire.slot) and p.id.startswith("shape")
        for p in report.problems_of(wire.target)
    ):
        return WireCard("error", shape)
    if start.shape is None:
        return WireCard("waiting", shape)
    return WireCard("unreached" if end.state == "unreached" else "ok", shape)
