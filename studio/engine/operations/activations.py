"""Activation functions."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import activation, arithmetic, function
from studio.engine.isa.ops import softmax as rows
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axis,
    Lines,
    at_axis,
    cut,
    extent,
    plus,
    reshaped,
    scalar,
    scaled,
    shape_of,
    times,
)
from studio.engine.operations.table import operation, plain

relu = plain(
    activation.Relu, family=__name__, symbol="ReLU", keras="nn.relu relu", onnx="Relu", tfjs="relu"
)
sigmoid = plain(
    activation.Sigmoid, family=__name__, symbol="σ", keras="sigmoid", onnx="Sigmoid",
    tfjs="sigmoid",
)  # fmt: skip
tanh = plain(
    activation.Tanh, family=__name__, symbol="tanh", numpy="tanh", keras="tanh", onnx="Tanh",
    tfjs="tanh",
)  # fmt: skip
elu = plain(activation.Elu, family=__name__, symbol="ELU", keras="elu", onnx="Elu", tfjs="elu")
selu = plain(
    activation.Selu, family=__name__, symbol="SELU", keras="selu", onnx="Selu", tfjs="selu"
)
swish = plain(activation.Swish, family=__name__, symbol="SiLU", keras="silu swish", onnx="Swish")
leaky_relu = plain(
    activation.LeakyRelu, family=__name__, symbol="LReLU", keras="leaky_relu", onnx="LeakyRelu",
    tfjs="leakyRelu",
)  # fmt: skip
softplus = plain(
    activation.Softplus, family=__name__, symbol="soft+", keras="softplus", onnx="Softplus",
    tfjs="softplus",
)  # fmt: skip
softsign = plain(
    activation.Softsign, family=__name__, symbol="x/(1+|x|)", keras="softsign soft_sign",
    onnx="Softsign",
)  # fmt: skip
hard_sigmoid = plain(
    activation.HardSigmoid, family=__name__, symbol="hσ", keras="hard_sigmoid", onnx="HardSigmoid"
)
mish = plain(activation.Mish, family=__name__, symbol="mish", keras="activations.mish", onnx="Mish")


@operation(symbol="ReLU6", keras="relu6", tfjs="relu6")
def relu6(lines: Lines, x: Ref) -> Ref:
    """Rectified linear unit with the ceiling 6."""
    (x,) = types.floats(lines, x)
    return lines.emit(activation.ClippedRelu, x=x, ceiling=6.0)[0]


@operation(symbol="GELU", keras="gelu", onnx="Gelu")
def gelu(lines: Lines, x: Ref, *, approximate: bool = True) -> Ref:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016).

    Args:
        x: any tensor.
        approximate: Whether tanh stands in for the normal distribution.
    """
    (x,) = types.floats(lines, x)
    return lines.emit(activation.Gelu if approximate else activation.GeluExact, x=x)[0]


@operation(symbol="θReLU", keras="threshold", onnx="ThresholdedRelu")
def thresholded_relu(lines: Lines, x: Ref, *, threshold: float = 1.0) -> Ref:
    """Keeps what is above a threshold; else 0.

    Args:
        x: any tensor.
        threshold: Where the linear part begins.
    """
    (x,) = types.floats(lines, x)
    above = lines.emit(arithmetic.Greater, a=x, b=scalar(lines, threshold))[0]
    return lines.emit(arithmetic.Select, c=above, a=x, b=scaled(lines, x, 0.0))[0]


@operation(symbol="ln σ", keras="log_sigmoid", tfjs="logSigmoid")
def log_sigmoid(lines: Lines, x: Ref) -> Ref:
    """Logarithm of the logistic function."""
    (x,) = types.floats(lines, x)
    negative = lines.emit(function.Neg, x=x)[0]
    return lines.emit(function.Neg, x=lines.emit(activation.Softplus, x=negative)[0])[0]


@operation(symbol="htanh", keras="hard_tanh")
def hard_tanh(lines: Lines, x: Ref) -> Ref:
    """Limits to -1 and 1."""
    (x,) = types.floats(lines, x)
    return lines.emit(function.Clip, x=x, low=-1.0, high=1.0)[0]


@operation(symbol="x-tanh", keras="tanh_shrink")
def tanh_shrink(lines: Lines, x: Ref) -> Ref:
    """What tanh takes away: x - tanh(x)."""
    (x,) = types.floats(lines, x)
    return plus(lines, x, lines.emit(activation.Tanh, x=x)[0], -1.0)


@operation(symbol="shrink", keras="hard_shrink", onnx="Shrink")
def hard_shrink(lines: Lines, x: Ref, *, threshold: float = 0.5) -> Ref:
    """Sets what is at most a threshold away from 0 to 0.

    Args:
        x: any tensor.
        threshold: The distance.
    """
    (x,) = types.floats(lines, x)
    size = lines.emit(function.Abs, x=x)[0]
    above = lines.emit(arithmetic.Greater, a=size, b=scalar(lines, threshold))[0]
    return lines.emit(arithmetic.Select, c=above, a=x, b=scaled(lines, x, 0.0))[0]


@operation(symbol="shrink", keras="soft_shrink")
def soft_shrink(lines: Lines, x: Ref, *, threshold: float = 0.5) -> Ref:
    """Moves everything a threshold towards 0.

    Args:
        x: any tensor.
        threshold: The distance.
    """
    (x,) = types.floats(lines, x)
    limited = lines.emit(function.Clip, x=x, low=-threshold, high=threshold)[0]
    return plus(lines, x, limited, -1.0)


@operation(symbol="sq+", keras="squareplus")
def squareplus(lines: Lines, x: Ref, *, b: float = 4.0) -> Ref:
    """A smooth rectifier: (x + √(x² + b))/2.

    Args:
        x: any tensor.
        b: How smooth.
    """
    (x,) = types.floats(lines, x)
    squares = lines.emit(arithmetic.AddScalar, x=times(lines, x, x), beta=b)[0]
    return scaled(lines, plus(lines, x, lines.emit(function.Sqrt, x=squares)[0]), 0.5)


@operation(symbol="GLU", keras="glu")
def glu(lines: Lines, x: Ref, *, axis: Axis = -1) -> Ref:
    """One half of a tensor times the logistic function of the other (Dauphin et al. 2017)."""
    (x,) = types.floats(lines, x)
    shape = shape_of(lines, x)
    at = at_axis(axis, len(shape))
    length = extent(shape, [at])
    if length % 2:
        raise ShapeError(f"dimension {at} must have two halves: got {length}")
    gate = lines.emit(activation.Sigmoid, x=cut(lines, x, at, length // 2, length // 2))[0]
    return times(lines, cut(lines, x, at, 0, length // 2), gate)


def _of_rows(lines: Lines, cls: type[rows.AxisFunction], x: Ref, axis: int) -> Ref:
    """A function of rows along one dimension."""
    (x,) = types.floats(lines, x)
    shape = shape_of(lines, x)
    at = at_axis(axis, len(shape))
    length = extent(shape, [at])
    if len(shape) == 1:
        found = lines.emit(cls, x=reshaped(lines, x, (1, *shape)), step=length)[0]
        return reshaped(lines, found, shape)
    along = rows.TRAILING if at == len(shape) - 1 else at
    return lines.emit(cls, x=x, step=length, axis=along)[0]


@operation(symbol="softmax", keras="softmax", onnx="Softmax", tfjs="softmax")
def softmax(lines: Lines, x: Ref, *, axis: Axis = -1) -> Ref:
    """Turns numbers along a dimension into shares of 1: e^x / Σ e^x."""
    return _of_rows(lines, rows.Softmax, x, axis)


@operation(symbol="ln softmax", keras="log_softmax", onnx="LogSoftmax", tfjs="logSoftmax")
def log_softmax(lines: Lines, x: Ref, *, axis: Axis = -1) -> Ref:
    """Logarithm of softmax along a dimension."""
    return _of_rows(lines, rows.SoftmaxLog, x, axis)


hard_silu = plain(
    activation.HardSwish, family=__name__, name="hard_silu", symbol="h×σ",
    keras="hard_silu hard_swish", onnx="HardSwish",
)  # fmt: skip
celu = plain(activation.Celu, family=__name__, symbol="CELU", keras="celu", onnx="Celu")
prelu = plain(activation.PRelu, family=__name__, symbol="PReLU", onnx="PRelu", tfjs="prelu")
