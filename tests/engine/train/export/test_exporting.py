"""Exported models: read back, run on raw rows, and compared with the network itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import safetensors.numpy

from studio.engine.core.errors import DataError, FormatError, ParameterError, StudioError
from studio.engine.formats.gbasm import load_gbasm
from studio.engine.formats.gbi import load_gbi, save_gbi
from studio.engine.interop.file_format import Exportable, FileFormat, file_formats
from studio.engine.train.devices import open_backend
from studio.engine.train.export import exporting
from studio.engine.train.export.exporting import (
    EXPORT_FORMATS,
    TOLERANCE,
    Export,
    export_all,
    export_file,
)
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.execute import execute
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import latest_run
from tests.engine.interop.formats_from_elsewhere import known_formats
from tests.engine.train.small_tasks import DIGITS, cnn, mlp, project, task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.runtime.backend import Backend


@pytest.fixture(scope="module")
def trained() -> Iterator[Trained]:
    with (
        open_backend("cpu") as opened,
        Trainer(task(cnn(), DIGITS, epochs=1, batch_size=64), opened.backend) as trainer,
    ):
        trainer.run()
        yield trainer.trained()


@pytest.fixture(scope="module")
def exported(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Export]:
    """Files of every format, for tests that only read them."""
    return {e.format: e for e in export_all(trained, tmp_path_factory.mktemp("exported"))}


@pytest.mark.slow
def test_every_format_is_written_and_answers_alike(exported: dict[str, Export]) -> None:
    assert tuple(exported) == EXPORT_FORMATS
    for export in exported.values():
        assert export.path.is_dir() if export.form.files else export.path.is_file()
        assert export.problem is None
        is_read = export.form.can_read or export.form.can_open
        assert json.loads(export.report.read_text())["same"] is (is_read or None)
        if export.form.can_read:
            assert export.rows == 64
            assert 0 <= export.difference <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 255, 256, 257, 600])
def test_any_number_of_raw_rows_gives_what_predict_gives(
    exported: dict[str, Export], trained: Trained, cpu: Backend, rows: int
) -> None:
    pixels = np.random.default_rng(rows).integers(0, 17, (rows, 8, 8, 1)).astype(np.uint8)
    found = execute(exported["gbi"].path, pixels, cpu)
    assert found.shape == (rows, 10)
    np.testing.assert_allclose(found, trained.predict(pixels), atol=TOLERANCE)


@pytest.mark.slow
def test_the_file_stands_alone(exported: dict[str, Export], trained: Trained) -> None:
    found = load_gbi(exported["gbi"].path)
    meta = found.program.meta
    assert json.loads(meta["class_names"]) == [str(i) for i in range(10)]
    assert meta["data_sha256"] == trained.task.data_hash
    assert meta["input_kind"] == "images"
    mnemonics = [ins.mnemonic for ins in found.program]
    assert mnemonics[0] == "NORMALIZE"
    assert not any(m.startswith("BATCHNORM") for m in mnemonics)
    assert load_gbasm(exported["gbasm"].path) == found.program


def test_weights_are_keras_arrays_in_both_files(
    exported: dict[str, Export], trained: Trained
) -> None:
    stored = trained.weights()
    plain = dict(np.load(exported["npz"].path))
    library = safetensors.numpy.load_file(exported["safetensors"].path)
    assert set(plain) == set(library) == set(stored)
    assert plain["dense/kernel"].shape == (256, 10)
    np.testing.assert_array_equal(plain["dense/kernel"], stored["dense/kernel"].T)
    np.testing.assert_array_equal(plain["conv2d/kernel"], stored["conv2d/kernel"])
    for name in plain:
        np.testing.assert_array_equal(plain[name], library[name])


def test_wrong_rows_are_refused_in_one_sentence(exported: dict[str, Export], cpu: Backend) -> None:
    path = exported["gbi"].path
    with pytest.raises(DataError, match=r"rows must have shape \[N,8,8,1\], got \[3,64\]"):
        execute(path, np.zeros((3, 64), np.uint8), cpu)
    with pytest.raises(DataError, match="rows must be uint8, got float32"):
        execute(path, np.zeros((3, 8, 8, 1), np.float32), cpu)
    with pytest.raises(DataError, match="expected 1 input arrays, got 2"):
        execute(path, [np.zeros((3, 8, 8, 1), np.uint8)] * 2, cpu)


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 1, 8, 8), (3, 8, 8, 1, 1)])
def test_dimensions_of_one_may_be_missing_or_too_many(
    exported: dict[str, Export], cpu: Backend, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    path, rows = exported["gbi"].path, rng.integers(0, 17, (3, 8, 8, 1)).astype(np.uint8)
    expected = execute(path, rows, cpu)
    np.testing.assert_array_equal(execute(path, rows.reshape(shape), cpu), expected)


def test_programs_that_cannot_be_run_are_refused(
    exported: dict[str, Export], trained: Trained, tmp_path: Path, cpu: Backend
) -> None:
    rows = np.zeros((1, 8, 8, 1), np.uint8)
    with pytest.raises(FormatError, match="carries no weights"):
        execute(exported["gbasm"].path, rows, cpu)
    save_gbi(tmp_path / "train.gbi", trained.network.programs.program("train"))
    with pytest.raises(DataError, match="expected an inference program"):
        execute(tmp_path / "train.gbi", rows, cpu)
    data = bytearray(exported["gbi"].path.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.gbi").write_bytes(data)
    with pytest.raises(FormatError, match="checksum"):
        execute(tmp_path / "bad.gbi", rows, cpu)
    with pytest.raises(FormatError, match="there is no such file"):
        execute(tmp_path / "none.gbi", rows, cpu)


@pytest.mark.slow
@pytest.mark.gl
def test_a_network_that_was_trained_on_opengl_is_checked_on_the_cpu(tmp_path: Path) -> None:
    with (
        open_backend("gl") as opened,
        Trainer(task(mlp(), epochs=1), opened.backend) as trainer,
    ):
        trainer.run()
        made = export_all(trainer.trained(), tmp_path)
    assert [each.format for each in made] == list(EXPORT_FORMATS)
    assert all(each.check is not None and each.problem is None for each in made)
    assert all(each.check.is_same for each in made if each.form.can_read)


@pytest.mark.slow
def test_a_file_that_cannot_be_written_keeps_no_other_back(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.npz").write_bytes(b"of before")
    (tmp_path / "small.gbasm").mkdir()
    real = os.open

    def full(path: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        is_fourth = flags & os.O_CREAT and ".npz" in os.path.basename(path)
        return real("/dev/full", os.O_RDWR) if is_fourth else real(path, flags, mode, **named)

    monkeypatch.setattr(os, "open", full)
    made = {each.format: each for each in export_all(trained, tmp_path)}
    assert tuple(made) == EXPORT_FORMATS
    for form, said in (("npz", "the disk is full"), ("gbasm", "there is a folder of that name")):
        assert made[form].problem is made[form].error is not None
        assert said in made[form].error.message
        assert made[form].error.who == str(made[form].path)
        assert not made[form].is_placed
        with pytest.raises(FormatError, match=said):
            made[form].require_written()
    for form in ("gbi", "safetensors", "checkpoint"):
        assert made[form].problem is None
        assert made[form].check.is_same
        assert made[form].report.is_file()
    assert (tmp_path / "small.npz").read_bytes() == b"of before"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_where_nothing_can_be_written_nothing_is_started(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "check_files", lambda *_: pytest.fail("nothing to check"))
    for form in file_formats():
        (tmp_path / f"small{form.ending}").mkdir()
        (tmp_path / f"small{form.ending}" / "mine").touch()
    assert all(each.error is not None for each in export_all(trained, tmp_path))


@pytest.mark.slow
def test_a_format_that_fails_is_named_and_the_others_are_written(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFormat, "members", known_formats())

    class Broken(FileFormat):
        name, title, ending, about = "broken", "Broken", ".broken", "Cannot be written."
        holds = "weights"

        def write(self, model: Exportable, path: Path) -> None:
            path.write_bytes(b"half")
            raise ZeroDivisionError("by nothing")

    made = {each.format: each for each in export_all(trained, tmp_path)}
    assert str(made.pop("broken").problem) == (
        f"[{tmp_path / 'small.broken'}] the format broken cannot write this model: "
        "ZeroDivisionError: by nothing"
    )
    assert all(each.problem is None for each in made.values())
    assert not (tmp_path / "small.broken").exists()


def test_an_unknown_format_and_a_missing_folder_are_named(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected a format out of gbi"):
        export_file(trained, "pmml", tmp_path / "x.pmml")
    with pytest.raises(FormatError, match="cannot write"):
        export_file(trained, "npz", tmp_path / "none" / "x.npz")
    with pytest.raises(ParameterError, match="is for Weights"):
        export_file(trained, "gbi", tmp_path / "x.npz")


@pytest.mark.parametrize("form", ["safetensors", "npz", "checkpoint"])
def test_weights_come_back_as_a_run(
    exported: dict[str, Export], trained: Trained, cpu: Backend, tmp_path: Path, form: str
) -> None:
    path = project(cnn(), DIGITS).save(tmp_path / "digits.glassbox")
    run = import_weights(exported[form].path, path)
    assert latest_run(Project.load(path)) == run
    rows = np.arange(128, dtype=np.uint8).reshape(2, 8, 8, 1) % 17
    with Trained.of_run(run, cpu) as again:
        np.testing.assert_array_equal(again.predict(rows), trained.predict(rows))


def test_weights_of_another_network_are_refused(
    exported: dict[str, Export], tmp_path: Path
) -> None:
    path = project(mlp()).save(tmp_path / "other.glassbox")
    for form in ("safetensors", "npz", "checkpoint"):
        with pytest.raises(StudioError, match=r"nothing for 'dense|expected"):
            import_weights(exported[form].path, path)
    with pytest.raises(FormatError):
        import_weights(exported["gbasm"].path, path)
    assert not (tmp_path / "other.runs").exists()
