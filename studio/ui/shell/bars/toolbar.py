"""The toolbar: file and edit buttons, transport, workspaces and search."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolBar, QToolButton, QWidget

from studio.session.core.action_table import ActionRegistry
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.widgets import binding, icons, theme
from studio.widgets.keys import shown_keys, with_keys

_WIDE = 1480
"""From this width on there is room for words everywhere."""


class TopBar(QToolBar):
    """The toolbar; the transport is added once the window is painted."""

    def __init__(self, registry: ActionRegistry, parent: QWidget) -> None:
        super().__init__("Toolbar", parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setFloatable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setIconSize(QSize(16, 16))
        self._registry = registry
        self._buttons: dict[str, QToolButton] = {}
        for action_id in ("file.new", "file.open", "file.save"):
            self.addWidget(self._button(action_id))
        self.addSeparator()
        for action_id in ("edit.undo", "edit.redo"):
            if action_id in registry:
                self.addWidget(self._button(action_id))
        self.addSeparator()
        self._middle = QWidget(self)
        self._row = QHBoxLayout(self._middle)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._middle.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(self._middle)
        self.addWidget(Switch(registry, [f"workspace.{name}" for name in WORKSPACES], self))
        self.addSeparator()
        self._search = self._make_search()
        self.addWidget(self._search)
        binding.refresh(self, self.show_possible, registry.changed, rate=10)
        self.show_possible()

    def set_transport(self, widget: QWidget) -> None:
        """Put the transport into the middle."""
        self._row.addWidget(widget)

    def show_possible(self) -> None:
        """Grey what cannot be done now, and say why."""
        for action_id, button in self._buttons.items():
            reason = self._registry.why_not(action_id)
            spec = self._registry[action_id]
            tip = with_keys(spec.text.rstrip("…"), spec.keys)
            button.setEnabled(not reason)
            button.setToolTip(f"{tip}\n{reason[:1].upper()}{reason[1:]}." if reason else tip)
        spec = self._registry["view.go_to"]
        keys = f"   {shown_keys(spec.keys[0])}" if spec.keys else ""
        self._search.setText(f" Go to anything{keys}")
        self._search.setToolTip(with_keys(spec.tip.rstrip("."), spec.keys))

    def _button(self, action_id: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(f"tool.{action_id}")
        button.setAccessibleName(self._registry[action_id].text)
        button.setFixedSize(theme.ROW, theme.ROW)
        icons.keep(button, self._registry[action_id].icon)
        button.clicked.connect(lambda: self._registry.trigger(action_id))
        self._buttons[action_id] = button
        return button

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The transport needs the room more: its buttons are pressed, this one has a key.
        style = Qt.ToolButtonStyle
        wide = event.size().width() >= _WIDE
        self._search.setToolButtonStyle(
            style.ToolButtonTextBesideIcon if wide else style.ToolButtonIconOnly
        )

    def _make_search(self) -> QToolButton:
        spec = self._registry["view.go_to"]
        button = QToolButton(self)
        button.setObjectName("search_button")
        button.setAccessibleName(spec.text)
        button.setFixedHeight(theme.ROW)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        icons.keep(button, "search")
        button.clicked.connect(lambda: self._registry.trigger("view.go_to"))
        return button


class Switch(QWidget):
    """Buttons of which one is on: the workspaces.

    Args:
        registry: the action table.
        action_ids: checkable actions that exclude each other.
        parent: the toolbar.
    """

    def __init__(
        self, registry: ActionRegistry, action_ids: Sequence[str], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName("Workspace")
        self._registry = registry
        self._buttons: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for action_id in action_ids:
            spec = registry[action_id]
            button = QToolButton(self)
            button.setObjectName(f"tool.{action_id}")
            button.setText(spec.text)
            button.setAccessibleName(spec.text)
            button.setCheckable(True)
            button.setMinimumSize(64, theme.ROW)
            button.clicked.connect(lambda _on=False, wanted=action_id: self._chosen(wanted))
            row.addWidget(button)
            self._buttons[action_id] = button
        binding.refresh(self, self._show, registry.changed)
        self._show()

    def _chosen(self, action_id: str) -> None:
        self._registry.trigger(action_id)
        self._show()

    def _show(self) -> None:
        for action_id, button in self._buttons.items():
            spec = self._registry[action_id]
            button.setChecked(self._registry.is_checked(action_id))
            button.setToolTip(with_keys(spec.tip.rstrip("."), spec.keys))
