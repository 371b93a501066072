"""The fully connected layer."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.options import flag, integer
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.isa.ops.linear import Linear
from studio.engine.layers.activation_catalog import activation
from studio.engine.layers.context import LayerContext
from studio.engine.layers.initializers import initializer, kernel_initializer
from studio.engine.layers.layer import TRANSPOSED, Layer, Parameter
from studio.engine.layers.regularizers import kernel_regularizer, regularizer


class Dense(Layer):
    """Fully connected: each output is a weighted sum of all inputs, activation(x·kernel + bias).

    The kernel is stored as [units, inputs]. In Python and in exports it is [inputs, units], as
    in Keras.
    """

    category = "core"
    supports_masking = True
    words = ("fc", "linear", "fully connected", "full")
    followers = ("ReLU", "Dropout", "Dense", "Softmax", "BatchNormalization")
    order = 1
    positional = ("units", "activation", "use_bias")

    units = integer(
        "Number of outputs.", low=1, start=64, steps="powers",
        effect="More units can learn more complex functions and add parameters.",
    )  # fmt: skip
    activation = activation()
    use_bias = flag(
        "Add a learned bias to each output.", True, label="Bias", aliases=("bias",),
        effect="Turn it off before a batch normalisation, which adds its own shift.",
    )  # fmt: skip
    kernel_initializer = kernel_initializer("Initial values of the kernel.")
    bias_initializer = initializer("Initial values of the bias.", "zeros", label="Bias init")
    kernel_regularizer = kernel_regularizer("Regularisation of the kernel.")
    bias_regularizer = regularizer("Regularisation of the bias.", label="Bias regulariser")

    def output_shape(self, *shapes: Shape) -> Shape:
        """The input's shape with the last dimension replaced by ``units``."""
        (shape,) = shapes
        if not shape:
            raise ShapeError("expected an input [features], got a scalar", who=self.who)
        return (*shape[:-1], self.units)

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """Kernel and bias."""
        kernel = Parameter(
            "kernel",
            (self.units, shapes[0][-1]),
            self.kernel_initializer,
            weight=True,
            penalty=self.kernel_regularizer,
            public=TRANSPOSED,
            output_axes=(0,),
        )
        bias = Parameter(
            "bias", (self.units,), self.bias_initializer, penalty=self.bias_regularizer
        )
        return (kernel, bias) if self.use_bias else (kernel,)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """LINEAR, then the activation."""
        own = context.own(*inputs)
        port = context.port_before(self.activation)
        y = context.emit(Linear, port, w=own["kernel"], b=own.get("bias", ABSENT), x=inputs[0])
        return context.activate(self.activation, y)


# Layers made from this one before there were public forms have a kernel that is stored like its.
Dense.transposed = frozenset({"kernel"})
