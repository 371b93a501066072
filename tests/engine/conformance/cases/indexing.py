"""Cases of look-ups and changes by indices, and of what goes along a dimension in order."""

from __future__ import annotations

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Shape
from tests.engine.conformance.case import HALO, Case, Given, apart, exactly, floats, integers


def _gathers() -> list[Case]:
    halo = floats(2, 3, 5, 4, pad=HALO)
    whole = Given((7, 3), lambda rng, shape: rng.integers(0, 256, shape), DType.uint8)
    return [
        Case("GATHER", "rows", {"x": floats(7, 3), "i": integers(3, 5, low=-7, high=7)}),
        Case("GATHER", "middle", {"x": floats(3, 5, 4), "i": integers(6, high=5)}, {"axis": 1}),
        Case("GATHER", "last", {"x": floats(3, 5), "i": integers(2, 3, high=5)}, {"axis": -1}),
        Case("GATHER", "one", {"x": floats(5, 2), "i": integers(high=5)}),
        Case(
            "GATHER",
            "outside",
            {"x": floats(4, 3), "i": integers(17, low=-6, high=7)},
            gradients=False,
        ),
        Case("GATHER", "halo", {"x": halo, "i": integers(4, high=3)}, {"axis": 1}, out_pad=HALO),
        Case("GATHER", "bytes", {"x": whole, "i": integers(5, high=7)}, gradients=False),
        Case(
            "GATHER_ELEMENTS",
            "first",
            {"x": floats(5, 3), "i": integers(4, 3, low=-5, high=5)},
        ),
        Case(
            "GATHER_ELEMENTS",
            "part",
            {"x": floats(3, 5, 4), "i": integers(2, 6, 3, high=5)},
            {"axis": 1},
        ),
        Case(
            "GATHER_ELEMENTS",
            "outside",
            {"x": floats(3, 4), "i": integers(3, 9, low=-6, high=6)},
            {"axis": -1},
            gradients=False,
        ),
        Case("GATHER_ND", "elements", {"x": floats(3, 5), "i": integers(6, 2, low=-3, high=3)}),
        Case("GATHER_ND", "rows", {"x": floats(3, 2, 5), "i": integers(2, 4, 1, high=3)}),
        Case(
            "GATHER_ND",
            "outside",
            {"x": floats(3, 2, 5), "i": integers(9, 2, low=-4, high=4)},
            gradients=False,
        ),
        Case(
            "GATHER_ND",
            "batch",
            {"x": floats(3, 4, 5), "i": integers(3, 2, 1, low=-4, high=4)},
            {"batch": 1},
        ),
    ]


def _scatters() -> list[Case]:
    found = []
    for reduction in ("none", "add", "mul", "max", "min"):
        by_element = {
            "x": floats(5, 3, make=apart),
            "i": integers(7, 3, low=-5, high=5),
            "u": floats(7, 3, make=between),
        }
        by_tuple = {
            "x": floats(4, 3, 2, make=apart),
            "i": integers(9, 2, low=-5, high=5),
            "u": floats(9, 2, make=between),
        }
        attrs = {"reduction": reduction}
        found += [
            Case("SCATTER", reduction, by_element, attrs),
            Case("SCATTER_ND", reduction, by_tuple, attrs),
        ]
    whole = {"x": integers(4, 5), "i": integers(4, 3, high=7), "u": integers(4, 3, low=-9)}
    zeros = {
        "x": floats(4, make=lambda rng, shape: rng.choice([0.0, 1.5], shape)),
        "i": integers(9, high=4),
        "u": floats(9, make=lambda rng, shape: rng.choice([0.0, -2.0, 0.5], shape)),
    }
    halo = {
        "x": floats(2, 3, 5, 4, pad=HALO),
        "i": integers(2, 2, 5, 4, high=3),
        "u": floats(2, 2, 5, 4),
    }
    picture = {"x": floats(2, 3, 5, 4, pad=HALO), "i": integers(3, 1, high=2),
               "u": floats(3, 3, 5, 4)}  # fmt: skip
    added = {"reduction": "add"}
    return [
        *found,
        Case("SCATTER", "whole", whole, {"axis": -1, **added}, gradients=False),
        Case("SCATTER", "zeros", zeros, {"reduction": "mul"}),
        Case("SCATTER", "halo", halo, {"axis": 1, **added}, out_pad=HALO),
        Case("SCATTER", "taken", halo, {"axis": 1}, out_pad=HALO),
        Case("SCATTER_ND", "halo", picture, added, out_pad=HALO),
    ]


def between(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers that differ from all of `apart` and from each other."""
    return apart(rng, shape) + 0.0234


def _orders() -> list[Case]:
    count = {
        "start": Given((), exactly(-3), DType.int32),
        "delta": Given((), exactly(2), DType.int32),
    }
    return [
        Case("REVERSE", "all", {"x": floats(3, 5)}),
        Case("REVERSE", "middle", {"x": floats(3, 5, 4)}, {"axes": (1,)}),
        Case("REVERSE", "two", {"x": floats(2, 3, 5, 4, pad=HALO)}, {"axes": (0, 3)}, out_pad=HALO),
        Case("RANGE", "floats", {"start": floats(), "delta": floats()}, {"count": 17}),
        Case("RANGE", "whole", count, {"count": 5}),
        Case("RANGE", "batch", count, {"count": -1}),
    ]


def _rankings() -> list[Case]:
    ties = Given((4, 9), lambda rng, shape: rng.integers(0, 3, shape))
    return [
        Case("TOPK", "last", {"x": floats(3, 17, make=apart)}, {"k": 4}),
        Case("TOPK", "middle", {"x": floats(3, 7, 5, make=apart)}, {"k": 2, "axis": 1}),
        Case("TOPK", "all", {"x": floats(3, 9, make=apart)}, {"k": 9, "order": "smallest"}),
        Case("TOPK", "ties", {"x": ties}, {"k": 6}, gradients=False),
        Case("TOPK", "whole", {"x": integers(3, 8, low=-9, high=9)}, {"k": 5}, gradients=False),
    ]


def _running() -> list[Case]:
    zeros = floats(3, 6, make=lambda rng, shape: rng.choice([0.0, 0.5, -2.0, 1.5], shape))
    found = [
        Case("CUMULATE", "whole", {"x": integers(3, 9, low=-5)}, {"axis": 0}, gradients=False),
        Case("CUMULATE", "zeros", {"x": zeros}, {"op": "prod"}),
        Case("CUMULATE", "zeros-left-out", {"x": zeros}, {"op": "prod", "exclusive": True}),
        Case("CUMULATE", "halo", {"x": floats(2, 3, 5, 4, pad=HALO)}, {"axis": 2}, out_pad=HALO),
    ]
    for op in ("sum", "prod", "max", "min"):
        x = floats(3, 7, 4, make=apart if op in ("max", "min") else None)
        forms = {"plain": {}, "left-out": {"exclusive": True}, "back": {"reverse": True},
                 "both": {"exclusive": True, "reverse": True}}  # fmt: skip
        found += [
            Case("CUMULATE", f"{op}-{name}", {"x": x}, {"op": op, "axis": 1, **attrs},
                 grad_atol=1e-3, reason="products of many")
            for name, attrs in forms.items()
        ]  # fmt: skip
    return found


CASES = [*_gathers(), *_scatters(), *_orders(), *_rankings(), *_running()]
