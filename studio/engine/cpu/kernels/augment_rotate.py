"""AUGMENT_ROTATE: pictures turned and enlarged at random about their centre."""

from __future__ import annotations

from math import pi

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.augmentation import Pictures
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.isa.instruction import Instruction

Numbers = npt.NDArray[np.float32]


def build(ins: Instruction, views: Views) -> Run:
    """Bilinear samples at centre + R(-angle)·((i,j) - centre)/zoom; ``fill`` beyond the edge."""
    pictures = Pictures(ins, views)
    degrees, most, fill = ins.value("degrees"), ins.value("zoom"), ins.value("fill")
    height, width = pictures.x.shape[1:3]
    rows = (np.arange(height, dtype=np.float32) - np.float32((height - 1) / 2))[:, None]
    cols = (np.arange(width, dtype=np.float32) - np.float32((width - 1) / 2))[None, :]

    def run() -> None:
        draws = pictures.uniforms(2)
        angles = (2.0 * draws[:, 0] - 1.0) * np.float32(degrees * pi / 180.0)
        zooms = 1.0 + draws[:, 1] * np.float32(most - 1.0)
        for x, y, angle, zoom in zip(pictures.x, pictures.y, angles, zooms, strict=True):
            cosine, sine = np.cos(angle), np.sin(angle)
            down = (cosine * rows + sine * cols) / zoom + np.float32((height - 1) / 2)
            across = (cosine * cols - sine * rows) / zoom + np.float32((width - 1) / 2)
            _sampled(x, y, down, across, fill)

    return run


def _sampled(x: Floats, y: Floats, down: Numbers, across: Numbers, fill: float) -> None:
    height, width = x.shape[:2]
    top, left = np.floor(down), np.floor(across)
    part_h, part_w = (down - top)[..., None], (across - left)[..., None]
    rows, cols = top.astype(np.int64), left.astype(np.int64)

    def corner(row: npt.NDArray[np.int64], col: npt.NDArray[np.int64]) -> Floats:
        inside = (row >= 0) & (row < height) & (col >= 0) & (col < width)
        found = x[np.clip(row, 0, height - 1), np.clip(col, 0, width - 1)]
        return np.where(inside[..., None], found, np.float32(fill))

    upper = corner(rows, cols) * (1.0 - part_w) + corner(rows, cols + 1) * part_w
    lower = corner(rows + 1, cols) * (1.0 - part_w) + corner(rows + 1, cols + 1) * part_w
    np.copyto(y, upper * (1.0 - part_h) + lower * part_h)
