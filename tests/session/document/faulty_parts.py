"""Parts of graphs with one mistake, and what is expected of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from studio.engine.layers.graph import Port
from studio.session.document.edits.layers import add_layer, freeze
from studio.session.document.edits.sections import set_data, set_training
from studio.session.document.edits.wires import connect
from studio.session.document.layer_types import checked_config
from studio.session.document.report import DataFacts
from studio.session.document.state import CanvasNode, DocumentState

DIGITS = DataFacts((8, 8, 1), "images", 10)
MOONS = DataFacts((2,), "points", 2)
IRIS = DataFacts((4,), "table", 3)
HOUSES = DataFacts((6,), "table", 0, 1)
SPEEDS = DataFacts((6,), "table", 0, 2)


Row = tuple[str, str, "str | tuple[str, ...]", Mapping[str, object]]


@dataclass(frozen=True)
class Faulty:
    """One graph with one mistake."""

    name: str
    state: DocumentState
    node: str
    id: str
    facts: DataFacts | None = None
    severity: str = "error"
    port: int | None = None

    @property
    def lowered(self) -> bool:
        """Whether the engine looks for it while it lowers, and not later."""
        return bool(self.node) and self.id != "training.nothing_to_train"


def graph(
    *rows: Row,
    training: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    change: Callable[[DocumentState], DocumentState] | None = None,
) -> DocumentState:
    """Rows of (name, type, what feeds it, options), placed one behind the other."""
    state = DocumentState()
    for index, (name, type_name, sources, config) in enumerate(rows):
        state = add_layer(state, type_name, config=config, at=(index * 232.0, 0.0))
        made = list(state.nodes.values())[-1]
        state = renamed(state, made, name)
        for source in (sources,) if isinstance(sources, str) else sources:
            if source:
                state = connect(state, source, name, check_shapes=False)
    if training is not None:
        state = set_training(state, training)
    if data is not None:
        state = set_data(state, data)
    return state if change is None else change(state)


def renamed(state: DocumentState, node: CanvasNode, name: str) -> DocumentState:
    """The node under another id, which is its name too."""
    config = checked_config(node.type_name, {**node.config.plain(), "name": name})
    return state.with_nodes([replace(node, id=name, config=config)], [node.id])


def picture(size: int = 8, channels: int = 1) -> Row:
    return ("image", "Input", "", {"shape": [size, size, channels]})


def vector(size: int = 4) -> Row:
    return ("x", "Input", "", {"shape": [size]})


def conv(name: str, source: str, filters: int = 8, **more: object) -> Row:
    return (name, "Conv2D", source, {"filters": filters, "kernel_size": [3, 3], **more})


def dense(name: str, source: str, units: int = 10, **more: object) -> Row:
    return (name, "Dense", source, {"units": units, **more})


def plain(name: str, type_name: str, *sources: str, **options: object) -> Row:
    return (name, type_name, sources, options)


def shared(state: DocumentState, first: str, second: str) -> DocumentState:
    """Make ``second`` another use of the layer of ``first``."""
    owner, use = state.nodes[first], state.nodes[second]
    return state.with_nodes(
        [replace(use, shares=first, config=owner.config, type_name=owner.type_name)]
    )


def frozen(*names: str) -> Callable[[DocumentState], DocumentState]:
    return lambda state: freeze(state, names, True)


def marked(*names: str) -> Callable[[DocumentState], DocumentState]:
    return lambda state: state.replaced(outputs=tuple(Port(name) for name in names))


SPARSE = "SparseCategoricalCrossentropy"
BINARY = "BinaryCrossentropy"
LOGITS = {"config": {"from_logits": True}}
