"""What TensorFlow.js itself answers to models written for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.lower import Objective
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.file_format import Exportable, ExportedTraining
from studio.engine.interop.small_weights import narrowed
from studio.engine.interop.tensorflow_js import TensorFlowJs
from studio.engine.optim.losses import CategoricalCrossentropy
from studio.engine.optim.metrics import Accuracy
from studio.engine.optim.optimizers import SGD, Adam, Optimizer
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from tests.engine.interop.keras.answers import answers
from tests.engine.interop.tfjs_cases import (
    CASES,
    bound,
    exportable,
    largest_gap,
    samples_of,
)
from tests.engine.interop.tfjs_in_node import Job, answers_of_node
from tests.recorded.keras_files.cases import network

FORM = TensorFlowJs()
SAMPLES = Path(__file__).parents[3] / "projects"


@pytest.mark.peers
def test_tensorflow_js_answers_every_layer_as_we_do(tmp_path: Path) -> None:
    jobs, expected = [], []
    for number, document in enumerate(CASES.values()):
        model = exportable(document)
        FORM.write(model, tmp_path / str(number))
        samples = samples_of(model.graph)
        jobs.append(Job(tmp_path / str(number), samples))
        expected.append(answers(bound(document), model.stored, samples))
    found = answers_of_node(jobs, tmp_path)
    for name, answer, wanted in zip(CASES, found, expected, strict=True):
        assert not answer.error, f"{name}: {answer.error}"
        for one, other in zip(answer.outputs, wanted, strict=True):
            assert largest_gap(one, other) < 1e-5, name


@pytest.mark.peers
def test_tensorflow_js_answers_every_sample_project_as_we_do(tmp_path: Path) -> None:
    projects = sorted(SAMPLES.glob("*/*.glassbox"))
    assert len(projects) >= 5
    jobs, expected = [], []
    for path in projects:
        graph = Project.load(path).graph
        # As a training begins: drawn without regard to their number, they saturate what comes last.
        model = Exportable(path.stem, graph, initial_weights(graph, 3))
        FORM.write(model, tmp_path / path.stem)
        samples = samples_of(graph)
        jobs.append(Job(tmp_path / path.stem, samples))
        expected.append(answers(graph, model.stored, samples))
    for path, answer, wanted in zip(
        projects, answers_of_node(jobs, tmp_path), expected, strict=True
    ):
        assert not answer.error, f"{path.stem}: {answer.error}"
        assert np.ptp(wanted[0], axis=0).max() > 1e-3
        assert largest_gap(answer.outputs[0], wanted[0]) < 1e-5, path.stem


@pytest.mark.peers
def test_tensorflow_js_widens_small_weights_as_we_do(tmp_path: Path) -> None:
    jobs, expected = [], []
    for form in ("float16", "uint8", "uint16"):
        for name in ("conv same", "depthwise same", "dense on sequences"):
            model = exportable(CASES[name])
            small = narrowed(model.graph, model.stored, form, FORM.narrow)
            widened = {key: each.widened() for key, each in small.items()}
            model.stored = {**model.stored, **widened}
            model.weights, model.small = form, small
            FORM.write(model, tmp_path / f"{form} {name}")
            samples = samples_of(model.graph)
            jobs.append(Job(tmp_path / f"{form} {name}", samples))
            expected.append(answers(model.graph, model.stored, samples))
    for job, answer, wanted in zip(jobs, answers_of_node(jobs, tmp_path), expected, strict=True):
        assert not answer.error, f"{job.folder.name}: {answer.error}"
        assert largest_gap(answer.outputs[0], wanted[0]) < 1e-5, job.folder.name


BRANCHES = network(
    ["out"],
    ("x", "Input", {"shape": [4]}, []),
    ("fixed", "Dense", {"units": 4, "trainable": False}, ["x"]),
    ("long", "Dense", {"units": 4, "activation": "hard_silu"}, ["fixed"]),
    ("one", "Dense", {"units": 4, "activation": "tanh"}, ["fixed"]),
    ("two", "Dense", {"units": 4}, ["one"]),
    ("norm", "BatchNormalization", {}, ["two"]),
    ("sum", "Add", {}, ["norm", "long"]),
    ("out", "Dense", {"units": 3, "activation": "softmax"}, ["sum"]),
)


@pytest.mark.peers
@pytest.mark.parametrize("optimizer", [Adam(0.01, epsilon_at="hat"), SGD(0.1)])
def test_three_steps_there_and_two_after_us_are_five_there(
    tmp_path: Path, optimizer: Optimizer
) -> None:
    """The state of the optimiser goes through us; without that of Adam the answers would differ."""
    objective = Objective((CategoricalCrossentropy(),), ((Accuracy(),),), (), ((),))
    training = ExportedTraining(optimizer, objective)
    model = exportable(BRANCHES)
    model.training = training
    FORM.write(model, tmp_path / "start")
    rng = np.random.default_rng(4)
    steps = [
        (rng.normal(size=(8, 4)).astype(np.float32), np.eye(3)[rng.integers(3, size=8)])
        for _ in range(5)
    ]
    samples = samples_of(model.graph)
    kept = tmp_path / "kept"
    straight, first = answers_of_node(
        [
            Job(tmp_path / "start", samples, steps),
            Job(tmp_path / "start", samples, steps[:3], kept),
        ],
        tmp_path,
    )
    assert straight.error == first.error == ""
    back = FORM.read_model(kept)
    assert back.report.left_out == ()
    assert back.training is not None
    assert back.training.optimizer == optimizer
    assert back.training.steps == 3
    assert back.training.loss == {"out": CategoricalCrossentropy().to_json()}
    tensors = {**back.weights, **back.training.slots}
    place = Position(0, 3, 3)
    ours = Exportable(
        "m", back.graph, back.weights, checkpoint=Checkpoint(tensors, place, 0, 8),
        training=training,
    )  # fmt: skip
    FORM.write(ours, tmp_path / "ours")
    (again,) = answers_of_node([Job(tmp_path / "ours", samples, steps[3:])], tmp_path)
    assert again.error == ""
    assert largest_gap(again.outputs[0], straight.outputs[0]) < 1e-6
    assert np.abs(np.array(again.losses) - straight.losses[3:]).max() < 1e-6
