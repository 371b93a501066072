"""Every sample opens, compiles, trains to its stated accuracy, exports and runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import TOLERANCE, export_all
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.execute import execute
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.samples import open_copy, sample_names

BRIEF = {"digits-mlp": (4, 0.85), "digits-cnn": (2, 0.75), "digits-resnet": (2, 0.5)}
"""Epochs of a short training, and the test accuracy it reaches at least."""

STATED = {
    "digits-mlp": 0.96,
    "digits-cnn": 0.975,
    "digits-resnet": 0.97,
    "spirals": 0.97,
    "iris": 0.93,
}
"""What the READMEs state."""


def test_all_five_are_there() -> None:
    assert sample_names() == sorted(STATED)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STATED))
def test_a_sample_opens_trains_exports_and_runs(name: str, tmp_path: Path) -> None:
    project = Project.load(open_copy(name, tmp_path))
    epochs, least = BRIEF.get(name, (None, STATED[name]))
    project = project.with_training(epochs=epochs)
    task = Task.of_project(project)
    run = RunFolder.create(project)
    with open_backend("cpu") as device:
        with Trainer(task, device.backend, run=run) as trainer:
            trainer.run()
            measured = trainer.evaluate()
            exports = export_all(trainer.trained(), tmp_path / "out")
        assert measured["accuracy"] >= least
        assert all(export.difference <= TOLERANCE for export in exports)
        assert task.test is not None
        rows = task.test.inputs[0][:5]
        with Trained.of_run(run, device.backend) as trained:
            answers = trained.predict(rows)
            assert trained.evaluate() == pytest.approx(measured)
        found = execute(tmp_path / "out" / f"{name}.gbi", rows, device.backend)
    np.testing.assert_allclose(found, answers, atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn", "digits-resnet"])
def test_a_whole_training_reaches_what_is_stated(name: str, tmp_path: Path) -> None:
    task = Task.of_project(Project.load(open_copy(name, tmp_path)))
    assert task.test is not None
    assert task.training is not None
    share = len(task.test) / (len(task.test) + len(task.training))
    assert share == pytest.approx(0.2, abs=0.001)
    with open_backend("cpu") as device, Trainer(task, device.backend) as trainer:
        trainer.run()
        assert trainer.evaluate()["accuracy"] >= STATED[name]


@pytest.mark.slow
def test_the_demo_gives_the_same_for_the_same_seed(tmp_path: Path) -> None:
    project = Project.load(open_copy("digits-cnn", tmp_path)).with_training(epochs=1)
    task = Task.of_project(project)
    found = []
    for _ in range(2):
        with open_backend("cpu") as device, Trainer(task, device.backend) as trainer:
            result = trainer.run()
            found.append((result.history, trainer.read_weights()))
    assert found[0][0] == found[1][0]
    for name, values in found[0][1].items():
        np.testing.assert_array_equal(values, found[1][1][name])
