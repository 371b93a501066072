"""What a row of the element-wise table is, and the steps several rows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np

from studio.engine.cpu.views import Anything, Floats

NORMAL_TAIL = (
    0.09441064, 0.0759871, 0.048391815, 0.023314627, 0.007554381,
    0.00094501325, -0.00045744472, -0.00019797265, 0.00005181871,
)  # fmt: skip
"""Coefficients c₀ … c₈ of `normal_share`, ours: a least-squares fit reweighted towards equal
relative errors, over 0 ≤ x ≤ 13.3, of e^(x²/2)·½·erfc(x/√2)/(1 + u)."""


class Block(SimpleNamespace):
    """A stretch of the elements of one instruction.

    Operands and attributes by their names; ``dy`` and ``d`` in a gradient; working memory of the
    stretch's shape: floats ``s1`` to ``s3``
    (as many as the row asks for), masks ``m1`` and ``m2``; ``compiled`` where elements lie flat and
    compiled loops may run over them, ``in_place`` where the result lies where ``x`` or ``dy`` does.
    """


Step: TypeAlias = Callable[[Block], object]
Loop: TypeAlias = Callable[..., object]
LoopOf: TypeAlias = Callable[[Block], "Loop | None"]


@dataclass(frozen=True)
class Row:
    """The NumPy steps of one element-wise instruction.

    Attributes:
        forward: writes the result; may touch it only after the last read of any operand, since the
            result may lie where an operand does.
        gradients: by operand, writes what it adds to that operand's gradient into ``d``, which
            lies apart from everything else.
        floats: float working memories needed, 0 to 3.
        loops: by operand (empty for the result), the compiled loop that a step calls where the
            block may use one; None where it calls NumPy after all.
    """

    forward: Step
    gradients: Mapping[str, Step] = field(default_factory=dict)
    floats: int = 0
    loops: Mapping[str, LoopOf] = field(default_factory=dict)


def keep(values: Anything, mask: Anything, out: Anything) -> None:
    """``out`` = values where the mask is set, else 0, whatever the values there.

    Multiplying the bits as integers chooses without branching, and an infinity that is masked
    leaves 0 and not NaN.
    """
    np.multiply(values.view(np.int32), mask, out=out.view(np.int32))


def logistic(x: Floats, out: Floats, spare: Floats, mask: Anything) -> None:
    """``out`` = 1/(1 + e^-x) by e^-|x|, which cannot overflow; NaN stays NaN."""
    np.absolute(x, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.add(out, 1.0, out=spare)
    np.greater_equal(x, 0.0, out=mask)
    np.maximum(out, mask, out=out)
    np.divide(out, spare, out=out)


def normal_share(x: Floats, out: Floats, bell: Floats, spare: Floats, mask: Anything) -> None:
    """``out`` = ½·(1 + erf(x/√2)), the normal distribution; ``bell`` = e^(-x²/2); NaN stays NaN.

    The lower tail is e^(-x²/2)·(1 + u)·(c₀ + c₁u + … + c₈u⁸) with u = 2/(1 + |x|/4) - 1: the form
    of Abramowitz and Stegun 7.1.26 with a polynomial of our own, `NORMAL_TAIL`. Its relative error
    is at most 5e-8. With float32's own: 6e-7 from x = -4 up, 3e-6 down to -9 (the exponential of a
    rounded x²/2), 4e-7 absolute in erf.
    """
    np.absolute(x, out=spare)
    np.multiply(spare, 0.25, out=spare)
    np.add(spare, 1.0, out=spare)
    np.divide(2.0, spare, out=spare)
    np.subtract(spare, 1.0, out=spare)
    np.multiply(x, x, out=bell)
    np.multiply(bell, -0.5, out=bell)
    np.exp(bell, out=bell)
    np.multiply(spare, NORMAL_TAIL[-1], out=out)
    for coefficient in NORMAL_TAIL[-2:0:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, spare, out=out)
    np.add(out, NORMAL_TAIL[0], out=out)
    np.add(spare, 1.0, out=spare)
    np.multiply(out, spare, out=out)
    np.multiply(out, bell, out=out)
    # |1 - tail| above 0, |0 - tail| elsewhere.
    np.greater(x, 0.0, out=mask)
    np.subtract(mask, out, out=out)
    np.absolute(out, out=out)


def soft_plus(x: Floats, out: Floats, spare: Floats) -> None:
    """``out`` = max(x, 0) + ln(1 + e^-|x|); ``out`` and ``spare`` lie apart from x."""
    np.absolute(x, out=spare)
    np.negative(spare, out=spare)
    np.exp(spare, out=spare)
    np.log1p(spare, out=spare)
    np.maximum(x, 0.0, out=out)
    np.add(out, spare, out=out)
