"""A document from a project and back: what runs, and the drawing where it says more than that."""

from __future__ import annotations

from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer
from studio.engine.train.project import Project
from studio.graph_editor.model.edits.sections import data_of, training_of
from studio.graph_editor.model.frozen_config import FrozenConfig
from studio.graph_editor.model.resolve import layer_graph, resolve
from studio.graph_editor.model.state import CanvasNode, DocumentState


def state_of_project(project: Project) -> DocumentState:
    """The document a project describes."""
    state = DocumentState(
        name=project.name,
        data=None if project.data is None else FrozenConfig(project.data.to_json()),
        training=FrozenConfig(project.training.plain()),
        notes=project.notes,
        graph_name=project.graph.name,
    )
    state = state.with_nodes(_canvas_nodes(project.graph, project))
    marked = tuple(port.node for port in project.graph.outputs)
    return state if marked == resolve(state).outputs else state.replaced(outputs=marked)


def project_of_state(state: DocumentState) -> Project:
    """The project that is saved and compiled."""
    return Project(
        state.name,
        layer_graph(state),
        data_of(state),
        training_of(state),
        {node.id: (_whole(node.x), _whole(node.y)) for node in state.layers()},
        state.notes,
    )


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
                tuple(port.node for port in node.inputs),
                x,
                y,
                shares="" if owner == node.id else owner,
            )
        )
    return made


def _whole(coordinate: float) -> float:
    """Whole numbers without a point, so that saving does not change them."""
    return int(coordinate) if coordinate == int(coordinate) else coordinate
