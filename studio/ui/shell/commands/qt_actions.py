"""Turns the action table into actions of Qt: one each, for menus, keys and screen readers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QWidget

from studio.session.core.action_table import MENUS, ActionRegistry, AnyAction, Context
from studio.widgets import binding, contexts, icons
from studio.widgets.keys import with_keys
from studio.widgets.menus import own_keys

_ROLES = {
    "file.quit": QAction.MenuRole.QuitRole,
    "file.preferences": QAction.MenuRole.PreferencesRole,
    "help.about": QAction.MenuRole.AboutRole,
}

_EVERYWHERE = ("file.quit",)
"""Their keys work in dialogs that leave the window free as well."""

_GROUPS = {
    "File": ("open", "save", "import", "export", "close", "window"),
    "Help": ("keys", "pages", "log", "about"),
}
"""Order of the groups in menus to which several parts contribute, whichever declared them first."""


class WindowActions:
    """The actions of a window.

    Keys work whether or not an action looks possible at the moment, since only the registry knows
    for sure: it is asked when they are pressed, and says why when it is not.

    Args:
        registry: the table and what stands behind it.
        window: takes the actions that work everywhere.
        refused: hears of an action that could not be done, and why.
    """

    def __init__(
        self,
        registry: ActionRegistry,
        window: QMainWindow,
        refused: Callable[[AnyAction, str], object],
    ) -> None:
        self._registry = registry
        self._window = window
        self._refused = refused
        self._actions: dict[str, QAction] = {}
        self._contexts: dict[str, Context] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        own_keys(window.menuBar())
        for spec in registry:
            self._make(spec)
        binding.connect(window, contexts.registered, self._joined)
        binding.connect(window, registry.changed, self._changed)

    def __getitem__(self, action_id: str) -> QAction:
        """The action of Qt for an id; KeyError for an unknown one."""
        return self._actions[action_id]

    def all(self) -> tuple[QAction, ...]:
        """Every action."""
        return tuple(self._actions.values())

    def serve(self, beside: QWidget, *, without: str) -> None:
        """Let the keys that work everywhere work in a window beside the main one too.

        A command that leads the keyboard somewhere in the main window takes it along.

        Args:
            beside: that window.
            without: an action whose keys do something else there.
        """
        for action_id, context in self._contexts.items():
            if context == "window" and action_id != without:
                beside.addAction(self._actions[action_id])

    def fill_menu_bar(self) -> None:
        """Make the menus of the window, in place of those before."""
        for spec in self._registry:
            if spec.id not in self._actions:
                self._make(spec)
        bar = self._window.menuBar()
        for before in bar.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
            before.deleteLater()
        bar.clear()
        menus: dict[str, QMenu] = {}
        for title in MENUS:
            menus[title] = self._menu(bar.addMenu(f"&{title}"), f"menu.{title}")
        groups: dict[str, str] = {}
        for spec in self._in_menu_order():
            if not spec.menu:
                continue
            menu = self._menu_at(spec.menu, menus)
            if groups.get(spec.menu, spec.group) != spec.group:
                menu.addSeparator()
            groups[spec.menu] = spec.group
            menu.addAction(self._actions[spec.id])

    def refresh(self, menu: QMenu) -> None:
        """Make a menu show what is possible now."""
        for action in menu.actions():
            if action.objectName() in self._registry:
                reason = self._registry.why_not(action.objectName())
                action.setEnabled(not reason)
                action.setToolTip(self._tip(self._registry[action.objectName()], reason))

    def _in_menu_order(self) -> list[AnyAction]:
        """The actions with groups kept together and sub-menus after plain entries."""
        specs = list(self._registry)
        order: dict[tuple[str, str], int] = {}
        for spec in specs:
            order.setdefault((spec.menu, spec.group), len(order))

        def place(spec: AnyAction) -> tuple[int, int]:
            groups = _GROUPS.get(spec.menu, ())
            first = groups.index(spec.group) - len(groups) if spec.group in groups else 0
            return (spec.menu.count("/"), first or order[spec.menu, spec.group])

        return sorted(specs, key=place)

    def _menu_at(self, path: str, menus: dict[str, QMenu]) -> QMenu:
        if path not in menus:
            above, _, title = path.rpartition("/")
            if above:
                parent = self._menu_at(above, menus)
                menus[path] = self._menu(parent.addMenu(title), f"menu.{path}")
            else:
                menus[path] = self._menu(self._window.menuBar().addMenu(title), f"menu.{path}")
        return menus[path]

    def _menu(self, menu: QMenu, name: str) -> QMenu:
        own_keys(menu).setObjectName(name)
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(lambda: self.refresh(menu))
        menu.aboutToHide.connect(lambda: self._release(menu))
        return menu

    def _release(self, menu: QMenu) -> None:
        for action in menu.actions():
            if action.objectName() in self._registry:
                action.setEnabled(True)

    def _make(self, spec: AnyAction) -> None:
        action = QAction(spec.text, self._window)
        action.setObjectName(spec.id)
        action.setToolTip(self._tip(spec, ""))
        action.setStatusTip(spec.tip)
        action.setMenuRole(_ROLES.get(spec.id, QAction.MenuRole.NoRole))
        if spec.icon:
            icons.keep(action, spec.icon)
        if spec.checkable:
            action.setCheckable(True)
            action.setChecked(self._registry.is_checked(spec.id))
        self._give_keys(action, spec)
        if spec.context == "window":
            everywhere = spec.id in _EVERYWHERE
            action.setShortcutContext(
                Qt.ShortcutContext.ApplicationShortcut
                if everywhere
                else Qt.ShortcutContext.WindowShortcut
            )
            self._window.addAction(action)
        else:
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            for widget in contexts.members(spec.context):
                widget.addAction(action)
        action.triggered.connect(lambda: self._trigger(spec))
        self._actions[spec.id] = action
        self._contexts[spec.id] = spec.context

    def _joined(self, context: Context, widget: QWidget) -> None:
        for action_id, own in self._contexts.items():
            if own == context:
                widget.addAction(self._actions[action_id])

    def _trigger(self, spec: AnyAction) -> None:
        reason = self._registry.why_not(spec.id)
        if reason:
            self._refused(spec, reason)
        else:
            active, before = QApplication.activeWindow(), self._window.focusWidget()
            beside = active if active is not self._window else None
            served = beside is not None and self._actions[spec.id] in beside.actions()
            self._registry.trigger(spec.id)
            if served and self._window.focusWidget() is not before:
                self._window.activateWindow()
        self._changed(spec.id)

    def _changed(self, action_id: str) -> None:
        spec = self._registry[action_id]
        action = self._actions.get(action_id)
        if action is None:
            self._make(spec)
            return
        if self._keys[action_id] != spec.keys:
            self._give_keys(action, spec)
            action.setToolTip(self._tip(spec, ""))
        if spec.checkable:
            # Qt has toggled it by itself; what it shows is what the registry says.
            action.setChecked(self._registry.is_checked(action_id))

    def _give_keys(self, action: QAction, spec: AnyAction) -> None:
        action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
        self._keys[spec.id] = spec.keys

    @staticmethod
    def _tip(spec: AnyAction, reason: str) -> str:
        tip = with_keys(spec.tip.rstrip("."), spec.keys)
        return f"{tip}\n{reason[:1].upper()}{reason[1:]}." if reason else tip
