"""``export`` and ``import``: the check, a format from elsewhere, and what goes wrong."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.formats.onnx_wire import load_model
from studio.engine.interop.file_format import Exportable, FileFormat, format_for, format_named
from studio.engine.train.export import exporting
from studio.engine.train.export.check import check as checking
from tests.engine.interop.formats_from_elsewhere import MODULE, format_from_elsewhere, known_formats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Answer

EXPORT = ("export", "iris", "-o")
CHECKED = [
    name
    for name in exporting.EXPORT_FORMATS
    if format_named(name).can_read or format_named(name).can_open
]
"""Formats that Glassbox reads; others are verified where another program reads them."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[None]:
    with format_from_elsewhere(tmp_path / "modules", MODULE):
        yield


def hidden(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob(".*"))


def weights_of(folder: Path) -> Path:
    return next((folder / "iris").glob("*.runs/*/checkpoints/final.safetensors"))


@pytest.mark.slow
def test_an_export_is_checked_and_a_report_lies_beside_it(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    lines = glassbox(*EXPORT, "iris.gbi").out.splitlines()
    assert lines[0].startswith(
        "iris.gbi: reloaded by Glassbox, its answers on 30 samples differ by at most "
    )
    assert lines[1] == "report: iris.gbi.proof.json"
    said = json.loads((here / "iris.gbi.proof.json").read_text())
    assert (said["form"], said["same"], said["samples"], said["samples_of"]) == (
        "gbi", True, 30, "test",
    )  # fmt: skip
    assert said["sha256"] == sha256((here / "iris.gbi").read_bytes()).hexdigest()
    told = glassbox(*EXPORT, "iris.gbasm", "--json").json
    assert (told["format"], told["same"], told["written"]) == ("gbasm", True, True)
    assert told["finding"].startswith("same model: ")
    assert told["report"] == "iris.gbasm.proof.json"


@pytest.mark.slow
def test_the_ending_says_the_format_and_an_unknown_one_is_refused(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    told = glassbox(*EXPORT, "w.checkpoint.safetensors", "--json").json
    assert told["format"] == "checkpoint"
    text = refused(*EXPORT, "iris.pmml")
    assert "unknown file extension of 'iris.pmml': expected one of .gbi, .gbasm" in text
    assert not (here / "iris.pmml").exists()
    assert glassbox(*EXPORT, "iris.pmml", "--format", "npz", "--json").json["same"] is True


@pytest.mark.slow
def test_a_name_with_the_ending_of_another_format_is_refused(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    for form, name, said in (
        (
            "gbi",
            "w.npz",
            "the extension of 'w.npz' is for Weights (NumPy), not for Instruction file",
        ),
        ("npz", "w.GBI", "the extension of 'w.GBI' is for Instruction file"),
        ("safetensors", "w.checkpoint.safetensors", "is for Checkpoint, not for Weights"),
    ):
        text = refused(*EXPORT, name, "--format", form)
        assert said in text
        assert f"choose the format {format_for(Path(name)).name}" in text
        assert not (here / name).exists()
    # Of what the file is, these names say nothing wrong.
    for form, name in (("checkpoint", "w.safetensors"), ("npz", "w.bin"), ("npz", "w")):
        assert glassbox(*EXPORT, name, "--format", form, "--json").json["same"] is True


@pytest.mark.slow
def test_a_file_that_answers_otherwise_is_not_kept(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    glassbox(*EXPORT, "w.npz")
    before = (here / "w.npz").read_bytes(), (here / "w.npz.proof.json").read_bytes()

    def damaging(trained: Any, files: Any, *rest: Any) -> Any:
        for file in files:
            weights = load_npz(file.path)
            name = next(n for n in weights if n.endswith("bias"))
            weights[name] = (weights[name] + np.float32(2) * np.arange(weights[name].size)).astype(
                np.float32
            )
            save_npz(file.path, weights)
        whole = [file._replace(sha256=checking.process.file_hash(file.path)) for file in files]
        return check_files(trained, whole, *rest)

    check_files = exporting.check_files
    monkeypatch.setattr(exporting, "check_files", damaging)
    answer = glassbox(*EXPORT, "w.npz", code=1)
    assert "not the same model: " in answer.err
    assert "samples give different outputs, the first is sample " in answer.err
    assert "what was there is kept" in answer.err
    assert answer.out == ""
    assert before == ((here / "w.npz").read_bytes(), (here / "w.npz.proof.json").read_bytes())
    told = glassbox(*EXPORT, "other.npz", "--json", code=1).json
    assert (told["same"], told["written"], told["report"]) == (False, False, None)
    assert told["difference"] > 1e-5
    assert not (here / "other.npz").exists()
    assert hidden(here) == []


TRAIN = ("train", "iris", "--epochs", 1, "--backend", "cpu", "--out", "o")


@pytest.mark.slow
def test_training_says_of_its_files_what_export_says(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    lines = glassbox(*TRAIN).out.splitlines()
    alone = glassbox(*EXPORT, "o/iris.gbi").out.splitlines()
    assert alone[0].startswith(
        "o/iris.gbi: reloaded by Glassbox, its answers on 30 samples differ by at most"
    )
    at = lines.index(alone[0])
    assert lines[at : at + 2] == alone[:2]
    for form in exporting.EXPORT_FORMATS:
        path = f"o/iris{format_named(form).ending}"
        said = "reloaded by Glassbox, " if form in CHECKED else "written, not verified: "
        assert sum(line.startswith(f"{path}: {said}") for line in lines) == 1
        assert lines.count(f"report: {path}.proof.json") == 1
    told = glassbox(*TRAIN, "--json").json["exports"]
    assert [each["format"] for each in told] == list(exporting.EXPORT_FORMATS)
    (gbi,) = (each for each in told if each["format"] == "gbi")
    told = glassbox(*EXPORT, "o/iris.gbi", "--json").json
    assert {**gbi, "weights": told["weights"]} == told


@pytest.mark.slow
def test_a_file_of_a_training_that_answers_otherwise_ends_with_one(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = checking.ExportCheck
    other = "its answers are those of another model"

    def unlike(form: str, *rest: Any, **named: Any) -> checking.ExportCheck:
        found = real(form, *rest, **named)
        return replace(found, reasons=(other,), difference=1.0) if form == "npz" else found

    monkeypatch.setattr(checking, "ExportCheck", unlike)
    answer = glassbox(*TRAIN, code=1)
    assert f"glassbox: [o/iris.npz] not the same model: {other}" in " ".join(answer.err.split())
    assert not (here / "o" / "iris.npz").exists()
    assert "o/iris.npz" not in answer.out
    assert "test accuracy: " in answer.out
    assert answer.out.count(": reloaded by Glassbox, its answers on ") == len(CHECKED) - 1


@pytest.mark.slow
def test_a_file_of_a_training_that_cannot_be_written_ends_with_two(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    for form in ("gbi", "safetensors"):
        (here / "o" / f"iris.{form}").mkdir(parents=True)
    answer = glassbox(*TRAIN, code=2)
    said = " ".join(answer.err.split())
    for form in ("gbi", "safetensors"):
        assert f"[o/iris.{form}] cannot write the file: there is a folder of that name" in said
    assert "run: iris" in answer.out
    assert answer.out.count(": reloaded by Glassbox, its answers on ") == len(CHECKED) - 2
    told = glassbox(*TRAIN, "--json", code=2).json["exports"]
    assert {each["format"] for each in told if not each["written"]} == {"gbi", "safetensors"}
    assert told[0]["finding"].startswith("not written: cannot write the file")


def test_a_check_that_was_killed_is_said(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = subprocess.Popen

    def killed(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        child = real(*args, **named)
        child.kill()
        return child

    monkeypatch.setattr(checking.subprocess, "Popen", killed)
    answer = glassbox(*EXPORT, "w.npz", code=1)
    assert "written, but not verified: the other process gave no answer" in answer.err
    assert "SIGKILL" in answer.err
    assert (here / "w.npz").is_file()
    assert json.loads((here / "w.npz.proof.json").read_text())["same"] is None
    assert hidden(here) == []


def test_weights_that_are_no_numbers_are_refused_at_once(
    refused: Callable[..., str], here: Path
) -> None:
    path = weights_of(here)
    found = Checkpoint.load(path)
    for values in found.tensors.values():
        if values.dtype.kind == "f":
            values.flat[0] = np.nan
    found.save(path)
    for form in exporting.EXPORT_FORMATS:
        text = refused(*EXPORT, "w", "--format", form)
        assert "hold NaN or infinity, so nothing is exported" in text
    assert not (here / "w").exists()
    assert hidden(here) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EACCES, "permission denied"), (errno.EROFS, "the disk is read-only")],
)
def test_a_folder_that_may_not_be_written_is_said(
    refused: Callable[..., str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    said: str,
) -> None:
    folder = here / "locked"
    folder.mkdir()
    real = os.open

    def locked(path: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        if flags & os.O_CREAT and str(folder) in os.path.abspath(path):
            raise OSError(number, os.strerror(number))
        return real(path, flags, mode, **named)

    monkeypatch.setattr(os, "open", locked)
    assert f"[locked/w.npz] cannot write the file: {said}" in refused(*EXPORT, "locked/w.npz")
    assert list(folder.iterdir()) == []


def test_a_full_device_and_a_full_disk_are_said(
    refused: Callable[..., str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = refused(*EXPORT, "/dev/full", "--format", "npz")
    assert "[/dev/full] cannot write the file: there is a device or a pipe of that name" in text
    real = os.open

    def full(path: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        is_new = flags & os.O_CREAT and str(here) in os.path.abspath(path)
        return real("/dev/full", os.O_RDWR) if is_new else real(path, flags, mode, **named)

    monkeypatch.setattr(os, "open", full)
    for form in exporting.EXPORT_FORMATS:
        text = refused(*EXPORT, "w", "--format", form)
        assert "] cannot write the file: the disk is full" in text
        assert text.startswith("[w")
    assert not (here / "w").exists()
    assert hidden(here) == []


@pytest.mark.slow
def test_a_report_that_cannot_be_written_is_said_and_the_file_is_there(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    (here / "w.npz.proof.json").mkdir()
    answer = glassbox(*EXPORT, "w.npz")
    assert "no report was written: cannot write the file: there is a folder of that name" in (
        answer.err
    )
    assert (here / "w.npz").is_file()


def test_interrupted_in_the_middle_nothing_stays_behind(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    children: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        children.append(real(*args, **named))
        raise KeyboardInterrupt

    monkeypatch.setattr(checking.subprocess, "Popen", popen)
    assert main(["export", "iris", "-o", "w.npz"]) == 130
    assert capsys.readouterr().err.endswith("glassbox: interrupted\n")
    assert not (here / "w.npz").exists()
    assert hidden(here) == []
    for child in children:
        child.kill()
        child.communicate()


@pytest.mark.slow
def test_a_format_from_elsewhere_is_exported_checked_and_imported(
    glassbox: Callable[..., Answer], elsewhere: None, here: Path
) -> None:
    told = glassbox(*EXPORT, "iris.reversed", "--json").json
    assert (told["format"], told["same"], told["samples"]) == ("reversed", True, 30)
    before = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    glassbox("train", "iris", "--epochs", 1, "--seed", 4, "--backend", "cpu")
    run = glassbox("import", "iris.reversed", "-o", "iris", "--json").json["run"]
    after = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    assert (after["run"], after["test"]) == (run, before["test"])
    found = glassbox("train", "iris", "--epochs", 1, "--out", "o", "--backend", "cpu", "--json")
    (made,) = (each for each in found.json["exports"] if each["format"] == "reversed")
    assert (made["path"], made["same"]) == ("o/iris.reversed", True)


def test_of_a_format_that_cannot_be_read_back_it_is_said_that_nothing_was_compared(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFormat, "members", known_formats())

    class Names(FileFormat):
        name, title, ending, about = "names", "Names", ".names", "Names of all weights."
        holds = "weights"

        def write(self, model: Exportable, path: Path) -> None:
            path.write_text("\n".join(model.public))

    lines = glassbox(*EXPORT, "iris.names").out.splitlines()
    assert lines[0] == (
        "iris.names: written, not verified: files of this format cannot be read back"
    )
    assert json.loads((here / "iris.names.proof.json").read_text())["same"] is None
    assert "/kernel" in (here / "iris.names").read_text()


@pytest.mark.slow
def test_small_weights_are_measured_and_said(glassbox: Callable[..., Answer], here: Path) -> None:
    lines = glassbox(*EXPORT, "iris.safetensors", "--weights", "int8").out.splitlines()
    assert lines[0].startswith(
        "iris.safetensors: reloaded by Glassbox, its answers on 30 samples differ by"
    )
    assert re.search(r"accuracy \S+ with float32, \S+ with int8 \(\d+ \w+ samples\)$", lines[1])
    assert lines[2].startswith("answers differ from those with float32 weights by at most ")
    told = glassbox(*EXPORT, "iris.safetensors", "--weights", "float16", "--json").json
    assert told["small_weights"]["form"] == "float16"
    assert set(told["small_weights"]["small"]) == set(told["small_weights"]["float32"])
    report = json.loads((here / "iris.safetensors.proof.json").read_text())
    assert report["small_weights"] == told["small_weights"]


def test_weights_that_a_format_cannot_hold_are_refused(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    found = glassbox(*EXPORT, "iris.npz", "--weights", "int8", code=2)
    assert "(.npz) cannot hold int8 weights, only float32" in found.err
    assert "formats that can: " in found.err
    assert not (here / "iris.npz").exists()
    assert (
        "expected weights as one of float32, float16, int8"
        in glassbox(*EXPORT, "iris.npz", "--weights", "int4", code=2).err
    )


@pytest.mark.slow
def test_the_operator_set_is_chosen_and_a_wrong_one_is_refused_with_the_range(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSBOX_FOREIGN_READERS", "off")
    glassbox(*EXPORT, "iris.onnx", "--opset", "13")
    assert load_model((here / "iris.onnx").read_bytes()).opset == 13
    glassbox(*EXPORT, "iris.onnx")
    assert load_model((here / "iris.onnx").read_bytes()).opset == 17
    before = (here / "iris.onnx").read_bytes()
    for wrong in ("12", "22", "-1"):
        found = glassbox(*EXPORT, "iris.onnx", "--opset", wrong, code=2)
        assert f"expected an operator set of 13 to 21, got {wrong}" in found.err
    found = glassbox(*EXPORT, "iris.npz", "--opset", "17", code=2)
    assert "Weights (NumPy) (.npz) has no operator set" in found.err
    assert "formats that have one: onnx" in found.err
    assert (here / "iris.onnx").read_bytes() == before
    assert not (here / "iris.npz").exists()
