"""A network as plain data: nodes, links, inputs and outputs, with checks that name layers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from math import prod
from typing import NamedTuple

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GraphError, StudioError, quoted
from studio.engine.core.tensor import OpenShape, Shape, TensorType
from studio.engine.layers.inputs import MAX_ELEMENTS, Input
from studio.engine.layers.layer import Layer, check_name, shape_text
from studio.engine.layers.lengths import (
    Lengths,
    filled,
    lengths_in,
    named_lengths,
    reported,
    tried_shapes,
)
from studio.engine.layers.normalization import BatchNormalization

MAX_NODES = 10_000
"""Most nodes a graph may have."""


class Port(NamedTuple):
    """An output of a node; most layers have one, numbered 0."""

    node: str
    output: int = 0


def output_port(output: int) -> str:
    """What a tensor is to its layer that is the layer's output of that number."""
    return f"output_{output}" if output else "output"


class Node(NamedTuple):
    """One use of a layer; a layer at several nodes is shared, parameters included."""

    id: str
    layer: Layer
    inputs: tuple[Port, ...]


class NestedModel(NamedTuple):
    """One call of a model that became part of a graph; its layers are ordinary nodes.

    Attributes:
        model: the same object for all calls of one model.
        title: the model's name.
        layers: ids of the nodes it brought, in its order, without those of models inside it.
        inputs: name of each input, and what feeds it; None where nothing of that is in the graph.
        outputs: name of each output, and the port it is; None likewise.
        is_whole: whether all its layers are in the graph; what no output needs is left out.
    """

    model: object
    title: str
    layers: tuple[str, ...]
    inputs: tuple[tuple[str, Port | None], ...]
    outputs: tuple[tuple[str, Port | None], ...]
    is_whole: bool = True


class LayerGraph:
    """Nodes in the order they were added, and which of their outputs are the network's.

    Node ids are stable: random streams, provenance and saved canvases refer to them. Inputs are the
    ``Input`` layers, in order. ``nested`` tells by path (names from the outermost in, joined by
    slashes) which nodes came from calls of other models; nothing that runs depends on it. Nothing
    here needs a window, a device or the values of parameters.
    """

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.nodes: dict[str, Node] = {}
        self.outputs: tuple[Port, ...] = ()
        self.nested: dict[str, NestedModel] = {}

    def add(self, layer: Layer, *inputs: Port | str, node_id: str = "") -> Port:
        """Add a layer fed by ``inputs`` (ports, or ids of nodes) and return its output.

        An unnamed layer is named after its class; the node takes the layer's name as id unless
        told. Links are not checked before `check`, so that a canvas may hold unfinished work.
        """
        if len(self.nodes) >= MAX_NODES:
            raise GraphError(f"a graph has at most {MAX_NODES} layers", who=self.name)
        if not layer.name:
            layer.name = self.free_name(layer.first_name())
        chosen = check_name(node_id, "graph") if node_id else self.free_id(layer.name)
        if chosen in self.nodes:
            raise GraphError(f"node id {quoted(chosen)} is taken", who=self.name)
        ports = tuple(p if isinstance(p, Port) else Port(p) for p in inputs)
        self.nodes[chosen] = Node(chosen, layer, ports)
        return Port(chosen)

    def free_name(self, stem: str) -> str:
        """``stem``, or ``stem_1``, ``stem_2`` … if layers have that name."""
        taken = {layer.name for layer in self.layers()}
        return free_name(stem, taken)

    def free_id(self, stem: str) -> str:
        """``stem``, or ``stem_1``, ``stem_2`` … if nodes have that id."""
        return free_name(stem, self.nodes.keys())

    def connect(self, node: str, *inputs: Port | str) -> None:
        """Feed an existing node from other outputs."""
        old = self.node(node)
        ports = tuple(p if isinstance(p, Port) else Port(p) for p in inputs)
        self.nodes[node] = old._replace(inputs=ports)

    def node(self, node_id: str) -> Node:
        """The node of that id; GraphError when there is none."""
        found = self.nodes.get(node_id)
        if found is None:
            raise GraphError(f"there is no node {quoted(node_id)}", who=self.name)
        return found

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes where data enters, in order."""
        return tuple(n for n in self.nodes.values() if isinstance(n.layer, Input))

    def layers(self) -> tuple[Layer, ...]:
        """Every layer once, in order of first use."""
        return tuple(dict.fromkeys(n.layer for n in self.nodes.values()))

    def layer(self, name: str) -> Layer:
        """The layer of that name; GraphError when there is none."""
        for found in self.layers():
            if found.name == name:
                return found
        raise GraphError(f"there is no layer {quoted(name)}", who=self.name)

    def order(self) -> tuple[Node, ...]:
        """Nodes so that each stands behind those that feed it; otherwise as they were added.

        Raises:
            GraphError: a link leads nowhere, or links close a loop.
        """
        place = {node_id: index for index, node_id in enumerate(self.nodes)}
        waiting: dict[str, int] = {}
        feeds: dict[str, list[str]] = {node_id: [] for node_id in self.nodes}
        for node in self.nodes.values():
            self._check_links(node)
            sources = {port.node for port in node.inputs}
            waiting[node.id] = len(sources)
            for source in sources:
                feeds[source].append(node.id)
        ready = [place[i] for i, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        ids, found = list(self.nodes), []
        while ready:
            node = self.nodes[ids[heapq.heappop(ready)]]
            found.append(node)
            for follower in feeds[node.id]:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    heapq.heappush(ready, place[follower])
        if len(found) < len(self.nodes):
            raise self._loop_error({node.id for node in found})
        return tuple(found)

    @property
    def input_shapes(self) -> dict[str, OpenShape]:
        """Shape of each input by its name, in order; None stands for an unknown length."""
        layers = (node.layer for node in self.inputs)
        return {each.name: each.shape for each in layers if isinstance(each, Input)}

    def fixed_shapes(self) -> tuple[Shape, ...]:
        """Shape of each input, in order; of a network without unknown lengths."""
        layers = (node.layer for node in self.inputs)
        return tuple(layer.output_shape() for layer in layers)

    @property
    def has_unknown_lengths(self) -> bool:
        """Whether a dimension of an input is None; such a network is lowered with `bound`."""
        return any(None in shape for shape in self.input_shapes.values())

    @property
    def synchronized_nodes(self) -> frozenset[str]:
        """Nodes whose batch normalisation uses the statistics of all workers of a training."""
        return frozenset(
            node.id
            for node in self.nodes.values()
            if isinstance(node.layer, BatchNormalization) and node.layer.synchronized
        )

    def lengths_of(self, shapes: Sequence[Shape]) -> Lengths:
        """The unknown lengths that samples of these shapes have, one shape for each input.

        ShapeError, naming the input, where a shape does not fit.
        """
        pairs = zip(self.input_shapes.items(), shapes, strict=True)
        return tuple(n for (name, own), given in pairs for n in lengths_in(own, given, name))

    def lengths_named(self, given: Mapping[str, object]) -> Lengths:
        """The unknown lengths from numbers by the names of inputs; see `named_lengths`."""
        return named_lengths(self.input_shapes, given)

    def bound(self, lengths: Lengths) -> LayerGraph:
        """The network with numbers in place of its unknown lengths; layers are shared with it.

        Nodes keep their ids, and parameters their names and shapes.

        Raises:
            StudioError: a layer cannot work with these lengths; it is named, and they are.
        """
        wanted = sum(shape.count(None) for shape in self.input_shapes.values())
        if len(lengths) != wanted:
            raise GraphError(f"expected {wanted} lengths, got {len(lengths)}", who=self.name)
        if not lengths:
            return self
        left, shapes = list(lengths), dict[str, Shape]()
        for name, shape in self.input_shapes.items():
            count = shape.count(None)
            shapes[name] = filled(shape, left[:count])
            del left[:count]
        made = self._with_shapes(shapes)
        with saying_where(f"for the input {_named_shapes(shapes, self.input_shapes)}"):
            made.check()
            self._require_parameters(made)
        return made

    def reported_types(self) -> dict[Port, TensorType]:
        """Types as `types` has them, with ``UNKNOWN`` for lengths that depend on unknown ones."""
        first = self.types()
        if not self.has_unknown_lengths:
            return first
        second = self._tried_again().types()
        return {port: reported(found, second[port]) for port, found in first.items()}

    def types(self) -> dict[Port, TensorType]:
        """Type of every output of every node, in running order; errors name the layer.

        An unknown length is a number here, the first of `tried_shapes`; see `reported_types`.
        """
        with saying_where(TRIED if self.has_unknown_lengths else ""):
            return self._types()

    def _types(self) -> dict[Port, TensorType]:
        types: dict[Port, TensorType] = {}
        counts: dict[str, int] = {}
        for node in self.order():
            for port in node.inputs:
                _check_output(port, counts[port.node], node.layer.name)
            made = checked_types(node.layer, *(types[port] for port in node.inputs))
            counts[node.id] = len(made)
            types.update((Port(node.id, index), each) for index, each in enumerate(made))
        return types

    def masks(self) -> dict[Port, TensorType]:
        """Type of the mask of every output that carries one; errors name the layer."""
        types = self.types()
        found: dict[Port, TensorType] = {}
        for node in self.order():
            given = [types[port] for port in node.inputs]
            made = checked_masks(node.layer, given, [found.get(port) for port in node.inputs])
            found.update(
                (Port(node.id, index), mask) for index, mask in enumerate(made) if mask is not None
            )
        return found

    def shapes(self) -> dict[str, Shape]:
        """Shape of the first output of every node, without the batch; errors name the layer."""
        return {port.node: found.sample for port, found in self.types().items() if not port.output}

    def output_names(self) -> tuple[str, ...]:
        """A name for each output of the network: that of its layer, made unique by a number."""
        return port_names((self.node(p.node).layer.name, p.output) for p in self.outputs)

    def check(self) -> None:
        """Everything a network must fulfil; GraphError or ShapeError naming the layer."""
        if not self.inputs:
            raise GraphError("a network needs an Input layer", who=self.name,
                             hint="add an Input with the shape of one sample")  # fmt: skip
        if not self.outputs:
            raise GraphError("a network needs an output", who=self.name,
                             hint="mark the last layer as output")  # fmt: skip
        seen: set[str] = set()
        for layer in self.layers():
            if layer.name in seen:
                raise GraphError(
                    f"layer names must be unique: {quoted(layer.name)} occurs twice", who=self.name,
                    hint="rename one of them",
                )  # fmt: skip
            seen.add(layer.name)
        types = self.types()
        self.masks()
        self._check_shared(types)
        counts = Counter(port.node for port in types)
        for port in self.outputs:
            if port.node not in self.nodes:
                raise GraphError(f"output {quoted(port.node)} does not exist", who=self.name)
            _check_output(port, counts[port.node], self.name)
        if self.has_unknown_lengths:
            self._require_parameters(self._tried_again())

    def parameter_shapes(self) -> dict[str, tuple[Shape, ...]]:
        """Input shapes of each layer at its first node, by layer name."""
        types = self.types()
        first: dict[str, tuple[Shape, ...]] = {}
        for node in self.order():
            first.setdefault(node.layer.name, tuple(types[p].sample for p in node.inputs))
        return first

    def parameter_count(self) -> int:
        """All numbers the network saves: trained, frozen and running statistics."""
        given = self.parameter_shapes()
        return sum(p.size for la in self.layers() for p in la.parameters(*given[la.name]))

    def _with_shapes(self, shapes: Mapping[str, Shape]) -> LayerGraph:
        """The same network with inputs of other shapes, by their names."""
        made = LayerGraph(self.name)
        made.outputs, made.nested = self.outputs, self.nested
        for node in self.nodes.values():
            layer = node.layer
            fixed = layer.of_shape(shapes[layer.name]) if isinstance(layer, Input) else layer
            made.nodes[node.id] = node._replace(layer=fixed)
        return made

    def _tried_again(self) -> LayerGraph:
        """The network with the second number in place of each unknown length."""
        shapes = self.input_shapes.items()
        return self._with_shapes({name: tried_shapes(shape)[1] for name, shape in shapes})

    def _require_parameters(self, other: LayerGraph) -> None:
        """GraphError where a layer has other parameters in the same network of other lengths."""
        own, theirs = self.parameter_shapes(), other.parameter_shapes()
        for layer in self.layers():
            if isinstance(layer, Input):
                continue
            require_same_parameters(
                layer, own[layer.name], theirs[layer.name], partial(self._unknown_before, layer)
            )

    def _unknown_before(self, layer: Layer) -> dict[str, OpenShape]:
        """Inputs with unknown lengths that lead to a layer, with their shapes."""
        waiting = [node.id for node in self.nodes.values() if node.layer is layer]
        seen: set[str] = set()
        while waiting:
            node = self.nodes[waiting.pop()]
            seen.add(node.id)
            waiting += [port.node for port in node.inputs if port.node not in seen]
        names = {node.layer.name for node in self.inputs if node.id in seen}
        return {n: shape for n, shape in self.input_shapes.items() if n in names and None in shape}

    def _check_links(self, node: Node) -> None:
        low = node.layer.inputs_taken[0]
        if len(node.inputs) < low:
            raise GraphError(
                f"expected {low} connected input{'s' if low > 1 else ''}, got {len(node.inputs)}",
                who=node.layer.name,
                hint="connect the output of another layer to it",
            )
        for port in node.inputs:
            if port.node not in self.nodes:
                raise GraphError(
                    f"its input {quoted(port.node)} does not exist", who=node.layer.name,
                    hint="connect it to an existing layer",
                )  # fmt: skip

    def _check_shared(self, types: Mapping[Port, TensorType]) -> None:
        first: dict[Layer, tuple[Shape, ...]] = {}
        for node in self.nodes.values():
            given = tuple(types[port].sample for port in node.inputs)
            expected = first.setdefault(node.layer, given)
            if node.layer.parameters(*given) != node.layer.parameters(*expected):
                raise GraphError(
                    "a shared layer needs inputs of one shape: got "
                    f"{_shapes_text(expected)} and {_shapes_text(given)}",
                    who=node.layer.name,
                    hint="use a separate layer for one of them",
                )

    def _loop_error(self, done: set[str]) -> GraphError:
        """Names the layers of one loop among the nodes that never became ready."""
        at = next(node_id for node_id in self.nodes if node_id not in done)
        path: list[str] = []
        while at not in path:
            path.append(at)
            at = next(p.node for p in self.nodes[at].inputs if p.node not in done)
        loop = [*path[path.index(at) :], at][::-1]
        names = " → ".join(repr(self.nodes[i].layer.name) for i in loop[:12])
        return GraphError(
            f"links close a loop: {names}", who=self.name,
            hint=f"remove the link {self.nodes[loop[0]].layer.name!r} → "
                 f"{self.nodes[loop[1]].layer.name!r}",
        )  # fmt: skip


def require_same_parameters(
    layer: Layer,
    first: Sequence[Shape],
    second: Sequence[Shape],
    unknown: Callable[[], Mapping[str, OpenShape]],
) -> None:
    """GraphError where a layer's parameters differ between inputs of two lengths.

    Args:
        layer: in question.
        first: shapes of its inputs.
        second: their shapes with other lengths.
        unknown: gives the inputs of unknown length that lead to it, with their shapes.
    """
    pairs = zip_longest(layer.parameters(*first), layer.parameters(*second))
    wrong = next((a or b for a, b in pairs if a != b), None)
    if wrong is None:
        return
    said = " and ".join(
        f"{quoted(name)} {shape_text(shape)} (dimension {_unknown_places(shape)})"
        for name, shape in unknown().items()
    )
    raise GraphError(
        f"its {wrong.role} would depend on the unknown length of the input {said}",
        who=layer.who,
        hint="put a global pooling in front of it, or give the input a fixed length",
    )


def _unknown_places(shape: OpenShape) -> str:
    return " or ".join(str(place) for place, d in enumerate(shape, 1) if d is None)


TRIED = "with a number such as 960 in place of None"
"""What errors of a check with numbers for unknown lengths say."""


@contextmanager
def saying_where(where: str) -> Iterator[None]:
    """Add to an error inside where it holds, unless it says so itself or there is nothing."""
    try:
        yield
    except StudioError as error:
        error.origin = error.origin or where
        raise


def checked_types(layer: Layer, *given: TensorType) -> tuple[TensorType, ...]:
    """Types of the layer's outputs; ShapeError or GraphError when its inputs do not fit."""
    layer.check_inputs(*(each.sample for each in given))
    layer.check_dtypes(*given)
    types = layer.output_types(*given)
    if not isinstance(types, tuple) or not types:
        raise TypeError(f"expected a tuple of types, got {quoted(types)}")
    for index, made in enumerate(types):
        if not isinstance(made, TensorType):
            raise TypeError(f"expected a type for output {index}, got {quoted(made)}")
        if not 1 <= prod(made.sample) <= MAX_ELEMENTS:
            at = "" if len(types) == 1 else f" at output {index}"
            raise GraphError(
                f"expected an output of 1 to {MAX_ELEMENTS} elements, got "
                f"{shape_text(made.sample)}{at}",
                who=layer.who,
            )
    return types


def checked_masks(
    layer: Layer, given: Sequence[TensorType], masks: Sequence[TensorType | None]
) -> tuple[TensorType | None, ...]:
    """Types of the masks of the layer's outputs; ShapeError where it refuses those it gets."""
    made = layer.mask_types(given, masks)
    for mask in made:
        if mask is not None and (mask.dtype is not DType.bool or not mask.is_batch):
            raise TypeError(f"expected a mask of bool [N,…], got {mask}")
    return made


def _check_output(port: Port, count: int, who: str) -> None:
    """GraphError, naming ``who`` asks for it, unless a node has that output."""
    if not 0 <= port.output < count:
        has = "one output, number 0" if count == 1 else f"{count} outputs, 0 to {count - 1}"
        raise GraphError(f"{quoted(port.node)} has {has}: got {port.output}", who=who)


def port_names(ports: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """A name for each pair of a layer's name and the number of an output, no two alike."""
    names: list[str] = []
    for name, output in ports:
        names.append(free_name(f"{name}_{output}" if output else name, names))
    return tuple(names)


def free_name(stem: str, taken: Collection[str]) -> str:
    """``stem``, or ``stem_1``, ``stem_2`` … if that is taken."""
    if stem not in taken:
        return stem
    count = 1
    while f"{stem}_{count}" in taken:
        count += 1
    return f"{stem}_{count}"


def _named_shapes(shapes: Mapping[str, Shape], stated: Mapping[str, OpenShape]) -> str:
    """The inputs that had unknown lengths, with their shapes."""
    open_ones = [name for name, shape in stated.items() if None in shape]
    return " and ".join(f"{quoted(name)} {shape_text(shapes[name])}" for name in open_ones)


def _shapes_text(shapes: Sequence[Shape]) -> str:
    return ", ".join(shape_text(s) for s in shapes)
