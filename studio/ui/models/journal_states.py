"""States of a document as plain data: whole, or as what differs from the state before."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.errors import FormatError
from studio.engine.core.options import Plain
from studio.engine.train.annotations import annotations_from_json
from studio.graph_editor.model.drawing import ids_from_json, node_to_json, nodes_from_json
from studio.graph_editor.model.frozen_config import FrozenConfig
from studio.graph_editor.model.state import DocumentState

_TEXTS = ("name", "graph_name", "notes")
_SECTIONS = (*_TEXTS, "outputs", "data", "training", "annotations")


def state_to_json(state: DocumentState) -> dict[str, Plain]:
    """Everything in a state."""
    return {
        "nodes": [node_to_json(node) for node in state.nodes.values()],
        **{section: _section(state, section) for section in _SECTIONS},
    }


def difference_to_json(before: DocumentState, after: DocumentState) -> dict[str, Plain]:
    """What has to be known beside ``before`` to make ``after``; small for a small edit."""
    made: dict[str, Plain] = {}
    old, new = before.nodes, after.nodes
    if old is not new:
        fresh = [node for key, node in new.items() if old.get(key) is not node]
        changed = [node for node in fresh if old.get(node.id) != node]
        removed = [key for key in old if key not in new]
        if changed:
            made["nodes"] = [node_to_json(node) for node in changed]
        if removed:
            made["removed"] = list(removed)
        kept = [key for key in old if key in new]
        if [*kept, *(node.id for node in changed if node.id not in old)] != list(new):
            made["order"] = list(new)
    for section in _SECTIONS:
        if getattr(before, section) != getattr(after, section):
            made[section] = _section(after, section)
    return made


class PlainState:
    """A state as plain data, brought forward by differences; read as a state only at the end.

    Args:
        data: what `state_to_json` gave; FormatError for anything else.
    """

    def __init__(self, data: object) -> None:
        fields = _mapping(data)
        self._nodes = _entries(fields.get("nodes"))
        self._sections = {name: fields.get(name) for name in _SECTIONS}
        # Journals older than annotations hold none.
        self._sections["annotations"] = fields.get("annotations", {})

    def apply(self, difference: object) -> None:
        """Go on to the state that differs in this; FormatError where it does not fit."""
        fields = _mapping(difference)
        for gone in _list(fields.get("removed", [])):
            self._nodes.pop(str(gone), None)
        self._nodes.update(_entries(fields.get("nodes", [])))
        if "order" in fields:
            order = [str(each) for each in _list(fields["order"])]
            if len(order) != len(self._nodes) or set(order) != set(self._nodes):
                raise FormatError("the order names other layers than there are", who="journal")
            self._nodes = {key: self._nodes[key] for key in order}
        self._sections.update((name, fields[name]) for name in _SECTIONS if name in fields)

    def state(self) -> DocumentState:
        """The state; StudioError where the data describes none."""
        nodes = nodes_from_json(list(self._nodes.values()))
        sections = {name: _read(name, value) for name, value in self._sections.items()}
        return DocumentState().with_nodes(nodes).replaced(**sections)


def _section(state: DocumentState, name: str) -> Plain:
    value: object = getattr(state, name)
    if isinstance(value, FrozenConfig):
        return value.plain()
    if isinstance(value, tuple):
        return [str(each) for each in value]
    return None if value is None else str(value)


def _read(name: str, value: object) -> object:
    if name == "data" and value is None:
        return None
    if name in _TEXTS:
        if not isinstance(value, str):
            raise FormatError(f"{name}: expected text", who="journal")
        return value
    if name == "outputs":
        return ids_from_json(value, "outputs")
    if name == "annotations":
        return FrozenConfig(annotations_from_json(value).to_json())
    return FrozenConfig(_mapping(value))


def _entries(value: object) -> dict[str, object]:
    return {str(_mapping(entry).get("id")): entry for entry in _list(value)}


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise FormatError("expected a list", who="journal")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise FormatError("expected an object", who="journal")
    return value
