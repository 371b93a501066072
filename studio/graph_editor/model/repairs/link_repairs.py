"""Repairs of missing wires, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.engine.core.options import Plain
from studio.graph_editor.model.edits.chains import NewLayer, add_chain
from studio.graph_editor.model.edits.layers import add_layer, mark_output
from studio.graph_editor.model.edits.removal import delete
from studio.graph_editor.model.edits.sharing import give_own_layer
from studio.graph_editor.model.edits.wires import can_link, connect, move_outputs
from studio.graph_editor.model.flow import downstream
from studio.graph_editor.model.geometry import box_of
from studio.graph_editor.model.layer_types import STARTING_VALUES, is_input
from studio.graph_editor.model.naming import new_name
from studio.graph_editor.model.repairs.candidate import (
    GIVE_UP,
    INSERT,
    NEWEST,
    OPTION,
    REBUILD,
    REMOVE,
    WIRE,
    Broken,
    Candidate,
    named,
    remove,
    shape_list,
)
from studio.graph_editor.model.resolve import resolve
from studio.graph_editor.model.state import DocumentState

MOST_SOURCES = 6


def missing_repairs(broken: Broken) -> Iterator[Candidate]:
    """A layer lacks a wire."""
    for source in _sources(broken):
        yield _connect(broken.state, source, broken.node.id)
    if broken.node.inputs or broken.state.wires_from(broken.node.id):
        yield remove(broken.node, GIVE_UP)


def unfed_repairs(broken: Broken) -> Iterator[Candidate]:
    """No data reaches a chain: connect it, or delete it."""
    yield from missing_repairs(broken)
    resolved = resolve(broken.state)
    chain = [i for i in downstream(broken.state, [broken.node.id]) if i not in resolved.fed]
    ordered = [i for i in broken.state.nodes if i in chain]
    names = [broken.state.nodes[i].name for i in ordered if broken.state.nodes[i].is_layer]
    if 1 < len(names) <= 4:
        yield Candidate(
            f"Delete {named(names)}", partial(delete, node_ids=ordered, heal=False), REMOVE
        )


def no_input_repairs(broken: Broken) -> Iterator[Candidate]:
    """There is no Input layer."""
    shapes: list[Plain] = []
    if broken.facts is not None:
        shapes.append(list(broken.facts.sample_shape))
    else:
        shapes += [STARTING_VALUES["shape"], [4]]
    for shape in shapes:
        if broken.problem.node:
            yield _add_input(broken, shape)
        elif broken.facts is not None:
            yield _whole_net(broken, shape)


def nothing_follows_repairs(broken: Broken) -> Iterator[Candidate]:
    """Nothing is connected to the Input layer."""
    state, entry = broken.state, broken.node
    resolved = resolve(state)
    for node_id, sources in resolved.inputs.items():
        if not sources and not is_input(state.nodes[node_id]):
            yield _connect(state, entry.id, node_id)
    shape = broken.flow.shape(entry.id) or ()
    layers = end_layers(broken, len(shape))
    text = named(layer.type_name for layer in layers)
    units = layers[-1].config["units"]
    yield Candidate(
        f"Add {text} with {units} units after {entry.name}",
        lambda s: add_chain(s, layers, after=entry.id).state,
        INSERT,
        NEWEST,
    )


def several_ends_repairs(broken: Broken) -> Iterator[Candidate]:
    """Data ends at several layers."""
    state = broken.state
    ends = resolve(state).ends
    for node_id in reversed(ends):
        yield Candidate(
            f"Mark {state.nodes[node_id].name} as output",
            partial(mark_output, node_id=node_id, marked=True),
            OPTION,
            node_id,
        )
    shapes = {broken.flow.shape(i) for i in ends}
    kinds = ["Add"] * (len(shapes) == 1) + ["Concatenate"]
    for kind in kinds:
        names = named(state.nodes[i].name for i in ends)
        yield Candidate(
            f"Join {names} with {kind}", partial(_joined, ends=ends, kind=kind), INSERT, NEWEST
        )
    for node_id in ends:
        gone = _only_for(state, node_id)
        if len(gone) <= 4:
            names = named(state.nodes[i].name for i in gone)
            yield Candidate(
                f"Delete {names}",
                partial(delete, node_ids=gone, heal=False),
                REMOVE,
            )


def several_inputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """A data set feeds one input only."""
    state, extra = broken.state, broken.node
    first = next(n for n in state.layers() if is_input(n) and n.id != extra.id)
    yield Candidate(
        f"Feed from {first.name} what {extra.name} feeds, and delete {extra.name}",
        lambda s: delete(move_outputs(s, extra.id, first.id), [extra.id]),
        REBUILD,
    )
    yield Candidate(f"Delete {extra.name}", lambda s: delete(s, [extra.id]), REMOVE)


def several_outputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """A data set has one target only."""
    for node_id in resolve(broken.state).outputs:
        yield Candidate(
            f"Mark only {broken.state.nodes[node_id].name} as output",
            partial(_only_output, node_id=node_id),
            OPTION,
            node_id,
        )


def shared_repairs(broken: Broken) -> Iterator[Candidate]:
    """Uses of one layer ask for parameters of different sizes."""
    yield Candidate(
        f"Give this use of {broken.node.name} a layer of its own",
        lambda state: give_own_layer(state, broken.node.id),
        REBUILD,
    )


def end_layers(broken: Broken, rank: int) -> list[NewLayer]:
    """Layers that end a network as the data asks for."""
    facts = broken.facts
    units: object = STARTING_VALUES["units"]
    if facts is not None:
        units = facts.classes or facts.targets
    flat = [NewLayer("Flatten", {})] if rank > 1 else []
    return [*flat, NewLayer("Dense", {"units": units})]


def _connect(state: DocumentState, source: str, target: str) -> Candidate:
    return Candidate(
        f"Connect {state.nodes[source].name} to {state.nodes[target].name}",
        lambda s: connect(s, source, target),
        WIRE,
        target,
    )


def _sources(broken: Broken) -> list[str]:
    """What may feed the layer: ends first, then what lies nearest to the left."""
    state, node = broken.state, broken.node
    resolved = resolve(state)
    place = box_of(node)
    found = []
    for other in state.nodes.values():
        if not other.flows or other.id == node.id or can_link(state, other.id, node.id):
            continue
        box = box_of(other)
        behind = 2.0 if box.x >= place.x else 1.0
        distance = behind * (abs(place.x - box.right) + abs(place.y - box.y))
        found.append(
            (other.id not in resolved.fed, bool(state.wires_from(other.id)), distance, other.id)
        )
    return [node_id for *_, node_id in sorted(found)[:MOST_SOURCES]]


def _add_input(broken: Broken, shape: Plain) -> Candidate:
    target = broken.node

    def apply(state: DocumentState) -> DocumentState:
        name = new_name(state, "Input")
        place = (target.x - 232.0, target.y)
        state = add_layer(state, "Input", at=place, config={"shape": shape})
        return connect(state, name, target.id)

    return Candidate(
        f"Add Input {shape_list(shape)} in front of {target.name}", apply, INSERT, target.id
    )


def _whole_net(broken: Broken, shape: Plain) -> Candidate:
    layers = end_layers(broken, len(shape) if isinstance(shape, list) else 1)
    every = [NewLayer("Input", {"shape": shape}), *layers]
    text = named(layer.type_name for layer in every)
    units = layers[-1].config["units"]
    return Candidate(
        f"Add {text} with {units} units", lambda state: add_chain(state, every).state, INSERT
    )


def _joined(state: DocumentState, ends: tuple[str, ...], kind: str) -> DocumentState:
    name = new_name(state, kind)
    state = add_layer(state, kind, after=ends[0])
    for node_id in ends[1:]:
        state = connect(state, node_id, name)
    return state


def _only_output(state: DocumentState, node_id: str) -> DocumentState:
    return state.replaced(outputs=(node_id,))


def _only_for(state: DocumentState, end: str) -> list[str]:
    """A layer that nothing follows, and what leads to nothing else."""
    gone = [end]
    waiting = list(state.nodes[end].inputs)
    while waiting:
        at = waiting.pop()
        node = state.nodes[at]
        if at in gone or is_input(node):
            continue
        if all(wire.target in gone for wire in state.wires_from(at)):
            gone.append(at)
            waiting += node.inputs
    return [i for i in state.nodes if i in gone]
