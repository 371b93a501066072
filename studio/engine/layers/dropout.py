"""Dropout."""

from __future__ import annotations

from studio.engine.core.options import number, optional_integer
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import random
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer

LARGEST_RATE = 0.999999


class Dropout(Layer):
    """Sets a random fraction of its input to 0 while training and scales up the rest.

    Outside training it does nothing (Srivastava et al. 2014).
    """

    category = "regularization"
    supports_masking = True
    words = ("drop",)
    followers = ("Dense", "Flatten", "Conv2D")
    positional = ("rate",)

    rate = number(
        "Fraction of elements dropped.", low=0.0, high=LARGEST_RATE, start=0.25,
        effect="More dropout reduces overfitting and slows training.",
    )  # fmt: skip
    seed = optional_integer(
        "Random stream of this layer; layers with different seeds draw independently.",
        low=0,
        on_card=False,
    )

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """DROPOUT in training; nothing otherwise, and nothing at rate 0."""
        if not context.training or self.rate == 0.0:
            return inputs[0]
        role = "mask" if self.seed is None else f"mask/{self.seed}"
        return context.emit(
            random.Dropout,
            x=inputs[0],
            rate=self.rate,
            stream=context.stream(role),
            step=context.step,
        )
