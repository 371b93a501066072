"""Cases of counts and sums over an epoch; the counts begin at numbers that are not 0."""

from __future__ import annotations

import numpy as np

from studio.engine.core.dtypes import DType
from tests.engine.conformance.case import (
    Case,
    Given,
    exactly,
    floats,
    integers,
    one_hot,
    shares,
    uniform,
    whole,
)

HALVES = uniform(0, 1)


def signs(*shape: int) -> Given:
    return Given(shape, whole(0, 2))


def bounds(*values: float) -> Given:
    return Given((len(values),), exactly(*values))


def _thresholds() -> list[Case]:
    many = bounds(*(k / 40 for k in range(41)))
    ties = Given((17, 4), lambda rng, shape: rng.integers(0, 4, shape) / 4)
    cases: dict[str, tuple[dict[str, Given], dict[str, object], tuple[int, ...]]] = {
        "one": ({"p": floats(17, 1, make=HALVES), "t": signs(17, 1)}, {}, (1, 2)),
        "pictures": ({"p": floats(3, 5, 7, 2, make=HALVES), "t": signs(3, 5, 7, 2)}, {}, (1, 2)),
        "classes": (
            {"p": Given((17, 4), shares), "t": Given((17, 4), one_hot)}, {"by_class": True}, (4, 2),
        ),
        "only": ({"p": floats(17, 4, make=HALVES), "t": signs(17, 4)}, {"class_id": 2}, (1, 2)),
        "largest": ({"p": ties, "t": Given((17, 4), one_hot)}, {"top_k": 2}, (1, 2)),
    }  # fmt: skip
    found = []
    for name, (operands, attrs, shape) in cases.items():
        for end, thresholds in (("", bounds(0.25, 0.5)), ("-many", many)):
            counts = (*shape, thresholds.shape[0] + 1)
            given = {**operands, "thresholds": thresholds}
            counted = {**given, "counts": integers(*counts, high=9)}
            found.append(Case("THRESHOLD_COUNTS", name + end, counted, attrs))
    return found


def _confusion() -> list[Case]:
    p, counts = floats(17, 5), integers(5, 5, high=9)
    outside = Given((17,), whole(-1, 7), DType.int32)
    large = Given((3, 40, 40, 2), shares)
    return [
        Case("CONFUSION", "indices", {"p": p, "t": integers(17, high=5), "counts": counts}),
        Case("CONFUSION", "outside", {"p": p, "t": outside, "counts": counts}, {"ignore": 2}),
        Case("CONFUSION", "rows", {"p": p, "t": Given((17, 5), one_hot), "counts": counts}),
        Case(
            "CONFUSION",
            "pictures",
            {"p": large, "t": integers(3, 40, 40, high=2), "counts": integers(2, 2, high=9)},
        ),
    ]


def pair(*shape: int) -> Given:
    """Sums, and parts of them that rounding took."""
    size = np.array([1.0, 1e-7]).reshape(2, *(1 for _ in shape))
    return Given((2, *shape), lambda rng, whole_shape: rng.uniform(1, 9, whole_shape) * size)


def _weighted() -> list[Case]:
    weights, positions = floats(17, make=HALVES), floats(3, 5, make=HALVES)
    p, t, thresholds = floats(17, 4, make=HALVES), signs(17, 4), bounds(0.25, 0.5, 0.75)
    given = {"p": p, "t": t, "thresholds": thresholds, "weights": weights}
    images = {"p": floats(3, 5, 7, 2), "t": integers(3, 5, 7, high=2), "weights": positions}
    return [
        Case("THRESHOLD_COUNTS", "weights", {**given, "counts": pair(1, 2, 4)}),
        Case(
            "THRESHOLD_COUNTS", "class-weights", {**given, "counts": pair(4, 2, 4)},
            {"by_class": True, "top_k": 3},
        ),
        Case("CONFUSION", "weights", {**images, "counts": pair(2, 2)}),
    ]  # fmt: skip


def _sums() -> list[Case]:
    found = []
    for square in (False, True):
        attrs, end = {"square": square}, "-squares" * square
        rows = {"x": floats(17, 3), "sums": pair(4)}
        weights = floats(17, make=HALVES)
        found += [
            Case("ACCUMULATE", "rows" + end, rows, attrs),
            Case("ACCUMULATE", "pixels" + end, {"x": floats(3, 40, 9, 2), "sums": pair(3)}, attrs),
            Case("ACCUMULATE", "weights" + end, {**rows, "weights": weights}, attrs),
        ]
    return found


CASES = [*_thresholds(), *_confusion(), *_weighted(), *_sums()]
