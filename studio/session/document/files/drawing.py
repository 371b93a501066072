"""The drawing as plain data: what a project's ``canvas`` section and the clipboard hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from typing import cast

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.options import Plain
from studio.engine.layers.graph import Port
from studio.engine.layers.layer import check_name
from studio.engine.train.project.project import MAX_COORDINATE
from studio.session.document.edits.comments import MAX_SIDE, MAX_TEXT
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import absent_plugin, checked_config, is_known
from studio.session.document.state import (
    NODE_KINDS,
    PORT_SIDES,
    PREVIEW_MODES,
    CanvasNode,
    PortSide,
    plain_port,
)

VERSION = 2
"""The newest version; 1 knows no blocks, and wires from first outputs alone."""
MAX_INPUTS = MAX_OUTPUTS = 1000
_FIELDS = frozenset(
    {
        "id", "kind", "type", "config", "inputs", "x", "y", "bypassed", "collapsed", "preview",
        "shares", "text", "width", "height", "pinned", "parent", "port", "definition", "origin",
        "model",
    }
)  # fmt: skip


def node_to_json(node: CanvasNode) -> dict[str, Plain]:
    """One thing on the canvas; what is as usual is left out."""
    made: dict[str, Plain] = {"id": node.id, "x": tidy(node.x), "y": tidy(node.y)}
    if node.kind == "layer":
        made |= {"type": node.type_name, "config": node.config.plain()}
    else:
        made["kind"] = node.kind
    if node.flows:
        made["inputs"] = [plain_port(port) for port in node.inputs]
    if node.bypassed:
        made["bypassed"] = True
    if node.collapsed:
        made["collapsed"] = True
    if node.preview != CanvasNode("").preview:
        made["preview"] = node.preview
    if node.shares:
        made["shares"] = node.shares
    if node.pinned:
        made["pinned"] = True
    if not node.flows:
        made |= {"text": node.text, "width": tidy(node.width), "height": tidy(node.height)}
    return made | _of_blocks(node)


def _of_blocks(node: CanvasNode) -> dict[str, Plain]:
    """What a thing is in blocks; nothing for most."""
    made: dict[str, Plain] = {}
    texts = {"parent": node.parent, "port": node.port, "definition": node.definition,
             "origin": node.origin, "text": node.text if node.port else ""}  # fmt: skip
    made |= {name: text for name, text in texts.items() if text}
    return {**made, "model": True} if node.model else made


def nodes_from_json(data: object) -> tuple[CanvasNode, ...]:
    """The things `node_to_json` described, links and sharing between them checked.

    Raises:
        FormatError: the data is not of that form, or refers to what is not there.
        ParameterError: a wrong name or option of a layer.
    """
    nodes = tuple(_node(entry) for entry in _list(data, "nodes"))
    found = {node.id: node for node in nodes}
    if len(found) != len(nodes):
        raise FormatError("an id occurs twice", who="canvas")
    for node in nodes:
        owner = found.get(node.shares) if node.shares else None
        if node.shares and (
            owner is None
            or owner.shares
            or (owner.type_name, owner.config) != (node.type_name, node.config)
        ):
            raise FormatError("it shares a layer that is not there", who=node.id)
    return nodes


def ports_from_json(data: object, what: str) -> tuple[Port, ...]:
    """A list of outputs: the id of a node for its first, ``[id, output]`` for another."""
    found = _list(data, what)
    if len(found) > MAX_INPUTS:
        raise FormatError(f"expected at most {MAX_INPUTS} links, got {len(found)}", who=what)
    return tuple(_port(each, what) for each in found)


def version_of(nodes: Iterable[CanvasNode], outputs: Iterable[Port] = ()) -> int:
    """The lowest version of a file that can say these things."""
    things = tuple(nodes)
    ports = (*outputs, *(port for node in things for port in node.inputs))
    in_blocks = any(_of_blocks(node) or node.is_block for node in things)
    return 2 if in_blocks or any(port.output for port in ports) else 1


def tidy(number: float) -> float:
    """Whole numbers without a point, so that reading and writing does not change them."""
    return int(number) if number == int(number) else number


def drawing_to_json(nodes: Collection[CanvasNode], outputs: Sequence[Port]) -> dict[str, Plain]:
    """The whole drawing."""
    return {
        "version": version_of(nodes, outputs),
        "nodes": [node_to_json(node) for node in nodes],
        "outputs": [plain_port(port) for port in outputs],
    }


def _node(entry: object) -> CanvasNode:
    fields = _mapping(entry, "node")
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise FormatError(f"unknown field {unknown[0][:60]!r}", who="canvas")
    node_id = check_name(fields.get("id"), "canvas")
    kind, preview = fields.get("kind", "layer"), fields.get("preview", CanvasNode("").preview)
    if kind not in NODE_KINDS or preview not in PREVIEW_MODES:
        raise FormatError("unknown kind or preview", who=node_id)
    type_name = fields.get("type", "")
    shares, text = fields.get("shares", ""), fields.get("text", "")
    of_blocks = [fields.get(name, "") for name in ("parent", "port", "definition", "origin")]
    texts = (type_name, shares, text, *of_blocks)
    if of_blocks[1] not in PORT_SIDES:
        raise FormatError(f"it is no such port: {quoted(of_blocks[1])}", who=node_id)
    if not all(isinstance(each, str) and len(each) <= MAX_TEXT for each in texts):
        raise FormatError("expected a type, a text, and what it shares as text", who=node_id)
    return CanvasNode(
        node_id,
        kind,
        cast("str", type_name) if kind == "layer" else "",
        _config(kind, cast("str", type_name), fields.get("config", {}), node_id),
        ports_from_json(fields.get("inputs", ()), node_id),
        _number(fields.get("x", 0.0), node_id, -MAX_COORDINATE, MAX_COORDINATE),
        _number(fields.get("y", 0.0), node_id, -MAX_COORDINATE, MAX_COORDINATE),
        _flag(fields.get("bypassed", False), node_id),
        _flag(fields.get("collapsed", False), node_id),
        preview,
        cast("str", shares),
        cast("str", text),
        _number(fields.get("width", 0.0), node_id, 0.0, MAX_SIDE),
        _number(fields.get("height", 0.0), node_id, 0.0, MAX_SIDE),
        _flag(fields.get("pinned", False), node_id),
        *cast("tuple[str, PortSide, str, str]", tuple(of_blocks)),
        _flag(fields.get("model", False), node_id),
    )


def _port(value: object, who: str) -> Port:
    if isinstance(value, str):
        return Port(value)
    fields = _list(value, who)
    node, output = fields if len(fields) == 2 else ("", 0)
    if (
        isinstance(node, str)
        and isinstance(output, int)
        and not isinstance(output, bool)
        and output in range(1, MAX_OUTPUTS)
    ):
        return Port(node, int(output))
    raise FormatError(f"expected a node or [node, output], got {quoted(value)}", who=who)


def _config(kind: object, type_name: str, value: object, who: str) -> FrozenConfig:
    config = _mapping(value, who)
    if kind != "layer":
        return FrozenConfig()
    if not is_known(type_name) and not absent_plugin(type_name):
        raise FormatError(f"unknown layer {type_name[:60]!r}", who=who)
    made = checked_config(type_name, config)
    check_name(made.get("name"), who)
    return made


def _mapping(value: object, who: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"expected an object, got {str(value)[:60]!r}", who=who)
    return value


def _list(value: object, who: str) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise FormatError(f"expected a list, got {str(value)[:60]!r}", who=who)
    return value


def _flag(value: object, who: str) -> bool:
    if not isinstance(value, bool):
        raise FormatError("expected true or false", who=who)
    return value


def _number(value: object, who: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise FormatError("expected a number", who=who)
    if not low <= value <= high:
        raise FormatError(f"expected a number from {low:g} to {high:g}", who=who)
    return float(value)
