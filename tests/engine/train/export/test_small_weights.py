"""Exports of small weights: what is measured and said, and what they are checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.interop.file_format import file_formats, format_named
from studio.engine.interop.reading import load_weights
from studio.engine.interop.small_weights import WEIGHT_FORMS, WeightForm
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import export, export_all, export_file
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import latest_run
from studio.engine.train.weights import initial_weights
from tests.engine.train.small_tasks import cnn
from tests.engine.train.trained_projects import classifier, train

FORMS: tuple[WeightForm, ...] = ("float16", "int8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return train(tmp_path_factory.mktemp("small"), epochs=2)[0]


@pytest.fixture(scope="module")
def trained(project: Project) -> Iterator[Trained]:
    run = latest_run(project)
    assert run is not None
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_run(run, opened.backend) as found,
    ):
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("weights", FORMS)
def test_accuracy_before_and_after_is_measured_and_said(
    weights: WeightForm, trained: Trained, project: Project, tmp_path: Path
) -> None:
    path = tmp_path / "a.safetensors"
    made = export_file(trained, "safetensors", path, project, weights=weights)
    assert made.check is not None
    assert made.check.is_same
    small = made.small
    assert small is not None
    samples = trained.task.validation or trained.task.test
    assert samples is not None
    assert small.before == trained.evaluate(samples)
    wide = load_weights(path, trained.task.graph)
    with Trained.of_weights(trained.task, trained.network.backend, wide) as other:
        assert small.after == other.evaluate(samples)
        rows = [array[:64] for array in trained.task.test.inputs]
        gap = np.abs(other.predict_all(rows)[0] - trained.predict_all(rows)[0]).max()
    assert small.max_abs == pytest.approx(gap, rel=1e-3)
    assert 1e-6 < small.max_abs < 0.1
    assert (small.part, small.samples) == (made.small.part, len(samples))
    text = json.loads(made.report.read_text())["small_weights"]
    assert text["form"] == weights
    assert text["float32"] == small.before
    assert text["small"] == small.after
    assert text["compared"] == 64
    values = 64 * 24 + 24 * 10
    assert small.kernel_bytes == (4 * values, 2 * values if weights == "float16" else values + 136)
    assert f"with {weights} ({len(samples)} {small.part} samples)" in small.lines[0]
    assert "accuracy" in small.lines[0]


@pytest.mark.slow
def test_a_file_is_checked_against_its_own_small_weights(
    trained: Trained, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = format_named("safetensors")
    plain = tmp_path / "plain.safetensors"
    (float32,) = export(trained, [(form, plain)], project)
    assert float32.small is None
    assert "small_weights" not in json.loads(float32.report.read_text())
    (made,) = export(trained, [(form, tmp_path / "a.safetensors")], project, weights="int8")
    assert made.difference <= 1e-5 < made.small.max_abs
    # A writer that leaves the small weights out writes another model than was asked for.
    write = type(form).write

    def forgets(self: object, model: object, path: Path) -> None:
        stored = trained.weights()
        write(form, type(model)(model.name, model.graph, stored, model.facts), path)  # type: ignore

    monkeypatch.setattr(type(form), "write", forgets)
    (wrong,) = export(trained, [(form, tmp_path / "b.safetensors")], project, weights="int8")
    assert not wrong.is_placed
    assert "different outputs" in str(wrong.problem)


@pytest.mark.slow
def test_without_data_it_says_that_nothing_was_measured(tmp_path: Path) -> None:
    bare = Project.new("bare", classifier())
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_weights(
            Task.of_project(bare), opened.backend, initial_weights(bare.graph, 0)
        ) as other,
    ):
        made = export_file(other, "safetensors", tmp_path / "a.safetensors", weights="int8")
    assert made.small is not None
    assert (made.small.before, made.small.after, made.small.samples) == ({}, {}, 0)
    assert made.small.lines[0] == (
        "accuracy with int8 weights was not measured: there are no validation or test samples"
    )
    assert 0 < made.small.max_abs < 0.1
    assert json.loads(made.report.read_text())["small_weights"]["float32"] is None


@pytest.mark.slow
def test_a_project_takes_them_as_weights(
    trained: Trained, project: Project, tmp_path: Path
) -> None:
    export_file(trained, "safetensors", tmp_path / "w.safetensors", project, weights="int8")
    run = import_weights(tmp_path / "w.safetensors", project.path)
    assert run.has_result


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHT_FORMS[1:])
def test_all_formats_that_can_hold_them_are_written(weights: WeightForm, tmp_path: Path) -> None:
    """With a normalisation that is folded into a convolution."""
    project, run = train(tmp_path, graph=cnn(), epochs=1)
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_run(run, opened.backend) as trained,
    ):
        made = export_all(trained, tmp_path / "made", project, weights=weights)
    able = [form.name for form in file_formats() if form.can_write and weights in form.weight_forms]
    assert [each.format for each in made] == able
    assert not {"npz", "checkpoint"} & set(able)
    for each in made:
        assert each.problem is None
        assert each.check.is_same or not each.form.can_read
        assert each.small is not None
        assert each.small.form == weights


def test_what_cannot_be_is_refused_before_anything_is_written(
    trained: Trained, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=r"cannot hold float16 weights"):
        export_file(trained, "npz", tmp_path / "a.npz", weights="float16")
    with pytest.raises(ParameterError, match="expected weights as one of"):
        export_file(trained, "safetensors", tmp_path / "a.safetensors", weights="half")
    huge = {**trained.weights()}
    huge["hidden/kernel"] = huge["hidden/kernel"] * 1e9
    with (
        Trained.of_weights(trained.task, trained.network.backend, huge) as other,
        pytest.raises(DataError, match="'hidden/kernel' reach"),
    ):
        export_file(other, "safetensors", tmp_path / "a.safetensors", weights="float16")
    assert list(tmp_path.iterdir()) == []
