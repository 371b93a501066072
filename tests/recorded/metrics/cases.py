"""Metrics that count over an epoch: data, options, and what Keras is given for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROWS, BATCH = 53, 16
"""The last batch of an epoch is shorter than the others."""


def data(kind: str) -> tuple[Array, Array]:
    """Predictions and targets of all rows."""
    rng = np.random.default_rng(sum(kind.encode()))
    if kind == "numbers":
        t = rng.normal(2.0, (1.0, 5.0, 20.0), (ROWS, 3)).astype(np.float32)
        return (t + rng.normal(0, 1, t.shape)).astype(np.float32), t
    shape = {"one": (ROWS, 1), "labels": (ROWS, 4), "mask": (ROWS, 5, 3, 1)}.get(kind, (ROWS, 4))
    if kind in ("one", "labels", "mask"):
        t = rng.integers(0, 2, shape).astype(np.float32)
        p = (t * 0.3 + rng.uniform(0, 0.7, shape)).astype(np.float32)
        return p, t
    scores = rng.uniform(0.05, 1, shape)
    classes = rng.integers(0, 4, ROWS)
    scores[np.arange(ROWS), classes] += 0.3
    p = (scores / scores.sum(-1, keepdims=True)).astype(np.float32)
    if kind == "indices":
        return p, classes.astype(np.int32)
    return p, np.eye(4, dtype=np.float32)[classes]


def batches(p: Array, t: Array) -> Iterator[tuple[Array, Array]]:
    for first in range(0, ROWS, BATCH):
        yield p[first : first + BATCH], t[first : first + BATCH]


@dataclass(frozen=True)
class MetricCase:
    """A metric on data; ``keras`` holds options that only Keras has."""

    name: str
    metric: str
    kind: str
    config: dict[str, Any] = field(default_factory=dict)
    keras: dict[str, Any] = field(default_factory=dict)


CASES = [
    MetricCase("precision", "Precision", "one"),
    MetricCase("precision_strict", "Precision", "one", {"thresholds": 0.6}),
    MetricCase("precision_labels", "Precision", "labels"),
    MetricCase("precision_class", "Precision", "labels", {"class_id": 2, "thresholds": 0.4}),
    MetricCase("precision_top", "Precision", "rows", {"top_k": 2}),
    MetricCase("precision_none", "Precision", "one", {"thresholds": 1.0}),
    MetricCase("recall", "Recall", "one"),
    MetricCase("recall_top_class", "Recall", "rows", {"top_k": 1, "class_id": 1}),
    MetricCase("recall_mask", "Recall", "mask", {"thresholds": 0.3}),
    MetricCase("f1_macro", "F1Score", "rows", {"average": "macro"}),
    MetricCase("f1_micro", "F1Score", "rows", {"average": "micro"}),
    MetricCase("f1_weighted", "F1Score", "labels", {"average": "weighted", "threshold": 0.5}),
    MetricCase("f1_one", "F1Score", "one", {"average": "macro", "threshold": 0.4}),
    MetricCase("auc", "AUC", "one"),
    MetricCase("auc_coarse", "AUC", "one", {"num_thresholds": 7}),
    MetricCase("auc_points", "AUC", "one", {"thresholds": [0.2, 0.35, 0.5, 0.8]}),
    MetricCase("auc_minoring", "AUC", "one", {"summation_method": "minoring"}),
    MetricCase("auc_majoring", "AUC", "mask", {"summation_method": "majoring"}),
    MetricCase("auc_pr", "AUC", "one", {"curve": "PR"}),
    MetricCase(
        "auc_pr_minoring", "AUC", "mask", {"curve": "PR", "summation_method": "minoring"}
    ),
    MetricCase("auc_labels", "AUC", "labels", {"multi_label": True}, {"num_labels": 4}),
    MetricCase("auc_pr_labels", "AUC", "labels", {"multi_label": True, "curve": "PR"}),
    MetricCase("auc_logits", "AUC", "one", {"from_logits": True}),
    MetricCase("binary_iou", "BinaryIoU", "one"),
    MetricCase("binary_iou_mask", "BinaryIoU", "mask", {"threshold": 0.3}),
    MetricCase("binary_iou_positive", "BinaryIoU", "mask", {"target_class_ids": [1]}),
    MetricCase(
        "mean_iou", "MeanIoU", "indices", {"num_classes": 4}, {"sparse_y_pred": False}
    ),
    MetricCase(
        "mean_iou_ignore", "MeanIoU", "indices", {"num_classes": 4, "ignore_class": 1},
        {"sparse_y_pred": False},
    ),
    MetricCase(
        "mean_iou_rows", "MeanIoU", "rows", {"num_classes": 4},
        {"sparse_y_pred": False, "sparse_y_true": False},
    ),
    MetricCase("r2", "R2Score", "numbers"),
    MetricCase(
        "r2_variance", "R2Score", "numbers", {"class_aggregation": "variance_weighted_average"}
    ),
    MetricCase("r2_adjusted", "R2Score", "numbers", {"num_regressors": 5}),
]  # fmt: skip
