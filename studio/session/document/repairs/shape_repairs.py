"""Repairs of a layer with one input whose shape it does not take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isqrt, prod

from studio.engine.core.options import Plain
from studio.engine.core.tensor import Shape
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.layers import bypass, set_options
from studio.session.document.edits.switching import switch_type
from studio.session.document.flow import outcome
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.repairs.candidate import (
    GIVE_UP,
    INSERT,
    REBUILD,
    Broken,
    Candidate,
    insert,
    named,
    remove,
    set_option,
)
from studio.session.document.state import CanvasNode, DocumentState

MOST_UPSTREAM = 4
PICTURE_RANK = 3


def rank_repairs(broken: Broken) -> Iterator[Candidate]:
    """The input has too few or too many dimensions."""
    (shape,), (wire,) = broken.shapes(), broken.wires
    source = next(iter(broken.path_up(wire.source)), None)
    if source is not None and source.type_name == "Flatten":
        yield remove(source, INSERT)
    for target in _targets(broken, shape):
        yield insert(wire, [NewLayer("Reshape", {"target_shape": list(target)})])
    yield insert(wire, [NewLayer("Flatten", {})])
    if len(shape) == 1 and "filters" in broken.node.config:
        yield _as_dense(broken.node)
    yield remove(broken.node, GIVE_UP)


def dtype_repairs(broken: Broken) -> Iterator[Candidate]:
    """An input has another dtype than the layer takes."""
    wire = broken.wires[broken.problem.port or 0]
    yield insert(wire, [NewLayer("Rescaling", {"scale": 1.0})])
    for upper in broken.path_up(wire.source):
        if is_input(upper):
            yield set_option(upper, {"dtype": "float32"})
    yield remove(broken.node, GIVE_UP)


def window_repairs(broken: Broken) -> Iterator[Candidate]:
    """The input is smaller than the window."""
    (shape,) = broken.shapes()
    node, values = broken.node, broken.layer.option_values
    if values.get("padding") == "valid":
        yield set_option(node, {"padding": "same"})
    for name in ("kernel_size", "pool_size"):
        window = values.get(name)
        if isinstance(window, tuple):
            yield set_option(node, {name: [min(window[i], shape[i]) for i in range(2)]})
    if values.get("dilation_rate") not in (None, (1, 1)):
        yield set_option(node, {"dilation_rate": [1, 1]})
    for upper in broken.path_up(node.sources[0])[: 2 * MOST_UPSTREAM]:
        yield from keep_larger(upper)
    yield remove(node, GIVE_UP)


def keep_larger(node: CanvasNode) -> Iterator[Candidate]:
    """What lets a layer keep more rows and columns."""
    values = layer_at(node).option_values
    if values.get("padding") == "valid":
        yield set_option(node, {"padding": "same"})
    if "kernel_size" in values and node.config.get("strides") is not None:
        yield set_option(node, {"strides": [1, 1]})
    if "pool_size" in values:
        yield remove(node)


def _narrowed(broken: Broken) -> Iterator[Candidate]:
    """Pooling in front that leaves few enough rows and columns."""
    shape = broken.shapes()[0]
    for size in (2, 4, 8, 16):
        if len(shape) == PICTURE_RANK and min(shape[:2]) >= size:
            layer = NewLayer("MaxPooling2D", {"pool_size": [size, size]})
            yield insert(broken.wires[0], [layer])


def axis_repairs(broken: Broken) -> Iterator[Candidate]:
    """A dimension is named that the input does not have."""
    rank = len(broken.shapes()[0])
    for axis in (-1, *range(1, rank + 1)):
        if broken.layer.option_values.get("axis") != axis:
            yield set_option(broken.node, {"axis": axis})
    if rank == 0:
        yield insert(broken.wires[0], [NewLayer("Reshape", {"target_shape": [1]})])
    yield remove(broken.node, GIVE_UP)


def reshape_repairs(broken: Broken) -> Iterator[Candidate]:
    """The new shape does not have as many elements as the old one."""
    (shape,) = broken.shapes()
    target = broken.layer.option_values["target_shape"]
    known: list[Plain] = list(target) if isinstance(target, tuple) else []
    tried: list[list[Plain]] = [
        [-1 if i == index else d if d != -1 else 1 for i, d in enumerate(known)]
        for index in range(len(known))
    ]
    tried += [list(each) for each in _pictures(broken, prod(shape))] if len(known) == 3 else []
    tried.append(list(shape))
    for candidate in tried:
        yield set_option(broken.node, {"target_shape": candidate})
    yield Candidate(
        f"Change {broken.node.name} to a Flatten layer",
        lambda state: switch_type(state, broken.node.id, "Flatten"),
        "Flatten",
        REBUILD,
    )
    yield remove(broken.node, GIVE_UP)


def size_repairs(broken: Broken) -> Iterator[Candidate]:
    """The output would have more elements than a tensor may."""
    values, node, given = broken.layer.option_values, broken.node, broken.types()
    for name in ("units", "filters", "depth_multiplier"):
        wide = values.get(name)
        largest = 1 << wide.bit_length() >> 1 if isinstance(wide, int) else 0
        while largest:
            if outcome(node.type_name, node.config.replaced(**{name: largest}), given).types:
                yield set_option(node, {name: largest})
                break
            largest //= 2
    if broken.facts is not None and "shape" in values:
        yield set_option(broken.node, {"shape": list(broken.facts.sample_shape)})
    if is_input(broken.node):
        yield set_option(broken.node, {"shape": [28, 28, 1]})
    elif broken.node.inputs:
        yield from _narrowed(broken)
        yield remove(broken.node, GIVE_UP)


def _targets(broken: Broken, shape: Shape) -> Iterator[Shape]:
    """Shapes with three dimensions the input may be given."""
    if len(shape) == 0:
        yield (1,)
        yield (1, 1, 1)
    elif len(shape) == 1:
        yield from _pictures(broken, shape[0])
    elif len(shape) == PICTURE_RANK - 1:
        yield (*shape, 1)
    elif len(shape) > PICTURE_RANK:
        yield (*shape[:2], prod(shape[2:]))


def _pictures(broken: Broken, elements: int) -> Iterator[Shape]:
    """Pictures of so many elements: those there were upstream, squares, a single row."""
    seen: set[Shape] = set()
    if broken.facts is not None and prod(broken.facts.sample_shape) == elements:
        seen.add(broken.facts.sample_shape)
        if len(broken.facts.sample_shape) == PICTURE_RANK:
            yield broken.facts.sample_shape
    for node in broken.path_up(broken.node.sources[0]):
        shape = broken.flow.shape(node.id)
        if shape is not None and len(shape) == PICTURE_RANK and prod(shape) == elements:
            if shape not in seen:
                yield shape
            seen.add(shape)
    for channels in (1, 3):
        side = isqrt(elements // channels)
        if side * side * channels == elements and (side, side, channels) not in seen:
            yield (side, side, channels)
    yield (1, 1, elements)


def _as_dense(node: CanvasNode) -> Candidate:
    """A dense layer with as many outputs as there were filters."""
    units = node.config["filters"]
    return Candidate(
        f"Change {node.name} to a Dense layer with {units} units",
        lambda state: set_options(switch_type(state, node.id, "Dense"), node.id, {"units": units}),
        "Dense",
        REBUILD,
    )


def bypass_repairs(broken: Broken) -> Iterator[Candidate]:
    """What comes in passed bypassed layers: each of them alone, then all."""
    state, found = broken.state, _bypassed_before(broken)
    groups = [[each] for each in found] + ([found] if len(found) > 1 else [])
    for ids in groups:
        names = named(state.nodes[i].name for i in ids)
        yield Candidate(f"Stop bypassing {names}", partial(_ended, ids=tuple(ids)), "bypass")


def _ended(state: DocumentState, ids: tuple[str, ...]) -> DocumentState:
    return bypass(state, ids, False)


def _bypassed_before(broken: Broken) -> list[str]:
    """Bypassed layers between the layer of the problem and those that work, nearest first."""
    nodes = broken.state.nodes
    found: dict[str, None] = {}
    waiting = list(broken.node.sources)
    while waiting:
        node = nodes.get(waiting.pop(0))
        if node is None or not (node.kind == "dot" or node.bypassed):
            continue
        if node.bypassed:
            found[node.id] = None
        waiting += node.sources[:1]
    return list(found)
