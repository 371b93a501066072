"""The layers as a list in running order, for the outline and for finding them by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import Port
from studio.session.document.cards.card import (
    card_of,
    owned_parameters,
    parameters_text,
    wire_card,
)
from studio.session.document.cards.families import Family, family_of
from studio.session.document.cards.lines import spoken_shape
from studio.session.document.cards.sizes import outputs_of
from studio.session.document.finding.fuzzy import best_score
from studio.session.document.finding.layer_names import words_for
from studio.session.document.layer_types import input_name
from studio.session.document.level_view import layers_inside
from studio.session.document.levels import all_blocks, blocks_around, path_of
from studio.session.document.report import NodeCondition, NodeStatus, Report
from studio.session.document.state import CanvasNode, DocumentState, Wire


class OutlineRow(NamedTuple):
    """One layer or block in the outline.

    Attributes:
        id: its node.
        name: its name.
        type_name: its type; "Block" of a block.
        family: what it is coloured by.
        shapes: of its outputs, as far as they are known.
        parameters: numbers it owns, where known.
        condition: how it is.
        message: what to say about that.
        inputs: names of what feeds it.
        is_output: whether it is one of the network's outputs.
        uses: how often its layer is used with one set of weights; 0 for a single use.
        parameters_text: their number as text; empty for none, ``shared`` where another use has it.
        parent: the block it is listed in, or empty.
        is_block: whether it is a block; its layers are listed in it.
    """

    id: str
    name: str
    type_name: str
    family: Family
    shapes: tuple[Shape, ...]
    parameters: int | None
    condition: NodeCondition
    message: str
    inputs: tuple[str, ...]
    is_output: bool
    uses: int
    parameters_text: str
    parent: str = ""
    is_block: bool = False


class Outline(NamedTuple):
    """Layers that take part, in running order, and those that do not.

    A block stands in front of the first of its layers that takes part, and they follow it. Those of
    its layers that do not take part are listed aside without it; a block of which none does is
    listed there with its layers.
    """

    running: tuple[OutlineRow, ...]
    aside: tuple[OutlineRow, ...]


def outline(state: DocumentState, report: Report) -> Outline:
    """The layers in running order; those that are left out behind them."""
    layers = [i for i in report.nodes if i in state.nodes and state.nodes[i].is_layer]
    used = [i for i in layers if report.status(i).reached]
    listed: set[str] = set()
    running = _in_blocks(state, report, used, listed)
    aside = _in_blocks(state, report, [i for i in layers if i not in used], listed)
    empty = (block.id for block in all_blocks(state) if block.id not in listed)
    aside += [_block_row(state, report, block) for block in empty]
    beside = {row.id for row in aside}
    return Outline(
        tuple(running),
        tuple(row if row.parent in beside else row._replace(parent="") for row in aside),
    )


def _in_blocks(
    state: DocumentState, report: Report, node_ids: Sequence[str], listed: set[str]
) -> list[OutlineRow]:
    """Rows of layers, behind the blocks around them that are not listed yet."""
    rows: list[OutlineRow] = []
    for node_id in node_ids:
        for block in reversed(blocks_around(state, node_id)):
            if block not in listed:
                listed.add(block)
                rows.append(_block_row(state, report, block))
        rows.append(_row(state, report, node_id)._replace(parent=state.nodes[node_id].parent))
    return rows


def _block_row(state: DocumentState, report: Report, block_id: str) -> OutlineRow:
    card = card_of(state, report, block_id)
    layers = layers_inside(state, block_id)
    return OutlineRow(
        id=block_id,
        name=card.title,
        type_name="Block",
        family=card.family,
        shapes=(),
        parameters=owned_parameters(state, report, layers),
        condition=card.condition,
        message=card.message,
        inputs=tuple(name for _, name in card.ports_in),
        is_output=card.is_output,
        uses=0,
        parameters_text=card.parameters,
        parent=card.node.parent,
        is_block=True,
    )


def find_layers(state: DocumentState, query: str) -> tuple[str, ...]:
    """Ids of things whose name, type or text fits a query, best first."""
    found = []
    for index, node in enumerate(state.nodes.values()):
        words = (
            (node.name, *words_for(node.type_name))
            if node.is_layer
            else (node.name if node.is_block else node.text,)
        )
        score = best_score(query, words) if query.strip() else None
        if score is not None and node.kind != "dot":
            found.append((-round(score, 2), index, node.id))
    return tuple(node_id for _, _, node_id in sorted(found))


def accessible_text(state: DocumentState, report: Report, node_id: str) -> str:
    """A layer in one sentence, for those who hear the canvas."""
    node = state.node(node_id)
    if node.is_block or node.port:
        return ", ".join((*_block_parts(state, report, node), *_place(state, node)))
    if not node.is_layer:
        said = f"{node.kind} {node.text}".strip()
        return said[0].upper() + said[1:]
    status = report.status(node_id)
    parts = [f"{node.type_name} {node.name}"]
    uses = state.uses_of(node_id)
    if uses:
        parts.append(f"use {uses.index(node_id) + 1} of {len(uses)} of this layer")
    parts += [f"{key.replace('_', ' ')} {_said(value)}" for key, value in node.config.items()
              if key not in ("name", "trainable")]  # fmt: skip
    sources = [feeder_text(state, port) for port in node.inputs if port.node in state.nodes]
    parts.append(f"input from {' and '.join(sources)}" if sources else "no input")
    shapes = [spoken_shape(shape) for shape in status.all_shapes]
    parts += [f"output{'s' * (len(shapes) > 1)} {' and '.join(shapes)}"] if shapes else []
    parts += _network_outputs(report.outputs_of(node_id), len(shapes))
    parts += ["bypassed"] * node.bypassed + ["frozen"] * node.frozen
    parts += ["pinned in place"] * node.pinned
    parts += _place(state, node)
    parts.append(_condition(status))
    return ", ".join(parts)


def _network_outputs(marked: tuple[int, ...], outputs: int) -> list[str]:
    """Which outputs of a layer are the network's; nothing for a layer inside."""
    if not marked or outputs < 2:
        return ["output of the network"] * bool(marked)
    return [f"output {number} is an output of the network" for number in sorted(marked)]


def _place(state: DocumentState, node: CanvasNode) -> list[str]:
    """In which block a thing stands; nothing for what is at the top."""
    return [f"in block {path_of(state, node.parent)}"] if node.parent else []


def _block_parts(state: DocumentState, report: Report, node: CanvasNode) -> list[str]:
    if node.port:
        side = "Input" if node.port == "in" else "Output"
        shape = report.status(node.id).shape
        said = [] if shape is None else [f"carries {spoken_shape(shape)}"]
        return [f"{side} {node.name}", *said]
    card = card_of(state, report, node.id)
    parts = [f"Block {card.title}", card.subtitle]
    for word, ports in (("input", card.ports_in), ("output", card.ports_out)):
        names = " and ".join(name for _, name in ports)
        parts.append(f"{word} {names}" if ports else f"no {word}")
    parts.append(f"{card.condition}: {card.message}" if card.message else "no errors")
    return parts


def accessible_wire_text(state: DocumentState, report: Report, wire: Wire) -> str:
    """A wire in one sentence, for those who hear the canvas."""
    source, target = state.node(wire.source), state.node(wire.target)
    ends = [_end_text(state, node) for node in (source, target)]
    leaves = f"output {wire.output} of " if wire.output else ""
    parts = [f"Wire from {leaves}{ends[0]} to {ends[1]}"]
    if len(target.inputs) > 1:
        parts[0] += f", input {input_name(target, wire.slot)} of {len(target.inputs)}"
    card = wire_card(report, wire)
    shape = report.status(wire.source).shape_at(wire.output)
    if shape is not None:
        parts.append(f"carries {spoken_shape(shape)}")
    parts += ["does not fit"] * (card.condition == "error")
    return ", ".join(parts)


def feeder_text(state: DocumentState, port: Port) -> str:
    """What an output is called where it feeds something; bends are passed."""
    node = state.node(port.node)
    while node.kind == "dot" and not node.port:
        if not node.inputs:
            return "a bend"
        port = node.inputs[0]
        node = state.node(port.node)
    if node.port:
        side = "input" if node.port == "in" else "output"
        return f"{side} {node.name} of {state.node(node.parent).name}"
    return f"output {port.output} of {node.name}" if outputs_of(state, node) > 1 else node.name


def _end_text(state: DocumentState, node: CanvasNode) -> str:
    if node.port:
        return f"port {node.name} of {state.nodes[node.parent].name}"
    return node.name if node.is_layer else "a bend"


def _row(state: DocumentState, report: Report, node_id: str) -> OutlineRow:
    node, status = state.nodes[node_id], report.status(node_id)
    return OutlineRow(
        node_id,
        node.name,
        node.type_name,
        family_of(node.type_name),
        status.all_shapes,
        status.parameters,
        status.state,
        status.message,
        tuple(state.nodes[s].name for s in node.sources if s in state.nodes),
        bool(report.outputs_of(node_id)),
        len(state.uses_of(node_id)),
        parameters_text(state, report, node),
    )


def _said(value: object) -> str:
    if isinstance(value, list):
        return " by ".join(_said(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _condition(status: NodeStatus) -> str:
    if status.state == "ok":
        return "no errors"
    return (
        f"{status.state}: {status.message}"
        if status.state in ("error", "warning")
        else (status.message)
    )
