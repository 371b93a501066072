"""The test page of a network whose input has an unknown length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine import Conv2D, Dense, GlobalAveragePooling2D, Input, Model, Reshape
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.runs.runs import RunList
from tests.session.training.bench import TrainingBench


@pytest.mark.slow
def test_a_file_of_another_length_is_answered(tmp_path: Path) -> None:
    x = Input((None, 4), name="tokens")
    y = Conv2D(6, (3, 1), name="conv")(Reshape((-1, 1, 4))(x))
    graph = Model(x, Dense(2, "softmax", name="head")(GlobalAveragePooling2D()(y))).graph
    values = np.random.default_rng(0).normal(size=(60, 12, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=values, y=(values.mean(axis=(1, 2)) > 0).astype(np.int32))
    data = {"source": "npz", "path": "data.npz"}
    bench = TrainingBench(tmp_path, graph, data, epochs=1, batch_size=16)
    runs = RunList(bench.model, bench.scheduler, bench.tasks, bench.errors.append)
    evaluation = EvaluationModel(bench.model, runs, bench.tasks, bench.preferences)
    try:
        runs.follow()
        bench.train()
        bench.until(lambda: evaluation.status in ("ready", "failed"))
        assert evaluation.error is None
        for length in (9, 12, 20):
            # Another file each time: the one before may still be read.
            np.save(tmp_path / f"rows{length}.npy", values[:2, :1].repeat(length, axis=1))
            evaluation.questions.ask_files([tmp_path / f"rows{length}.npy"])
            bench.until(
                lambda: evaluation.answer is not None or evaluation.questions.error is not None
            )
            assert evaluation.questions.error is None
            assert evaluation.answer is not None
            assert evaluation.answer.values.shape == (2, 2)
        np.save(tmp_path / "short.npy", values[:2, :2])
        evaluation.questions.ask_files([tmp_path / "short.npy"])
        bench.until(lambda: evaluation.questions.error is not None)
        assert "at least 3 rows" in str(evaluation.questions.error)
    finally:
        evaluation.close()
        runs.close()
        bench.close()
