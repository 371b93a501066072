"""A row of buttons of which one is down: which program, which level."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from studio.ui.kit import binding, theme
from studio.ui.models.actions import ActionRegistry


class Segments(QWidget):
    """Buttons of actions that exclude each other; they show what the action table says.

    Args:
        actions: the action table.
        choices: action ids and what the buttons say.
        parent: owner in Qt.
    """

    def __init__(
        self,
        actions: ActionRegistry,
        choices: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._actions = actions
        self._buttons: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for action_id, text in choices:
            button = QToolButton(self)
            button.setObjectName(f"{action_id}.button")
            button.setText(text)
            button.setCheckable(True)
            button.setToolTip(actions.spec(action_id).tip)
            button.setMinimumHeight(theme.HIT)
            button.clicked.connect(lambda _on, each=action_id: self._press(each))
            row.addWidget(button)
            self._buttons[action_id] = button
        binding.connect(self, actions.changed, self._changed)
        self.refresh()

    def refresh(self) -> None:
        """Show what is on now."""
        for action_id in self._buttons:
            self._changed(action_id)

    def _press(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        self.refresh()

    def _changed(self, action_id: str) -> None:
        button = self._buttons.get(action_id)
        if button is None:
            return
        reason = self._actions.why_not(action_id)
        tip = self._actions.spec(action_id).tip
        button.setChecked(self._actions.is_checked(action_id))
        button.setEnabled(not reason)
        button.setToolTip(f"{tip}\n{reason}" if reason else tip)
