"""Opening what cannot be read as it is: files of newer versions, and layers unknown here.

What comes of it may be looked at and not saved, so that nothing in the file is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.formats.safe_json import load_json
from studio.engine.train.project.project import FIELDS, FORMAT, LIMITS, VERSION, Project
from studio.session.document.files.project_file import state_of_project
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import is_known
from studio.session.document.state import CanvasNode, DocumentState

_STAND_IN = "Activation"
"""A layer without required options, put in place of an unknown one while the file is read."""


class Rescued(NamedTuple):
    """A state that may be looked at, why it may not be changed, and what else was found."""

    state: DocumentState
    reason: str
    warnings: tuple[str, ...]


def rescue(path: Path) -> Rescued | None:
    """The document in a file, as far as it is understood; None when it is damaged."""
    try:
        document = load_json(path, LIMITS)
    except FormatError:
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    version = document.get("version")
    newer = isinstance(version, int) and not isinstance(version, bool) and version > VERSION
    fields: dict[str, object] = {k: v for k, v in document.items() if k in FIELDS or not newer}
    unknown = _unknown_layers(fields.get("graph"))
    if not newer and not unknown:
        return None
    fields["version"] = VERSION
    fields["graph"] = _with_stand_ins(fields.get("graph"), unknown)
    if unknown:
        fields.pop("canvas", None)
    try:
        project = Project.from_json(fields, str(path))
        opened = state_of_project(project)
    except StudioError:
        return None
    state = opened.state.with_nodes(
        _restored(opened.state.nodes[i], entry) for i, entry in unknown.items()
    )
    reasons = (
        _newer_text(version) if newer else "",
        _missing_text(state, unknown) if unknown else "",
    )
    return Rescued(state, "; ".join(filter(None, reasons)), opened.warnings)


def _unknown_layers(graph: object) -> dict[str, Mapping[str, object]]:
    """The entries of layers this version does not have, by id."""
    nodes = graph.get("nodes") if isinstance(graph, Mapping) else None
    found: dict[str, Mapping[str, object]] = {}
    for entry in nodes if isinstance(nodes, list) else ():
        if not isinstance(entry, Mapping) or "shares" in entry:
            continue
        node_id, type_name = entry.get("id"), entry.get("type")
        named = isinstance(node_id, str) and isinstance(type_name, str)
        if named and not is_known(str(type_name)):
            found[str(node_id)] = entry
    return found


def _with_stand_ins(graph: object, unknown: Mapping[str, Mapping[str, object]]) -> object:
    if not isinstance(graph, Mapping) or not unknown:
        return graph
    nodes = [
        {**entry, "type": _STAND_IN, "config": {"name": _name(entry)}}
        if isinstance(entry, Mapping) and entry.get("id") in unknown and "shares" not in entry
        else entry
        for entry in graph["nodes"]
    ]
    return {**graph, "nodes": nodes}


def _restored(node: CanvasNode, entry: Mapping[str, object]) -> CanvasNode:
    """The node with the type and options the file gives it."""
    config = entry.get("config")
    made = FrozenConfig({**(config if isinstance(config, Mapping) else {}), "name": node.name})
    return replace(node, type_name=str(entry["type"]), config=made)


def _name(entry: Mapping[str, object]) -> str:
    config = entry.get("config")
    name = config.get("name") if isinstance(config, Mapping) else None
    return name if isinstance(name, str) else str(entry["id"])


def _missing_text(state: DocumentState, unknown: Mapping[str, Mapping[str, object]]) -> str:
    layers = len(list(state.layers()))
    types = ", ".join(sorted({str(entry["type"])[:40] for entry in unknown.values()}))
    return f"opened {layers - len(unknown)} of {layers} layers; missing: {types}"


def _newer_text(version: object) -> str:
    return (
        f"the file was written by a newer Glassbox (format version {version}); update Glassbox to "
        "change it"
    )
