"""The document as drawn: layers, dots and comments, and its sections, as values that never change.

A state is made from another by replacing what differs; everything else is the same object in both.
Undo is therefore a list of states, and what changed between two is found by comparing identities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

from studio.engine.core.errors import GraphError
from studio.engine.core.options import Plain
from studio.engine.layers.graph import Port
from studio.session.document.frozen_config import EMPTY, FrozenConfig

NodeKind: TypeAlias = Literal["layer", "dot", "note", "frame", "block"]
PortSide: TypeAlias = Literal["", "in", "out"]
PreviewMode: TypeAlias = Literal["off", "shape", "thumbnail", "full"]

NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
PREVIEW_MODES: tuple[PreviewMode, ...] = get_args(PreviewMode)
PORT_SIDES: tuple[PortSide, ...] = get_args(PortSide)
FLOWING: frozenset[str] = frozenset({"layer", "dot"})
"""Kinds that wires lead through; the others are comments and blocks."""
UNTITLED = "untitled"
"""The name of a project that was given none."""


class Wire(NamedTuple):
    """One wire: from an output of ``source`` into input ``slot`` of ``target``."""

    source: str
    target: str
    slot: int
    output: int = 0

    @property
    def port(self) -> Port:
        """The output it leaves."""
        return Port(self.source, self.output)


def as_port(source: Port | str) -> Port:
    """An output; of an id the first output."""
    return source if isinstance(source, Port) else Port(source)


def plain_port(port: Port) -> Plain:
    """An output as files hold it: the id of a first output, id and number of another."""
    return [port.node, port.output] if port.output else port.node


@dataclass(frozen=True)
class CanvasNode:
    """One thing on the canvas.

    Attributes:
        id: stable, unique in the document; renaming a layer does not change it.
        kind: a layer, a dot a wire is bent at, a note, a frame behind other things, or a block.
        type_name: class of the layer; empty for anything else.
        config: the layer's name and those options that are not default, checked.
        inputs: outputs of layers and dots that feed it; the slot of a wire is its position here.
        x: left edge (of a dot: its middle).
        y: upper edge (of a dot: its middle).
        bypassed: data passes it unchanged.
        collapsed: only its title is drawn.
        preview: what of its output is drawn in it.
        shares: id of the node whose layer this is another use of, or empty.
        text: what a note or frame says; the name of a block or of its port.
        width: width of a note, frame or block.
        height: height of a note, frame or block.
        pinned: automatic layout leaves it where it is.
        parent: id of the block it stands in; empty at the top.
        port: of a dot, whether it is an input or an output of its ``parent``.
        definition: of a block, what it has in common with its linked copies; empty without any.
        origin: in a linked copy, what it has in common with its counterparts in the others.
        model: of a block, whether it is a model of its own that is used as one layer.
    """

    id: str
    kind: NodeKind = "layer"
    type_name: str = ""
    config: FrozenConfig = EMPTY
    inputs: tuple[Port, ...] = ()
    x: float = 0.0
    y: float = 0.0
    bypassed: bool = False
    collapsed: bool = False
    preview: PreviewMode = "shape"
    shares: str = ""
    text: str = ""
    width: float = 0.0
    height: float = 0.0
    pinned: bool = False
    parent: str = ""
    port: PortSide = ""
    definition: str = ""
    origin: str = ""
    model: bool = False

    @property
    def name(self) -> str:
        """What to call it: the name of a layer, block or port, for anything else the id."""
        if self.is_block or self.port:
            return self.text or self.id
        found = self.config.get("name")
        return found if isinstance(found, str) else self.id

    @property
    def is_layer(self) -> bool:
        """Whether it is a layer."""
        return self.kind == "layer"

    @property
    def is_block(self) -> bool:
        """Whether it is a block."""
        return self.kind == "block"

    @property
    def flows(self) -> bool:
        """Whether wires lead through it."""
        return self.kind in FLOWING

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Ids of what feeds it, by slot."""
        return tuple(port.node for port in self.inputs)

    @property
    def frozen(self) -> bool:
        """Whether its parameters are kept as they are in training."""
        return self.config.get("trainable") is False

    @cached_property
    def content_text(self) -> str:
        """Everything about it in one line, the same in every process."""
        fields = (
            self.id, self.kind, self.type_name, self.config.text, _plain(self.inputs),
            float(self.x), float(self.y), self.bypassed, self.collapsed, self.preview, self.shares,
            self.text, float(self.width), float(self.height), self.pinned,
        )  # fmt: skip
        of_blocks = self.parent, self.port, self.definition, self.origin, self.model
        return repr(fields + of_blocks if any(of_blocks) else fields)


@dataclass(frozen=True)
class DocumentState:
    """The whole document at one moment.

    Attributes:
        name: the project's name.
        nodes: everything on the canvas by id, in the order it was added.
        outputs: outputs of layers marked as the network's; empty for the automatic choice.
        data: the data section as a project file holds it, or None.
        training: the training section as a project file holds it.
        notes: the user's own text.
        graph_name: the network's name, which listings show.
        annotations: names and comments given to the listing, as a project file holds them.
        samples: what the file it was imported from says of samples, as a project file holds it.
    """

    name: str = UNTITLED
    nodes: Mapping[str, CanvasNode] = field(default_factory=lambda: MappingProxyType({}))
    outputs: tuple[Port, ...] = ()
    data: FrozenConfig | None = None
    training: FrozenConfig = EMPTY
    notes: str = ""
    graph_name: str = "model"
    annotations: FrozenConfig = EMPTY
    samples: FrozenConfig = EMPTY

    def node(self, node_id: str) -> CanvasNode:
        """What has that id; GraphError when there is nothing."""
        found = self.nodes.get(node_id)
        if found is None:
            raise GraphError(f"the layer {node_id[:60]!r} no longer exists", who="canvas")
        return found

    def layers(self) -> Iterator[CanvasNode]:
        """All layers, in the order they were added."""
        return (node for node in self.nodes.values() if node.is_layer)

    def wires(self) -> Iterator[Wire]:
        """All wires, by target and slot."""
        for node in self.nodes.values():
            yield from self.wires_into(node.id)

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[Wire, ...]]:
        """Wires that leave each node; nodes without any are missing."""
        found: dict[str, list[Wire]] = {}
        for wire in self.wires():
            found.setdefault(wire.source, []).append(wire)
        return {source: tuple(wires) for source, wires in found.items()}

    @cached_property
    def children(self) -> Mapping[str, tuple[CanvasNode, ...]]:
        """What stands in each block, its ports included; under the empty id, what is at the top."""
        found: dict[str, list[CanvasNode]] = {}
        for node in self.nodes.values():
            found.setdefault(node.parent, []).append(node)
        return {parent: tuple(nodes) for parent, nodes in found.items()}

    def wires_from(self, source: Port | str) -> tuple[Wire, ...]:
        """The wires that leave a node, or one of its outputs."""
        if isinstance(source, Port):
            return tuple(w for w in self.outgoing.get(source.node, ()) if w.port == source)
        return self.outgoing.get(source, ())

    def wires_into(self, node_id: str) -> tuple[Wire, ...]:
        """The wires that end at a node, by slot."""
        inputs = enumerate(self.nodes[node_id].inputs)
        return tuple(Wire(port.node, node_id, slot, port.output) for slot, port in inputs)

    @cached_property
    def shared(self) -> Mapping[str, tuple[str, ...]]:
        """All uses of each layer that has several, the owner's first, by the id of the owner."""
        found: dict[str, list[str]] = {}
        for node in self.nodes.values():
            if node.shares:
                found.setdefault(node.shares, [node.shares]).append(node.id)
        return {owner: tuple(uses) for owner, uses in found.items()}

    def uses_of(self, node_id: str) -> tuple[str, ...]:
        """All uses of the layer a node is a use of, the owner's first; empty for a single one."""
        node = self.nodes.get(node_id)
        return () if node is None else self.shared.get(node.shares or node_id, ())

    def called(self, node_id: str) -> str:
        """What a message calls a layer: its name, and which use it is where it has several."""
        name, uses = self.node(node_id).name, self.uses_of(node_id)
        return f"{name} (use {uses.index(node_id) + 1})" if uses else name

    def counted_at(self, node_id: str) -> str:
        """The use of a layer its parameters are counted at: the first that is not bypassed."""
        uses = self.uses_of(node_id)
        return next((i for i in uses if not self.nodes[i].bypassed), node_id)

    def with_nodes(
        self, changed: Iterable[CanvasNode], removed: Iterable[str] = ()
    ) -> DocumentState:
        """A state with some nodes added or replaced, and others gone."""
        nodes = dict(self.nodes)
        for node_id in removed:
            nodes.pop(node_id, None)
        nodes.update((node.id, node) for node in changed)
        return replace(self, nodes=MappingProxyType(nodes))

    def replaced(self, **changes: object) -> DocumentState:
        """A state with other sections."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of everything in it, the same in every process."""
        return _digest(self, [node.content_text for node in self.nodes.values()])


def _digest(state: DocumentState, nodes: list[str]) -> str:
    data: Plain = None if state.data is None else state.data.text
    texts: tuple[str, ...] = (state.training.text, state.annotations.text)
    if state.samples:
        texts += (state.samples.text,)
    head = repr((state.name, state.graph_name, _plain(state.outputs), data, *texts))
    digest = sha256(head.encode())
    digest.update(state.notes.encode())
    for text in nodes:
        digest.update(text.encode())
    return digest.hexdigest()


def _plain(ports: tuple[Port, ...]) -> tuple[Plain, ...]:
    return tuple(plain_port(port) for port in ports)
