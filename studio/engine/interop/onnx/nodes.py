"""Which nodes an instruction becomes: one entry for each that an inference program may contain.

An entry is a function of a `GraphWriter` and a line. Element-wise instructions need none, they are
written from their formula; those that ONNX has as one operator stand here under its name. Results
are the program's to rounding, within the edges ONNX leaves open (NaN in poolings and reductions).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Ref, Shape
from studio.engine.formats.onnx_wire import ELEMENT_TYPES, Attribute
from studio.engine.interop.onnx import lookups, pictures
from studio.engine.interop.onnx.formulas import takes_first, write_formula
from studio.engine.interop.onnx.graph_writer import Entry, GraphWriter, Kernel
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.move import Pad
from studio.engine.isa.ops.softmax import TRAILING

AS_STORED = Kernel("", 0)
"""Dense weights [out,in], as Gemm takes them with ``transB``."""
# -- operators that are an instruction ----------------------------------------------------------


def _activation(
    op: str, since: int = 13, fixed: Mapping[str, Attribute] | None = None, **of: str
) -> Entry:
    """An operator of one operand; below the operator set that has it, the formula.

    Args:
        op: the operator.
        since: the first operator set that has it.
        fixed: its attributes.
        of: further ones, each with the attribute of the instruction that is its value.
    """

    def write(writer: GraphWriter, line: Instruction) -> None:
        x, y = line.ref("x"), line.ref("y")
        if writer.opset < since or writer.tensor(x).dtype is not DType.float32:
            write_formula(writer, line)
            return
        attributes = {**(fixed or {}), **{name: line.value(own) for name, own in of.items()}}
        first = takes_first(writer, [x], writer.rank(y))
        writer.result(y, op, (writer.beside(x, writer.rank(y), first),), attributes, first=first)

    return write


def _cast(writer: GraphWriter, line: Instruction) -> None:
    x, y = line.ref("x"), line.ref("y")
    if writer.is_fixed(x) and writer.tensor(y).dtype is DType.float32:
        writer.keep_small(y, x)
        return
    first = takes_first(writer, [x], writer.rank(y))
    value = writer.beside(x, writer.rank(y), first)
    writer.result(y, "Cast", (value,), {"to": ELEMENT_TYPES[line.value("dtype")]}, first=first)


def _dequantize(writer: GraphWriter, line: Instruction) -> None:
    y, x, scale = (line.ref(name) for name in ("y", "x", "scale"))
    if writer.is_fixed(x) and writer.is_fixed(scale):
        writer.keep_small(y, x, scale)
    else:
        write_formula(writer, line)


# -- products -----------------------------------------------------------------------------------


def _linear(writer: GraphWriter, line: Instruction) -> None:
    """Gemm, on rows in a matrix.

    MatMul takes more dimensions, but some runtimes compute it with rounded inputs where its weights
    are int8.
    """
    w, b, x, y = (line.ref(name) for name in ("w", "b", "x", "y"))
    kernel = writer.kernel(w, AS_STORED)
    bias = [writer.plain(b)] if b.present else []
    rows = writer.plain(x)
    if writer.rank(x) == 2:
        writer.result(y, "Gemm", (rows, kernel, *bias), {"transB": 1})
        return
    rows = writer.node("Reshape", (rows, writer.integers((-1, writer.shape(x)[-1]))))
    made = writer.node("Gemm", (rows, kernel, *bias), {"transB": 1})
    writer.result(y, "Reshape", (made, writer.integers(writer.shape(y))))


def _matmul(writer: GraphWriter, line: Instruction) -> None:
    values = []
    for name, turned in (("a", line.value("ta")), ("b", line.value("tb"))):
        ref = line.ref(name)
        rank = writer.rank(ref)
        value = writer.plain(ref)
        if turned:
            perm = (*range(rank - 2), rank - 1, rank - 2)
            value = writer.node("Transpose", (value,), {"perm": perm})
        values.append(value)
    writer.result(line.ref("y"), "MatMul", values)


# -- normalisation ------------------------------------------------------------------------------


def _batch_norm(writer: GraphWriter, line: Instruction) -> None:
    """Per channel, or per element: then each element of an entry is a channel."""
    if not line.value("frozen"):
        raise FormatError("only a normalisation by running statistics can be written",
                          who=line.mnemonic)  # fmt: skip
    x, y = line.ref("x"), line.ref("y")
    shape = writer.shape(line.ref("mean"))
    flat = len(shape) > 1
    if flat:
        source = writer.node("Reshape", (writer.plain(x), writer.integers((-1, prod(shape)))))
    else:
        source = writer.first(x)
    operands = [source, *(_statistics(writer, line, name, shape) for name in
                          ("gamma", "beta", "mean", "var"))]  # fmt: skip
    attributes: dict[str, Attribute] = {"epsilon": float(line.value("eps"))}
    if not flat:
        writer.result(y, "BatchNormalization", operands, attributes, first=True)
        return
    value = writer.node("BatchNormalization", operands, attributes)
    writer.result(y, "Reshape", (value, writer.integers(writer.shape(y))))


def _statistics(writer: GraphWriter, line: Instruction, name: str, shape: Shape) -> str:
    ref = line.ref(name)
    if not ref.present:
        number = 1.0 if name == "gamma" else 0.0
        own = f"{line.owners[0] if line.owners else line.mnemonic.lower()}/{name}"
        return writer.constant(own, np.full(prod(shape), number, np.float32))
    array = writer.array(ref)
    if array is None or len(shape) == 1:
        return writer.plain(ref)
    return writer.known(ref, "flat", array.reshape(-1))


def _softmax(op: str) -> Entry:
    def write(writer: GraphWriter, line: Instruction) -> None:
        x, y, step = line.ref("x"), line.ref("y"), line.value("step")
        shape = writer.shape(x)
        axis = line.value("axis") if "axis" in line.attrs else TRAILING
        if axis != TRAILING:
            writer.result(y, op, (writer.plain(x),), {"axis": axis})
            return
        if step == shape[-1]:
            first = takes_first(writer, [x], len(shape))
            value = writer.beside(x, len(shape), first)
            writer.result(y, op, (value,), {"axis": 1 if first else -1}, first=first)
            return
        rows = writer.node("Reshape", (writer.plain(x), writer.integers((-1, step))))
        value = writer.node(op, (rows,), {"axis": -1})
        writer.result(y, "Reshape", (value, writer.integers(shape)))

    return write


# -- moves --------------------------------------------------------------------------------------


def _dim(writer: GraphWriter, ref: Ref, axis: int) -> int:
    """Where a dimension is once the channels stand behind the batch."""
    last = writer.rank(ref) - 1
    return 0 if axis == 0 else 1 if axis == last else axis + 1


def _concat(writer: GraphWriter, line: Instruction) -> None:
    xs, y = line.refs("xs"), line.ref("y")
    rank = writer.rank(y)
    axis = line.value("axis") % rank if line.mnemonic == "CONCAT" else rank - 1
    first = takes_first(writer, xs, rank)
    values = [writer.beside(x, rank, first) for x in xs]
    place = _dim(writer, y, axis) if first else axis
    writer.result(y, "Concat", values, {"axis": place}, first=first)


def _flatten(writer: GraphWriter, line: Instruction) -> None:
    writer.result(line.ref("y"), "Flatten", (writer.plain(line.ref("x")),), {"axis": 1})


def _reshape(writer: GraphWriter, line: Instruction) -> None:
    y = line.ref("y")
    shape = writer.integers(writer.shape(y))
    writer.result(y, "Reshape", (writer.plain(line.ref("x")), shape))


def _transpose(writer: GraphWriter, line: Instruction) -> None:
    perm = {"perm": tuple(line.value("perm"))}
    writer.result(line.ref("y"), "Transpose", (writer.plain(line.ref("x")),), perm)


def _slice(writer: GraphWriter, line: Instruction) -> None:
    x, y = line.ref("x"), line.ref("y")
    first = takes_first(writer, [x], writer.rank(x))
    begins: list[int] = []
    ends: list[int] = []
    axes: list[int] = []
    strides: list[int] = []
    begun, sizes = line.value("begin"), line.value("size")
    steps = line.value("steps") or (1,) * len(sizes)
    for axis, (begin, size, step) in enumerate(zip(begun, sizes, steps, strict=True)):
        if size != -1:
            end = begin + size * step
            begins.append(begin)
            # A negative end would count from the end of the dimension.
            ends.append(end if end >= 0 else -(2**31))
            axes.append(_dim(writer, x, axis) if first else axis)
            strides.append(step)
    value = writer.beside(x, writer.rank(x), first)
    if axes:
        lists = (begins, ends, axes, *([strides] if line.value("steps") else []))
        limits = [writer.integers(numbers) for numbers in lists]
        writer.result(y, "Slice", (value, *limits), first=first)
    else:
        writer.result(y, "Identity", (value,), first=first)


def _pad(writer: GraphWriter, line: Instruction) -> None:
    if isinstance(line, Pad) and line.mode != "constant":
        pictures.pad_with_copies(writer, line)
        return
    x, y, pads = line.ref("x"), line.ref("y"), line.value("pads")
    rank = writer.rank(x)
    first = takes_first(writer, [x], rank)
    order = (0, rank - 1, *range(1, rank - 1)) if first else tuple(range(rank))
    cells = [pads[2 * k] for k in order] + [pads[2 * k + 1] for k in order]
    dtype = writer.tensor(x).dtype.name
    inputs = (
        writer.beside(x, rank, first), writer.integers(cells),
        writer.scalar(line.value("fill"), dtype),
    )  # fmt: skip
    writer.result(y, "Pad", inputs, {"mode": "constant"}, first=first)


def _broadcast(writer: GraphWriter, line: Instruction) -> None:
    x, y = line.ref("x"), line.ref("y")
    writer.result(y, "Expand", (writer.plain(x), _shape(writer, y, writer.shape(x))))


def _shape(writer: GraphWriter, y: Ref, known: Shape = ()) -> str:
    """A shape to expand to; where ``known`` has the batch already, 1 stands for it."""
    shape = writer.shape(y)
    if not shape or shape[0] >= 0:
        return writer.integers(shape)
    if len(known) == len(shape) and known[0] < 0:
        return writer.integers((1, *shape[1:]))
    parts = [writer.batch(), *([writer.integers(shape[1:])] if shape[1:] else [])]
    return writer.node("Concat", parts, {"axis": 0})


def _fill(writer: GraphWriter, line: Instruction) -> None:
    y = line.ref("y")
    number = line.value("number") if line.mnemonic == "FILL" else 0
    value = writer.scalar(number, writer.tensor(y).dtype.name)
    writer.result(y, "Expand", (value, _shape(writer, y)))


# -- reductions ---------------------------------------------------------------------------------

_SUM = "ReduceSum"


def _reduce(op: str) -> Entry:
    def write(writer: GraphWriter, line: Instruction) -> None:
        x, y = line.ref("x"), line.ref("y")
        dtype = writer.tensor(x).dtype
        value = writer.plain(x)
        # Runtimes reduce whole numbers, not bytes and truth values.
        short = dtype in (DType.bool, DType.uint8)
        if short:
            value = writer.cast(value, "int32")
        axes = line.value("axes") or tuple(range(writer.rank(x)))
        inputs, attributes = lookups.reduction(writer, op, value, axes, keep=line.value("keepdims"))
        if short:
            value = writer.node(op, inputs, attributes)
            writer.result(y, "Cast", (value,), {"to": ELEMENT_TYPES[dtype.name]})
        else:
            writer.result(y, op, inputs, attributes)

    return write


def _place(op: str) -> Entry:
    def write(writer: GraphWriter, line: Instruction) -> None:
        attributes = {"axis": line.value("axis"), "keepdims": 0, "select_last_index": 0}
        x = line.ref("x")
        value = writer.plain(x)
        if writer.tensor(x).dtype is DType.bool:
            value = writer.cast(value, "int32")
        found = writer.node(op, (value,), attributes)
        writer.result(line.ref("y"), "Cast", (found,), {"to": ELEMENT_TYPES["int32"]})

    return write


def _one_hot(writer: GraphWriter, line: Instruction) -> None:
    """Comparisons: the operator OneHot would count a negative index from the end."""
    index = writer.node("Unsqueeze", (writer.plain(line.ref("x")), writer.integers((-1,))))
    depth = line.value("depth")
    places = writer.constant(f"int32/0 to {depth - 1}", np.arange(depth, dtype=np.int32))
    hit = writer.node("Equal", (index, places))
    writer.result(line.ref("y"), "Cast", (hit,), {"to": ELEMENT_TYPES["float32"]})


def _take(writer: GraphWriter, line: Instruction) -> None:
    """Rows of a table, NaN for an index outside, where Gather would fail or count from the end."""
    table, i, y = (line.ref(name) for name in ("table", "i", "y"))
    rows = writer.shape(table)[0]
    index, zero = writer.plain(i), writer.scalar(0, "int32")
    below = writer.node("Less", (index, zero))
    above = writer.node("Greater", (index, writer.scalar(rows - 1, "int32")))
    inside = writer.node("Clip", (index, zero, writer.scalar(rows - 1, "int32")))
    found = writer.node("Gather", (writer.plain(table), inside), {"axis": 0})
    outside = writer.node("Or", (below, above))
    wide = writer.rank(y) - writer.rank(i)
    if wide:
        axes = writer.integers(tuple(range(-wide, 0)))
        outside = writer.node("Unsqueeze", (outside, axes))
    writer.result(y, "Where", (outside, writer.scalar(float("nan")), found))


def _standardize(writer: GraphWriter, line: Instruction) -> None:
    """Each image by its own extremes or moments; a flat one is ``low``."""
    x, y = writer.plain(line.ref("x")), line.ref("y")
    low, high = writer.scalar(line.value("low")), writer.scalar(line.value("high"))

    def reduced(op: str, value: str) -> str:
        return writer.node(op, *lookups.reduction(writer, op, value, (1, 2, 3), keep=True))

    least, most = reduced("ReduceMin", x), reduced("ReduceMax", x)
    if line.value("moments"):
        away = writer.node("Sub", (x, reduced("ReduceMean", x)))
        squares = reduced("ReduceMean", writer.node("Mul", (away, away)))
        width, spread = writer.node("Sqrt", (squares,)), high
    else:
        away = writer.node("Sub", (x, least))
        width = writer.node("Sub", (most, least))
        spread = writer.scalar(line.value("high") - line.value("low"))
    share = writer.node("Mul", (writer.node("Div", (away, width)), spread))
    moved = writer.node("Add", (share, low))
    flat = writer.node("Equal", (least, most))
    writer.result(y, "Where", (flat, low, moved))


ENTRIES: Mapping[str, Entry] = {
    "LINEAR": _linear,
    "MATMUL": _matmul,
    "CONV2D": pictures.convolution(pictures.CONVOLUTION),
    "DEPTHWISE_CONV2D": pictures.convolution(pictures.DEPTHWISE),
    "MAXPOOL2D": pictures.window("MaxPool"),
    "AVGPOOL2D": pictures.window("AveragePool"),
    "RESIZE": pictures.resize,
    "SAMPLE_GRID": pictures.sample_grid,
    "GLOBAL_AVGPOOL2D": pictures.global_average,
    "BATCHNORM": _batch_norm,
    "BATCHNORM2D": _batch_norm,
    "SOFTMAX": _softmax("Softmax"),
    "SOFTMAX_CE": _softmax("Softmax"),
    "SOFTMAX_LOG": _softmax("LogSoftmax"),
    "CONCAT": _concat,
    "CONCAT_CHANNEL": _concat,
    "FLATTEN": _flatten,
    "RESHAPE": _reshape,
    "TRANSPOSE": _transpose,
    "SLICE": _slice,
    "PAD": _pad,
    "BROADCAST": _broadcast,
    "FILL": _fill,
    "ZERO": _fill,
    "CAST": _cast,
    "DEQUANTIZE": _dequantize,
    "REDUCE_SUM": _reduce(_SUM),
    "REDUCE_MEAN": _reduce("ReduceMean"),
    "REDUCE_MAX": _reduce("ReduceMax"),
    "REDUCE_MIN": _reduce("ReduceMin"),
    "REDUCE_PROD": _reduce("ReduceProd"),
    "ARGMAX": _place("ArgMax"),
    "ARGMIN": _place("ArgMin"),
    "ONE_HOT": _one_hot,
    "TAKE": _take,
    "GATHER": lookups.gather,
    "GATHER_ELEMENTS": lookups.gather,
    "GATHER_ND": lookups.gather_nd,
    "SCATTER": lookups.scatter,
    "SCATTER_ND": lookups.scatter,
    "REVERSE": lookups.reverse,
    "RANGE": lookups.counted,
    "TOPK": lookups.top_k,
    "CUMULATE": lookups.running,
    "AUGMENT_STANDARDIZE": _standardize,
    "RELU": _activation("Relu"),
    "SIGMOID": _activation("Sigmoid"),
    "TANH": _activation("Tanh"),
    "ELU": _activation("Elu", alpha="alpha"),
    "SELU": _activation("Selu", fixed={"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}),
    "LEAKY_RELU": _activation("LeakyRelu", alpha="alpha"),
    "SOFTPLUS": _activation("Softplus"),
    "SOFTSIGN": _activation("Softsign"),
    "HARD_SIGMOID": _activation("HardSigmoid", fixed={"alpha": 1 / 6, "beta": 0.5}),
    "MISH": _activation("Mish", since=18),
    "GELU": _activation("Gelu", since=20, fixed={"approximate": "tanh"}),
    "GELU_EXACT": _activation("Gelu", since=20),
}
"""By mnemonic."""


def entry(line: type[Instruction]) -> Entry | None:
    """What writes an instruction; None where nothing does."""
    if line.mnemonic in ENTRIES:
        return ENTRIES[line.mnemonic]
    changes = line.category in ("update", "metric", "loss")
    return write_formula if line.formula and not changes else None
