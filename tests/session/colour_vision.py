"""What eyes make of colours: contrast as WCAG 2 defines it, differences as CIE 1976 does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
DEFICIENCIES: dict[str, Array] = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip

# Linear sRGB to CIE XYZ, D65.
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def linear(colour: str) -> Array:
    coded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(linear(each) @ weights) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str = "normal") -> Array:
    seen = np.clip(DEFICIENCIES[vision] @ linear(colour), 0, 1)
    t = _XYZ @ seen / _XYZ.sum(axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def smallest_difference(colours: list[str], vision: str) -> float:
    points = [lab(colour, vision) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for i, a in enumerate(points) for b in points[i + 1 :])
