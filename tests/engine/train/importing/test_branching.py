"""Runs become projects, and their weights beginnings, with trainings for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError, StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.engine.train.devices import open_backend
from studio.engine.train.importing.branching import branch_path, branch_run, take_weights
from studio.engine.train.loop.resuming import resume_point
from studio.engine.train.loop.starting import begin_as_set, imported_run
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, latest_run, list_runs
from tests.engine.train.small_tasks import project as small_project


def trained(path: Path, **settings: object) -> RunFolder:
    """A run of three epochs whose rule finds the first one best."""
    rule = ModelCheckpoint(monitor="loss", mode="max")
    project = small_project(epochs=3, checkpoints=rule, optimizer="Adam", **settings)
    project.save(path)
    run = RunFolder.create(project)
    with open_backend("cpu") as device:
        trainer = Trainer(Task.of_project(project), device.backend, run=run)
        try:
            trainer.run()
        finally:
            trainer.close()
    return run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("recorded") / "small.glassbox")


@pytest.fixture
def run(recorded: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy, which a test may damage."""
    target = tmp_path / "small.runs" / recorded.name
    shutil.copytree(recorded.path, target)
    shutil.copy2(recorded.path.parent.with_suffix(".glassbox"), tmp_path / "small.glassbox")
    return RunFolder(target)


def weights_of(run: RunFolder, name: str) -> dict[str, np.ndarray]:
    found = Checkpoint.load(run.checkpoint_path(name)).tensors
    return {n: a for n, a in found.items() if n.endswith(("kernel", "bias"))}


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "file", "epochs"), [("last", "final", 3), ("best", "best", 1)])
def test_a_branch_evaluates_like_its_run_and_goes_on(
    run: RunFolder, tmp_path: Path, weights: str, file: str, epochs: int
) -> None:
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    target = branch_path(tmp_path / "small.glassbox")
    assert target.name == "small-branch.glassbox"
    branch_run(run, target, weights)  # type: ignore[arg-type]
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == before
    made = Project.load(target)
    assert made.name == "small (branch)"
    newest = latest_run(made)
    assert newest is not None
    for name, array in weights_of(newest, "final").items():
        np.testing.assert_array_equal(array, weights_of(run, file)[name])
    # It goes on where these weights were saved, state of the optimiser and all.
    point = resume_point(made)
    assert point.run.name == run.name
    assert point.checkpoint.position.epoch == epochs
    assert len(point.run.metrics()) == epochs
    assert point.run.summary()["epochs"] == epochs
    project = point.run.project().with_training(epochs=epochs + 1)
    with open_backend("cpu") as device:
        trainer = Trainer(Task.of_project(project), device.backend, run=point.run)
        try:
            trainer.resume(point.checkpoint, project=project)
            result = trainer.run()
        finally:
            trainer.close()
    assert len(result.epochs) == epochs + 1
    assert branch_path(tmp_path / "small.glassbox").name == "small-branch-2.glassbox"


@pytest.mark.slow
def test_a_branch_continued_from_the_best_weights_is_the_same_training(
    run: RunFolder, tmp_path: Path
) -> None:
    """Two epochs after the first, from the branch, have the bits of the run's own."""
    target = tmp_path / "again.glassbox"
    branch_run(run, target, "best")
    point = resume_point(Project.load(target))
    project = point.run.project()
    with open_backend("cpu") as device:
        trainer = Trainer(Task.of_project(project), device.backend, run=point.run)
        try:
            trainer.resume(point.checkpoint, project=project)
            trainer.run()
        finally:
            trainer.close()
    for name, array in weights_of(point.run, "final").items():
        np.testing.assert_array_equal(array, weights_of(run, "final")[name])
    assert [r["loss"] for r in point.run.metrics()] == [r["loss"] for r in run.metrics()]


@pytest.mark.slow
def test_a_training_begins_with_weights_that_were_taken(run: RunFolder, tmp_path: Path) -> None:
    project = Project.load(tmp_path / "small.glassbox")
    made = take_weights(run, "best", project, "my run")
    assert imported_run(project) == made
    assert made.summary()["source"] == "my run, best.safetensors"
    begun = project.with_training(begin_with="imported")
    with open_backend("cpu") as device:
        trainer = Trainer(Task.of_project(begun), device.backend)
        try:
            text = begin_as_set(trainer, begun)
            seen: list[dict[str, np.ndarray]] = []
            trainer.control.call(lambda: seen.append(trainer.read_weights()))
            trainer.run()
        finally:
            trainer.close()
    assert text.startswith("beginning with the weights of my run, best.safetensors")
    for name, array in weights_of(run, "best").items():
        np.testing.assert_array_equal(seen[0][name], array)


@pytest.mark.slow
def test_without_weights_a_branch_has_no_run(run: RunFolder, tmp_path: Path) -> None:
    target = tmp_path / "plain.glassbox"
    branch_run(run, target, None)
    assert list_runs(Project.load(target)) == []
    assert Project.load(target).training.begin_with == "fresh"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["settings", "best", "no best", "no graph"])
def test_damage_is_refused_and_leaves_nothing_behind(
    run: RunFolder, tmp_path: Path, damage: str
) -> None:
    best = run.checkpoint_path("best")
    if damage == "settings":
        (run.path / "settings.json").write_bytes(b"{")
    elif damage == "best":
        best.write_bytes(best.read_bytes()[:200])
    elif damage == "no best":
        best.unlink()
    else:
        document = run.project().to_json()
        document["graph"] = {"name": "empty", "nodes": [], "outputs": []}
        run.write_json("settings.json", document)
    before = sorted(path.name for path in tmp_path.iterdir())
    runs = sorted(path.name for path in run.path.parent.iterdir())
    with pytest.raises(StudioError):
        branch_run(run, tmp_path / "made.glassbox", "best")
    if damage in ("best", "no best"):
        with pytest.raises((FormatError, DataError)):
            take_weights(run, "best", Project.load(tmp_path / "small.glassbox"))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert sorted(path.name for path in run.path.parent.iterdir()) == runs


@pytest.mark.slow
def test_a_project_that_is_there_is_not_replaced(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is a project of that name"):
        branch_run(run, tmp_path / "small.glassbox", "last")
