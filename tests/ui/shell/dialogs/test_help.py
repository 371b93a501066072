"""Pages to read: the menu, F1 on what is selected, links, and what the box about it says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication, QLabel, QListWidget, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from studio import __version__
from studio.session.core import entities
from studio.session.document.edits.removal import delete
from studio.ui.shell.actions import PAGES
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.dialogs import help_viewer
from studio.ui.shell.dialogs.help_viewer import HelpViewer
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press


def viewer(window: MainWindow) -> HelpViewer:
    found = window.findChild(HelpViewer)
    assert found is not None
    return found


def text(window: MainWindow) -> str:
    return viewer(window).findChild(QTextBrowser).toPlainText()


@pytest.mark.parametrize("name", [name for name, _, _ in PAGES])
def test_every_page_of_the_menu_can_be_read(window: MainWindow, name: str) -> None:
    window.studio.actions.trigger(f"help.{name}")
    assert len(text(window)) > 500
    assert viewer(window).title
    viewer(window).close()


def test_a_page_that_did_not_come_along_is_said_so(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(help_viewer, "page", lambda _name: None)
    assert window.studio.actions.why_not("help.guide") == "the help pages are not installed"


def test_a_link_between_pages_is_followed(qtbot: QtBot, window: MainWindow) -> None:
    window.studio.actions.trigger("help.guide")
    browser = viewer(window).findChild(QTextBrowser)
    before = viewer(window).title
    browser.anchorClicked.emit(QUrl("commands.md"))
    assert viewer(window).title != before
    browser.anchorClicked.emit(QUrl("no-such-page.md"))
    viewer(window).close()


def test_pictures_are_as_fine_as_the_screen_and_as_wide_as_the_page(window: MainWindow) -> None:
    window.studio.actions.trigger("help.guide")
    pages = viewer(window).findChild(QTextBrowser)
    name = QUrl("pictures/build-dark.png")
    image = pages.document().resource(QTextDocument.ResourceType.ImageResource.value, name)
    assert image.deviceIndependentSize().width() == pytest.approx(680, abs=1)
    assert image.devicePixelRatio() == pytest.approx(pages.devicePixelRatioF(), rel=0.01)
    viewer(window).close()


def test_f1_tells_about_the_selected_layer_with_every_option(
    qtbot: QtBot, opened: MainWindow
) -> None:
    dense = next(n for n in opened.studio.document.state.layers() if n.type_name == "Dense")
    opened.studio.bus.select((entities.node(dense.id),), source="test")
    opened.canvas.setFocus()
    press("F1")
    assert viewer(opened).title == "Dense"
    for option in ("Units", "Activation"):
        assert option in text(opened)
    # What a layer says of itself is prose, and no code because its lines are indented.
    found = viewer(opened).findChild(QTextBrowser).document().find("The kernel is stored")
    assert not found.isNull()
    assert "monospace" not in (found.charFormat().fontFamilies() or [])
    viewer(opened).close()


def test_the_text_asked_for_stays_when_the_list_of_pages_gets_the_keyboard(
    qtbot: QtBot, opened: MainWindow
) -> None:
    dense = next(n for n in opened.studio.document.state.layers() if n.type_name == "Dense")
    opened.studio.bus.select((entities.node(dense.id),), source="test")
    opened.studio.actions.trigger("help.here")
    shown = viewer(opened)
    with qtbot.waitExposed(shown, timeout=60_000):
        shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    pages = shown.findChild(QListWidget)
    pages.setFocus()
    qtbot.waitUntil(pages.hasFocus)
    assert shown.title == "Dense"
    assert "Units" in text(opened)
    press("End", pages)
    assert shown.title == pages.item(pages.count() - 1).text()
    shown.close()


def test_f1_tells_about_the_selected_instruction(qtbot: QtBot, opened: MainWindow) -> None:
    studio = opened.studio
    qtbot.waitUntil(lambda: studio.compilation.shown is not None)
    program = studio.compilation.shown.program
    index = next(i for i, each in enumerate(program) if each.mnemonic == "LINEAR")
    key = studio.compilation.provenance.key_of(index)
    studio.bus.select((entities.instruction(key),), source="test")
    studio.actions.trigger("help.here")
    assert viewer(opened).title == "LINEAR"
    assert "Opcode" in text(opened)
    viewer(opened).close()


def test_f1_without_a_selection_tells_about_the_pane(qtbot: QtBot, opened: MainWindow) -> None:
    opened.docks.show("listing")
    opened.studio.bus.clear()
    opened.studio.actions.trigger("help.here")
    assert "instruction" in viewer(opened).title.lower()
    viewer(opened).close()


def test_the_box_about_it_says_what_somebody_who_helps_will_ask(window: MainWindow) -> None:
    window.studio.actions.trigger("help.about")
    said = window.findChild(QLabel, "about_facts").text()
    assert __version__ in said
    assert str(window.studio.dirs.config) in said


@pytest.fixture
def reading(qtbot: QtBot, opened: MainWindow) -> Iterator[HelpViewer]:
    """A page that is read beside the window with a project."""
    opened.studio.actions.trigger("help.guide")
    shown = viewer(opened)
    with qtbot.waitExposed(shown, timeout=60_000):
        shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    yield shown
    if shiboken6.isValid(shown):
        shown.close()


@pytest.mark.parametrize("place", [QTextBrowser, QListWidget])
def test_the_keys_of_the_window_work_while_a_page_is_read(
    qtbot: QtBot, opened: MainWindow, reading: HelpViewer, place: type[QWidget]
) -> None:
    document = opened.studio.document
    last = [node.id for node in document.state.layers()][-1]
    document.apply("Delete", delete(document.state, [last]))
    inside = reading.findChild(place)
    inside.setFocus()
    qtbot.waitUntil(inside.hasFocus)
    press("Ctrl+Z")
    assert last in document.state.nodes
    press("Ctrl+Y")
    assert last not in document.state.nodes
    press("Ctrl+3")
    assert opened.docks.workspace == "profile"
    assert reading.isVisible()


def test_a_key_that_leads_into_the_window_takes_the_keyboard_there(
    qtbot: QtBot, opened: MainWindow, reading: HelpViewer
) -> None:
    assert opened.canvas.window().focusWidget() is not None
    press("F6")
    qtbot.waitUntil(opened.isActiveWindow)
    assert opened.docks.focused() is not None
    assert reading.isVisible()
    reading.activateWindow()
    qtbot.waitUntil(reading.isActiveWindow)
    press("Ctrl+P")
    finder = opened.findChild(Finder)
    assert finder is not None
    assert finder.isVisible()
    finder.close()


def test_ctrl_c_copies_what_is_marked_on_a_page(
    qtbot: QtBot, opened: MainWindow, reading: HelpViewer
) -> None:
    press("Ctrl+A")
    press("Ctrl+C")
    assert QApplication.clipboard().text() == reading.findChild(QTextBrowser).toPlainText()


@pytest.mark.parametrize("keys", ["Esc", "Ctrl+W"])
def test_a_page_is_put_away_by_a_key_and_the_project_stays(
    qtbot: QtBot, opened: MainWindow, reading: HelpViewer, keys: str
) -> None:
    press(keys)
    qtbot.waitUntil(lambda: not shiboken6.isValid(reading) or not reading.isVisible())
    assert not opened.is_welcoming
    qtbot.waitUntil(opened.isActiveWindow)
