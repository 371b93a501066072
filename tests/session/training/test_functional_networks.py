"""Functional networks as projects: opened and trained by the window's models as Keras recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import studio.engine
from studio.engine import Model
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.philox import permutation
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import public_weights, weights_from_list
from studio.engine.train.data.splitting import (
    SPLIT_STREAM,
    random_split_indices,
    stratified_split_indices,
)
from studio.engine.train.model.keras_arguments import values_in_order
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from studio.session.core.scheduling import ManualScheduler
from studio.session.studio import Studio
from tests.recorded.functional.cases import NETWORKS, SAMPLES, TOLERANCE, Functional, starts

Array = npt.NDArray[np.generic]

RECORDED = json.loads(
    (Path(__file__).parents[2] / "recorded" / "functional" / "keras.json").read_text("utf-8")
)["networks"]
LABELS = {"mae": "mean_absolute_error", "mse": "mean_squared_error"}
HELD_OUT = 0.04
BACKENDS = ("cpu", pytest.param("gl", marks=(pytest.mark.gl, pytest.mark.slow)))


class Desk:
    """A studio whose clock the test turns."""

    def __init__(self, folder: Path, backend: str) -> None:
        self.clock = ManualScheduler()
        self.studio = Studio(self.clock, AppDirs.below(folder / "user"))
        self.studio.preferences.set("backend", backend)

    def until(self, wanted: Callable[[], object], seconds: float = 120.0) -> None:
        """Let the window's clock go on until something is so."""
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, self.studio.training.state
            self.clock.advance(0.02)
            time.sleep(0.002)


@pytest.fixture(params=BACKENDS)
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, request.param)
    yield made
    made.studio.close()


def rows_of_the_file(labels: Array | None) -> Array:
    """Which sample each row of a file repeats, so that a split leaves all samples in order.

    A project holds out a part of its samples. The file has one more row, a copy of some sample, at
    the place that is held out.
    """
    order = permutation(0, SPLIT_STREAM, 0, SAMPLES + 1)
    for copied in range(SAMPLES):
        for picked in ([copied, *range(SAMPLES)], [*range(SAMPLES), copied]):
            rows = np.empty(SAMPLES + 1, np.int64)
            rows[order] = picked
            if labels is None:
                kept, _ = random_split_indices(SAMPLES + 1, HELD_OUT, 0)
            else:
                kept, _ = stratified_split_indices(labels[rows].astype(np.int32), HELD_OUT, 0)
            if np.array_equal(rows[kept], np.arange(SAMPLES)):
                return rows
    raise AssertionError("no copy of a sample is held out")


def settings(case: Functional) -> dict[str, Any]:
    """How a project says what the case gives to compile and fit."""
    (*names,) = case.targets
    made: dict[str, Any] = {
        "epochs": case.epochs, "batch_size": case.batch, "shuffle": False,
        "optimizer": case.optimizer(studio.engine), "validation": "none",
    }  # fmt: skip
    for key in ("loss", "metrics", "loss_weights", "weighted_metrics"):
        given = case.compile.get(key)
        if given is not None and len(names) > 1 and not isinstance(given, Mapping):
            given = dict(zip(names, given, strict=True))
        if given is not None:
            # In Keras an output that is left out has no metrics, here the data chooses them.
            is_table = key == "metrics" and len(names) > 1
            made[key] = {name: [] for name in names} | given if is_table else given
    if "metrics" not in made:
        made["metrics"] = []
    if "class_weight" in case.fit:
        made["class_weights"] = {str(k): v for k, v in case.fit["class_weight"].items()}
    return made


def save_project(case: Functional, folder: Path) -> Path:
    """The case as a file of a project, its samples beside it."""
    model: Model = case.build(studio.engine)
    x, y = case.samples()
    # A split keeps the shares of the classes of the first target, by name.
    first = y[min(y)]
    rows = rows_of_the_file(first if first.dtype == np.int32 and first.ndim == 1 else None)
    arrays = {name: values[rows] for name, values in {**x, **y}.items()}
    reference: dict[str, object] = {
        "source": "arrays", "path": "samples.npz", "test_fraction": HELD_OUT,
        "inputs": dict(zip(x, x, strict=True)), "targets": dict(zip(y, y, strict=True)),
    }  # fmt: skip
    weight = case.sample_weight()
    if weight is not None:
        named = weight if isinstance(weight, Mapping) else {"weights": weight}
        stored = {name: f"weight of {name}" for name in named}
        arrays |= {stored[name]: values[rows] for name, values in named.items()}
        reference["weights"] = stored if isinstance(weight, Mapping) else stored["weights"]
    np.savez(folder / "samples.npz", **arrays)
    return Project.new("case", model.graph, reference, settings(case)).save(
        folder / "case.glassbox"
    )


def first_weights(graph: LayerGraph) -> dict[str, Array]:
    """The weights the recording began with, by tensor name."""
    names = public_weights(graph, initial_weights(graph, 0))
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for name, values in names.items():
        shapes.setdefault(name.rpartition("/")[0], []).append(values.shape)
    first = starts(shapes)
    listed = [first[layer].pop(0) for layer in (n.rpartition("/")[0] for n in names)]
    return dict(weights_from_list(graph, listed, "recorded"))


def label(name: str) -> str:
    """A name of Keras' logs as ours have it."""
    head, _, metric = name.rpartition("_")
    full = LABELS.get(metric, metric)
    return f"{head}_{full}" if head else full


@pytest.mark.parametrize("name", NETWORKS)
def test_a_project_trains_in_the_window_as_keras_recorded(
    name: str, desk: Desk, tmp_path: Path
) -> None:
    studio, case = desk.studio, NETWORKS[name]
    studio.open(save_project(case, tmp_path))
    desk.until(lambda: studio.data.summary or studio.data.error)
    assert [item.text for item in studio.problems.items if item.severity == "error"] == []
    desk.until(lambda: studio.compilation.result or studio.compilation.error)
    assert studio.compilation.error is None
    training = studio.training
    assert training.why_not_start() == ""
    training.start()
    training.pause()
    desk.until(lambda: training.state not in ("preparing", "running", "pausing"))
    assert training.state == "paused", training.error
    network, project = training.network, training.trained_project
    assert network is not None
    assert project is not None
    weights = first_weights(project.graph)

    def begin_as_recorded(trained: Trained) -> None:
        trained.network.write(weights)

    network.use(begin_as_recorded)
    training.start()
    desk.until(lambda: not training.is_busy)
    assert training.state == "finished", training.error
    curves = training.curves
    assert curves is not None
    wanted = {label(each): values for each, values in RECORDED[name]["history"].items()}
    found = {each: series.values for each, series in curves.segments[0].epochs.items()}
    assert set(wanted) <= set(found)
    for each, values in wanted.items():
        np.testing.assert_allclose(
            found[each], values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{name}: {each}"
        )
    desk.until(lambda: studio.evaluation.status in ("ready", "failed"))
    studio.evaluation.choose_part("training")
    desk.until(lambda: studio.evaluation.status in ("ready", "failed"))
    results = studio.evaluation.results
    assert results is not None, studio.evaluation.error
    measured = values_in_order(results.metrics, results.outputs)
    theirs = np.atleast_1d(RECORDED[name]["evaluate"])
    if name == "weighted metrics":
        # Keras lists the metric of a name given twice once more.
        theirs = np.delete(theirs, 2)
    np.testing.assert_allclose(measured, theirs, rtol=TOLERANCE, atol=TOLERANCE)
