"""The export dialog by real events: choose, look, write, prove, refuse, stop."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.formats.gbasm import load_gbasm
from studio.engine.formats.onnx_wire import load_model
from studio.engine.formats.safetensors import load as load_safetensors
from studio.engine.interop.file_format import Exportable, FileFormat, format_named
from studio.engine.isa.text import format_program
from studio.engine.train.export.check.answers import Difference
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.export.exporting import Export
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import set_training
from studio.session.export.exporting import ExportResult, search_words
from studio.session.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.export.exports import Exports
from studio.ui.shell.actions import EXPORT
from tests.engine.interop.formats_from_elsewhere import MODULE, format_from_elsewhere, known_formats
from tests.engine.train.trained_projects import train
from tests.ui.fixtures import shown

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    train(folder)
    return folder


@pytest.fixture
def dialog(studio: Studio, qtbot: QtBot, home: Path) -> ExportDialog:
    studio.open(home / "small.glassbox")
    made = ExportDialog(studio)
    qtbot.addWidget(made)
    shown(qtbot, made)
    idle(studio, qtbot)
    return made


def idle(studio: Studio, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not studio.tasks.running and not studio.compilation.is_compiling,
                    timeout=30_000)  # fmt: skip


def choose(dialog: ExportDialog, qtbot: QtBot, title: str) -> None:
    forms = dialog.findChild(QListWidget, "export_forms")
    item = forms.findItems(title, Qt.MatchFlag.MatchStartsWith)[0]
    place = forms.visualItemRect(item).center()
    qtbot.mouseClick(forms.viewport(), LEFT, pos=QPoint(place))


def type_path(dialog: ExportDialog, qtbot: QtBot, path: Path) -> None:
    line = dialog.findChild(QLineEdit, "export_path")
    line.setFocus()
    line.selectAll()
    qtbot.keyClicks(line, str(path))


def sentence(dialog: ExportDialog) -> str:
    return dialog.findChild(QLabel, "finding_sentence").text()


@pytest.mark.slow
def test_a_file_is_written_and_proven(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(dialog, qtbot, "Weights (safetensors)")
    path = tmp_path / "model.safetensors"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    assert dialog.findChild(QPushButton, "export_close").text() == "Cancel"
    assert not dialog.findChild(QPushButton, "export_start").isEnabled()
    qtbot.waitUntil(lambda: studio.exporting.result is not None)
    qtbot.waitUntil(lambda: sentence(dialog).startswith("Same model: max difference "))
    assert sentence(dialog).endswith("on 64 samples")
    details = dialog.findChild(QLabel, "finding_details").text()
    assert str(path) in details
    assert "the same class on all 64" in details
    assert "Read by Glassbox in another process in " in details
    arrays, _ = load_safetensors(path)
    assert "hidden/kernel" in arrays
    assert dialog.findChild(QPushButton, "export_close").text() == "Close"
    assert studio.actions.why_not("export.again") == ""
    path.unlink()
    assert studio.actions.trigger("export.again")
    qtbot.waitUntil(path.is_file)
    idle(studio, qtbot)


@pytest.mark.slow
def test_the_operator_set_is_chosen_by_keys_and_offered_where_there_is_one(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    box = dialog.findChild(QComboBox, "export_opset")
    choose(dialog, qtbot, "Weights (NumPy)")
    assert not box.isVisible()
    choose(dialog, qtbot, "ONNX model")
    assert [box.itemText(row) for row in range(box.count())] == [str(n) for n in range(13, 22)]
    assert box.currentText() == "17"
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Up)
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert box.currentText() == "15"
    preview = dialog.findChild(QPlainTextEdit, "export_preview")
    qtbot.waitUntil(lambda: "operator set 15" in preview.toPlainText(), timeout=60_000)
    path = tmp_path / "model.onnx"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: studio.exporting.result is not None, timeout=60_000)
    assert load_model(path.read_bytes()).opset == 15
    choose(dialog, qtbot, "Instruction file")
    assert not box.isVisible()
    choose(dialog, qtbot, "ONNX model")
    assert box.currentText() == "15"
    idle(studio, qtbot)


@pytest.mark.slow
def test_small_weights_are_chosen_and_what_they_cost_is_said(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    box = dialog.findChild(QComboBox, "export_small")
    about = dialog.findChild(QLabel, "export_small_about")
    choose(dialog, qtbot, "Instruction listing")
    assert [box.itemText(row) for row in range(box.count())] == ["float32", "float16", "int8"]
    assert box.currentText() == "float32"
    assert "Exactly as trained" in about.text()
    box.setFocus()
    qtbot.keyClicks(box, "int8")
    box.activated.emit(box.currentIndex())
    assert about.text().startswith("A quarter of the size")
    preview = dialog.findChild(QPlainTextEdit, "export_preview")
    qtbot.waitUntil(lambda: "int8 [24,64]" in preview.toPlainText(), timeout=60_000)
    # A format without a choice hides it, and the choice comes back with the next one that has it.
    choose(dialog, qtbot, "Weights (NumPy)")
    assert not box.isVisible()
    choose(dialog, qtbot, "TensorFlow.js")
    for row in range(box.count()):
        box.setCurrentIndex(row)
        box.activated.emit(row)
        assert "size" in about.text() or box.currentText() == "float32"
    choose(dialog, qtbot, "Instruction file")
    assert box.currentText() == "float32"
    choose(dialog, qtbot, "Weights (safetensors)")
    assert box.isVisible()
    box.setCurrentIndex(2)
    box.activated.emit(2)
    path = tmp_path / "model.safetensors"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: studio.exporting.result is not None, timeout=60_000)
    details = dialog.findChild(QLabel, "finding_details")
    qtbot.waitUntil(lambda: "with int8 (" in details.text(), timeout=60_000)
    assert "Answers differ from those with float32 weights by at most" in details.text()
    assert load_safetensors(path)[0]["hidden/kernel"].dtype == "int8"
    assert studio.exporting.last_weights == "int8"
    path.unlink()
    assert studio.actions.trigger("export.again")
    qtbot.waitUntil(lambda: studio.exporting.task is None and path.is_file(), timeout=60_000)
    assert load_safetensors(path)[0]["hidden/kernel"].dtype == "int8"
    idle(studio, qtbot)


@pytest.mark.slow
def test_the_dialog_says_which_weights_it_writes(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    weights = dialog.findChild(QLabel, "export_weights")
    (run,) = studio.runs.runs
    choose(dialog, qtbot, "Weights (safetensors)")
    said = f"Weights of the run {run.title}: epoch {run.epochs} (final.safetensors)"
    qtbot.waitUntil(lambda: weights.text() == said, timeout=60_000)
    assert weights.isVisible()
    choose(dialog, qtbot, "Instruction listing")
    listing = said.replace("Weights", "Without weights; the network", 1)
    qtbot.waitUntil(lambda: weights.text() == listing, timeout=60_000)
    choose(dialog, qtbot, "Image of the graph (SVG)")
    assert not weights.isVisible()
    choose(dialog, qtbot, "Weights (safetensors)")
    # A run is called what its user calls it.
    studio.runs.rename(run.name, "The good one")
    path = tmp_path / "model.safetensors"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: studio.exporting.result is not None, timeout=60_000)
    named = said.replace(run.title, "The good one")
    details = dialog.findChild(QLabel, "finding_details")
    qtbot.waitUntil(lambda: named in details.text(), timeout=60_000)
    qtbot.waitUntil(lambda: weights.text() == named, timeout=60_000)
    studio.runs.rename(run.name, "")
    idle(studio, qtbot)


@pytest.mark.slow
def test_exporting_again_says_so_where_the_folder_has_gone(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    choose(dialog, qtbot, "Weights (NumPy)")
    type_path(dialog, qtbot, folder / "model.npz")
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: studio.exporting.result is not None)
    dialog.close()
    rmtree(folder)
    assert studio.actions.trigger("export.again")
    qtbot.waitUntil(lambda: bool(studio.notices.all))
    said = studio.notices.all[-1]
    assert said.severity == "error"
    assert "the folder does not exist" in said.text
    idle(studio, qtbot)


@pytest.mark.slow
def test_the_preview_is_the_beginning_of_the_file(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(dialog, qtbot, "Instruction listing")
    text = dialog.findChild(QPlainTextEdit, "export_preview")
    qtbot.waitUntil(lambda: text.toPlainText().startswith(".glassbox"))
    path = tmp_path / "model.gbasm"
    type_path(dialog, qtbot, path)
    qtbot.keyClick(dialog.findChild(QLineEdit, "export_path"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.exporting.result is not None)
    lines = format_program(load_gbasm(path)).splitlines()
    assert text.toPlainText().splitlines() == [line[:200] for line in lines[:40]]
    assert text.isReadOnly()
    idle(studio, qtbot)


@pytest.mark.slow
def test_what_was_written_is_shown_and_not_what_was_previewed(
    studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    """Beside a training the weights have moved on since the preview."""
    train(tmp_path)
    studio.preferences.set("backend", "cpu")
    studio.open(tmp_path / "small.glassbox")
    dialog = ExportDialog(studio)
    qtbot.addWidget(dialog)
    dialog.show()
    choose(dialog, qtbot, "Instruction file")
    text = dialog.findChild(QPlainTextEdit, "export_preview")
    qtbot.waitUntil(lambda: "SHA-256" in text.toPlainText())
    studio.document.apply("Seed", set_training(studio.document.state, {"seed": 5}))
    studio.training.start()
    qtbot.waitUntil(lambda: studio.training.state == "finished", timeout=60_000)
    path = tmp_path / "model.gbi"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: studio.exporting.result is not None)
    digest = sha256(path.read_bytes()).hexdigest()
    qtbot.waitUntil(lambda: digest in text.toPlainText())
    idle(studio, qtbot)


@pytest.mark.slow
def test_changes_since_the_training_are_said_first(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot
) -> None:
    band = dialog.findChild(QWidget, "changed_band")
    assert not band.isVisible()
    studio.document.apply("x", set_option(studio.document.state, "hidden", "units", 99))
    qtbot.waitUntil(band.isVisible)
    assert "hidden: units 24 → 99" in dialog.findChild(QLabel, "changed_text").text()
    choose(dialog, qtbot, "Image of the graph (SVG)")
    assert not band.isVisible(), "a picture shows the graph as it is"
    idle(studio, qtbot)


def test_a_difference_names_the_first_sample_and_shows_it(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    check = ExportCheck(
        "npz", 64, 0.2, 0.4, 0.2, 60, False,
        ("4 of 64 samples give different outputs, the first is sample 7",
         "its class 0 is called '1', expected '0'"),
        Difference(7, "3 (0.98)", "8 (0.55)"), "test", 1.0,
    )  # fmt: skip
    choose(dialog, qtbot, "Weights (NumPy)")
    preview = dialog.findChild(QPlainTextEdit, "export_preview")
    qtbot.waitUntil(lambda: preview.toPlainText().startswith("zip archive"), timeout=60_000)
    made = Export(format_named("npz"), tmp_path / "m.npz", 1234, check)
    result = ExportResult(made.form, made.path, made.nbytes, made)
    studio.exporting.result = result
    qtbot.waitUntil(lambda: studio.data.status == "ready")
    dialog.refresh()
    assert sentence(dialog).startswith("Not the same model: 4 of 64 samples")
    details = dialog.findChild(QLabel, "finding_details").text()
    assert "expected 3 (0.98), got 8 (0.55) from the file" in details
    assert "Its class 0 is called '1', expected '0'." in details
    assert f"{made.path} was not written; what was there is kept" in details
    idle(studio, qtbot)
    assert preview.toPlainText().startswith("zip archive"), "there is no other file to show"
    assert dialog.finding.sample.isVisible()


@pytest.mark.slow
def test_of_a_file_that_was_not_compared_nothing_is_claimed(
    studio: Studio, dialog: ExportDialog, tmp_path: Path
) -> None:
    reason = "files of this format cannot be read back"
    made = Export(format_named("npz"), tmp_path / "m", 1, ExportCheck("npz", 0, reasons=(reason,)))
    studio.exporting.result = ExportResult(made.form, made.path, 1, made)
    dialog.refresh()
    assert sentence(dialog) == f"Not verified: {reason}"


def test_what_cannot_be_exported_says_why(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot
) -> None:
    choose(dialog, qtbot, "Image of the graph (PNG)")
    start = dialog.findChild(QPushButton, "export_start")
    assert not start.isEnabled()
    assert start.toolTip() == "No canvas is open."
    choose(dialog, qtbot, "Weights (NumPy)")
    assert start.isEnabled()
    line = dialog.findChild(QLineEdit, "export_path")
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_Delete)
    assert start.toolTip() == "Choose a file."
    idle(studio, qtbot)


def test_a_picture_is_shown_and_written(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(0xFF0000)
    image.save(buffer, "PNG")
    studio.exporting.pictures["png"] = lambda: bytes(content.data())
    choose(dialog, qtbot, "Image of the graph (PNG)")
    shown = dialog.findChild(QLabel, "export_picture").pixmap().toImage()
    assert (shown.width(), shown.height()) == (40, 30)
    assert shown.pixelColor(5, 5).red() == 255
    type_path(dialog, qtbot, tmp_path / "graph.png")
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    assert (tmp_path / "graph.png").read_bytes() == bytes(content.data())
    assert sentence(dialog) == "Written"
    idle(studio, qtbot)


def test_a_file_that_cannot_be_written_is_said(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(dialog, qtbot, "Weights (NumPy)")
    type_path(dialog, qtbot, tmp_path / "nowhere" / "m.npz")
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: sentence(dialog) == "Not exported")
    assert "the folder does not exist" in dialog.findChild(QLabel, "finding_details").text()
    idle(studio, qtbot)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        (
            "Instruction file",
            "m.npz",
            "the extension of 'm.npz' is for Weights (NumPy), not for Instruction file",
        ),
        ("Weights (NumPy)", "m.PNG", "the extension of 'm.PNG' is for Image of the graph (PNG)"),
    ],
)
def test_a_name_with_the_ending_of_another_form_is_refused(
    studio: Studio,
    dialog: ExportDialog,
    qtbot: QtBot,
    tmp_path: Path,
    form: str,
    name: str,
    said: str,
) -> None:
    choose(dialog, qtbot, form)
    type_path(dialog, qtbot, tmp_path / name)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.waitUntil(lambda: sentence(dialog) == "Not exported", timeout=60_000)
    assert said in dialog.findChild(QLabel, "finding_details").text()
    assert not (tmp_path / name).exists()
    idle(studio, qtbot)


@pytest.mark.slow
def test_an_export_can_be_stopped(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(dialog, qtbot, "Instruction file")
    type_path(dialog, qtbot, tmp_path / "m.gbi")
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_close"), LEFT)
    assert studio.exporting.task is None
    idle(studio, qtbot)
    assert dialog.isVisible()
    assert studio.exporting.result is None
    assert not list(tmp_path.glob("*m.gbi*"))


def test_the_path_is_chosen_with_the_ending_of_the_form(
    studio: Studio, dialog: ExportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(dialog, qtbot, "Instruction file")
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_browse"), LEFT)
    chooser = dialog.findChild(QFileDialog, "export_path_dialog")
    chooser.fileSelected.emit(str(tmp_path / "model"))
    chooser.reject()
    assert dialog.findChild(QLineEdit, "export_path").text() == str(tmp_path / "model.gbi")
    idle(studio, qtbot)


def test_the_action_opens_one_dialog(studio: Studio, qtbot: QtBot, home: Path) -> None:
    studio.open(home / "small.glassbox")
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    studio.actions.attach(EXPORT, SimpleNamespace(exports=Exports(studio, window, lambda: None)))
    for _ in range(2):
        assert studio.actions.trigger("export.dialog")
    found = [d for d in window.findChildren(ExportDialog) if d.isVisible()]
    assert len(found) == 1
    assert not found[0].isModal()
    studio.new()
    qtbot.waitUntil(lambda: not found[0].isVisible())
    idle(studio, qtbot)


@pytest.mark.slow
def test_a_format_from_elsewhere_is_offered_shown_written_and_checked(
    studio: Studio, qtbot: QtBot, home: Path, tmp_path: Path
) -> None:
    with format_from_elsewhere(tmp_path / "modules", MODULE):
        studio.open(home / "small.glassbox")
        dialog = ExportDialog(studio)
        qtbot.addWidget(dialog)
        dialog.show()
        idle(studio, qtbot)
        choose(dialog, qtbot, "Weights (reversed)")
        assert dialog.findChild(QLabel, "export_about").text() == "All weights, back to front."
        assert dialog.findChild(QLineEdit, "export_path").text().endswith("small.reversed")
        text = dialog.findChild(QPlainTextEdit, "export_preview")
        qtbot.waitUntil(lambda: text.toPlainText().startswith("reversed archive"), timeout=60_000)
        assert "hidden/kernel" in text.toPlainText()
        path = tmp_path / "model.reversed"
        type_path(dialog, qtbot, path)
        qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), LEFT)
        qtbot.waitUntil(lambda: sentence(dialog).startswith("Same model: "), timeout=60_000)
        assert path.read_bytes().startswith(b"REVERSED")
        assert "backwards" in search_words()
        idle(studio, qtbot)
        dialog.close()


@pytest.mark.slow
def test_a_format_that_cannot_hold_the_network_is_grey_and_says_why(
    studio: Studio, qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFormat, "members", known_formats())

    class Plain(FileFormat):
        name, title, ending, about = "plain", "Plain networks", ".plain", "Without norms."
        holds = "model"

        def why_not(self, model: Exportable) -> StudioError | None:
            text = "there is no BatchNormalization in this format"
            return FormatError(text, who="norm", hint="export as Keras model, which has it")

        def write(self, model: Exportable, path: Path) -> None:
            raise AssertionError("not asked for")

    studio.open(home / "small.glassbox")
    made = ExportDialog(studio)
    qtbot.addWidget(made)
    shown(qtbot, made)
    forms = made.findChild(QListWidget, "export_forms")
    (item,) = forms.findItems("Plain networks", Qt.MatchFlag.MatchExactly)

    said = "There is no BatchNormalization in this format (norm); export as Keras model, which has"
    qtbot.waitUntil(lambda: said in item.toolTip(), timeout=60_000)
    assert item.foreground().color() != forms.item(0).foreground().color()
    choose(made, qtbot, "Plain networks")
    preview = made.findChild(QPlainTextEdit, "export_preview")
    assert preview.toPlainText() == f"{said} it."
    # All of it is seen: text in lines as wide as the field.
    assert preview.lineWrapMode() == QPlainTextEdit.LineWrapMode.WidgetWidth
    start = made.findChild(QPushButton, "export_start")
    assert not start.isEnabled()
    assert start.toolTip() == f"{said} it."
    choose(made, qtbot, "Weights (NumPy)")
    qtbot.waitUntil(lambda: "arrays" in preview.toPlainText(), timeout=60_000)
    assert preview.lineWrapMode() == QPlainTextEdit.LineWrapMode.NoWrap
    assert start.isEnabled()
    idle(studio, qtbot)
