"""The list of problems on a real document, through real events."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import DataError
from studio.samples import open_copy
from studio.session.compile.problems import ProblemItem
from studio.session.core import entities
from studio.session.document.edits.layers import set_option
from studio.session.document.report import Fix, Problem, Report
from studio.session.studio import Studio
from studio.ui.panes.problems.pane import ProblemsPane
from tests.ui.panes.stage import Stage
from tests.ui.stand_ins import shows

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot, tmp_path: Path, stage: Stage) -> ProblemsPane:
    studio.open(open_copy("digits-cnn", tmp_path / "project"))
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    return stage.show(ProblemsPane(studio), 600, 300)


def break_kernel(studio: Studio) -> str:
    """Make the first convolution too large for its input; its id."""
    state = studio.document.state
    conv = next(node for node in state.nodes.values() if node.type_name == "Conv2D")
    studio.document.apply("Kernel", set_option(state, conv.id, "kernel_size", [11, 11]))
    studio.document.apply("Padding", set_option(studio.document.state, conv.id, "padding", "valid"))
    return conv.id


def middle(pane: ProblemsPane, place: int) -> QPoint:
    return pane.list.visualItemRect(pane.list.item(place)).center()


@pytest.mark.slow
def test_a_sound_document_has_nothing_to_list(pane: ProblemsPane) -> None:
    assert pane.is_empty
    assert pane.note == ""


def test_a_fault_appears_with_its_layer_and_goes_when_undone(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    conv = break_kernel(studio)
    qtbot.waitUntil(lambda: not pane.is_empty)
    item = pane.problem_at(0)
    assert item.entity == entities.node(conv)
    assert pane.note.startswith("1 error")
    studio.document.undo()
    studio.document.undo()
    qtbot.waitUntil(lambda: pane.is_empty)


def test_the_keys_walk_the_list_and_select_on_the_canvas(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    conv = break_kernel(studio)
    studio.problems.provide_error("training", DataError("row 7 is short", who="iris.csv"))
    qtbot.waitUntil(lambda: pane.list.count() >= 2)
    assert studio.actions.trigger("problems.next")
    qtbot.waitUntil(lambda: pane.list.currentRow() == 0)
    assert studio.bus.selection.primary == entities.node(conv)
    assert studio.actions.trigger("problems.next")
    qtbot.waitUntil(lambda: pane.list.currentRow() == 1)
    assert studio.actions.trigger("problems.previous")
    qtbot.waitUntil(lambda: pane.list.currentRow() == 0)
    assert studio.actions["problems.next"].keys == ("F4",)
    assert studio.actions["problems.previous"].keys == ("Shift+F4",)


def test_double_click_and_enter_show_where_a_problem_is(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    shown: list[str] = []

    def show(entity: entities.Entity, _: str) -> None:
        shown.append(entity.key)

    studio.bus.revealed.connect(show)
    conv = break_kernel(studio)
    qtbot.waitUntil(lambda: not pane.is_empty)
    viewport = pane.list.viewport()
    qtbot.mouseClick(viewport, LEFT, pos=middle(pane, 0))
    assert shown == []
    qtbot.mouseDClick(viewport, LEFT, pos=middle(pane, 0))
    assert shown == [conv]
    qtbot.keyClick(pane.list, Qt.Key.Key_Return)
    assert shown == [conv, conv]


def test_a_chip_puts_the_problem_right(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = studio.document
    dense = next(n for n in document.state.nodes.values() if n.type_name == "Dense")
    fixes = tuple(
        Fix(f"Set units to {n}", f"{n} units", lambda s, n=n: set_option(s, dense.id, "units", n))
        for n in (7, 9)
    )
    problem = Problem("units", "error", dense.id, "too many units", search=lambda _: fixes)
    found = [Report(problems=(problem,)), Report()]
    monkeypatch.setattr(
        type(document),
        "report",
        property(lambda self: found[self.state.node(dense.id).config["units"] == 9]),
    )
    document.report_changed.emit()
    qtbot.waitUntil(lambda: not pane.is_empty)
    assert pane.list.currentRow() == 0, "the first is in hand"
    chips = pane.row_at(0).chips
    assert [chip.text() for chip in chips] == ["Set units to 7", "Set units to 9"]
    assert all(chip.isVisible() for chip in chips)
    qtbot.mouseClick(chips[1], LEFT)
    assert document.state.node(dense.id).config["units"] == 9
    assert document.history.undo_text == "Set units to 9"


def test_a_problem_is_copied_as_text(pane: ProblemsPane, studio: Studio, qtbot: QtBot) -> None:
    studio.problems.provide_error(
        "training", DataError("row 7 is short", who="iris.csv", hint="look at the separator")
    )
    qtbot.waitUntil(lambda: not pane.is_empty)
    qtbot.mouseClick(pane.list.viewport(), LEFT, pos=middle(pane, 0))
    qtbot.keyClick(pane.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    text = QGuiApplication.clipboard().text()
    assert text == "error: iris.csv: row 7 is short\n  look at the separator"


def test_a_long_sentence_is_whole_once_it_is_chosen(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    long = "expected one thing and got another, " * 8
    studio.problems.provide_error("training", DataError(long.strip(), who="iris.csv"))
    break_kernel(studio)
    qtbot.waitUntil(lambda: pane.list.count() == 2)
    folded = pane.list.visualItemRect(pane.list.item(1)).height()
    qtbot.mouseClick(pane.list.viewport(), LEFT, pos=middle(pane, 1))
    qtbot.waitUntil(lambda: pane.list.visualItemRect(pane.list.item(1)).height() > folded)
    row = pane.row_at(1)
    assert row.height() >= row.height_for(row.width())


def test_rows_are_as_high_as_their_text_however_the_pane_is_resized(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    break_kernel(studio)
    qtbot.waitUntil(lambda: not pane.is_empty)
    pane.list.setCurrentRow(0)
    heights = []
    for width in (600, 140, 1200):
        pane.resize(width, 300)
        qtbot.waitUntil(
            lambda: (
                pane.list.sizeHintForRow(0)
                == pane.row_at(0).height_for(pane.list.viewport().width())
            )
        )
        heights.append(pane.list.visualItemRect(pane.list.item(0)).height())
    assert heights[2] <= heights[0] < heights[1]


def test_one_row_for_the_data_says_how_many_problems_there_are_and_leads_to_them(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    shown: list[str] = []
    studio.actions.attach(shows("pane.data", shown), None)
    rows = [f"{n}.5,{n},a" for n in range(20)]
    rows[3], rows[7], rows[11] = "x,1,a", "1,y,b", "1,2"
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["one,two,label", *rows]) + "\n")
    studio.data.attach({"source": "csv", "path": str(table)})
    qtbot.waitUntil(lambda: len(studio.data.problems.rows) == 3)
    qtbot.waitUntil(lambda: any(each.source == "data" for each in studio.problems.items))
    place = next(i for i, each in enumerate(studio.problems.items) if each.source == "data")
    qtbot.waitUntil(lambda: pane.row_at(place).lead is not None)
    lead = pane.row_at(place).lead
    assert lead.whole == "Show all 3 problems in the Data pane"
    assert lead.isVisible()
    qtbot.mouseClick(lead, LEFT)
    assert shown == ["pane.data"]
    shown.clear()
    head = pane.list.visualItemRect(pane.list.item(place)).topLeft() + QPoint(30, 8)
    qtbot.mouseClick(pane.list.viewport(), LEFT, pos=head)
    qtbot.mouseDClick(pane.list.viewport(), LEFT, pos=head)
    assert shown == ["pane.data"]
    row = pane.row_at(place)
    assert pane.list.sizeHintForRow(place) == row.height_for(pane.list.viewport().width())
    # Mended, it is the only problem no longer, and leads nowhere.
    rows[7], rows[11] = rows[0], rows[1]
    table.write_text("\n".join(["one,two,label", *rows]) + "\n")
    studio.data.reload()
    qtbot.waitUntil(lambda: len(studio.data.problems.rows) == 1)
    qtbot.waitUntil(lambda: all(pane.row_at(i).lead is None for i in range(pane.list.count())))


def test_more_problems_than_fit_are_all_listed_and_counted(
    pane: ProblemsPane, studio: Studio, qtbot: QtBot
) -> None:
    found = [
        ProblemItem(f"training:{n}", "error", "training", f"row {n} is short") for n in range(40)
    ]
    # The list is filled while it has no scroll bar and while it has one.
    for shown in (found[:1], found, found[:11], found):
        studio.problems.provide("training", shown)
        number = len(shown)
        qtbot.waitUntil(lambda number=number: pane.list.count() == number)
        assert all(pane.row_at(place).isVisibleTo(pane.list) for place in range(number))
        assert pane.note == (f"{number} errors" if number > 1 else "1 error")
        wide = pane.list.viewport().width()
        heights = [pane.row_at(place).height_for(wide) for place in range(number)]
        qtbot.waitUntil(
            lambda heights=heights: (
                [pane.list.sizeHintForRow(place) for place in range(len(heights))] == heights
            )
        )
    pane.resize(600, 180)
    studio.problems.provide("training", found[:20])
    qtbot.waitUntil(lambda: pane.list.count() == 20)
    assert pane.note == "20 errors"
