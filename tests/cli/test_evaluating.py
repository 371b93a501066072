"""``evaluate``: scores of classes against plain counting, best and last weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.train.devices import open_backend
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Answer

CPU = ("--backend", "cpu")


def said_of_test(run: str) -> tuple[np.ndarray, np.ndarray]:
    """Outputs for the test part, and its targets."""
    with open_backend("cpu") as device, Trained.of_run(RunFolder(Path(run)), device.backend) as net:
        assert net.task.test is not None
        targets = net.task.test.targets[0]
        assert targets is not None
        return net.predict(net.task.test.inputs[0]), np.asarray(targets)


@pytest.mark.slow
def test_scores_of_classes_are_those_counted_by_hand(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    found = glassbox("evaluate", "digits-mlp", "--json", "--top-k", "4", *CPU).json
    outputs, truth = said_of_test(found["run"])
    said = outputs.argmax(axis=1)
    (scores,) = found["scores"].values()
    for place, row in enumerate(scores["classes"]):
        hits = int(((said == place) & (truth == place)).sum())
        named, of = int((said == place).sum()), int((truth == place).sum())
        assert row["support"] == of
        assert row["precision"] == pytest.approx(hits / named if named else 0.0)
        assert row["recall"] == pytest.approx(hits / of if of else 0.0)
        assert row["f1"] == pytest.approx(2 * hits / (named + of) if named + of else 0.0)
    f1 = np.array([row["f1"] for row in scores["classes"]])
    support = np.array([row["support"] for row in scores["classes"]])
    assert scores["macro_mean"]["f1"] == pytest.approx(f1.mean())
    assert scores["weighted_mean"]["f1"] == pytest.approx((f1 * support).sum() / support.sum())
    ranked = np.argsort(-outputs, axis=1, kind="stable")[:, :4]
    hits = (ranked == truth[:, np.newaxis]).any(axis=1)
    assert scores["top_k"] == {"k": 4, "accuracy": pytest.approx(hits.mean())}
    assert scores["accuracy"] == pytest.approx(found["test"]["accuracy"])


@pytest.mark.slow
def test_the_table_of_classes_is_shown_on_request(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    plain = glassbox("evaluate", "iris", *CPU).out
    found = glassbox("evaluate", "iris", "--classes", *CPU).out
    assert "precision" not in plain
    for word in ("precision", "recall", "f1", "setosa", "macro mean", "test top-2 accuracy:"):
        assert word in found


@pytest.mark.slow
def test_best_weights_are_named_or_refused(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    best = glassbox("evaluate", "iris", "--weights", "best", "--json", *CPU).json
    assert best["weights"]["checkpoint"].endswith("best.safetensors")
    assert "expected last or best" in refused("evaluate", "iris", "--weights", "first", *CPU)
    Path(best["weights"]["checkpoint"]).unlink()
    assert "no best checkpoint" in refused("evaluate", "iris", "--weights", "best", *CPU)
    assert "last weights" in refused("evaluate", "iris", "--weights", "best", *CPU)
