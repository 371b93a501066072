"""Layers as text, to be copied within a document, between documents, and to other programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.options import Plain
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import parse_json
from studio.engine.train.project.project_text import project_text
from studio.session.document.cards.geometry import bounds
from studio.session.document.checks.invariants import misplaced
from studio.session.document.edits.copies import Copied, insert_copies, with_contents
from studio.session.document.edits.linked_copies import with_definition
from studio.session.document.edits.sharing import owners_among
from studio.session.document.files.drawing import node_to_json, nodes_from_json, version_of
from studio.session.document.state import CanvasNode, DocumentState

FORMAT = "glassbox-layers"
VERSION = 2
"""The newest version; 1 knows no blocks, and wires from first outputs alone."""
MIME = "application/x-glassbox-layers+json"
"""The private format on the clipboard; its content is the same text."""
LIMITS = Limits(file_bytes=8 * MIB, json_bytes=8 * MIB, json_depth=16, json_values=200_000)
_FIELDS = ("format", "version", "nodes")


def copy_text(state: DocumentState, node_ids: Iterable[str]) -> str:
    """Things on the canvas as text; empty when there are none."""
    nodes = with_contents(state, set(node_ids))
    if not nodes:
        return ""
    owners = owners_among(nodes)
    document: dict[str, Plain] = {
        "format": FORMAT,
        "version": version_of(nodes),
        "nodes": [node_to_json(replace(node, shares=owners.get(node.id, ""))) for node in nodes],
    }
    return project_text(document, first=_FIELDS)


def pasted_nodes(text: str, holder: str = "clipboard") -> tuple[CanvasNode, ...]:
    """The things in copied text.

    Args:
        text: from `copy_text`.
        holder: what the text is in, for messages.

    Raises:
        FormatError: the text is something else, broken (with line and column), or of a newer
            version.
        ParameterError: a wrong name or option of a layer.
    """
    nothing = FormatError(f"the {holder} holds no layers", who=holder,
                          hint="copy layers on a canvas first")  # fmt: skip
    if not text.lstrip().startswith("{"):
        raise nothing
    data = parse_json(text.encode("utf-8", "surrogatepass"), holder, LIMITS)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise nothing
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version > VERSION:
        raise FormatError(
            "the layers were copied from a newer version of Glassbox",
            who=holder,
            hint="update Glassbox",
        )
    unknown = sorted(set(data) - set(_FIELDS))
    if unknown:
        raise FormatError(f"unknown field {unknown[0][:60]!r}", who=holder)
    try:
        nodes = nodes_from_json(data.get("nodes"))
    except StudioError as error:
        error.origin = error.origin or holder
        raise
    _check_places(nodes, holder)
    return nodes


def _check_places(nodes: tuple[CanvasNode, ...], holder: str) -> None:
    """FormatError where copied blocks stand in themselves or wires cross their borders."""
    ids = {node.id for node in nodes}
    alone = {
        node.id: replace(
            node,
            parent=node.parent if node.parent in ids else "",
            inputs=tuple(port for port in node.inputs if port.node in ids),
        )
        for node in nodes
    }
    wrong = misplaced(DocumentState(nodes=MappingProxyType(alone)))
    if wrong:
        raise FormatError(wrong[0], who=holder)


def paste(
    state: DocumentState,
    text: str,
    at: tuple[float, float] | None = None,
    *,
    keep_inputs: bool = False,
    level: str | None = None,
    linked: bool = False,
) -> DocumentState:
    """Put copied things on the canvas; see `paste_mapped`."""
    return paste_mapped(state, text, at, keep_inputs=keep_inputs, level=level, linked=linked).state


def paste_mapped(
    state: DocumentState,
    text: str,
    at: tuple[float, float] | None = None,
    *,
    keep_inputs: bool = False,
    level: str | None = None,
    linked: bool = False,
) -> Copied:
    """Put copied things on the canvas, new names and ids given; raises as `pasted_nodes` does.

    Args:
        state: what to change.
        text: from `copy_text`, in this document or another.
        at: where the middle of them goes; where they were by default, aside of what is there.
        keep_inputs: feed them from what fed the originals, where this document has it.
        level: the block they go into; where the originals stand by default.
        linked: blocks become linked copies of their originals, where these are here unchanged.
    """
    nodes = pasted_nodes(text)
    if linked:
        state, nodes = _linked(state, nodes)
    ids = {node.id for node in nodes}
    around = bounds(node for node in nodes if node.parent not in ids)
    offset = (0.0, 0.0)
    if at is not None and around is not None:
        middle = around.x + around.width / 2, around.y + around.height / 2
        offset = at[0] - middle[0], at[1] - middle[1]
    return insert_copies(state, nodes, offset=offset, keep_inputs=keep_inputs, level=level)


def _linked(
    state: DocumentState, nodes: tuple[CanvasNode, ...]
) -> tuple[DocumentState, tuple[CanvasNode, ...]]:
    """The copied blocks with the definitions of their originals, which get one."""
    for node in nodes:
        original = state.nodes.get(node.id)
        if node.is_block and not node.definition and original and original.is_block:
            state = with_definition(state, node.id)
    same = {
        node.id: replace(
            node, definition=state.nodes[node.id].definition, origin=state.nodes[node.id].origin
        )
        for node in nodes
        if node.id in state.nodes and state.nodes[node.id].kind == node.kind
    }
    return state, tuple(same.get(node.id, node) for node in nodes)
