"""How a network's input is made to fit the data: one step that is offered, never taken unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import shape_text
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.wires import connect
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.resolve import resolve
from studio.session.document.state import DocumentState


@dataclass(frozen=True)
class InputOffer:
    """A step that makes the network take the data.

    Attributes:
        text: what it does, a verb first.
        why: what does not fit now, one sentence.
        apply: makes the state with the step taken.
    """

    text: str
    why: str
    apply: Callable[[DocumentState], DocumentState]


def input_offer(state: DocumentState, shape: Shape) -> InputOffer | None:
    """What to offer for samples of a shape; None where the input fits or it is not clear which."""
    entries = [node for node in state.layers() if is_input(node)]
    wanted = shape_text(shape)
    if not entries:
        return InputOffer(
            f"Add an input of {wanted}",
            "The network has no input yet.",
            lambda now: _with_input(now, shape),
        )
    if len(entries) > 1:
        return None
    (entry,) = entries
    found = layer_at(entry).output_shape()
    if found == shape:
        return None
    return InputOffer(
        f"Set the input to {wanted}",
        f"Samples are {wanted}, the input {entry.name!r} takes {shape_text(found)}.",
        lambda now: set_option(now, entry.id, "shape", list(shape)),
    )


def _with_input(state: DocumentState, shape: Shape) -> DocumentState:
    """An input added, and joined to the layer that waits for one where it is clear which."""
    waiting = [i for i, sources in resolve(state).inputs.items() if not sources]
    added = add_layer(state, "Input", config={"shape": list(shape)}, at=_left_of(state))
    (new,) = (node.id for node in added.layers() if node.id not in state.nodes)
    return connect(added, new, waiting[0], check_shapes=False) if len(waiting) == 1 else added


def _left_of(state: DocumentState) -> tuple[float, float]:
    """A place to the left of everything drawn."""
    layers = list(state.layers())
    if not layers:
        return 0.0, 0.0
    return min(node.x for node in layers) - 240.0, min(node.y for node in layers)
