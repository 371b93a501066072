"""Augmentation of several inputs: all images change alike, and targets of places follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import CompileError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

ROWS = 24
TARGETS = {"first": "mask", "second": "picture", "flat": "flat"}
BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


def task(folder: Path, augment: list[object], **changes: Any) -> Task:
    """Each output says what its image is; the targets are that image, as classes and numbers."""
    rng = np.random.default_rng(3)
    images = rng.integers(0, 2, (ROWS, 4, 6, 1))
    np.savez(
        folder / "images.npz", row=rng.normal(size=(ROWS, 3)), image=images.astype(np.float32),
        mask=images[..., 0].astype(np.int32), picture=images.astype(np.float32),
        flat=images.reshape(ROWS, -1).astype(np.float32), weight=images[..., 0] + 0.5,
    )  # fmt: skip
    graph = LayerGraph("images")
    same = {"use_bias": False, "kernel_initializer": "ones"}
    graph.add(Input([3], name="row"), node_id="row")
    for name, image in (("first", "a"), ("second", "b")):
        graph.add(Input([4, 6, 1], name=image), node_id=image)
        graph.add(Dense(1, name=name, **same), image, node_id=name)
    graph.add(Flatten(name="flat"), "first", node_id="flat")
    graph.outputs = (Port("first"), Port("second"), Port("flat"))
    data = {
        "source": "arrays", "path": "images.npz", "augment": augment,
        "inputs": {"row": "row", "a": "image", "b": "image"}, "targets": TARGETS, **changes,
    }  # fmt: skip
    training = {"loss": "mse", "metrics": [], "optimizer": "sgd", "epochs": 2}
    made = Project.new("images", graph, data, training)
    return Task.of_project(Project.load(made.save(folder / "images.glassbox")))


def losses(made: Task, backend: str = "cpu") -> dict[str, float]:
    with open_backend(backend) as opened, Trainer(made, opened.backend) as trainer:
        trainer.run()
        return {name: values[0] for name, values in trainer.history.history.items()}


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_targets_of_places_follow_the_flips_of_all_images(tmp_path: Path, backend: str) -> None:
    flips = [{"type": "Flip", "config": {"vertical": True}}, "Flip"]
    found = losses(task(tmp_path, flips, weights={"first": "weight"}), backend)
    assert found["first_loss"] == found["second_loss"] == 0.0
    # These have no places: they show that there were flips.
    assert found["flat_loss"] > 0.01
    assert losses(task(tmp_path, []), backend)["flat_loss"] == 0.0


def test_noise_is_drawn_for_each_image(tmp_path: Path) -> None:
    found = losses(task(tmp_path, [{"type": "Noise", "config": {"deviation": 0.5}}]))
    assert found["first_loss"] == pytest.approx(0.25, rel=0.3)
    assert found["second_loss"] == pytest.approx(0.25, rel=0.3)
    assert found["second_loss"] != found["first_loss"]


@pytest.mark.parametrize("change", ["Shift", "PadCrop", "Rotate"])
def test_what_targets_of_places_cannot_follow_is_refused(tmp_path: Path, change: str) -> None:
    with pytest.raises(CompileError, match="the targets of each pixel cannot follow it") as error:
        losses(task(tmp_path, [change]))
    assert error.value.hint == "use flip alone, or remove the augmentation"
