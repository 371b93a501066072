"""Values, constants and nodes of an ONNX graph while it is made of a program.

A tensor of three or more dimensions may be there in two layouts: as the program has it, channels
last, and with its channels behind the batch, as ONNX' convolutions want it. Either is made of the
other by one Transpose when it is first asked for, so a chain of convolutions, poolings and
element-wise lines is one island with a Transpose where it begins and one where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.tensor import BATCH, Ref, Role, Shape, Tensor
from studio.engine.formats.onnx_wire import ELEMENT_TYPES, Attribute, Graph, Node, Port
from studio.engine.interop.program_names import input_names, output_names
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program

Array: TypeAlias = npt.NDArray[np.generic]

BATCH_NAME = "batch"
"""What the first dimension is called in inputs and outputs."""


@dataclass(frozen=True)
class Kernel:
    """How the weights of a product stand in ONNX.

    Attributes:
        form: tells the forms of one tensor apart; empty for that of the program.
        axis: the dimension of output channels, each of which has a scale of its own as int8.
        order: the dimensions of the program in the order of ONNX; empty where it is the same.
        merges: whether the first two of these dimensions are one, with one of length 1 behind it.
    """

    form: str
    axis: int
    order: tuple[int, ...] = ()
    merges: bool = False

    def change(self, array: Array) -> Array:
        """The weights as ONNX has them, of those in the program's layout."""
        turned = array.transpose(self.order) if self.order else array
        return turned.reshape(self.shape(turned.shape)) if self.merges else turned

    @staticmethod
    def shape(turned: tuple[int, ...]) -> tuple[int, ...]:
        """Where dimensions merge: the shape, of the one with its dimensions in ONNX's order."""
        return (turned[0] * turned[1], 1, *turned[2:])


class _Small(NamedTuple):
    """Weights as they are kept: the tensor that holds them, its values, and their scales."""

    source: Ref
    values: Array
    scale: Array | None

    def widened(self) -> Array:
        """As float32."""
        wide = self.values.astype(np.float32)
        return wide if self.scale is None else np.multiply(wide, self.scale, dtype=np.float32)


class GraphWriter:
    """Makes the graph of one program, line by line.

    Args:
        program: an inference program.
        weights: parameters and running statistics by tensor name.
        opset: version of the operator set.
        inputs: names of the inputs, as the program states them unless given.
    """

    def __init__(
        self,
        program: Program,
        weights: Mapping[str, Array],
        opset: int = 17,
        inputs: Sequence[str] = (),
    ) -> None:
        self.program = program
        self.opset = opset
        self._weights = weights
        self._small: dict[int, _Small] = {}
        self._nodes: list[Node] = []
        self._constants: dict[str, Array] = {}
        self._names: dict[str, int] = {}
        self._node_names: dict[str, int] = {}
        self._values: dict[tuple[int, bool], str] = {}
        self._known: dict[tuple[int, str], str] = {}
        self._line: Instruction | None = None
        self._note = ""
        # Lines belong to nodes of the network, whose ids are not the names of their layers.
        self._layers = {
            tensor.layer: tensor.name.partition("/")[0]
            for tensor in program.tensors.values()
            if tensor.layer
        }
        self._inputs = self._named(program.inputs, inputs or input_names(program))
        self._output_names = [self._free(name) for name in output_names(program)]
        self._wanted: dict[int, str] = {}
        for tensor_id, name in zip(program.outputs, self._output_names, strict=True):
            self._wanted.setdefault(tensor_id, name)

    def _named(self, ids: Sequence[int], names: Sequence[str]) -> list[str]:
        found = [self._free(name) for name in names]
        self._values.update(((i, False), name) for i, name in zip(ids, found, strict=True))
        return found

    # -- the program's side -----------------------------------------------------------------------

    def begin(self, line: Instruction) -> None:
        """Nodes made from now on belong to this line."""
        self._line, self._note = line, format_line(line)

    def tensor(self, ref: Ref) -> Tensor:
        """The tensor an operand names."""
        return self.program.tensors[ref.id]

    def shape(self, ref: Ref) -> Shape:
        """Its shape; -1 in front for the batch."""
        return self.program.tensors[ref.id].shape

    def rank(self, ref: Ref) -> int:
        """Its number of dimensions."""
        return len(self.program.tensors[ref.id].shape)

    def is_fixed(self, ref: Ref) -> bool:
        """Whether an operand is the same in every run."""
        tensor = self.tensor(ref)
        if tensor.view_of is not None:
            return (ref.id, False) not in self._values and self.is_fixed(Ref(tensor.view_of))
        if tensor.role is Role.CONST:
            return tensor.value is not None or ref.id in self._small
        return tensor.role in (Role.PARAM, Role.STATE)

    def array(self, ref: Ref) -> Array | None:
        """The values of an operand that is the same in every run; None for others."""
        tensor = self.tensor(ref)
        if not self.is_fixed(ref):
            return None
        if tensor.view_of is not None:
            base = self.array(Ref(tensor.view_of))
            return None if base is None else base.reshape(tensor.shape)
        if ref.id in self._small:
            return self._small[ref.id].widened()
        if tensor.value is not None:
            return np.array(tensor.value, tensor.dtype.np).reshape(tensor.shape)
        if tensor.name not in self._weights:
            raise FormatError(
                f"there are no values for {quoted(tensor.name)}",
                who=self.program.name,
                hint="train the network first",
            )
        return np.asarray(self._weights[tensor.name]).reshape(tensor.shape)

    # -- values -----------------------------------------------------------------------------------

    def plain(self, ref: Ref) -> str:
        """The value of an operand in the program's layout."""
        if (ref.id, False) in self._values:
            return self._values[ref.id, False]
        tensor = self.tensor(ref)
        array = self.array(ref)
        if array is not None:
            return self.known(ref, "", array)
        if (ref.id, True) in self._values:
            back = (0, *range(2, len(tensor.shape)), 1)
            source = self._values[ref.id, True]
            with self._between_lines():
                return self._put(ref, False, "Transpose", (source,), {"perm": back})
        if tensor.view_of is None:
            raise FormatError(
                f"{quoted(tensor.name)} is read before it is written", who=self.program.name
            )
        return self._viewed(tensor)

    def _viewed(self, tensor: Tensor) -> str:
        """The value of a view, which is its base in another shape."""
        base = Ref(tensor.view_of if tensor.view_of is not None else tensor.id)
        source = self.plain(base)
        if self.shape(base) == tensor.shape and tensor.id not in self._wanted:
            self._values[tensor.id, False] = source
            return source
        with self._between_lines():
            if self.shape(base) == tensor.shape:
                return self._put(tensor.ref, False, "Identity", (source,), {})
            if len(tensor.shape) == 2 and tensor.shape[0] == BATCH:
                return self._put(tensor.ref, False, "Flatten", (source,), {"axis": 1})
            shape = self.integers(tensor.shape)
            return self._put(tensor.ref, False, "Reshape", (source, shape), {})

    def first(self, ref: Ref) -> str:
        """The value of an operand with its channels behind the batch."""
        rank = self.rank(ref)
        if rank < 3:
            return self.plain(ref)
        if (ref.id, True) not in self._values:
            turned = (0, rank - 1, *range(1, rank - 1))
            array = self.array(ref)
            if array is not None:
                return self.known(ref, "channels_first", array.transpose(turned))
            source = self.plain(ref)
            with self._between_lines():
                self._put(ref, True, "Transpose", (source,), {"perm": turned})
        return self._values[ref.id, True]

    def is_first(self, ref: Ref) -> bool:
        """Whether a computed operand is there with its channels behind the batch only."""
        return (ref.id, True) in self._values and (ref.id, False) not in self._values

    def beside(self, ref: Ref, rank: int, first: bool) -> str:
        """The value of an operand that is combined with results of ``rank`` dimensions.

        Args:
            ref: the operand; a fixed one where ``first`` and its rank is another.
            rank: of the result.
            first: whether the result has its channels behind the batch.
        """
        if not first:
            return self.plain(ref)
        array = self.array(ref)
        if array is None or array.ndim == 0:
            return self.first(ref)
        wide = array.reshape((1,) * (rank - array.ndim) + array.shape)
        turned = wide.transpose(0, rank - 1, *range(1, rank - 1))
        return self.known(ref, "channels_first", turned)

    def known(self, ref: Ref, form: str, array: Array, name: str = "") -> str:
        """The constant that holds a fixed operand in a form, under a name of its own if given."""
        key = ref.id, form
        if key not in self._known:
            own = self.tensor(ref).name
            self._known[key] = self.constant(name or (f"{own}/{form}" if form else own), array)
        return self._known[key]

    def constant(self, name: str, array: Array) -> str:
        """A new constant; its name where that is free."""
        made = self._free(name)
        self._constants[made] = array
        return made

    def integers(self, numbers: Sequence[int]) -> str:
        """The constant with these whole numbers, as shapes and axes are given."""
        name = f"int64/{','.join(map(str, numbers))}"
        if name not in self._constants:
            self._constants[self._free(name)] = np.array(numbers, np.int64)
        return name

    def scalar(self, number: float | bool, dtype: str = "float32") -> str:
        """The constant with one number."""
        value = np.array(number, dtype)
        # A list of one whole number is another constant than the number.
        name = f"{dtype}/just {value}" if dtype == "int64" else f"{dtype}/{value}"
        if name not in self._constants:
            self._constants[self._free(name)] = value
        return name

    def kernel(self, ref: Ref, kernel: Kernel) -> str:
        """The weights of a product, widened in the graph where they are kept in a small form."""
        if not self.is_fixed(ref):
            return self._computed(ref, kernel)
        key = ref.id, kernel.form
        if key in self._known:
            return self._known[key]
        small = self._small.get(ref.id)
        made = None if small is None else self._widened(ref, kernel, small)
        if made is None:
            turned = np.ascontiguousarray(kernel.change(np.asarray(self.array(ref))))
            made = self.constant(self.tensor(ref).name, turned)
        self._known[key] = made
        return made

    def _computed(self, ref: Ref, kernel: Kernel) -> str:
        """The weights of a product that lines of the program compute."""
        value = self.plain(ref)
        if kernel.order:
            value = self.node("Transpose", (value,), {"perm": kernel.order})
        if kernel.merges:
            own = self.shape(ref)
            shape = kernel.shape(tuple(own[axis] for axis in kernel.order))
            value = self.node("Reshape", (value, self.integers(shape)))
        return value

    def keep_small(self, ref: Ref, values: Ref, scale: Ref | None = None) -> None:
        """State what fixed weights are widened from, to be widened in the graph where it can be.

        Args:
            ref: the weights.
            values: the small ones, of any element type; fixed.
            scale: what these are multiplied with, if anything; fixed, and it broadcasts.
        """
        factors = None if scale is None else self.array(scale)
        self._small[ref.id] = _Small(values, np.asarray(self.array(values)), factors)

    def _widened(self, ref: Ref, kernel: Kernel, small: _Small) -> str | None:
        """The nodes that widen a kernel; None where output channels have several scales."""
        name, form = self.tensor(ref).name, f"small {kernel.form}"
        numbers = np.ascontiguousarray(kernel.change(small.values))
        if small.scale is None:
            stored = self.known(small.source, form, numbers, self.tensor(small.source).name)
            return self.node("Cast", (stored,), {"to": ELEMENT_TYPES["float32"]}, name=name)
        scales = kernel.change(np.broadcast_to(small.scale, small.values.shape))
        rows = np.moveaxis(scales, kernel.axis, 0).reshape(scales.shape[kernel.axis], -1)
        if (rows != rows[:, :1]).any():
            return None
        factors = rows[:, 0].astype(np.float32)
        along = [1] * numbers.ndim
        along[kernel.axis] = -1
        if numbers.dtype != np.int8:
            stored = self.known(small.source, form, numbers, self.tensor(small.source).name)
            by = self.constant(f"{name}/scale", factors.reshape(along))
            return self.node("Mul", (self.cast(stored, "float32"), by), name=name)
        # Runtimes want scales above 0: a sign goes to the numbers, and nothing is 0 times 1.
        signs = np.sign(factors).astype(np.int8)
        if (signs != 1).any():
            form = f"{form} of {name}"
            numbers = np.multiply(numbers, signs.reshape(along), dtype=np.int8)
        stored = self.known(small.source, form, numbers, self.tensor(small.source).name)
        by = self.constant(f"{name}/scale", np.where(signs == 0, np.float32(1), np.abs(factors)))
        return self.node("DequantizeLinear", (stored, by), {"axis": kernel.axis}, name=name)

    # -- nodes ------------------------------------------------------------------------------------

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        name: str = "",
    ) -> str:
        """A node for a value between others; the name of that value."""
        own = self._node_name(self._layer(), op)
        made = self._free(name or f"{own}/output")
        self._append(op, inputs, (made,), attributes or {}, own)
        return made

    def pair(
        self, op: str, inputs: Sequence[str], attributes: Mapping[str, Attribute]
    ) -> tuple[str, str]:
        """A node that makes two values between others; their names."""
        own = self._node_name(self._layer(), op)
        made = self._free(f"{own}/output"), self._free(f"{own}/output")
        self._append(op, inputs, made, attributes, own)
        return made

    def cast(self, value: str, dtype: str) -> str:
        """A value as another element type."""
        return self.node("Cast", (value,), {"to": ELEMENT_TYPES[dtype]})

    def result(
        self,
        ref: Ref,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        first: bool = False,
    ) -> None:
        """The node that makes what a line writes.

        Args:
            ref: the operand it writes.
            op: the operator.
            inputs: names of values.
            attributes: of the node.
            first: whether it has its channels behind the batch.
        """
        self._put(ref, first and self.rank(ref) > 2, op, inputs, attributes or {})

    def batch(self) -> str:
        """The number of rows, as a list of one whole number."""
        if not self._inputs:
            raise FormatError("a program without inputs has no batch", who=self.program.name)
        shape = self.node("Shape", (self._inputs[0],))
        return self.node("Gather", (shape, self.integers((0,))), {"axis": 0})

    def graph(self) -> Graph:
        """The graph of all lines so far."""
        self._line, self._note = None, ""
        outputs: list[Port] = []
        for tensor_id, name in zip(self.program.outputs, self._output_names, strict=True):
            tensor = self.program.tensors[tensor_id]
            value = self.plain(tensor.ref)
            if value != name:
                own = self._node_name(self._layer(tensor), "Identity")
                self._append("Identity", (value,), (name,), {}, own)
            outputs.append(_port(name, tensor))
        inputs = [
            _port(name, self.program.tensors[tensor_id])
            for tensor_id, name in zip(self.program.inputs, self._inputs, strict=True)
        ]
        # A graph must have a name.
        name = self.program.name or "model"
        return Graph(name, tuple(self._nodes), tuple(inputs), tuple(outputs), self._constants)

    @contextmanager
    def _between_lines(self) -> Iterator[None]:
        """Nodes made inside are of no line, and named after the layer of what they make."""
        before = self._line, self._note
        self._line, self._note = None, ""
        try:
            yield
        finally:
            self._line, self._note = before

    def _put(
        self,
        ref: Ref,
        first: bool,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Attribute],
    ) -> str:
        tensor = self.tensor(ref)
        if first:
            name = self._free(f"{tensor.name}/channels_first")
        else:
            name = self._wanted.get(ref.id) or self._free(tensor.name)
        own = self._node_name(self._layer(tensor), op)
        self._append(op, inputs, (name,), attributes, own)
        self._values[ref.id, first] = name
        return name

    def _append(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: tuple[str, ...],
        attributes: Mapping[str, Attribute],
        name: str,
    ) -> None:
        self._nodes.append(Node(op, tuple(inputs), outputs, name, attributes, self._note))

    def _layer(self, tensor: Tensor | None = None) -> str:
        """The layer nodes are named after: that of the line, else of the tensor."""
        owners = self._line.owners if self._line is not None else ()
        if owners:
            return self._layers.get(owners[0], owners[0])
        name = tensor.name if tensor is not None else self.program.name
        return name.rpartition("/")[0] or name

    def _node_name(self, layer: str, op: str) -> str:
        return _unused(f"{layer}/{op}", self._node_names)

    def _free(self, name: str) -> str:
        return _unused(name, self._names)


def _unused(stem: str, taken: dict[str, int]) -> str:
    """``stem``, or ``stem_1``, ``stem_2`` … if that is taken; it is taken then.

    Counts are kept, since a long program has as many constants and nodes of one name as lines.
    """
    made, count = stem, taken.get(stem, 0)
    while made in taken:
        count += 1
        made = f"{stem}_{count}"
    taken[made] = 0
    taken[stem] = count
    return made


def _port(name: str, tensor: Tensor) -> Port:
    shape = tuple(BATCH_NAME if length < 0 else length for length in tensor.shape)
    return Port(name, tensor.dtype.name, shape)


Entry: TypeAlias = Callable[[GraphWriter, Instruction], None]
"""What writes the nodes of an instruction."""
