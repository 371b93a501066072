"""Softmax over rows whose greatest elements are known.

e^x = 2^n·e^r with |r| ≤ ln 2 / 2: the power of two goes straight into the exponent bits, e^r is the
polynomial of Cephes' expf (S. Moshier), accurate to an ulp or two. Loops of this form run on the
processor's vectors, which the exponential of the C library does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats

_LEAST = np.float32(-87.3)
"""Below it e^x is no normal number any more, and taken as 0."""
_LOG2_E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_P0, _P1 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3)
_P2, _P3 = np.float32(8.3334519073e-3), np.float32(4.1665795894e-2)
_P4, _P5 = np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


def _same_bits(_context: Any, _bits: Any) -> Any:
    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target.get_value_type(types.float32))

    return types.float32(types.int32), generate


_float_of_bits: Callable[[np.int32], np.float32] = cast(Any, intrinsic)(_same_bits)


@compiled
def softmax_rows(x: Floats, greatest: Floats, y: Floats) -> None:
    """y = e^(x - greatest) / Σ e^(x - greatest) for ``greatest`` [rows, 1]; NaN stays."""
    rows, width = x.shape
    for i in range(rows):
        top = greatest[i, 0]
        total = _ZERO
        for j in range(width):
            given = x[i, j] - top
            far = given < _LEAST
            power = _LEAST if far else given
            whole = np.floor(power * _LOG2_E + _HALF)
            rest = power - whole * _LN2_HIGH - whole * _LN2_LOW
            curve = ((((_P0 * rest + _P1) * rest + _P2) * rest + _P3) * rest + _P4) * rest + _P5
            curve = curve * (rest * rest) + rest + _ONE
            scale = _float_of_bits(np.int32((np.int32(whole) + _BIAS) << _MANTISSA))
            value = _ZERO if far else scale * curve
            y[i, j] = value
            total += value
        share = _ONE / total
        for j in range(width):
            y[i, j] *= share
