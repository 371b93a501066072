"""Activation functions."""

from __future__ import annotations

from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Unary, broadcast_shapes, require_equal
from studio.engine.isa.fields import number, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.meaning import Activation

_SCALE, _ALPHA = "1.0507009873554805", "1.6732632423543772"
"""Of `Selu`, as its paper gives them."""


class Relu(Unary, code=100, mnemonic="RELU", category="activation"):
    """Rectified linear unit.

    NaN stays NaN; the derivative at 0 is 0.
    """

    synopsis = "{y} = max(0, {x})"
    formula = "max(x, 0)"
    slopes = {"x": "dy if y > 0 else 0"}
    functions = {"relu": Activation("max(0, x).", order=1)}


class Sigmoid(Unary, code=101, mnemonic="SIGMOID", category="activation"):
    """Logistic function.

    sigmoid(x) = 1/(1 + e^-x), computed without overflow on either side.
    """

    synopsis = "{y} = sigmoid({x})"
    formula = "sigmoid(x)"
    slopes = {"x": "dy * (y * (1 - y))"}
    functions = {"sigmoid": Activation("1/(1 + e^-x).", order=7)}


class Tanh(Unary, code=102, mnemonic="TANH", category="activation"):
    """Hyperbolic tangent.

    NaN stays NaN.
    """

    synopsis = "{y} = tanh({x})"
    formula = "tanh(x)"
    slopes = {"x": "dy * (1 - y**2)"}
    functions = {"tanh": Activation("tanh x.", order=10)}


class Elu(Unary, code=103, mnemonic="ELU", category="activation"):
    """Exponential linear unit."""

    synopsis = "{y} = elu({x}, {alpha})"
    formula = "x if x > 0 else alpha * expm1(x)"
    slopes = {"x": "dy if x > 0 else dy * (alpha * exp(x))"}
    functions = {
        "elu": Activation("x, or e^x - 1 below 0.", {"alpha": 1.0}, order=4),
        "celu": Activation("As elu, its alpha being 1.", {"alpha": 1.0}, order=5),
    }
    alpha = number("Scale of the negative side.", 1.0)


class Swish(Unary, code=104, mnemonic="SWISH", category="activation"):
    """Sigmoid-weighted linear unit (SiLU)."""

    synopsis = "{y} = {x}·sigmoid({beta}·{x})"
    formula = "x * sigmoid(beta * x)"
    slopes = {
        "x": """
            z = beta * x
            s = sigmoid(z)
            dy * (s * (1 + z * (1 - s)))
        """
    }
    functions = {"silu": Activation("x·sigmoid(x).", {"beta": 1.0}, 13, ("swish",))}
    beta = number("Slope inside the sigmoid.", 1.0)


class ClippedRelu(Unary, code=105, mnemonic="CLIPPED_RELU", category="activation"):
    """Rectified linear unit with a ceiling.

    NaN stays NaN; the derivative is 1 strictly between 0 and ceiling.
    """

    synopsis = "{y} = min(max(0, {x}), {ceiling})"
    formula = "clip(x, 0, ceiling)"
    slopes = {"x": "dy if x > 0 and x < ceiling else 0"}
    functions = {"relu6": Activation("min(max(0, x), 6).", {"ceiling": 6.0}, order=2)}
    ceiling = number("Upper limit.", 6.0, low=0.0)


class LeakyRelu(Unary, code=230, mnemonic="LEAKY_RELU", category="activation"):
    """Rectified linear unit that leaks.

    The derivative at 0 is alpha.
    """

    synopsis = "{y} = leaky_relu({x}, {alpha})"
    formula = "x if x > 0 else alpha * x"
    slopes = {"x": "dy if x > 0 else alpha * dy"}
    functions = {"leaky_relu": Activation("x, or 0.2·x below 0.", {"alpha": 0.2}, order=3)}
    alpha = number("Slope of the negative side.", 0.2)


class PRelu(Instruction, code=424, mnemonic="PRELU", category="activation", since=2):
    """Rectified linear unit whose slope below 0 is learned (He et al. 2015).

    alpha is broadcast against x, such as one number per channel. The derivative at 0 is alpha.
    """

    synopsis = "{y} = prelu({x}, {alpha})"
    formula = "x if x > 0 else alpha * x"
    slopes = {"x": "dy if x > 0 else alpha * dy", "alpha": "0 if x > 0 else dy * x"}
    elementwise = True

    x = reads("Input, any shape.")
    alpha = reads("Slope of the negative side, of a shape that broadcasts to that of x.")
    y = writes("Result, shape and dtype of the input.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x, which alpha must not widen."""
        x, alpha = of(self.x), of(self.alpha)
        shape = broadcast_shapes(self.mnemonic, x.shape, alpha.shape)
        require_equal(self.mnemonic, "the shape that x and alpha broadcast to", shape, x.shape)
        return (x,)


class ThresholdedRelu(Unary, code=231, mnemonic="THRESHOLDED_RELU", category="activation"):
    """Rectified linear unit with every option Keras has."""

    synopsis = "{y} = relu({x}, slope {slope}, threshold {threshold}, ceiling {ceiling})"
    formula = "ceiling if x >= ceiling else x if x >= threshold else slope * (x - threshold)"
    slopes = {"x": "0 if x >= ceiling else dy if x >= threshold else slope * dy"}
    slope = number("Slope below the threshold.", 0.0)
    threshold = number("Where the linear part begins.", 0.0)
    ceiling = number("Upper limit; infinite for none.", float("inf"), low=0.0)


class Selu(Unary, code=232, mnemonic="SELU", category="activation"):
    """Scaled exponential linear unit (Klambauer et al. 2017)."""

    synopsis = "{y} = selu({x})"
    formula = f"{_SCALE} * x if x > 0 else {_SCALE} * {_ALPHA} * expm1(x)"
    slopes = {"x": f"dy * ({_SCALE} if x > 0 else {_SCALE} * {_ALPHA} * exp(x))"}
    functions = {"selu": Activation("Scaled elu.", order=6)}


class Softplus(Unary, code=233, mnemonic="SOFTPLUS", category="activation"):
    """Smooth rectifier.

    softplus(x) = ln(1 + e^x), computed as max(x, 0) + ln(1 + e^-|x|).
    """

    synopsis = "{y} = softplus({x})"
    formula = "softplus(x)"
    slopes = {"x": "dy * sigmoid(x)"}
    functions = {"softplus": Activation("ln(1 + e^x).", order=15)}


class Softsign(Unary, code=234, mnemonic="SOFTSIGN", category="activation"):
    """Softsign."""

    synopsis = "{y} = softsign({x})"
    formula = "x / (1 + abs(x))"
    slopes = {"x": "dy / (1 + abs(x))**2"}
    functions = {"softsign": Activation("x/(1 + |x|).", order=16)}


class HardSigmoid(Unary, code=235, mnemonic="HARD_SIGMOID", category="activation"):
    """Piecewise linear sigmoid, as Keras 3 defines it.

    The derivative is 1/6 strictly between -3 and 3.
    """

    synopsis = "{y} = hard_sigmoid({x})"
    formula = "clip(x / 6 + 0.5, 0, 1)"
    slopes = {"x": "dy / 6 if abs(x) < 3 else 0"}
    functions = {"hard_sigmoid": Activation("x/6 + 1/2 kept within 0 and 1.", order=8)}


class HardSwish(Unary, code=425, mnemonic="HARD_SWISH", category="activation", since=2):
    """Piecewise quadratic swish (Howard et al. 2019).

    x·min(max(x/6 + 1/2, 0), 1); -Inf gives NaN. The derivative is that of the middle piece strictly
    between -3 and 3, 0 below and 1 above.
    """

    synopsis = "{y} = {x}·hard_sigmoid({x})"
    formula = "x * clip(x / 6 + 0.5, 0, 1)"
    slopes = {"x": "dy * (x / 3 + 0.5) if abs(x) < 3 else 0 if x < 0 else dy"}


class Celu(Unary, code=426, mnemonic="CELU", category="activation", since=2):
    """Exponential linear unit with a continuous derivative (Barron 2017).

    The derivative at 0 is 1, whatever alpha is; alpha is not 0.
    """

    synopsis = "{y} = celu({x}, {alpha})"
    formula = "x if x > 0 else alpha * expm1(x / alpha)"
    slopes = {"x": "dy if x > 0 else dy * exp(x / alpha)"}
    alpha = number("Scale of the negative side, in x and in y.", 1.0)


class Gelu(Unary, code=236, mnemonic="GELU", category="activation"):
    """Gaussian error linear unit, tanh form (Hendrycks and Gimpel 2016)."""

    synopsis = "{y} = gelu({x})"
    formula = "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x * (1 + 0.044715 * x**2))))"
    slopes = {
        "x": """
            root = sqrt(2 / pi)
            t = tanh(root * (x * (1 + 0.044715 * x**2)))
            inner = root * (1 + 3 * 0.044715 * x**2) * x
            dy * (0.5 * (1 + (t + inner * (1 - t**2))))
        """
    }
    functions = {
        "gelu_tanh": Activation("gelu in its tanh form, within 5e-4 of the exact one.", order=19),
    }


class GeluExact(Unary, code=238, mnemonic="GELU_EXACT", category="activation"):
    """Gaussian error linear unit by the normal distribution (Hendrycks and Gimpel 2016).

    Φ(x) = (1 + erf(x/√2))/2; relative error at most 6e-7 from -4 up, 3e-6 down to -9; -∞ gives NaN.
    """

    synopsis = "{y} = gelu({x}), exact"
    formula = "x * normal_cdf(x)"
    slopes = {"x": "dy * (normal_cdf(x) + x * (exp(-0.5 * x**2) * (1 / sqrt(2 * pi))))"}
    functions = {
        "gelu": Activation("Gaussian error linear unit, x/2·(1 + erf(x/√2)).", order=18),
    }


class Mish(Unary, code=237, mnemonic="MISH", category="activation"):
    """Mish (Misra 2019).

    softplus(x) = ln(1 + e^x).
    """

    synopsis = "{y} = mish({x})"
    formula = "x * tanh(softplus(x))"
    slopes = {
        "x": """
            t = tanh(softplus(x))
            dy * (t + x * sigmoid(x) * (1 - t**2))
        """
    }
    functions = {"mish": Activation("x·tanh(softplus(x)).", order=17)}
