"""Tables of a measurement, read back with Python's own reader."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from studio.engine.optim.losses import BinaryCrossentropy, MeanSquaredError
from studio.engine.train.network.measures import (
    Classification,
    Outcome,
    classify,
    regress,
    tell_labels,
)
from studio.engine.train.project.sample_facts import InputFacts
from studio.session.evaluation.results import Results
from studio.session.evaluation.tables import csv_of, tables_of


def results(outcome: Outcome | None) -> Results:
    rows = 3 if outcome is None else len(outcome.losses)
    return Results(
        "test", {}, (outcome,), ("out",), (np.zeros((rows, 2)),), (InputFacts(),), 0
    )  # fmt: skip


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def classified() -> Classification:
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])
    names = ('cat, "black"', "dog\nwet", "=1+1")
    counts = np.array([True, True, False])
    found = classify(shares, np.array([0, 1, 2]), names, logits=False, counts=counts)
    assert isinstance(found, Classification)
    return found


def test_the_table_of_classes_has_every_class_and_both_means() -> None:
    found = results(classified())
    rows = read(csv_of(found, "classes"))
    assert tables_of(found) == ("classes", "samples")
    assert [row["class"] for row in rows] == [
        'cat, "black"', "dog\nwet", "=1+1", "macro mean", "weighted mean",
    ]  # fmt: skip
    assert [float(row["recall"]) for row in rows] == [1.0, 0.0, 0.0, 1 / 3, 0.5]
    assert [int(row["support"]) for row in rows] == [1, 1, 0, 2, 2]


def test_the_table_of_samples_has_every_answer_with_every_digit() -> None:
    outcome = classified()
    rows = read(csv_of(results(outcome), "samples"))
    assert [row["predicted"] for row in rows] == ['cat, "black"', "=1+1", 'cat, "black"']
    assert [row["truth"] for row in rows] == ['cat, "black"', "dog\nwet", "=1+1"]
    assert [row["right"] for row in rows] == ["1", "0", "0"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert [row["counts"] for row in rows] == ["1", "1", "0"]
    for row, loss, shares in zip(rows, outcome.losses, outcome.shares, strict=True):
        assert float(row["loss"]) == loss
        assert [float(row[f"share {name}"]) for name in outcome.names] == shares.tolist()


def test_positions_numbers_and_labels_have_what_applies(rng: np.random.Generator) -> None:
    shares = rng.random((4, 5, 3))
    shares /= shares.sum(axis=-1, keepdims=True)
    places = classify(shares, rng.integers(0, 3, (4, 5)), ("a", "b", "c"), logits=False)
    rows = read(csv_of(results(places), "samples"))
    assert set(rows[0]) == {"sample", "counts", "right", "confidence", "loss"}
    truth, outputs = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    numbers = results(regress(outputs, truth, MeanSquaredError()))
    assert tables_of(numbers) == ("samples",)
    assert csv_of(numbers, "classes") == ""
    rows = read(csv_of(numbers, "samples"))
    assert [float(row["truth 1"]) for row in rows] == truth[:, 1].tolist()
    assert [float(row["predicted 0"]) for row in rows] == outputs[:, 0].tolist()
    has = np.array([[1.0, 0.0], [0.0, 1.0]])
    labels = results(tell_labels(np.array([[0.9, 0.6], [0.1, 0.2]]), has, BinaryCrossentropy(),
                                 logits=False))  # fmt: skip
    assert tables_of(labels) == ("classes", "samples")
    rows = read(csv_of(labels, "samples"))
    assert [row["predicted output 1"] for row in rows] == ["1", "0"]
    assert [float(row["truth output 0"]) for row in rows] == [1.0, 0.0]


def test_of_many_classes_the_shares_are_left_out() -> None:
    outcome = classify(np.eye(101), np.arange(101), tuple(map(str, range(101))), logits=False)
    assert "share 0" not in read(csv_of(results(outcome), "samples"))[0]


@pytest.mark.parametrize("kind", ["classes", "samples"])
def test_without_targets_there_is_no_table(kind: str) -> None:
    found = results(None)
    assert tables_of(found) == ()
    assert csv_of(found, kind) == ""
