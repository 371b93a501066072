"""Metrics that count over an epoch, against recordings of Keras 3.15.1 in float64."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import ABSENT, BATCH, Ref, Role, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.program import Program
from studio.engine.optim.counted_metrics import CountedMetric, totals
from studio.engine.optim.metrics import Metric, metric_logged_as
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.backends import BACKENDS, opened
from tests.recorded.metrics.cases import BATCH as BATCH_ROWS
from tests.recorded.metrics.cases import CASES, MetricCase, data

RECORDED = json.loads(
    (Path(__file__).parents[2] / "recorded" / "metrics" / "keras.json").read_text(encoding="utf-8")
)["values"]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from opened(str(request.param))


def counting(
    metric: CountedMetric, p: Shape, t: Shape, dtype: DType, *, weighted: bool = False
) -> tuple[Program, list[str]]:
    """A program that counts a fed batch, and the names of its counts by port."""
    builder, names = ProgramBuilder("metric", "evaluate"), []
    refs = [
        builder.tensor("p", (BATCH, *p[1:]), role=Role.INPUT),
        builder.tensor("t", (BATCH, *t[1:]), dtype, Role.INPUT),
    ]

    weights = ABSENT
    if weighted:
        weights = builder.tensor("w", (BATCH,), role=Role.INPUT)
        refs.append(weights)

    def keep(port: str, shape: Shape, dtype: DType) -> Ref:
        names.append(port)
        return builder.tensor(port, shape, dtype, Role.METRIC, late=True)

    metric.count(builder, *refs[:2], keep, weights)
    return builder.finish(tuple(refs), ()), names


def measured(
    backend: Backend,
    metric: CountedMetric,
    p: np.ndarray,
    t: np.ndarray,
    weights: np.ndarray | None = None,
) -> float:
    """The metric after all batches, the last one shorter."""
    weighted = weights is not None
    program, names = counting(metric, p.shape, t.shape, DType.of(t.dtype), weighted=weighted)
    fed = (p, t) if weights is None else (p, t, weights)
    session = backend.open_session()
    try:
        for first in range(0, len(p), BATCH_ROWS):
            batch = [array[first : first + BATCH_ROWS] for array in fed]
            executable = backend.compile(program, session, len(batch[0]))
            for number, array in enumerate(batch):
                executable.feed(number, array)
            executable.run(1)
            executable.finish()
            executable.close()
        return metric.value({name: totals(session.read(name).result(60)) for name in names})
    finally:
        session.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_epoch_gives_what_keras_gives(backend: Backend, case: MetricCase) -> None:
    metric = Metric.resolve({"type": case.metric, "config": case.config})
    assert isinstance(metric, CountedMetric)
    found = measured(backend, metric, *data(case.kind))
    assert found == pytest.approx(RECORDED[case.name], rel=2e-6, abs=1e-7)


REFUSED = [
    ("auc", (8, 10), (8, 10), "auc takes one probability of yes, the output has 10 numbers"),
    ("precision", (8, 10), (8,), "precision compares rows of numbers"),
    ({"type": "Recall", "config": {"class_id": 10}}, (8, 10), (8, 10), "recall has no class 10"),
    ("f1_score", (8, 1), (8, 1), "f1_score needs a threshold for one output"),
    ("mean_iou", (8, 1), (8, 1), "mean_iou takes a number for each of 2 or more classes"),
    ("r2_score", (8, 10), (8,), "r2_score compares numbers"),
    ("binary_iou", (8, 10), (8,), "binary_iou compares rows of numbers"),
]


@pytest.mark.parametrize(("given", "p", "t", "words"), REFUSED)
def test_an_output_that_does_not_fit_is_refused_by_name(
    given: object, p: Shape, t: Shape, words: str
) -> None:
    metric = Metric.resolve(given)
    assert isinstance(metric, CountedMetric)
    assert not metric.fits(p, t)
    dtype = DType.int32 if len(t) < len(p) else DType.float32
    with pytest.raises(ParameterError, match=words):
        counting(metric, p, t, dtype)


@pytest.mark.parametrize("name", ["val_auc", "out_f1_score", "mean_iou", "val_r2_score"])
def test_a_log_name_leads_back_to_its_metric(name: str) -> None:
    found = metric_logged_as(name)
    assert found is not None
    assert name.endswith(found.logged_as())
    assert found.more_is_better


def test_targets_far_from_zero_keep_their_digits(backend: Backend) -> None:
    """Here float32 sums, which Keras has, are off by 2 % of the score."""
    metric = Metric.resolve("r2_score")
    assert isinstance(metric, CountedMetric)
    p, t = data("numbers")
    p, t = p + np.float32(1000), t + np.float32(1000)
    wide, true = p.astype(np.float64), t.astype(np.float64)
    errors, around = ((true - wide) ** 2).sum(0), ((true - true.mean(0)) ** 2).sum(0)
    found = measured(backend, metric, p, t)
    assert found == pytest.approx((1 - errors / around).mean(), abs=1e-7)


@pytest.mark.parametrize("given", ["precision", "f1_score", "mean_iou", "r2_score"])
def test_weights_of_0_leave_entries_out_and_whole_ones_repeat_them(
    backend: Backend, given: str
) -> None:
    metric = Metric.resolve(given)
    assert isinstance(metric, CountedMetric)
    p, t = data("numbers" if given == "r2_score" else "rows")
    times = np.random.default_rng(2).integers(0, 3, len(p))
    repeated = np.repeat(p, times, axis=0), np.repeat(t, times, axis=0)
    wanted = measured(backend, metric, *repeated)
    found = measured(backend, metric, p, t, times.astype(np.float32))
    assert found == pytest.approx(wanted, rel=1e-6)
