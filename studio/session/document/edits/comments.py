"""Notes and frames: comments on the canvas that nothing depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.engine.core.errors import GraphError, ParameterError
from studio.session.document.cards.geometry import (
    FRAME_MARGIN,
    FRAME_SIZE,
    NOTE_SIZE,
    Box,
    bounds,
    box_of,
)
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.levels import TOP, members
from studio.session.document.naming import new_id
from studio.session.document.state import CanvasNode, DocumentState

MAX_TEXT = 10_000
MIN_SIDE = 48.0
MAX_SIDE = 20_000.0
TITLE_ROOM = 28.0
"""Height above the things in a frame for what it says."""


def add_note(
    state: DocumentState, x: float, y: float, text: str = "", *, level: str = TOP
) -> DocumentState:
    """Put a note on the canvas, at the top or in a block."""
    width, height = NOTE_SIZE
    note = CanvasNode(
        new_id(state, "note"), "note", x=x, y=y, text=_checked(text), width=width, height=height,
        parent=level,
    )  # fmt: skip
    return state.with_nodes([note])


def add_frame(
    state: DocumentState,
    node_ids: Iterable[str] = (),
    *,
    text: str = "",
    at: tuple[float, float] = (0.0, 0.0),
    level: str = TOP,
) -> DocumentState:
    """Put a frame around things, where the first of them stands, or an empty one at a place."""
    chosen = [state.nodes[i] for i in node_ids if i in state.nodes]
    level = chosen[0].parent if chosen else level
    around = bounds((node for node in chosen if node.parent == level), sizes_in(state))
    box = Box(*at, *FRAME_SIZE) if around is None else around.grown(FRAME_MARGIN)
    if around is not None:
        box = Box(box.x, box.y - TITLE_ROOM, box.width, box.height + TITLE_ROOM)
    frame = CanvasNode(
        new_id(state, "frame"), "frame", x=box.x, y=box.y, text=_checked(text),
        width=box.width, height=box.height, parent=level,
    )  # fmt: skip
    return state.with_nodes([frame])


def set_text(state: DocumentState, node_id: str, text: str) -> DocumentState:
    """Change what a note or frame says."""
    node = _comment(state, node_id)
    return state.with_nodes([replace(node, text=_checked(text))])


def resize(state: DocumentState, node_id: str, width: float, height: float) -> DocumentState:
    """Change the size of a note or frame."""
    node = _comment(state, node_id)
    sides = [min(max(float(side), MIN_SIDE), MAX_SIDE) for side in (width, height)]
    return state.with_nodes([replace(node, width=sides[0], height=sides[1])])


def inside_frame(state: DocumentState, frame_id: str) -> tuple[str, ...]:
    """What lies in a frame, and moves with it."""
    frame = _comment(state, frame_id)
    outer, size_of = box_of(frame), sizes_in(state)
    return tuple(
        node.id
        for node in members(state, frame.parent)
        if node.id != frame_id and outer.contains(box_of(node, size_of))
    )


def _comment(state: DocumentState, node_id: str) -> CanvasNode:
    node = state.node(node_id)
    if node.kind not in ("note", "frame"):
        raise GraphError("only notes and frames have a text", who=node.name)
    return node


def _checked(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ParameterError(f"expected at most {MAX_TEXT} characters", who="note")
    return text
