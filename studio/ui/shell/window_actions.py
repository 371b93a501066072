"""What the window's own actions do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from studio.ui.shell import (
    about,
    actions,
    command_palette,
    go_to,
    help_viewer,
    key_sheet,
    preferences_dialog,
)
from studio.ui.shell.menu_key import open_context_menu
from studio.ui.shell.offers import DataOffer
from studio.ui.shell.popups import show_notices, show_tasks

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow


def bind(window: MainWindow) -> None:
    """Say what each of the window's actions does."""
    _bind_files(window)
    _bind_view(window)
    _bind_theme(window)
    _bind_help(window)
    DataOffer(window)


def _bind_files(window: MainWindow) -> None:
    registry, documents = window.studio.actions, window.documents
    registry.bind("file.new", documents.new)
    registry.bind("file.open", documents.open)
    registry.bind("file.home", window.show_welcome, lambda: _why_not_home(window))
    registry.bind("file.save", documents.save, documents.why_not_save)
    registry.bind("file.save_as", documents.save_as, documents.why_not_save_as)
    registry.bind("file.revert", documents.revert, documents.why_not_revert)
    registry.bind("file.import", documents.import_weights, documents.why_not_import)
    registry.bind("file.close", lambda: _close_project(window))
    registry.bind("file.preferences", lambda: preferences_dialog.show(window))
    registry.bind("file.quit", window.close)


def _close_project(window: MainWindow) -> None:
    def closed() -> None:
        window.studio.new()
        window.show_welcome()

    window.documents.leaving(closed)


def _why_not_home(window: MainWindow) -> str:
    return "the welcome page is shown" if window.studio.front.is_welcoming else ""


def _bind_view(window: MainWindow) -> None:
    registry, docks = window.studio.actions, window.docks
    registry.bind("view.command_palette", lambda: command_palette.show(window))
    registry.bind("view.go_to", lambda: go_to.show(window))
    for name in actions.WORKSPACES:
        registry.bind(
            f"workspace.{name}",
            partial(docks.switch, name),
            checked=partial(_is_workspace, window, name),
        )
    registry.bind("workspace.reset", docks.reset)
    registry.bind("workspace.reset_all", docks.reset_all)
    for name, dock in docks.all.items():
        registry.bind(
            f"pane.{name}",
            partial(docks.toggle, name),
            checked=partial(docks.is_in_front, dock),
        )
    registry.bind("window.next_pane", lambda: docks.walk(1))
    registry.bind("window.previous_pane", lambda: docks.walk(-1))
    registry.bind("window.context_menu", open_context_menu)
    registry.bind(
        "window.maximise_pane",
        lambda: docks.maximise(docks.focused()),
        checked=lambda: docks.is_maximised,
    )
    registry.bind(
        "window.focus_mode",
        lambda: window.set_focus_mode(not docks.is_focus_mode),
        checked=lambda: docks.is_focus_mode,
    )
    registry.bind(
        "window.full_screen",
        lambda: window.showNormal() if window.isFullScreen() else window.showFullScreen(),
        checked=window.isFullScreen,
    )
    registry.bind("window.tasks", lambda: show_tasks(window))
    registry.bind("window.notices", lambda: show_notices(window))


def _bind_theme(window: MainWindow) -> None:
    preferences, registry = window.studio.preferences, window.studio.actions
    for choice in ("dark", "light", "system"):
        registry.bind(
            f"window.theme_{choice}",
            partial(preferences.set, "theme", choice),
            checked=partial(_is_theme, window, choice),
        )


def _bind_help(window: MainWindow) -> None:
    registry = window.studio.actions
    registry.bind("help.keys", lambda: key_sheet.show(window))
    registry.bind("help.here", partial(help_viewer.show_here, window))
    for page, _text, _tip in actions.PAGES:
        registry.bind(
            f"help.{page}",
            partial(help_viewer.show, window, page),
            partial(_why_no_page, page),
        )
    registry.bind("help.restart_safe", lambda: window.restart(safe=True))
    registry.bind("help.about", lambda: about.show(window))


def _is_workspace(window: MainWindow, name: str) -> bool:
    return window.docks.workspace == name


def _is_theme(window: MainWindow, choice: str) -> bool:
    return window.studio.preferences.text("theme") == choice


def _why_no_page(name: str) -> str:
    return "" if about.page(name) else "the pages are not installed"
