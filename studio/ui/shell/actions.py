"""The actions of the window: files, view, workspaces, panes and help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication

from studio.engine.interop.reading import import_endings
from studio.session.core.actions import Action, ActionTable
from studio.session.export.exporting import search_words
from studio.ui.shell.commands import command_palette, go_to
from studio.ui.shell.dialogs import about, help_viewer, key_sheet
from studio.ui.shell.dialogs import preferences as preferences_dialog
from studio.ui.shell.docks.workspaces import WORKSPACES, Workspace

if TYPE_CHECKING:
    from studio.ui.panes.data.attaching import Attaching
    from studio.ui.shell.docks.panes import PaneSpec
    from studio.ui.shell.window import MainWindow

PAGES = (
    ("guide", "The studio, task by task", "Read how to do things in the studio."),
    ("instructions", "Instructions", "Read about every instruction of the machine."),
    ("projects", "Projects and samples", "Read about project files and those that come along."),
    ("data", "Data sets", "Read about the data Glassbox takes."),
    ("commands", "Command line", "Read about the commands of the terminal."),
    ("architecture", "How Glassbox is built", "Read about the parts and how they meet."),
)
"""Pages of the Help menu: file name, text and tip."""


def _why_not_home(window: MainWindow) -> str:
    return "the welcome page is shown" if window.studio.welcome_state.is_welcoming else ""


def _close_project(window: MainWindow) -> None:
    def closed() -> None:
        window.studio.new()
        window.show_welcome()

    window.documents.leaving(closed)


def _show_preferences(window: MainWindow) -> None:
    preferences_dialog.show(window, window.studio, lambda: window.restart())


def _go_to(window: MainWindow) -> None:
    specs = (dock.spec for dock in window.docks.all.values())
    go_to.show(window, window.studio, window.history, specs, window.show_pane)


def _show_help(window: MainWindow) -> None:
    dock = window.docks.focused()
    topic = help_viewer.topic_of(window.studio, None if dock is None else dock.spec)
    help_viewer.show_topic(topic, window.actions_of_window, window)


def _choose_data(window: MainWindow) -> None:
    """Show the data pane and its menu of sources."""
    # The window opens sooner without the import.
    from studio.ui.panes.data.pane import DataPane

    pane = window.docks.show("data").ensure()
    if isinstance(pane, DataPane):
        pane.open_menu()


def _attaching(window: MainWindow) -> Attaching:
    from studio.ui.panes.data.attaching import Attaching

    return Attaching(window.studio, window)


def _open_context_menu() -> None:
    """Open the menu of the widget with the focus at its caret or current row."""
    widget = QApplication.focusWidget()
    if widget is None:
        return
    caret = widget.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)
    inside = isinstance(caret, QRect) and widget.rect().contains(caret.center())
    at = caret.center() if inside else widget.rect().center()
    QApplication.sendEvent(
        widget,
        QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, widget.mapToGlobal(at)),
    )


def _workspace(name: Workspace, number: int) -> Action[MainWindow]:
    text, tip = WORKSPACES[name]
    return Action(
        f"workspace.{name}", text, tip, (f"Ctrl+{number}",), "View/Workspace",
        aliases=("layout", "workspace"), group="workspace",
        run=lambda window: window.docks.switch(name),
        checked=lambda window: window.docks.workspace == name,
    )  # fmt: skip


def _theme(choice: str, text: str, tip: str, alias: str) -> Action[MainWindow]:
    return Action(
        f"window.theme_{choice}", text, tip, (), "View/Theme", aliases=("theme", alias),
        group="theme",
        run=lambda window: window.studio.preferences.set("theme", choice),
        checked=lambda window: window.studio.preferences.text("theme") == choice,
    )  # fmt: skip


def _page(name: str, text: str, tip: str) -> Action[MainWindow]:
    return Action(
        f"help.{name}", text, tip, (), "Help", aliases=("documentation", "manual"), group="pages",
        run=lambda window: help_viewer.show(name, window.actions_of_window, window),
        enabled=lambda _window: "" if help_viewer.page(name) else "the pages are not installed",
    )  # fmt: skip


DATA: ActionTable[MainWindow] = ActionTable(
    19,
    Action(
        "data.choose", "Choose data…",
        "Show the data pane and choose what the network is trained on.",
        menu="Graph/Data", aliases=("data set", "dataset", "source"), group="choose",
        run=_choose_data,
    ),
    Action(
        "data.attach", "Attach a data file…",
        "Train on a file of yours: a table, NumPy arrays or IDX files; samples and labels in two "
        "files are chosen together.",
        menu="Graph/Data", aliases=("csv", "npz", "npy", "mnist", "dataset", "open data"),
        group="choose",
        run=lambda window: _attaching(window).ask_file(),
    ),
    Action(
        "data.attach_path", "Attach a folder of pictures…",
        "Train on pictures of yours: one folder per class.",
        menu="Graph/Data", aliases=("images", "dataset", "photos", "folder"), group="choose",
        run=lambda window: _attaching(window).ask_folder(),
    ),
)  # fmt: skip
"""Actions that choose data."""

EXPORT: ActionTable[MainWindow] = ActionTable(
    59,
    Action(
        "export.dialog", "Export…",
        "Write the trained network, its program or a picture of the graph to a file, and prove "
        "that the file is the same model.",
        ("Ctrl+E",), "File", aliases=("save as", "weights", *search_words()), group="export",
        needs="project",
        run=lambda window: window.exports.open(),
    ),
)  # fmt: skip
"""The action that opens the export dialog."""

ACTIONS: ActionTable[MainWindow] = ActionTable(
    90,
    Action(
        "file.new", "New project", "Begin an empty project.",
        ("Ctrl+N",), "File", aliases=("blank", "empty"), group="open",
        icon="new", run=lambda window: window.documents.new(),
    ),
    Action(
        "file.open", "Open…", "Open a project file.",
        ("Ctrl+O",), "File", aliases=("load",), group="open",
        icon="open", run=lambda window: window.documents.open(),
    ),
    Action(
        "file.home", "Welcome page", "Show the examples and the projects you worked on last.",
        (), "File", aliases=("start page", "examples", "recent"), group="open",
        run=lambda window: window.show_welcome(), enabled=_why_not_home,
    ),
    Action(
        "file.save", "Save", "Write the project to its file.",
        ("Ctrl+S",), "File", aliases=("write",), group="save",
        needs="project",
        icon="save", run=lambda window: window.documents.save(),
        enabled=lambda window: window.documents.why_not_save(),
    ),
    Action(
        "file.save_as", "Save as…", "Write the project to another file and go on with that one.",
        ("Ctrl+Shift+S",), "File", aliases=("copy", "rename file"), group="save",
        needs="project",
        icon="save-as", run=lambda window: window.documents.save_as(),
        enabled=lambda window: window.documents.why_not_save_as(),
    ),
    Action(
        "file.revert", "Revert to the file",
        "Read the project again as it was saved; the steps since then can be undone back.",
        (), "File", aliases=("reload", "discard changes"), group="save",
        needs="project",
        icon="revert", run=lambda window: window.documents.revert(),
        enabled=lambda window: window.documents.why_not_revert(),
    ),
    Action(
        "file.import", "Import weights…",
        "Bring weights trained elsewhere into the project, as a run of its own.",
        (), "File", aliases=(*(ending[1:] for ending in import_endings()), "load weights"),
        group="import",
        needs="project",
        icon="import", run=lambda window: window.documents.import_weights(),
        enabled=lambda window: window.documents.why_not_import(),
    ),
    Action(
        "file.close", "Close the project", "Close the project and show the welcome page.",
        ("Ctrl+W",), "File", group="close",
        needs="project",
        icon="close", run=_close_project,
    ),
    Action(
        "file.preferences", "Preferences…", "Choose how the studio looks and works.",
        ("Ctrl+,",), "File", aliases=("settings", "options", "configuration"), group="window",
        icon="settings", run=_show_preferences,
    ),
    Action(
        "file.quit", "Quit", "Close the window and end the studio.",
        ("Ctrl+Q",), "File", aliases=("exit",), group="window",
        icon="quit", run=lambda window: window.close(),
    ),
    Action(
        "view.command_palette", "Command palette…",
        "Find anything the studio can do by a few letters of its name.",
        ("Ctrl+Shift+P",), "View", aliases=("commands", "actions", "search"), group="find",
        icon="command", run=lambda w: command_palette.show(w, w.studio.actions, w.history),
    ),
    Action(
        "view.go_to", "Go to anything…",
        "Go to a layer, tensor, instruction, run or metric by its name.",
        ("Ctrl+P",), "View", aliases=("find", "jump", "search"), group="find",
        run=_go_to,
    ),
    *(_workspace(name, number) for number, name in enumerate(WORKSPACES, 1)),
    Action(
        "workspace.reset", "Reset this workspace", "Put the panes of this workspace back.",
        (), "View/Workspace", aliases=("default layout", "restore panes"), group="reset",
        run=lambda window: window.docks.reset(),
    ),
    Action(
        "workspace.reset_all", "Reset all workspaces", "Put the panes of all workspaces back.",
        (), "View/Workspace", aliases=("default layout", "reset layout"), group="reset",
        run=lambda window: window.docks.reset_all(),
    ),
    Action(
        "window.next_pane", "Next pane", "Give the keyboard to the next pane.",
        ("F6", "Ctrl+Tab"), "View/Panes", aliases=("dock", "focus"), group="walk",
        run=lambda window: window.docks.walk(1),
    ),
    Action(
        "window.previous_pane", "Previous pane", "Give the keyboard to the pane before.",
        ("Shift+F6",), "View/Panes", aliases=("dock", "focus"), group="walk",
        run=lambda window: window.docks.walk(-1),
    ),
    Action(
        "window.context_menu", "Open the context menu",
        "Open the menu of what has the keyboard, as the menu key does.",
        ("Shift+F10",), "View/Panes", aliases=("right click", "menu key"), group="walk",
        run=lambda _window: _open_context_menu(),
    ),
    Action(
        "window.maximise_pane", "Maximise the pane",
        "Let the pane with the keyboard fill the window, or put everything back.",
        ("Ctrl+Alt+M",), "View", aliases=("zoom pane", "restore"),
        group="window",
        needs="sight",
        run=lambda window: window.docks.maximise(window.docks.focused()),
        checked=lambda window: window.docks.is_maximised,
    ),
    Action(
        "window.focus_mode", "Focus mode",
        "Hide everything around the canvas, or bring it back.",
        ("Ctrl+Alt+F",), "View", aliases=("distraction free", "hide panes"),
        group="window",
        needs="sight",
        run=lambda window: window.set_focus_mode(not window.docks.is_focus_mode),
        checked=lambda window: window.docks.is_focus_mode,
    ),
    Action(
        "window.full_screen", "Full screen", "Let the window fill the screen, or not.",
        ("Ctrl+Shift+F11",), "View", aliases=("fullscreen",), group="window",
        run=lambda w: w.showNormal() if w.isFullScreen() else w.showFullScreen(),
        checked=lambda window: window.isFullScreen(),
    ),
    _theme("dark", "Dark", "Light text on dark ground.", "night"),
    _theme("light", "Light", "Dark text on light ground.", "day"),
    _theme("system", "Follow the system", "Dark or light as the system is.", "automatic"),
    Action(
        "window.tasks", "Running tasks", "Show what runs in the background, and stop it.",
        (), "View", aliases=("background", "progress", "cancel"), group="status",
        run=lambda window: window.status.show_tasks(),
    ),
    Action(
        "window.notices", "Notices", "Show what the studio had to say.",
        (), "View", aliases=("bell", "messages", "errors"), group="status",
        run=lambda window: window.status.show_notices(),
    ),
    Action(
        "help.here", "Help on the selection",
        "Read about the layer or instruction that is selected, or about the pane.",
        ("F1",), "Help", aliases=("documentation", "manual", "what is this"), group="keys",
        run=_show_help,
    ),
    Action(
        "help.keys", "Keys", "Show the keys of the view that has the keyboard.",
        ("?",), "Help", aliases=("all keys", "shortcuts", "cheat sheet"), group="keys",
        icon="keyboard", run=lambda window: key_sheet.show(window, window.studio.actions),
    ),
    *(_page(*page) for page in PAGES),
    Action(
        "help.restart_safe", "Restart safely",
        "Start again with the preferences and layout there are from the start, to see whether "
        "one of yours is the trouble; yours are kept.",
        (), "Help", aliases=("safe mode", "default preferences"), group="about",
        run=lambda window: window.restart(safe=True),
    ),
    Action(
        "help.about", "About Glassbox", "Show the version, the device and where files are kept.",
        (), "Help", aliases=("version",), group="about",
        run=lambda window: about.show(window, window.studio),
    ),
)  # fmt: skip
"""Actions of files, view, workspaces and help."""


def pane_action(pane: PaneSpec) -> Action[MainWindow]:
    """The action that shows and hides a pane."""
    return Action(
        f"pane.{pane.id}", pane.title, f"Show or hide the pane {pane.title}.", pane.keys,
        "View/Panes", aliases=("dock", "pane", "panel"), group="panes",
        run=lambda window: window.docks.toggle(pane.id),
        checked=lambda window: window.docks.is_in_front(window.docks[pane.id]),
    )  # fmt: skip


def of_panes(panes: Iterable[PaneSpec]) -> ActionTable[MainWindow]:
    """The actions that show and hide panes."""
    return ActionTable(100, *map(pane_action, panes))


OF_WINDOW = (DATA, EXPORT, ACTIONS)
"""All tables of the window but that of its panes."""
