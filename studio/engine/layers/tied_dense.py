"""A fully connected layer that uses the kernel of another one."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.options import REQUIRED, Option, flag, integer, spec
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.isa.ops import move
from studio.engine.isa.ops.linear import Linear
from studio.engine.layers.activation_catalog import activation
from studio.engine.layers.context import LayerContext
from studio.engine.layers.dense import Dense
from studio.engine.layers.initializers import initializer
from studio.engine.layers.layer import Layer, Parameter, check_name, shape_text
from studio.engine.layers.regularizers import regularizer


def _read_layer(value: object, who: str) -> str:
    """The name of a layer, from the layer or its name."""
    if isinstance(value, Layer):
        if not value.name:
            raise ParameterError("the layer it is tied to needs a name", who=who,
                                 hint="give it one: name='code'")  # fmt: skip
        return value.name
    return check_name(value, who)


def _write_layer(value: str) -> str:
    return value


class TiedDense(Layer):
    """Fully connected with the transposed kernel of a Dense layer: activation(x·kernelᵀ + bias).

    The decoder of an autoencoder with tied weights. Only the bias is its own; the kernel is trained
    by what both layers pass back, unless the other layer is frozen.
    """

    category = "core"
    supports_masking = True
    words = ("tied", "transposed", "decoder")
    followers = ("TiedDense", "Dense")
    order = 2
    positional = ("units", "tied_to", "activation", "use_bias")
    layer_options: ClassVar[tuple[str, ...]] = ("tied_to",)

    units = integer(
        "Number of outputs: as many as the other layer has inputs.", low=1, start=64,
        steps="powers",
    )  # fmt: skip
    tied_to: Option[str] = spec(
        "Name of the Dense layer whose kernel it uses; that one comes before it and has as many "
        "units as this one has inputs.",
        REQUIRED, _read_layer, _write_layer, label="Tied to", start="dense", on_card=True,
    )  # fmt: skip
    activation = activation()
    use_bias = flag("Add a learned bias to each output.", True, label="Bias", aliases=("bias",))
    bias_initializer = initializer("Initial values of the bias.", "zeros", label="Bias init")
    bias_regularizer = regularizer("Regularisation of the bias.", label="Bias regulariser")

    def may_name(self, option: str, other: Layer, *shapes: Shape) -> bool:
        """A Dense layer with as many units as this one has inputs."""
        del option
        width = shapes[0][-1] if shapes and shapes[0] else None
        return isinstance(other, Dense) and width in (None, other.units)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The input's shape with the last dimension replaced by ``units``."""
        (shape,) = shapes
        if not shape:
            raise ShapeError("expected an input [features], got a scalar", who=self.who)
        return (*shape[:-1], self.units)

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """The bias."""
        del shapes
        bias = Parameter(
            "bias", (self.units,), self.bias_initializer, penalty=self.bias_regularizer
        )
        return (bias,) if self.use_bias else ()

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """TRANSPOSE of the other layer's kernel, LINEAR, then the activation."""
        (x,) = inputs
        own, kernel = context.own(x), context.parameter_of(self.tied_to, "kernel")
        wanted, found = (context.shape_of(x)[-1], self.units), context.type_of(kernel).shape
        if found != wanted:
            raise ShapeError(
                f"expected a kernel {shape_text(wanted[::-1])} of {self.tied_to}, got "
                f"{shape_text(found[::-1])}",
                who=self.who,
                hint=f"{self.tied_to} must have {wanted[0]} units and {wanted[1]} inputs",
            )
        turned = context.emit(move.Transpose, "kernel", x=kernel, perm=(1, 0))
        port = context.port_before(self.activation)
        y = context.emit(Linear, port, w=turned, b=own.get("bias", ABSENT), x=x)
        return context.activate(self.activation, y)
