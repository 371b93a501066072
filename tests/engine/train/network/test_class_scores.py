"""Scores of classes against scikit-learn's definitions, sample by sample in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from studio.engine.optim.losses import BinaryCrossentropy
from studio.engine.train.network.class_scores import ClassScores
from studio.engine.train.network.measures import Classification, classify, tell_labels


def expected(truth: list[int], said: list[int], classes: int) -> list[tuple[float, float, float]]:
    """Precision, recall and F1 of each class: true and false positives counted one by one."""
    found = []
    for one in range(classes):
        pairs = list(zip(truth, said, strict=True))
        hits = sum(t == one and s == one for t, s in pairs)
        false_alarms = sum(t != one and s == one for t, s in pairs)
        misses = sum(t == one and s != one for t, s in pairs)
        precision = hits / (hits + false_alarms) if hits + false_alarms else 0.0
        recall = hits / (hits + misses) if hits + misses else 0.0
        both = 2 * hits + false_alarms + misses
        found.append((precision, recall, 2 * hits / both if both else 0.0))
    return found


def scored(truth: list[int], said: list[int], classes: int) -> Classification:
    shares = np.eye(classes)[said] * 0.8 + 0.2 / classes
    names = tuple(f"class {n}" for n in range(classes))
    return classify(shares, np.array(truth), names, logits=False)


def cases(rng: np.random.Generator) -> dict[str, tuple[list[int], list[int], int]]:
    truth = rng.integers(0, 5, 300)
    said = np.where(rng.random(300) < 0.7, truth, rng.integers(0, 5, 300))
    return {
        "many": (truth.tolist(), said.tolist(), 5),
        "a class never predicted": ([0, 0, 1, 1, 2, 2], [0, 0, 1, 0, 1, 0], 3),
        "a class without samples": ([0, 0, 1, 1], [0, 2, 1, 1], 3),
        "a class neither": ([0, 0, 2, 2, 2], [0, 2, 2, 2, 0], 4),
        "all wrong": ([0, 1], [1, 0], 2),
        "all right": ([0, 1, 1], [0, 1, 1], 2),
    }


@pytest.mark.parametrize("name", list(cases(np.random.default_rng(0))))
def test_scores_and_means_are_those_of_the_definitions(name: str, rng: np.random.Generator) -> None:
    truth, said, classes = cases(rng)[name]
    rows = list(scored(truth, said, classes).scores.rows())
    wanted = expected(truth, said, classes)
    for place, (row, scores) in enumerate(zip(rows, wanted, strict=True)):
        assert (row.precision, row.recall, row.f1) == pytest.approx(scores)
        assert row.support == truth.count(place)
        assert row.predicted == said.count(place)
    macro, weighted = scored(truth, said, classes).scores.means()
    # Classes that neither occur nor are predicted are none of the labels.
    labels = sorted({*truth, *said})
    picks: tuple[Callable[[tuple[float, float, float]], float], ...] = (
        lambda s: s[0], lambda s: s[1], lambda s: s[2],
    )  # fmt: skip
    for pick, mean, heavy in zip(
        picks,
        (macro.precision, macro.recall, macro.f1),
        (weighted.precision, weighted.recall, weighted.f1),
        strict=True,
    ):
        assert mean == pytest.approx(sum(pick(wanted[n]) for n in labels) / len(labels))
        supported = sum(pick(wanted[n]) * truth.count(n) for n in labels) / len(truth)
        assert heavy == pytest.approx(supported)


def test_what_does_not_count_is_left_out() -> None:
    names = ("a", "b")
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    counts = np.array([True, True, False])
    found = classify(shares, np.array([0, 1, 1]), names, logits=False, counts=counts)
    assert [row.f1 for row in found.scores.rows()] == [1.0, 1.0]
    assert found.top_k(1) == 1.0


def test_no_samples_have_scores_of_zero_and_no_accuracy() -> None:
    empty = ClassScores.of_confusion(("a", "b"), np.zeros((2, 2), np.int64))
    assert [row.f1 for row in empty.means()] == [0.0, 0.0]
    nothing = np.zeros(2, bool)
    found = classify(np.eye(2), np.arange(2), ("a", "b"), logits=False, counts=nothing)
    assert np.isnan(found.top_k(1))
    assert [row.occurs for row in found.scores.rows()] == [False, False]


def test_top_k_is_the_share_found_among_the_first_k_of_a_stable_sort(
    rng: np.random.Generator,
) -> None:
    # Few different shares: ties are everywhere.
    shares = rng.integers(1, 4, (400, 6)).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    truth = rng.integers(0, 6, 400)
    found = classify(shares, truth, tuple("abcdef"), logits=False)
    for k in range(1, 7):
        hits = 0
        for row, right in zip(shares, truth, strict=True):
            ranked = sorted(range(6), key=lambda n: (-row[n], n))
            hits += right in ranked[:k]
        assert found.top_k(k) == pytest.approx(hits / 400)
    assert found.top_k(1) == found.accuracy
    assert found.top_k(6) == 1.0


def test_a_tie_goes_to_the_class_listed_first() -> None:
    shares = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]])
    found = classify(shares, np.array([0, 1]), ("a", "b", "c"), logits=False)
    assert found.predicted.tolist() == [0, 0]
    assert found.ranks.tolist() == [0, 1]
    assert (found.top_k(1), found.top_k(2)) == (0.5, 1.0)


def test_a_share_that_is_no_number_ranks_last() -> None:
    shares = np.array([[np.nan, 0.6, 0.4]])
    assert classify(shares, np.array([0]), ("a", "b", "c"), logits=False).ranks.tolist() == [2]


def test_positions_are_scored_one_by_one(rng: np.random.Generator) -> None:
    shares = rng.random((6, 4, 5, 3))
    shares /= shares.sum(axis=-1, keepdims=True)
    truth = rng.integers(0, 3, (6, 4, 5))
    found = classify(shares, truth, ("a", "b", "c"), logits=False)
    flat = classify(shares.reshape(-1, 3), truth.reshape(-1), ("a", "b", "c"), logits=False)
    assert list(found.scores.rows()) == list(flat.scores.rows())
    assert found.top_k(2) == pytest.approx(flat.top_k(2))


@pytest.mark.parametrize("logits", [False, True])
def test_labels_are_a_yes_or_no_each(rng: np.random.Generator, logits: bool) -> None:
    truth = (rng.random((50, 4)) < 0.4).astype(np.float32)
    truth[:, 3] = 0
    outputs = rng.normal(size=(50, 4)) if logits else rng.random((50, 4))
    loss = BinaryCrossentropy(from_logits=logits)
    found = tell_labels(outputs, truth, loss, logits=logits)
    said = outputs > (0.0 if logits else 0.5)
    for place, row in enumerate(found.scores.rows()):
        binary = expected(truth[:, place].astype(int).tolist(), said[:, place].tolist(), 2)[1]
        assert (row.precision, row.recall, row.f1) == pytest.approx(binary)
    macro, weighted = found.scores.means()
    # As scikit-learn does for indicators, every label is counted.
    assert macro.f1 == pytest.approx(np.mean([row.f1 for row in found.scores.rows()]))
    support = truth.sum(axis=0)
    scores = np.array([row.f1 for row in found.scores.rows()])
    assert weighted.f1 == pytest.approx((scores * support).sum() / support.sum())
    assert found.exact == pytest.approx((said == (truth > 0.5)).all(axis=1).mean())
