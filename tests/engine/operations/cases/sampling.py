"""Cases of images that are looked up between their cells."""

from __future__ import annotations

import numpy as np

from tests.engine.operations.cases.case import Case
from tests.engine.oracle.pictures import REFERENCES

IMAGE = (2, 4, 5, 2)
TILTED = np.array([[0.9, 0.2, 0.3, -0.1, 1.1, 0.47, 0.02, 0.01]], np.float32)
BOXES = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.5, -0.3, 1.2, 0.4]], np.float32)


def sampled(x, grid, method="bilinear", outside="zeros", coords="pixels"):
    attrs = {"method": method, "outside": outside, "coords": coords}
    return REFERENCES["SAMPLE_GRID"]({"x": x, "grid": grid}, attrs)["y"]


def transformed(x, t, method="bilinear", outside="zeros", fill=0.0, size=None):
    high, wide = size or x.shape[1:3]
    v, u = np.indices((high, wide))
    cells = np.stack((u, v, np.ones_like(u)), -1)
    numbers = np.concatenate((t.reshape(-1, 8), np.ones((t.size // 8, 1))), 1).reshape(-1, 3, 3)
    found = np.einsum("nkc,hwc->nhwk", numbers, cells)
    grid = np.broadcast_to(found[..., :2] / found[..., 2:], (len(x), high, wide, 2))
    return sampled(x - fill, grid, method, outside) + fill


def turned(x, angle, u, v, **more):
    c, s = np.cos(angle), np.sin(angle)
    to, back = np.eye(3), np.eye(3)
    to[:2, 2], back[:2, 2] = (-u, -v), (u, v)
    flat = (back @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ to).reshape(-1)[:8]
    return transformed(x, flat, **more)


def cropped(x, boxes, height, width, fill):
    found = np.full((len(boxes), height, width, x.shape[3]), fill)
    for b, (top, left, bottom, right) in enumerate(boxes):
        rows = np.linspace(top, bottom, height) if height > 1 else [(top + bottom) / 2]
        columns = np.linspace(left, right, width) if width > 1 else [(left + right) / 2]
        for i, r in enumerate(rows):
            for j, c in enumerate(columns):
                if 0 <= r <= 1 and 0 <= c <= 1:
                    place = np.array([c * (x.shape[2] - 1), r * (x.shape[1] - 1)])
                    found[b, i, j] = sampled(x[b % 2][None], place.reshape(1, 1, 1, 2))[0, 0, 0]
    return found


CASES = [
    Case("grid_sample", (IMAGE, (2, 3, 3, 2)), apart=0.03,
         ref=lambda x, g: sampled(x, g, coords="half_pixel")),
    Case("grid_sample", (IMAGE, (2, 3, 3, 2)), {"outside": "reflect", "coords": "align_corners"},
         apart=0.03, ref=lambda x, g: sampled(x, g, outside="reflect", coords="align_corners")),
    Case("transform", (IMAGE, TILTED), {"outside": "border"}, batch=True,
         ref=lambda x, t: transformed(x, t, outside="border")),
    Case("transform", (IMAGE, np.repeat(TILTED, 2, 0)), {"fill": 0.5, "height": 3, "width": 6},
         ref=lambda x, t: transformed(x, t, fill=0.5, size=(3, 6))),
    Case("rotate", (IMAGE,), {"radians": 0.4, "fill": 1.0}, batch=True,
         ref=lambda x: turned(x, 0.4, 2.5, 2, method="nearest", fill=1.0)),
    Case("rotate", (IMAGE,), {"radians": -1.2, "method": "bilinear", "center_x": 0.2},
         ref=lambda x: turned(x, -1.2, 1.0, 2.0)),
    Case("map_coordinates", ((4, 5), (2, 3, 2)), {"fill": -1.0}, apart=0.07,
         ref=lambda x, p: sampled(x[None, :, :, None] + 1, p[::-1].reshape(2, -1).T[None, None]
                                  ).reshape(p.shape[1:]) - 1),
    *(Case("crop_and_resize", (IMAGE, BOXES, np.array([0, 1, 0], np.int32)),
           {"height": h, "width": w, "fill": 7.0}, gradients=False,
           ref=lambda x, b, i, h=h, w=w: cropped(x, b, h, w, 7.0)) for h, w in ((3, 4), (1, 2))),
]  # fmt: skip
