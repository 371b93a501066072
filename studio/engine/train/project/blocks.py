"""The ``blocks`` section of a project: which layers are drawn as one, and what its ports are.

What runs is the flat graph; nothing of a program depends on this section. It is checked against
the graph and kept, so that a project changed without a window is drawn as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.layers.graph import LayerGraph, NestedModel, Port, free_name
from studio.engine.layers.symbol import path_name

BlockKind: TypeAlias = Literal["block", "model"]

MAX_BLOCKS = 10_000
MAX_BLOCK_DEPTH = 32
MAX_BLOCK_NAME = 60
MAX_PORTS = 1000
_FIELDS = ("kind", "definition", "layers", "inputs", "outputs")
_PORT_FIELDS = ("name", "source")


@dataclass(frozen=True)
class BlockPort:
    """An input or output of a block.

    Attributes:
        name: what it is called; no two inputs, and no two outputs, have the same.
        source: the output of a layer that comes in or goes out here; None while it is open.
    """

    name: str
    source: Port | None = None


@dataclass(frozen=True)
class Block:
    """Layers that are drawn as one.

    Attributes:
        kind: ``block``, or ``model`` for a model that is used as one layer.
        definition: the same text in all linked copies; empty for a block of its own.
        layers: ids of the nodes in it, without those in blocks inside it.
        inputs: where data enters, from above down.
        outputs: where data leaves, from above down.
    """

    kind: BlockKind = "block"
    definition: str = ""
    layers: tuple[str, ...] = ()
    inputs: tuple[BlockPort, ...] = ()
    outputs: tuple[BlockPort, ...] = ()


Blocks: TypeAlias = Mapping[str, Block]
"""Blocks by path: names from the outermost in, joined by slashes."""


def blocks_to_json(blocks: Blocks) -> dict[str, Plain]:
    """Plain data; empty for no blocks."""
    return {
        path: {
            "kind": block.kind,
            "definition": block.definition,
            "layers": list(block.layers),
            "inputs": [_port_to_json(port) for port in block.inputs],
            "outputs": [_port_to_json(port) for port in block.outputs],
        }
        for path, block in blocks.items()
    }


def blocks_from_json(value: object, graph: LayerGraph) -> dict[str, Block]:
    """The blocks `blocks_to_json` described, checked against the graph.

    Raises:
        FormatError: the data is not of that form, a block stands in one that is not there, or a
            layer is missing or stands in two blocks.
    """
    entries = _object(value, "blocks")
    if len(entries) > MAX_BLOCKS:
        raise FormatError(f"expected at most {MAX_BLOCKS} blocks", who="blocks")
    found = {path: _block(path, entry, graph) for path, entry in entries.items()}
    held: dict[str, str] = {}
    for path, block in found.items():
        outer = path.rpartition("/")[0]
        if outer and outer not in found:
            raise FormatError(f"it stands in a block that is not there: {quoted(outer)}", who=path)
        for layer in block.layers:
            if held.setdefault(layer, path) != path:
                raise FormatError(f"{quoted(layer)} also stands in {held[layer]}", who=path)
    return found


def blocks_of(graph: LayerGraph) -> dict[str, Block]:
    """The nested models of a graph as blocks; copies of one model have the same definition.

    A definition is stated only for models that are whole in the graph several times. Models nested
    deeper than a file may hold are part of the last one that it can.
    """
    calls: dict[int, list[str]] = {}
    for path, nested in graph.nested.items():
        if nested.is_whole:
            calls.setdefault(id(nested.model), []).append(path)
    definitions: dict[str, str] = {}
    for paths in calls.values():
        if len(paths) > 1:
            name = free_name(path_name(graph.nested[paths[0]].title), definitions.values())
            definitions.update(dict.fromkeys(paths, name))
    made: dict[str, Block] = {}
    for path, nested in graph.nested.items():
        names = path.split("/")
        kept = "/".join(names[:MAX_BLOCK_DEPTH])
        layers = tuple(node for node in nested.layers if node in graph.nodes)
        if kept != path:
            made[kept] = replace(made[kept], layers=(*made[kept].layers, *layers), definition="")
            continue
        made[path] = Block(
            "model", definitions.get(path, ""), layers,
            _named(nested.inputs), _named(nested.outputs),
        )  # fmt: skip
    return made if len(made) <= MAX_BLOCKS else {}


def nested_of(blocks: Blocks) -> dict[str, NestedModel]:
    """The nested models that blocks show; the other way round from `blocks_of`.

    Other blocks are no models: their layers are part of the model around them, if there is one.
    """
    models: dict[str, object] = {}
    around: dict[str, str] = {}
    made: dict[str, NestedModel] = {}
    for path in sorted(blocks, key=lambda each: each.count("/")):
        block, (outer, _, name) = blocks[path], path.rpartition("/")
        model = around.get(outer, "")
        if block.kind != "model":
            around[path] = model
            if model:
                held = made[model]
                made[model] = held._replace(layers=(*held.layers, *block.layers))
            continue
        around[path] = free_name(f"{model}/{name}" if model else name, made)
        made[around[path]] = NestedModel(
            models.setdefault(block.definition or f"/{path}", object()),
            block.definition or name,
            block.layers,
            tuple((port.name, port.source) for port in block.inputs),
            tuple((port.name, port.source) for port in block.outputs),
        )
    return made


def _named(ports: Iterable[tuple[str, Port | None]]) -> tuple[BlockPort, ...]:
    """Ports whose names a file may hold, no two alike."""
    made: list[BlockPort] = []
    for name, source in ports:
        made.append(BlockPort(free_name(path_name(name), [p.name for p in made]), source))
    return tuple(made)


def check_block_name(name: object, who: str = "block") -> str:
    """The name, if it can name a block or one of its ports; FormatError otherwise."""
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= MAX_BLOCK_NAME
        or not name.isprintable()
        or name != name.strip()
        or "/" in name
    ):
        raise FormatError(
            f"expected a name of 1 to {MAX_BLOCK_NAME} characters without a slash, got "
            f"{quoted(name)}",
            who=who,
        )
    return name


def _block(path: str, entry: object, graph: LayerGraph) -> Block:
    names = path.split("/")
    if len(names) > MAX_BLOCK_DEPTH:
        raise FormatError(f"expected at most {MAX_BLOCK_DEPTH} blocks in each other", who="blocks")
    for name in names:
        check_block_name(name, "blocks")
    fields = _object(entry, path, _FIELDS)
    kind, definition = fields.get("kind", "block"), fields.get("definition", "")
    if kind not in ("block", "model"):
        raise FormatError(f"expected the kind block or model, got {quoted(kind)}", who=path)
    if not isinstance(definition, str) or len(definition) > 4 * MAX_BLOCK_NAME:
        raise FormatError("expected a definition as text", who=path)
    layers = _list(fields.get("layers", ()), path, len(graph.nodes))
    for layer in layers:
        if not isinstance(layer, str) or layer not in graph.nodes:
            raise FormatError(f"there is no layer {quoted(layer)}", who=path)
    if len(set(layers)) < len(layers):
        raise FormatError("a layer stands in it twice", who=path)
    return Block(
        kind,
        definition,
        tuple(cast("Sequence[str]", layers)),
        _ports(fields.get("inputs", ()), path, graph),
        _ports(fields.get("outputs", ()), path, graph),
    )


def _ports(value: object, path: str, graph: LayerGraph) -> tuple[BlockPort, ...]:
    made = []
    for entry in _list(value, path, MAX_PORTS):
        fields = _object(entry, path, _PORT_FIELDS)
        name = check_block_name(fields.get("name"), path)
        source = fields.get("source")
        made.append(BlockPort(name, None if source is None else _port(source, path, graph)))
    if len({port.name for port in made}) < len(made):
        raise FormatError("two inputs or two outputs have the same name", who=path)
    return tuple(made)


def _port(value: object, path: str, graph: LayerGraph) -> Port:
    node, output = value if isinstance(value, list | tuple) and len(value) == 2 else (value, 0)
    if isinstance(output, bool) or not isinstance(output, int) or not 0 <= output < MAX_PORTS:
        raise FormatError(f"a port has a wrong source: {quoted(value)}", who=path)
    if not isinstance(node, str) or node not in graph.nodes:
        raise FormatError(f"there is no layer {quoted(node)}", who=path)
    return Port(node, output)


def _port_to_json(port: BlockPort) -> dict[str, Plain]:
    made: dict[str, Plain] = {"name": port.name}
    if port.source is not None:
        node, output = port.source
        made["source"] = [node, output] if output else node
    return made


def _object(value: object, who: str, known: Sequence[str] | None = None) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"expected an object, got {quoted(value)}", who=who)
    unknown = [] if known is None else sorted(set(value) - set(known))
    if unknown and known is not None:
        raise FormatError(
            f"unknown field {quoted(unknown[0])}", who=who,
            hint=did_you_mean(unknown[0], known, f"known: {', '.join(known)}"),
        )  # fmt: skip
    return value


def _list(value: object, who: str, most: int) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > most:
        raise FormatError(f"expected a list of at most {most}, got {quoted(value)}", who=who)
    return value
