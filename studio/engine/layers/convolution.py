"""Two-dimensional convolutions: ordinary and depthwise."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.options import Option, choice, flag, integer, pair
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import conv
from studio.engine.layers.activation_catalog import activation
from studio.engine.layers.context import LayerContext
from studio.engine.layers.initializers import initializer, kernel_initializer
from studio.engine.layers.layer import Layer, Parameter
from studio.engine.layers.regularizers import kernel_regularizer, regularizer
from studio.engine.layers.windows import Window, output_size, padding, place_window


def _kernel_size() -> Option[tuple[int, int]]:
    return pair(
        "Rows and columns of the filters.", start=[3, 3], aliases=("kernel",),
        effect="Larger kernels cover more of the image.",
    )  # fmt: skip


class Convolution(Layer, abstract=True):
    """What both convolutions share; the input is [height, width, channels]."""

    category = "convolution"
    instruction: ClassVar[type[Instruction]]

    kernel_size = _kernel_size()
    strides = pair(
        "Step between outputs, rows and columns.", (1, 1), aliases=("stride",),
        effect="Larger steps make the output smaller.",
    )  # fmt: skip
    padding = padding()
    data_format = choice("Order of dimensions.", "channels_last")
    dilation_rate = pair(
        "Distance between filter cells, rows and columns.", (1, 1), aliases=("dilation",),
        effect="Larger dilation covers more of the image with the same number of weights.",
    )  # fmt: skip
    activation = activation()
    use_bias = flag(
        "Add a learned bias to each channel.", True, label="Bias", aliases=("bias",),
        effect="Turn it off before a batch normalisation, which adds its own shift.",
    )  # fmt: skip
    bias_initializer = initializer("Initial values of the bias.", "zeros", label="Bias init")
    bias_regularizer = regularizer("Regularisation of the bias.", label="Bias regulariser")

    def place(self, shape: Shape) -> Window:
        """Zero cells around an input of ``shape``, which may have leading dimensions."""
        size = shape[-3:-1]
        return place_window(size, self.kernel_size, self.strides, self.padding, self.dilation_rate)

    def channels(self, inputs: int) -> int:
        """Number of output channels for ``inputs`` input channels."""
        raise TypeError(f"{type(self).__name__} states no channels")

    def output_shape(self, *shapes: Shape) -> Shape:
        """[rows, columns, channels]."""
        (shape,) = shapes
        self.require_rank(shape, "height", "width", "channels")
        size = output_size(self, shape, self.kernel_size, self.place(shape), self.dilation_rate)
        return (*size, self.channels(shape[2]))

    def broken_rule(self, *shapes: Shape) -> str:
        """The window, where the input is a picture at all."""
        return "window" if len(shapes[0]) == 3 else "rank"

    def bias(self, inputs: int) -> tuple[Parameter, ...]:
        """The bias, if there is one."""
        if not self.use_bias:
            return ()
        shape = (self.channels(inputs),)
        return (Parameter("bias", shape, self.bias_initializer, penalty=self.bias_regularizer),)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """The convolution, then the activation."""
        own = context.own(*inputs)
        y = context.emit(
            self.instruction,
            context.port_before(self.activation),
            w=own["kernel"],
            b=own.get("bias", ABSENT),
            x=inputs[0],
            dil_h=self.dilation_rate[0],
            dil_w=self.dilation_rate[1],
            **self.place(context.shape_of(inputs[0])).attributes(),
        )
        return context.activate(self.activation, y)


class Conv2D(Convolution):
    """2-D convolution of an image; each learned filter gives one output channel."""

    words = ("conv", "convolution", "conv2")
    followers = ("ReLU", "BatchNormalization", "MaxPooling2D", "Conv2D", "Add", "Flatten")

    instruction = conv.Conv2D
    positional = ("filters", "kernel_size", "strides", "padding")

    filters = integer(
        "Number of filters, equal to the number of output channels.", low=1, start=16,
        steps="powers", effect="More filters detect more patterns and need more time "
                               "and memory.",
    )  # fmt: skip
    kernel_size = _kernel_size()
    groups = integer("Groups of channels; only 1 is supported (use DepthwiseConv2D "
                     "for one filter per channel).", 1, low=1, high=1)  # fmt: skip
    kernel_initializer = kernel_initializer("Initial values of the filters.")
    kernel_regularizer = kernel_regularizer("Regularisation of the filters.")

    def channels(self, inputs: int) -> int:
        """One per filter."""
        del inputs
        return self.filters

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """Kernel [rows, columns, in, filters] and bias."""
        inputs = shapes[0][-1]
        kernel = Parameter(
            "kernel",
            (*self.kernel_size, inputs, self.filters),
            self.kernel_initializer,
            weight=True,
            penalty=self.kernel_regularizer,
        )
        return (kernel, *self.bias(inputs))


class DepthwiseConv2D(Convolution):
    """2-D convolution with separate filters for each input channel."""

    words = ("depthwise", "dwconv", "separable")
    followers = ("BatchNormalization", "Conv2D", "ReLU")

    instruction = conv.DepthwiseConv2D
    positional = ("kernel_size", "strides", "padding", "depth_multiplier")

    kernel_size = _kernel_size()
    depth_multiplier = integer("Filters for each input channel.", 1, low=1)
    depthwise_initializer = kernel_initializer("Initial values of the filters.")
    depthwise_regularizer = kernel_regularizer("Regularisation of the filters.")

    def channels(self, inputs: int) -> int:
        """``depth_multiplier`` for each input channel."""
        return inputs * self.depth_multiplier

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """Kernel [rows, columns, in, multiplier] and bias."""
        inputs = shapes[0][-1]
        kernel = Parameter(
            "kernel",
            (*self.kernel_size, inputs, self.depth_multiplier),
            self.depthwise_initializer,
            weight=True,
            penalty=self.depthwise_regularizer,
            output_axes=(-2, -1),
        )
        return (kernel, *self.bias(inputs))
