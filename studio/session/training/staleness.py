"""How the network on the canvas differs from the one that was trained, in a few words."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from studio.engine.core.options import Plain
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.train.project.project import Project
from studio.session.document.change import Change
from studio.session.document.files.project_file import state_of_project
from studio.session.document.state import DocumentState

MINUS = "\u2212"
_NAMED = 3
_REMEMBERED = 1000


@dataclass(frozen=True)
class GraphDifference:
    """What one network has that the other has not; names of layers.

    Attributes:
        added: layers only the newer has.
        removed: layers only the older has.
        changed: layers with other options.
        rewired: layers fed by others than before.
        replaced: layers that are new, though the older has one of the same name.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    rewired: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether both are the same network."""
        return not (self.added or self.removed or self.changed or self.rewired or self.replaced)

    @property
    def text(self) -> str:
        """The difference: ``+1 layer, conv1 changed``; empty without any."""
        parts = [
            f"{sign}{len(names)} layer{'' if len(names) == 1 else 's'}"
            for sign, names in (("+", self.added), (MINUS, self.removed))
            if names
        ]
        if self.changed:
            parts.append(f"{_listed(self.changed)} changed")
        if self.rewired:
            parts.append(f"{_listed(self.rewired)} rewired")
        if self.replaced:
            parts.append(f"{_listed(self.replaced)} replaced")
        return ", ".join(parts)

    @property
    def lines(self) -> tuple[str, ...]:
        """The difference in full, one sentence a kind."""
        kinds = (
            ("Added", self.added), ("Removed", self.removed), ("Changed", self.changed),
            ("Inputs changed", self.rewired), ("Replaced by a new layer", self.replaced),
        )  # fmt: skip
        return tuple(f"{kind}: {', '.join(names)}" for kind, names in kinds if names)


class Lineage:
    """Which layers are others than those of the same names that a training began with.

    A layer that is deleted leaves its id and its name to the next new one, and names can be
    swapped. Undo brings a layer itself back, so what is gone is remembered for each state of the
    history.
    """

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._known: deque[tuple[DocumentState, frozenset[str]]] = deque(maxlen=_REMEMBERED)

    @property
    def replaced(self) -> frozenset[str]:
        """Names that stand for another layer in the last state followed than in the training."""
        if not self._known:
            return frozenset()
        state, gone = self._known[-1]
        return frozenset(
            node.name
            for node in state.layers()
            if node.name in self._owners
            and ((owner := node.shares or node.id) in gone or owner != self._owners[node.name])
        )

    def begin(self, state: DocumentState) -> None:
        """A training begins with these layers."""
        self._owners = {node.name: node.shares or node.id for node in state.layers()}
        self._known.clear()
        self._known.append((state, frozenset()))

    def follow(self, change: Change) -> None:
        """The document has changed."""
        if not self._known:
            return
        found = next((ids for state, ids in self._known if state is change.after), None)
        if found is None:
            before, after = change.before.nodes, change.after.nodes
            switched = {i for i in change.modified if before[i].type_name != after[i].type_name}
            found = self._known[-1][1] | {*change.removed, *switched}
        self._known.append((change.after, found))


def foreign_graph(*, is_busy: bool, is_stale: bool) -> str:
    """That another graph trains than the canvas shows, in a few words; else empty."""
    return "another graph" if is_busy and is_stale else ""


def reverted(state: DocumentState, project: Project) -> DocumentState:
    """A state with the network of a project, everything else as it is.

    Raises:
        StudioError: the project's network cannot be drawn.
    """
    drawn = state_of_project(project).state
    return state.replaced(nodes=drawn.nodes, outputs=drawn.outputs)


def graph_difference(older: LayerGraph, newer: LayerGraph) -> GraphDifference:
    """What differs between two networks; their layout and names of layers do not count."""
    before, after = _nodes(older), _nodes(newer)
    both = [node for node in after if node in before]
    outputs = {p.node for p in older.outputs} != {p.node for p in newer.outputs}
    changed = [n for n in both if before[n]["layer"] != after[n]["layer"]]
    rewired = [n for n in both if before[n]["inputs"] != after[n]["inputs"]]
    if outputs and not rewired and set(before) == set(after):
        rewired = [p.node for p in newer.outputs]
    return GraphDifference(
        tuple(str(after[n]["name"]) for n in after if n not in before),
        tuple(str(before[n]["name"]) for n in before if n not in after),
        tuple(str(after[n]["name"]) for n in changed),
        tuple(str(after[n]["name"]) for n in rewired),
    )


def _nodes(graph: LayerGraph) -> dict[str, dict[str, Plain]]:
    document = graph_to_json(graph)
    found: dict[str, dict[str, Plain]] = {}
    listed = document["nodes"]
    for node in listed if isinstance(listed, list) else ():
        if not isinstance(node, Mapping):
            continue
        config = node.get("config")
        options = dict(config) if isinstance(config, Mapping) else {}
        name = options.pop("name", node.get("id"))
        # A shared layer names the one it shares in place of a type.
        layer = {key: value for key, value in node.items() if key not in ("id", "inputs")}
        found[str(node.get("id"))] = {
            "name": name,
            "layer": {**layer, "config": options},
            "inputs": node.get("inputs"),
        }
    return found


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
