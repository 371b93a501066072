"""What a thing on the canvas shows of itself: title, options, shape, how it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.session.document.cards.families import Family, family_of
from studio.session.document.cards.lines import TIMES, CardLine, card_lines, shape_label
from studio.session.document.cards.ports import has_output
from studio.session.document.cards.sizes import output_count
from studio.session.document.layer_types import input_count, input_name, kind_text
from studio.session.document.level_view import layers_inside, worst_of
from studio.session.document.levels import copies_of, ports_in, ports_out
from studio.session.document.report import NodeCondition, Report
from studio.session.document.state import CanvasNode, DocumentState, Wire

SHARED = "shared"
"""What further uses of a layer show in place of the number of its parameters."""


@dataclass(frozen=True)
class NodeCard:
    """A layer, dot, note or frame as the canvas draws it.

    Attributes:
        node: the thing itself.
        title: its name.
        subtitle: its type, and which use of a shared layer it is.
        family: what it is coloured by.
        lines: the options it shows.
        shape: shapes of its outputs as text; empty while unknown.
        parameters: numbers it owns as text; empty for none; ``shared`` for a further use.
        condition: how it is.
        message: what to say about that.
        inputs: how many inputs are drawn.
        input_names: what they are called, where they have names.
        filled: how many of them have a wire.
        has_output: whether wires may leave it.
        outputs: how many outputs are drawn.
        is_output: whether it is one of the network's outputs.
        marked: which of its outputs are the network's.
        ports_in: of a block, ids and names of its inputs.
        ports_out: of a block, ids and names of its outputs.
        uses: how often its layer is used with one set of weights; 0 for a single use.
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
    input_names: tuple[str, ...] = ()
    filled: int = 0
    has_output: bool = False
    outputs: int = 1
    is_output: bool = False
    marked: tuple[int, ...] = ()
    ports_in: tuple[tuple[str, str], ...] = ()
    ports_out: tuple[tuple[str, str], ...] = ()
    uses: int = 0


def card_of(state: DocumentState, report: Report, node_id: str) -> NodeCard:
    """What a thing on the canvas shows."""
    node = state.nodes[node_id]
    if node.kind == "block":
        return _block_card(state, report, node)
    if not node.flows:
        return NodeCard(node, title=node.text)
    status = report.status(node_id)
    return NodeCard(
        node=node,
        title=node.name,
        subtitle=_subtitle(state, node),
        family=family_of(node.type_name) if node.is_layer else "shape",
        lines=card_lines(node),
        shape=" · ".join(shape_label(shape) for shape in status.all_shapes),
        parameters=parameters_text(state, report, node),
        condition=status.state,
        message=status.message,
        inputs=input_count(node),
        input_names=_input_names(node),
        filled=len(node.inputs),
        has_output=has_output(node),
        outputs=output_count(state, node_id, len(status.shapes)),
        is_output=bool(report.outputs_of(node_id)),
        marked=report.outputs_of(node_id),
        uses=len(state.uses_of(node_id)),
    )


def _block_card(state: DocumentState, report: Report, node: CanvasNode) -> NodeCard:
    """A block: how many layers are in it, all their parameters, and the worst of them."""
    layers = layers_inside(state, node.id)
    condition = worst_of(report, layers)
    worst = next((i for i in layers if report.status(i).state == condition), "")
    outs = ports_out(state, node.id)
    shape = report.status(outs[0].id).shape if outs else None
    message = report.status(worst).message if condition != "ok" else ""
    return NodeCard(
        node=node,
        title=node.name,
        subtitle=block_subtitle(state, node, len(layers)),
        family="block",
        shape="" if shape is None else shape_label(shape),
        parameters=_block_parameters(state, report, layers),
        condition=condition,
        message=f"{state.nodes[worst].name}: {message}" if message else "",
        is_output=any(report.outputs_of(i) for i in layers),
        ports_in=tuple((port.id, port.name) for port in ports_in(state, node.id)),
        ports_out=tuple((port.id, port.name) for port in outs),
    )


def block_subtitle(state: DocumentState, node: CanvasNode, layers: int) -> str:
    """How many layers a block holds, and how many linked copies there are of it."""
    said = f"{layers} layer{'' if layers == 1 else 's'}"
    alike = len(copies_of(state, node.id))
    return f"{said}, linked {TIMES}{alike}" if alike > 1 else said


def owned_parameters(state: DocumentState, report: Report, layers: Iterable[str]) -> int:
    """Numbers that layers own together; a shared layer counts once."""
    counted = {state.counted_at(i) for i in layers}
    return sum(report.status(i).parameters or 0 for i in counted)


def _block_parameters(state: DocumentState, report: Report, layers: Iterable[str]) -> str:
    """The numbers counted in a block as text; of one whose weights all are another's, that."""
    layers = list(layers)
    own = sum(report.status(i).parameters or 0 for i in layers)
    return parameters_label(own) or (SHARED if owned_parameters(state, report, layers) else "")


def parameters_label(count: int | None) -> str:
    """A number of parameters with thin spaces; nothing for none."""
    return f"{count:,}".replace(",", "\u2009") if count else ""


def parameters_text(state: DocumentState, report: Report, node: CanvasNode) -> str:
    """The number of parameters, or nothing; of a shared layer it stands at one use only."""
    label = parameters_label(report.status(state.counted_at(node.id)).parameters)
    if not label or node.bypassed or state.counted_at(node.id) == node.id:
        return parameters_label(report.status(node.id).parameters)
    return SHARED


def _subtitle(state: DocumentState, node: CanvasNode) -> str:
    if node.port:
        return "input of the block" if node.port == "in" else "output of the block"
    if node.kind == "dot":
        return "bend"
    uses, kind = state.uses_of(node.id), kind_text(node)
    if not uses:
        return kind
    return f"{kind}, use {uses.index(node.id) + 1} of {len(uses)}"


def _input_names(node: CanvasNode) -> tuple[str, ...]:
    """Names to tell several inputs apart; none for layers whose inputs have none."""
    count = input_count(node)
    names = tuple(input_name(node, slot) for slot in range(count)) if count > 1 else ()
    return () if all(name.isdigit() for name in names) else names


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
    found = start.shape_at(wire.output)
    shape = "" if found is None else shape_label(found)
    if end.state == "error" and any(
        p.port in (None, wire.slot) and p.id.startswith(("shape", "link.output"))
        for p in report.problems_of(wire.target)
    ):
        return WireCard("error", shape)
    if start.shape is None:
        return WireCard("waiting", shape)
    return WireCard("unreached" if end.state == "unreached" else "ok", shape)
