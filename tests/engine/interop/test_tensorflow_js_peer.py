"""What TensorFlow.js itself answers to models written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.interop.file_format import Exportable
from studio.engine.interop.small_weights import narrowed
from studio.engine.interop.tensorflow_js import TensorFlowJs
from studio.engine.train.project.project import Project
from tests.engine.interop.keras.answers import answers
from tests.engine.interop.tfjs_cases import (
    CASES,
    bound,
    exportable,
    largest_gap,
    samples_of,
    weights_of,
)
from tests.engine.interop.tfjs_in_node import Job, answers_of_node

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
        model = Exportable(path.stem, graph, weights_of(graph, 3))
        FORM.write(model, tmp_path / path.stem)
        samples = samples_of(graph)
        jobs.append(Job(tmp_path / path.stem, samples))
        expected.append(answers(graph, model.stored, samples))
    for path, answer, wanted in zip(
        projects, answers_of_node(jobs, tmp_path), expected, strict=True
    ):
        assert not answer.error, f"{path.stem}: {answer.error}"
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
