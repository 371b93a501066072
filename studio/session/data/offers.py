"""What to offer where network and data do not fit each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from studio.engine.core.options import Plain
from studio.engine.core.tensor import OpenShape, Shape
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import shape_text
from studio.engine.layers.lengths import fits
from studio.session.data.mapping import (
    SourcePart,
    ends_of,
    is_by_name,
    is_several,
    mapped_by_name,
)
from studio.session.data.peeking import by_name_source
from studio.session.data.sources import with_reference
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.sections import set_data
from studio.session.document.edits.wires import connect
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.resolve import resolve
from studio.session.document.state import CanvasNode, DocumentState


@dataclass(frozen=True)
class DataOffer:
    """An edit after which network and data fit each other.

    Attributes:
        text: what it does, a verb first.
        why: what does not fit now, one sentence.
        apply: makes the state with the step taken.
    """

    text: str
    why: str
    apply: Callable[[DocumentState], DocumentState]


def input_offer(state: DocumentState, shape: Shape) -> DataOffer | None:
    """What to offer for samples of a shape; None where the input fits or it is not clear which."""
    entries = [node for node in state.layers() if is_input(node)]
    wanted = shape_text(shape)
    if not entries:
        return DataOffer(
            f"Add an input of {wanted}",
            "The network has no input yet.",
            lambda now: _with_input(now, shape),
        )
    if len(entries) > 1:
        return None
    (entry,) = entries
    found = _stated(entry)
    if fits(found, shape):
        return None
    return DataOffer(
        f"Set the input to {wanted}",
        f"Samples are {wanted}, the input {entry.name!r} takes {shape_text(found)}.",
        lambda now: set_option(now, entry.id, "shape", list(shape)),
    )


def named_input_offer(state: DocumentState, shapes: Mapping[str, Shape]) -> DataOffer | None:
    """What to offer where inputs have other shapes than the data mapped to them.

    Args:
        state: the document.
        shapes: shape of a sample for each input that has data.
    """
    wrong = {
        node.id: shapes[node.name]
        for node in state.layers()
        if is_input(node) and node.name in shapes and not fits(_stated(node), shapes[node.name])
    }
    if not wrong:
        return None

    def apply(now: DocumentState) -> DocumentState:
        for node_id, shape in wrong.items():
            now = set_option(now, node_id, "shape", list(shape))
        return now

    said = ", ".join(f"{state.nodes[i].name} {shape_text(shape)}" for i, shape in wrong.items())
    return DataOffer(
        "Set the inputs to their data" if len(wrong) > 1 else f"Set {said.replace(' ', ' to ', 1)}",
        f"The data has other shapes than the network takes: {said}.",
        apply,
    )


def mapping_offer(
    state: DocumentState, reference: Mapping[str, Plain], parts: Sequence[SourcePart]
) -> DataOffer | None:
    """What to offer where a network of several inputs or outputs has data for one of each."""
    ends, source = ends_of(state), by_name_source(reference)
    if not parts or is_by_name(reference) or source is None or not is_several(ends):
        return None
    inputs = sum(end.side == "inputs" for end in ends)
    made = mapped_by_name(source, parts, ends)

    def apply(now: DocumentState) -> DocumentState:
        data = {} if now.data is None else now.data.plain()
        data.pop("normalization", None)
        return set_data(now, with_reference(data, made))

    return DataOffer(
        "Map its parts to inputs and outputs",
        f"The data is read as samples and labels; the network has {inputs} "
        f"input{'' if inputs == 1 else 's'} and {len(ends) - inputs} "
        f"output{'' if len(ends) - inputs == 1 else 's'}.",
        apply,
    )


def _stated(node: CanvasNode) -> OpenShape:
    """The shape an input states, None for lengths that may be any."""
    layer = layer_at(node)
    return layer.shape if isinstance(layer, Input) else layer.output_shape()


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
