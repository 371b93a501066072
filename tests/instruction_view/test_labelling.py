"""Naming registers and commenting on lines, by keyboard, as a person does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.line_table import Spot
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.path_bar.bar import PathBar
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.core import entities
from studio.session.document.document import Document
from studio.session.document.edits.annotations import annotations_of
from studio.session.document.edits.layers import rename, set_option
from studio.session.studio import Studio
from tests.instruction_view.listing_hands import (
    answer_of,
    click,
    click_line,
    operand_place,
    place_of,
    tensor_of,
)

Open = Callable[[str], Document]
Settle = Callable[[], None]
WEIGHTS = "conv1/kernel"


@pytest.fixture
def keys(studio: Studio, pane: ListingPane, qtbot: QtBot) -> Iterator[None]:
    """The keys of the two actions, as the window binds them."""
    pane.activateWindow()
    qtbot.waitUntil(pane.isActiveWindow)
    pane.view.setFocus()
    made = []
    for name in ("listing.name", "listing.comment"):
        (key,) = studio.actions[name].keys
        shortcut = QShortcut(key, pane.view)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(lambda each=name: studio.actions.trigger(each))
        made.append(shortcut)
    yield
    for shortcut in made:
        shortcut.setEnabled(False)


def line_with(pane: ListingPane, ref: Ref) -> tuple[int, int]:
    """The first line that names a register, and which of its operands it is."""
    for place, line in enumerate(pane.view.lines):
        for operand, span in enumerate(pane.listing.spans(line)):
            if span.ref == ref:
                return place, operand
    raise AssertionError(f"no line names {ref}")


def type_in(pane: ListingPane, text: str) -> None:
    field = pane.search.field
    field.selectAll()
    if text:
        QTest.keyClicks(field, text)
    else:
        QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClick(field, Qt.Key.Key_Return)


def name(pane: ListingPane, ref: Ref, text: str) -> None:
    place, operand = line_with(pane, ref)
    pane.view.scrollTo(pane.view.model().index(place, 0))
    click(pane, operand_place(pane, place, operand))
    QTest.keyClick(pane.view, Qt.Key.Key_N)
    type_in(pane, text)


def shown(pane: ListingPane, place: int) -> str:
    model = pane.view.model()
    texts = [model.index(place, column).data() for column in range(model.columnCount())]
    return next(text for text in texts if text and text[0].isupper())


@pytest.mark.slow
@pytest.mark.usefixtures("keys")
def test_n_names_a_register_everywhere_it_stands(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle, tmp_path: Path
) -> None:
    ref = tensor_of(pane, WEIGHTS)
    place, operand = line_with(pane, ref)
    name(pane, ref, "w1")
    assert pane.search.isHidden()
    assert pane.view.hasFocus()
    assert annotations_of(document.state).aliases == {WEIGHTS: "w1"}
    assert not studio.compilation.is_compiling
    assert not studio.compilation.is_stale
    rows = pane.listing.rows
    assert rows is not None
    for use in rows.uses(ref):
        text = shown(pane, pane.listing.arrangement.place_of(use.row))
        words = text.replace("=", " ").split()
        assert "w1" in words
        assert str(ref) not in words
    # The register is found where it is drawn now, and is the same one.
    spot = pane.view.spot_at(operand_place(pane, place, operand))
    assert pane.links.register_at(pane.view.lines[place], spot.operand) == ref
    assert "w1" in pane.tip_of(Spot(place, "instruction", operand))
    # A compile, undo, redo, save and open keep it.
    document.apply("Units", set_option(document.state, "conv1", "filters", 12))
    settled()
    assert "w1" in shown(pane, line_with(pane, tensor_of(pane, WEIGHTS))[0])
    document.undo()
    document.undo()
    settled()
    assert "w1" not in shown(pane, line_with(pane, tensor_of(pane, WEIGHTS))[0])
    document.redo()
    path = document.save(tmp_path / "p.glassbox")
    studio.replace(Document.open(path))
    settled()
    assert "w1" in shown(pane, line_with(pane, tensor_of(pane, WEIGHTS))[0])


@pytest.mark.usefixtures("keys")
def test_a_wrong_name_says_why_and_esc_leaves_everything(
    document: Document, pane: ListingPane
) -> None:
    ref = tensor_of(pane, WEIGHTS)
    for text, reason in (("0x12", "letter"), ("two words", "letter"), ("conv1", "already used"),
                         ("digit/kernel", "already used")):  # fmt: skip
        name(pane, ref, text)
        assert reason in answer_of(pane)
        assert pane.search.isVisible()
        QTest.keyClick(pane.search.field, Qt.Key.Key_Escape)
        assert pane.search.isHidden()
    assert not document.dirty
    name(pane, ref, "w")
    name(pane, tensor_of(pane, "digit/kernel"), "w")
    assert "already" in answer_of(pane)


@pytest.mark.slow
@pytest.mark.usefixtures("keys")
def test_a_semicolon_comments_on_a_line(
    document: Document, pane: ListingPane, settled: Settle
) -> None:
    place = place_of(pane, "MAXPOOL2D")
    key = pane.view.lines[place].key
    click_line(pane, place)
    QTest.keyClick(pane.view, Qt.Key.Key_Semicolon)
    type_in(pane, "halves both sides; cheap")
    assert annotations_of(document.state).comments == {key: "halves both sides; cheap"}
    assert shown(pane, place).endswith("  ; halves both sides; cheap")
    document.apply("Rate", set_option(document.state, "conv1", "filters", 12))
    settled()
    assert shown(pane, place_of(pane, "MAXPOOL2D")).endswith("; cheap")
    pane.listing.find("both sides")
    assert [pane.listing.rows.key(row) for row in pane.listing.matches] == [key]  # type: ignore[union-attr]
    click_line(pane, place_of(pane, "MAXPOOL2D"))
    QTest.keyClick(pane.view, Qt.Key.Key_Semicolon)
    assert pane.search.field.text() == "halves both sides; cheap"
    type_in(pane, "")
    assert annotations_of(document.state).comments == {}


@pytest.mark.usefixtures("keys")
def test_map_path_and_uses_say_the_name_too(
    studio: Studio, document: Document, pane: ListingPane, qtbot: QtBot
) -> None:
    tensor_map, bar = TensorMapPane(studio), PathBar(studio)
    for widget in (tensor_map, bar):
        qtbot.addWidget(widget)
    ref = tensor_of(pane, WEIGHTS)
    name(pane, ref, "w1")
    model = tensor_map.table.model()
    cells = [model.index(row, 1).data() for row in range(model.rowCount())]
    assert f"w1 ({WEIGHTS})" in cells
    assert f"w1.grad ({WEIGHTS}.grad)" in cells
    assert f"w1 ({WEIGHTS})" in tensor_map.table.copied()
    studio.bus.select([entities.tensor(WEIGHTS)], source="test")
    assert any(text.startswith("w1 ") for text in bar.texts)
    assert studio.actions.trigger("listing.uses")
    assert "w1" in pane.uses.findChild(object, "listing.uses.tabs").tabText(0)  # type: ignore[attr-defined]
    document.undo()
    assert f"w1 ({WEIGHTS})" not in tensor_map.table.copied()
    assert "w1" not in pane.uses.findChild(object, "listing.uses.tabs").tabText(0)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.usefixtures("keys")
def test_g_finds_what_a_person_named_and_renaming_the_layer_keeps_it(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle
) -> None:
    name(pane, tensor_of(pane, WEIGHTS), "w1")
    document.apply("Rename", rename(document.state, "conv1", "stem"))
    settled()
    assert studio.actions.trigger("listing.goto")
    type_in(pane, "w1")
    assert pane.search.isHidden()
    assert studio.bus.selection.primary == entities.tensor("stem/kernel")


@pytest.mark.usefixtures("keys")
def test_a_field_left_open_never_writes_into_another_document(
    studio: Studio, pane: ListingPane, opened: Open
) -> None:
    ref = tensor_of(pane, WEIGHTS)
    place, operand = line_with(pane, ref)
    click(pane, operand_place(pane, place, operand))
    QTest.keyClick(pane.view, Qt.Key.Key_N)
    assert pane.search.isVisible()
    other = opened("iris")
    assert pane.search.isHidden()
    assert annotations_of(other.state).aliases == {}


def test_a_heading_takes_no_comment(studio: Studio, pane: ListingPane) -> None:
    pane.show_level("layers")
    pane.listing.set_caret(0)
    assert not studio.actions.trigger("listing.comment")
    assert studio.actions.why_not("listing.comment") == "no instruction at the caret"


def test_a_document_for_looking_only_says_so(
    studio: Studio, document: Document, pane: ListingPane
) -> None:
    document.read_only = "the file was written by a newer Glassbox"
    pane.listing.set_caret(3)
    assert studio.actions.trigger("listing.name")
    type_in(pane, "w1")
    assert "newer" in answer_of(pane)
    assert annotations_of(document.state).aliases == {}


@pytest.mark.parametrize("wide", [220, 384])
def test_names_are_written_in_the_whole_width(
    pane: ListingPane, studio: Studio, qtbot: QtBot, wide: int
) -> None:
    pane.resize(wide, 500)
    pane.search.ask("name", "", "0x1f conv2d_transpose_3/recurrent_kernel.gradient")
    field = pane.search.field
    qtbot.waitUntil(lambda: field.width() > 0.75 * pane.search.width())
    qtbot.keyClicks(field, "no spaces please")
    pane.search.answer("a name has letters, digits, dots, dashes and underscores", is_wrong=True)
    answer = pane.search.findChild(QLabel, "listing.search.answer")
    qtbot.waitUntil(lambda: answer.isVisible() and answer.y() > field.y())
    assert field.width() > 0.75 * pane.search.width()
    assert pane.search.rect().contains(answer.geometry())
    assert answer.height() >= answer.heightForWidth(answer.width())
    # Where one searches the count stands beside the field, so that no line moves.
    pane.search.ask("find", "conv")
    pane.search.answer("3 of 12")
    qtbot.waitUntil(lambda: answer.isVisible() and answer.x() > field.x())
    assert abs(answer.geometry().center().y() - field.geometry().center().y()) <= 2
