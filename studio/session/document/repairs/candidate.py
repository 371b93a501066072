"""Changes that may repair a problem, before they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from studio.engine.core.options import Plain
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.graph import Port
from studio.engine.layers.layer import Layer
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.layers import set_options
from studio.session.document.edits.outputs import following_names
from studio.session.document.edits.removal import delete
from studio.session.document.flow import Flow, flow_of
from studio.session.document.layer_types import is_known, layer_at
from studio.session.document.report import DataFacts, Problem, TargetFacts
from studio.session.document.resolve import output_names, resolve
from studio.session.document.state import CanvasNode, DocumentState, Wire

OPTION, WIRE, INSERT, REMOVE, REBUILD, GIVE_UP = range(6)
"""How much a repair changes; the first are offered first."""

NEWEST = "+"
"""As what a repair is about: the layer it adds last."""

TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Candidate:
    """One change that may help.

    Attributes:
        text: what it does, a verb first.
        apply: makes the state with it.
        kind: the remedy it is an instance of, such as ``Flatten`` or ``padding``; of several
            candidates of one kind only the best is offered.
        rank: how much it changes.
        about: the layer whose numbers tell what comes of it, or ``NEWEST``; that of the problem by
            default.
        effect: what comes of it, where that is no number of a layer.
        choice: the layer it is about where only the user knows which one is meant; candidates of
            one kind with different choices are all offered.
    """

    text: str
    apply: Callable[[DocumentState], DocumentState]
    kind: str
    rank: int = OPTION
    about: str = ""
    effect: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Broken:
    """A problem in its state, as generators of repairs see it."""

    state: DocumentState
    facts: DataFacts | None
    problem: Problem

    @property
    def node(self) -> CanvasNode:
        """The layer of the problem."""
        return self.state.node(self.problem.node)

    @property
    def output(self) -> str:
        """Name of the network's output at the layer of the problem; empty where it is none."""
        found = zip(resolve(self.state).outputs, output_names(self.state), strict=True)
        return next((name for port, name in found if port.node == self.problem.node), "")

    @property
    def target(self) -> TargetFacts | None:
        """Targets of that output; of the only one where the data has no others."""
        return None if self.facts is None else self.facts.target_of(self.output)

    @cached_property
    def flow(self) -> Flow:
        """What flows through the wires."""
        return flow_of(self.state)

    @property
    def layer(self) -> Layer:
        """The layer of the problem, to ask about its options."""
        return layer_at(self.node)

    @property
    def wires(self) -> tuple[Wire, ...]:
        """The wires into the layer of the problem."""
        return self.state.wires_into(self.node.id)

    def shapes(self) -> tuple[Shape, ...]:
        """What comes into the layer of the problem."""
        return tuple(s for i in self.node.inputs if (s := self.flow.shape(i)) is not None)

    def types(self) -> tuple[TensorType, ...]:
        """Types of what comes into the layer of the problem."""
        return self.flow.types(self.node.inputs)

    def path_up(self, start: str) -> list[CanvasNode]:
        """Layers upstream along first inputs, from ``start`` on, as far as there is one input."""
        found: list[CanvasNode] = []
        at = self.state.nodes.get(start)
        while at is not None and at not in found:
            if at.is_layer and not at.bypassed and is_known(at.type_name):
                found.append(at)
            if len(at.inputs) != 1:
                break
            at = self.state.nodes.get(at.sources[0])
        return found


def set_option(
    node: CanvasNode, values: Mapping[str, Plain], *, about: str = "", kind: str = ""
) -> Candidate:
    """Set options of a layer; the kind is the first option's name unless it is given."""
    parts = " and ".join(f"{name} to {plain_text(value)}" for name, value in values.items())
    first, _, rest = parts.partition(" to ")
    return Candidate(
        f"Set {first} of {node.name} to {rest}",
        lambda state: set_options(state, node.id, values),
        kind or next(iter(values)),
        OPTION,
        about,
    )


def insert(
    wire: Wire, layers: Sequence[NewLayer], *, where: str = "", about: str = ""
) -> Candidate:
    """Put new layers on a wire; ``where`` names the wire when it is not the only one."""
    text = " and ".join(layer_text(layer) for layer in layers)

    def apply(state: DocumentState) -> DocumentState:
        if len(layers) == 1:
            return add_on_wire(state, layers[0].type_name, wire, config=layers[0].config)
        return add_chain(state, layers, wire=wire, at=None).state

    return Candidate(f"Insert {text}{where}", apply, layers[0].type_name, INSERT, about)


def remove(node: CanvasNode, rank: int = REMOVE) -> Candidate:
    """Delete a layer and heal the wire; of the layer itself that is the last resort."""
    kind = "give up" if rank == GIVE_UP else "remove"
    return Candidate(f"Remove {node.name}", lambda state: delete(state, [node.id]), kind, rank)


def append(node: CanvasNode, layers: Sequence[NewLayer], *, rank: int = INSERT) -> Candidate:
    """Add layers behind the network's output; the last becomes the output if that was marked."""
    text = " and ".join(layer_text(layer) for layer in layers)
    return Candidate(
        f"Add {text} after {node.name}",
        lambda state: appended(state, node.id, layers),
        layers[0].type_name,
        rank,
        NEWEST,
    )


def appended(state: DocumentState, node_id: str, layers: Sequence[NewLayer]) -> DocumentState:
    """Layers behind another, taking over its mark as output and what is given for it by name."""
    made = add_chain(state, layers, after=node_id)
    outputs = tuple(Port(made.ids[-1]) if p == Port(node_id) else p for p in state.outputs)
    return following_names(state, made.state.replaced(outputs=outputs))


def layer_text(layer: NewLayer) -> str:
    """A new layer in a few words: ``Dense with 10 units``, ``Reshape to [8,8,1]``."""
    config = dict(layer.config)
    if "units" in config:
        activation = config.get("activation")
        count = config["units"]
        text = f"Dense with {count} unit{'' if count == 1 else 's'}"
        return f"{text} and {activation}" if activation else text
    if "activation" in config:
        return f"Activation {config['activation']}"
    if "filters" in config:
        size = plain_text(config.get("kernel_size"))
        strides = config.get("strides")
        steps = f" and strides {plain_text(strides)}" if strides not in (None, [1, 1]) else ""
        return f"{layer.type_name} {size} with {config['filters']} filters{steps}"
    for name in ("target_shape", "shape"):
        if name in config:
            between = "to " if name == "target_shape" else ""
            return f"{layer.type_name} {between}{shape_list(config[name])}"
    if "pool_size" in config:
        return f"{layer.type_name} {plain_text(config['pool_size'])}"
    return layer.type_name


def shape_list(value: object) -> str:
    """A shape as ``[8,8,1]``."""
    listed = value if isinstance(value, list | tuple) else [value]
    return "[" + ",".join(str(each) for each in listed) + "]"


def plain_text(value: object) -> str:
    """An option's value in a text."""
    if isinstance(value, list | tuple):
        pair = len(value) == 2 and all(isinstance(v, int) and v > 0 for v in value)
        return TIMES.join(map(str, value)) if pair else shape_list(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def named(names: Iterable[str]) -> str:
    """Names in a sentence."""
    found = list(names)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 2 else found)
