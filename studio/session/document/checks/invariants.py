"""What holds in every state of a document, whatever edits led to it."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.core.errors import GraphError, StudioError
from studio.session.document.flow import running_order
from studio.session.document.layer_types import arity, checked_config, is_known
from studio.session.document.levels import all_blocks, level_of_input, level_of_output, members
from studio.session.document.state import CanvasNode, DocumentState


def broken_rules(state: DocumentState) -> tuple[str, ...]:
    """The rules a state breaks, one sentence each; empty when it is sound."""
    found = [rule for node in state.nodes.values() for rule in _node_rules(state, node)]
    found += [
        f"output {i!r} is no layer" for i, _ in state.outputs if not _is_layer(state, i)
    ]  # fmt: skip
    if len(set(state.outputs)) < len(state.outputs):
        found.append("an output is marked twice")
    found += _name_rules(state)
    found += _block_names(state)
    if not found:
        found += misplaced(state)
    if not found:
        try:
            running_order(state.nodes)
        except GraphError as error:
            found.append(error.message)
    return tuple(found)


def _node_rules(state: DocumentState, node: CanvasNode) -> Iterator[str]:
    if state.nodes.get(node.id) is not node:
        yield f"{node.id!r} is kept under another id"
    if not node.flows and node.inputs:
        yield f"the {node.kind} {node.id!r} has wires"
    for source, output in node.inputs:
        if output < 0:
            yield f"a wire into {node.id!r} leaves output {output} of {source!r}"
        if source not in state.nodes:
            yield f"a wire into {node.id!r} comes from nowhere: {source!r}"
        elif not state.nodes[source].flows:
            yield f"a wire into {node.id!r} comes from a {state.nodes[source].kind}"
    if node.is_layer and is_known(node.type_name):
        yield from _layer_rules(state, node)
    elif node.kind == "dot" and len(node.inputs) > 1:
        yield f"the dot {node.id!r} has {len(node.inputs)} wires coming in"


def _layer_rules(state: DocumentState, node: CanvasNode) -> Iterator[str]:
    high = arity(node)[1]
    if high is not None and len(node.inputs) > high:
        yield f"{node.id!r} takes {high} wires and has {len(node.inputs)}"
    try:
        if checked_config(node.type_name, node.config) != node.config:
            yield f"the options of {node.id!r} are not in their stored form"
    except StudioError as error:
        yield f"the options of {node.id!r} are wrong: {error.message}"
    if "name" not in node.config:
        yield f"{node.id!r} has no name"
    if node.shares:
        owner = state.nodes.get(node.shares)
        if owner is None or owner.shares or not owner.is_layer:
            yield f"{node.id!r} shares a layer that is not there"
        elif (owner.type_name, owner.config) != (node.type_name, node.config):
            yield f"{node.id!r} differs from the layer it shares"


def _name_rules(state: DocumentState) -> Iterator[str]:
    holders: dict[str, str] = {}
    for node in state.layers():
        owner = node.shares or node.id
        if holders.setdefault(node.name, owner) != owner:
            yield f"two layers are called {node.name!r}"


def misplaced(state: DocumentState) -> tuple[str, ...]:
    """What stands in no block or in itself, and wires that cross a border without a port."""
    found = tuple(_nesting_rules(state))
    return found or tuple(_level_rules(state))


def _nesting_rules(state: DocumentState) -> Iterator[str]:
    """Blocks stand in blocks without a loop; ports belong to a block."""
    for node in state.nodes.values():
        around, at = set[str](), node
        while at.parent:
            block = state.nodes.get(at.parent)
            if block is None or not block.is_block:
                yield f"{node.id!r} stands in a block that is not there"
                break
            if block.id in around:
                yield f"the block {block.id!r} stands in itself"
                break
            around.add(block.id)
            at = block
        if node.port and (node.kind != "dot" or not node.parent):
            yield f"{node.id!r} is a port of no block"
        if not node.is_block and (node.definition or node.model):
            yield f"{node.id!r} is marked as a block and is none"


def _block_names(state: DocumentState) -> Iterator[str]:
    """Blocks beside each other, and ports on one side of a block, have different names."""
    for level in ("", *(block.id for block in all_blocks(state))):
        for kind, port, what in (("block", "", "blocks"), ("dot", "in", "inputs"),
                                 ("dot", "out", "outputs")):  # fmt: skip
            names = [n.name for n in members(state, level) if (n.kind, n.port) == (kind, port)]
            if len(set(names)) < len(names):
                yield f"two {what} in {level!r} have one name"


def _level_rules(state: DocumentState) -> Iterator[str]:
    """Both ends of a wire are at the same level."""
    for wire in state.wires():
        if level_of_output(state, wire.source) != level_of_input(state, wire.target):
            ends = f"{wire.source!r} to {wire.target!r}"
            yield f"the wire from {ends} crosses a border without a port"


def _is_layer(state: DocumentState, node_id: str) -> bool:
    return node_id in state.nodes and state.nodes[node_id].is_layer
