"""A model of Keras in the window: opened, trained a step, exported; what else may happen to one."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QWidget,
)

from studio.engine.interop.file_format import Exportable, format_named
from studio.engine.train.devices import open_backend
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_folder import latest_run
from studio.engine.train.weights import initial_weights
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.importing.report_dialog import ImportDialog
from studio.widgets.record_table.views import RecordTable
from tests.engine.train.small_tasks import cnn
from tests.recorded.keras.record_keras import unpacked
from tests.ui.journeys.person import Person, in_sight

pytestmark = pytest.mark.slow

WAIT = 300_000


def _has_keyboard(window: QWidget, widget: QWidget) -> bool:
    """Whether keys come to this widget; asks for them where they do not."""
    window.activateWindow()
    widget.setFocus()
    return widget.hasFocus()


class Importer:
    """Opens and drops files, and reads what the window says of them."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def open(self, path: Path) -> None:
        """Through *File → Open*, with the keyboard."""
        self.person.press("Ctrl+O")
        chooser = self.person.until(lambda: self.person.sees(QFileDialog, "open_dialog"), WAIT)
        line = self.person.see(QLineEdit, "fileNameEdit", chooser)
        # Without the keyboard the field follows the selected file, which typing a path changes.
        self.person.until(lambda: _has_keyboard(chooser, line), WAIT)
        QTest.keyClicks(line, str(path))
        assert line.text() == str(path)
        QTest.keyClick(line, Qt.Key.Key_Return)
        self.person.until(lambda: not chooser.isVisible(), WAIT)

    def drop(self, *paths: Path) -> None:
        """From a file manager onto the window."""
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        window = self.person.window
        at = window.rect().center()
        copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        none = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(window, QDragEnterEvent(at, copy, data, left, none))
        QApplication.sendEvent(window, QDropEvent(QPointF(at), copy, data, left, none))

    def report(self) -> ImportDialog:
        def there() -> ImportDialog | None:
            found = self.person.sees(ImportDialog)
            return found if found is not None and not in_sight(found.bar) else None

        return self.person.until(there, WAIT)

    def close(self, dialog: ImportDialog) -> None:
        self.person.click(self.person.button("Close", dialog))
        assert not dialog.isVisible()


@pytest.fixture
def importer(person: Person) -> Importer:
    return Importer(person)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A compiled model that Keras 3.10 has saved: five numbers in, two classes out."""
    folder = tmp_path / "models"
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(unpacked()["3.10.0/line.keras"])) as kept:
        members = {each: kept.read(each) for each in kept.namelist()}
    config = json.loads(members["config.json"])
    # Its other metric takes one probability, not two.
    config["compile_config"]["metrics"] = ["accuracy"]
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(folder / "line.keras", "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return folder / "line.keras"


def write_table(file: Path) -> Path:
    rows = np.random.default_rng(3).normal(size=(60, 5)).round(3)
    lines = [f"{','.join(map(str, row))},{'left' if row.sum() < 0 else 'right'}" for row in rows]
    file.write_text("\n".join(["a,b,c,d,e,side", *lines]) + "\n")
    return file


def test_a_model_of_keras_is_opened_trained_a_step_and_exported(
    importer: Importer, source: Path, tmp_path: Path
) -> None:
    person, studio = importer.person, importer.person.studio
    importer.open(source)
    dialog = importer.report()
    assert dialog.head.text() == "line.keras"
    assert "Keras 3.10.0" in dialog.text.text()
    table = person.see(RecordTable, "import_layers", dialog)
    kinds = [row.kind for row in table.entries.rows]
    assert [kind for kind in kinds if kind != "InputLayer"] == [
        "Dense", "LeakyReLU", "ELU", "Dense",
    ]  # fmt: skip
    importer.close(dialog)
    document = studio.document
    assert document.path == source.with_name("line.glassbox")
    assert not studio.problems.items
    places = [(node.x, node.y) for node in document.state.layers()]
    assert len(set(places)) == len(places)
    kept = unpacked()["3.10.0/line.npz"]
    (tmp_path / "answers.npz").write_bytes(kept)
    answers = np.load(tmp_path / "answers.npz")
    run = latest_run(document.project())
    assert run is not None
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        found = trained.predict(answers["input0"])
    np.testing.assert_allclose(found, answers["output0"], atol=1e-5)

    importer.drop(write_table(tmp_path / "sides.csv"))
    person.until(lambda: studio.data.status == "ready", WAIT)
    person.until(lambda: not studio.compilation.is_stale, WAIT)
    batch = person.see(QAbstractButton, "transport.train.step_batch")
    person.until(batch.isEnabled, WAIT)
    person.click(batch)
    person.until(lambda: studio.training.state == "paused", WAIT)
    said = [notice.text for notice in studio.notices.all]
    assert any("Beginning with the weights of line.keras" in text for text in said), said
    person.click(person.see(QAbstractButton, "transport.train.stop"))
    person.until(lambda: not studio.training.is_busy, WAIT)
    assert studio.training.error is None

    person.press("Ctrl+E")
    export = person.until(lambda: person.sees(ExportDialog), WAIT)
    forms = person.see(QListWidget, "export_forms", export)
    item = next(
        forms.item(n) for n in range(forms.count())
        if forms.item(n).text() == format_named("keras").title
    )  # fmt: skip
    forms.scrollToItem(item)
    person.click(forms.viewport(), forms.visualItemRect(item).center())
    line = person.see(QLineEdit, "export_path", export)
    line.selectAll()
    QTest.keyClicks(line, str(tmp_path / "again.keras"))
    person.click(person.see(QPushButton, "export_start", export))
    person.until(lambda: studio.exporting.result, WAIT)
    assert (tmp_path / "again.keras").is_file()


def test_a_model_of_tensorflow_js_is_dropped_with_its_shards(
    importer: Importer, tmp_path: Path
) -> None:
    graph = cnn()
    form, folder = format_named("tfjs"), tmp_path / "page.tfjs"
    form.write(Exportable("cnn", graph, initial_weights(graph, 4)), folder)
    shards = sorted(folder.glob("*.bin"))
    importer.drop(*shards, folder / "model.json")
    dialog = importer.report()
    assert dialog.head.text() == "model.json"
    importer.close(dialog)
    assert importer.person.studio.document.path == folder / "page.glassbox"
    assert not importer.person.studio.problems.items


def test_an_import_is_cancelled_with_the_keyboard(
    importer: Importer, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, form = importer.person, type(format_named("keras"))
    read, gate = form.read_model, threading.Event()

    def slow(this: object, path: Path, progress: object = None) -> object:
        assert gate.wait(60)
        return read(this, path, progress)  # type: ignore[arg-type]

    monkeypatch.setattr(form, "read_model", slow)
    importer.drop(source)
    dialog = person.until(lambda: person.sees(ImportDialog), WAIT)
    assert person.see(QLabel, "import_head", dialog).text() == "Importing line.keras"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    gate.set()
    person.until(lambda: not person.studio.tasks.running, WAIT)
    assert [each.name for each in source.parent.iterdir()] == ["line.keras"]
    assert person.window.is_welcoming


def test_a_damaged_file_gives_a_notice_and_leaves_the_project(
    importer: Importer, source: Path
) -> None:
    content = source.read_bytes()
    source.write_bytes(content[: len(content) // 2])
    importer.drop(source)
    notices = importer.person.studio.notices
    importer.person.until(lambda: [n for n in notices.all if n.severity == "error"], WAIT)
    assert importer.person.window.is_welcoming
    assert [each.name for each in source.parent.iterdir()] == ["line.keras"]
    assert importer.person.sees(ImportDialog) is None


def test_another_program_s_json_is_no_model(importer: Importer, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps({"modelTopology": {}, "weightsManifest": []}))
    importer.drop(tmp_path / "model.json")
    notices = importer.person.studio.notices
    importer.person.until(lambda: [n for n in notices.all if n.severity == "error"], WAIT)
    assert [each.name for each in tmp_path.glob("*.glassbox")] == []


@pytest.mark.parametrize("name", ["empty.keras", "empty.h5"])
def test_an_empty_file_is_called_empty_by_its_name_alone(
    importer: Importer, tmp_path: Path, name: str
) -> None:
    file = tmp_path / ("a folder with a rather long name " * 4).strip() / name
    file.parent.mkdir()
    file.touch()
    importer.drop(file)
    notices = importer.person.studio.notices
    importer.person.until(lambda: [n for n in notices.all if n.severity == "error"], WAIT)
    notice = notices.all[-1]
    assert notice.text.startswith(f"{name}: the file is empty")
    assert str(file) in notice.details
    assert importer.person.sees(ImportDialog) is None
