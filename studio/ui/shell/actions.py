"""The actions of the window: files, view, workspaces, panes and help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication

from studio.engine.interop.reading import import_endings
from studio.session.actions.training import UNDER_WAY
from studio.session.core.action_table import Action, ActionTable
from studio.session.export.exporting import search_words
from studio.ui.shell.commands import command_palette, go_to
from studio.ui.shell.dialogs import about, cluster_address, help_viewer, key_sheet
from studio.ui.shell.dialogs import preferences as preferences_dialog
from studio.ui.shell.docks.workspaces import WORKSPACES, Workspace

if TYPE_CHECKING:
    from studio.ui.panes.data.attaching import Attaching
    from studio.ui.shell.docks.panes import PaneSpec
    from studio.ui.shell.window import MainWindow

PAGES = (
    ("guide", "User guide", "How to use the studio, task by task."),
    ("instructions", "Instructions", "Reference of all instructions."),
    ("projects", "Projects and samples", "Project files and the sample projects."),
    ("data", "Data sets", "Supported data formats and options."),
    ("commands", "Command line", "Reference of the terminal commands."),
    ("architecture", "How Glassbox is built", "The parts of Glassbox and how they work together."),
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


def _show_keys(window: MainWindow) -> None:
    preferences_dialog.show(window, window.studio, lambda: window.restart()).show_keys()


def _go_to(window: MainWindow) -> None:
    specs = (dock.spec for dock in window.docks.all.values())
    go_to.show(window, window.studio, window.history, specs, window.show_pane)


def _show_help(window: MainWindow) -> None:
    dock = window.docks.focused()
    topic = help_viewer.topic_of(window.studio, None if dock is None else dock.spec)
    help_viewer.show_topic(topic, window.actions_of_window, window)


def _pin_baseline(window: MainWindow) -> None:
    """Bring the listing forward with the program as it is now, to compare later ones with it."""
    # The window opens sooner without the import.
    from studio.instruction_view.listing.pane import ListingPane

    pane = window.docks.show("listing").ensure()
    if isinstance(pane, ListingPane):
        pane.pin_baseline()


def _why_no_program(window: MainWindow) -> str:
    return "" if window.studio.compilation.shown is not None else "there is no program yet"


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
        enabled=lambda _window: (
            "" if help_viewer.page(name) else "the help pages are not installed"
        ),
    )  # fmt: skip


DATA: ActionTable[MainWindow] = ActionTable(
    19,
    Action(
        "data.choose", "Choose data…",
        "Choose the data to train on, in the data pane.",
        menu="Graph/Data", aliases=("data set", "dataset", "source"), group="choose",
        run=_choose_data,
    ),
    Action(
        "data.attach", "Attach a data file…",
        "Train on your own file: a table, NumPy arrays or IDX files. Select samples "
        "and labels together if they are in two files.",
        menu="Graph/Data", aliases=("csv", "npz", "npy", "mnist", "dataset", "open data"),
        group="choose",
        run=lambda window: _attaching(window).ask_file(),
    ),
    Action(
        "data.attach_path", "Attach a folder of images…",
        "Train on your own images: one folder per class.",
        menu="Graph/Data", aliases=("images", "dataset", "photos", "folder"), group="choose",
        run=lambda window: _attaching(window).ask_folder(),
    ),
)  # fmt: skip
"""Actions that choose data."""


def _why_not_elsewhere(window: MainWindow) -> str:
    return UNDER_WAY if window.studio.training.is_busy else ""


PLACE: ActionTable[MainWindow] = ActionTable(
    42,
    Action(
        cluster_address.COMPUTER, "This computer",
        "Train on this computer, from the next training on.",
        menu="Train/Train on", aliases=("local", "train here"), group="place",
        run=lambda window: window.studio.training.place.use_this_computer(),
        enabled=_why_not_elsewhere,
        checked=lambda window: not window.studio.training.place.address,
    ),
    Action(
        cluster_address.CLUSTER, cluster_address.ASKED,
        "Train on a Dask cluster, from the next training on; again, to choose another one.",
        menu="Train/Train on", aliases=("dask", "remote", "scheduler", "train elsewhere"),
        group="place",
        run=lambda window: cluster_address.choose(window.studio.training.place, window),
        enabled=_why_not_elsewhere,
        checked=lambda window: bool(window.studio.training.place.address),
    ),
)  # fmt: skip
"""The actions that choose where to train."""

EXPORT: ActionTable[MainWindow] = ActionTable(
    59,
    Action(
        "export.dialog", "Export…",
        "Write the trained network, its program or an image of the graph to a file, "
        "and verify that the file gives the same results.",
        ("Ctrl+E",), "File", aliases=("save as", "weights", *search_words()), group="export",
        needs="project",
        run=lambda window: window.exports.open(),
    ),
)  # fmt: skip
"""The action that opens the export dialog."""

ACTIONS: ActionTable[MainWindow] = ActionTable(
    90,
    Action(
        "file.new", "New project", "Create an empty project.",
        ("Ctrl+N",), "File", aliases=("blank", "empty"), group="open",
        icon="new", run=lambda window: window.documents.new(),
    ),
    Action(
        "file.open", "Open…", "Open a project file.",
        ("Ctrl+O",), "File", aliases=("load",), group="open",
        icon="open", run=lambda window: window.documents.open(),
    ),
    Action(
        "file.home", "Welcome page", "Show examples and recent projects.",
        (), "File", aliases=("start page", "examples", "recent"), group="open",
        run=lambda window: window.show_welcome(), enabled=_why_not_home,
    ),
    Action(
        "file.save", "Save", "Save the project to its file.",
        ("Ctrl+S",), "File", aliases=("write",), group="save",
        needs="project",
        icon="save", run=lambda window: window.documents.save(),
        enabled=lambda window: window.documents.why_not_save(),
    ),
    Action(
        "file.save_as", "Save as…", "Save the project to another file and continue with "
                                      "that one.",
        ("Ctrl+Shift+S",), "File", aliases=("copy", "rename file"), group="save",
        needs="project",
        icon="save-as", run=lambda window: window.documents.save_as(),
        enabled=lambda window: window.documents.why_not_save_as(),
    ),
    Action(
        "file.revert", "Revert to saved",
        "Reload the project as last saved. You can undo this.",
        (), "File", aliases=("reload", "discard changes"), group="save",
        needs="project",
        icon="revert", run=lambda window: window.documents.revert(),
        enabled=lambda window: window.documents.why_not_revert(),
    ),
    Action(
        "file.import", "Import weights…",
        "Import weights trained elsewhere as a new run.",
        (), "File", aliases=(*(ending[1:] for ending in import_endings()), "load weights"),
        group="import",
        needs="project",
        icon="import", run=lambda window: window.documents.imports.choose_weights(),
        enabled=lambda window: window.studio.importing.why_not_weights(),
    ),
    Action(
        "file.import_report", "Import report…",
        "Show what became of the file that was imported.",
        (), "File", aliases=("imported layers", "left out"),
        group="import",
        needs="project",
        run=lambda window: window.documents.imports.show_report(),
        enabled=lambda window: window.studio.importing.why_no_report(),
    ),
    Action(
        "file.close", "Close project", "Close the project and show the welcome page.",
        ("Ctrl+W",), "File", group="close",
        needs="project",
        icon="close", run=_close_project,
    ),
    Action(
        "file.preferences", "Preferences…", "Change settings of the studio.",
        ("Ctrl+,",), "File", aliases=("settings", "options", "configuration"), group="window",
        icon="settings", run=_show_preferences,
    ),
    Action(
        "file.quit", "Quit", "Quit Glassbox.",
        ("Ctrl+Q",), "File", aliases=("exit",), group="window",
        icon="quit", run=lambda window: window.close(),
    ),
    Action(
        "view.command_palette", "Command palette…",
        "Search all commands by name.",
        ("Ctrl+Shift+P",), "View", aliases=("commands", "actions", "search"), group="find",
        icon="command", run=lambda w: command_palette.show(w, w.studio.actions, w.history),
    ),
    Action(
        "view.go_to", "Go to anything…",
        "Search layers, tensors, instructions, runs and metrics by name.",
        ("Ctrl+P",), "View", aliases=("find", "jump", "search"), group="find",
        run=_go_to,
    ),
    Action(
        "view.baseline", "Pin program as baseline",
        "Keep this program; the listing shows how later ones differ from it.",
        ("Ctrl+B",), "View", aliases=("compare", "difference", "baseline"), group="find",
        run=_pin_baseline, enabled=_why_no_program,
    ),
    *(_workspace(name, number) for number, name in enumerate(WORKSPACES, 1)),
    Action(
        "workspace.reset", "Reset this workspace", "Restore the default panes of this workspace.",
        (), "View/Workspace", aliases=("default layout", "restore panes"), group="reset",
        run=lambda window: window.docks.reset(),
    ),
    Action(
        "workspace.reset_all", "Reset all workspaces",
        "Restore the default panes of all workspaces.",
        (), "View/Workspace", aliases=("default layout", "reset layout"), group="reset",
        run=lambda window: window.docks.reset_all(),
    ),
    Action(
        "window.next_pane", "Next pane", "Focus the next pane.",
        ("F6", "Ctrl+Tab"), "View/Panes", aliases=("dock", "focus"), group="walk",
        run=lambda window: window.docks.walk(1),
    ),
    Action(
        "window.previous_pane", "Previous pane", "Focus the previous pane.",
        ("Shift+F6",), "View/Panes", aliases=("dock", "focus"), group="walk",
        run=lambda window: window.docks.walk(-1),
    ),
    Action(
        "window.context_menu", "Open the context menu",
        "Open the context menu of the focused item.",
        ("Shift+F10",), "View/Panes", aliases=("right click", "menu key"), group="walk",
        run=lambda _window: _open_context_menu(),
    ),
    Action(
        "window.maximise_pane", "Maximise pane",
        "Maximise the focused pane, or restore all panes.",
        ("Ctrl+Alt+M",), "View", aliases=("zoom pane", "restore"),
        group="window",
        needs="sight",
        run=lambda window: window.docks.maximise(window.docks.focused()),
        checked=lambda window: window.docks.is_maximised,
    ),
    Action(
        "window.focus_mode", "Focus mode",
        "Show only the canvas, or restore all panes.",
        ("Ctrl+Alt+F",), "View", aliases=("distraction free", "hide panes"),
        group="window",
        needs="sight",
        run=lambda window: window.set_focus_mode(not window.docks.is_focus_mode),
        checked=lambda window: window.docks.is_focus_mode,
    ),
    Action(
        "window.full_screen", "Full screen", "Turn full screen on or off.",
        ("Ctrl+Shift+F11",), "View", aliases=("fullscreen",), group="window",
        run=lambda w: w.showNormal() if w.isFullScreen() else w.showFullScreen(),
        checked=lambda window: window.isFullScreen(),
    ),
    _theme("dark", "Dark", "Use the dark theme.", "night"),
    _theme("light", "Light", "Use the light theme.", "day"),
    _theme("system", "Follow the system", "Use the theme of the system.", "automatic"),
    Action(
        "window.tasks", "Running tasks", "Show and cancel background tasks.",
        (), "View", aliases=("background", "progress", "cancel"), group="status",
        run=lambda window: window.status.show_tasks(),
    ),
    Action(
        "window.notices", "Notices", "Show recent notices.",
        (), "View", aliases=("bell", "messages", "errors"), group="status",
        run=lambda window: window.status.show_notices(),
    ),
    Action(
        "help.here", "Help on the selection",
        "Show help on the selected layer or instruction, or on the pane.",
        ("F1",), "Help", aliases=("documentation", "manual", "what is this"), group="keys",
        run=_show_help,
    ),
    Action(
        "help.keys", "Keyboard shortcuts", "Show the keyboard shortcuts of the focused view.",
        ("?",), "Help", aliases=("all keys", "shortcuts", "cheat sheet"), group="keys",
        icon="keyboard", run=lambda window: key_sheet.show(window, window.studio.actions),
    ),
    Action(
        "help.change_keys", "Change keys…", "Choose your own keyboard shortcuts.",
        (), "Help", aliases=("shortcuts", "key bindings", "keymap", "preferences"), group="keys",
        run=_show_keys,
    ),
    *(_page(*page) for page in PAGES),
    Action(
        "help.restart_safe", "Restart in safe mode",
        "Restart with default preferences and layout, without plugins, to find the "
        "cause of a problem. Your own settings are kept.",
        (), "Help", aliases=("safe mode", "default preferences"), group="about",
        run=lambda window: window.restart(safe=True),
    ),
    Action(
        "help.about", "About Glassbox", "Show version, device and folders.",
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


OF_WINDOW = (DATA, PLACE, EXPORT, ACTIONS)
"""All tables of the window but that of its panes."""
