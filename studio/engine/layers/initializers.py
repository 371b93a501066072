"""Initialisers: a text form that travels with a tensor, and the values it stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from studio.engine.core import philox
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import Option, Plain, Words, choice, number, spec
from studio.engine.core.tensor import Shape, Tensor, shape_text
from studio.engine.layers.text_form import TextForm, TextKinds

Floats: TypeAlias = npt.NDArray[np.float32]

MODES = ("fan_in", "fan_out", "fan_avg")

TRUNCATED_DEVIATION = 0.87962566103423978
"""Standard deviation of a standard normal cut off at two deviations."""

MAX_ELEMENTS = 2**31 - 1
"""Largest number of elements of one tensor."""

_LEAST_SCALE = 1e-30


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


class Initializer(TextForm, family="initialiser", package="studio.engine.layers"):
    """How a tensor begins; a subclass declares its numbers as options and implements `draw`."""

    example = "constant(0.5)"

    def draw(self, source: Source) -> Floats:
        """The values, in Keras' layout."""
        raise TypeError(f"{type(self).__name__} draws nothing for {source}")

    def values(self, shape: Shape, seed: int, stream: int, who: str = "initializer") -> Floats:
        """Values of a tensor stored with ``shape``, float32; the same for the same arguments.

        A stored matrix is [out,in] and drawn as Keras' [in,out]; other shapes are stored as Keras
        has them. Raises ParameterError, naming ``who``, where no memory holds them.
        """
        if math.prod(shape) > MAX_ELEMENTS:
            raise _too_large(shape, who)
        public = shape[::-1] if len(shape) == 2 else shape
        try:
            drawn = self.draw(Source(public, seed, stream))
            return np.ascontiguousarray(drawn.T) if len(shape) == 2 else drawn
        except MemoryError:
            raise _too_large(shape, who) from None


def _too_large(shape: Shape, who: str) -> ParameterError:
    return ParameterError(
        f"{shape_text(shape)} is too large: its values need {math.prod(shape) * 4 / 2**30:,.1f} "
        "GiB",
        who=who,
        hint="make the layer or its input smaller",
    )


def fans(shape: Shape) -> tuple[float, float]:
    """Inputs and outputs of one unit for a kernel in Keras' layout; a vector is both."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def uniform(source: Source, low: float, high: float) -> Floats:
    """Uniform between two numbers."""
    drawn = philox.uniform(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, high - low, low)


def normal(source: Source, mean: float, deviation: float) -> Floats:
    """Normal numbers."""
    drawn = philox.normal(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, deviation, mean)


def truncated_normal(source: Source, mean: float, deviation: float) -> Floats:
    """Normal numbers, those beyond two deviations drawn again."""
    drawn = philox.truncated_normal(source.seed, source.stream, 0, math.prod(source.shape))
    return source.affine(drawn, deviation, mean)


def scaled(source: Source, scale: float, mode: str, distribution: str) -> Floats:
    """Variance ``scale``/fan (Glorot and Bengio 2010, He et al. 2015), as Keras draws it."""
    fan_in, fan_out = fans(source.shape)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
    variance = scale / max(1.0, fan)
    if distribution == "uniform":
        limit = math.sqrt(3.0 * variance)
        return uniform(source, -limit, limit)
    if distribution == "untruncated_normal":
        return normal(source, 0.0, math.sqrt(variance))
    return truncated_normal(source, 0.0, math.sqrt(variance) / TRUNCATED_DEVIATION)


class Zeros(Initializer, word="zeros"):
    """All zeros."""

    def draw(self, source: Source) -> Floats:
        """Zeros."""
        return np.zeros(source.shape, np.float32)


class Ones(Initializer, word="ones"):
    """All ones."""

    def draw(self, source: Source) -> Floats:
        """Ones."""
        return np.ones(source.shape, np.float32)


class Constant(Initializer, word="constant"):
    """One value for all elements."""

    value = number("Value of every element.", 0.0)

    def draw(self, source: Source) -> Floats:
        """The number."""
        return np.full(source.shape, self.value, np.float32)


class RandomUniform(Initializer, word="random_uniform"):
    """Uniform between two values."""

    low = number("Smallest value.", -0.05)
    high = number("Largest value.", 0.05)

    def draw(self, source: Source) -> Floats:
        """Uniform numbers."""
        return uniform(source, self.low, self.high)


class RandomNormal(Initializer, word="random_normal"):
    """Normally distributed."""

    mean = number("Mean.", 0.0)
    deviation = number("Standard deviation.", 0.05, low=0.0)

    def draw(self, source: Source) -> Floats:
        """Normal numbers."""
        return normal(source, self.mean, self.deviation)


class TruncatedNormal(Initializer, word="truncated_normal"):
    """Normally distributed; values beyond two deviations are drawn again."""

    mean = number("Mean.", 0.0)
    deviation = number("Standard deviation.", 0.05, low=0.0)

    def draw(self, source: Source) -> Floats:
        """Normal numbers within two deviations."""
        return truncated_normal(source, self.mean, self.deviation)


class Orthogonal(Initializer, word="orthogonal"):
    """Orthonormal rows or columns (Saxe et al. 2014)."""

    gain = number("Factor of the orthonormal matrix.", 1.0)

    def draw(self, source: Source) -> Floats:
        """As a matrix by the last dimension."""
        shape = source.shape
        if len(shape) < 2:
            raise ParameterError("orthogonal needs at least two dimensions", who="initializer")
        rows, cols = math.prod(shape[:-1]), shape[-1]
        drawn = philox.normal(source.seed, source.stream, 0, rows * cols).astype(np.float64)
        q, r = np.linalg.qr(drawn.reshape(max(rows, cols), min(rows, cols)))
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
        q = q.T if rows < cols else q
        return (self.gain * q).reshape(shape).astype(np.float32)


class Identity(Initializer, word="identity"):
    """The identity matrix."""

    gain = number("Value on the diagonal.", 1.0)

    def draw(self, source: Source) -> Floats:
        """The matrix; ParameterError for another shape."""
        if len(source.shape) != 2:
            raise ParameterError("identity needs a matrix", who="initializer")
        return (self.gain * np.eye(*source.shape)).astype(np.float32)


class DylannLinear(Initializer, word="dylann_linear"):
    """Uniform within ±1/√inputs, as in the framework Dylann for dense layers."""

    def draw(self, source: Source) -> Floats:
        """Uniform in 1/√w, w the last dimension as stored: inputs of a matrix, length of a bias."""
        limit = 1.0 / math.sqrt(source.shape[0])
        return uniform(source, -limit, limit)


class DylannConv(Initializer, word="dylann_conv"):
    """Normal with deviation 2/√inputs, as in the framework Dylann for convolutions."""

    def draw(self, source: Source) -> Floats:
        """Normal with deviation 2/√(h·w·c), c the input channels; for a bias its own length."""
        return normal(source, 0.0, 2.0 / math.sqrt(fans(source.shape)[0]))


class GlorotUniform(Initializer, word="glorot_uniform"):
    """Uniform with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def draw(self, source: Source) -> Floats:
        """Uniform with variance 2/(inputs + outputs)."""
        return scaled(source, 1.0, "fan_avg", "uniform")


class GlorotNormal(Initializer, word="glorot_normal"):
    """Normal with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def draw(self, source: Source) -> Floats:
        """Normal with variance 2/(inputs + outputs)."""
        return scaled(source, 1.0, "fan_avg", "truncated_normal")


class HeUniform(Initializer, word="he_uniform"):
    """Uniform with variance 2 / inputs; for relu (He et al. 2015)."""

    def draw(self, source: Source) -> Floats:
        """Uniform with variance 2/inputs."""
        return scaled(source, 2.0, "fan_in", "uniform")


class HeNormal(Initializer, word="he_normal"):
    """Normal with variance 2 / inputs; for relu (He et al. 2015)."""

    def draw(self, source: Source) -> Floats:
        """Normal with variance 2/inputs."""
        return scaled(source, 2.0, "fan_in", "truncated_normal")


class LecunUniform(Initializer, word="lecun_uniform"):
    """Uniform with variance 1 / inputs; for selu (LeCun et al. 1998)."""

    def draw(self, source: Source) -> Floats:
        """Uniform with variance 1/inputs."""
        return scaled(source, 1.0, "fan_in", "uniform")


class LecunNormal(Initializer, word="lecun_normal"):
    """Normal with variance 1 / inputs; for selu (LeCun et al. 1998)."""

    def draw(self, source: Source) -> Floats:
        """Normal with variance 1/inputs."""
        return scaled(source, 1.0, "fan_in", "truncated_normal")


class VarianceScaling(Initializer, word="variance_scaling"):
    """Variance scale / fan, with a scale, fan and distribution of your choice."""

    is_short = False

    scale = number("Variance is this divided by the fan.", 1.0, low=_LEAST_SCALE)
    mode = choice("Which connections are counted as fan.", "fan_in", "fan_out", "fan_avg")
    distribution = choice(
        "Random distribution.", "truncated_normal", "untruncated_normal", "uniform"
    )

    def draw(self, source: Source) -> Floats:
        """By the rule."""
        return scaled(source, self.scale, self.mode, self.distribution)


def parse_initializer(given: object, who: str = "initializer") -> Initializer:
    """The initialiser a text form stands for; ParameterError when it is none."""
    return Initializer.parse(given, who)


def initializer(doc: str, default: str, **words: Unpack[Words]) -> Option[Initializer]:
    """An option that takes an initialiser in its text form."""
    given: Words = {"kinds": TextKinds(Initializer), "group": "Initial values", **words}
    return spec(doc, parse_initializer(default), parse_initializer, _write, **given)


def kernel_initializer(doc: str) -> Option[Initializer]:
    """The initialiser of a layer's weights."""
    return initializer(
        doc, "glorot_uniform", label="Kernel init",
        effect="Sets the scale of the first outputs and gradients.",
    )  # fmt: skip


def _write(value: Initializer) -> Plain:
    return value.text


def initial_values(tensor: Tensor, seed: int) -> Floats:
    """What a tensor holds before training: by its ``init`` and ``stream``, else zeros."""
    init = parse_initializer(tensor.init or "zeros", tensor.name)
    return init.values(tensor.shape, seed, tensor.stream, tensor.name)


def starts_at_zero(tensor: Tensor) -> bool:
    """Whether every element of a tensor is zero before training."""
    return isinstance(parse_initializer(tensor.init or "zeros", tensor.name), Zeros)
