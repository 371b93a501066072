"""Activations by their Keras names, and the instructions each is lowered to.

The maths is in the instruction's class (`studio.engine.isa.ops.activation`). Here are the names,
and the few activations that are made of several instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, overload

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Option, Plain, spec
from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction, all_instructions
from studio.engine.isa.ops import activation as act
from studio.engine.isa.ops import arithmetic, function


class Emitter(Protocol):
    """The part of a lowering context that activations use."""

    def emit(self, cls: type[Instruction], port: str = "output", /, **fields: Any) -> Ref:
        """Append an instruction and return what it writes."""
        ...

    def softmax(self, x: Ref, port: str = "output", *, log: bool = False) -> Ref:
        """Append a softmax over the last dimension and return its result."""
        ...


@dataclass(frozen=True)
class Function:
    """One activation: one instruction, or a sequence of several."""

    doc: str
    cls: type[Instruction] | None = None
    attrs: dict[str, float] = field(default_factory=dict)
    build: Callable[[Emitter, Ref, str], Ref] | None = None
    order: float = 100.0
    aliases: tuple[str, ...] = ()

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


_COMPOSED: Mapping[str, Function] = {
    "linear": Function("y = x; no instruction.", order=0, aliases=("",)),
    "log_sigmoid": Function("ln sigmoid(x).", build=_log_sigmoid, order=9),
    "tanh_shrink": Function("x - tanh x.", build=_tanh_shrink, order=12),
    "hard_silu": Function("x·hard_sigmoid(x).", build=_gated, order=14, aliases=("hard_swish",)),
    "softmax": Function(
        "Probabilities over the last dimension.",
        build=lambda to, x, port: to.softmax(x, port),
        order=21,
    ),
    "log_softmax": Function(
        "Logarithm of softmax.",
        build=lambda to, x, port: to.softmax(x, port, log=True),
        order=22,
    ),
}
"""Activations that are several instructions, or none, or not element-wise."""


@lru_cache(maxsize=1)
def _named(classes: tuple[type[Instruction], ...]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for cls in classes:
        for name, stated in cls.functions.items():
            attributes = dict(stated.attributes)
            found[name] = Function(
                stated.doc, cls, attributes, order=stated.order, aliases=stated.aliases
            )
    # These keep their names: an instruction cannot know them.
    found |= _COMPOSED
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


class _Functions(Mapping[str, Function]):
    """All activations; instructions that are declared later join them."""

    def __getitem__(self, name: str) -> Function:
        return _named(all_instructions())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_named(all_instructions()))

    def __len__(self) -> int:
        return len(_named(all_instructions()))


FUNCTIONS: Mapping[str, Function] = _Functions()
"""Every activation by name: Keras' own, and ``gelu_tanh`` for its gelu with approximate=True."""


class _Names(Sequence[str]):
    """The names, looked up at each use: instructions may be declared after the first layer."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return tuple(FUNCTIONS)[index]

    def __len__(self) -> int:
        return len(FUNCTIONS)


NAMES: Sequence[str] = _Names()
"""The names of `FUNCTIONS` in their order."""


def activation_of_alias(word: str) -> str:
    """The activation that has this alias; the word itself if none has."""
    return next((name for name, each in FUNCTIONS.items() if word in each.aliases), word)


_ABSENT: dict[str, object] = {}


def stand_in_activation(name: str, home: object) -> None:
    """Let layers keep an activation that is not loaded; nothing offers it.

    Args:
        name: the activation.
        home: what it would come from; its text stands in sentences.
    """
    _ABSENT[name] = home


def absent_activation(name: str) -> object | None:
    """What an activation would come from; None for one that is loaded."""
    return None if name in FUNCTIONS else _ABSENT.get(name)


def activation_options(cls: type[Configured]) -> Iterator[str]:
    """The names of the options that take an activation."""
    return (option.name for option in cls.options if option.choices is NAMES)


def parse_activation(given: object, who: str = "activation") -> str:
    """The activation's own name; ``None`` is linear; ParameterError when it is unknown."""
    name = "linear" if given is None else given
    name = activation_of_alias(name) if isinstance(name, str) else name
    if not isinstance(name, str) or (name not in FUNCTIONS and name not in _ABSENT):
        raise ParameterError(
            f"expected an activation, got {quoted(given)}",
            who=who,
            hint=did_you_mean(given, FUNCTIONS, f"known: {', '.join(FUNCTIONS)}"),
        )
    return name


def activation(doc: str = "Activation function applied to the output.") -> Option[str]:
    """An option that takes an activation's name; none means linear."""
    return spec(
        doc, "linear", parse_activation, _write, choices=NAMES, aliases=("act",),
        on_card=True, effect="Without an activation, consecutive layers are "
                             "equivalent to a single one.",
    )  # fmt: skip


def _write(value: str) -> Plain:
    return value
