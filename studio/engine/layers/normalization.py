"""Batch normalisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studio.engine.core.errors import ShapeError
from studio.engine.core.options import flag, integer, number
from studio.engine.core.tensor import ABSENT, BATCH, Ref, Shape, TensorType
from studio.engine.isa.ops import arithmetic, function, move, reduce
from studio.engine.isa.ops.norm import BatchNorm2D
from studio.engine.isa.ops.update import MovingAverage
from studio.engine.layers.context import LayerContext
from studio.engine.layers.initializers import initializer
from studio.engine.layers.layer import Layer, Parameter
from studio.engine.layers.regularizers import regularizer

_NEVER_ZERO = 1e-7
"""Added to the number of positions that count (``keras.config.epsilon()``)."""


class BatchNormalization(Layer):
    """Normalises each channel to mean 0 and deviation 1 over the batch, then scales and shifts.

    In training the statistics are those of the batch (biased variance) and running ones follow:
    running = momentum·running + (1 - momentum)·batch. Evaluation, inference and a layer that is not
    trainable use the running ones. Positions that a mask leaves out do not count in statistics.
    """

    category = "normalization"
    supports_masking = True
    words = ("bn", "norm", "batchnorm", "batch norm")
    followers = ("ReLU", "Activation", "Add", "Conv2D", "Dense")
    positional = ("axis", "momentum", "epsilon", "center", "scale")

    axis = integer("The dimension with separate statistics; only the last is supported.", -1)
    momentum = number(
        "Momentum of the running statistics.", 0.99, low=0.0, high=1.0,
        effect="Higher values change the statistics more slowly.",
    )  # fmt: skip
    epsilon = number(
        "Added to the variance.", 1e-3, low=0.0, steps="decades",
        effect="Higher values are more stable with tiny variances.",
    )  # fmt: skip
    center = flag("Add a learned shift.", True)
    scale = flag("Multiply by a learned scale.", True)
    beta_initializer = initializer("Initial values of the shift.", "zeros", label="Shift init")
    gamma_initializer = initializer("Initial values of the scale.", "ones", label="Scale init")
    moving_mean_initializer = initializer(
        "Initial values of the running mean.", "zeros", label="Mean init"
    )
    moving_variance_initializer = initializer(
        "Initial values of the running variance.", "ones", label="Variance init"
    )
    beta_regularizer = regularizer("Regularisation of the shift.", label="Shift regulariser")
    gamma_regularizer = regularizer("Regularisation of the scale.", label="Scale regulariser")
    synchronized = flag(
        "Where several workers train, use the statistics of the rows of all of them."
    )

    def output_shape(self, *shapes: Shape) -> Shape:
        """The shape of the input."""
        (shape,) = shapes
        if not shape or self.axis not in (-1, len(shape)):
            raise ShapeError(
                f"axis: expected the last dimension (-1), got {self.axis} for an input of rank "
                f"{len(shape) + 1}",
                who=self.who,
                hint="leave axis at -1; statistics are per channel",
            )
        return shape

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """The mask of the input, which has an entry for each position."""
        mask, x = masks[0], types[0]
        if mask is not None and mask.shape != x.shape[:-1]:
            raise ShapeError(
                f"expected a mask of the shape of the input without its channels, {x.shape[:-1]}, "
                f"got {mask.shape}",
                who=self.who,
            )
        return (mask,)

    def broken_rule(self, *shapes: Shape) -> str:
        """The dimension named."""
        del shapes
        return "axis"

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """Running mean and variance, scale, shift: one number per channel each."""
        shape = (shapes[0][-1],)
        found = [
            Parameter("moving_mean", shape, self.moving_mean_initializer, state=True),
            Parameter("moving_variance", shape, self.moving_variance_initializer, state=True),
        ]
        if self.scale:
            found.append(
                Parameter(
                    "gamma", shape, self.gamma_initializer, weight=True,
                    penalty=self.gamma_regularizer,
                )
            )  # fmt: skip
        if self.center:
            found.append(
                Parameter("beta", shape, self.beta_initializer, penalty=self.beta_regularizer)
            )
        return tuple(found)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """BATCHNORM2D, frozen unless training; behind a mask in training its single steps."""
        own = context.own(*inputs)
        if context.training and self.trainable and context.masks[0].present:
            return self._lower_masked(context, own, inputs[0])
        return context.emit(
            BatchNorm2D,
            x=inputs[0],
            gamma=own.get("gamma", ABSENT),
            beta=own.get("beta", ABSENT),
            mean=own["moving_mean"],
            var=own["moving_variance"],
            eps=self.epsilon,
            factor=1.0 - self.momentum,
            frozen=not (context.training and self.trainable),
        )

    def _lower_masked(self, context: LayerContext, own: Mapping[str, Ref], x: Ref) -> Ref:
        """Normalise by the statistics of the positions that count, as Keras does."""
        (mask,) = context.masks
        rows = tuple(range(len(context.shape_of(x))))
        wide = (BATCH, *context.shape_of(mask), 1)
        counts = context.emit(move.Reshape, "counts", x=mask, shape=wide)
        zero = context.constant("zero", 0.0)
        number = context.emit(move.Cast, "number", x=counts, dtype="float32")
        number = context.emit(reduce.ReduceSum, "total", x=number, axes=rows)
        number = context.emit(arithmetic.AddScalar, "divisor", x=number, beta=_NEVER_ZERO)

        def mean_of(values: Ref, name: str) -> Ref:
            kept = context.emit(arithmetic.Select, f"{name}_kept", c=counts, a=values, b=zero)
            total = context.emit(reduce.ReduceSum, f"{name}_sum", x=kept, axes=rows)
            return context.emit(arithmetic.Div, name, a=total, b=number)

        mean = mean_of(x, "batch_mean")
        centred = context.emit(arithmetic.Add, "centred", x1=x, x2=mean, beta=-1.0)
        squares = context.emit(function.Square, "squares", x=centred)
        variance = mean_of(squares, "batch_variance")
        for running, batch in (("moving_mean", mean), ("moving_variance", variance)):
            context.update(MovingAverage, average=own[running], x=batch, factor=1.0 - self.momentum)
        steadied = context.emit(arithmetic.AddScalar, "steadied", x=variance, beta=self.epsilon)
        factor = context.emit(function.Rsqrt, "factor", x=steadied)
        if self.scale:
            factor = context.emit(arithmetic.Mul, "scaled", a=factor, b=own["gamma"])
        port = "normalized" if self.center else "output"
        y = context.emit(arithmetic.Mul, port, a=centred, b=factor)
        return context.emit(arithmetic.Add, x1=y, x2=own["beta"]) if self.center else y
