"""Activation functions."""

from __future__ import annotations

from studio.engine.isa.families import Unary
from studio.engine.isa.fields import number


class Relu(Unary, code=100, mnemonic="RELU", category="activation", twin=("y",)):
    """Rectified linear unit.

    y = max(0, x). NaN stays NaN; the derivative at 0 is 0.
    """

    synopsis = "{y} = max(0, {x})"


class Sigmoid(Unary, code=101, mnemonic="SIGMOID", category="activation", twin=("y",)):
    """Logistic function.

    y = 1/(1 + e^-x), computed without overflow on either side.
    """

    synopsis = "{y} = sigmoid({x})"


class Tanh(Unary, code=102, mnemonic="TANH", category="activation", twin=("y",)):
    """Hyperbolic tangent.

    y = tanh x. NaN stays NaN.
    """

    synopsis = "{y} = tanh({x})"


class Elu(Unary, code=103, mnemonic="ELU", category="activation", twin=("x",)):
    """Exponential linear unit.

    y = x for x > 0, else alpha·(e^x - 1).
    """

    synopsis = "{y} = elu({x}, {alpha})"
    alpha = number("Scale of the negative side.", 1.0)


class Swish(Unary, code=104, mnemonic="SWISH", category="activation", twin=("x",)):
    """Sigmoid-weighted linear unit (SiLU).

    y = x·sigmoid(beta·x).
    """

    synopsis = "{y} = {x}·sigmoid({beta}·{x})"
    beta = number("Slope inside the sigmoid.", 1.0)


class ClippedRelu(Unary, code=105, mnemonic="CLIPPED_RELU", category="activation", twin=("x",)):
    """Rectified linear unit with a ceiling.

    y = min(max(0, x), ceiling). NaN stays NaN; the derivative is 1 strictly between 0 and ceiling.
    """

    synopsis = "{y} = min(max(0, {x}), {ceiling})"
    ceiling = number("Upper limit.", 6.0, low=0.0)


class LeakyRelu(Unary, code=230, mnemonic="LEAKY_RELU", category="activation", twin=("x",)):
    """Rectified linear unit that leaks.

    y = x for x > 0, else alpha·x; the derivative at 0 is alpha.
    """

    synopsis = "{y} = leaky_relu({x}, {alpha})"
    alpha = number("Slope of the negative side.", 0.2)


class ThresholdedRelu(
    Unary, code=231, mnemonic="THRESHOLDED_RELU", category="activation", twin=("x",)
):
    """Rectified linear unit with every option Keras has.

    y = ceiling for x >= ceiling; x for threshold <= x < ceiling; else slope·(x - threshold).
    """

    synopsis = "{y} = relu({x}, slope {slope}, threshold {threshold}, ceiling {ceiling})"
    slope = number("Slope below the threshold.", 0.0)
    threshold = number("Where the linear part begins.", 0.0)
    ceiling = number("Upper limit; infinite for none.", float("inf"), low=0.0)


class Selu(Unary, code=232, mnemonic="SELU", category="activation", twin=("x",)):
    """Scaled exponential linear unit (Klambauer et al. 2017).

    y = 1.0507009873554805·x for x > 0, else 1.0507009873554805·1.6732632423543772·(e^x - 1).
    """

    synopsis = "{y} = selu({x})"


class Softplus(Unary, code=233, mnemonic="SOFTPLUS", category="activation", twin=("x",)):
    """Smooth rectifier.

    y = ln(1 + e^x), computed as max(x, 0) + ln(1 + e^-|x|).
    """

    synopsis = "{y} = softplus({x})"


class Softsign(Unary, code=234, mnemonic="SOFTSIGN", category="activation", twin=("x",)):
    """Softsign.

    y = x/(1 + |x|).
    """

    synopsis = "{y} = softsign({x})"


class HardSigmoid(Unary, code=235, mnemonic="HARD_SIGMOID", category="activation", twin=("x",)):
    """Piecewise linear sigmoid, as Keras 3 defines it.

    y = min(max(x/6 + 1/2, 0), 1); the derivative is 1/6 strictly between -3 and 3.
    """

    synopsis = "{y} = hard_sigmoid({x})"


class Gelu(Unary, code=236, mnemonic="GELU", category="activation", twin=("x",)):
    """Gaussian error linear unit, tanh form (Hendrycks and Gimpel 2016).

    y = x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
    """

    synopsis = "{y} = gelu({x})"


class GeluExact(Unary, code=238, mnemonic="GELU_EXACT", category="activation", twin=("x",)):
    """Gaussian error linear unit by the normal distribution (Hendrycks and Gimpel 2016).

    y = x/2·(1 + erf(x/√2)); relative error at most 6e-7 from -4 up, 3e-6 down to -9; -∞ gives NaN.
    """

    synopsis = "{y} = gelu({x}), exact"


class Mish(Unary, code=237, mnemonic="MISH", category="activation", twin=("x",)):
    """Mish (Misra 2019).

    y = x·tanh(ln(1 + e^x)).
    """

    synopsis = "{y} = mish({x})"
