"""Pictures in another size: every result by its definition, with matrices of weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Values = dict[str, Any]
Array = npt.NDArray[np.float64]


def _keys(d: float, a: float) -> float:
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def _place(coords: str, i: int, size: int, length: int) -> Fraction:
    if coords == "half_pixel":
        return (i + Fraction(1, 2)) * Fraction(size, length) - Fraction(1, 2)
    if coords == "asymmetric":
        return i * Fraction(size, length)
    return Fraction(i * (size - 1), length - 1) if length > 1 else Fraction(0)


def _rounded(p: Fraction, rounding: str) -> int:
    half = Fraction(1, 2)
    return {
        "half_up": math.floor(p + half),
        "half_down": math.ceil(p - half),
        "down": math.floor(p),
        "up": math.ceil(p),
    }[rounding]


def matrix(a: Values, size: int, length: int) -> Array:
    """The weights [length, size] along one dimension."""
    found = np.zeros((length, size))
    for i in range(length):
        place = _place(a["coords"], i, size, length)
        if a["method"] == "nearest":
            found[i, min(max(_rounded(place, a["rounding"]), 0), size - 1)] = 1
            continue
        unit = max(size / length, 1.0) if a["antialias"] else 1.0
        outside = a["exclude"] or a["antialias"]
        far = math.ceil(2 * unit) + 1
        for cell in range(math.floor(place) - far, math.floor(place) + far + 1):
            d = abs(float(cell - place)) / unit
            weight = max(1 - d, 0) if a["method"] == "bilinear" else _keys(d, a["cubic"])
            if outside and not 0 <= cell < size:
                continue
            found[i, min(max(cell, 0), size - 1)] += weight
        if outside:
            found[i] /= found[i].sum()
    return found


def _resize(v: Values, a: Values) -> Values:
    x = v["x"]
    rows, columns = matrix(a, x.shape[-3], a["height"]), matrix(a, x.shape[-2], a["width"])
    return {"y": np.einsum("ih,jw,...hwc->...ijc", rows, columns, x)}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {"RESIZE": _resize}
