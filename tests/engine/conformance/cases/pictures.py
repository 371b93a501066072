"""Cases of pictures in another size and of pictures looked up at places."""

from __future__ import annotations

from typing import Any

from tests.engine.conformance.case import HALO, Case, Given, floats, integers, uniform


def _resizes() -> list[Case]:
    found = []
    ways: dict[str, dict[str, Any]] = {
        "nearest": {},
        "nearest-down": {"coords": "asymmetric", "rounding": "down"},
        "nearest-up": {"coords": "asymmetric", "rounding": "up"},
        "nearest-corners": {"coords": "align_corners", "rounding": "half_down"},
        "bilinear": {"method": "bilinear"},
        "bilinear-corners": {"method": "bilinear", "coords": "align_corners"},
        "bilinear-asymmetric": {"method": "bilinear", "coords": "asymmetric"},
        "bilinear-smooth": {"method": "bilinear", "antialias": True},
        "bicubic": {"method": "bicubic", "exclude": True},
        "bicubic-corners": {"method": "bicubic", "coords": "align_corners", "cubic": -0.75},
        "bicubic-smooth": {"method": "bicubic", "antialias": True},
    }
    sizes: dict[str, tuple[Given, tuple[int, int]]] = {
        "grow": (floats(2, 3, 4, 2), (7, 8)),
        "shrink": (floats(1, 9, 7, 3), (3, 5)),
    }
    for way, attrs in ways.items():
        found += [
            Case("RESIZE", f"{way}-{name}", {"x": x},
                 {"height": size[0], "width": size[1], **attrs})
            for name, (x, size) in sizes.items()
        ]  # fmt: skip
    bilinear = {"method": "bilinear"}
    return [
        *found,
        Case("RESIZE", "same", {"x": floats(2, 3, 4, 2)}, {"height": 3, "width": 4, **bilinear}),
        Case("RESIZE", "halo", {"x": floats(2, 3, 5, 4, pad=HALO)},
             {"height": 6, "width": 4, **bilinear}, out_pad=HALO),
        Case("RESIZE", "single", {"x": floats(2, 1, 1, 3)}, {"height": 3, "width": 4, **bilinear}),
        Case("RESIZE", "to-one", {"x": floats(2, 5, 6, 1)},
             {"height": 1, "width": 1, "coords": "align_corners", **bilinear}),
        Case("RESIZE", "frames", {"x": floats(2, 3, 4, 5, 2)}, {"height": 8, "width": 3}),
        Case("RESIZE", "whole", {"x": integers(2, 3, 4, 1, high=99)}, {"height": 5, "width": 9},
             gradients=False),
    ]  # fmt: skip


def _samples() -> list[Case]:
    places = uniform(-1.6, 1.6)
    found = [
        Case("SAMPLE_GRID", f"{method}-{outside}-{coords}",
             {"x": floats(2, 4, 5, 3),
              "grid": floats(2, 3, 6, 2, make=uniform(-7, 9) if coords == "pixels" else places)},
             {"method": method, "outside": outside, "coords": coords})
        for method in ("bilinear", "nearest")
        for outside in ("zeros", "border", "reflect")
        for coords in ("half_pixel", "align_corners", "pixels")
    ]  # fmt: skip
    corners = {"outside": "reflect", "coords": "align_corners"}
    return [
        *found,
        Case("SAMPLE_GRID", "single", {"x": floats(1, 1, 1, 2), "grid": floats(1, 2, 2, 2)},
             corners),
        Case("SAMPLE_GRID", "halo",
             {"x": floats(2, 4, 5, 4, pad=HALO), "grid": floats(2, 3, 4, 2, make=places)},
             out_pad=HALO),
    ]  # fmt: skip


CASES = [*_resizes(), *_samples()]
