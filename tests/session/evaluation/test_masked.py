"""Masked positions, and those of weight 0, are not measured: against plain NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.optim.losses import MeanSquaredError
from studio.engine.train.devices import open_backend
from studio.engine.train.network.measures import (
    PositionClassification,
    Regression,
    classify,
    counting,
    regress,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from studio.session.evaluation.results import Choice, Results, measure
from tests.session.evaluation.masked import masked_sequences


@pytest.fixture(params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def measured(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Task, Results, Results, list]:
    """The task, its training part measured alone and beside a training, and both outputs."""
    task = Task.of_project(Project.load(masked_sequences(tmp_path)))
    part = task.training
    assert part is not None
    with (
        open_backend(request.param) as device,
        Trained.of_weights(task, device.backend, initial_weights(task.graph, 0)) as trained,
    ):
        alone = measure(trained, "training", lambda _done, _all: None)
        beside = measure(trained, "training", lambda _done, _all: None, beside_training=True)
        return task, alone, beside, trained.predict_all(list(part.inputs))


@pytest.mark.slow
def test_masked_positions_do_not_count_in_classes(measured):
    task, results, beside, (shares, _level) = measured
    part, outcome = task.training, results.outcome
    assert isinstance(outcome, PositionClassification)
    counts = (np.asarray(part.inputs[0]) != 0).any(axis=-1)
    assert 0 < counts.sum() < counts.size
    truth, said = part.targets[0], shares.argmax(axis=-1)
    wanted = np.zeros((3, 3), int)
    for row, column in zip(truth[counts], said[counts], strict=True):
        wanted[row, column] += 1
    np.testing.assert_array_equal(outcome.confusion(), wanted)
    right = (truth == said)[counts].mean()
    assert outcome.accuracy == pytest.approx(right)
    assert results.metrics["tags_accuracy"] == pytest.approx(right, rel=1e-5)
    assert beside.metrics["tags_accuracy"] == pytest.approx(right, rel=1e-5)
    of_truth = np.take_along_axis(shares, truth[..., None].astype(int), -1)[..., 0]
    loss = -np.log(of_truth[counts].astype(np.float64)).mean()
    assert outcome.mean_loss == pytest.approx(loss, rel=1e-5)
    assert results.metrics["tags_loss"] == pytest.approx(loss, rel=1e-4)
    kept = Choice(truth=0, predicted=1, order="as in the data").indices(outcome)
    cell = ((truth == 0) & (said == 1) & counts).any(axis=1)
    np.testing.assert_array_equal(kept, np.flatnonzero(cell))
    empty = np.flatnonzero(~counts.any(axis=1))
    assert len(empty)
    assert np.isnan(outcome.right[empty]).all()
    assert not outcome.wrong[empty].any()
    assert (outcome.losses[empty] == 0).all()


@pytest.mark.slow
def test_positions_of_weight_0_do_not_count_in_numbers(measured):
    task, results, _beside, (_shares, level) = measured
    part, outcome = task.training, results.outcomes[1]
    assert isinstance(outcome, Regression)
    counts = (np.asarray(part.inputs[0]) != 0).any(axis=-1) & (part.weights[1] > 0)
    error = (level - part.targets[1])[..., 0][counts].astype(np.float64)
    truth = part.targets[1][..., 0]
    means = np.array([truth[own, n].mean() for n, own in enumerate(counts.T)])
    spread = np.square((truth - means)[counts]).sum()
    assert outcome.measures() == pytest.approx({
        "mean absolute error": np.abs(error).mean(),
        "root mean square error": np.sqrt(np.square(error).mean()),
        "largest error": np.abs(error).max(),
        "fraction of variance explained (R²)": 1 - np.square(error).sum() / spread,
    }, rel=1e-5)  # fmt: skip
    assert outcome.mean_loss == pytest.approx(np.square(error).mean(), rel=1e-5)
    for sample in (0, 5):
        own = (level - part.targets[1])[sample, :, 0][counts[sample]]
        assert outcome.losses[sample] == pytest.approx(np.square(own).mean(), rel=1e-5)


def test_samples_of_weight_0_do_not_count():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    own = counting(None, np.array([1.0, 0.0, 0.5]))
    found = classify(shares, np.array([0, 0, 0]), ("a", "b"), logits=False, counts=own)
    assert found.accuracy == 0.5
    np.testing.assert_array_equal(found.confusion(), [[1, 1], [0, 0]])
    np.testing.assert_array_equal(found.wrong, [False, False, True])
    rows = regress(np.array([[1.0], [9.0], [2.0]]), np.zeros((3, 1)), MeanSquaredError(), own)
    assert rows.measures()["largest error"] == 2.0
    assert rows.mean_loss == 2.5


def test_where_nothing_counts_nothing_is_measured():
    nothing = counting(np.zeros(3, bool), None)
    found = classify(np.eye(3), np.arange(3), ("a", "b", "c"), logits=False, counts=nothing)
    assert np.isnan(found.accuracy)
    assert found.confusion().sum() == 0
    rows = regress(np.ones((3, 2)), np.zeros((3, 2)), MeanSquaredError(), nothing)
    assert all(np.isnan(value) for value in rows.measures().values())
    assert np.isnan(rows.mean_loss)


def test_a_mask_and_weights_of_different_rank_count_together():
    mask = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(
        counting(mask, np.array([1.0, 0.0])), [[True, False], [False, False]]
    )
    assert counting(np.ones((2, 2), bool), np.ones(2)) is None
