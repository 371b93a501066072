"""Exports: what can be written, previews, the last choice, and what was changed since training."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError, ParameterError, StudioError
from studio.engine.formats.gbi import load_gbi
from studio.engine.formats.npz import save_npz
from studio.engine.formats.onnx_wire import load_model
from studio.engine.interop.file_format import Exportable, FileFormat
from studio.engine.interop.npz import NumpyArchive
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.report import report_path
from studio.engine.train.export.exporting import EXPORT_FORMATS, exportable
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.tasks import TaskHandle
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer, rename, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data, set_training
from studio.session.document.state import DocumentState
from studio.session.export import preview as export_preview
from studio.session.export.exporting import (
    ExportForm,
    ExportModel,
    ExportResult,
    PictureForm,
    export_forms,
    form_named,
    weights_text,
)
from studio.session.export.preview import LINES, Preview, hex_lines
from tests.engine.interop.formats_from_elsewhere import known_formats
from tests.engine.train.trained_projects import train
from tests.session.desk import Desk

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x40\x00\x00\x00\xf0\x08\x02\x00\x00\x00"
    + b"\0" * 40
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    train(folder)
    return folder


class ExportDesk(Desk):
    """A desk with a trained project and its exports."""

    def __init__(self, home: Path, memory: Path | None) -> None:
        super().__init__(Document.open(home / "small.glassbox"))
        runs = sorted((home / "small.runs").iterdir())
        self.run: RunFolder | None = RunFolder(runs[-1])
        self.memory = memory
        self.exports = self.fresh()

    def fresh(self) -> ExportModel:
        return ExportModel(self.current, self.tasks, lambda: self.run, memory=self.memory)


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[ExportDesk]:
    made = ExportDesk(home, tmp_path / "state" / "exports.json")
    yield made
    made.tasks.close()


def preview_of(desk: ExportDesk, key: str) -> Preview:
    found: list[Preview] = []
    wrong: list[StudioError] = []
    desk.exports.preview(form_named(key), lambda made, _: found.append(made), wrong.append)
    desk.settle()
    assert not wrong, wrong
    return found[0]


def test_the_forms_are_those_the_engine_writes_and_pictures() -> None:
    assert {f.name for f in export_forms() if not isinstance(f, PictureForm)} == set(EXPORT_FORMATS)
    assert len({form.ending for form in export_forms()}) == len(export_forms())


@pytest.mark.slow
def test_an_export_ends_with_the_check_and_can_be_done_again(
    desk: ExportDesk, tmp_path: Path
) -> None:
    path = tmp_path / "model.gbi"
    desk.exports.export(form_named("gbi"), path)
    assert desk.exports.task is not None
    desk.settle()
    result = desk.exports.result
    assert result is not None
    assert result.is_proven
    assert result.check is not None
    assert result.check.sentence.startswith("same model: max difference ")
    assert result.nbytes == path.stat().st_size
    first = path.read_bytes()
    path.unlink()
    again = desk.fresh()
    assert again.last == (form_named("gbi"), path)
    again.again()
    desk.settle()
    assert path.read_bytes() == first


@pytest.mark.slow
def test_small_weights_are_remembered_with_the_export(desk: ExportDesk, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    desk.exports.export(form_named("safetensors"), path, weights="int8")
    desk.settle()
    result = desk.exports.result
    assert result is not None
    assert result.is_proven
    assert result.small_form == "int8"
    first = path.read_bytes()
    path.unlink()
    again = desk.fresh()
    assert again.last_weights == "int8"
    again.again()
    desk.settle()
    assert path.read_bytes() == first
    # What earlier versions remember has no form, and is written like that.
    again.export(form_named("safetensors"), path)
    desk.settle()
    assert desk.memory is not None
    assert list(json.loads(desk.memory.read_text()).values()) == [["safetensors", str(path)]]
    assert desk.fresh().last_weights == "float32"


def test_a_form_that_cannot_hold_them_is_refused(desk: ExportDesk, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot hold int8 weights"):
        desk.exports.export(form_named("npz"), tmp_path / "model.npz", weights="int8")
    assert desk.exports.task is None


@pytest.mark.parametrize("form", export_forms(), ids=lambda form: form.name)
def test_what_an_export_is_made_of_is_not_overwritten(
    desk: ExportDesk, tmp_path: Path, form: ExportForm
) -> None:
    desk.exports.pictures = {"svg": lambda: b"<svg/>", "png": lambda: PNG}
    project, table = desk.document.path, tmp_path / "table.csv"
    assert project is not None
    table.write_text("a,b\n1,x\n")
    link = tmp_path / f"link{form.ending}"
    link.symlink_to(project)
    data = {"source": "csv", "path": str(table)}
    desk.document.apply("Attach data", set_data(desk.document.state, data))
    before = project.read_bytes()
    for path, what in ((project, "project"), (link, "project"), (table, "project's data")):
        with pytest.raises(DataError, match=f"the {what} would be overwritten"):
            desk.exports.export(form, path)
    desk.settle()
    assert project.read_bytes() == before
    assert table.read_text() == "a,b\n1,x\n"


@pytest.mark.slow
def test_an_export_is_remembered_for_the_document_it_began_with(
    desk: ExportDesk, tmp_path: Path
) -> None:
    first = desk.document
    desk.exports.export(form_named("npz"), tmp_path / "model.npz")
    desk.document = Document.new()
    desk.settle()
    assert desk.exports.last is None
    desk.document = first
    assert desk.exports.last == (form_named("npz"), tmp_path / "model.npz")


@pytest.mark.slow
def test_the_finding_lies_beside_the_file_and_never_beside_another(
    desk: ExportDesk, tmp_path: Path
) -> None:
    path = tmp_path / "model.npz"
    heard: list[ExportResult] = []

    def hear(result: ExportResult) -> None:
        heard.append(result)

    desk.exports.finished.connect(hear)
    desk.exports.export(form_named("npz"), path)
    desk.settle()
    proof = tmp_path / "model.npz.proof.json"
    assert heard[0].made is not None
    assert heard[0].made.report == proof
    said = json.loads(proof.read_text())
    assert said["same"] is True
    assert said["sha256"] == sha256(path.read_bytes()).hexdigest()
    before = path.read_bytes(), proof.read_bytes()
    desk.run = train_more(tmp_path)
    task = desk.exports.export(form_named("npz"), path)
    assert task is not None
    task.progress = stop_after_writing(task)  # type: ignore[method-assign]
    desk.settle()
    assert (path.read_bytes(), proof.read_bytes()) == before, "both are of the export before"
    assert sorted(each.name for each in tmp_path.glob(".*")) == [], "nothing stays behind"
    desk.exports.export(form_named("npz"), path)
    desk.settle()
    said = json.loads(proof.read_text())
    assert said["sha256"] == sha256(path.read_bytes()).hexdigest() != sha256(before[0]).hexdigest()


def train_more(folder: Path) -> RunFolder:
    other = folder / "other"
    other.mkdir()
    return train(other, epochs=1)[1]


def stop_after_writing(task: TaskHandle) -> Callable[..., None]:
    """Cancels an export when the file is there and the comparison begins."""
    told = task.progress

    def progress(share: float | None, text: str = "") -> None:
        if text == "exporting again":
            task.cancel()
        told(share, text)

    return progress


@pytest.mark.slow
def test_a_file_that_answers_otherwise_is_not_kept_and_the_one_of_before_stays(
    desk: ExportDesk, tmp_path: Path
) -> None:
    path = tmp_path / "model.npz"
    desk.exports.export(form_named("npz"), path)
    desk.settle()
    before = path.read_bytes(), report_path(path).read_bytes()
    body = {"write": write_zeros, "__module__": NumpyArchive.__module__}
    wrong = type("Wrong", (NumpyArchive,), body, abstract=True)()
    result: list[ExportResult] = []

    def hear(made: ExportResult) -> None:
        result.append(made)

    desk.exports.finished.connect(hear)
    desk.exports.export(wrong, path, pytest.fail)
    desk.settle()
    assert result[0].check is not None
    assert result[0].check.first is not None
    assert not result[0].is_proven
    assert not result[0].is_placed
    assert (path.read_bytes(), report_path(path).read_bytes()) == before
    assert sorted(each.name for each in tmp_path.glob(".*")) == []


def write_zeros(_: NumpyArchive, model: Exportable, path: Path) -> None:
    """What a broken writer makes: arrays of the right shape without their numbers."""
    save_npz(path, {name: np.zeros_like(a) for name, a in model.public.items()})


def test_without_a_training_it_is_said_and_nothing_is_written(
    desk: ExportDesk, tmp_path: Path
) -> None:
    desk.run = None
    assert desk.exports.why_not(form_named("npz")) == "train the network first"
    with pytest.raises(DataError, match="no trained weights"):
        desk.exports.export(form_named("npz"), tmp_path / "m.npz")
    with pytest.raises(DataError, match="nothing was exported"):
        desk.exports.again()
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_said(desk: ExportDesk, tmp_path: Path) -> None:
    said: list[StudioError] = []
    desk.exports.export(form_named("npz"), tmp_path / "nowhere" / "m.npz", said.append)
    desk.settle()
    assert "the folder does not exist" in said[0].message
    assert desk.exports.result is None
    assert desk.exports.task is None
    assert desk.exports.last is None


def test_a_stopped_export_is_over(desk: ExportDesk, tmp_path: Path) -> None:
    task = desk.exports.export(form_named("gbi"), tmp_path / "m.gbi")
    assert task is not None
    task.cancel()
    desk.settle()
    assert desk.exports.task is None
    assert desk.exports.result is None


@pytest.mark.slow
def test_the_listing_is_shown_as_it_is_written(desk: ExportDesk, tmp_path: Path) -> None:
    found = preview_of(desk, "gbasm")
    desk.exports.export(form_named("gbasm"), tmp_path / "m.gbasm")
    desk.settle()
    lines = (tmp_path / "m.gbasm").read_text().splitlines()
    assert found.lines == tuple(line[:200] for line in lines[:LINES])
    assert found.total == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["gbi", "safetensors", "npz", "checkpoint"])
def test_binary_files_are_summed_up_and_begin_with_their_bytes(
    desk: ExportDesk, tmp_path: Path, key: str
) -> None:
    found = preview_of(desk, key)
    path = tmp_path / f"m{form_named(key).ending}"
    desk.exports.export(form_named(key), path)
    desk.settle()
    content = path.read_bytes()
    assert len(found.lines) <= LINES
    assert found.nbytes == len(content)
    assert tuple(hex_lines(content, 8)) == found.lines[-8:]
    text = "\n".join(found.lines)
    assert "hidden/kernel" in text
    if key == "gbi":
        program = load_gbi(path).program
        assert f"{len(program)} instructions" in text
        assert f"{len(program.tensors)} tensors" in text
        # The same as every other tool, and the report beside the file, say of it.
        assert f"SHA-256 {sha256(content).hexdigest()}" in text


def test_of_a_huge_file_only_the_beginning_is_read(
    desk: ExportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = preview_of(desk, "npz")
    monkeypatch.setattr(export_preview, "LARGEST", whole.nbytes - 1)
    found = preview_of(desk, "npz")
    assert found.lines[:2] == ("Weights (NumPy)", "too large to summarise")
    assert found.lines[-8:] == whole.lines[-8:]
    assert found.nbytes == whole.nbytes


def test_hex_lines_read_like_a_dump() -> None:
    assert list(hex_lines(b"Glassbox\x00\xff is here!", 4)) == [
        "00000000  47 6c 61 73 73 62 6f 78 00 ff 20 69 73 20 68 65  Glassbox.. is he",
        "00000010  72 65 21                                         re!",
    ]


def test_an_empty_canvas_gives_no_picture(desk: ExportDesk) -> None:
    form = form_named("svg")
    desk.exports.pictures["svg"] = lambda: b"<svg/>"
    assert desk.exports.why_not(form) == ""
    document = desk.document
    document.apply("Empty", delete(document.state, list(document.state.nodes)))
    assert desk.exports.why_not(form) == "there is nothing on the canvas"
    document.undo()
    assert desk.exports.why_not(form) == ""


def test_pictures_are_drawn_by_whoever_has_the_canvas(desk: ExportDesk, tmp_path: Path) -> None:
    form = form_named("png")
    assert desk.exports.why_not(form) == "no canvas is open"
    desk.exports.pictures["png"] = lambda: PNG
    assert desk.exports.why_not(form) == ""
    shown: list[tuple[Preview, bytes]] = []
    desk.exports.preview(form, lambda *made: shown.append(made), pytest.fail)
    assert shown[0][0].lines[0] == "PNG image, 320 by 240 pixels"
    desk.exports.export(form, tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes() == PNG
    assert desk.exports.result is not None
    assert desk.exports.result.is_proven
    with pytest.raises(FormatError):
        desk.exports.export(form, tmp_path / "nowhere" / "graph.png")


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 3}', '{"a": ["gbi"]}', "\x00"])
def test_a_damaged_memory_of_exports_is_forgotten(desk: ExportDesk, text: str) -> None:
    assert desk.memory is not None
    desk.memory.parent.mkdir(parents=True)
    desk.memory.write_text(text)
    assert desk.fresh().last is None
    desk.memory.write_text(json.dumps({str(desk.document.path): ["nobody", "/x"]}))
    assert desk.fresh().last is None


def test_suggested_paths_follow_the_last_export(desk: ExportDesk, tmp_path: Path) -> None:
    assert desk.exports.suggested_path(form_named("npz")) == desk.document.folder / "small.npz"
    desk.exports.pictures["svg"] = lambda: b"<svg/>"
    desk.exports.export(form_named("svg"), tmp_path / "drawing.svg")
    assert desk.exports.suggested_path(form_named("svg")) == tmp_path / "drawing.svg"
    assert desk.exports.suggested_path(form_named("npz")) == tmp_path / "small.npz"


EDITS: dict[str, tuple[Callable[[DocumentState], DocumentState], str]] = {
    "added layer": (
        lambda s: add_layer(s, "Activation", after="answer", config={"activation": "softmax"}),
        "+1 layer: activation",
    ),
    "option": (lambda s: set_option(s, "hidden", "units", 32), "hidden: units 24 → 32"),
    "name": (lambda s: rename(s, "hidden", "middle"), "hidden is now called middle"),
    "normalisation": (
        lambda s: set_data(s, {"source": "digits", "normalization": "standard"}),
        "normalisation unit → standard",
    ),
    "data": (lambda s: set_data(s, {"source": "iris"}), "data digits → iris"),
    "no data": (lambda s: set_data(s, None), "the data was removed"),
    "split": (
        lambda s: set_data(s, {"source": "digits", "normalization": "unit", "split_seed": 4}),
        "test split changed",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_was_changed_since_the_training_is_named(desk: ExportDesk, name: str) -> None:
    edit, sentence = EDITS[name]
    assert desk.exports.differences() == ()
    desk.document.apply(name, edit(desk.document.state))
    assert sentence in desk.exports.differences()
    desk.document.undo()
    assert desk.exports.differences() == ()


def test_settings_of_the_training_alone_do_not_make_weights_old(desk: ExportDesk) -> None:
    state = set_training(desk.document.state, {"epochs": 99})
    state = set_option(state, "hidden", "kernel_initializer", "he_normal")
    desk.document.apply("Change training", state)
    assert desk.exports.differences() == ()
    np.testing.assert_equal(desk.document.dirty, True)


@pytest.mark.slow
def test_what_a_format_cannot_hold_is_known_with_the_first_preview(
    desk: ExportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFormat, "members", known_formats())

    class Plain(FileFormat):
        name, title, ending, about = "plain", "Plain", ".plain", "Networks without norms."
        holds = "model"

        def why_not(self, model: Exportable) -> StudioError | None:
            layer = next(each for each in model.graph.layers() if each.name == "norm")
            text = f"there is no {type(layer).__name__} in this format"
            return FormatError(text, who=layer.name, hint="export as npz")

        def write(self, model: Exportable, path: Path) -> None:
            raise AssertionError("not asked for")

    assert desk.exports.why_not(form_named("plain")) == ""
    changes: list[None] = []

    def heard() -> None:
        changes.append(None)

    desk.exports.changed.connect(heard)
    preview_of(desk, "npz")
    said = "there is no BatchNormalization in this format (norm); export as npz"
    assert desk.exports.why_not(form_named("plain")) == said
    assert desk.exports.why_not(form_named("npz")) == ""
    assert len(changes) == 1
    preview_of(desk, "npz")
    assert len(changes) == 1
    desk.run = None
    assert desk.exports.why_not(form_named("plain")) == "train the network first"


@pytest.mark.slow
def test_of_imported_weights_it_is_said_where_they_are(tmp_path: Path) -> None:
    project, run = train(tmp_path, epochs=1)
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        NumpyArchive().write(exportable(trained), tmp_path / "given.npz")
    assert project.path is not None
    made = import_weights(tmp_path / "given.npz", project.path)
    with open_backend("cpu") as opened, Trained.of_run(made, opened.backend) as trained:
        said = weights_text(NumpyArchive(), made, trained)
    assert "imported from given.npz (final.safetensors). They are in this run, not in" in said


@pytest.mark.slow
def test_the_operator_set_is_remembered_with_the_export(desk: ExportDesk, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    desk.exports.export(form_named("onnx").with_opset(15), path)
    desk.settle()
    assert load_model(path.read_bytes()).opset == 15
    path.unlink()
    again = desk.fresh()
    assert again.suggested_path(form_named("onnx")) == path
    again.again()
    desk.settle()
    assert load_model(path.read_bytes()).opset == 15
    assert desk.memory is not None
    assert list(json.loads(desk.memory.read_text()).values()) == [
        ["onnx", str(path), "float32", 15]
    ]
    # A set that a later version could write is not known here: nothing is remembered then.
    desk.memory.write_text(desk.memory.read_text().replace("15", "99"))
    assert desk.fresh().last is None
