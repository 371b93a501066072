"""The data pane by real events: choosing, dropping, browsing, dividing, mending."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPushButton,
    QScrollArea,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.document.edits.layers import rename
from studio.session.studio import Studio
from studio.ui.panes.data.pane import DataPane
from studio.widgets.forms.number_editors import NumberField
from studio.widgets.pixels import image_of
from tests.engine.train.two_inputs import two_inputs
from tests.session.data.files import BAD_TABLE, write_pictures, write_table
from tests.ui.fixtures import shown

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> DataPane:
    made = DataPane(studio)
    qtbot.addWidget(made)
    made.resize(280, 900)
    shown(qtbot, made)
    return made


def settled(studio: Studio, qtbot: QtBot, status: str = "ready") -> None:
    qtbot.waitUntil(lambda: studio.data.status == status and not studio.tasks.running)
    panes = [pane for pane in QApplication.topLevelWidgets() if isinstance(pane, DataPane)]
    qtbot.waitUntil(lambda: not any(p.is_refreshing for p in panes if p.isVisible()))


def use(studio: Studio, pane: DataPane, qtbot: QtBot, name: str) -> None:
    studio.data.choose(name)
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.sections["Samples"].isVisible())
    qtbot.waitUntil(lambda: pane.samples.browser is not None)
    qtbot.waitUntil(lambda: pane.samples.browser.dataset is studio.data.dataset)
    qtbot.waitUntil(lambda: not pane.is_refreshing)


def one(pane: QWidget, kind: type, name: str) -> QWidget:
    found = [w for w in pane.findChildren(kind, name) if w.isVisible()]
    assert len(found) == 1, f"{name}: {len(found)}"
    return found[0]


def drag_over(pane: DataPane, mime: QMimeData) -> bool:
    actions = Qt.DropAction.CopyAction
    event = QDragEnterEvent(QPoint(100, 100), actions, mime, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(pane, event)
    return event.isAccepted()


def drop(pane: DataPane, *paths: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    assert drag_over(pane, mime)
    assert one(pane, QWidget, "drop_overlay")
    event = QDropEvent(
        QPointF(100, 100), Qt.DropAction.CopyAction, mime, LEFT, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(pane, event)
    assert event.isAccepted()


@pytest.mark.slow
def test_without_data_it_says_how_to_get_some(studio: Studio, pane: DataPane, qtbot: QtBot) -> None:
    assert pane.is_empty
    qtbot.mouseClick(one(pane, QPushButton, "empty_action"), LEFT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    titles = [action.objectName() for action in menu.actions() if action.objectName()]
    assert titles[:3] == ["data.use_digits", "data.use_iris", "data.use_spirals"]
    next(a for a in menu.actions() if a.objectName() == "data.use_iris").trigger()
    menu.close()
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: not pane.is_empty)
    assert pane.head.title.whole == "Iris"


@pytest.mark.slow
def test_pictures_are_shown_with_their_labels_and_classes_filter_them(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    use(studio, pane, qtbot, "digits")
    grid = pane.samples.grid
    qtbot.waitUntil(grid.isVisible)
    assert "1437 samples" in one(pane, QLabel, "sample_count").text().replace("\u202f", "")
    first = grid.shown[0]
    part = studio.data.summary.training
    assert first.index == part.indices[0]
    bars = pane.bars
    qtbot.mouseClick(bars.viewport(), LEFT, pos=QPoint(60, 3 * 20 + 10))
    assert bars.chosen_class == 3
    assert {sample.label for sample in grid.shown} == {"3"}
    assert f"{part.counts[3]} of 3" in one(pane, QLabel, "sample_count").text()
    qtbot.mouseClick(bars.viewport(), LEFT, pos=QPoint(60, 3 * 20 + 10))
    assert bars.chosen_class == -1
    grid.setFocus()
    qtbot.keyClick(grid, Qt.Key.Key_End)
    assert grid.shown[-1].index == part.indices[-1]


def test_sections_are_shown_in_turns_in_which_the_window_answers(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    between: list[set[str]] = []
    use(studio, pane, qtbot, "digits")
    other = DataPane(studio)
    qtbot.addWidget(other)
    assert not any(section.isVisibleTo(other) for section in other.sections.values())

    def look() -> None:
        between.append({t for t, each in other.sections.items() if each.isVisibleTo(other)})
        if other.is_refreshing:
            QTimer.singleShot(0, other, look)

    look()
    other.show()
    whole = {t for t, each in pane.sections.items() if each.isVisibleTo(pane)}
    assert len(whole) == 6
    qtbot.waitUntil(lambda: between[-1] == whole)
    # The window's turns and the pane's take turns, give or take one.
    assert max(len(now - before) for before, now in pairwise(between)) <= 2


def test_cells_of_small_pictures_are_not_blurred(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    use(studio, pane, qtbot, "digits")
    grid = pane.samples.grid
    sample = grid.shown[0]
    shot = grid.viewport().grab().toImage()
    ratio = shot.devicePixelRatio()
    for row in range(8):
        for column in range(8):
            x, y = round((column * 6 + 3) * ratio), round((row * 6 + 3) * ratio)
            expected = round(int(sample.values[row, column, 0]) * 255 / 16)
            assert abs(shot.pixelColor(x, y).red() - expected) <= 1
    assert image_of(np.zeros((3, 5), np.uint8)).size().width() == 5


def test_the_other_part_can_be_looked_at(studio: Studio, pane: DataPane, qtbot: QtBot) -> None:
    use(studio, pane, qtbot, "iris")
    box = one(pane, QComboBox, "sample_part")
    assert [box.itemText(i) for i in range(box.count())] == ["training", "held-out"]
    table = one(pane, QTableView, "sample_table")
    assert table.model().rowCount() == 120
    box.setCurrentIndex(1)
    box.activated.emit(1)
    assert table.model().rowCount() == 30
    summary = studio.data.summary
    first = summary.parts[1].indices[0]
    shown = table.model().index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert float(shown) == float(summary.dataset.x[first, 0])
    assert table.model().headerData(1, Qt.Orientation.Horizontal) == "sepal_length"
    side = Qt.ItemDataRole.TextAlignmentRole
    for column in range(table.model().columnCount()):
        title = table.model().headerData(column, Qt.Orientation.Horizontal, side)
        assert title == table.model().index(0, column).data(side)


@pytest.mark.slow
def test_points_are_plotted_and_their_options_drawn(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    use(studio, pane, qtbot, "spirals")
    assert pane.samples.plot.isVisible()
    assert pane.samples.plot.shown == 480
    field = one(pane, NumberField, "field_classes")
    qtbot.mouseClick(field, LEFT)
    field.selectAll()
    qtbot.keyClicks(field, "1")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert "from 2 to 64" in one(pane, QLabel, "refusal_classes").text()
    field.selectAll()
    qtbot.keyClicks(field, "3")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert studio.data.data["classes"] == 3
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.sections["Classes"].heading.note == "3")
    assert studio.document.history.texts[-1] == "Change classes"


def test_a_dropped_table_is_attached_in_one_step(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    drop(pane, write_table(tmp_path))
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.head.title.whole == "houses.csv")
    assert studio.document.history.texts == ("Attach houses.csv",)
    qtbot.waitUntil(pane.columns.isVisible)
    columns = one(pane, QListWidget, "feature_columns")
    ticks = {
        columns.item(i).text().split()[0]: columns.item(i).checkState() is Qt.CheckState.Checked
        for i in range(columns.count())
        if not columns.item(i).isHidden()
    }
    assert ticks == {"id": False, "rooms": True, "area": True, "town": False}
    columns.item(1).setCheckState(Qt.CheckState.Unchecked)
    assert studio.data.data["drop"] == ["id", "rooms", "town"]
    settled(studio, qtbot)
    assert studio.data.summary.dataset.feature_names == ("area",)


def test_what_is_no_data_is_not_taken(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    mime = QMimeData()
    mime.setText("just words")
    assert not drag_over(pane, mime)
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / "p.glassbox"))])
    assert not drag_over(pane, mime)
    (tmp_path / "nothing.bin").write_bytes(b"\x01\x02\x00\x03" * 30)
    drop(pane, tmp_path / "nothing.bin")
    qtbot.waitUntil(lambda: studio.notices.unseen == 1)
    assert "is not supported" in studio.notices.all[-1].text
    assert studio.document.history.position == 0


def test_a_picture_that_cannot_be_read_is_named_once(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = write_pictures(tmp_path / "pets")
    (folder / "dog/1.png").write_bytes(b"no picture")
    drop(pane, folder)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    qtbot.waitUntil(lambda: "1.png" in one(pane, QLabel, "problem_text").text())
    said = one(pane, QLabel, "problem_text").text()
    assert said.startswith("dog/1.png: ")
    assert said.count("dog/1.png") == 1


@pytest.mark.slow
def test_bad_rows_are_listed_and_left_out_on_demand(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(BAD_TABLE)
    drop(pane, path)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    table = one(pane, QTableView, "data_problems")
    places = [table.model().index(row, 0).data() for row in range(table.model().rowCount())]
    assert places == ["row 3, rooms", "row 4, area", "row 5", "row 6, area", "row 7, kind"]
    table.selectRow(1)
    assert "the cell is empty" in one(pane, QLabel, "problem_text").text()
    assert "bad.csv" in one(pane, QWidget, "data_refusal").text.text()
    assert not pane.sections["Samples"].isVisible()
    skip = one(pane, QPushButton, "skip_bad")
    assert skip.whole == "Skip 5 rows"
    qtbot.mouseClick(skip, LEFT)
    settled(studio, qtbot)
    assert studio.data.data["bad_rows"] == "skip"
    assert not pane.sections["Problems"].isVisible()
    assert one(pane, QLabel, "cleaned_count").text() == "5 rows skipped"
    table = one(pane, QTableView, "cleaned_places")
    places = [table.model().index(row, 0).data() for row in range(table.model().rowCount())]
    assert places == ["row 3 (rooms)", "row 4 (area)", "row 5", "row 6 (area)", "row 7 (kind)"]
    studio.document.undo()
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    assert not pane.sections["Skipped and filled"].isVisible()


def test_the_input_is_fitted_by_a_click(studio: Studio, pane: DataPane, qtbot: QtBot) -> None:
    use(studio, pane, qtbot, "digits")
    offer = one(pane, QWidget, "input_offer")
    qtbot.mouseClick(one(offer, QPushButton, "banner_action"), LEFT)
    assert studio.document.history.texts[-1] == "Add an input of [8,8,1]"
    qtbot.waitUntil(lambda: not offer.isVisible())


def test_split_and_normalisation_are_changed_and_seen(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    use(studio, pane, qtbot, "iris")
    field = one(pane, NumberField, "field_test_fraction")
    middle = field.rect().center()
    qtbot.mousePress(field, LEFT, pos=middle)
    for x in (10, 20, 40):
        qtbot.mouseMove(field, middle + QPoint(x, 0))
    qtbot.mouseRelease(field, LEFT, pos=middle + QPoint(40, 0))
    assert studio.data.data["test_fraction"] == pytest.approx(0.3)
    assert studio.document.history.texts[-1] == "Change test fraction"
    assert studio.document.history.texts.count("Change test fraction") == 1
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.parts.accessibleName() == "105 training, 45 held-out")
    assert pane.shared.text() == "Held-out part, used for validation and test"
    assert pane.shared.isVisible()
    box = one(pane, QComboBox, "field_normalization")
    index = box.findData("unit")
    box.setCurrentIndex(index)
    box.activated.emit(index)
    settled(studio, qtbot)
    row = lambda: pane.features.entries.rows[0]  # noqa: E731
    qtbot.waitUntil(lambda: row().low_in == pytest.approx(0, abs=1e-6))
    assert row().high_in == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_augmentation_is_chosen_and_previewed(studio: Studio, pane: DataPane, qtbot: QtBot) -> None:
    use(studio, pane, qtbot, "digits")
    editor = pane.changes_form.row("augment").editor
    index = editor.adder.findData("Shift")
    editor.adder.activated.emit(index)
    assert studio.data.data["augment"] == [{"type": "Shift", "config": {}}]
    qtbot.waitUntil(lambda: pane.preview.result is not None and pane.changes.isVisible())
    result = pane.preview.result
    np.testing.assert_array_equal(
        result.before, studio.data.dataset.x[studio.data.summary.training.indices[:4]]
    )
    assert not np.array_equal(result.before, result.after[:, 0])
    qtbot.mouseClick(pane.changes, LEFT)
    qtbot.waitUntil(lambda: pane.preview.indices == (4, 5, 6, 7))
    qtbot.mouseClick(one(pane, QWidget, "remove_augment_0"), LEFT)
    assert "augment" not in studio.data.data
    qtbot.waitUntil(lambda: pane.preview.result is None)


@pytest.mark.slow
def test_augmentation_is_offered_where_any_input_has_images(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    """The first input of the data, by name, has numbers."""
    studio.open(two_inputs(tmp_path))
    settled(studio, qtbot)
    state = studio.document.state
    (picture,) = [node.id for node in state.layers() if node.name == "picture"]
    studio.document.apply("rename", rename(state, picture, "views"))
    mapping = dict(sorted(studio.data.data["inputs"].items()))
    studio.data.attach({**studio.data.data, "inputs": mapping})
    settled(studio, qtbot)
    assert studio.data.dataset.kind != "images"
    section = pane.sections["Augmentation"]
    qtbot.waitUntil(lambda: not section.isHidden())
    editor = pane.changes_form.row("augment").editor
    editor.adder.activated.emit(editor.adder.findData("Flip"))
    assert studio.data.data["augment"] == [{"type": "Flip", "config": {}}]
    qtbot.waitUntil(lambda: pane.preview.result is not None, timeout=60_000)
    assert pane.preview.result.before.shape == (4, 8, 8, 1)
    assert not studio.problems.errors
    studio.data.set_field("test_fraction", 0.5)
    settled(studio, qtbot)
    assert not section.isHidden()


def test_a_folder_is_chosen_by_a_dialog(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = write_pictures(tmp_path / "pets")
    pane.attaching.ask_folder()
    dialog = pane.findChild(QFileDialog, "attach_dialog")
    assert dialog is not None
    dialog.fileSelected.emit(str(folder))
    dialog.reject()
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.head.title.whole == "pets")
    qtbot.waitUntil(pane.sections["Augmentation"].isVisible)
    assert studio.notices.all[-1].text == "Attached pets as folder of images"


def test_a_table_that_cannot_be_read_is_attached_without_a_success(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    rows = [f"{n}.5,{n},{'ab'[n % 2]}" for n in range(20)]
    rows[7] = "1,y,b"
    table.write_text("\n".join(["one,two,label", *rows]) + "\n")
    pane.attaching.attach(table)
    qtbot.waitUntil(lambda: studio.data.status == "failed", timeout=60_000)
    qtbot.waitUntil(pane.head.refusal.isVisible, timeout=60_000)
    (said,) = studio.notices.all
    assert (said.text, said.severity) == (
        "Attached table.csv as table; it could not be read yet", "warning",
    )  # fmt: skip
    rows[7] = rows[8]
    table.write_text("\n".join(["one,two,label", *rows]) + "\n")
    pane.attaching.attach(table)
    qtbot.waitUntil(lambda: studio.notices.all[-1].severity == "ok", timeout=60_000)
    assert studio.notices.all[-1].text == "Attached table.csv as table"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "iris", "spirals"])
def test_nothing_is_wider_than_a_narrow_pane(
    studio: Studio, pane: DataPane, qtbot: QtBot, name: str
) -> None:
    use(studio, pane, qtbot, name)
    for title, section in pane.sections.items():
        section.set_open(True)
        if section.isVisible():
            assert section.minimumSizeHint().width() <= 214, title
    assert pane.head.minimumSizeHint().width() <= 212


@pytest.mark.slow
def test_the_next_project_is_followed(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    use(studio, pane, qtbot, "iris")
    studio.new()
    qtbot.waitUntil(lambda: pane.is_empty)
    changed: Callable[[], bool] = lambda: not pane.is_empty  # noqa: E731
    studio.data.choose("moons")
    settled(studio, qtbot)
    qtbot.waitUntil(changed)
    assert pane.head.title.whole == "Moons"


def typed(pane: DataPane, qtbot: QtBot, name: str, text: str) -> None:
    """Type into a field of the form and leave it."""
    field = one(pane, QLineEdit, f"field_{name}")
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_samples_and_labels_are_dropped_in_two_files(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    np.save(tmp_path / "answers.npy", np.arange(12) % 3)
    np.save(tmp_path / "measured.npy", np.ones((12, 4), np.float32))
    drop(pane, tmp_path / "answers.npy", tmp_path / "measured.npy")
    settled(studio, qtbot)
    assert studio.data.data["x"] == str(tmp_path / "measured.npy")
    qtbot.waitUntil(lambda: pane.head.title.whole == "measured.npy")
    assert studio.data.dataset is not None
    assert studio.data.dataset.x.shape == (12, 4)
    qtbot.waitUntil(lambda: len(studio.data.dataset.class_names) == 3)
    typed(pane, qtbot, "class_names", "low, middle ,high")
    settled(studio, qtbot)
    assert studio.data.data["class_names"] == ["low", "middle", "high"]
    assert studio.data.dataset.class_names == ("low", "middle", "high")


def write_empty_source(folder: Path, kind: str) -> Path:
    path = folder / kind
    if kind.endswith(".csv"):
        path.write_text("" if kind == "empty.csv" else "width,height,kind\n")
    elif kind == "no_arrays.npz":
        np.savez(path)
    elif kind == "one_class":
        write_pictures(path, ("cat",))
        (path / "dog").mkdir()
    else:
        for name in ("cat", "dog"):
            (path / name / "more").mkdir(parents=True)
            if kind == "letters":
                (path / name / "letter.txt").write_text("no picture")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bare_folders", "there are no images in this folder"),
        ("letters", "there are no images in this folder"),
        ("one_class", "only folder 'cat' holds any"),
        ("empty.csv", "the file is empty"),
        ("header_only.csv", "the table has no rows of data"),
        ("no_arrays.npz", "the archive holds no arrays"),
    ],
)
def test_a_source_with_nothing_in_it_is_refused_with_a_sentence_and_changes_nothing(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path, kind: str, words: str
) -> None:
    path = write_empty_source(tmp_path, kind)
    before, told = studio.document.state, len(studio.notices.all)
    drop(pane, path)
    qtbot.waitUntil(lambda: len(studio.notices.all) > told and not studio.tasks.running)
    assert studio.document.state is before
    assert pane.is_empty
    (notice,) = [n for n in studio.notices.all if n.severity == "error"]
    assert words in notice.text
    assert path.name in notice.text
    assert notice.details


@pytest.mark.slow
def test_a_folder_with_one_class_yet_to_be_filled_is_attached_and_says_which(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    pets = write_pictures(tmp_path / "pets")
    (pets / "owl").mkdir()
    drop(pane, pets)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(pane.head.refusal.isVisible)
    assert "'owl' holds no images" in pane.head.refusal.text.text()
    (pets / "owl").rmdir()
    studio.data.reload()
    settled(studio, qtbot)
    assert studio.data.dataset.class_names == ("cat", "dog")


@pytest.mark.slow
def test_labels_of_one_class_are_attached_and_mended_by_another_task(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "heights.npz"
    np.savez(path, x=np.ones((5, 3), np.float32), y=np.zeros(5, np.int64))
    drop(pane, path)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(pane.head.refusal.isVisible)
    assert "expected at least two classes" in pane.head.refusal.text.text()
    task = one(pane, QComboBox, "field_task")
    assert task.isVisible()
    task.setCurrentIndex(task.findText("regression", Qt.MatchFlag.MatchFixedString))
    task.activated.emit(task.currentIndex())
    settled(studio, qtbot)
    assert studio.data.dataset is not None
    assert studio.data.dataset.class_names == ()


@pytest.mark.slow
def test_three_files_are_not_dragged_in(pane: DataPane, tmp_path: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / f"{n}.npy")) for n in range(3)])
    assert not drag_over(pane, mime)


@pytest.mark.slow
def test_arrays_of_an_archive_are_named_where_nobody_can_guess(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    np.savez(tmp_path / "odd.npz", a=np.ones((9, 3), np.float32), b=np.arange(9) % 2, c=np.ones(4))
    drop(pane, tmp_path / "odd.npz")
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(pane.head.refusal.isVisible)
    assert "x_key" in pane.head.refusal.text.text()
    typed(pane, qtbot, "x_key", "a")
    settled(studio, qtbot, "failed")
    typed(pane, qtbot, "y_key", "b")
    settled(studio, qtbot)
    assert studio.data.dataset is not None
    assert studio.data.dataset.x.shape == (9, 3)
    studio.document.undo()
    studio.document.undo()
    assert "x_key" not in studio.data.data


def test_a_taken_offer_leaves_the_pane_where_it_was(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    pane.resize(280, 400)
    use(studio, pane, qtbot, "digits")
    offer = one(pane, QWidget, "input_offer")
    button = one(offer, QPushButton, "banner_action")
    button.setFocus()
    qtbot.mouseClick(button, LEFT)
    qtbot.waitUntil(lambda: not offer.isVisible())
    bars = [area.verticalScrollBar() for area in pane.findChildren(QScrollArea)]
    assert bars
    assert all(bar.value() == 0 for bar in bars)
    assert pane.head.choose.hasFocus()


def test_what_does_not_fit_beside_can_be_scrolled_to(
    studio: Studio, pane: DataPane, qtbot: QtBot
) -> None:
    pane.resize(180, 700)
    use(studio, pane, qtbot, "digits")
    bar = pane.findChildren(QScrollArea)[0].horizontalScrollBar()
    qtbot.waitUntil(bar.isVisible)
    pane.resize(240, 700)
    qtbot.waitUntil(lambda: not bar.isVisible())
