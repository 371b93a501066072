"""The keys of the view that has the keyboard, on one sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from studio.session.core.action_table import ActionRegistry, AnyAction, Context
from studio.ui.shell.commands import fuzzy
from studio.widgets import contexts, theme
from studio.widgets.keys import is_alone, pressed_keys, shown_keys

TITLES: dict[Context, str] = {
    "canvas": "Canvas", "listing": "Listing", "table": "Tables and trees", "plot": "Plots",
    "tensor": "Tensor view", "window": "Everywhere",
}  # fmt: skip
_COLUMNS = 2


def sheet_of(registry: ActionRegistry, context: Context) -> list[tuple[str, list[AnyAction]]]:
    """What the sheet shows: the view's own keys, then those that work everywhere."""
    wanted: list[Context] = [context] if context == "window" else [context, "window"]
    return [
        (TITLES[each], [spec for spec in registry if spec.keys and spec.context == each])
        for each in wanted
    ]


class KeySheet(QDialog):
    """The sheet.

    Args:
        registry: the action table.
        context: of the view that had the keyboard.
        window: the window.
    """

    def __init__(self, registry: ActionRegistry, context: Context, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("key_sheet")
        self.setWindowTitle(f"Keyboard shortcuts: {TITLES[context]}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._groups = sheet_of(registry, context)
        self._field = QLineEdit(self)
        self._field.setPlaceholderText("Search for a command, or press a key")
        self._field.setAccessibleName("Search keyboard shortcuts")
        self._field.textChanged.connect(self.look)
        self._field.installEventFilter(self)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(self._field)
        column.addWidget(self._area, 1)
        self.resize(880, 640)
        self.look("")
        self._field.setFocus()

    def look(self, typed: str) -> None:
        """Show the lines that fit what was typed."""
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(16)
        for title, specs in self._groups:
            fitting = [spec for spec in specs if fits(typed, spec)]
            if fitting:
                heading = QLabel(title, body)
                heading.setFont(theme.font("title"))
                column.addWidget(heading)
                column.addLayout(_grid(fitting, body))
        column.addStretch(1)
        self._area.setWidget(body)

    def eventFilter(self, _watched: object, event: QEvent) -> bool:
        # A key pressed with Ctrl or Alt, or one that types nothing, is looked up itself, those
        # that work in the whole application too.
        if not isinstance(event, QKeyEvent):
            return False
        if event.type() is QEvent.Type.ShortcutOverride and is_chord(event):
            event.accept()
            return True
        if event.type() is QEvent.Type.KeyPress and is_chord(event):
            self._field.setText(shown_keys(pressed_keys(event)))
            return True
        return False


def is_chord(event: QKeyEvent) -> bool:
    """Whether keys were pressed that type nothing, so that they are looked up themselves."""
    strong = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F12
    return not is_alone(event) and (bool(event.modifiers() & strong) or function)


def fits(typed: str, spec: AnyAction) -> bool:
    """Whether an action is meant by what was typed: its keys, name or another word for it."""
    if not typed.strip():
        return True
    shown = [shown_keys(keys) for keys in spec.keys]
    if typed in shown:
        return True
    return any(fuzzy.match(typed, name) is not None for name in (spec.text, *spec.aliases))


def named_apart(specs: Sequence[AnyAction]) -> list[str]:
    """What the sheet calls actions: their texts, with the sub-menu where two have the same."""
    often = Counter(spec.text for spec in specs)
    names = []
    for spec in specs:
        _, below, menu = spec.menu.rpartition("/")
        names.append(f"{menu}: {spec.text}" if below and often[spec.text] > 1 else spec.text)
    return names


def _grid(specs: Sequence[AnyAction], parent: QWidget) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(4)
    rows = -(-len(specs) // _COLUMNS)
    for place, (spec, name) in enumerate(zip(specs, named_apart(specs), strict=True)):
        column, row = divmod(place, rows)
        line = QHBoxLayout()
        line.setSpacing(8)
        text = QLabel(name, parent)
        text.setToolTip(spec.tip)
        line.addWidget(text, 1)
        for keys in spec.keys:
            cap = QLabel(shown_keys(keys), parent)
            cap.setObjectName("key_cap")
            line.addWidget(cap)
        grid.addLayout(line, row, column)
    for column in range(_COLUMNS):
        grid.setColumnStretch(column, 1)
    return grid


def show(window: QWidget, registry: ActionRegistry) -> KeySheet:
    """Open the sheet for the view that has the focus; it is not modal."""
    context = contexts.context_of(QApplication.focusWidget())
    for before in window.findChildren(KeySheet):
        before.close()
    sheet = KeySheet(registry, context, window)
    sheet.show()
    sheet.activateWindow()
    return sheet
