"""Repairs of a layer that joins several inputs which do not fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import prod

from studio.engine.core.tensor import Shape
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.removal import delete
from studio.session.document.edits.switching import switch_type
from studio.session.document.edits.wires import disconnect
from studio.session.document.layer_types import layer_at
from studio.session.document.repairs.candidate import (
    GIVE_UP,
    REBUILD,
    REMOVE,
    WIRE,
    Broken,
    Candidate,
    insert,
    named,
    set_option,
)
from studio.session.document.repairs.shape_repairs import MOST_UPSTREAM, keep_larger
from studio.session.document.state import DocumentState, Wire

NARROW = 2
"""A layer made narrower by more than this factor loses what it could learn."""


def merge_repairs(broken: Broken) -> Iterator[Candidate]:
    """Inputs of an Add or Multiply differ in shape."""
    shapes, port = broken.shapes(), broken.problem.port or 0
    for slot, other in _smaller_first(shapes, port):
        yield from _towards(broken, slot, shapes[slot], shapes[other])
    yield Candidate(
        f"Change {broken.node.name} to a Concatenate layer",
        lambda state: switch_type(state, broken.node.id, "Concatenate"),
        "Concatenate",
        REBUILD,
    )
    yield from _fewer_wires(broken, port)


def concat_repairs(broken: Broken) -> Iterator[Candidate]:
    """Inputs of a Concatenate differ in another dimension than the joined one."""
    shapes, port = broken.shapes(), broken.problem.port or 0
    ranks = {len(shape) for shape in shapes}
    if len(ranks) == 1:
        for axis in (-1, *range(1, ranks.pop() + 1)):
            if broken.layer.option_values["axis"] != axis:
                yield set_option(broken.node, {"axis": axis})
        for slot, other in _smaller_first(shapes, port):
            own = shapes[slot]
            yield from _towards(broken, slot, own, (*shapes[other][:-1], own[-1]))
    yield _flattened(broken, shapes)
    if all(len(shape) in (1, 3) for shape in shapes):
        yield _pooled(broken, shapes)
    yield from _fewer_wires(broken, port)


def _smaller_first(shapes: tuple[Shape, ...], port: int) -> list[tuple[int, int]]:
    """The two inputs that differ, each with the other: to enlarge the smaller one loses nothing."""
    return sorted(((port, 0), (0, port)), key=lambda slots: prod(shapes[slots[0]]))


def _towards(broken: Broken, slot: int, own: Shape, wanted: Shape) -> Iterator[Candidate]:
    """Ways to bring what comes into an input to a shape."""
    wire = broken.wires[slot]
    where = f" after {broken.state.nodes[wire.source].name}"
    about = broken.node.id
    upstream = broken.path_up(wire.source)[:MOST_UPSTREAM]
    if not wanted or not own:
        return
    for node in upstream:
        for option in ("filters", "units"):
            width = node.config.get(option)
            if isinstance(width, int) and width != wanted[-1]:
                candidate = set_option(node, {option: wanted[-1]}, about=about)
                narrow = NARROW * wanted[-1] < width
                yield replace(candidate, rank=REMOVE) if narrow else candidate
        if len(own) == len(wanted) == 3 and own[:2] != wanted[:2]:
            yield from keep_larger(node)
            yield from _steps(broken, node.id, own, wanted)
    if len(own) == len(wanted) == 3:
        yield from _projected(wire, own, wanted, where)
    elif len(own) == 3 and len(wanted) == 1:
        pool = NewLayer("GlobalAveragePooling2D", {})
        flat = NewLayer("Flatten", {})
        dense = NewLayer("Dense", {"units": wanted[0]})
        yield insert(wire, [pool] if own[2] == wanted[0] else [pool, dense], where=where)
        yield insert(wire, [flat] if prod(own) == wanted[0] else [flat, dense], where=where)
    elif len(own) == 1 and len(wanted) == 3 and own[0] == wanted[2]:
        # A length of 1 is repeated: one number for each channel, wherever in the picture.
        yield insert(wire, [NewLayer("Reshape", {"target_shape": [1, 1, own[0]]})], where=where)
    elif len(own) == len(wanted) and own[:-1] == wanted[:-1]:
        yield insert(wire, [NewLayer("Dense", {"units": wanted[-1]})], where=where)
    if prod(own) == prod(wanted):
        layer = NewLayer("Reshape", {"target_shape": list(wanted)})
        yield insert(wire, [layer], where=where)


def _projected(wire: Wire, own: Shape, wanted: Shape, where: str) -> Iterator[Candidate]:
    """A 1 by 1 convolution, with steps where rows and columns differ; pooling for those alone."""
    steps = [-(-own[i] // wanted[i]) for i in range(2)]
    config: dict[str, object] = {"filters": wanted[2], "kernel_size": [1, 1]}
    if steps != [1, 1]:
        config |= {"strides": steps, "padding": "same"}
    yield insert(wire, [NewLayer("Conv2D", config)], where=where)
    if steps != [1, 1] and own[2] == wanted[2]:
        pool: dict[str, object] = {"pool_size": steps, "padding": "same"}
        yield insert(wire, [NewLayer("MaxPooling2D", pool)], where=where)
    short = [wanted[i] - own[i] for i in range(2)]
    if min(short) >= 0 and own[2] == wanted[2]:
        border = [[s // 2, s - s // 2] for s in short]
        layer = NewLayer("ZeroPadding2D", {"padding": border})
        yield insert(wire, [layer], where=where)


def _steps(broken: Broken, node_id: str, own: Shape, wanted: Shape) -> Iterator[Candidate]:
    """Strides of a convolution upstream that bring rows and columns to a size."""
    node = broken.state.nodes[node_id]
    values = layer_at(node).option_values if node.is_layer else {}
    if "kernel_size" in values and "strides" in values:
        steps = [max(1, -(-own[i] // wanted[i])) for i in range(2)]
        if steps != [1, 1]:
            changes = {"strides": list(steps), "padding": "same"}
            yield set_option(node, changes, about=broken.node.id)  # type: ignore[arg-type]


def _fewer_wires(broken: Broken, port: int) -> Iterator[Candidate]:
    node = broken.node
    for slot in dict.fromkeys((port, 0)):
        name = broken.state.nodes[node.sources[slot]].name
        if len(node.inputs) > 2:
            yield Candidate(
                f"Disconnect {name} from {node.name}",
                partial(disconnect, target=node.id, slot=slot),
                "disconnect",
                WIRE,
            )
        else:
            yield Candidate(
                f"Remove {node.name} and the wire from {name}",
                partial(_without_merge, node_id=node.id, slot=slot),
                "give up",
                GIVE_UP,
            )


def _without_merge(state: DocumentState, node_id: str, slot: int) -> DocumentState:
    """The other input in place of the merge."""
    return delete(disconnect(state, node_id, slot), [node_id])


def _flattened(broken: Broken, shapes: tuple[Shape, ...]) -> Candidate:
    wires = [w for w, shape in zip(broken.wires, shapes, strict=True) if len(shape) > 1]

    def apply(state: DocumentState) -> DocumentState:
        for wire in wires:
            state = insert(wire, [NewLayer("Flatten", {})]).apply(state)
        return state

    return Candidate(f"Insert Flatten after {_behind(broken, wires)}", apply, "Flatten", REBUILD)


def _pooled(broken: Broken, shapes: tuple[Shape, ...]) -> Candidate:
    wires = [w for w, shape in zip(broken.wires, shapes, strict=True) if len(shape) == 3]

    def apply(state: DocumentState) -> DocumentState:
        for wire in wires:
            state = insert(wire, [NewLayer("GlobalAveragePooling2D", {})]).apply(state)
        return state

    return Candidate(
        f"Insert GlobalAveragePooling2D after {_behind(broken, wires)}",
        apply,
        "GlobalAveragePooling2D",
        REBUILD,
    )


def _behind(broken: Broken, wires: list[Wire]) -> str:
    return named(broken.state.nodes[wire.source].name for wire in wires)
