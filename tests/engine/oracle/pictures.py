"""Pictures in another size or at places: results by definition, with what each cell weighs."""

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


def _inside(p: float, a: Values, size: int) -> float:
    """A place among cells, brought inside by mirroring or to the border."""
    if a["outside"] == "reflect":
        corners = a["coords"] == "align_corners"
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        while high > low and not low <= p <= high:
            p = 2 * low - p if p < low else 2 * high - p
    return p if a["outside"] == "zeros" else min(max(p, 0.0), size - 1.0)


def _share(g: float, a: Values, size: int) -> Array:
    """What each cell weighs for one number of a grid."""
    places = {
        "half_pixel": (g + 1) / 2 * size - 0.5,
        "align_corners": (g + 1) / 2 * (size - 1),
        "pixels": g,
    }
    p, cells = _inside(places[a["coords"]], a, size), np.arange(size)
    if a["method"] == "nearest":
        return np.equal(cells, np.round(p)).astype(float)
    return np.maximum(1 - np.abs(cells - p), 0)


def _sample_grid(v: Values, a: Values) -> Values:
    x, grid = v["x"], v["grid"]
    y = np.zeros((*grid.shape[:3], x.shape[3]))
    for n, i, j in np.ndindex(*grid.shape[:3]):
        across, down = grid[n, i, j]
        rows, columns = _share(down, a, x.shape[1]), _share(across, a, x.shape[2])
        y[n, i, j] = np.einsum("h,w,hwc->c", rows, columns, x[n])
    return {"y": y}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "RESIZE": _resize,
    "SAMPLE_GRID": _sample_grid,
}
