"""What a file states of resampling is done to a picture, and the pixels are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.interop.file_format import format_named
from studio.engine.train.data.images import decode
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.check import ExportCheck, Written, check_files
from studio.engine.train.export.check.pictures import save_pictures, stated_resize
from studio.engine.train.export.check.process import file_hash
from studio.engine.train.export.exporting import exportable
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from tests.engine.train.trained_projects import classifier

FORMS = ("safetensors", "keras-weights", "keras", "hdf5", "tfjs")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Trained, Project]]:
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(4)
    for name in ("cat", "dog"):
        (folder / "pets" / name).mkdir(parents=True)
        for index in range(3):
            pixels = rng.integers(0, 256, (13, 9, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "pets" / name / f"{index}.png")
    data = {"source": "images", "path": "pets", "size": [6, 5]}
    project = Project.new("pets", classifier((6, 5, 3), 2), data)
    project.path = folder / "pets.glassbox"
    task = Task.of_project(project)
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_weights(task, opened.backend, initial_weights(task.graph, 0)) as trained,
    ):
        yield trained, project


def checks(made: tuple[Trained, Project], folder: Path, **facts: str) -> dict[str, ExportCheck]:
    """What one process finds of a file of each format that states these facts."""
    model, files = exportable(made[0]), []
    for form in map(format_named, FORMS):
        path = folder / f"m{form.ending}"
        form.write(replace(model, facts={**model.facts, **facts}), path)
        files.append(Written(form, path, file_hash(path)))
    found = check_files(made[0], files, model, made[1])
    assert all(isinstance(each, ExportCheck) for each in found), found
    return {each.form: each for each in found if isinstance(each, ExportCheck)}


@pytest.mark.slow
def test_pictures_are_resampled_as_files_say(
    pictures: tuple[Trained, Project], tmp_path: Path
) -> None:
    assert pictures[0].task.facts["resize"] == "bilinear"
    assert {
        name: each.reasons for name, each in checks(pictures, tmp_path).items()
    } == dict.fromkeys(FORMS, ())


@pytest.mark.slow
def test_a_picture_resampled_in_another_way_is_caught(
    pictures: tuple[Trained, Project], tmp_path: Path
) -> None:
    for form, found in checks(pictures, tmp_path, resize="nearest").items():
        assert "it resamples images by nearest, expected bilinear" in found.reasons, form
        (said,) = (each for each in found.reasons if each.startswith("an image"))
        count = int(said.removeprefix("an image that is resampled as it says has ").split()[0])
        assert 15 < count <= 30
        assert said.endswith(" of 30 other pixels")


@pytest.mark.slow
def test_data_that_are_not_resampled_as_stated_are_caught(
    pictures: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement is the same in the file and here, and only the pixels tell."""
    other = {**decode.RESIZES, decode.RESIZE: Image.Resampling.NEAREST}
    monkeypatch.setattr(decode, "RESIZES", other)
    for form, found in checks(pictures, tmp_path).items():
        assert any(each.startswith("an image") for each in found.reasons), form
        assert not found.is_same


@pytest.mark.slow
def test_a_statement_that_is_unknown_is_told_by_its_words(
    pictures: tuple[Trained, Project], tmp_path: Path
) -> None:
    for form, found in checks(pictures, tmp_path, resize="../lanczos").items():
        said = "it resamples images by ../lanczos, expected bilinear"
        assert [each for each in found.reasons if "exporting" not in each] == [said], form


def test_each_input_has_its_own_statement(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        rng.integers(0, 256, (2, 4, 6, 1)).astype(np.uint8),
        rng.normal(size=(2, 4, 6, 1)).astype(np.float32),
        rng.integers(0, 256, (2, 3, 3, 3)).astype(np.uint8),
        rng.integers(0, 256, (2, 3, 3, 3)).astype(np.uint8),
    ]
    fact = json.dumps({"a": "bilinear", "b": "bilinear", "c": "bilinear"})
    made = save_pictures(tmp_path, {"resize": fact}, "abcd", rows)
    assert made == {"0": [4, 6, 1], "2": [3, 3, 3]}
    with Image.open(tmp_path / "picture-0.png") as picture:
        assert picture.size == (9, 6)
        whole = np.asarray(picture)
    np.testing.assert_array_equal(whole[:4, :6], rows[0][0, ..., 0])
    assert save_pictures(tmp_path, {}, "abcd", rows) == {}


@pytest.mark.parametrize("text", ["{", "{}", '{"x": 3}', '{"x": "a", "x": "b"}', "{" * 5000, None])
def test_statements_that_say_nothing(text: str | None) -> None:
    assert stated_resize(text, "x") == ""
