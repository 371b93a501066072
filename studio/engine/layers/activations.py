"""Activation functions by their Keras names, as runs of instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Option, Plain, spec
from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import activation as act
from studio.engine.isa.ops import arithmetic, function


class Emitter(Protocol):
    """What an activation needs of a lowering context."""

    def emit(self, cls: type[Instruction], port: str = "output", /, **fields: Any) -> Ref:
        """Append an instruction and return what it writes."""
        ...

    def softmax(self, x: Ref, port: str = "output", *, log: bool = False) -> Ref:
        """Append a softmax over the last dimension and return its result."""
        ...


@dataclass(frozen=True)
class Function:
    """One activation: the instruction it is, or a run of several."""

    doc: str
    cls: type[Instruction] | None = None
    attrs: dict[str, float] = field(default_factory=dict)
    build: Callable[[Emitter, Ref, str], Ref] | None = None

    def emit(self, to: Emitter, x: Ref, port: str) -> Ref:
        """Append the activation of ``x``; the last result gets ``port``."""
        if self.build is not None:
            return self.build(to, x, port)
        return x if self.cls is None else to.emit(self.cls, port, x=x, **self.attrs)


def _gated(to: Emitter, x: Ref, port: str) -> Ref:
    gate = to.emit(act.HardSigmoid, "gate", x=x)
    return to.emit(arithmetic.Mul, port, a=x, b=gate)


def _log_sigmoid(to: Emitter, x: Ref, port: str) -> Ref:
    turned = to.emit(function.Neg, "negative", x=x)
    return to.emit(function.Neg, port, x=to.emit(act.Softplus, "softplus", x=turned))


def _tanh_shrink(to: Emitter, x: Ref, port: str) -> Ref:
    bent = to.emit(act.Tanh, "tanh", x=x)
    return to.emit(arithmetic.Add, port, x1=x, x2=bent, alpha=1.0, beta=-1.0)


FUNCTIONS: dict[str, Function] = {
    "linear": Function("y = x; no instruction."),
    "relu": Function("max(0, x).", act.Relu),
    "relu6": Function("min(max(0, x), 6).", act.ClippedRelu, {"ceiling": 6.0}),
    "leaky_relu": Function("x, or 0.2·x below 0.", act.LeakyRelu, {"alpha": 0.2}),
    "elu": Function("x, or e^x - 1 below 0.", act.Elu, {"alpha": 1.0}),
    "celu": Function("As elu, its alpha being 1.", act.Elu, {"alpha": 1.0}),
    "selu": Function("Scaled elu.", act.Selu),
    "sigmoid": Function("1/(1 + e^-x).", act.Sigmoid),
    "hard_sigmoid": Function("x/6 + 1/2 kept within 0 and 1.", act.HardSigmoid),
    "log_sigmoid": Function("ln sigmoid(x).", build=_log_sigmoid),
    "tanh": Function("tanh x.", act.Tanh),
    "hard_tanh": Function("x kept within -1 and 1.", function.Clip, {"low": -1.0, "high": 1.0}),
    "tanh_shrink": Function("x - tanh x.", build=_tanh_shrink),
    "silu": Function("x·sigmoid(x).", act.Swish, {"beta": 1.0}),
    "hard_silu": Function("x·hard_sigmoid(x).", build=_gated),
    "softplus": Function("ln(1 + e^x).", act.Softplus),
    "softsign": Function("x/(1 + |x|).", act.Softsign),
    "mish": Function("x·tanh(softplus(x)).", act.Mish),
    "gelu": Function("Gaussian error linear unit, x/2·(1 + erf(x/√2)).", act.GeluExact),
    "gelu_tanh": Function("gelu in its tanh form, within 5e-4 of the exact one.", act.Gelu),
    "exponential": Function("e^x.", function.Exp),
    "softmax": Function(
        "Shares of the last dimension.", build=lambda to, x, port: to.softmax(x, port)
    ),
    "log_softmax": Function(
        "Logarithm of softmax.", build=lambda to, x, port: to.softmax(x, port, log=True)
    ),
}
"""Every activation by name: Keras' own, and ``gelu_tanh`` for its gelu with approximate=True."""

ALIASES = {"swish": "silu", "hard_swish": "hard_silu", "": "linear"}


def parse_activation(given: object, who: str = "activation") -> str:
    """The activation's own name; ``None`` is linear; ParameterError when it is unknown."""
    name = "linear" if given is None else given
    name = ALIASES.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise ParameterError(
            f"expected an activation, got {quoted(given)}",
            who=who,
            hint=did_you_mean(given, FUNCTIONS, f"known: {', '.join(FUNCTIONS)}"),
        )
    return name


def activation(doc: str = "Function applied to the result.") -> Option[str]:
    """An option that takes an activation's name; none means linear."""
    return spec(
        doc, "linear", parse_activation, _write, choices=tuple(FUNCTIONS), aliases=("act",),
        on_card=True, effect="Without one, layers in a row are no more than a single layer.",
    )  # fmt: skip


def _write(value: str) -> Plain:
    return value
