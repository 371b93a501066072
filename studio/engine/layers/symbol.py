"""Outputs of layers before there are numbers: what layers are called on in Python."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GraphError, ShapeError, quoted
from studio.engine.core.options import MAX_INTEGER
from studio.engine.core.tensor import OpenShape, TensorType
from studio.engine.layers.graph import (
    TRIED,
    LayerGraph,
    NestedModel,
    Port,
    checked_masks,
    checked_types,
    free_name,
    require_same_parameters,
    saying_where,
)
from studio.engine.layers.inputs import Input as InputLayer
from studio.engine.layers.layer import Layer
from studio.engine.layers.lengths import fits, open_shape, reported, tried_shapes
from studio.engine.layers.operator import Operator

_CREATED = itertools.count()

MAX_PATH_NAME = 50
"""Characters of a model's name that a path keeps; a number may follow."""


class ModelUse:
    """One call of a model on symbols; its layers are called one by one and remember it.

    Attributes:
        model: the same object for all calls of one model.
        title: the model's name.
        outer: the call of a model this one is part of.
        inputs: name of each input, and what was given there.
        outputs: name of each output, and what came out there.
        size: how many layers it called, those of models inside it included.
    """

    __slots__ = ("inputs", "model", "outer", "outputs", "size", "title")

    def __init__(self, model: object, title: str, outer: ModelUse | None = None) -> None:
        self.model = model
        self.title = title
        self.outer = outer
        self.inputs: tuple[tuple[str, Symbol | None], ...] = ()
        self.outputs: tuple[tuple[str, Symbol | None], ...] = ()
        self.size = 0

    @property
    def chain(self) -> list[ModelUse]:
        """The calls it is part of, the outermost first, and itself."""
        return [*(self.outer.chain if self.outer is not None else ()), self]


class Call:
    """One use of a layer: the layer, what feeds it, and the types of its outputs.

    Raises ShapeError or GraphError where the inputs do not fit.

    Attributes:
        layer: the layer used; used at several places it is shared, parameters included.
        inputs: what feeds it.
        outputs: one symbol for each output of the layer.
        created: place in the order of all calls.
        use: the call of a model that it is part of; None for a layer called by itself.
    """

    __slots__ = ("created", "inputs", "layer", "outputs", "use")

    def __init__(
        self, layer: Layer, inputs: Sequence[Symbol] = (), use: ModelUse | None = None
    ) -> None:
        given = [each.type for each in inputs]
        types, others = _types_of(layer, inputs)
        masks = checked_masks(layer, given, [each.mask for each in inputs])
        if any(each.mask for each in inputs) and not layer.keeps_masks(*given):
            # As Keras does: masks end with a warning, not with an error.
            warnings.warn(
                f"[{layer.who}] does not support masking: the mask of its input ends here",
                stacklevel=4,
            )
        self.layer = layer
        self.inputs = tuple(inputs)
        self.outputs = tuple(
            Symbol(self, index, found, mask, other)
            for index, (found, other, mask) in enumerate(
                zip_longest(types, others, masks[: len(types)])
            )
        )
        self.created = next(_CREATED)
        self.use = use
        for each in use.chain if use is not None else ():
            each.size += 1


class Arithmetic:
    """Python's operators for outputs of layers: each use is an operator of its own.

    Numbers and arrays beside an output become constants; they take its element type where that can
    hold them. ``==`` and ``!=`` compare symbols, not their values.
    """

    __slots__ = ()
    __array_ufunc__ = None
    """NumPy leaves ``array + symbol`` to the symbol."""

    type: TensorType

    def __add__(self, other: Any) -> Symbol:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return _operate("add", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return _operate("subtract", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return _operate("subtract", other, self)

    def __mul__(self, other: Any) -> Symbol:
        return _operate("multiply", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return _operate("multiply", other, self)

    def __truediv__(self, other: Any) -> Symbol:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return _operate("divide", other, self)

    def __floordiv__(self, other: Any) -> Symbol:
        return _operate("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Symbol:
        return _operate("floor_divide", other, self)

    def __mod__(self, other: Any) -> Symbol:
        return _operate("mod", self, other)

    def __rmod__(self, other: Any) -> Symbol:
        return _operate("mod", other, self)

    def __pow__(self, other: Any) -> Symbol:
        return _operate("power", self, other)

    def __rpow__(self, other: Any) -> Symbol:
        return _operate("power", other, self)

    def __matmul__(self, other: Any) -> Symbol:
        return _operate("matmul", self, other)

    def __lt__(self, other: Any) -> Symbol:
        return _operate("less", self, other)

    def __le__(self, other: Any) -> Symbol:
        return _operate("less_equal", self, other)

    def __gt__(self, other: Any) -> Symbol:
        return _operate("greater", self, other)

    def __ge__(self, other: Any) -> Symbol:
        return _operate("greater_equal", self, other)

    def __and__(self, other: Any) -> Symbol:
        return _operate("logical_and", self, other)

    def __or__(self, other: Any) -> Symbol:
        return _operate("logical_or", self, other)

    def __xor__(self, other: Any) -> Symbol:
        return _operate("logical_xor", self, other)

    def __getitem__(self, place: Any) -> Symbol:
        """A part by whole numbers, slices, ``...`` and None; the first index is ``:`` or ``...``.

        Raises:
            ShapeError: the batch is indexed, there are too many indices, or one of another kind.
        """
        return _part(self, place if isinstance(place, tuple) else (place,))

    def __iter__(self) -> NoReturn:
        raise TypeError("an output of a layer has no length: its samples come when it runs")

    def __neg__(self) -> Symbol:
        return _operate("negative", self)

    def __abs__(self) -> Symbol:
        return _operate("absolute", self)

    def __invert__(self) -> Symbol:
        return _operate("logical_not", self)


def _operate(operation: str, *given: Any) -> Symbol:
    """An operator on symbols and numbers."""
    beside = next(x.type.dtype for x in given if isinstance(x, Arithmetic))
    made: Symbol = Operator(operation)(*(_beside(x, beside) for x in given))
    return made


def _part(given: Any, places: tuple[Any, ...]) -> Symbol:
    """A box cut by steps, without the dimensions that have one index, with those of length 1."""
    rank = len(given.type.shape)
    count = sum(place is not None and place is not Ellipsis for place in places)
    if count > rank or sum(place is Ellipsis for place in places) > 1:
        raise ShapeError(f"{given.type} takes at most {rank} indices, got {count}", who="index")
    full = [slice(None)] * (rank - count)
    at = next((i for i, place in enumerate(places) if place is Ellipsis), len(places))
    filled = [*places[:at], *full, *places[at + 1 :]]
    old = [place for place in filled if place is not None]
    if not (isinstance(filled[0], slice) and filled[0] == slice(None)):
        raise ShapeError("the batch cannot be indexed: begin with : or ...", who="index")
    bounds = [_bounds(place) for place in old]
    for axis, (length, place) in enumerate(zip(given.shape, old[1:], strict=True), 1):
        if length is not None and not isinstance(place, slice) and not -length <= place < length:
            raise ShapeError(
                f"index {place} is outside of {length} places in dimension {axis}", who="index"
            )
    made: Symbol = given
    if any(bound != (0, MAX_INTEGER, 1) for bound in bounds):
        # The whole batch is said with -1; its length is not known.
        begin, end, steps = zip((0, -1, 1), *bounds[1:], strict=True)
        made = Operator("strided_slice", begin=begin, end=end, steps=steps)(made)
    gone = [axis for axis, place in enumerate(old) if not isinstance(place, slice)]
    if gone:
        made = Operator("squeeze", axis=gone)(made)
    kept = [place for place in filled if place is None or isinstance(place, slice)]
    for axis, place in enumerate(kept):
        if place is None:
            made = Operator("expand_dims", axis=axis)(made)
    return made


def _bounds(place: Any) -> tuple[int, int, int]:
    """First index, end and step of an index; the largest numbers stand for the ends."""
    parts = (place.start, place.stop, place.step) if isinstance(place, slice) else (place,)
    if any(isinstance(n, bool) or not hasattr(n, "__index__") for n in parts if n is not None):
        raise ShapeError(
            f"{quoted(place)} is no index", who="index",
            hint="use whole numbers, slices, ... and None, or the operation gather for a list",
        )  # fmt: skip
    numbers = [None if n is None else int(n.__index__()) for n in parts]
    if len(numbers) == 1:
        first = numbers[0] or 0
        return first, first + 1 or MAX_INTEGER, 1
    begin, end, step = numbers[0], numbers[1], 1 if numbers[2] is None else numbers[2]
    if step == 0:
        raise ShapeError("the step of a slice must not be 0", who="index")
    low, high = (0, MAX_INTEGER) if step > 0 else (MAX_INTEGER, -MAX_INTEGER)
    return low if begin is None else begin, high if end is None else end, step


def _beside(given: Any, beside: DType) -> Any:
    """Whole numbers beside floats as floats, so that no line has to convert them."""
    if isinstance(given, Arithmetic) or beside is not DType.float32:
        return given
    array = np.asarray(given)
    return array.astype(np.float32) if array.dtype.kind in "iub" else given


class Symbol(Arithmetic):
    """One output of one use of a layer; Python's operators on it build ``Operator`` layers.

    Attributes:
        call: the use of the layer.
        output: which of the layer's outputs it is, counted from 0.
        type: shape with the batch, and dtype; a number in place of each unknown length.
        mask: type of the mask beside the value; None without one.
        other_type: the type with other numbers in place of unknown lengths.
    """

    __slots__ = ("call", "mask", "other_type", "output", "type")

    def __init__(
        self,
        call: Call,
        output: int,
        type_: TensorType,
        mask: TensorType | None = None,
        other_type: TensorType | None = None,
    ) -> None:
        self.call = call
        self.output = output
        self.type = type_
        self.mask = mask
        self.other_type = type_ if other_type is None else other_type

    @property
    def layer(self) -> Layer:
        """The layer whose output it is."""
        return self.call.layer

    @property
    def inputs(self) -> tuple[Symbol, ...]:
        """What feeds the layer."""
        return self.call.inputs

    @property
    def shape(self) -> OpenShape:
        """Shape without the batch; None for a length that is not known."""
        return open_shape(reported(self.type, self.other_type))

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    def through(self, layer: Layer, inputs: Sequence[Symbol]) -> Symbol | list[Symbol]:
        """The output of ``layer`` fed by ``inputs``, or a list of its outputs if it has several.

        ShapeError where the inputs do not fit.
        """
        outputs = Call(layer, inputs).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def __repr__(self) -> str:
        dtype = "" if self.dtype is DType.float32 else self.dtype.name
        which = f"output {self.output}" if len(self.call.outputs) > 1 else "output"
        shape = ", ".join(["N", *map(str, self.shape)])
        return f"<{which} {dtype}[{shape}] of {self.layer.who}>"


def _types_of(
    layer: Layer, inputs: Sequence[Symbol]
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """Types of a layer's outputs with either number in place of unknown lengths.

    GraphError where the layer's parameters depend on them.
    """
    given, again = [each.type for each in inputs], [each.other_type for each in inputs]
    if isinstance(layer, InputLayer) and layer.has_unknown_lengths:
        other = layer.of_shape(tried_shapes(layer.shape)[1])
        return checked_types(layer), checked_types(other)
    if given == again:
        types = checked_types(layer, *given)
        return types, types
    with saying_where(TRIED):
        types, others = checked_types(layer, *given), checked_types(layer, *again)
    first, second = (tuple(each.sample for each in side) for side in (given, again))
    require_same_parameters(layer, first, second, partial(_unknown_before, inputs))
    return types, others


def _unknown_before(symbols: Sequence[Symbol]) -> dict[str, OpenShape]:
    """Inputs with unknown lengths that lead to some symbols, with their shapes."""
    found = (call.layer for call in _reached(symbols))
    entries = (each for each in found if isinstance(each, InputLayer))
    return {each.who: each.shape for each in entries if each.has_unknown_lengths}


def input_symbol(shape: Sequence[int | None], name: str = "", *, dtype: str = "float32") -> Symbol:
    """Where samples of a shape (without the batch) and a dtype enter a network.

    A dimension may be None: a length that may differ from one batch to the next.
    """
    return Call(InputLayer(tuple(shape), name=name, dtype=dtype)).outputs[0]


def graph_of(inputs: Sequence[Symbol], outputs: Sequence[Symbol], name: str) -> LayerGraph:
    """The graph between inputs and outputs, nodes in the order they were made.

    Raises:
        GraphError: an output depends on an input that was not named, or on none.
    """
    graph = LayerGraph(name)
    nodes: dict[Call, str] = {}

    def port(symbol: Symbol) -> Port:
        return Port(nodes[symbol.call], symbol.output)

    for symbol in inputs:
        nodes[symbol.call] = graph.add(symbol.layer).node
    for call in _reached(outputs):
        if call in nodes:
            continue
        if not call.inputs:
            raise GraphError(
                f"the outputs depend on {call.layer.who!r}, which is not among the inputs",
                who=name,
                hint="name it as an input of the model",
            )
        nodes[call] = graph.add(call.layer, *map(port, call.inputs)).node
    graph.outputs = tuple(map(port, outputs))
    graph.check()
    graph.nested = _nested(nodes)
    return graph


def replay(graph: LayerGraph, inputs: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """A whole graph used as one layer: its layers, shared, fed by other inputs."""
    entries = graph.inputs
    if len(entries) != len(inputs):
        raise GraphError(f"expected {len(entries)} inputs, got {len(inputs)}", who=graph.name)
    types, shapes = graph.reported_types(), graph.input_shapes
    found: dict[Port, Symbol] = {}
    for node, symbol in zip(entries, inputs, strict=True):
        wanted, type_ = types[Port(node.id)], reported(symbol.type, symbol.other_type)
        if wanted.dtype is not type_.dtype or not fits(shapes[node.layer.name], symbol.shape):
            raise GraphError(f"expected an input {wanted}, got {type_}", who=graph.name)
        found[Port(node.id)] = symbol
    whole = ModelUse(graph, graph.name)
    inner: dict[str, ModelUse] = {}
    for path, nested in graph.nested.items():
        outer = inner.get(path.rpartition("/")[0], whole)
        inner[path] = ModelUse(nested.model, nested.title, outer)
    part_of = {node: inner[path] for path, each in graph.nested.items() for node in each.layers}
    for node in graph.order():
        if Port(node.id) not in found:
            given = [found[port] for port in node.inputs]
            call = Call(node.layer, given, part_of.get(node.id, whole))
            found.update((Port(node.id, made.output), made) for made in call.outputs)
    outputs = tuple(found[port] for port in graph.outputs)
    whole.inputs = tuple((n.layer.name, s) for n, s in zip(entries, inputs, strict=True))
    whole.outputs = tuple(zip(graph.output_names(), outputs, strict=True))
    for path, nested in graph.nested.items():
        inner[path].inputs = tuple((n, port and found.get(port)) for n, port in nested.inputs)
        inner[path].outputs = tuple((n, port and found.get(port)) for n, port in nested.outputs)
    return outputs


def path_name(title: str) -> str:
    """A model's name as part of a path: printable, without slashes, not too long."""
    kept = "".join(c if c.isprintable() and c != "/" else "_" for c in title)
    return kept[:MAX_PATH_NAME].strip() or "model"


def _nested(nodes: Mapping[Call, str]) -> dict[str, NestedModel]:
    """The calls of models that nodes came from, by path, outer ones first."""
    paths: dict[ModelUse, str] = {}
    layers: dict[ModelUse, list[str]] = {}
    sizes: Counter[ModelUse] = Counter()
    for call, node in nodes.items():
        for use in call.use.chain if call.use is not None else ():
            sizes[use] += 1
            if use not in paths:
                outer = "" if use.outer is None else f"{paths[use.outer]}/"
                paths[use] = free_name(f"{outer}{path_name(use.title)}", paths.values())
        if call.use is not None:
            layers.setdefault(call.use, []).append(node)

    def port(symbol: Symbol | None) -> Port | None:
        if symbol is None or symbol.call not in nodes:
            return None
        return Port(nodes[symbol.call], symbol.output)

    return {
        path: NestedModel(
            use.model,
            use.title,
            tuple(layers.get(use, ())),
            tuple((name, port(symbol)) for name, symbol in use.inputs),
            tuple((name, port(symbol)) for name, symbol in use.outputs),
            sizes[use] == use.size,
        )
        for use, path in paths.items()
    }


def _reached(outputs: Sequence[Symbol]) -> list[Call]:
    """Everything the outputs depend on, in order of creation."""
    found: set[Call] = set()
    waiting = [symbol.call for symbol in outputs]
    while waiting:
        call = waiting.pop()
        if call not in found:
            found.add(call)
            waiting.extend(symbol.call for symbol in call.inputs)
    return sorted(found, key=lambda call: call.created)
