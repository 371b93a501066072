"""Runs the valid part of a network once on a few samples; previews show the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import DataError
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.initializers import initial_values
from studio.engine.layers.layer import Layer
from studio.engine.runtime.live import StepClock, Tap
from studio.engine.train.project.task import Task, bound_to
from studio.session.document.flow import running_order
from studio.session.document.layer_types import is_input, new_layer
from studio.session.document.report import Report
from studio.session.document.resolve import Resolved, resolve
from studio.session.document.state import CanvasNode, DocumentState

Array: TypeAlias = npt.NDArray[Any]
Weights: TypeAlias = "Callable[[Iterable[str]], Mapping[str, Array]]"
"""Gives those of the tensors named that there are, as stored."""

ROWS = 8
"""Samples that are run together."""

_WORKS = ("ok", "warning")
_FREE = ("name", "trainable")
"""Options that change nothing about what a layer makes of its input."""


@dataclass(frozen=True, eq=False)
class Samples:
    """The batch that previews show.

    Attributes:
        key: changes with the data set and with how it is prepared.
        nodes: the inputs of the network that was compiled.
        sources: how each is made of the data.
        rows: raw samples for each.
    """

    key: str
    nodes: tuple[str, ...]
    sources: tuple[Source, ...]
    rows: tuple[Array, ...]

    def place_of(self, node_id: str, drawn: int) -> int | None:
        """Which of the samples an input of a drawing gets; None where there are none for it.

        Args:
            node_id: the input.
            drawn: how many inputs the drawing has. The only one gets the only samples.
        """
        if node_id in self.nodes:
            return self.nodes.index(node_id)
        return 0 if drawn == len(self.nodes) == 1 else None


def samples_of(task: Task) -> Samples | None:
    """The first samples a task trains on; None where it has none."""
    if task.training is None or len(task.training.inputs) != len(task.spec.inputs):
        return None
    nodes = tuple(node.id for node in task.graph.inputs)
    facts = [(each.name, each.array) for each in task.inputs] if len(nodes) > 1 else ""
    text = f"{task.data_hash}|{task.spec.inputs!r}|{facts}"
    rows = tuple(np.array(each[:ROWS]) for each in task.training.inputs)
    return Samples(sha256(text.encode()).hexdigest(), nodes, task.spec.inputs, rows)


@dataclass(frozen=True)
class Part:
    """The layers whose output can be worked out.

    Attributes:
        graph: those layers; their outputs are the ends.
        inputs: what feeds each, dots and bypassed layers left out.
        ports: the outputs of those layers.
    """

    graph: LayerGraph
    inputs: Mapping[str, tuple[Port, ...]]
    ports: frozenset[Port]


def working_part(state: DocumentState, report: Report, samples: Samples) -> Part | None:
    """The layers of a drawing that are fed and in order; None where there are none."""
    resolved = resolve(state)
    drawn = sum(is_input(state.nodes[node_id]) for node_id in resolved.inputs)
    inputs: dict[str, tuple[Port, ...]] = {}
    for node_id in _in_order(state, resolved):
        node, sources = state.nodes[node_id], resolved.inputs[node_id]
        if is_input(node) and samples.place_of(node_id, drawn) is None:
            continue
        fine = report.nodes[node_id].state in _WORKS if node_id in report.nodes else False
        reached = node_id in resolved.fed and (is_input(node) or bool(sources))
        if (
            reached
            and (fine or _unreached(report, node_id))
            and all(port.node in inputs for port in sources)
        ):
            inputs[node_id] = sources
    if all(is_input(state.nodes[node_id]) for node_id in inputs):
        return None
    graph = LayerGraph(state.graph_name)
    layers: dict[str, Layer] = {}
    for node_id, sources in inputs.items():
        node = state.nodes[node_id]
        owner = node.shares or node.id
        if owner not in layers:
            layers[owner] = new_layer(node.type_name, node.config)
        graph.add(layers[owner], *sources, node_id=node_id)
    followed = {port.node for sources in inputs.values() for port in sources}
    ends = [node_id for node_id in inputs if node_id not in followed]
    graph.outputs = tuple(Port(node_id) for node_id in ends)
    return Part(graph, inputs, frozenset(graph.types()))


def _unreached(report: Report, node_id: str) -> bool:
    """Whether a layer is only not reached by an output, which its own output does not mind."""
    status = report.nodes.get(node_id)
    return status is not None and status.state == "unreached" and status.shape is not None


def _in_order(state: DocumentState, resolved: Resolved) -> list[str]:
    """Layers so that each stands behind those that feed it."""
    return [node_id for node_id in running_order(state.nodes) if node_id in resolved.inputs]


def content_hashes(state: DocumentState, seed: int, data: str) -> dict[str, str]:
    """For each layer a hash of all its output depends on, except trained weights."""
    resolved = resolve(state)
    found: dict[str, str] = {}
    for node_id in _in_order(state, resolved):
        node = state.nodes[node_id]
        sources = [
            [found.get(p.node, ""), p.output] if p.output else found.get(p.node, "")
            for p in resolved.inputs[node_id]
        ]
        text = json.dumps([seed, data, *_content(state, node), sources])
        found[node_id] = sha256(text.encode()).hexdigest()
    return found


def stands_for(state: DocumentState, port: Port) -> Port | None:
    """The output that leaves a dot or a bypassed layer; itself for any other layer.

    None where nothing feeds it.
    """
    resolved = resolve(state)
    seen: set[str] = set()
    while port.node in state.nodes and port.node not in resolved.inputs and port.node not in seen:
        seen.add(port.node)
        inputs = state.nodes[port.node].inputs
        if not inputs:
            return None
        port = inputs[0]
    return port if port.node in resolved.inputs else None


def _content(state: DocumentState, node: CanvasNode) -> list[object]:
    owner = state.nodes.get(node.shares) if node.shares else None
    config = {**(owner or node).config}
    options = {key: value for key, value in config.items() if key not in _FREE}
    return [node.id, node.shares, (owner or node).type_name, json.dumps(options, sort_keys=True,
                                                                        default=str)]  # fmt: skip


def run_part(
    part: Part, samples: Samples, seed: int, wanted: Iterable[Port], weights: Weights | None = None
) -> tuple[dict[Port, Array], bool]:
    """Run the layers unfused on the CPU, and look at some of their outputs.

    Args:
        part: the layers.
        samples: what they are fed with.
        seed: of the initial weights.
        wanted: the outputs asked for; those that no layer has are left out.
        weights: weights to use instead of initial ones, where they fit.

    Returns:
        The values of the outputs, and whether all weights were those given.

    Raises:
        StudioError: an input without samples, or what compiler or backend refuse.
    """
    entries = part.graph.inputs
    found = [samples.place_of(node.id, len(entries)) for node in entries]
    places = [place for place in found if place is not None]
    if len(places) != len(entries):
        raise DataError("there are no samples for an input", who=part.graph.name)
    spec = DataSpec(tuple(samples.sources[place] for place in places))
    ports = tuple(dict.fromkeys(port for port in wanted if port in part.ports))
    # Which tensor is which output of a layer is known of the outputs of the network only.
    part.graph.outputs = ports or part.graph.outputs
    graph = bound_to(part.graph, [source.shape for source in spec.inputs])
    program = compile_program(lower(graph, "infer", data=spec), CPU, level=0)
    backend = CpuBackend()
    try:
        session = backend.open_session()
        executable = backend.compile(program, session, len(samples.rows[0]))
        held = program.of_role(Role.PARAM, Role.STATE)
        given = {} if weights is None else weights([tensor.name for tensor in held])
        all_given = weights is not None
        for tensor in held:
            values = given.get(tensor.name)
            if values is None or values.shape != tensor.shape or values.dtype != tensor.dtype.np:
                values, all_given = initial_values(tensor, seed), False
            session.write(tensor.name, values)
        taps = _watched(program, executable, session.tap, ports)
        for tensor_id, place in zip(program.inputs, places, strict=True):
            executable.feed(tensor_id, samples.rows[place])
        executable.run()
        return {port: _taken(tap) for port, tap in taps.items()}, all_given
    finally:
        backend.close()


def _watched(
    program: Program, executable: CpuExecutable, make: Callable[[str], Tap], ports: Iterable[Port]
) -> dict[Port, Tap]:
    """A tap on each output asked for; they are the outputs of the program, in order."""
    taps: dict[Port, Tap] = {}
    for port, tensor_id in zip(ports, program.outputs, strict=False):
        tap = taps[port] = make(program.tensors[tensor_id].name)
        executable.attach(tap, StepClock())
        tap.request()
    return taps


def _taken(tap: Tap) -> Array:
    snapshot = tap.take()
    if snapshot is None:
        raise RuntimeError(f"{tap.name} was not seen although it ran")
    return snapshot.array()
