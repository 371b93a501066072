"""Starting the window with plugins: those that fail are named and left out, and all goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.enabling import FILE
from studio.engine.plugins.loading import for_child
from studio.session.document.layer_types import is_known
from studio.session.notices.notices import Notice
from studio.ui.panes.log.pane import LogPane
from tests.ui.journeys.person import Person
from tests.ui.journeys.plugins.test_example import choose

PANES = """
from studio.ui.shell.docks.panes import PaneSpec, Place

def row(**given):
    words = {{"id": "mine", "title": "Mine", "icon": "info", "path": __name__ + ":make"}}
    return PaneSpec(**{{**words, "places": {{"build": Place("right", 1)}}, **given}})

def make(studio, parent=None):
    from PySide6.QtWidgets import QLabel
    return QLabel("here I am", parent)

from studio.session.core.action_table import Action, ActionTable
ACTIONS = ActionTable(900, Action("mine.save", "Save mine", "Saves.", ("Ctrl+S",), run=print))

def window_panes():
    {body}
"""


def told(person: Person) -> list[Notice]:
    return [notice for notice in person.studio.notices.all if notice.severity == "error"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('no luck')", "no luck"),
        ("import sys; sys.exit(3)", "3"),
        ("def (:", "the file cannot be read"),
        (
            "import studio.engine.layers.layer as a\nclass Dense(a.Layer): category = 'core'",
            "'Dense' of glassbox_plugins.broken is taken",
        ),
        ("import no_such_module_here", "no_such_module_here"),
    ],
)
def test_one_that_fails_gives_one_notice_that_leads_to_the_log(
    start: Callable[..., Person], example: Path, put: Callable[..., Path], text: str, said: str
) -> None:
    put("broken", text)
    person = start()
    (notice,) = told(person)
    assert notice.text.startswith("The plugin broken was not loaded: ")
    assert said in notice.text
    assert is_known("Snake")
    assert "example_shares" in person.window.docks
    person.click(person.button("Blank"))
    person.click(person.until(lambda: person.button("Show the log"), 60_000))
    person.until(lambda: person.sees(LogPane), 60_000)
    pointed = person.studio.log.pointed_at
    assert pointed is not None
    assert pointed.text == notice.text
    if "raise" in text:
        assert "Traceback" in pointed.details


def test_a_safe_start_leaves_plugins_out(
    start: Callable[..., Person], example: Path, put: Callable[..., Path]
) -> None:
    put("broken", "raise ValueError('no luck')")
    person = start(safe=True)
    assert told(person) == []
    assert not is_known("Snake")
    assert "example_shares" not in person.window.docks
    # What it starts loads none either.
    assert for_child()["GLASSBOX_PLUGINS"] == ""


def test_one_that_was_removed_is_named(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    example.unlink()
    person = start()
    (notice,) = told(person)
    assert notice.text == "The plugin example was not loaded: it is not installed"


@pytest.mark.parametrize("text", ["{", "[]", '{"enabled": {"example": 3}}'])
def test_a_list_that_cannot_be_read_is_said_once(
    start: Callable[..., Person], example: Path, dirs: AppDirs, text: str
) -> None:
    (dirs.config / FILE).write_text(text)
    person = start()
    (notice,) = told(person)
    assert notice.text == "No plugins loaded: their list cannot be read"
    assert not is_known("Snake")
    assert (dirs.config / FILE).read_text() == text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return [row()] + 3", "The panes of the plugin panes 0 could not be loaded"),
        ("return [3]", "expected a PaneSpec, got int"),
        ("return [row(id='log')]", "there is a pane 'log' already"),
        ("return [row(actions='no_such_module_here')]", "no_such_module_here"),
        ("return [row(icon='no such icon')]", "there is no icon 'no such icon'"),
        ("return [row(actions=__name__)]", "action 'mine.save': Ctrl+S does 'file.save'"),
    ],
)
def test_a_pane_that_fails_is_named_and_left_out(
    start: Callable[..., Person], example: Path, put: Callable[..., Path], body: str, said: str
) -> None:
    put("panes", PANES.format(body=body))
    person = start()
    (notice,) = told(person)
    assert said in notice.text
    assert "panes" in notice.text
    assert "mine" not in person.window.docks
    assert "example_shares" in person.window.docks


def test_a_good_pane_beside_a_bad_one_is_taken(
    start: Callable[..., Person], put: Callable[..., Path]
) -> None:
    put("panes", PANES.format(body="return [row(id='log'), row()]"))
    person = start()
    assert len(told(person)) == 1
    person.window.show_canvas()
    # It may be in front of others that have nothing to show; the menu would close it then.
    person.window.docks["mine"].close()
    choose(person, "View", "Panes", "Mine")
    person.until(lambda: person.window.docks["mine"].pane, 60_000)
    assert person.window.docks["mine"].pane.text() == "here I am"


def test_the_arrangement_of_a_plugin_pane_is_kept(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    person = start()
    person.window.show_canvas()
    person.window.docks["example_shares"].setFloating(True)
    person = start()
    assert json.loads((dirs.config / "layout.json").read_text())
    person.window.show_canvas()
    assert person.window.docks["example_shares"].isFloating()
