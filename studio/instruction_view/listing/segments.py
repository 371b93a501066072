"""A row of buttons of which one is down: which program, which level."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from studio.session.core.action_table import ActionRegistry
from studio.widgets import binding, icons, theme
from studio.widgets.menus import menu_of

_CHEVRON = 12


class Segments(QWidget):
    """Buttons of actions that exclude each other; they show what the action table says.

    Where there is little room, one button stands for all and opens a menu.

    Args:
        actions: the action table.
        choices: action ids and what the buttons say.
        name: what is chosen, for screen readers.
        parent: owner in Qt.
    """

    def __init__(
        self,
        actions: ActionRegistry,
        choices: Sequence[tuple[str, str]],
        name: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._actions = actions
        self._name = name
        self._is_compact = False
        self._buttons: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for action_id, text in choices:
            button = QToolButton(self)
            button.setObjectName(f"{action_id}.button")
            button.setText(text)
            button.setCheckable(True)
            button.setMinimumHeight(theme.HIT)
            button.clicked.connect(lambda _on, each=action_id: self._press(each))
            row.addWidget(button)
            self._buttons[action_id] = button
        self._one = QToolButton(self)
        self._one.setObjectName(f"{choices[0][0]}.menu")
        self._one.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._one.setIconSize(QSize(_CHEVRON, _CHEVRON))
        self._one.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self._one.setMinimumHeight(theme.HIT)
        self._one.clicked.connect(self._open_menu)
        self._one.hide()
        icons.keep(self._one, "chevron-down")
        row.addWidget(self._one)
        binding.connect(self, actions.changed, self._changed)
        self.refresh()

    @property
    def wide_width(self) -> int:
        """Pixels all buttons side by side take."""
        return sum(button.sizeHint().width() for button in self._buttons.values())

    def set_compact(self, is_compact: bool) -> None:
        """Show one button for all, or every one."""
        if is_compact != self._is_compact:
            self._is_compact = is_compact
            self._arrange()

    def refresh(self) -> None:
        for action_id in self._buttons:
            self._changed(action_id)

    def _arrange(self) -> None:
        for button in self._buttons.values():
            button.setVisible(not self._is_compact)
        self._one.setVisible(self._is_compact)

    def _press(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        self.refresh()

    def _open_menu(self) -> None:
        below = self._one.mapToGlobal(QPoint(0, self._one.height()))
        menu_of(self._actions, tuple(self._buttons), self).popup(below)

    def _changed(self, action_id: str) -> None:
        button = self._buttons.get(action_id)
        if button is None:
            return
        reason = self._actions.why_not(action_id)
        tip = self._actions[action_id].tip
        button.setChecked(self._actions.is_checked(action_id))
        button.setEnabled(not reason)
        button.setToolTip(f"{tip}\n{reason[:1].upper()}{reason[1:]}." if reason else tip)
        if button.isChecked():
            self._one.setText(button.text())
            self._one.setToolTip(tip)
            self._one.setAccessibleName(f"{self._name}: {button.text()}")
