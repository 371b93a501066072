"""Statistics against naive float64 sums, and normalisations against what they promise."""

import json

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.train.data import normalization
from studio.engine.train.data.normalization import (
    Normalization,
    feature_statistics,
    make_normalization,
)


def naive(values: list[float]) -> tuple[float, float, float, float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return mean, variance**0.5, min(values), max(values)


@pytest.mark.parametrize("shape", [(40, 3), (6, 4, 5, 3), (7, 5, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int32])
def test_statistics_match_naive_sums(
    shape: tuple[int, ...], dtype: type[np.generic], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normalization, "CHUNK_ELEMENTS", 16)
    x = (np.random.default_rng(1).random(shape) * 200).astype(dtype)
    found = feature_statistics(x)
    for c in range(shape[-1]):
        values = [float(v) for v in x[..., c].ravel()]
        mean, std, low, high = naive(values)
        assert found.mean[c] == pytest.approx(mean, rel=1e-12)
        assert found.std[c] == pytest.approx(std, rel=1e-9)
        assert (found.minimum[c], found.maximum[c]) == (low, high)


def test_standard_deviation_survives_a_large_mean() -> None:
    x = (1e6 + np.array([[-1.0], [1.0]])).astype(np.float32)
    assert feature_statistics(x).std[0] == 1.0


def test_standard_gives_mean_zero_and_deviation_one() -> None:
    x = np.random.default_rng(2).normal([3, -7], [2, 0.1], (500, 2)).astype(np.float32)
    result = make_normalization("standard", x).apply(x).astype(np.float64)
    np.testing.assert_allclose(result.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(result.std(axis=0), 1, atol=1e-5)


@pytest.mark.parametrize(("kind", "low"), [("unit", 0.0), ("symmetric", -1.0)])
def test_ranges_reach_their_ends(kind: str, low: float) -> None:
    x = np.array([[2, -5], [6, 5], [4, 0]], np.float32)
    result = make_normalization(normalization.parse_kind(kind), x).apply(x)
    np.testing.assert_allclose(result.min(axis=0), low, atol=1e-6)
    np.testing.assert_allclose(result.max(axis=0), 1.0, atol=1e-6)


def test_stated_range_counts_before_what_occurs() -> None:
    x = np.full((3, 2, 2, 1), 8, np.uint8)
    assert make_normalization("unit", x, (0.0, 16.0)).apply(x).ravel()[0] == 0.5
    assert make_normalization("symmetric", x, (0.0, 16.0)).apply(x).ravel()[0] == 0.0


@pytest.mark.parametrize("kind", ["unit", "symmetric", "standard"])
def test_constant_feature_becomes_zero_or_the_low_end(kind: str) -> None:
    x = np.full((4, 1), 9, np.float32)
    made = make_normalization(normalization.parse_kind(kind), x)
    assert np.isfinite(made.apply(x)).all()
    assert made.apply(x)[0, 0] == 0.0


def test_none_changes_nothing() -> None:
    x = np.array([[1.5, -2]], np.float32)
    assert (make_normalization("none", x).apply(x) == x).all()


@pytest.mark.parametrize("kind", ["none", "unit", "symmetric", "standard"])
def test_json_round_trip_is_exact_and_invert_undoes_apply(kind: str) -> None:
    x = np.random.default_rng(4).normal(5, 3, (50, 3)).astype(np.float32)
    made = make_normalization(normalization.parse_kind(kind), x)
    again = Normalization.from_json(json.loads(json.dumps(made.to_json())))
    assert again.kind == kind
    assert again.scale.tobytes() == made.scale.tobytes()
    assert again.shift.tobytes() == made.shift.tobytes()
    np.testing.assert_allclose(made.invert(made.apply(x)), x, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": [1.0]}, "same length"),
        ({"scale": [0.0, 1.0]}, "no scale may be 0"),
        ({"scale": "ab"}, "scale must be a list of finite numbers"),
        ({"shift": [1.0, "2"]}, "shift must be a list of finite numbers"),
        ({"shift": [1.0, 1e300]}, "finite"),
        ({"shift": [1.0, float("nan")]}, "finite"),
        ({"shift": [1.0, 10**400]}, "finite"),
        ({"shift": [1.0, True]}, "finite"),
        ({"kind": "weird"}, "unknown normalisation"),
    ],
)
def test_malformed_descriptors_are_refused(changes: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {"kind": "unit", "scale": [1.0, 2.0], "shift": [0.0, 0.0]}
    with pytest.raises((DataError, ParameterError), match=message):
        Normalization.from_json(fields | changes)


def test_statistics_of_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="need samples"):
        feature_statistics(np.zeros((0, 3), np.float32))
