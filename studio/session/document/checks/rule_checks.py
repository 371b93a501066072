"""Checks of one layer: its wires and its own rule, with a stable id for what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.activation_catalog import absent_activation
from studio.engine.layers.inputs import MAX_ELEMENTS
from studio.engine.layers.layer import Layer
from studio.engine.train.project.plugin_use import activations_in
from studio.session.document.errors import AbsentOutput
from studio.session.document.flow import Flow
from studio.session.document.layer_types import absent_plugin, arity, is_input, is_known, layer_at
from studio.session.document.report import Problem
from studio.session.document.state import CanvasNode, DocumentState

if TYPE_CHECKING:
    from collections.abc import Iterator

_HINTS = {
    "shape.rank": "insert Reshape before it",
    "shape.size": "make it narrower, or its input smaller",
}
"""What to do where the rule itself does not say."""


def layer_problem(state: DocumentState, node: CanvasNode, flow: Flow) -> Problem | None:
    """What is wrong at a layer or dot whose inputs are all known; None when its rule holds."""
    if node.is_layer and not is_known(node.type_name):
        plugin = absent_plugin(node.type_name)
        if plugin:
            return Problem(
                "layer.plugin", "error", node.id,
                f"{plugin} is not loaded; {node.type_name} is part of it",
                "turn the plugin on in the preferences, or install it and start again",
            )  # fmt: skip
        return Problem(
            "layer.unknown", "error", node.id, f"unknown layer type {node.type_name!r}",
            "open the project with the Glassbox version that has it",
        )  # fmt: skip
    found = flow.outcomes.get(node.id)
    if found is None:
        return _missing(state, node)
    if found.error is None:
        return _absent_activation(node)
    error = found.error
    if isinstance(error, AbsentOutput):
        slot = next((i for i, port in enumerate(node.inputs) if flow.type_at(port) is None), 0)
        return Problem("link.output", "error", node.id, error.message, error.hint, slot)
    refused = refused_dtype(layer_at(node), flow.types(node.inputs), error)
    if refused is not None:
        return Problem("shape.dtype", "error", node.id, error.message, error.hint, refused)
    if found.types and not isinstance(error, InternalError):
        slot = next((i for i, port in enumerate(node.inputs) if flow.masks((port,))), 0)
        return Problem("shape.mask", "error", node.id, error.message, error.hint, slot)
    shapes = input_shapes(node, flow)
    rule = rule_id(layer_at(node), shapes, error)
    hint = error.hint or _HINTS.get(rule, "")
    if rule == "shape.size" and is_input(node):
        hint = "make its shape smaller"
    return Problem(rule, "error", node.id, error.message, hint, offending_input(shapes))


def _absent_activation(node: CanvasNode) -> Problem | None:
    """The layer's function, where it is of a plugin that is not loaded."""
    if not node.is_layer:
        return None
    for name in activations_in(type(layer_at(node)), node.config):
        home = absent_activation(name)
        if home is not None:
            return Problem(
                "layer.plugin", "error", node.id,
                f"{home} is not loaded; the activation {name} is part of it",
                "turn the plugin on in the preferences, or choose another activation",
            )  # fmt: skip
    return None


def shared_problems(state: DocumentState, flow: Flow) -> Iterator[Problem]:
    """Further uses of a layer whose inputs ask for parameters of another size."""
    for node in state.layers():
        problem = sharing_problem(state, node, flow)
        if problem is not None:
            yield problem


def sharing_problem(state: DocumentState, node: CanvasNode, flow: Flow) -> Problem | None:
    """What is wrong where a further use asks for parameters of another size; None where nothing.

    It is compared with the first use before it whose input is known.
    """
    if not node.shares or node.bypassed or not is_known(node.type_name):
        return None
    uses = state.uses_of(node.id)
    message = ""
    if _holds(node, flow):
        here = input_shapes(node, flow)
        message = sizes_message(state, uses[: uses.index(node.id)], here, flow)
    if not message:
        return None
    hint = "stop sharing parameters for one of them"
    return Problem("layer.shared_sizes", "error", node.id, message, hint, 0)


def sizes_message(
    state: DocumentState, uses: Sequence[str], here: Sequence[Shape], flow: Flow
) -> str:
    """Why a layer with these uses cannot be used for inputs of other shapes; empty if it can."""
    known = (node for i in uses if not (node := state.nodes[i]).bypassed and _holds(node, flow))
    first = next(known, None)
    there = () if first is None else input_shapes(first, flow)
    if first is None or layer_at(first).parameters(*here) == layer_at(first).parameters(*there):
        return ""
    return (
        f"a shared layer needs inputs of one shape, got {shapes_text(there)} "
        f"and {shapes_text(here)}"
    )


def _holds(node: CanvasNode, flow: Flow) -> bool:
    """Whether the inputs of a layer are known and its rule takes them."""
    found = flow.outcomes.get(node.id)
    return found is not None and found.error is None


def input_shapes(node: CanvasNode, flow: Flow) -> tuple[Shape, ...]:
    """The known shapes that come into a layer, by slot."""
    return tuple(shape for s in node.inputs if (shape := flow.shape(s)) is not None)


def refused_dtype(layer: Layer, types: Sequence[TensorType], error: StudioError) -> int | None:
    """The input whose dtype an error is about; None where it is about something else."""
    if isinstance(error, InternalError):
        return None
    try:
        layer.check_dtypes(*types)
    except StudioError as refusal:
        if refusal.message == error.message:
            # Where dtypes only differ from one another, the first that the layer names is meant.
            wanted = layer.dtypes if len(types) == 1 else layer.dtypes[:1]
            return next((i for i, given in enumerate(types) if given.dtype not in wanted), 0)
    return None


def rule_id(layer: Layer, shapes: Sequence[Shape], error: StudioError) -> str:
    """Which rule of a layer inputs of these shapes break."""
    if isinstance(error, InternalError):
        return "layer.failed"
    if "elements" in error.message and str(MAX_ELEMENTS) in error.message:
        return "shape.size"
    return f"shape.{layer.broken_rule(*shapes)}"


def offending_input(shapes: Sequence[Shape]) -> int | None:
    """The first input that differs from the first; of a single one, that."""
    if not shapes:
        return None
    return next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)


def shapes_text(shapes: Sequence[Shape]) -> str:
    """Shapes without the batch, as ``[8,8,1] and [4]``."""
    return " and ".join("[" + ",".join(map(str, shape)) + "]" for shape in shapes)


def _missing(state: DocumentState, node: CanvasNode) -> Problem:
    low = arity(node)[0]
    connected = len([s for s in node.inputs if s.node in state.nodes])
    # A bypassed output that nothing feeds is left out of the network.
    is_left_out = node.bypassed and not state.wires_from(node.id)
    return Problem(
        "link.missing",
        "warning" if is_left_out else "error",
        node.id,
        f"expected {low} connected input{'' if low == 1 else 's'}, got {connected}",
        "connect the output of another layer",
        connected,
    )
