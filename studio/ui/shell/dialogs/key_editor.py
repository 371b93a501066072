"""The keys of all commands: searched, changed by pressing others, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.session.core.action_table import ActionRegistry, AnyAction
from studio.session.core.user_keys import Keys
from studio.ui.shell.commands.command_palette import PLACES
from studio.ui.shell.dialogs.key_sheet import TITLES, fits, named_apart
from studio.ui.shell.dialogs.questions import Answer, ask
from studio.widgets import binding, theme
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.keys import is_alone, pressed_keys, shown_keys
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_ID = Qt.ItemDataRole.UserRole
_COMMAND, _KEYS, _CHANGED = range(3)
_MOST = 4

_HELD = {
    "Space": "held, it pans the canvas",
    "K": "held, it cuts wires",
    "Z": "held, it shows the lens",
    "Return": "it opens what is selected and presses buttons",
    "Enter": "it opens what is selected and presses buttons",
}
"""Keys of the canvas that are not in the action table."""


class KeyField(QLineEdit):
    """Hears which keys are pressed, instead of writing them.

    Attributes:
        heard: a key sequence as the action table writes it.
        given_up: Esc was pressed, or the keyboard left.
    """

    heard = Signal(str)
    given_up = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("key_field")
        self.setReadOnly(True)
        self.setPlaceholderText("Press the new keys, or Esc to cancel")
        wide = self.fontMetrics().horizontalAdvance(self.placeholderText())
        self.setMinimumWidth(wide + 2 * theme.ROW)
        self.setAccessibleName("New keys")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            # Tab too, which would go on to the next field.
            self._press(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() is not Qt.FocusReason.ActiveWindowFocusReason:
            self.given_up.emit()

    def _press(self, event: QKeyEvent) -> None:
        event.accept()
        if event.isAutoRepeat() or is_alone(event):
            return
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.key() == Qt.Key.Key_Escape and plain:
            self.given_up.emit()
        elif keys := pressed_keys(event):
            self.heard.emit(keys)


class KeyEditor(QWidget):
    """A list of the commands, and below it the keys of the one that is chosen.

    Args:
        registry: the action table.
        failed: hears of a change that could not be kept.
        parent: the dialog.
    """

    def __init__(
        self,
        registry: ActionRegistry,
        failed: Callable[[StudioError], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("key_editor")
        self._registry = registry
        self._failed = failed
        self._typed, self._only_changed = "", False
        self._items: dict[str, QTreeWidgetItem] = {}
        self._heads: list[QTreeWidgetItem] = []
        self.list = self._make_list()
        self.detail = KeyDetail(registry, self._choose, self)
        self.reset_all = QPushButton("Reset all keys…", self)
        self.reset_all.setObjectName("reset_all_keys")
        self.reset_all.clicked.connect(self._ask_to_reset)
        self.bring = QPushButton("Import…", self)
        self.bring.setObjectName("import_keys")
        self.bring.setToolTip("Take the keys of a file in place of all keys of your own")
        self.bring.clicked.connect(lambda: self._ask_for_file(writes=False))
        self.export = QPushButton("Export…", self)
        self.export.setObjectName("export_keys")
        self.export.setToolTip("Write the keys of your own to a file, for another computer")
        self.export.clicked.connect(lambda: self._ask_for_file(writes=True))
        self.buttons = (self.reset_all, self.bring, self.export)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self.list, 1)
        column.addWidget(self.detail)
        self._fill()
        self.list.currentItemChanged.connect(lambda _now, _before: self._show_chosen())
        self.list.itemActivated.connect(self._activated)
        binding.connect(self, registry.keys.changed, self.refresh)
        self.look("", only_changed=False)

    def look(self, typed: str, *, only_changed: bool) -> None:
        """Show the commands that fit a search."""
        self._typed, self._only_changed = typed, only_changed
        held = {spec.id for spec in self._registry if typed in map(shown_keys, spec.keys)}
        for action_id, item in self._items.items():
            # Keys that were pressed mean who has them, not names with the same letters.
            fitting = action_id in held if held else fits(typed, self._registry[action_id])
            item.setHidden(not fitting or (only_changed and not self._is_changed(action_id)))
        for head in self._heads:
            inside = (item for item in self._items.values() if item.parent() is head)
            head.setHidden(all(item.isHidden() for item in inside))
        shown = [item for item in self._items.values() if not item.isHidden()]
        if self.list.currentItem() not in shown:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())
            if shown:
                self.list.setCurrentItem(shown[0])
        self._show_chosen()

    def refresh(self) -> None:
        """Show the keys there are now."""
        for action_id, item in self._items.items():
            keys = ", ".join(map(shown_keys, self._registry[action_id].keys))
            item.setText(_KEYS, keys)
            item.setText(_CHANGED, "changed" if self._is_changed(action_id) else "")
        self.reset_all.setEnabled(len(self._registry.keys) > 0)
        self.export.setEnabled(len(self._registry.keys) > 0)
        self.look(self._typed, only_changed=self._only_changed)

    def choose(self, action_id: str) -> None:
        """Show the keys of an action."""
        self.list.setCurrentItem(self._items[action_id])

    @property
    def chosen(self) -> str:
        """Id of the action whose keys are shown; empty for none."""
        item = self.list.currentItem()
        return "" if item is None else str(item.data(_COMMAND, _ID) or "")

    # -- inside -----------------------------------------------------------------------------------

    def _make_list(self) -> QTreeWidget:
        made = QTreeWidget(self)
        made.setObjectName("key_list")
        made.setAccessibleName("Commands and their keys")
        made.setProperty("framed", True)
        made.setHeaderLabels(["Command", "Keys", ""])
        made.setRootIsDecorated(False)
        made.setIndentation(12)
        made.setItemsExpandable(False)
        made.setUniformRowHeights(True)
        made.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = made.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_COMMAND, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_KEYS, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_CHANGED, QHeaderView.ResizeMode.ResizeToContents)
        return made

    def _fill(self) -> None:
        for context, title in sorted(TITLES.items(), key=lambda each: each[0] != "window"):
            specs = [spec for spec in self._registry if spec.context == context]
            if not specs:
                continue
            head = QTreeWidgetItem(self.list, [title])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setFont(_COMMAND, theme.font("title"))
            head.setFirstColumnSpanned(True)
            self._heads.append(head)
            for spec, name in zip(specs, named_apart(specs), strict=True):
                item = QTreeWidgetItem(head, [name.rstrip("…")])
                item.setData(_COMMAND, _ID, spec.id)
                item.setToolTip(_COMMAND, spec.tip)
                self._items[spec.id] = item
        self.list.expandAll()
        self.refresh()

    def _is_changed(self, action_id: str) -> bool:
        return self._registry[action_id].keys != self._registry.keys_at_first(action_id)

    def _show_chosen(self) -> None:
        self.detail.show_action(self.chosen)

    def _activated(self, item: QTreeWidgetItem) -> None:
        if item.data(_COMMAND, _ID):
            self.detail.listen(add=False)

    def _choose(self, action_id: str, keys: Keys) -> None:
        """Give an action keys; other actions that have them where they would meet lose them."""
        registry = self._registry
        wanted: dict[str, Keys | None] = {action_id: keys}
        for each in keys:
            for other in registry.holders(each, action_id):
                left = wanted.get(other.id) or other.keys
                wanted[other.id] = tuple(one for one in left if one != each)
        for changed, found in wanted.items():
            if found == registry.keys_at_first(changed):
                wanted[changed] = None
        self._keep(lambda: registry.keys.choose(wanted))

    def _ask_to_reset(self) -> None:
        count = len(self._registry.keys)
        what = "1 command has keys" if count == 1 else f"{count} commands have keys"
        answers = (
            Answer("reset", "Reset all", "destroy"),
            Answer("cancel", "Cancel", "cancel"),
        )

        def answered(name: str) -> None:
            if name == "reset":
                self._keep(self._registry.keys.reset)

        ask(self.window(), "Reset all keys?", f"{what} of your own.", answers, answered)

    def _ask_for_file(self, *, writes: bool) -> None:
        keys, title = self._registry.keys, "Export keys" if writes else "Import keys"
        dialog = file_dialog(self, "keys_dialog", title, "keys")
        dialog.setNameFilter("Keys (*.json)")
        if writes:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.setDefaultSuffix("json")
            dialog.selectFile("glassbox-keys.json")
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        act = keys.export_to if writes else keys.import_from
        dialog.fileSelected.connect(lambda name: self._keep(lambda: act(Path(name))))
        dialog.open()

    def _keep(self, change: Callable[[], object]) -> None:
        try:
            change()
        except StudioError as error:
            self._failed(error)


class KeyDetail(QFrame):
    """The keys of one action, with what changes them, and whom a key that is pressed belongs to.

    Args:
        registry: the action table.
        choose: gives an action keys, which other actions lose.
        parent: the editor.
    """

    def __init__(
        self,
        registry: ActionRegistry,
        choose: Callable[[str, Keys], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("key_detail")
        self.setProperty("panel", True)
        self._registry = registry
        self._choose = choose
        self._action = ""
        self._wanted: Keys = ()
        self._adds = False
        self.title = ElidedLabel(self)
        self.title.setProperty("role", "strong")
        self._tip = QLabel(self)
        self._tip.setProperty("role", "faint")
        self._tip.setWordWrap(True)
        self._caps = QHBoxLayout()
        self._caps.setSpacing(4)
        self._shown: list[QWidget] = []
        self.field = KeyField(self)
        self.field.heard.connect(self._heard)
        self.field.given_up.connect(self._give_up)
        self.message = QLabel(self)
        self.message.setObjectName("key_message")
        self.message.setProperty("role", "warning")
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setWordWrap(True)
        self.change = self._button("Change keys…", "change_keys", lambda: self.listen(add=False))
        self.add = self._button("Add keys…", "add_keys", lambda: self.listen(add=True))
        self.reset = self._button("Reset", "reset_keys", self._reset)
        self.take = self._button("Use them here", "take_keys", self._take)
        self.leave = self._button("Cancel", "leave_keys", self._give_up)
        self._lay_out()
        self._say("")
        self._listen(False)

    def show_action(self, action_id: str) -> None:
        """Show an action's keys as they are now."""
        if action_id != self._action:
            self._give_up()
        self._action = action_id
        self.setEnabled(bool(action_id))
        if not action_id:
            self.title.set_text("No command fits")
            self._tip.setText("")
            self._show_caps(())
            return
        spec, first = self._registry[action_id], self._registry.keys_at_first(action_id)
        self.title.set_text(spec.text.rstrip("…"))
        self._tip.setText(f"{spec.tip} Its keys work {_where(spec)}.")
        self._show_caps(spec.keys)
        self.add.setEnabled(0 < len(spec.keys) < _MOST)
        self.change.setText("Change keys…" if spec.keys else "Set keys…")
        self.reset.setEnabled(spec.keys != first)
        came = ", ".join(map(shown_keys, first)) or "none"
        self.reset.setToolTip(f"Reset to default: {came}")

    def listen(self, *, add: bool) -> None:
        """Wait for keys to be pressed: in place of those there are, or besides them."""
        if not self._action:
            return
        self._say("")
        self._adds = add
        self._listen(True)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    # -- inside -----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        caps = QHBoxLayout()
        caps.setSpacing(4)
        caps.addLayout(self._caps)
        caps.addWidget(self.field)
        caps.addStretch(1)
        for button in (self.change, self.add, self.reset):
            caps.addWidget(button)
        answer = QHBoxLayout()
        answer.setSpacing(4)
        answer.addWidget(self.message, 1)
        answer.addWidget(self.take)
        answer.addWidget(self.leave)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(6)
        column.addWidget(self.title)
        column.addWidget(self._tip)
        column.addLayout(caps)
        column.addLayout(answer)

    def _button(self, text: str, name: str, act: Callable[[], object]) -> QPushButton:
        made = QPushButton(text, self)
        made.setObjectName(name)
        made.setAutoDefault(False)
        made.clicked.connect(lambda: act())
        return made

    def _show_caps(self, keys: Keys) -> None:
        for old in self._shown:
            self._caps.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._shown = []
        for each in keys:
            shown = shown_keys(each)
            cap = QLabel(shown, self)
            cap.setObjectName("key_cap")
            remove = tool_button("close", f"remove_key.{each}", f"Remove {shown}", self)
            remove.clicked.connect(lambda _on=False, gone=each: self._remove(gone))
            self._shown += [cap, remove]
        if not keys:
            none = QLabel("No keys", self)
            none.setProperty("role", "faint")
            self._shown.append(none)
        for part in self._shown:
            self._caps.addWidget(part)

    def _listen(self, on: bool) -> None:
        self.field.setVisible(on)
        for button in (self.change, self.add, self.reset):
            button.setVisible(not on)

    def _say(self, text: str, *, choice: bool = False) -> None:
        self.message.setText(text)
        self.message.setVisible(bool(text))
        self.take.setVisible(choice)
        self.leave.setVisible(choice)

    def _heard(self, keys: str) -> None:
        spec = self._registry[self._action]
        why = _HELD.get(keys, "") if spec.context in ("canvas", "window") else ""
        if why:
            self._say(f"{shown_keys(keys)} cannot be used here: {why}. Press other keys.")
            return
        before = spec.keys if self._adds else ()
        self._want((*(each for each in before if each != keys), keys))

    def _want(self, wanted: Keys) -> None:
        """Have these keys, after asking where other actions would lose some of them."""
        spec = self._registry[self._action]
        self._wanted = wanted
        held = [
            f"{shown_keys(keys)} is used by {_named(other)}"
            for keys in wanted
            if keys not in spec.keys
            for other in self._registry.holders(keys, spec.id)
        ]
        if held:
            self._listen(False)
            self._say(f"{'; '.join(held)}.", choice=True)
            self.take.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._take()

    def _take(self) -> None:
        self._give_up()
        self._choose(self._action, self._wanted)

    def _remove(self, keys: str) -> None:
        left = self._registry[self._action].keys
        self._choose(self._action, tuple(each for each in left if each != keys))
        self.change.setFocus(Qt.FocusReason.OtherFocusReason)

    def _reset(self) -> None:
        self._want(self._registry.keys_at_first(self._action))

    def _give_up(self) -> None:
        had_keyboard = self.field.hasFocus() or self.take.hasFocus() or self.leave.hasFocus()
        self._listen(False)
        self._say("")
        if had_keyboard:
            self.change.setFocus(Qt.FocusReason.OtherFocusReason)


def _where(spec: AnyAction) -> str:
    """Where an action's keys work."""
    return PLACES[spec.context] or "everywhere"


def _named(spec: AnyAction) -> str:
    """An action as a conflict names it."""
    return f"“{spec.text.rstrip('…')}” {_where(spec)}"
