# Written by pytest --update-golden tests/engine/operations/test_manual.py
from collections.abc import Sequence
from typing import Literal

from studio.engine.ops.calls import Given
from studio.engine.ops.creating import backend as backend
from studio.engine.ops.creating import check as check
from studio.engine.ops.creating import close as close
from studio.engine.ops.creating import load as load
from studio.engine.ops.creating import save as save
from studio.engine.ops.creating import tensor as tensor
from studio.engine.ops.creating import variable as variable
from studio.engine.ops.gradients import custom_grad as custom_grad
from studio.engine.ops.gradients import grad as grad
from studio.engine.ops.gradients import grads as grads
from studio.engine.ops.gradients import value_and_grad as value_and_grad
from studio.engine.ops.gradients import value_and_grads as value_and_grads
from studio.engine.ops.gradients import variable_grads as variable_grads
from studio.engine.ops.handle import Tensor as Tensor
from studio.engine.ops.handle import Variable as Variable
from studio.engine.ops.listings import Listing as Listing
from studio.engine.ops.listings import listing as listing
from studio.engine.ops.measuring import profile as profile
from studio.engine.ops.measuring import time as time
from studio.engine.ops.scopes import dispose as dispose
from studio.engine.ops.scopes import keep as keep
from studio.engine.ops.scopes import memory as memory
from studio.engine.ops.scopes import tidy as tidy
from studio.engine.ops.seeds import seed as seed

def absolute(x: Given) -> Tensor:
    """Take the absolute value.

    The derivative at 0 is 0.

    Args:
        x: Input, any shape.
    """

def absolute_difference(targets: Given, predictions: Given, weights: Given | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Sizes of what predictions miss.

    Args:
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def accuracy(targets: Given, predictions: Given, axis: int | Sequence[int] | None = None) -> Tensor:
    """Share of elements that are equal.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def add(a: Given, b: Given) -> Tensor:
    """Adds two tensors; shapes broadcast."""

def add_all(*xs: Given) -> Tensor:
    """Adds any number of tensors; shapes broadcast."""

def add_scalar(x: Given, number: float = 0.0) -> Tensor:
    """Adds a number to every element.

    Args:
        number: Number.
    """

def adjust_brightness(x: Given, delta: float = 0.0) -> Tensor:
    """Adds a number to all pixels.

    Args:
        x: images.
        delta: The number.
    """

def adjust_contrast(x: Given, factor: float = 1.0) -> Tensor:
    """Scales how far pixels are from the mean of their channel.

    Args:
        x: images [N, height, width, channels].
        factor: Larger ones give more contrast.
    """

def adjust_gamma(x: Given, gamma: float = 1.0, gain: float = 1.0) -> Tensor:
    """Raises pixels to a power.

    Args:
        x: images with no pixel below 0.
        gamma: The power.
        gain: Factor of the result.
    """

def all(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along dimensions are true.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def any(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Whether any element along dimensions is true.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def apply_mask(x: Given, mask: Given) -> Tensor:
    """Keeps elements where a mask is true, else 0.

    Args:
        x: any tensor.
        mask: of a shape that broadcasts to that of x.
    """

def arange(start: float = 0.0, *, stop: float, step: float = 1.0, dtype: Literal['float32', 'int32'] = 'float32') -> Tensor:
    """Numbers from a first one on, at equal distance, below a last one.

    Args:
        start: The first number.
        stop: Where they end; it is not reached.
        step: Distance of two neighbours.
    """

def arccos(x: Given) -> Tensor:
    """Inverse cosine.

    From π down to 0; NaN beyond ±1. The derivative at ±1 is infinite.

    Args:
        x: Input, any shape.
    """

def arccosh(x: Given) -> Tensor:
    """Inverse hyperbolic cosine.

    NaN below 1; the derivative at 1 is infinite.

    Args:
        x: Input, any shape.
    """

def arcsin(x: Given) -> Tensor:
    """Inverse sine.

    From -π/2 to π/2; NaN beyond ±1. The derivative at ±1 is infinite.

    Args:
        x: Input, any shape.
    """

def arcsinh(x: Given) -> Tensor:
    """Inverse hyperbolic sine.

    ±Inf at ±Inf.

    Args:
        x: Input, any shape.
    """

def arctan(x: Given) -> Tensor:
    """Inverse tangent.

    ±π/2 at ±Inf.

    Args:
        x: Input, any shape.
    """

def arctan2(a: Given, b: Given) -> Tensor:
    """Angle of the point (b, a) from the axis of b.

    From -π to π. Shapes broadcast. ±0 count as from above and below, and infinities as equally far,
    as IEEE 754 has it. The gradient is NaN at the origin.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def arctanh(x: Given) -> Tensor:
    """Inverse hyperbolic tangent.

    ±Inf at ±1, NaN beyond.

    Args:
        x: Input, any shape.
    """

def argmax(x: Given, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Place of the largest element along a dimension as int32; the first of equals.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def argmin(x: Given, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Place of the smallest element along a dimension as int32; the first of equals.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def argsort(x: Given, axis: int = -1, descending: bool = False) -> Tensor:
    """Places of the elements along a dimension in order.

    Args:
        x: any tensor.
        descending: Whether the largest come first.
    """

def average_pool1d(x: Given, size: int = 2, stride: int = 0, padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Mean of each window of sequences; cells of the padding do not count.

    Args:
        x: sequences [N, length, channels].
        size: Cells of a window.
        stride: Steps between windows; 0 is as long as the window.
    """

def average_pool2d(x: Given, size: int | Sequence[int] = (2, 2), strides: int | Sequence[int] = (0, 0), padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Mean of each window; cells of the padding do not count.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """

def average_pool3d(x: Given, size: int | Sequence[int] = (2, 2, 2), strides: int | Sequence[int] = (0, 0, 0), padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Mean of each window of volumes; cells of the padding do not count.

    Args:
        x: volumes [N, depth, height, width, channels].
        size: Slices, rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """

def band_part(x: Given, below: int = -1, above: int = -1) -> Tensor:
    """Matrices with zeros outside of a band around their diagonal.

    Args:
        x: matrices in the last two dimensions.
        below: Diagonals kept below the main one; -1 for all.
        above: Diagonals kept above the main one; -1 for all.
    """

def basic_gru_cell(x: Given, hidden: Given, gates: Given, gate_bias: Given, kernel: Given, bias: Given) -> Tensor:
    """One step of a gated recurrent unit (Cho et al. 2014).

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        gates: [in + units, 2·units], columns of the gates reset and update.
        gate_bias: [2·units].
        kernel: [in + units, units].
        bias: [units].
    """

def basic_lstm_cell(x: Given, hidden: Given, cell: Given, kernel: Given, bias: Given, forget_bias: float = 1.0) -> tuple[Tensor, Tensor]:
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997): hidden, cell.

    Columns of the kernel are the gates input, new, forget, output.

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        cell: [N, units] of the step before.
        kernel: [in + units, 4·units].
        bias: [4·units].
        forget_bias: Added to the forget gate.
    """

def basic_rnn_cell(x: Given, hidden: Given, kernel: Given, bias: Given) -> Tensor:
    """One step of a plain recurrent network: tanh([x, hidden]·kernel + bias).

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        kernel: [in + units, units].
        bias: [units].
    """

def batch_normalization(x: Given, mean: Given, variance: Given, offset: Given | None = None, scale: Given | None = None, axis: int = -1, epsilon: float = 0.001) -> Tensor:
    """Normalises channels by statistics that are given: (x - mean)/√(variance + epsilon).

    Args:
        x: any tensor.
        mean: of each channel.
        variance: of each channel.
        offset: added behind the scale.
        scale: what normalised values are multiplied with.
    """

def batch_to_space(x: Given, block: int | Sequence[int], crops: Sequence[Sequence[int]] = ()) -> Tensor:
    """Lays tensors of the batch out as cells of blocks: undoes `space_to_batch`.

    Args:
        x: any tensor.
        block: Cells of a block along the dimensions behind the first.
        crops: Cells taken off before and behind each of these dimensions, at the end.
    """

def bernoulli(probabilities: Given) -> Tensor:
    """Draws 1 with given probabilities, else 0."""

def binarize(x: Given, threshold: float = 0.5) -> Tensor:
    """Gives 1 above a threshold, else 0.

    Args:
        x: images.
        threshold: The bound.
    """

def binary_cross_entropy(targets: Given, shares: Given, epsilon: float = 1e-07) -> Tensor:
    """Cross-entropy of each share against 0 or 1.

    Args:
        epsilon: Added so that nothing is divided by 0.
    """

def bincount(x: Given, length: int) -> Tensor:
    """How often each whole number from 0 on occurs; others are left out.

    Args:
        x: whole numbers.
        length: How many numbers are counted.
    """

def bit_shift(a: Given, b: Given, direction: Literal['left', 'right'] = 'left') -> Tensor:
    """Shift bits by b places.

    Operands are whole numbers; shapes broadcast. To the left zeros come in, to the right the bit of
    the sign. b below 0 or above 31 shifts every bit out. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
        direction: Where bits go.
    """

def bitwise_and(a: Given, b: Given) -> Tensor:
    """Take the bits that both have.

    Operands are whole numbers; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def bitwise_not(x: Given) -> Tensor:
    """Turn every bit over.

    The operand is a whole number, the result -1 - x. No gradient.

    Args:
        x: Input, any shape.
    """

def bitwise_or(a: Given, b: Given) -> Tensor:
    """Take the bits that one or both have.

    Operands are whole numbers; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def bitwise_xor(a: Given, b: Given) -> Tensor:
    """Take the bits that exactly one has.

    Operands are whole numbers; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def broadcast_to(x: Given, shape: int | Sequence[int]) -> Tensor:
    """Repeats dimensions of length 1 until a tensor has a shape.

    Args:
        x: any tensor.
        shape: The shape; -1 keeps a dimension of x.
    """

def cast(x: Given, dtype: Literal['float32', 'float16', 'int32', 'uint8', 'bool'] = 'float32') -> Tensor:
    """Changes the element type; fractions are cut off towards 0.

    Args:
        dtype: Element type of the result.
    """

def categorical_cross_entropy(targets: Given, shares: Given, axis: int = -1, epsilon: float = 1e-07) -> Tensor:
    """Cross-entropy of shares along a dimension; shares are divided by their sum first.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        epsilon: Added so that nothing is divided by 0.
    """

def ceil(x: Given) -> Tensor:
    """Round towards plus infinity.

    Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def celu(x: Given, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit with a continuous derivative (Barron 2017).

    The derivative at 0 is 1, whatever alpha is; alpha is not 0.

    Args:
        x: Input, any shape.
        alpha: Scale of the negative side, in x and in y.
    """

def center_crop(x: Given, height: int, width: int) -> Tensor:
    """Cuts the middle out of images.

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
    """

def clip(x: Given, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Limits to an interval.

    Args:
        x: any tensor.
        low: Smallest value of the result.
        high: Largest value of the result.
    """

def complement(x: Given) -> Tensor:
    """What is missing to 1: 1 - x."""

def concatenate(*xs: Given, axis: int = -1) -> Tensor:
    """Joins tensors along a dimension they have.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def confusion_matrix(targets: Given, predictions: Given, classes: int) -> Tensor:
    """How often each class was predicted for each right one, as int32 [right, predicted].

    Args:
        targets: index of the right class, a vector of whole numbers.
        predictions: index of the predicted class.
        classes: How many there are.
    """

def conv1d(x: Given, kernel: Given, bias: Given | None = None, stride: int = 1, padding: Literal['valid', 'same'] = 'valid', dilation: int = 1) -> Tensor:
    """Convolution of sequences with kernels [cells, in, out].

    Args:
        x: sequences [N, length, in].
        kernel: [cells, in, out].
        bias: added to each channel.
        stride: Steps between windows.
        dilation: Distance between cells of the kernel.
    """

def conv2d(x: Given, kernel: Given, bias: Given | None = None, strides: int | Sequence[int] = (1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1)) -> Tensor:
    """Convolution of images with kernels [rows, columns, in, out].

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, in, out].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """

def conv2d_transpose(x: Given, kernel: Given, bias: Given | None = None, strides: int | Sequence[int] = (1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1), size: int | Sequence[int] = (0, 0)) -> Tensor:
    """Every cell spreads a kernel over the result: the gradient of a convolution by its images.

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, out, in].
        bias: added to each channel.
        strides: Steps between the places that neighbouring cells spread to.
        padding: Which convolution of the result would give the size of x.
        dilation: Distance between cells of the kernel.
        size: Rows and columns of the result; 0 is the stride for each cell, and with valid room
            for the whole kernel.
    """

def conv3d(x: Given, kernel: Given, bias: Given | None = None, strides: int | Sequence[int] = (1, 1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1, 1)) -> Tensor:
    """Convolution of volumes: the sum of those of images by each slice of the kernel.

    Args:
        x: volumes [N, depth, height, width, in].
        kernel: [slices, rows, columns, in, out].
        bias: added to each channel.
        strides: Steps between windows along depth, rows and columns.
        dilation: Distance between cells of the kernel along each.
    """

def copy(x: Given) -> Tensor:
    """Copies a tensor."""

def cos(x: Given) -> Tensor:
    """Cosine.

    x is in radians.

    Args:
        x: Input, any shape.
    """

def cosh(x: Given) -> Tensor:
    """Hyperbolic cosine.

    Inf beyond ±89.4.

    Args:
        x: Input, any shape.
    """

def cosine_distance(targets: Given, predictions: Given, weights: Given | None = None, axis: int = -1, normalized: bool = False, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """One minus the sum of products along a dimension, which stays with length 1.

    Args:
        targets: directions.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        normalized: Whether vectors are divided by their lengths first.
    """

def cosine_similarity(a: Given, b: Given, axis: int = -1) -> Tensor:
    """Cosine of the angle between vectors along a dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def count_nonzero(x: Given, axis: int | Sequence[int] | None = None) -> Tensor:
    """How many elements along dimensions are not 0.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def crop(x: Given, amounts: Sequence[Sequence[int]]) -> Tensor:
    """Takes cells off both ends of dimensions.

    Args:
        x: any tensor.
        amounts: Cells taken from the beginning and the end of each dimension.
    """

def crop_and_resize(x: Given, boxes: Given, indices: Given, height: int, width: int, method: Literal['bilinear', 'nearest'] = 'bilinear', fill: float = 0.0) -> Tensor:
    """Cuts boxes out of images and gives them one size.

    Args:
        x: images [N, rows, columns, channels].
        boxes: top, left, bottom, right of each box, [boxes, 4]; 0 and 1 are the outermost centres.
        indices: the image of each box, whole numbers [boxes].
        height: Rows of the result.
        width: Columns of the result.
        method: How cells are weighed.
        fill: Number where a box reaches beyond its image.
    """

def cross(a: Given, b: Given) -> Tensor:
    """The vector at right angles to two vectors of 3 in the last dimension."""

def cube(x: Given) -> Tensor:
    """Third power."""

def cummax(x: Given, axis: int = 0) -> Tensor:
    """Running maxima along a dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def cummin(x: Given, axis: int = 0) -> Tensor:
    """Running minima along a dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def cumprod(x: Given, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running products along a dimension.

    Args:
        x: any tensor.
        exclusive: Leave the element itself out.
        reverse: Go from the end.
    """

def cumsum(x: Given, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sums along a dimension.

    Args:
        x: any tensor.
        exclusive: Leave the element itself out.
        reverse: Go from the end.
    """

def deg2rad(x: Given) -> Tensor:
    """Turns degrees into radians."""

def depth_to_space(x: Given, block: int = 2) -> Tensor:
    """Lays channels out as squares of pixels.

    Args:
        x: images [N, height, width, channels].
        block: Side of a square.
    """

def depthwise_conv1d(x: Given, kernel: Given, bias: Given | None = None, stride: int = 1, padding: Literal['valid', 'same'] = 'valid', dilation: int = 1) -> Tensor:
    """Convolution of each channel of sequences with kernels of its own.

    Args:
        x: sequences [N, length, in].
        kernel: [cells, in, multiplier].
        bias: added to each channel.
        stride: Steps between windows.
        dilation: Distance between cells of the kernel.
    """

def depthwise_conv2d(x: Given, kernel: Given, bias: Given | None = None, strides: int | Sequence[int] = (1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1)) -> Tensor:
    """Convolution of each channel with kernels of its own.

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, in, multiplier].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """

def diag(x: Given) -> Tensor:
    """A matrix with a vector on its diagonal."""

def diagonal(x: Given) -> Tensor:
    """The main diagonals of matrices in the last two dimensions."""

def diff(x: Given, axis: int = -1) -> Tensor:
    """Differences of neighbours along a dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def dilation2d(x: Given, kernel: Given, strides: int | Sequence[int] = (1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1)) -> Tensor:
    """Largest sum of a cell of each window and its cell of the kernel; cells outside do not count.

    Args:
        x: images [N, height, width, channels].
        kernel: [rows, columns, channels].
        dilation: Distance between cells of the kernel.
    """

def divide(a: Given, b: Given) -> Tensor:
    """Divides the first tensor by the second as floats; shapes broadcast."""

def divide_no_nan(a: Given, b: Given) -> Tensor:
    """Divides the first tensor by the second, and gives 0 where that is 0."""

def dot(a: Given, b: Given) -> Tensor:
    """Sum of products over the last dimension of a and the last but one of b, as NumPy."""

def dot_product_attention(query: Given, key: Given, value: Given, mask: Given | None = None, scale: float = 0.0) -> Tensor:
    """Means of values weighted by how queries meet keys (Vaswani et al. 2017).

    Args:
        query: [..., queries, width].
        key: [..., keys, width].
        value: [..., keys, out].
        mask: added to scores, 0 or very negative.
        scale: Factor of scores; 0 stands for 1/√width.
    """

def dropout(x: Given, rate: float = 0.5) -> Tensor:
    """Sets a share of elements to 0 and scales the others up.

    Args:
        x: any tensor.
        rate: The share.
    """

def einsum(*xs: Given, equation: str) -> Tensor:
    """Sums of products over letters: each names a dimension of operands or of the result.

    A letter that the result lacks is summed over; without an arrow the result has the letters that
    occur once, in order of the alphabet. No operand may have a letter twice.

    Args:
        xs: one or more tensors.
        equation: Letters of each operand with commas between, an arrow, letters of the result.
    """

def elu(x: Given, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit.

    Args:
        x: Input, any shape.
        alpha: Scale of the negative side.
    """

def embedding(table: Given, indices: Given) -> Tensor:
    """Takes rows of a table by their indices."""

def equal(a: Given, b: Given) -> Tensor:
    """Compare for equality.

    The result is bool; shapes broadcast. NaN equals nothing. Its gradient is 0.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def erf(x: Given) -> Tensor:
    """Error function.

    2/√π·∫e^-t² dt from 0 to x; relative error at most 4e-7.

    Args:
        x: Input, any shape.
    """

def exp(x: Given) -> Tensor:
    """Exponential function.

    Args:
        x: Input, any shape.
    """

def exp2(x: Given) -> Tensor:
    """Powers of 2."""

def expand_dims(x: Given, axis: int = 0) -> Tensor:
    """Puts a dimension of length 1 in front of another.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def expm1(x: Given) -> Tensor:
    """Exponential function minus 1.

    Exact near 0.

    Args:
        x: Input, any shape.
    """

def eye(rows: int, columns: int | None = None, diagonal: int = 0) -> Tensor:
    """A matrix with ones on a diagonal.

    Args:
        rows: How many.
        columns: How many; as many as rows where none are given.
        diagonal: Which diagonal: above the main one where positive.
    """

def flatten(x: Given) -> Tensor:
    """Lays each entry of the batch out in one row."""

def flip(x: Given, axis: int | Sequence[int] | None = None) -> Tensor:
    """Turns dimensions round; all of them where none is named.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def flip_left_right(x: Given) -> Tensor:
    """Turns columns round."""

def flip_up_down(x: Given) -> Tensor:
    """Turns rows round."""

def fliplr(x: Given) -> Tensor:
    """Turns the second dimension round."""

def flipud(x: Given) -> Tensor:
    """Turns the first dimension round."""

def floor(x: Given) -> Tensor:
    """Round towards minus infinity.

    Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def floor_divide(a: Given, b: Given) -> Tensor:
    """Quotient rounded towards minus infinity.

    ⌊a/b⌋, as Python's //. Shapes broadcast. NaN for b = 0 and for infinite a; of whole numbers 0
    for b = 0, and -2³¹ // -1 wraps to itself. Its gradient is 0.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def fraction(x: Given) -> Tensor:
    """What is above the next smaller whole number: x - floor(x)."""

def frame(x: Given, length: int, step: int) -> Tensor:
    """Pieces of a sequence in the last dimension, which may overlap: [..., frames, length].

    Args:
        x: sequences.
        length: Of a frame.
        step: From the beginning of one frame to that of the next.
    """

def full(shape: int | Sequence[int] = (), value: float = 0.0, dtype: Literal['float32', 'float16', 'int32', 'uint8', 'bool'] = 'float32') -> Tensor:
    """One number everywhere.

    Args:
        value: The number.
    """

def full_like(x: Given, value: float = 0.0) -> Tensor:
    """One number everywhere, in the shape and type of a tensor.

    Args:
        value: Value.
    """

def gather(x: Given, indices: Given, axis: int | None = 0) -> Tensor:
    """Takes entries of a dimension by their indices.

    Args:
        x: what is looked up in.
        indices: whole numbers of any shape.
        axis: The dimension; of all elements in one row without one.
    """

def gather_nd(x: Given, indices: Given, batch: int = 0) -> Tensor:
    """Takes entries by tuples of indices in the last dimension.

    Args:
        x: what is looked up in.
        indices: whole numbers; the last dimension holds tuples.
        batch: How many dimensions in front both have in common.
    """

def gelu(x: Given, approximate: bool = True) -> Tensor:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016).

    Args:
        x: any tensor.
        approximate: Whether tanh stands in for the normal distribution.
    """

def global_average_pool2d(x: Given) -> Tensor:
    """Mean of each channel over rows and columns."""

def global_max_pool2d(x: Given) -> Tensor:
    """Largest element of each channel over rows and columns."""

def glu(x: Given, axis: int = -1) -> Tensor:
    """One half of a tensor times the logistic function of the other (Dauphin et al. 2017).

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def grayscale_to_rgb(x: Given) -> Tensor:
    """One channel three times."""

def greater(a: Given, b: Given) -> Tensor:
    """Compare for order.

    The result is bool; shapes broadcast. False where either is NaN. Its gradient is 0.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def greater_equal(a: Given, b: Given) -> Tensor:
    """Compare for order, equality included.

    The result is bool; shapes broadcast. False where either is NaN. Its gradient is 0.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def grid_sample(x: Given, grid: Given, method: Literal['bilinear', 'nearest'] = 'bilinear', outside: Literal['zeros', 'border', 'reflect'] = 'zeros', coords: Literal['half_pixel', 'align_corners', 'pixels'] = 'half_pixel') -> Tensor:
    """Looks images up at the places of a grid.

    Args:
        x: images [N, height, width, channels].
        grid: places [N, rows, columns, 2], across then down.
        method: How cells are weighed.
        outside: What lies beyond the border.
        coords: Whether -1 and 1 are the edges or the outermost centres, or places count cells.
    """

def group_normalization(x: Given, scale: Given | None = None, offset: Given | None = None, groups: int = 1, epsilon: float = 0.001) -> Tensor:
    """Gives groups of channels of each sample mean 0 and variance 1 (Wu and He 2018).

    Args:
        x: a batch with its channels last.
        scale: what normalised channels are multiplied with.
        offset: added behind the scale.
        groups: How many there are.
    """

def hamming_window(length: int) -> Tensor:
    """A raised cosine of one period, 0.08 at its beginning.

    Args:
        length: Length.
    """

def hann_window(length: int) -> Tensor:
    """A raised cosine of one period, 0 at its beginning.

    Args:
        length: Length.
    """

def hard_shrink(x: Given, threshold: float = 0.5) -> Tensor:
    """Sets what is at most a threshold away from 0 to 0.

    Args:
        x: any tensor.
        threshold: The distance.
    """

def hard_sigmoid(x: Given) -> Tensor:
    """Piecewise linear sigmoid, as Keras 3 defines it.

    The derivative is 1/6 strictly between -3 and 3.

    Args:
        x: Input, any shape.
    """

def hard_silu(x: Given) -> Tensor:
    """Piecewise quadratic swish (Howard et al. 2019).

    x·min(max(x/6 + 1/2, 0), 1); -Inf gives NaN. The derivative is that of the middle piece strictly
    between -3 and 3, 0 below and 1 above.

    Args:
        x: Input, any shape.
    """

def hard_tanh(x: Given) -> Tensor:
    """Limits to -1 and 1."""

def hinge(targets: Given, predictions: Given, weights: Given | None = None, squared: bool = False, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """What is missing to a margin of 1, for targets 0 and 1: max(0, 1 - (2·t - 1)·p).

    Args:
        targets: 0 or 1.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        squared: Whether it is squared.
    """

def huber(targets: Given, predictions: Given, weights: Given | None = None, delta: float = 1.0, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Half the square of a small miss, and a line behind (Huber 1964).

    Args:
        targets: what is right.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        delta: Where the line begins.
    """

def hypot(a: Given, b: Given) -> Tensor:
    """Length of the hypotenuse over two sides, √(a² + b²)."""

def identity(size: int) -> Tensor:
    """A square matrix with ones on its diagonal.

    Args:
        size: Size.
    """

def in_top_k(targets: Given, predictions: Given, k: int = 1) -> Tensor:
    """Whether the prediction of a right class is among the largest of its row.

    Equal predictions count as one place, as in TensorFlow.

    Args:
        targets: index of the right class, whole numbers.
        predictions: a row for each index.
        k: How many of a row count.
    """

def inner(a: Given, b: Given) -> Tensor:
    """Sum of products over the last dimensions of both tensors."""

def instance_normalization(x: Given, scale: Given | None = None, offset: Given | None = None, epsilon: float = 1e-05) -> Tensor:
    """Gives each channel of each sample mean 0 and variance 1; channels are last.

    Args:
        epsilon: Added so that nothing is divided by 0.
    """

def interpolate(a: Given, b: Given, weight: Given) -> Tensor:
    """Goes from the first tensor to the second by a weight: a + (b - a)·weight."""

def invert_image(x: Given, largest: float = 1.0) -> Tensor:
    """Makes bright pixels dark.

    Args:
        x: images.
        largest: Value of the brightest pixel.
    """

def isclose(a: Given, b: Given, rtol: float = 1e-05, atol: float = 1e-08) -> Tensor:
    """Whether elements are near each other: |a - b| <= atol + rtol·|b|.

    Args:
        a: first tensor.
        b: second tensor, which the tolerance is measured by.
        rtol: Tolerance as a share of the second tensor.
        atol: Tolerance whatever the numbers.
    """

def isfinite(x: Given) -> Tensor:
    """Whether elements are neither infinite nor NaN."""

def isinf(x: Given) -> Tensor:
    """Whether it is infinite, of either sign.

    The result is bool; false for NaN. Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def isnan(x: Given) -> Tensor:
    """Whether it is NaN.

    The result is bool. Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def kl_divergence(targets: Given, predictions: Given, axis: int = -1, epsilon: float = 1e-07) -> Tensor:
    """Sum of t·ln(t/p) along a dimension (Kullback and Leibler 1951), as Keras computes it.

    Args:
        targets: shares of 1.
        predictions: shares of 1.
        epsilon: Smaller shares count as that much.
    """

def kron(a: Given, b: Given) -> Tensor:
    """Every product of an element of one matrix with the other matrix (Kronecker)."""

def layer_normalization(x: Given, scale: Given | None = None, offset: Given | None = None, axis: int | Sequence[int] | None = -1, epsilon: float = 0.001) -> Tensor:
    """Gives each sample mean 0 and variance 1 along dimensions (Ba et al. 2016).

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        epsilon: Added so that nothing is divided by 0.
    """

def leaky_relu(x: Given, alpha: float = 0.2) -> Tensor:
    """Rectified linear unit that leaks.

    The derivative at 0 is alpha.

    Args:
        x: Input, any shape.
        alpha: Slope of the negative side.
    """

def less(a: Given, b: Given) -> Tensor:
    """Whether elements of the first tensor are smaller; false where either is NaN."""

def less_equal(a: Given, b: Given) -> Tensor:
    """Whether elements of the first tensor are not larger; false where either is NaN."""

def linear(x: Given, kernel: Given, bias: Given | None = None) -> Tensor:
    """Product with a kernel [in, out] over the last dimension, plus a bias."""

def linspace(start: float = 0.0, stop: float = 1.0, count: int = 50, endpoint: bool = True) -> Tensor:
    """Numbers at equal distance from a first to a last one.

    Args:
        start: The first number.
        stop: The last number.
        count: How many.
        endpoint: Whether the last number is among them.
    """

def local_response_normalization(x: Given, radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> Tensor:
    """Divides by a power of the squares of neighbouring channels (Krizhevsky et al. 2012).

    x / (bias + alpha·Σ x²)^beta, over the channels up to ``radius`` away.

    Args:
        x: images with their channels last.
        radius: How many channels on either side count.
        bias: Added to the sum.
        alpha: Factor of the sum.
        beta: The power.
    """

def log(x: Given) -> Tensor:
    """Natural logarithm.

    -Inf at 0, NaN below.

    Args:
        x: Input, any shape.
    """

def log10(x: Given) -> Tensor:
    """Logarithm to the base 10."""

def log1p(x: Given) -> Tensor:
    """Natural logarithm of 1 + x.

    Exact near 0; -Inf at -1, NaN below.

    Args:
        x: Input, any shape.
    """

def log2(x: Given) -> Tensor:
    """Logarithm to the base 2."""

def log_cosh(targets: Given, predictions: Given, weights: Given | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Logarithm of the hyperbolic cosine of what predictions miss.

    Args:
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def log_loss(targets: Given, predictions: Given, weights: Given | None = None, epsilon: float = 1e-07, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Cross-entropy of shares: -t·ln(p + epsilon) - (1 - t)·ln(1 - p + epsilon).

    Args:
        epsilon: Added so that nothing is divided by 0.
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def log_sigmoid(x: Given) -> Tensor:
    """Logarithm of the logistic function."""

def log_softmax(x: Given, axis: int = -1) -> Tensor:
    """Logarithm of softmax along a dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def log_sum(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def logaddexp(a: Given, b: Given) -> Tensor:
    """Logarithm of the sum of two powers of e, without overflow."""

def logical_and(a: Given, b: Given) -> Tensor:
    """Whether both are true.

    Operands are bool; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def logical_not(x: Given) -> Tensor:
    """Whether it is false.

    The operand is bool. No gradient.

    Args:
        x: Input, any shape.
    """

def logical_or(a: Given, b: Given) -> Tensor:
    """Whether one or both are true.

    Operands are bool; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def logical_xor(a: Given, b: Given) -> Tensor:
    """Whether exactly one is true.

    Operands are bool; shapes broadcast. No gradient.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def logit(x: Given) -> Tensor:
    """The inverse of the logistic function: ln(x / (1 - x))."""

def logspace(start: float = 0.0, stop: float = 1.0, count: int = 50, base: float = 10.0) -> Tensor:
    """Powers of a base with exponents at equal distance.

    Args:
        start: The first exponent.
        stop: The last exponent.
        count: How many.
        base: What is raised.
    """

def logsumexp(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of e^x along dimensions, without overflow.

    Where the largest element is infinite the result is NaN.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def map_coordinates(x: Given, coordinates: Given, method: Literal['bilinear', 'nearest'] = 'bilinear', outside: Literal['zeros', 'border', 'reflect'] = 'zeros', fill: float = 0.0) -> Tensor:
    """Looks a matrix up at real places.

    Args:
        x: a matrix.
        coordinates: rows, then columns, [2, …].
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
    """

def matmul(a: Given, b: Given, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Product of matrices in the last two dimensions; those before broadcast.

    A vector on the left is a row, on the right a column; its dimension of 1 goes afterwards.

    Args:
        a: left matrices, or a vector.
        b: right matrices, or a vector.
        transpose_a: Transpose the left matrices first.
        transpose_b: Transpose the right matrices first.
    """

def max(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Largest element along dimensions; NaN wins.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def max_pool1d(x: Given, size: int = 2, stride: int = 0, padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Largest element of each window of sequences.

    Args:
        x: sequences [N, length, channels].
        size: Cells of a window.
        stride: Steps between windows; 0 is as long as the window.
    """

def max_pool2d(x: Given, size: int | Sequence[int] = (2, 2), strides: int | Sequence[int] = (0, 0), padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Largest element of each window.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """

def max_pool3d(x: Given, size: int | Sequence[int] = (2, 2, 2), strides: int | Sequence[int] = (0, 0, 0), padding: Literal['valid', 'same'] = 'valid') -> Tensor:
    """Largest element of each window of volumes.

    Args:
        x: volumes [N, depth, height, width, channels].
        size: Slices, rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """

def max_pool_with_argmax(x: Given, size: int | Sequence[int] = (2, 2), strides: int | Sequence[int] = (0, 0), padding: Literal['valid', 'same'] = 'valid') -> tuple[Tensor, Tensor]:
    """Largest element of each window, and its place among all of its image, as int32.

    A place is (row·width + column)·channels + channel; of equals it is that of the first.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """

def maximum(a: Given, b: Given) -> Tensor:
    """Take the larger of two elements.

    Shapes broadcast. NaN in either operand gives NaN; at a tie the gradient goes to a.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def mean(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Mean along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def mean_squared_error(targets: Given, predictions: Given, weights: Given | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Squares of what predictions miss.

    Args:
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def median(x: Given, axis: int = -1) -> Tensor:
    """The middle element along a dimension, or the mean of the two in the middle.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def min(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Smallest element along dimensions; NaN wins.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def minimum(a: Given, b: Given) -> Tensor:
    """Take the smaller of two elements.

    Shapes broadcast. NaN in either operand gives NaN; at a tie the gradient goes to a.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def mirror_pad(x: Given, pads: Sequence[Sequence[int]], mode: Literal['reflect', 'symmetric'] = 'reflect') -> Tensor:
    """Surrounds a tensor with its mirror image.

    Args:
        x: any tensor.
        pads: Cells before and behind each dimension.
        mode: Whether the last cell is the mirror (reflect), or its edge (symmetric).
    """

def mish(x: Given) -> Tensor:
    """Mish (Misra 2019).

    softplus(x) = ln(1 + e^x).

    Args:
        x: Input, any shape.
    """

def mod(a: Given, b: Given) -> Tensor:
    """Remainder of the floored quotient, of the sign of b.

    a - b·⌊a/b⌋, as Python's %. Shapes broadcast. NaN for b = 0 and for infinite a; of whole numbers
    0 for b = 0. The gradient takes the quotient as constant.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def moments(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def moveaxis(x: Given, source: int = 0, destination: int = -1) -> Tensor:
    """Moves a dimension to another place.

    Args:
        source: Source.
        destination: Destination.
    """

def multinomial(logits: Given, count: int = 1) -> Tensor:
    """Draws classes by their logits; int32.

    The class is the largest of logit - ln(-ln u) with even u (Gumbel's trick).

    Args:
        logits: of each class, [rows, classes].
        count: How many draws for each row.
    """

def multiply(a: Given, b: Given) -> Tensor:
    """Multiplies two tensors; shapes broadcast."""

def nan_to_num(x: Given, nan: float = 0.0) -> Tensor:
    """Puts a number in place of NaN, and the largest ones in place of infinities.

    Args:
        x: any tensor.
        nan: The number.
    """

def negative(x: Given) -> Tensor:
    """Changes the sign."""

def norm(x: Given, order: float = 2.0, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Length of vectors along dimensions: (Σ|x|^order)^(1/order).

    Args:
        x: any tensor.
        order: 1 for the sum of absolute values, 2 for the Euclidean length, 0 for the largest
            absolute value; others above 0 are powers.
    """

def normalize(x: Given, axis: int | Sequence[int] | None = -1, epsilon: float = 1e-12) -> Tensor:
    """Divides vectors along dimensions by their Euclidean length.

    Args:
        x: any tensor.
        epsilon: Squares of lengths below it count as that much.
    """

def not_equal(a: Given, b: Given) -> Tensor:
    """Whether elements differ; NaN differs from everything."""

def one_hot(x: Given, depth: int, on: float = 1.0, off: float = 0.0, axis: int = -1) -> Tensor:
    """Rows with one number at an index and another elsewhere.

    An index outside gives a row of the other number.

    Args:
        x: indices, whole numbers.
        depth: Length of a row.
        on: Number at the index.
        off: Number elsewhere.
        axis: Where the dimension of rows stands in the result.
    """

def ones(shape: int | Sequence[int] = (), dtype: Literal['float32', 'float16', 'int32', 'uint8', 'bool'] = 'float32') -> Tensor:
    """Ones of a shape.

    Args:
        shape: The shape of the result; -1 is what remains.
        dtype: Element type of the result.
    """

def ones_like(x: Given) -> Tensor:
    """Ones in the shape and type of a tensor."""

def outer(a: Given, b: Given) -> Tensor:
    """Every product of an element of a and one of b, as a matrix."""

def pad(x: Given, pads: Sequence[Sequence[int]], value: float = 0.0, mode: Literal['constant', 'reflect', 'symmetric', 'edge', 'wrap'] = 'constant') -> Tensor:
    """Surrounds a tensor with a number, or with what lies inside.

    Args:
        x: any tensor.
        pads: Cells before and behind each dimension.
        value: Number in the new cells, where the mode is constant.
        mode: What new cells hold.
    """

def pairwise_distances(a: Given, b: Given) -> Tensor:
    """Euclidean distances of every row of a to every row of b."""

def peak_to_peak(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Largest minus smallest element along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def poisson_loss(targets: Given, predictions: Given, weights: Given | None = None, epsilon: float = 1e-07, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """What counts miss: p - t·ln(p + epsilon).

    Args:
        epsilon: Added so that nothing is divided by 0.
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def polar_to_plane(radius: Given, angle: Given) -> tuple[Tensor, Tensor]:
    """Coordinates of points given by distance and angle: r·cos φ, r·sin φ."""

def polyval(coefficients: Given, x: Given) -> Tensor:
    """Value of a polynomial, the coefficient of the highest power first.

    Args:
        coefficients: a vector.
        x: where it is worked out.
    """

def power(a: Given, b: Given) -> Tensor:
    """Raise to a power element by element.

    Shapes broadcast. Defined for a > 0, and for a = 0 with b > 0; NaN for negative a with a
    fractional b. The gradient with respect to b is 0 where a is 0.

    Args:
        a: Left operand.
        b: Right operand, broadcast against the left one by NumPy's rule.
    """

def power_spectrum(x: Given) -> Tensor:
    """Squares of the absolute values of the discrete Fourier transform along the last dimension.

    For real sequences of length n, at the frequencies 0 to n // 2.
    """

def prelu(x: Given, alpha: Given) -> Tensor:
    """Rectified linear unit whose slope below 0 is learned (He et al. 2015).

    alpha is broadcast against x, such as one number per channel. The derivative at 0 is alpha.

    Args:
        x: Input, any shape.
        alpha: Slope of the negative side, of a shape that broadcasts to that of x.
    """

def prod(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Product along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def put_along_axis(x: Given, indices: Given, updates: Given, axis: int = -1, reduction: Literal['none', 'add', 'mul', 'max', 'min'] = 'none') -> Tensor:
    """Writes single elements along a dimension, by indices in the shape of what is written.

    Args:
        x: what is changed; the result is a new tensor.
        indices: whole numbers.
        updates: what is written, in the shape of the indices.
        reduction: How an element meets the one that is there; none takes its place.
    """

def rad2deg(x: Given) -> Tensor:
    """Turns radians into degrees."""

def random_normal(shape: int | Sequence[int] = (), mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Numbers drawn from a normal distribution.

    Args:
        mean: Mean of the distribution.
        deviation: Standard deviation.
    """

def random_uniform(shape: int | Sequence[int] = (), low: float = 0.0, high: float = 1.0) -> Tensor:
    """Numbers drawn evenly from an interval.

    Args:
        low: Smallest number.
        high: Bound that is not reached.
    """

def ravel(x: Given) -> Tensor:
    """Lays all elements out in one row."""

def reciprocal(x: Given) -> Tensor:
    """Reciprocal.

    ±Inf at 0.

    Args:
        x: Input, any shape.
    """

def relu(x: Given) -> Tensor:
    """Rectified linear unit.

    NaN stays NaN; the derivative at 0 is 0.

    Args:
        x: Input, any shape.
    """

def relu6(x: Given) -> Tensor:
    """Rectified linear unit with the ceiling 6."""

def repeat(x: Given, repeats: int = 2, axis: int | None = None) -> Tensor:
    """Repeats each element along a dimension; of all elements in one row without one.

    Args:
        x: any tensor.
        repeats: How often each element stands there.
    """

def reshape(x: Given, shape: int | Sequence[int] = (-1,)) -> Tensor:
    """Gives a tensor another shape of as many elements.

    Args:
        x: any tensor.
        shape: The new shape; -1 is what remains, a first -1 the batch where x has one.
    """

def resize(x: Given, height: int, width: int, method: Literal['bilinear', 'nearest', 'bicubic'] = 'bilinear', coords: Literal['half_pixel', 'align_corners', 'asymmetric'] = 'half_pixel', rounding: Literal['half_up', 'half_down', 'down', 'up'] = 'half_up', cubic: float = -0.5, exclude: bool = False, antialias: bool = False) -> Tensor:
    """Gives images another size.

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
        method: How cells are weighed.
        coords: Where the cells of the result lie among those of x.
        rounding: Which cell nearest takes between two.
        cubic: Coefficient of bicubic weights.
        exclude: Leave cells beyond the border out; else the border is repeated.
        antialias: Smooth what shrinks; not with nearest.
    """

def resize_nearest(x: Given, height: int, width: int, coords: Literal['half_pixel', 'align_corners', 'asymmetric'] = 'half_pixel', rounding: Literal['half_up', 'half_down', 'down', 'up'] = 'half_up') -> Tensor:
    """Gives images another size by taking the nearest cell.

    TensorFlow.js begins with coords "asymmetric" and rounding "down".

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
        coords: Where the cells of the result lie among those of x.
        rounding: Which cell is taken between two.
    """

def rgb_to_grayscale(x: Given) -> Tensor:
    """Brightness of red, green and blue, in one channel."""

def rms_normalization(x: Given, scale: Given | None = None, axis: int | Sequence[int] | None = -1, epsilon: float = 1e-07) -> Tensor:
    """Divides by the root of the mean square along dimensions (Zhang and Sennrich 2019).

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        epsilon: Added so that nothing is divided by 0.
    """

def roll(x: Given, shift: int = 1, axis: int = -1) -> Tensor:
    """Moves elements along a dimension; those that leave it come in at the other end.

    Args:
        x: any tensor.
        shift: How far elements move.
    """

def rotate(x: Given, radians: float, method: Literal['bilinear', 'nearest'] = 'nearest', outside: Literal['zeros', 'border', 'reflect'] = 'zeros', fill: float = 0.0, center_x: float = 0.5, center_y: float = 0.5) -> Tensor:
    """Turns images about a point, against the clock.

    Args:
        x: images [N, height, width, channels].
        radians: The angle.
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
        center_x: The point, as a share of the columns.
        center_y: The point, as a share of the rows.
    """

def rotate_quarters(x: Given, turns: int = 1) -> Tensor:
    """Turns images by quarters, against the clock.

    Args:
        x: images [N, height, width, channels].
        turns: How many quarters.
    """

def round(x: Given) -> Tensor:
    """Round to the nearest whole number.

    Of two that are as near, the even one is taken. Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def rsqrt(x: Given) -> Tensor:
    """Reciprocal square root.

    ±Inf at ±0, NaN below.

    Args:
        x: Input, any shape.
    """

def scale(x: Given, factor: float = 1.0) -> Tensor:
    """Multiplies by a number.

    Args:
        factor: Factor.
    """

def scatter(indices: Given, updates: Given, shape: int | Sequence[int]) -> Tensor:
    """Adds entries up at tuples of indices, beginning with zeros.

    Args:
        indices: whole numbers; the last dimension holds tuples.
        updates: an entry for each tuple.
    """

def scatter_update(x: Given, indices: Given, updates: Given, reduction: Literal['none', 'add', 'mul', 'max', 'min'] = 'none') -> Tensor:
    """Writes entries at tuples of indices in the last dimension.

    Args:
        x: what is changed; the result is a new tensor.
        indices: whole numbers; the last dimension holds tuples.
        updates: an entry for each tuple.
        reduction: How an entry meets the one that is there; none takes its place.
    """

def search_sorted(x: Given, values: Given, side: Literal['left', 'right'] = 'left') -> Tensor:
    """How many elements of a row in order lie in front of each value, as int32.

    Found by halving: a look-up for each bit of the length. NaN lies behind all numbers.

    Args:
        x: a vector in ascending order, or rows of them in the last dimension.
        values: of any shape for a vector; for rows, some for each row.
        side: Whether elements equal to the value lie behind it (left) or in front of it (right).
    """

def segment_sum(x: Given, segments: Given, count: int) -> Tensor:
    """Sums of the rows that belong to each segment.

    Args:
        x: rows.
        segments: segment of each row, a vector of whole numbers.
        count: How many segments there are.
    """

def selu(x: Given) -> Tensor:
    """Scaled exponential linear unit (Klambauer et al. 2017).

    Args:
        x: Input, any shape.
    """

def separable_conv2d(x: Given, depthwise: Given, pointwise: Given, bias: Given | None = None, strides: int | Sequence[int] = (1, 1), padding: Literal['valid', 'same'] = 'valid', dilation: int | Sequence[int] = (1, 1)) -> Tensor:
    """Convolution of each channel, then one that mixes channels.

    Args:
        x: images [N, height, width, in].
        depthwise: [rows, columns, in, multiplier].
        pointwise: [1, 1, in·multiplier, out].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """

def sigmoid(x: Given) -> Tensor:
    """Logistic function.

    sigmoid(x) = 1/(1 + e^-x), computed without overflow on either side.

    Args:
        x: Input, any shape.
    """

def sigmoid_cross_entropy(targets: Given, logits: Given, weights: Given | None = None, label_smoothing: float = 0.0, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Cross-entropy of the logistic function of logits, without overflow.

    Args:
        targets: 0 to 1.
        logits: of the shape of the targets.
        weights: what losses are multiplied with.
        label_smoothing: How far targets are moved towards one half.
    """

def sign(x: Given) -> Tensor:
    """Sign of each element.

    y = -1, 0 or 1; NaN stays NaN. Its gradient is 0.

    Args:
        x: Input, any shape.
    """

def sin(x: Given) -> Tensor:
    """Sine.

    x is in radians.

    Args:
        x: Input, any shape.
    """

def sinc(x: Given) -> Tensor:
    """sin(πx)/(πx), and 1 at 0."""

def sinh(x: Given) -> Tensor:
    """Hyperbolic sine.

    ±Inf beyond 89.4.

    Args:
        x: Input, any shape.
    """

def slice(x: Given, begin: int | Sequence[int] = (0,), size: int | Sequence[int] = (-1,)) -> Tensor:
    """Cuts a box out of a tensor.

    Args:
        x: any tensor.
        begin: First index of each dimension; those not given begin at 0.
        size: Length of each dimension; -1, or none given, is all behind the first index.
    """

def soft_shrink(x: Given, threshold: float = 0.5) -> Tensor:
    """Moves everything a threshold towards 0.

    Args:
        x: any tensor.
        threshold: The distance.
    """

def softmax(x: Given, axis: int = -1) -> Tensor:
    """Turns numbers along a dimension into shares of 1: e^x / Σ e^x.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def softmax_cross_entropy(targets: Given, logits: Given, weights: Given | None = None, label_smoothing: float = 0.0, axis: int = -1, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Cross-entropy of the softmax of logits against shares.

    Args:
        targets: shares of 1 along the dimension.
        logits: of the shape of the targets.
        weights: what losses are multiplied with.
        label_smoothing: How far targets are moved towards equal shares.
    """

def softplus(x: Given) -> Tensor:
    """Smooth rectifier.

    softplus(x) = ln(1 + e^x), computed as max(x, 0) + ln(1 + e^-|x|).

    Args:
        x: Input, any shape.
    """

def softsign(x: Given) -> Tensor:
    """Softsign.

    Args:
        x: Input, any shape.
    """

def sort(x: Given, axis: int = -1, descending: bool = False) -> Tensor:
    """Elements along a dimension in order; equal ones keep theirs.

    Args:
        x: any tensor.
        descending: Whether the largest come first.
    """

def space_to_batch(x: Given, block: int | Sequence[int], pads: Sequence[Sequence[int]] = ()) -> Tensor:
    """Lays cells of blocks out as tensors of the batch, all first cells in front.

    Args:
        x: any tensor; the dimensions behind the first are cut into blocks.
        block: Cells of a block along the dimensions behind the first.
        pads: Zeros before and behind each of these dimensions, put there first.
    """

def space_to_depth(x: Given, block: int = 2) -> Tensor:
    """Lays squares of pixels out as channels.

    Args:
        x: images [N, height, width, channels].
        block: Side of a square.
    """

def sparse_softmax_cross_entropy(classes: Given, logits: Given, weights: Given | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Cross-entropy of the softmax of logits against indices of classes.

    Args:
        classes: index of the right class, whole numbers.
        logits: a row for each index.
        weights: what losses are multiplied with.
    """

def split(x: Given, parts: int = 2, sizes: int | Sequence[int] = (), axis: int = -1) -> tuple[Tensor, ...]:
    """Cuts a tensor into pieces along a dimension.

    Args:
        x: any tensor.
        parts: How many pieces of one length; not used where sizes are given.
        sizes: Length of each piece; one may be -1 for what remains.
    """

def sqrt(x: Given) -> Tensor:
    """Square root.

    NaN below 0; the derivative at 0 is infinite.

    Args:
        x: Input, any shape.
    """

def square(x: Given) -> Tensor:
    """Square.

    Args:
        x: Input, any shape.
    """

def squared_difference(a: Given, b: Given) -> Tensor:
    """Squares the difference of two tensors; shapes broadcast."""

def squareplus(x: Given, b: float = 4.0) -> Tensor:
    """A smooth rectifier: (x + √(x² + b))/2.

    Args:
        x: any tensor.
        b: How smooth.
    """

def squeeze(x: Given, axis: int | Sequence[int] | None = None) -> Tensor:
    """Takes dimensions of length 1 out; all of them where none is named.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def stack(*xs: Given, axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def standardize(x: Given, axis: int | Sequence[int] | None = -1, epsilon: float = 1e-09) -> Tensor:
    """Gives vectors along dimensions mean 0 and variance 1.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        epsilon: Added so that nothing is divided by 0.
    """

def std(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Standard deviation along dimensions.

    Args:
        x: any tensor.
        ddof: What is taken from the number of elements before it divides.
    """

def step(x: Given, alpha: float = 0.0) -> Tensor:
    """Gives 1 above 0 and a factor times 1 elsewhere; NaN stays NaN.

    Args:
        x: any tensor.
        alpha: Value where x is not above 0.
    """

def strided_slice(x: Given, begin: int | Sequence[int], end: int | Sequence[int], steps: int | Sequence[int] = ()) -> Tensor:
    """Takes every so many elements of dimensions, as Python's x[begin:end:step].

    Dimensions behind those named are kept whole.

    Args:
        x: any tensor.
        begin: First index of each dimension; negative ones count from the end.
        end: Where each dimension ends; negative ones count from the end.
        steps: From one element to the next, 1 unless given; negative ones count down.
    """

def subtract(a: Given, b: Given) -> Tensor:
    """Subtracts the second tensor from the first; shapes broadcast."""

def sum(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Sum along dimensions; truth values are counted.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def sum_of_sizes(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Sum of absolute values along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def sum_of_squares(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Sum of squares along dimensions.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
        keepdims: Keep reduced dimensions with length 1.
    """

def swapaxes(x: Given, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Exchanges two dimensions.

    Args:
        axis1: Axis1.
        axis2: Axis2.
    """

def swish(x: Given, beta: float = 1.0) -> Tensor:
    """Sigmoid-weighted linear unit (SiLU).

    Args:
        x: Input, any shape.
        beta: Slope inside the sigmoid.
    """

def take_along_axis(x: Given, indices: Given, axis: int = -1) -> Tensor:
    """Takes single elements along a dimension, by indices in the shape of the result.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def tan(x: Given) -> Tensor:
    """Tangent.

    x is in radians; NaN at ±Inf. Relative error at most 3e-7, however large x is.

    Args:
        x: Input, any shape.
    """

def tanh(x: Given) -> Tensor:
    """Hyperbolic tangent.

    NaN stays NaN.

    Args:
        x: Input, any shape.
    """

def tanh_shrink(x: Given) -> Tensor:
    """What tanh takes away: x - tanh(x)."""

def tensordot(a: Given, b: Given, axes_a: int | Sequence[int] = (-1,), axes_b: int | Sequence[int] = (0,)) -> Tensor:
    """Sum of products over chosen dimensions of both tensors.

    Args:
        a: left tensor.
        b: right tensor.
        axes_a: Dimensions of the left tensor that are summed over.
        axes_b: Dimensions of the right tensor they meet.
    """

def thresholded_relu(x: Given, threshold: float = 1.0) -> Tensor:
    """Keeps what is above a threshold; else 0.

    Args:
        x: any tensor.
        threshold: Where the linear part begins.
    """

def tile(x: Given, repeats: int | Sequence[int]) -> Tensor:
    """Repeats a whole tensor along its dimensions.

    Args:
        x: any tensor.
        repeats: How often, for each dimension; dimensions are added in front for more numbers.
    """

def top_k(x: Given, k: int = 1, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The largest elements along a dimension, the largest first, and their places.

    Args:
        x: any tensor.
        k: How many.
    """

def total_variation(x: Given) -> Tensor:
    """Sum of differences of neighbouring pixels, for each image."""

def trace(x: Given) -> Tensor:
    """Sum of the main diagonals of matrices in the last two dimensions."""

def transform(x: Given, transforms: Given, method: Literal['bilinear', 'nearest'] = 'bilinear', outside: Literal['zeros', 'border', 'reflect'] = 'zeros', fill: float = 0.0, height: int | None = None, width: int | None = None) -> Tensor:
    """Moves, turns, stretches and tilts images.

    With the numbers a0, a1, a2, b0, b1, b2, c0, c1 the cell (u, v) of the result, u across, shows
    what was at (a0·u + a1·v + a2)/k, (b0·u + b1·v + b2)/k with k = c0·u + c1·v + 1.

    Args:
        x: images [N, height, width, channels].
        transforms: eight numbers for each image, or for all, [N, 8], [1, 8] or [8].
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
        height: Rows of the result; those of x unless given.
        width: Columns of the result; those of x unless given.
    """

def transpose(x: Given, axes: int | Sequence[int] | None = None) -> Tensor:
    """Permutes dimensions; without a permutation they are turned round.

    Args:
        x: any tensor.
        axes: For each dimension of the result, the one of x it takes.
    """

def trapezoid(x: Given, distance: float = 1.0, axis: int = -1) -> Tensor:
    """Area under points at equal distance, by trapezoids.

    Args:
        x: heights.
        distance: From one point to the next.
    """

def tri(rows: int, columns: int | None = None, diagonal: int = 0) -> Tensor:
    """A matrix with ones on and below a diagonal.

    Args:
        rows: How many.
        columns: How many; as many as rows where none are given.
        diagonal: Which diagonal: above the main one where positive.
    """

def tril(x: Given, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal.

    Args:
        diagonal: Diagonal.
    """

def triu(x: Given, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal.

    Args:
        diagonal: Diagonal.
    """

def trunc(x: Given) -> Tensor:
    """Cuts fractions off, towards 0."""

def truncated_normal(shape: int | Sequence[int] = (), mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Numbers drawn from a normal distribution without what is over two deviations from its mean.

    √2·erf⁻¹(u) of numbers u drawn evenly between -erf √2 and erf √2.

    Args:
        mean: Mean of the distribution.
        deviation: Standard deviation of the distribution before it is cut.
    """

def unstack(x: Given, axis: int = 0) -> tuple[Tensor, ...]:
    """Takes a tensor apart along a dimension, which goes.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def upsample(x: Given, factor: int = 2) -> Tensor:
    """Repeats rows and columns.

    Args:
        x: images [N, height, width, channels].
        factor: How often.
    """

def var(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """Variance along dimensions.

    Args:
        x: any tensor.
        ddof: What is taken from the number of elements before it divides.
    """

def vecdot(a: Given, b: Given, axis: int = -1) -> Tensor:
    """Sum of products of two tensors along one dimension.

    Args:
        axis: The dimension, counted with the batch; negative ones count from the end.
    """

def weighted_loss(losses: Given, weights: Given | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """Losses times weights, reduced.

    Args:
        reduction: How the losses of samples are combined: mean, sum, or none to keep them apart.
    """

def weighted_sum(a: Given, b: Given, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    """Adds two tensors, each times a number.

    Args:
        a: first tensor.
        b: second tensor.
        alpha: Factor of the first tensor.
        beta: Factor of the second tensor.
    """

def where(condition: Given, a: Given, b: Given) -> Tensor:
    """Takes elements of the first tensor where a condition holds, else of the second."""

def zeros(shape: int | Sequence[int] = (), dtype: Literal['float32', 'float16', 'int32', 'uint8', 'bool'] = 'float32') -> Tensor:
    """Zeros of a shape.

    Args:
        shape: The shape of the result; -1 is what remains.
        dtype: Element type of the result.
    """

def zeros_like(x: Given) -> Tensor:
    """Zeros in the shape and type of a tensor."""
