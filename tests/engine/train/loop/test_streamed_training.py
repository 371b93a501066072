"""Training on samples that stay in their files: the same bits, and clear words when these go."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.data.stored_rows import StoredRows
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.network.programs import Programs
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.train.small_tasks import equal_bytes

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

N, SIZE = 1500, 30
FLIP = [{"type": "Flip"}, {"type": "Shift"}, {"type": "Noise"}]
# A set of 1.35 MB; streamed, its shards have 4 batches of 16.
MEMORY = 1


def network(shape: tuple[int, ...] = (SIZE, SIZE, 1)) -> LayerGraph:
    graph = LayerGraph("small")
    x = graph.add(Flatten(), graph.add(Input(shape)))
    x = graph.add(Dense(4, "tanh"), x)
    graph.outputs = (graph.add(Dense(3, "softmax"), x),)
    return graph


@pytest.fixture
def folder(rng: np.random.Generator, tmp_path: Path) -> Path:
    """Pictures with classes as two .npy files, and as one archive."""
    y = rng.integers(0, 3, N)
    x = (rng.integers(0, 120, (N, SIZE, SIZE)) + 40 * y[:, None, None]).astype(np.uint8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "set.npz", x=x, y=y)
    return tmp_path


PAIR = {"source": "npz", "x": "x.npy", "y": "y.npy"}
ARCHIVE = {"source": "npz", "path": "set.npz"}


def project_in(
    folder: Path, data: Mapping[str, object], memory: int, **training: object
) -> Project:
    data = {**data, "normalization": "standard", **({"memory": memory} if memory else {})}
    settings = {"epochs": 2, "batch_size": 16, "seed": 5, **training}
    made = Project.new("small", network(), data, settings)
    made.save(folder / "small.glassbox")
    return Project.load(folder / "small.glassbox")


def trained(made: Project, backend: Backend) -> tuple[TrainingResult, dict[str, np.ndarray], bool]:
    """What came of a training, its weights, and whether its samples stayed in their files."""
    task = Task.of_project(made)
    with Trainer(task, backend, clock=lambda: 0.0) as trainer:
        result = trainer.run()
        resident = trainer.loop.feeder.plan.is_resident
        stays = isinstance(task.training_samples().inputs[0], StoredRows)
        assert stays is not resident
        return result, dict(trainer.read_weights()), stays


def same_training(
    folder: Path, data: Mapping[str, object], backend: Backend, **more: object
) -> None:
    """Trains in files and in memory, and compares every number of the two."""
    ours = trained(project_in(folder, data, MEMORY, **more), backend)
    theirs = trained(project_in(folder, data, 0, **more), backend)
    assert (ours[2], theirs[2]) == (True, False)
    assert equal_bytes(ours[1], theirs[1])
    assert ours[0].history == theirs[0].history
    assert ours[0].history["loss"][-1] < ours[0].history["loss"][0]


@pytest.mark.parametrize(
    ("data", "more"),
    [
        pytest.param(PAIR, {}, id="pair"),
        pytest.param(ARCHIVE, {"shuffle": False}, id="in order", marks=pytest.mark.slow),
        pytest.param({**ARCHIVE, "augment": FLIP}, {}, id="augmented", marks=pytest.mark.slow),
        pytest.param(
            PAIR,
            {"batch_size": 37, "validation": "random", "class_weights": "balanced"},
            id="validated",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_training_from_files_is_the_same_to_the_last_bit(
    folder: Path, cpu: Backend, data: Mapping[str, object], more: Mapping[str, object]
) -> None:
    same_training(folder, data, cpu, **more)


@pytest.fixture
def gl() -> Iterator[Backend]:
    with open_backend("gl") as opened:
        yield opened.backend


@pytest.mark.gl
@pytest.mark.slow
def test_opengl_trains_from_files_to_the_last_bit(folder: Path, gl: Backend) -> None:
    same_training(folder, {**PAIR, "augment": FLIP}, gl)


def test_an_augmented_program_counts_samples_where_they_stream(folder: Path) -> None:
    for memory, names in ((MEMORY, {"train/order", "train/numbers"}), (0, {"train/order"})):
        made = project_in(folder, {**ARCHIVE, "augment": FLIP}, memory)
        program = Programs(Task.of_project(made)).program("train")
        found = {t.name for t in program.tensors.values() if t.name.startswith("train/")}
        assert {name for name in found if not name.endswith("step")} >= names
        assert ("train/numbers" in found) is bool(memory)


@pytest.mark.slow
def test_pictures_train_from_their_folder_to_the_last_bit_and_one_that_goes_is_named(
    rng: np.random.Generator, tmp_path: Path, cpu: Backend
) -> None:
    for index in range(60):
        path = tmp_path / "set" / "abc"[index % 3] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = rng.integers(0, 120, (96, 96, 3)) + 40 * (index % 3)
        Image.fromarray(picture.astype(np.uint8)).save(path)
    data = {"source": "images", "path": "set", "normalization": "unit"}

    def made(memory: int) -> Project:
        own = {**data, **({"memory": memory} if memory else {})}
        settings = {"epochs": 2, "batch_size": 4, "data_budget": 64}
        project = Project.new("small", network((96, 96, 3)), own, settings)
        project.save(tmp_path / "small.glassbox")
        return Project.load(tmp_path / "small.glassbox")

    ours, theirs = trained(made(MEMORY), cpu), trained(made(0), cpu)
    assert (ours[2], theirs[2]) == (True, False)
    assert equal_bytes(ours[1], theirs[1])

    class Remove(Callback):
        def on_train_batch_end(self, step: int, logs: Mapping[str, float]) -> None:
            if step == 3:
                for path in (tmp_path / "set" / "b").iterdir():
                    path.unlink()

    kept = made(MEMORY)
    run = RunFolder.create(kept)
    with (
        Trainer(Task.of_project(kept), cpu, run=run, callbacks=[Remove()]) as trainer,
        pytest.raises(DataError, match="the image is no longer there") as caught,
    ):
        trainer.run()
    assert caught.value.who.startswith("set/b/")


@pytest.mark.slow
def test_a_run_on_files_resumes_anywhere(folder: Path, cpu: Backend) -> None:
    """Stopped in the middle of a shard, resumed, it ends as the training in memory does."""
    whole = trained(project_in(folder, PAIR, 0, epochs=2), cpu)[1]
    made = project_in(folder, PAIR, MEMORY, epochs=2)
    run = RunFolder.create(made)

    class Stop(Callback):
        def on_train_batch_end(self, step: int, logs: Mapping[str, float]) -> None:
            if step == 30:
                trainer.control.stop()

    task = Task.of_project(made)
    with Trainer(task, cpu, run=run, callbacks=[Stop()], clock=lambda: 0.0) as trainer:
        first = trainer.run()
    assert first.steps < 2 * 75
    last = run.last_checkpoint()
    assert last is not None
    with Trainer(Task.of_project(made), cpu, run=run, clock=lambda: 0.0) as trainer:
        trainer.resume(last)
        trainer.run()
        assert equal_bytes(dict(trainer.read_weights()), whole)


def truncate(folder: Path, _: pytest.MonkeyPatch) -> None:
    os.truncate(folder / "x.npy", 100_000)


def overwrite(folder: Path, _: pytest.MonkeyPatch) -> None:
    with (folder / "x.npy").open("r+b") as file:
        file.seek(5_000)
        file.write(bytes(100))
    os.utime(folder / "x.npy", ns=(1, 1))


def break_disk(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (truncate, "cut short|was changed"),
        (overwrite, "was changed while it was in use"),
        (break_disk, "cannot be read: Input/output error"),
    ],
)
def test_data_that_goes_in_the_middle_ends_the_run_in_a_sentence_and_keeps_it(
    folder: Path, cpu: Backend, monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[Path, pytest.MonkeyPatch], None], words: str,
) -> None:  # fmt: skip
    made = project_in(folder, PAIR, MEMORY, epochs=4)
    run = RunFolder.create(made)
    content = (folder / "x.npy").read_bytes()

    class Harm(Callback):
        def on_epoch_end(self, epoch: int, logs: Mapping[str, float]) -> None:
            if epoch == 1:
                harm(folder, monkeypatch)

    with (
        Trainer(Task.of_project(made), cpu, run=run, callbacks=[Harm()]) as trainer,
        pytest.raises(DataError, match=words) as caught,
    ):
        trainer.run()
    assert caught.value.who == "x.npy"
    assert "\n" not in caught.value.message
    last = run.last_checkpoint()
    assert last is not None
    # The data is put right, and the run goes on from there.
    monkeypatch.undo()
    (folder / "x.npy").write_bytes(content)
    task = Task.of_project(made)
    with Trained.of_run(run, cpu) as kept:
        assert np.isfinite(kept.evaluate()["loss"])
    with Trainer(task, cpu, run=run) as trainer:
        trainer.resume(last)
        assert trainer.run().steps == 4 * task_steps(task)


def task_steps(task: Task) -> int:
    return -(-len(task.training_samples()) // 16)


def test_a_network_is_measured_and_asked_from_files(folder: Path, cpu: Backend) -> None:
    made = project_in(folder, PAIR, MEMORY)
    task = Task.of_project(made)
    resident = Task.of_project(project_in(folder, PAIR, 0))
    samples, theirs = task.training_samples(), resident.training_samples()
    with Trainer(task, cpu) as trainer:
        network = trainer.trained()
        np.testing.assert_array_equal(
            network.predict_all(samples.inputs)[0], network.predict_all(theirs.inputs)[0]
        )
        assert network.evaluate(samples) == network.evaluate(theirs)


@pytest.mark.parametrize("memory", [-1, 1.5, True, "1", 1 << 40])
def test_a_budget_that_is_none_is_refused(folder: Path, memory: object) -> None:
    with pytest.raises(DataError, match="memory: expected a whole number of MiB"):
        Project.new("small", network(), {**PAIR, "memory": memory}, {})


def test_the_budget_is_saved_with_the_data_and_changes_no_reference(folder: Path) -> None:
    made = project_in(folder, PAIR, 3)
    assert made.data is not None
    assert made.data.to_json()["memory"] == 3
    assert "memory" not in made.data.reference
    assert made.data.limits.resident_bytes == 3 << 20
    assert "memory" not in replace(made.data, memory=0).to_json()
