"""The bar that finds layers on the canvas by name, type or option."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton

from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.text_keys import claim_keys
from studio.session.document.finding.outline import find_layers
from studio.widgets import binding, theme
from studio.widgets.labels.tool_button import tool_button

_FIELD, _LEAST_FIELD = 200, 80


class FindBar(QFrame):
    """A field, a count, and buttons to walk from match to match.

    Args:
        context: what it works with; its view is the parent.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self.setObjectName("find_bar")
        self.setAccessibleName("Find on the canvas")
        self._context = context
        self._graph = context.graph
        self._found: tuple[str, ...] = ()
        self._at = -1
        self.field = QLineEdit(self)
        self.field.setObjectName("find_field")
        self.field.setAccessibleName("Find a layer")
        self.field.setPlaceholderText("Find a layer")
        self.field.setFixedWidth(_FIELD)
        self.count = QLabel(self)
        self.count.setObjectName("find_count")
        self.count.setMinimumWidth(56)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 4, 6, 4)
        row.setSpacing(4)
        row.addWidget(self.field)
        row.addWidget(self.count)
        for name, icon, tip, act in (
            ("find_previous", "chevron-up", "Previous match (Shift+Enter)", self.previous),
            ("find_next", "chevron-down", "Next match (Enter)", self.next),
            ("find_close", "close", "Close (Esc)", self.close_bar),
        ):
            row.addWidget(self._button(name, icon, tip, act))
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocusProxy(self.field)
        binding.connect(self, theme.changed, self._dress)
        self._dress()
        self.hide()

    def fit(self, room: int) -> None:
        """Be no wider than there is room: the field gives way."""
        others = self.sizeHint().width() - self.field.minimumWidth()
        self.field.setFixedWidth(max(_LEAST_FIELD, min(_FIELD, room - others)))
        self.adjustSize()

    @property
    def found(self) -> tuple[str, ...]:
        """The ids of all matches that are still there, best first."""
        return tuple(node_id for node_id in self._found if node_id in self._graph.state.nodes)

    def open_bar(self) -> None:
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self._search(self.field.text())

    def close_bar(self) -> None:
        self.hide()
        parent = self.parentWidget()
        if parent is not None:
            parent.setFocus(Qt.FocusReason.OtherFocusReason)

    def step(self, places: int) -> None:
        """Select the match some places on, or back."""
        self._go(self._at + places)

    def next(self) -> None:
        self.step(1)

    def previous(self) -> None:
        self.step(-1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.field or not isinstance(event, QKeyEvent):
            return False
        if event.key() != Qt.Key.Key_F3:
            claim_keys(event, self._context.studio.actions)
        if event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                (self.previous if back else self.next)()
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
        return False

    def _search(self, query: str) -> None:
        self._found = find_layers(self._graph.state, query)
        self._at = -1
        if self._found:
            self._go(0)
        else:
            self._show_count()

    def _go(self, place: int) -> None:
        self._found = self.found
        if not self._found:
            self._show_count()
            return
        self._at = place % len(self._found)
        node_id = self._found[self._at]
        self._context.select([node_id])
        area = self._graph.area_of([node_id])
        if not area.isEmpty():
            self._context.navigation.reveal(area)
        self._show_count()

    def _show_count(self) -> None:
        if self._found:
            self.count.setText(f"{self._at + 1} of {len(self._found)}")
        else:
            self.count.setText("none" if self.field.text().strip() else "")

    def _button(self, name: str, icon: str, tip: str, act: object) -> QToolButton:
        button = tool_button(icon, name, tip, self, tip.partition(" (")[0])
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(act)
        return button

    def _dress(self) -> None:
        ground, outline = theme.colour("dock").name(), theme.colour("outline").name()
        self.setStyleSheet(
            f"QFrame#find_bar {{ background: {ground}; border: 1px solid {outline};"
            " border-radius: 8px; }"
        )
