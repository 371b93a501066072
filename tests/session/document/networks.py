"""Documents the tests begin with, and drawings as short texts to compare."""

from __future__ import annotations

from dataclasses import replace

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.session.document.adding.net_text import parse_net
from studio.session.document.edits.blocks import group
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.wires import connect
from studio.session.document.state import DocumentState


def net(text: str) -> DocumentState:
    """The chain a typed net describes."""
    layers = [NewLayer(layer.type_name, layer.config) for layer in parse_net(text)]
    return add_chain(DocumentState(), layers).state


def chain() -> DocumentState:
    """input → conv2d → re_lu → max_pooling2d → flatten → dense."""
    return net("input 8x8x1 > conv 8 3x3 > relu > pool > flatten > dense 10")


def residual() -> DocumentState:
    """input → a → b → add, with input → add beside it."""
    state = net("input 8x8x4 > conv 4 3x3 same > conv 4 3x3 same")
    state = add_layer(state, "Add", after="conv2d_1")
    return connect(state, "input", "add")


def wires(state: DocumentState) -> str:
    """All wires as ``a>b a>c:1``, in order."""
    made = [f"{w.source}>{w.target}" + (f":{w.slot}" if w.slot else "") for w in state.wires()]
    return " ".join(made)


def places(state: DocumentState) -> dict[str, tuple[float, float]]:
    return {node.id: (node.x, node.y) for node in state.nodes.values()}


def share(state: DocumentState, owner: str, use: str, source: str) -> DocumentState:
    """Another use of a layer, under an id, fed from somewhere."""
    first = state.nodes[owner]
    return state.with_nodes([replace(first, id=use, inputs=(Port(source),), shares=owner)])


def refusal(call: object, *args: object, **options: object) -> StudioError:
    """The error an edit refuses with."""
    try:
        call(*args, **options)  # type: ignore[operator]
    except StudioError as error:
        return error
    raise AssertionError("the edit was not refused")


def nested_blocks() -> DocumentState:
    """A residual network with its convolutions in a block, the second in a block of its own."""
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    return group(state, ["conv2d_1"], "inner")
