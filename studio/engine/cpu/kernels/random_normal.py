"""RANDOM_NORMAL: a tensor of normal random numbers.

Every operation is one of float32 in a fixed order, so that devices come to the same numbers. The
polynomials are Chebyshev interpolations in powers: the logarithm's beyond f - f²/2 on
[√½ - 1, √2 - 1], sine and cosine of a quarter turn in squares up to 1/4; errors below 1e-7.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.draws import Words, first_element, step_words
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.isa.instruction import Instruction

_LOGARITHM = np.array(
    [0.07149754, -0.11571201, 0.11661512, -0.124110505, 0.14249936, -0.1666848, 0.20000708,
     -0.2499999, 0.3333333], np.float32,
)  # fmt: skip
_SINE = np.array([0.00015820653, -0.0046812664, 0.07969258, -0.6459641, 1.5707964], np.float32)
_COSINE = np.array([0.0009036299, -0.02086007, 0.2536692, -1.2337005, 1.0], np.float32)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROOT_HALF, _ONE_BITS = np.uint32(0x3F3504F3), np.uint32(0x3F800000)
_MANTISSA = np.uint32(0x007FFFFF)


def _polynomial(coefficients: Floats, x: Floats) -> Floats:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _logarithm(u: Floats) -> Floats:
    """ln u for normal u in (0, 1]: u = 2^e·m with m from √½ to √2."""
    shifted = u.view(np.uint32) + (_ONE_BITS - _ROOT_HALF)
    power = ((shifted >> np.uint32(23)).astype(np.int32) - 127).astype(np.float32)
    f = ((shifted & _MANTISSA) + _ROOT_HALF).view(np.float32) - np.float32(1.0)
    square = f * f
    value = f * square * _polynomial(_LOGARITHM, f)
    value = value - np.float32(0.5) * square + f
    found: Floats = value + power * _LN2_LOW + power * _LN2_HIGH
    return found


def normals(words: Words) -> npt.NDArray[np.float32]:
    """Normal numbers from pairs of words of 24 bits, two of each pair; an even count."""
    pairs = words.reshape(-1, 2)
    u = (pairs[:, 0] + np.uint32(1)).astype(np.float32) * np.float32(2.0**-24)
    turns = pairs[:, 1].astype(np.float32) * np.float32(2.0**-22)
    radius = np.sqrt(np.maximum(np.float32(-2.0) * _logarithm(u), np.float32(0.0)))
    quarter = np.floor(turns + np.float32(0.5))
    rest = turns - quarter
    square = rest * rest
    sine, cosine = rest * _polynomial(_SINE, square), _polynomial(_COSINE, square)
    side = quarter.astype(np.int32) & 3
    across, up = np.where(side & 1, sine, cosine), np.where(side & 1, cosine, sine)
    across = np.where((side == 1) | (side == 2), -across, across)
    up = np.where(side >= 2, -up, up)
    return np.stack((radius * across, radius * up), axis=1).reshape(-1)


def build(ins: Instruction, views: Views) -> Run:
    """y = mean + deviation·z."""
    step, y = views.ints(ins.ref("step")), views.data(ins.ref("y"))
    mean, deviation = np.float32(ins.value("mean")), np.float32(ins.value("deviation"))
    begin = first_element(ins, views, "y")

    def run() -> None:
        # Numbers come in pairs, of which the first and the last may belong to other rows.
        odd = begin() % 2
        count = odd + y.size
        words = step_words(step, ins.value("stream"), count + count % 2, begin() - odd)
        drawn = normals(words)[odd : odd + y.size]
        np.copyto(y, (drawn * deviation + mean).reshape(y.shape))

    return run
