"""Repairs of missing wires, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import Port
from studio.engine.layers.inputs import Input
from studio.session.document.cards.geometry import box_of
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.layers import add_layer, mark_output
from studio.session.document.edits.outputs import following_marks
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sharing import give_own_layer
from studio.session.document.edits.wires import connect, disconnect, move_outputs
from studio.session.document.flow import downstream
from studio.session.document.layer_types import is_input
from studio.session.document.naming import new_name
from studio.session.document.repairs.candidate import (
    GIVE_UP,
    INSERT,
    NEWEST,
    OPTION,
    REBUILD,
    REMOVE,
    WIRE,
    Broken,
    Candidate,
    layer_text,
    named,
    remove,
    shape_list,
)
from studio.session.document.resolve import output_names, resolve
from studio.session.document.state import DocumentState

MOST_SOURCES = 6


def missing_repairs(broken: Broken) -> Iterator[Candidate]:
    """A layer lacks a wire."""
    for source in _sources(broken):
        yield _connect(broken.state, source, broken.node.id)
        yield from _projected(broken, source)
    if broken.node.inputs or broken.state.wires_from(broken.node.id):
        yield remove(broken.node, GIVE_UP)


def absent_output_repairs(broken: Broken) -> Iterator[Candidate]:
    """A wire leaves an output that its layer does not have: any that it has may be meant."""
    slot = broken.problem.port or 0
    port, target = broken.node.inputs[slot], broken.node
    source = broken.state.nodes[port.node]
    found = broken.flow.outcomes.get(source.id)
    for output in range(0 if found is None else len(found.types)):
        yield Candidate(
            f"Connect output {output} of {source.name} to {target.name}",
            partial(
                connect, source=Port(source.id, output), target=target.id, slot=slot, replacing=True
            ),
            "connect",
            WIRE,
            choice=str(output),
        )
    yield Candidate(
        f"Delete the wire from {source.name} to {target.name}",
        partial(disconnect, target=target.id, slot=slot),
        "delete",
        REMOVE,
    )


def absent_mark_repairs(broken: Broken) -> Iterator[Candidate]:
    """An output of the network is none that its layer has."""
    state, flow = broken.state, broken.flow
    for port in state.outputs:
        if port.node == broken.node.id and flow.type_at(port) is None:
            yield Candidate(
                f"Do not mark output {port.output} of {broken.node.name}",
                partial(mark_output, source=port, marked=False),
                "unmark",
            )


def unfed_repairs(broken: Broken) -> Iterator[Candidate]:
    """No data reaches a chain: connect it, or delete it."""
    yield from missing_repairs(broken)
    resolved = resolve(broken.state)
    chain = [i for i in downstream(broken.state, [broken.node.id]) if i not in resolved.fed]
    ordered = [i for i in broken.state.nodes if i in chain]
    names = [broken.state.nodes[i].name for i in ordered if broken.state.nodes[i].is_layer]
    if len(names) > 1:
        yield Candidate(
            f"Delete {_counted(names)}",
            partial(delete, node_ids=ordered, heal=False),
            "delete",
            REMOVE,
        )


def no_input_repairs(broken: Broken) -> Iterator[Candidate]:
    """There is no Input layer."""
    shapes: list[Plain] = []
    if broken.facts is not None:
        shapes.append(list(broken.facts.sample_shape))
    else:
        shapes += [Input.shape.start, [4]]
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
        "add",
        INSERT,
        NEWEST,
    )


def several_ends_repairs(broken: Broken) -> Iterator[Candidate]:
    """Data ends at several layers."""
    state = broken.state
    ends = resolve(state).ends
    yield Candidate(
        f"Mark {_counted([state.called(i) for i in ends])} as outputs",
        lambda s: reduce(partial(mark_output, marked=True), ends, s),
        "mark all",
        OPTION,
        effect=f"the network has {len(ends)} outputs",
    )
    for node_id in reversed(ends):
        yield Candidate(
            f"Mark {state.called(node_id)} as output",
            partial(mark_output, source=node_id, marked=True),
            "mark",
            OPTION,
            node_id,
            choice=node_id,
        )
    yield from _joins(broken, ends)
    for node_id in ends:
        gone = _only_for(state, node_id)
        yield Candidate(
            f"Delete {_counted([state.called(i) for i in gone])}",
            partial(delete, node_ids=gone, heal=False),
            "delete",
            REMOVE,
            choice=node_id,
        )


def several_inputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """A data set feeds one input only."""
    state, extra = broken.state, broken.node
    first = next(n for n in state.layers() if is_input(n) and n.id != extra.id)
    yield Candidate(
        f"Connect {first.name} in place of {extra.name}, and delete {extra.name}",
        lambda s: delete(move_outputs(s, extra.id, first.id), [extra.id]),
        "feed",
        REBUILD,
    )
    yield Candidate(f"Delete {extra.name}", lambda s: delete(s, [extra.id]), "delete", REMOVE)
    joins = [
        state.nodes[wire.target]
        for wire in state.wires_from(extra.id)
        if len(state.nodes[wire.target].inputs) == 2
    ]
    gone = [extra, *dict.fromkeys(joins)]
    if joins:
        yield Candidate(
            f"Delete {named(node.name for node in gone)}",
            lambda s: delete(s, [node.id for node in gone]),
            "delete",
            REMOVE,
        )


def several_outputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """A data set has one target only."""
    ports = resolve(broken.state).outputs
    for port, name in zip(ports, output_names(broken.state), strict=True):
        yield Candidate(
            f"Mark only {name} as output",
            partial(_only_output, port=port),
            "mark",
            OPTION,
            port.node,
            choice=name,
        )


def shared_repairs(broken: Broken) -> Iterator[Candidate]:
    """Uses of one layer ask for parameters of different sizes."""
    yield Candidate(
        f"Stop sharing parameters of {broken.state.called(broken.node.id)}",
        lambda state: give_own_layer(state, broken.node.id),
        "own layer",
        REBUILD,
    )


def end_layers(broken: Broken, rank: int) -> list[NewLayer]:
    """Layers that end a network as the data asks for."""
    facts = broken.facts
    units: object = Dense.units.start
    if facts is not None:
        units = facts.classes or facts.targets
    flat = [NewLayer("Flatten", {})] if rank > 1 else []
    return [*flat, NewLayer("Dense", {"units": units})]


def _connect(state: DocumentState, source: str, target: str) -> Candidate:
    return Candidate(
        f"Connect {state.nodes[source].name} to {state.nodes[target].name}",
        lambda s: connect(s, source, target),
        "connect",
        WIRE,
        target,
        choice=source,
    )


def _projected(broken: Broken, source: str) -> Iterator[Candidate]:
    """A wire to a layer that joins its inputs, through what makes the shapes equal."""
    others, own = broken.shapes(), broken.flow.shape(source)
    if not others or not own or own == others[0] or own[:-1] != others[0][:-1]:
        return
    width = others[0][-1]
    if len(own) == 3:
        layer = NewLayer("Conv2D", {"filters": width, "kernel_size": [1, 1]})
    else:
        layer = NewLayer("Dense", {"units": width})
    target = broken.node

    def apply(state: DocumentState) -> DocumentState:
        made = add_chain(state, [layer], after=source)
        return connect(made.state, made.ids[0], target.id)

    yield Candidate(
        f"Connect {broken.state.nodes[source].name} to {target.name} through {layer_text(layer)}",
        apply,
        "connect",
        INSERT,
        target.id,
        choice=source,
    )


def _sources(broken: Broken) -> list[str]:
    """What may feed the layer: ends first, then what lies nearest to the left."""
    state, node = broken.state, broken.node
    resolved = resolve(state)
    place = box_of(node)
    found = []
    for other in state.nodes.values():
        if not other.flows or other.id == node.id or not _may_link(state, other.id, node.id):
            continue
        box = box_of(other)
        behind = 2.0 if box.x >= place.x else 1.0
        distance = behind * (abs(place.x - box.right) + abs(place.y - box.y))
        found.append(
            (other.id not in resolved.fed, bool(state.wires_from(other.id)), distance, other.id)
        )
    return [node_id for *_, node_id in sorted(found)[:MOST_SOURCES]]


def _may_link(state: DocumentState, source: str, target: str) -> bool:
    """Whether a wire could be drawn if the shapes fitted."""
    try:
        connect(state, source, target, check_shapes=False)
    except StudioError:
        return False
    return True


def _add_input(broken: Broken, shape: Plain) -> Candidate:
    target = broken.node

    def apply(state: DocumentState) -> DocumentState:
        name = new_name(state, "Input")
        place = (target.x - 232.0, target.y)
        state = add_layer(state, "Input", at=place, config={"shape": shape})
        return connect(state, name, target.id)

    return Candidate(
        f"Add Input {shape_list(shape)} before {target.name}",
        apply,
        "Input",
        INSERT,
        target.id,
    )


def _whole_net(broken: Broken, shape: Plain) -> Candidate:
    layers = end_layers(broken, len(shape) if isinstance(shape, list) else 1)
    every = [NewLayer("Input", {"shape": shape}), *layers]
    text = named(layer.type_name for layer in every)
    units = layers[-1].config["units"]
    return Candidate(
        f"Add {text} with {units} units",
        lambda state: add_chain(state, every).state,
        "Input",
        INSERT,
    )


def _joined(
    state: DocumentState, ends: tuple[str, ...], kind: str, flat: Iterable[str] = ()
) -> DocumentState:
    sources = []
    for node_id in ends:
        if node_id in flat:
            made = add_chain(state, [NewLayer("Flatten", {})], after=node_id)
            state, node_id = made.state, made.ids[0]
        sources.append(node_id)
    name = new_name(state, kind)
    state = add_layer(state, kind, after=sources[0])
    for node_id in sources[1:]:
        state = connect(state, node_id, name)
    return state


def _joins(broken: Broken, ends: tuple[str, ...]) -> Iterator[Candidate]:
    """Layers that join the ends; Flatten goes in between where their shapes allow nothing else."""
    shapes = [broken.flow.shape(i) for i in ends]
    names = named(broken.state.called(i) for i in ends)
    for kind in ["Add"] * (len(set(shapes)) == 1) + ["Concatenate"]:
        join = partial(_joined, ends=ends, kind=kind)
        yield Candidate(f"Join {names} with {kind}", join, kind, INSERT, NEWEST)
    flat = {
        i for i, shape in zip(ends, shapes, strict=True) if shape is not None and len(shape) > 1
    }
    if flat:
        join = partial(_joined, ends=ends, kind="Concatenate", flat=flat)
        text = f"Join {names} with Flatten and Concatenate"
        yield Candidate(text, join, "Concatenate", INSERT, NEWEST)


def _counted(names: list[str], most: int = 4) -> str:
    """Names in a sentence, or how many where they are many."""
    return named(names) if len(names) <= most else f"{len(names)} layers, {names[0]} first"


def _only_output(state: DocumentState, port: Port) -> DocumentState:
    return following_marks(state, state.replaced(outputs=(port,)))


def _only_for(state: DocumentState, end: str) -> list[str]:
    """A layer that nothing follows, and what leads to nothing else."""
    gone = [end]
    waiting = list(state.nodes[end].sources)
    while waiting:
        at = waiting.pop()
        node = state.nodes[at]
        if at in gone or is_input(node):
            continue
        if all(wire.target in gone for wire in state.wires_from(at)):
            gone.append(at)
            waiting += node.sources
    return [i for i in state.nodes if i in gone]
