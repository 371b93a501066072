"""Numbers about layers and the whole network, from the checks and from the compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.core.tensor import Shape
from studio.session.compile.compilation import Compilation
from studio.session.compile.compilation_result import CompiledProgram
from studio.session.document.cards.card import card_of, owned_parameters
from studio.session.document.document import Document
from studio.session.document.flow import flow_of
from studio.session.document.layer_types import absent_plugin, is_known, layer_at
from studio.session.document.level_view import layers_inside
from studio.session.document.levels import copies_of, path_of, ports_in, ports_out
from studio.session.document.report import NodeCondition, Problem
from studio.session.document.state import CanvasNode, DocumentState

Pass: TypeAlias = Literal["forward", "backward", "update"]

PASSES: tuple[Pass, ...] = ("forward", "backward", "update")
_PASS_OF: Mapping[str, Pass] = {
    "data": "forward", "forward": "forward", "loss": "forward", "metrics": "forward",
    "backward": "backward", "update": "update",
}  # fmt: skip


@dataclass(frozen=True)
class PassCost:
    """What one pass of a step does, by the declaration of its instructions.

    Attributes:
        instructions: how many there are, those shared with other layers counted whole.
        flops: arithmetic operations; of shared instructions an even part.
        nbytes: bytes read and written, likewise.
    """

    instructions: int = 0
    flops: float = 0.0
    nbytes: float = 0.0

    def __add__(self, other: PassCost) -> PassCost:
        return PassCost(
            self.instructions + other.instructions,
            self.flops + other.flops,
            self.nbytes + other.nbytes,
        )


class Use(NamedTuple):
    """One use of a shared layer: its node, and what tells it from the others."""

    id: str
    text: str


@dataclass(frozen=True)
class NodeFacts:
    """What is known of one layer.

    Attributes:
        node: the layer as drawn.
        about: what it does, one sentence.
        condition: how it is.
        message: what to say about that; empty when it is ok.
        problem: what is wrong with it, if anything.
        inputs: name of each layer that feeds it, and the shape it gives, where known.
        shape: of its output without the batch, where known.
        parameters: numbers it owns, where known.
        trained: those of them that training changes.
        uses: all uses of its layer, which have one set of weights; empty for a single one.
        has_shared_weights: whether those uses have parameters.
        costs: what each pass does; empty without a program.
        batch: samples those costs are for.
        is_stale: whether the program is older than the graph.
    """

    node: CanvasNode
    about: str
    condition: NodeCondition
    message: str
    problem: Problem | None
    inputs: tuple[tuple[str, Shape | None], ...]
    shape: Shape | None
    parameters: int | None
    trained: int | None
    uses: tuple[Use, ...]
    has_shared_weights: bool
    costs: Mapping[Pass, PassCost]
    batch: int
    is_stale: bool


class Inside(NamedTuple):
    """What blocks hold together, with what is in blocks inside them.

    Attributes:
        layers: how many layers; a shared one counts once.
        uses: the same with every use of a shared layer counted.
        parameters: numbers these layers own, where known; those of a shared layer count once.
    """

    layers: int
    uses: int
    parameters: int | None


class BlockPort(NamedTuple):
    """An input or output of a block.

    Attributes:
        name: its name.
        shape: of what passes it, without the batch, where known.
        is_connected: whether it has a wire at the side of the other blocks and layers.
    """

    name: str
    shape: Shape | None
    is_connected: bool


@dataclass(frozen=True)
class BlockFacts:
    """What is known of one block.

    Attributes:
        node: the block as drawn.
        message: what is wrong inside, with the layer; empty when nothing is.
        inputs: in the order of the ports.
        outputs: in the order of the ports.
        copies: how many linked copies there are, this one included; 1 without others.
        has_shared_weights: whether all layers with parameters are shared with layers outside.
    """

    node: CanvasNode
    message: str
    inputs: tuple[BlockPort, ...]
    outputs: tuple[BlockPort, ...]
    copies: int
    has_shared_weights: bool


@dataclass(frozen=True)
class GraphFacts:
    """What is known of the whole network.

    Attributes:
        layers: layers that take part.
        unused: layers that do not.
        parameters: numbers it saves; None while an error stands.
        trained: those of them that training changes.
        problems: errors and warnings.
        instructions: of the program shown; None without one.
        flops: operations of one step.
        peak_bytes: most memory a step takes beside data and parameters.
        batch: samples of that step.
        took_ms: time the compile took.
        is_stale: whether the program is older than the graph.
    """

    layers: int
    unused: int
    parameters: int | None
    trained: int | None
    problems: tuple[Problem, ...]
    instructions: int | None
    flops: float
    peak_bytes: int
    batch: int
    took_ms: float
    is_stale: bool


def node_facts(document: Document, compilation: Compilation, node: CanvasNode) -> NodeFacts:
    """What is known of a layer now."""
    state, report = document.state, document.report
    flow = flow_of(state)
    status = report.status(node.id)
    inputs = tuple(
        (state.nodes[p.node].name, report.status(p.node).shape_at(p.output)) for p in node.inputs
    )
    shapes = [flow.shape(port) for port in node.inputs]
    problems = report.problems_of(node.id)
    result = compilation.result
    program = None if result is None else result.main
    return NodeFacts(
        node,
        about(node),
        status.state,
        status.message,
        problems[0] if problems else None,
        inputs,
        status.shape,
        status.parameters,
        _trained(node, shapes, status.parameters),
        tuple(Use(i, use_text(state, i)) for i in state.uses_of(node.id)),
        bool(report.status(state.counted_at(node.id)).parameters),
        {} if program is None else costs_of(program, node.id),
        0 if program is None else program.batch,
        compilation.is_stale,
    )


def inside_facts(document: Document, blocks: Iterable[CanvasNode]) -> Inside:
    """What blocks hold together now."""
    state, report = document.state, document.report
    inside = dict.fromkeys(i for block in blocks for i in layers_inside(state, block.id))
    are_counted = all(report.status(state.counted_at(i)).parameters is not None for i in inside)
    return Inside(
        len({state.nodes[i].shares or i for i in inside}),
        len(inside),
        owned_parameters(state, report, inside) if are_counted else None,
    )


def block_facts(document: Document, block: CanvasNode) -> BlockFacts:
    """What is known of a block now."""
    state, report = document.state, document.report
    inside = layers_inside(state, block.id)
    fed = {port.node for node in state.nodes.values() for port in node.inputs}
    with_parameters = [i for i in inside if report.status(state.counted_at(i)).parameters]
    return BlockFacts(
        block,
        card_of(state, report, block.id).message,
        tuple(
            BlockPort(port.name, report.status(port.id).shape, bool(port.inputs))
            for port in ports_in(state, block.id)
        ),
        tuple(
            BlockPort(port.name, report.status(port.id).shape, port.id in fed)
            for port in ports_out(state, block.id)
        ),
        len(copies_of(state, block.id)),
        bool(with_parameters)
        and all(not set(state.uses_of(i)) <= set(inside) for i in with_parameters),
    )


def use_text(state: DocumentState, node_id: str) -> str:
    """A use of a shared layer by what feeds it: all uses have one name."""
    node = state.node(node_id)
    sources = [state.nodes[i].name for i in node.sources]
    said = f"after {' and '.join(sources)}" if sources else "not connected"
    if node.parent:
        said = f"in {path_of(state, node.parent)}, {said}"
    return f"{said}, bypassed" if node.bypassed else said


def graph_facts(document: Document, compilation: Compilation) -> GraphFacts:
    """What is known of the whole network now."""
    report, result = document.report, compilation.result
    layers = [node.id for node in document.state.layers()]
    used = sum(1 for i in layers if report.status(i).reached)
    program = None if result is None else result.main
    total = PassCost()
    if program is not None:
        for index in program.rows.entries:
            cost = program.rows.cost(index)
            total += PassCost(0, cost.flops, cost.nbytes)
    return GraphFacts(
        used,
        len(layers) - used,
        report.parameters,
        report.trained_parameters,
        report.problems,
        None if program is None else len(program.program),
        total.flops,
        0 if program is None else program.plan.peak_bytes,
        0 if program is None else program.batch,
        0.0 if result is None else result.took_ms,
        compilation.is_stale,
    )


def costs_of(program: CompiledProgram, node_id: str) -> dict[Pass, PassCost]:
    """What the instructions of a layer do; those of several layers are split evenly."""
    found: dict[Pass, PassCost] = {}
    rows = program.rows
    for index in rows.rows_of(node_id):
        span = rows.group(index)
        if index not in (span.first,):
            # The first line of a fused group stands for the whole group.
            continue
        owners = rows.listed_owners(index)
        share = 1 / len(owners) if node_id in owners else 0.0
        cost = rows.cost(index)
        name = _PASS_OF.get(rows.section(index), "forward")
        part = PassCost(1, cost.flops * share, cost.nbytes * share)
        found[name] = found.get(name, PassCost()) + part
    return found


def about(node: CanvasNode) -> str:
    """What a layer does, in its own words."""
    plugin = absent_plugin(node.type_name)
    if plugin:
        return f"Comes from {plugin}, which is not loaded. Its options are kept unchanged."
    if not is_known(node.type_name):
        return ""
    return layer_at(node).about()


def _trained(node: CanvasNode, shapes: list[Shape | None], parameters: int | None) -> int | None:
    if parameters is None or any(shape is None for shape in shapes):
        return None
    if node.frozen or parameters == 0:
        return 0
    known = [shape for shape in shapes if shape is not None]
    return sum(p.size for p in layer_at(node).parameters(*known) if not p.state)
