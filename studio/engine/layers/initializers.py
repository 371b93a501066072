"""Initialisers: a text form that travels with a tensor, and the values it stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from studio.engine.core import philox
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Option, Plain, Words, spec
from studio.engine.core.tensor import Shape, Tensor, shape_text

Floats: TypeAlias = npt.NDArray[np.float32]

MODES = ("fan_in", "fan_out", "fan_avg")
DISTRIBUTIONS = ("truncated_normal", "untruncated_normal", "uniform")

TRUNCATED_DEVIATION = 0.87962566103423978
"""Standard deviation of a standard normal cut off at two deviations."""

MAX_ELEMENTS = 2**31 - 1
"""Largest number of elements of one tensor."""

_TEXT = re.compile(r"([a-z][a-z0-9_]*)(?:\(([^()]*)\))?\Z")

_SCALINGS: dict[str, tuple[float, str, str]] = {
    "glorot_uniform": (1.0, "fan_avg", "uniform"),
    "glorot_normal": (1.0, "fan_avg", "truncated_normal"),
    "he_uniform": (2.0, "fan_in", "uniform"),
    "he_normal": (2.0, "fan_in", "truncated_normal"),
    "lecun_uniform": (1.0, "fan_in", "uniform"),
    "lecun_normal": (1.0, "fan_in", "truncated_normal"),
}

_NUMBERS: dict[str, tuple[float, ...]] = {
    "zeros": (),
    "ones": (),
    "constant": (0.0,),
    "random_uniform": (-0.05, 0.05),
    "random_normal": (0.0, 0.05),
    "truncated_normal": (0.0, 0.05),
    "orthogonal": (1.0,),
    "identity": (1.0,),
    "dylann_linear": (),
    "dylann_conv": (),
    **dict.fromkeys(_SCALINGS, ()),
}
"""Default arguments of each kind, all numbers; variance_scaling also takes two words."""

KINDS = (*_NUMBERS, "variance_scaling")
"""Names of all initialisers, as Keras writes them; the dylann_ ones are that framework's rules."""


@dataclass(frozen=True)
class Source:
    """What is drawn: the shape in Keras' layout, and the key of the random sequence."""

    shape: Shape
    seed: int
    stream: int

    def affine(self, drawn: Floats, scale: float, shift: float) -> Floats:
        """Standard numbers scaled, shifted and brought to the shape, in place."""
        drawn *= np.float32(scale)
        drawn += np.float32(shift)
        return drawn.reshape(self.shape)


@dataclass(frozen=True)
class Initializer:
    """A kind, its numbers, and for ``variance_scaling`` the fan mode and distribution."""

    kind: str
    numbers: tuple[float, ...] = ()
    mode: str = ""
    distribution: str = ""

    @property
    def text(self) -> str:
        """Text form, such as ``glorot_uniform`` or ``constant(0.5)``; reads back as the same."""
        if self.kind == "variance_scaling":
            return (
                f"variance_scaling({_number_text(self.numbers[0])},{self.mode},{self.distribution})"
            )
        if self.numbers == _NUMBERS[self.kind]:
            return self.kind
        return f"{self.kind}({','.join(_number_text(n) for n in self.numbers)})"

    def values(self, shape: Shape, seed: int, stream: int, who: str = "initializer") -> Floats:
        """Values of a tensor stored with ``shape``, float32; the same for the same arguments.

        A stored matrix is [out,in] and drawn as Keras' [in,out]; other shapes are stored as Keras
        has them. Raises ParameterError, naming ``who``, where no memory holds them.
        """
        if math.prod(shape) > MAX_ELEMENTS:
            raise _too_large(shape, who)
        public = shape[::-1] if len(shape) == 2 else shape
        try:
            drawn = _draw(self, Source(public, seed, stream))
            return np.ascontiguousarray(drawn.T) if len(shape) == 2 else drawn
        except MemoryError:
            raise _too_large(shape, who) from None


def _too_large(shape: Shape, who: str) -> ParameterError:
    return ParameterError(
        f"{shape_text(shape)} is too large: {math.prod(shape) * 4 / 2**30:,.1f} GiB for the values "
        "alone",
        who=who,
        hint="make the layer or its input smaller",
    )


def parse_initializer(given: object, who: str = "initializer") -> Initializer:
    """The initialiser a text form stands for; ParameterError when it is none.

    Arguments left out take their defaults; negative deviations and scales are refused.
    """
    if isinstance(given, Initializer):
        return given
    match = _TEXT.match(given.replace(" ", "")) if isinstance(given, str) else None
    if match is None or match[1] not in KINDS:
        raise ParameterError(
            f"expected an initialiser, got {quoted(given)}",
            who=who,
            hint=did_you_mean(
                given, KINDS, f"known: {', '.join(KINDS)}; with numbers as in constant(0.5)"
            ),
        )
    kind, words = match[1], match[2].split(",") if match[2] else []
    if kind == "variance_scaling":
        return _parse_scaling(words, who)
    defaults = _NUMBERS[kind]
    if len(words) > len(defaults):
        raise ParameterError(f"{kind} takes {len(defaults)} numbers: got {len(words)}", who=who)
    found = tuple(_parse_number(w, kind, who) for w in words)
    numbers = (*found, *defaults[len(found) :])
    if kind in ("random_normal", "truncated_normal") and numbers[1] < 0:
        raise ParameterError(f"{kind}: a deviation is not negative: got {numbers[1]:g}", who=who)
    return Initializer(kind, numbers)


def _parse_scaling(words: list[str], who: str) -> Initializer:
    scale, mode, distribution = [*words, *("1", MODES[0], DISTRIBUTIONS[0])[len(words) :]][:3]
    number = _parse_number(scale, "variance_scaling", who)
    if len(words) > 3 or mode not in MODES or distribution not in DISTRIBUTIONS or number <= 0:
        raise ParameterError(
            f"expected variance_scaling(scale above 0, {'|'.join(MODES)}, "
            f"{'|'.join(DISTRIBUTIONS)}), got ({','.join(words)[:60]})",
            who=who,
        )
    return Initializer("variance_scaling", (number,), mode, distribution)


def _parse_number(word: str, kind: str, who: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"{kind}: a number is expected, got {quoted(word)}", who=who)
    return number


def _number_text(number: float) -> str:
    text = repr(number)
    return text[:-2] if text.endswith(".0") else text


def initializer(doc: str, default: str, **words: Unpack[Words]) -> Option[Initializer]:
    """An option that takes an initialiser in its text form."""
    return spec(doc, parse_initializer(default), parse_initializer, _write, choices=KINDS, **words)


def kernel_initializer(doc: str) -> Option[Initializer]:
    """The initialiser of a layer's weights."""
    return initializer(
        doc, "glorot_uniform", label="Kernel init",
        effect="It decides how large the first outputs and gradients are.",
    )  # fmt: skip


def _write(value: Initializer) -> Plain:
    return value.text


def initial_values(tensor: Tensor, seed: int) -> Floats:
    """What a tensor holds before training: by its ``init`` and ``stream``, else zeros."""
    init = parse_initializer(tensor.init or "zeros", tensor.name)
    return init.values(tensor.shape, seed, tensor.stream, tensor.name)


def starts_at_zero(tensor: Tensor) -> bool:
    """Whether every element of a tensor is zero before training."""
    return parse_initializer(tensor.init or "zeros", tensor.name).kind == "zeros"


def fans(shape: Shape) -> tuple[float, float]:
    """Inputs and outputs of one unit for a kernel in Keras' layout; a vector is both."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def _draw(init: Initializer, source: Source) -> Floats:
    if init.kind in _SCALINGS:
        return _scaled(source, *_SCALINGS[init.kind])
    if init.kind == "variance_scaling":
        return _scaled(source, init.numbers[0], init.mode, init.distribution)
    return _DRAWERS[init.kind](init.numbers, source)


def _scaled(source: Source, scale: float, mode: str, distribution: str) -> Floats:
    """Variance ``scale``/fan (Glorot and Bengio 2010, He et al. 2015), as Keras draws it."""
    fan_in, fan_out = fans(source.shape)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
    variance = scale / max(1.0, fan)
    if distribution == "uniform":
        limit = math.sqrt(3.0 * variance)
        return _uniform((-limit, limit), source)
    if distribution == "untruncated_normal":
        return _normal((0.0, math.sqrt(variance)), source)
    return _truncated((0.0, math.sqrt(variance) / TRUNCATED_DEVIATION), source)


def _uniform(limits: tuple[float, ...], source: Source) -> Floats:
    low, high = limits
    drawn = philox.uniform(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, high - low, low)


def _normal(moments: tuple[float, ...], source: Source) -> Floats:
    drawn = philox.normal(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, moments[1], moments[0])


def _truncated(moments: tuple[float, ...], source: Source) -> Floats:
    drawn = philox.truncated_normal(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, moments[1], moments[0])


def _orthogonal(numbers: tuple[float, ...], source: Source) -> Floats:
    """Orthonormal rows or columns as a matrix by its last dimension (Saxe et al. 2014)."""
    shape = source.shape
    if len(shape) < 2:
        raise ParameterError("orthogonal needs at least two dimensions", who="initializer")
    rows, cols = math.prod(shape[:-1]), shape[-1]
    drawn = philox.normal(source.seed, source.stream, 0, rows * cols).astype(np.float64)
    q, r = np.linalg.qr(drawn.reshape(max(rows, cols), min(rows, cols)))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    q = q.T if rows < cols else q
    return (numbers[0] * q).reshape(shape).astype(np.float32)


def _identity(numbers: tuple[float, ...], source: Source) -> Floats:
    if len(source.shape) != 2:
        raise ParameterError("identity needs a matrix", who="initializer")
    return (numbers[0] * np.eye(*source.shape)).astype(np.float32)


def _dylann_linear(_: tuple[float, ...], source: Source) -> Floats:
    """Uniform within 1/√w, w the last dimension as stored: inputs of a matrix, length of a bias."""
    limit = 1.0 / math.sqrt(source.shape[0])
    return _uniform((-limit, limit), source)


def _dylann_conv(_: tuple[float, ...], source: Source) -> Floats:
    """Normal with deviation 2/√(h·w·c), c the input channels; for a bias its own length."""
    return _normal((0.0, 2.0 / math.sqrt(fans(source.shape)[0])), source)


_DRAWERS: dict[str, Callable[[tuple[float, ...], Source], Floats]] = {
    "zeros": lambda _, source: np.zeros(source.shape, np.float32),
    "ones": lambda _, source: np.ones(source.shape, np.float32),
    "constant": lambda numbers, source: np.full(source.shape, numbers[0], np.float32),
    "random_uniform": _uniform,
    "random_normal": _normal,
    "truncated_normal": _truncated,
    "orthogonal": _orthogonal,
    "identity": _identity,
    "dylann_linear": _dylann_linear,
    "dylann_conv": _dylann_conv,
}
