"""A pane and its actions made elsewhere: one package and one row, and the window has them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.session import actions
from studio.session.core.action_table import UNAVAILABLE
from studio.session.studio import Studio
from studio.ui.shell.commands.command_palette import CommandHistory, search_commands
from studio.ui.shell.dialogs.help_viewer import HelpViewer
from studio.ui.shell.dialogs.key_sheet import sheet_of
from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, PaneSpec, Place
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import MainWindow
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.ui.shell.driving import choose, press

LEFT = Qt.MouseButton.LeftButton

PANE = """
from PySide6.QtWidgets import QLabel
from studio.widgets.frames.frame import PaneFrame
from counting.actions import ACTIONS
from counting.model import LayerCount

class CountingPane(PaneFrame):
    def __init__(self, studio, parent=None):
        super().__init__(parent=parent)
        self.count = LayerCount(studio)
        self.label = QLabel(self)
        self.label.setFocusPolicy(self.label.focusPolicy().StrongFocus)
        self.set_body(self.label)
        self.setFocusProxy(self.label)
        studio.actions.attach(ACTIONS, self)

    def show_count(self):
        self.label.setText(f"{self.count.now()} layers")
"""
MODEL = """
class LayerCount:
    def __init__(self, studio):
        self._studio = studio

    def now(self):
        return len(list(self._studio.document.state.layers()))
"""
ACTIONS = """
from studio.session.core.action_table import Action, ActionTable

ACTIONS = ActionTable(
    500,
    Action(
        "counting.count", "Count the layers", "Say how many layers there are.", ("Ctrl+Alt+K",),
        "Graph", aliases=("how many",), group="counting",
        run=lambda pane: pane.show_count(),
        enabled=lambda pane: "" if pane.count.now() else "there is no layer",
    ),
)
"""
HELP = "# Counting\n\nSays how many layers a network has."


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaneSpec]:
    """The row of a pane whose package lies outside the studio."""
    package = tmp_path / "packages" / "counting"
    package.mkdir(parents=True)
    for name, text in (("__init__", ""), ("pane", PANE), ("model", MODEL), ("actions", ACTIONS)):
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(package.parent)
    yield PaneSpec(
        id="counting",
        title="Counting",
        icon='<circle cx="8" cy="8" r="5" stroke="currentColor"/>',
        path="counting.pane:CountingPane",
        actions="counting.actions",
        page=HELP,
        places={"build": Place("right", 1), "train": Place("bottom", 1, shown=False)},
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "counting"]:
        del sys.modules[name]


def is_made(window: MainWindow) -> bool:
    dock = window.docks["counting"]
    return window.docks.is_in_front(dock) and type(dock.pane).__name__ == "CountingPane"


@pytest.fixture(params=["from the start", "while it runs"])
def grown(
    request: pytest.FixtureRequest,
    another: Callable[..., MainWindow],
    qtbot: QtBot,
    row: PaneSpec,
    project: Path,
) -> MainWindow:
    """A window with a project and the pane, there from the start or taken in later."""
    from_start = request.param == "from the start"
    window = another((*PANES, row) if from_start else PANES)
    window.documents.open_path(project)
    qtbot.waitUntil(lambda: not window.is_welcoming, timeout=60_000)
    if not from_start:
        window.add_pane(row)
    return window


def test_it_stands_where_its_row_says(qtbot: QtBot, grown: MainWindow) -> None:
    docks = grown.docks
    dock = docks["counting"]
    assert grown.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    assert docks["listing"] in grown.tabifiedDockWidgets(dock)
    assert not dock.isHidden()
    assert not docks.is_in_front(dock)
    assert docks.is_in_front(docks["listing"])
    grown.studio.actions.trigger("workspace.train")
    assert grown.dockWidgetArea(dock) is Qt.DockWidgetArea.BottomDockWidgetArea
    assert dock.isHidden()
    grown.studio.actions.trigger("workspace.profile")
    # Its row does not name this one.
    assert grown.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    assert dock.isHidden()


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_it_is_opened_and_closed_by_mouse_in_every_workspace(
    qtbot: QtBot, grown: MainWindow, workspace: str
) -> None:
    grown.studio.actions.trigger(f"workspace.{workspace}")
    choose(qtbot, grown, "View", "Panes", "Counting")
    qtbot.waitUntil(lambda: is_made(grown), timeout=60_000)
    assert grown.actions_of_window["pane.counting"].isChecked()
    header = grown.docks["counting"].header
    QTest.mouseClick(header.findChild(QWidget, "close"), LEFT)
    assert grown.docks["counting"].isHidden()
    choose(qtbot, grown, "View", "Panes", "Counting")
    qtbot.waitUntil(lambda: is_made(grown), timeout=60_000)


def test_its_action_is_in_menu_palette_and_key_sheet_and_runs_by_its_key(
    qtbot: QtBot, grown: MainWindow
) -> None:
    actions = grown.studio.actions
    assert actions.why_not("counting.count") == UNAVAILABLE
    found = search_commands(actions, CommandHistory(None), "how many")[0]
    assert (found.text, found.reason) == ("Count the layers", UNAVAILABLE)
    (_, everywhere), *_ = sheet_of(actions, "window")
    assert actions["counting.count"] in everywhere
    assert actions.conflicts() == []
    choose(qtbot, grown, "View", "Panes", "Counting")
    qtbot.waitUntil(lambda: is_made(grown), timeout=60_000)
    label = grown.docks["counting"].pane.label
    press("Ctrl+Alt+K", grown.canvas)
    count = len(list(grown.studio.document.state.layers()))
    assert label.text() == f"{count} layers"
    label.clear()
    choose(qtbot, grown, "Graph", "Count the layers")
    qtbot.waitUntil(lambda: label.text() == f"{count} layers", timeout=60_000)
    grown.studio.new()
    assert actions.why_not("counting.count") == "there is no layer"


def test_f1_in_it_opens_its_page(qtbot: QtBot, grown: MainWindow) -> None:
    grown.studio.bus.clear()
    choose(qtbot, grown, "View", "Panes", "Counting")
    qtbot.waitUntil(lambda: is_made(grown), timeout=60_000)
    qtbot.waitUntil(grown.docks["counting"].has_focus, timeout=60_000)
    press("F1")
    viewer = grown.findChild(HelpViewer)
    assert viewer.title == "Counting"
    assert "how many layers" in viewer.findChild(QTextBrowser).toPlainText()
    viewer.close()


def test_a_recorded_layout_knows_where_it_stood(
    qtbot: QtBot, another: Callable[..., MainWindow], row: PaneSpec
) -> None:
    first = another((*PANES, row))
    first.show_canvas()
    first.docks.show("counting")
    first.docks["counting"].setFloating(True)
    second = another((*PANES, row))
    second.show_canvas()
    assert second.docks["counting"].isFloating()
    qtbot.waitUntil(lambda: is_made(second), timeout=60_000)


def test_layouts_recorded_without_it_and_with_it_are_kept(
    qtbot: QtBot, another: Callable[..., MainWindow], row: PaneSpec
) -> None:
    first = another()
    first.show_canvas()
    first.docks["palette"].close()
    first.docks["outline"].setFloating(True)
    second = another((*PANES, row))
    second.show_canvas()
    assert second.docks["palette"].isHidden()
    assert second.docks["outline"].isFloating()
    dock = second.docks["counting"]
    assert second.docks["tensor_map"] in second.tabifiedDockWidgets(dock)
    assert not second.docks.is_in_front(dock)
    third = another()
    third.show_canvas()
    assert third.docks["palette"].isHidden()
    assert third.docks["outline"].isFloating()
    assert not third.docks["listing"].isHidden()
    fourth = another((*PANES, row))
    fourth.show_canvas()
    assert fourth.docks["palette"].isHidden()
    assert not fourth.docks["counting"].isHidden()


def test_a_layout_with_one_list_of_panes_is_still_read(
    another: Callable[..., MainWindow], row: PaneSpec, tmp_path: Path
) -> None:
    first = another()
    first.show_canvas()
    first.docks["palette"].close()
    first.docks.keep()
    file = tmp_path / "places" / "config" / "layout.json"
    recorded = json.loads(file.read_text())
    second = another((*PANES, row))
    recorded["panes"] = recorded["panes"]["build"]
    file.write_text(json.dumps(recorded))
    second.docks.restore()
    second.show_canvas()
    assert second.docks["palette"].isHidden()
    assert not second.docks["counting"].isHidden()


def test_a_pane_taken_in_on_the_welcome_page_waits_behind_it(
    qtbot: QtBot, window: MainWindow, row: PaneSpec
) -> None:
    window.add_pane(row)
    assert window.docks["counting"].isHidden()
    window.show_canvas()
    assert not window.docks["counting"].isHidden()
    assert window.docks["listing"] in window.tabifiedDockWidgets(window.docks["counting"])


def test_a_row_with_a_mistake_changes_nothing(window: MainWindow, row: PaneSpec) -> None:
    before, docks = [each.id for each in window.studio.actions], list(window.docks.all)

    def spoilt(**changes: object) -> PaneSpec:
        given = {name: getattr(row, name) for name in row.__dataclass_fields__}
        return PaneSpec(**(given | changes))

    with pytest.raises(ValueError, match=r"pane.log' is declared twice"):
        window.add_pane(spoilt(id="log"))
    with pytest.raises(ModuleNotFoundError):
        window.add_pane(spoilt(actions="counting.no_such_module"))
    with pytest.raises(ValueError, match="there is no icon 'nothing'"):
        spoilt(icon="nothing")
    with pytest.raises(ValueError, match="there is no workspace 'evening'"):
        spoilt(places={"evening": Place("right")})
    with pytest.raises(ValueError, match="there is no side 'top'"):
        spoilt(places={"build": Place("top")})
    assert [each.id for each in window.studio.actions] == before
    assert list(window.docks.all) == docks


def test_a_pane_whose_code_fails_says_so_in_its_place(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, row: PaneSpec
) -> None:
    (tmp_path / "packages" / "counting" / "model.py").write_text("raise OSError('no such count')")
    window.add_pane(row)
    window.show_canvas()
    window.docks.show("counting")
    qtbot.waitUntil(lambda: window.docks["counting"].pane is not None, timeout=60_000)
    assert "no such count" in window.docks["counting"].pane.accessibleDescription() or any(
        "no such count" in each.text()
        for each in window.docks["counting"].pane.findChildren(QWidget)
        if hasattr(each, "text")
    )


def test_a_module_of_actions_beside_the_models_is_found(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding actions on the studio is adding a module: no list names it."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "greeting.py").write_text(
        "from studio.session.core.action_table import Action, ActionTable\n"
        "ACTIONS = ActionTable(500, Action('greeting.say', 'Greet', 'Say hello.',\n"
        "    run=lambda studio: studio.notify('hello')))\n"
    )
    monkeypatch.setattr(actions, "__path__", [*actions.__path__, str(folder)])
    scheduler = QtScheduler()
    made = Studio(scheduler, AppDirs.below(tmp_path / "places"))
    assert made.actions.trigger("greeting.say")
    assert [notice.text for notice in made.notices.all] == ["hello"]
    made.close()
    scheduler.close()
    sys.modules.pop("studio.session.actions.greeting")


@pytest.mark.slow
def test_menus_need_no_code_of_the_views() -> None:
    modules = [part.actions for part in (CANVAS, PATH_BAR, *PANES) if part.actions]
    assert len(modules) >= 8
    code = (
        f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "assert not [name for name in sys.modules if name.startswith('PySide6')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
