"""Nodes of pictures: convolutions, poolings, padding by copies, other sizes.

ONNX has channels behind the batch; all leading dimensions of pictures are the batch there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Ref
from studio.engine.formats.onnx_wire import Attribute
from studio.engine.interop.onnx.graph_writer import Entry, GraphWriter, Kernel
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import geometry_ends
from studio.engine.isa.ops.image import Resize, SampleGrid, weights_of
from studio.engine.isa.ops.move import Pad

Array = npt.NDArray[np.float32]

CONVOLUTION = Kernel("oihw", 0, (3, 2, 0, 1))
"""Weights HWIO as [out,in,h,w]."""
DEPTHWISE = Kernel("depthwise", 0, (2, 3, 0, 1), merges=True)
"""Weights [h,w,in,multiplier] as [in·multiplier,1,h,w], each group with one input channel."""


def pictures(writer: GraphWriter, x: Ref) -> str:
    """Pictures with their channels behind the batch; all leading dimensions are the batch."""
    if writer.rank(x) == 4:
        return writer.first(x)
    merged = (-1, *writer.shape(x)[-3:])
    value = writer.node("Reshape", (writer.plain(x), writer.integers(merged)))
    return writer.node("Transpose", (value,), {"perm": (0, 3, 1, 2)})


def pictured(
    writer: GraphWriter,
    y: Ref,
    op: str,
    inputs: Sequence[str],
    attributes: Mapping[str, Attribute],
) -> None:
    """The result of an operator on `pictures`, in the shape of ``y``."""
    if writer.rank(y) == 4:
        writer.result(y, op, inputs, attributes, first=True)
        return
    value = writer.node(op, inputs, attributes)
    value = writer.node("Transpose", (value,), {"perm": (0, 2, 3, 1)})
    writer.result(y, "Reshape", (value, writer.integers(writer.shape(y))))


def _pads(line: Instruction) -> tuple[int, ...]:
    """Cells above, left, below, right."""
    return (line.value("pad_h"), line.value("pad_w"), *geometry_ends(line))


def convolution(kernel: Kernel) -> Entry:
    """The operator Conv, by the form of its weights."""

    def write(writer: GraphWriter, line: Instruction) -> None:
        w, b, x, y = (line.ref(name) for name in ("w", "b", "x", "y"))
        depthwise = kernel is DEPTHWISE
        inputs = [pictures(writer, x), writer.kernel(w, kernel)]
        if b.present:
            inputs.append(writer.plain(b))
        attributes: dict[str, Attribute] = {
            "dilations": (line.value("dil_h"), line.value("dil_w")),
            "group": writer.shape(x)[-1] if depthwise else 1,
            "kernel_shape": writer.shape(w)[:2],
            "pads": _pads(line),
            "strides": (line.value("stride_h"), line.value("stride_w")),
        }
        pictured(writer, y, "Conv", inputs, attributes)

    return write


def window(op: str) -> Entry:
    """A pooling operator by its name."""

    def write(writer: GraphWriter, line: Instruction) -> None:
        attributes: dict[str, Attribute] = {
            "kernel_shape": (line.value("window_h"), line.value("window_w")),
            "pads": _pads(line),
            "strides": (line.value("stride_h"), line.value("stride_w")),
        }
        if op == "AveragePool":
            attributes = {"count_include_pad": 0 if line.value("exclude") else 1, **attributes}
        pictured(writer, line.ref("y"), op, (pictures(writer, line.ref("x")),), attributes)

    return write


def global_average(writer: GraphWriter, line: Instruction) -> None:
    """GlobalAveragePool, in the shape of the result."""
    x, y = line.ref("x"), line.ref("y")
    value = writer.node("GlobalAveragePool", (pictures(writer, x),))
    if writer.rank(y) == 2:
        writer.result(y, "Flatten", (value,), {"axis": 1})
    else:
        writer.result(y, "Reshape", (value, writer.integers(writer.shape(y))))


def pad_with_copies(writer: GraphWriter, line: Pad) -> None:
    """Looked up along every dimension that grows: the operator Pad lacks some of the modes."""
    x, pads = line.ref("x"), line.value("pads")
    shape = writer.shape(x)
    value = writer.plain(x)
    places = line.sources(tuple(max(size, 1) for size in shape))
    for axis, chosen in enumerate(places):
        if pads[2 * axis] or pads[2 * axis + 1]:
            index = writer.constant("int64/places", np.array(chosen, np.int64))
            value = writer.node("Gather", (value, index), {"axis": axis})
    writer.result(line.ref("y"), "Identity", (value,))


_METHODS = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
_ROUNDINGS = {
    "half_up": "round_prefer_ceil", "half_down": "round_prefer_floor", "down": "floor", "up": "ceil"
}  # fmt: skip


def resize(writer: GraphWriter, line: Instruction) -> None:
    """The operator Resize by sizes, or two products.

    Operator sets before 18 cannot smooth, and runtimes do not shrink pictures by cubic weights.
    """
    if not isinstance(line, Resize):
        raise TypeError(f"{line.mnemonic} is no RESIZE")
    x, y = line.ref("x"), line.ref("y")
    size, width = writer.shape(x)[-3:-1]
    shrinks = line.height < size or line.width < width
    if line.antialias or (line.method == "bicubic" and shrinks):
        _weighed(writer, line)
        return
    value = pictures(writer, x)
    count = writer.node(
        "Gather", (writer.node("Shape", (value,)), writer.integers((0,))), {"axis": 0}
    )
    rest = writer.integers((writer.shape(x)[-1], line.height, line.width))
    sizes = writer.node("Concat", (count, rest), {"axis": 0})
    attributes: dict[str, Attribute] = {
        "mode": _METHODS[line.method],
        "coordinate_transformation_mode": line.coords,
    }
    if line.method == "nearest":
        attributes["nearest_mode"] = _ROUNDINGS[line.rounding]
    elif line.method == "bicubic":
        attributes |= {"cubic_coeff_a": line.cubic, "exclude_outside": int(line.exclude)}
    pictured(writer, y, "Resize", (value, "", "", sizes), attributes)


_BEYOND = {"zeros": "zeros", "border": "border", "reflect": "reflection"}
_SINCE_GRIDS = 16
"""The first operator set that has GridSample."""
_SINCE_LINEAR = 20
"""The operator set from which bilinear is called linear."""


def sample_grid(writer: GraphWriter, line: Instruction) -> None:
    """The operator GridSample; places in cells are first told as parts of the image.

    Raises:
        FormatError: the operator set has no GridSample.
    """
    if not isinstance(line, SampleGrid):
        raise TypeError(f"{line.mnemonic} is no SAMPLE_GRID")
    if writer.opset < _SINCE_GRIDS:
        raise FormatError(
            f"operator set {writer.opset} has no GridSample; {_SINCE_GRIDS} has", who=line.mnemonic
        )
    height, width = writer.shape(line.x)[1:3]
    grid = writer.plain(line.grid)
    if line.coords == "pixels":
        sizes = np.array((width, height), np.float32)
        scale = writer.constant("float32/scale", 2 / sizes)
        shift = writer.constant("float32/shift", 1 / sizes - 1)
        grid = writer.node("Add", (writer.node("Mul", (grid, scale)), shift))
    linear = "linear" if writer.opset >= _SINCE_LINEAR else "bilinear"
    attributes: dict[str, Attribute] = {
        "mode": linear if line.method == "bilinear" else "nearest",
        "padding_mode": _BEYOND[line.outside],
        "align_corners": int(line.coords == "align_corners"),
    }
    pictured(writer, line.y, "GridSample", (pictures(writer, line.x), grid), attributes)


def _weighed(writer: GraphWriter, line: Resize) -> None:
    x, y = line.ref("x"), line.ref("y")
    size, width, channels = writer.shape(x)[-3:]
    rows = writer.constant("float32/rows", _matrix(line, size, line.height))
    columns = writer.constant("float32/columns", _matrix(line, width, line.width))
    flat = writer.node("Reshape", (writer.plain(x), writer.integers((-1, size, width * channels))))
    tall = writer.node("MatMul", (rows, flat))
    wide = writer.integers((-1, line.height, width, channels))
    value = writer.node("MatMul", (columns, writer.node("Reshape", (tall, wide))))
    writer.result(y, "Reshape", (value, writer.integers(writer.shape(y))))


def _matrix(line: Resize, size: int, length: int) -> Array:
    """The weights of a size along one dimension, [length, size]."""
    found = np.zeros((length, size), np.float32)
    for i in range(length):
        for cell, weight in weights_of(line, i, size, length).items():
            found[i, cell] = weight
    return found
