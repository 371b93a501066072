"""Finding commands and things: ranking, the palette, going to anything, the key sheet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QScrollArea
from pytestqt.qtbot import QtBot

from studio.session.core import entities
from studio.session.core.action_table import Action, ActionRegistry, ActionTable
from studio.ui.shell.commands import fuzzy
from studio.ui.shell.commands.command_palette import CommandHistory, search_commands
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.dialogs.key_sheet import KeySheet, sheet_of
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

NAMES = ["Lay out everything", "Lay out the selection", "Log", "Colour by layer", "Open…", "Undo",
         "Show the whole graph", "Normalise", "Add a layer"]  # fmt: skip


def best(typed: str) -> str:
    found = [(fit.score, name) for name in NAMES if (fit := fuzzy.match(typed, name))]
    return max(found)[1] if found else ""


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("log", "Log"), ("lay sel", "Lay out the selection"), ("sel lay", "Lay out the selection"),
        ("loe", "Lay out everything"), ("color", "Colour by layer"), ("normaliz", "Normalise"),
        ("whole", "Show the whole graph"), ("ünDO", "Undo"), ("xyz", ""),
    ],
)  # fmt: skip
def test_a_few_letters_find_the_name_that_is_meant(typed: str, name: str) -> None:
    assert best(typed) == name


@pytest.mark.slow
@given(st.text(max_size=12), st.text(max_size=30))
def test_a_match_names_letters_that_were_typed(typed: str, name: str) -> None:
    found = fuzzy.match(typed, name)
    folded = fuzzy.folded(name)
    if found is None:
        return
    assert list(found.places) == sorted(set(found.places))
    marked = "".join(folded[place] for place in found.places)
    assert all(letter in marked for word in fuzzy.folded(typed).split() for letter in word)


@given(st.text(alphabet="abcdef gh", min_size=1, max_size=20))
def test_a_name_is_found_by_itself(name: str) -> None:
    assert fuzzy.match(name, name) is not None


@pytest.fixture
def registry() -> ActionRegistry:
    made = ActionRegistry()
    table: ActionTable[None] = ActionTable(
        0,
        Action("a.one", "First thing", "Does one.", ("Ctrl+1",), "Edit", run=lambda _: None),
        Action(
            "a.two", "Second thing", "Does two.", menu="View", aliases=("color",),
            run=lambda _: None, enabled=lambda _: "nothing is selected",
        ),
        Action("a.three", "Third thing", "Does three.", context="canvas", run=lambda _: None),
    )  # fmt: skip
    made.attach(table, None)
    return made


def test_what_was_used_last_comes_first(registry: ActionRegistry, tmp_path: Path) -> None:
    path = tmp_path / "commands.json"
    history = CommandHistory(path)
    for action_id in ("a.two", "a.three"):
        history.note(action_id)
    found = [each.text for each in search_commands(registry, CommandHistory(path), "")]
    assert found == ["Third thing", "Second thing", "First thing"]
    assert search_commands(registry, history, "thing")[0].text == "Third thing"


def test_a_damaged_history_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "commands.json"
    path.write_text('{"not": "a list"}')
    assert CommandHistory(path).ids == ()
    path.write_text("nonsense")
    history = CommandHistory(path)
    history.note("a.one")
    assert json.loads(path.read_text()) == ["a.one"]


def test_commands_say_their_key_and_why_they_cannot_be_done(registry: ActionRegistry) -> None:
    found = {each.text: each for each in search_commands(registry, CommandHistory(None), "")}
    assert found["First thing"].keys == "Ctrl+1"
    assert found["Second thing"].reason == "nothing is selected"
    assert found["First thing"].reason == ""


def test_another_spelling_finds_an_alias(registry: ActionRegistry) -> None:
    found = search_commands(registry, CommandHistory(None), "colour")
    assert [each.text for each in found] == ["Second thing"]


def finder(window: MainWindow) -> Finder:
    found = window.findChild(Finder)
    assert found is not None
    return found


def type_into(qtbot: QtBot, found: Finder, text: str) -> None:
    qtbot.keyClicks(found.findChild(QLineEdit), text)


def test_the_palette_opens_by_its_key_and_runs_what_is_chosen(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.canvas.setFocus()
    press("Ctrl+Shift+P")
    found = finder(opened)
    assert found.isVisible()
    assert found.findChild(QLineEdit).hasFocus()
    type_into(qtbot, found, "workspace train")
    assert found.chosen.text == "Train"
    press("Return", found.findChild(QLineEdit))
    assert opened.docks.workspace == "train"
    assert opened.history.ids[0] == "workspace.train"
    qtbot.waitUntil(lambda: opened.findChild(Finder) is None)


def test_a_command_that_cannot_be_done_stays_and_says_why(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("view.command_palette")
    found = finder(opened)
    type_into(qtbot, found, "revert to saved")
    assert found.chosen.reason
    press("Return", found.findChild(QLineEdit))
    assert found.isVisible()
    press("Esc", found.findChild(QLineEdit))
    qtbot.waitUntil(lambda: opened.findChild(Finder) is None)


def test_arrows_walk_the_list_and_go_around(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("view.command_palette")
    found = finder(opened)
    first = found.chosen
    field = found.findChild(QLineEdit)
    press("Down", field)
    assert found.chosen is not first
    press("Up", field)
    press("Up", field)
    assert found.chosen is found.found[-1]
    press("Down", field)
    assert found.chosen is first
    found.close()


def test_nothing_found_is_said(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("view.go_to")
    found = finder(opened)
    type_into(qtbot, found, "qqqqxzzz")
    assert found.found == []
    said = [label.text() for label in found.findChildren(QLabel) if label.isVisible()]
    assert any("qqqqxzzz" in text for text in said)
    found.close()


@pytest.fixture
def compiled(qtbot: QtBot, opened: MainWindow) -> MainWindow:
    qtbot.waitUntil(lambda: opened.studio.compilation.shown is not None)
    return opened


@pytest.mark.parametrize("kind", ["node", "tensor", "instruction", "named"])
def test_going_to_a_thing_selects_it(qtbot: QtBot, compiled: MainWindow, kind: str) -> None:
    studio = compiled.studio
    program = studio.compilation.shown.program
    node = next(studio.document.state.layers())
    tensor = next(t for t in program.tensors.values() if t.name.endswith("/kernel"))
    wanted = {
        "node": (node.name, entities.node(node.id)),
        "tensor": (tensor.name, entities.tensor(tensor.name)),
        "instruction": (
            f"3 {list(program)[3].mnemonic}",
            entities.instruction(studio.compilation.provenance.key_of(3)),
        ),
        "named": ("my_weights", entities.tensor(tensor.name)),
    }[kind]
    studio.annotations.name_tensor(tensor.name, "my_weights")
    press("Ctrl+P", compiled.canvas)
    found = finder(compiled)
    type_into(qtbot, found, wanted[0])
    assert found.chosen.text == wanted[0]
    press("Return", found.findChild(QLineEdit))
    assert studio.bus.selection.primary == wanted[1]


def test_going_to_a_pane_shows_it(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("view.go_to")
    found = finder(opened)
    type_into(qtbot, found, "log")
    line = next(each for each in found.found if each.text == "Log" and each.detail == "pane")
    line.act()
    found.close()
    assert opened.docks.is_in_front(opened.docks["log"])


def test_an_angle_bracket_finds_commands(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("view.go_to")
    found = finder(opened)
    type_into(qtbot, found, ">workspace profile")
    assert found.chosen.text == "Profile"
    found.close()


def test_the_key_sheet_shows_the_keys_of_the_focused_view(qtbot: QtBot, opened: MainWindow) -> None:
    opened.canvas.setFocus()
    press("?", opened.canvas)
    sheet = opened.findChild(KeySheet)
    assert sheet is not None
    shown = {label.text() for label in sheet.findChildren(QLabel)}
    for context in ("canvas", "window"):
        for spec in opened.studio.actions:
            if spec.keys and spec.context == context:
                name = "Workspace: Train" if spec.id == "workspace.train" else spec.text
                assert name in shown
    titles = [title for title, _ in sheet_of(opened.studio.actions, "canvas")]
    assert titles == ["Canvas", "Everywhere"]
    sheet.close()


def test_the_key_sheet_finds_what_a_key_does(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("help.keys")
    sheet = opened.findChild(KeySheet)
    field = sheet.findChild(QLineEdit)
    press("Ctrl+Shift+P", field)
    assert field.text() == "Ctrl+Shift+P"
    QApplication.processEvents()
    area = sheet.findChildren(QLabel)
    assert "Command palette…" in {label.text() for label in area if label.isVisibleTo(sheet)}
    assert "Quit" not in {label.text() for label in area if label.isVisibleTo(sheet)}
    assert not sheet.isModal()
    press("Ctrl+Q", field)
    QApplication.processEvents()
    assert field.text() == "Ctrl+Q"
    assert opened.isVisible(), "it was asked what the key does"
    press("F6", sheet.findChild(QScrollArea))
    assert field.text() == "F6"
    press("Esc", field)
    qtbot.waitUntil(lambda: opened.findChild(KeySheet) is None)
