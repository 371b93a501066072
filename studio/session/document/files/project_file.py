"""A document from a project and back: what runs, and the drawing where it says more than that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.layers.layer import Layer
from studio.engine.train.project.project import Project
from studio.engine.train.project.sample_facts import sample_facts_from_json
from studio.session.document.arrange.layered import layout_level, place_missing
from studio.session.document.arrange.wrapping import Room
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.annotations import annotations_of
from studio.session.document.edits.linked_copies import with_equal_copies
from studio.session.document.edits.sections import data_of, training_of
from studio.session.document.files.blocks_section import blocks_of, with_blocks
from studio.session.document.files.drawing import (
    VERSION,
    drawing_to_json,
    nodes_from_json,
    ports_from_json,
    tidy,
)
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.levels import TOP, all_blocks
from studio.session.document.resolve import layer_graph, resolve
from studio.session.document.state import CanvasNode, DocumentState


class Opened(NamedTuple):
    """A state read from a project, and what was found on the way, one sentence each."""

    state: DocumentState
    warnings: tuple[str, ...] = ()
    has_places: bool = True
    """Whether it said where anything stands."""


def state_of_project(project: Project) -> Opened:
    """The document a project describes: as it was drawn, if the drawing shows what runs.

    Raises:
        FormatError: links of the graph lead nowhere or close a loop, or names occur twice.
    """
    plain = _plain_state(project)
    _check(plain)
    in_blocks = with_blocks(plain, project.blocks)
    _check(in_blocks)
    if project.canvas is None:
        if project.layout:
            return Opened(in_blocks)
        return Opened(_laid_out(in_blocks), has_places=False)
    try:
        return Opened(_drawn_state(project, plain))
    except StudioError as error:
        return Opened(in_blocks, (f"the layout of the canvas could not be read: {error.message}",))


def project_of_state(state: DocumentState) -> Project:
    """The project that is saved and compiled."""
    project = Project(
        state.name,
        layer_graph(state),
        data_of(state),
        training_of(state),
        {node.id: (tidy(node.x), tidy(node.y)) for node in state.layers()},
        state.notes,
        annotations=annotations_of(state),
        samples=sample_facts_from_json(state.samples),
    )
    project.blocks = blocks_of(state, project.graph)
    known = with_blocks(_plain_state(project), project.blocks)
    if (dict(known.nodes), known.outputs) != (dict(state.nodes), state.outputs):
        project.layout = {i: project.layout[i] for i in project.graph.nodes}
        project.canvas = drawing_to_json(tuple(state.nodes.values()), state.outputs)
    return project


def _plain_state(project: Project) -> DocumentState:
    """The document without a drawing: layers where the layout puts them."""
    state = DocumentState(
        name=project.name,
        data=None if project.data is None else FrozenConfig(project.data.to_json()),
        training=FrozenConfig(project.training.plain()),
        notes=project.notes,
        graph_name=project.graph.name,
        annotations=FrozenConfig(project.annotations.to_json()),
        samples=FrozenConfig(project.samples.to_json()),
    )
    state = state.with_nodes(_canvas_nodes(project.graph, project))
    missing = [i for i in state.nodes if i not in project.layout]
    state = place_missing(state, missing) if missing else state
    marked = project.graph.outputs
    return state if marked == resolve(state).outputs else state.replaced(outputs=marked)


def laid_out_for(state: DocumentState, room: Room) -> DocumentState:
    """A drawing that came without places, so that each level is large in a room."""
    blocks = [block.id for block in all_blocks(state)]
    for level in (TOP, *blocks):
        state = layout_level(state, level, room=room)
    return with_equal_copies(state) if blocks else state


def _laid_out(state: DocumentState) -> DocumentState:
    """A drawing without places, laid out level by level; linked copies alike."""
    blocks = [block.id for block in all_blocks(state)]
    for level in (TOP, *blocks) if blocks else ():
        state = layout_level(state, level)
    return with_equal_copies(state) if blocks else state


def _drawn_state(project: Project, plain: DocumentState) -> DocumentState:
    """The document as drawn; a StudioError when the drawing shows another network."""
    canvas: Mapping[str, object] = project.canvas or {}
    if canvas.get("version") not in range(1, VERSION + 1):
        raise FormatError("it has another version", who="canvas")
    nodes = nodes_from_json(canvas.get("nodes"))
    outputs = ports_from_json(canvas.get("outputs", ()), "outputs")
    state = plain.with_nodes(nodes, plain.nodes).replaced(outputs=outputs)
    _check(state)
    if graph_to_json(layer_graph(state)) != graph_to_json(project.graph):
        raise FormatError("it belongs to another network", who="canvas")
    return state


def _check(state: DocumentState) -> None:
    broken = broken_rules(state)
    if broken:
        raise FormatError(broken[0], who=state.name)


def _canvas_nodes(graph: LayerGraph, project: Project) -> list[CanvasNode]:
    owners: dict[Layer, str] = {}
    made = []
    for node in graph.nodes.values():
        owner = owners.setdefault(node.layer, node.id)
        x, y = project.layout.get(node.id, (0.0, 0.0))
        made.append(
            CanvasNode(
                node.id,
                "layer",
                type(node.layer).__name__,
                FrozenConfig(node.layer.config()),
                node.inputs,
                float(x),
                float(y),
                shares="" if owner == node.id else owner,
            )
        )
    return made
