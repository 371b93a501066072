"""The best and the last weights of a run, tested for real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.engine.train.devices import open_backend
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.task import Task
from studio.engine.train.runs.weights_origin import origin_of_run
from tests.engine.train.small_tasks import DIGITS
from tests.session.evaluation.test_evaluation import TestBench, digits_net


@pytest.fixture
def benches() -> Iterator[list[TestBench]]:
    made: list[TestBench] = []
    yield made
    for bench in made:
        bench.close()


@pytest.fixture
def bench(tmp_path: Path, benches: list[TestBench]) -> TestBench:
    """Its rule finds the first epoch best: the one with the largest loss."""
    rule = ModelCheckpoint(monitor="loss", mode="max")
    benches.append(TestBench(tmp_path, digits_net(), DIGITS, epochs=3, checkpoints=rule))
    benches[0].test()
    return benches[0]


def measured_on_test(bench: TestBench, file: str) -> dict[str, float]:
    """The test part measured with the tensors of a checkpoint, without the session."""
    record = bench.runs.runs[0]
    project = record.folder.project()
    task = Task.of_project(project)
    found = Checkpoint.load(record.folder.checkpoint_path(file))
    with open_backend("cpu") as device:
        trained = Trained.of_weights(task, device.backend, found.tensors)
        try:
            return trained.evaluate()
        finally:
            trained.close()


@pytest.mark.slow
def test_best_weights_are_those_of_the_best_checkpoint(bench: TestBench) -> None:
    evaluation = bench.evaluation
    last = dict(evaluation.results.metrics)
    bench.until(lambda: bool(bench.runs.runs) and not bench.runs.is_loading)
    assert evaluation.why_no_best() == ""
    evaluation.questions.ask_sample(0)
    bench.asked()
    before = evaluation.answer
    evaluation.choose_weights("best")
    bench.until(lambda: evaluation.status == "ready")
    best = dict(evaluation.results.metrics)
    assert best == pytest.approx(measured_on_test(bench, "best"), rel=1e-5)
    assert last == pytest.approx(measured_on_test(bench, "final"), rel=1e-5)
    assert best["loss"] > last["loss"]
    assert evaluation.results.origin.brief == "weights of epoch 1, best.safetensors"
    # What was asked last is asked of these weights, too.
    bench.until(lambda: evaluation.answer is not None and evaluation.answer is not before)
    assert not np.allclose(evaluation.answer.values, before.values)
    # The run remembers what its last weights reach.
    assert bench.runs.runs[0].test == pytest.approx(last)
    evaluation.choose_weights("last")
    bench.until(lambda: evaluation.status == "ready")
    assert dict(evaluation.results.metrics) == pytest.approx(last)


@pytest.mark.slow
def test_a_new_training_is_tested_with_its_last_weights(bench: TestBench) -> None:
    evaluation = bench.evaluation
    bench.until(lambda: bool(bench.runs.runs) and not bench.runs.is_loading)
    evaluation.choose_weights("best")
    bench.until(lambda: evaluation.status == "ready")
    bench.train()
    bench.until(lambda: evaluation.status == "ready")
    assert evaluation.weights == "last"
    assert "final" in evaluation.results.origin.brief


@pytest.mark.slow
def test_a_run_that_keeps_no_best_weights_says_why(
    tmp_path: Path, benches: list[TestBench]
) -> None:
    rule = ModelCheckpoint(best=False)
    bench = TestBench(tmp_path, digits_net(), DIGITS, epochs=1, checkpoints=rule)
    benches.append(bench)
    assert bench.evaluation.why_no_best() == "no training was run yet"
    bench.test()
    bench.until(lambda: bool(bench.runs.runs) and not bench.runs.is_loading)
    why = bench.evaluation.why_no_best()
    assert why == "the settings of the run keep no best checkpoint"
    bench.evaluation.choose_weights("best")
    assert bench.evaluation.weights == "last"
    with pytest.raises(DataError, match="no best checkpoint"):
        origin_of_run(bench.runs.runs[0].folder, "best")


@pytest.mark.slow
def test_a_damaged_best_checkpoint_fails_in_words_and_the_last_ones_still_work(
    bench: TestBench,
) -> None:
    evaluation = bench.evaluation
    bench.until(lambda: bool(bench.runs.runs) and not bench.runs.is_loading)
    path = bench.runs.runs[0].folder.checkpoint_path("best")
    path.write_bytes(path.read_bytes()[:100])
    evaluation.choose_weights("best")
    bench.until(lambda: evaluation.status in ("ready", "failed"))
    assert evaluation.status == "failed"
    assert isinstance(evaluation.error, StudioError)
    assert "best.safetensors" in str(evaluation.error)
    evaluation.choose_weights("last")
    bench.until(lambda: evaluation.status == "ready")
    path.unlink()
    assert evaluation.why_no_best() == "the run kept no best checkpoint"
