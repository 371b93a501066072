"""Menus made from the action table, for context menus and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from studio.session.core.action_table import ActionRegistry
from studio.widgets import icons
from studio.widgets.keys import shown_keys

Entry: TypeAlias = "str | tuple[str, Sequence[Entry]] | None"
"""An action id, the title of a sub-menu and what it holds, or None for a line between groups."""


Menu = TypeVar("Menu", QMenu, QMenuBar)


class _OwnKeys(QObject):
    """Gives an open menu all keys.

    The widget behind it still counts as the one with the keyboard, so that an arrow key that means
    something there would not walk through the menus.
    """

    def eventFilter(self, _menu: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return False


def own_keys(menu: Menu) -> Menu:
    """Let a menu, or the bar that menus open from, have all keys meanwhile; gives it back."""
    menu.installEventFilter(_OwnKeys(menu))
    return menu


def menu_of(registry: ActionRegistry, entries: Sequence[Entry], parent: QWidget) -> QMenu:
    """A menu of actions as they are now; what cannot be done is grey and says why.

    Args:
        registry: the action table.
        entries: what the menu holds, in order.
        parent: the widget it opens over; the menu is deleted with it, or once it is closed.
    """
    menu = own_keys(QMenu(parent))
    menu.setToolTipsVisible(True)
    _fill(menu, registry, entries)
    menu.aboutToHide.connect(menu.deleteLater)
    return menu


def add_entry(menu: QMenu, name: str, text: str, work: Callable[[], object], why: str = "") -> None:
    """Add what no action table has; what cannot be done is grey and says why.

    Args:
        name: of the entry, with that of its icon as its second part, such as ``run.delete``.
        work: what it does.
        why: why it cannot be done, in a few words.
    """
    action = menu.addAction(icons.icon(name.split(".")[1]), text)
    action.setObjectName(name)
    action.setEnabled(not why)
    action.setToolTip(f"{why[:1].upper()}{why[1:]}." if why else text)
    action.triggered.connect(lambda: work())


def _fill(menu: QMenu, registry: ActionRegistry, entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry is None:
            menu.addSeparator()
        elif isinstance(entry, str):
            menu.addAction(_action(menu, registry, entry))
        else:
            title, inside = entry
            sub = own_keys(menu.addMenu(title))
            sub.setToolTipsVisible(True)
            _fill(sub, registry, inside)


def _action(menu: QMenu, registry: ActionRegistry, action_id: str) -> QAction:
    spec, reason = registry[action_id], registry.why_not(action_id)
    # The key is text only: the window's own action is what listens to it.
    keys = shown_keys(spec.keys[0]) if spec.keys else ""
    action = QAction(f"{spec.text}\t{keys}" if keys else spec.text, menu)
    action.setObjectName(action_id)
    action.setToolTip(f"{spec.tip}\n{reason[:1].upper()}{reason[1:]}." if reason else spec.tip)
    action.setEnabled(not reason)
    if spec.checkable:
        action.setCheckable(True)
        action.setChecked(registry.is_checked(action_id))
    if spec.icon:
        action.setIcon(icons.icon(spec.icon))
    action.triggered.connect(lambda: registry.trigger(action_id))
    return action
