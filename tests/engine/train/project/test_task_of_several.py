"""Tasks of projects whose data has arrays for several inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Concatenate, Dense, Flatten, Input, Model
from studio.engine.core.errors import StudioError
from studio.engine.cpu.backend import CpuBackend
from studio.engine.layers.graph import LayerGraph
from studio.engine.optim.losses import MeanSquaredError, SparseCategoricalCrossentropy
from studio.engine.train.data.shards.plan import plan_shards
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

ROWS = 60
DATA = {
    "source": "arrays",
    "path": "data.npz",
    "inputs": {"right": {"array": "pictures", "normalization": "unit"}, "left": "l"},
    "targets": {"which": "which", "size": {"array": "size", "task": "regression"}},
    "normalization": "standard",
}


def graph(*order: str, inputs: tuple[str, str] = ("left", "right"), size: int = 4) -> LayerGraph:
    """Two inputs and two outputs, outputs in an order."""
    left, right = Input((3,), name=inputs[0]), Input((size, size, 1), name=inputs[1])
    joined = Concatenate()([Dense(6, "tanh")(left), Flatten()(right)])
    ends = {
        "which": Dense(2, "softmax", name="which")(joined),
        "size": Dense(1, name="size")(joined),
    }
    return Model([left, right], [ends[name] for name in order], name="two").graph


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    left = rng.normal(3, 2, size=(ROWS, 3))
    pictures = rng.integers(0, 256, size=(ROWS, 4, 4, 1)).astype(np.uint8)
    which = np.array(["no", "yes"])[(left.sum(1) > 9).astype(int)]
    np.savez(tmp_path / "data.npz", l=left, pictures=pictures, which=which, size=left[:, 0])
    return tmp_path


def project(folder: Path, order: str = "which size", **training: object) -> Project:
    settings = {"epochs": 3, "batch_size": 16, **training}
    made = Project.new("two", graph(*order.split()), DATA, settings)
    made.save(folder / "two.glassbox")
    return Project.load(folder / "two.glassbox")


def test_arrays_go_to_inputs_and_outputs_by_name(folder: Path) -> None:
    opened = project(folder)
    assert opened.version == 2
    task = Task.of_project(opened)
    assert task.training is not None
    assert [a.shape[1:] for a in task.training.inputs] == [(3,), (4, 4, 1)]
    assert [a.dtype.name for a in task.training.targets] == ["int32", "float32"]
    left, right = task.spec.inputs
    values = task.training.inputs[0].astype(np.float64)
    np.testing.assert_allclose(left.scale, 1 / values.std(0), rtol=1e-5)
    assert right.scale == pytest.approx((1 / 255,))
    losses = SparseCategoricalCrossentropy(from_logits=False), MeanSquaredError()
    assert task.losses == losses
    assert [each.class_names for each in task.outputs] == [("no", "yes"), ()]


def weighed(folder: Path, order: str, weights: object, positions: int = 0) -> Task:
    """The task with sample weights from the archive; with ``positions``, weights of these."""
    with np.load(folder / "data.npz") as found:
        arrays = dict(found)
    shape = (ROWS, positions) if positions else (ROWS,)
    np.savez(folder / "data.npz", **{**arrays, "w": np.full(shape, 2.0), "v": np.arange(ROWS)})
    data = {**DATA, "weights": weights}
    made = Project.new("two", graph(*order.split()), data, {"epochs": 1, "batch_size": 16})
    made.save(folder / "two.glassbox")
    return Task.of_project(Project.load(folder / "two.glassbox"))


@pytest.mark.parametrize(
    ("weights", "kept"),
    [("w", [2]), ({"which": "v"}, [None, 0]), ({"which": "w", "size": "v"}, [0, 2])],
)
def test_sample_weights_are_in_the_order_of_the_outputs(
    folder: Path, weights: object, kept: list[float | None]
) -> None:
    task = weighed(folder, "size which", weights)
    assert task.training is not None
    assert task.test is not None
    firsts = [None if w is None else w.min() for w in task.training.weights]
    assert [w is None for w in firsts] == [w is None for w in kept]
    assert task.spec.sample_weights == tuple(None if w is None else () for w in kept)
    assert len(task.test.weights) == len(kept)
    other = weighed(folder, "which size", weights)
    made = task.with_network(Project.load(folder / "two.glassbox"))
    assert made.spec == other.spec
    assert made.training is not None
    assert other.training is not None
    for mine, theirs in zip(made.training.weights, other.training.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_sample_weights_of_positions_an_output_has_not_are_refused(folder: Path) -> None:
    with pytest.raises(StudioError, match=r"each sample of the output 'size' \[1\], got an array"):
        weighed(folder, "size which", {"size": "w"}, positions=3)


def test_an_edited_network_takes_the_same_data_in_its_own_order(folder: Path) -> None:
    task = Task.of_project(project(folder, class_weights="balanced"))
    other = project(folder, "size which", class_weights="balanced")
    made, whole = task.with_network(other), Task.of_project(other)
    assert made.spec == whole.spec
    assert made.losses == whole.losses
    assert made.outputs == whole.outputs
    pairs = zip(made.training_samples().arrays(), whole.training_samples().arrays(), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def test_class_weights_by_output(folder: Path) -> None:
    task = Task.of_project(project(folder, class_weights={"which": {"yes": 3.0}}))
    assert task.spec.class_weights == ((1.0, 3.0), ())
    balanced = Task.of_project(project(folder, class_weights="balanced"))
    first, second = balanced.spec.class_weights
    assert len(first) == 2
    assert second == ()
    for wrong, words in (
        ({"yes": 3.0}, "class weights by class need the output"),
        ({"size": "balanced"}, "the data has numbers as targets"),
        ({"what": "balanced"}, "class_weights: the network has no output 'what'"),
        ({"which": {"maybe": 2.0}}, "maybe"),
    ):
        with pytest.raises(StudioError) as caught:
            Task.of_project(project(folder, class_weights=wrong))
        assert words in str(caught.value)


def test_names_that_do_not_fit_the_network_are_named(folder: Path) -> None:
    opened = project(folder)
    one = Input((3,), name="left")
    for network, words in (
        (graph("which", "size", inputs=("left", "write")), "'right', which is no input of the net"),
        (graph("which"), "the data has an array for 'size', which is no output"),
        (Model(one, Dense(2, name="which")(one)).graph, "'right', which is no input"),
    ):
        with pytest.raises(StudioError, match=words):
            Task.of_project(replace(opened, graph=network))
        with pytest.raises(StudioError, match=words):
            Task.of_project(opened).with_network(replace(opened, graph=network))
    assert opened.data is not None
    fewer = {**opened.data.reference, "targets": {"which": "which"}}
    with pytest.raises(StudioError, match="no array for the output 'size'"):
        Task.of_project(replace(opened, data=replace(opened.data, reference=fewer)))
    single = replace(opened.data, reference={"source": "spirals"})
    with pytest.raises(StudioError, match="arrays for one input, the network has 2: left, right"):
        Task.of_project(replace(opened, data=single))


def test_shards_train_like_resident_data_and_runs_have_a_column_per_output(folder: Path) -> None:
    rng, rows = np.random.default_rng(1), 1500
    pictures = rng.integers(0, 256, size=(rows, 32, 32, 1)).astype(np.uint8)
    left, which = rng.normal(size=(rows, 3)), rng.integers(0, 2, rows)
    np.savez(folder / "data.npz", l=left, pictures=pictures, which=which, size=left[:, 0])
    network = graph("which", "size", size=32)
    found = []
    for budget, whole in ((1024, True), (1, False)):
        opened = Project.new("two", network, DATA, {
            "epochs": 2, "batch_size": 100, "shuffle": False, "data_budget": budget,
        })  # fmt: skip
        opened.save(folder / "two.glassbox")
        run, backend = RunFolder.create(opened), CpuBackend()
        task = Task.of_project(opened)
        feeder = plan_shards(len(task.training_samples()), 1024, budget << 20, 100)
        assert feeder.is_resident == whole
        with Trainer(task, backend, run=run) as trainer:
            found.append(trainer.run().history)
        backend.close()
        columns = set(run.metrics()[-1])
        assert {"which_loss", "size_loss", "val_size_loss", "which_accuracy"} <= columns
    assert found[0] == found[1]
