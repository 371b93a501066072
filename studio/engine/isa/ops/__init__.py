"""Every instruction, imported in opcode order of their families."""

from studio.engine.isa.ops import (
    activation,
    arithmetic,
    conv,
    data,
    function,
    group,
    linear,
    loss,
    move,
    norm,
    pool,
    random,
    reduce,
    softmax,
    update,
)

__all__ = [
    "activation",
    "arithmetic",
    "conv",
    "data",
    "function",
    "group",
    "linear",
    "loss",
    "move",
    "norm",
    "pool",
    "random",
    "reduce",
    "softmax",
    "update",
]
