"""The way from the whole network to the open block, over the canvas; each step can be clicked."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QToolButton

from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.session.document.level_view import has_blocks
from studio.session.document.levels import TOP
from studio.widgets import binding, theme
from studio.widgets.menus import own_keys

MODEL = "Model"
"""What the top is called."""

_MOST_PIXELS = 160


class Breadcrumbs(QFrame):
    """Model, then the blocks that are open, outermost first. Hidden where there is no block.

    Args:
        context: what it works with; its view is the parent.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self.setObjectName("breadcrumbs")
        self.setAccessibleName("Open block")
        self._context = context
        self._shown: tuple[tuple[str, str], ...] = ()
        self._steps: list[tuple[QToolButton, QLabel]] = []
        self._more = QToolButton(self)
        self._menu = own_keys(QMenu(self._more))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(6, 3, 6, 3)
        self._row.setSpacing(0)
        self._set_up_more()
        self.hide()
        graph = context.graph
        self._deliveries = [
            binding.connect(self, graph.redrawn, self._refresh),
            binding.connect(self, theme.changed, self._dress),
        ]
        self._dress()

    @property
    def buttons(self) -> list[QToolButton]:
        """One for each level, the top first; those that have no room are hidden."""
        return [button for button, _ in self._steps]

    def fit(self) -> None:
        """Leave out levels behind the top where there is no room for all; a menu has them."""
        room = self._context.view.viewport().width() - 2 * self.x()
        edges = self._row.contentsMargins()
        needed = edges.left() + edges.right() + sum(map(_width, self._steps))
        self._menu.clear()
        for place, (button, arrow) in enumerate(self._steps):
            inner = 0 < place < len(self._steps) - 1
            more = 0 if self._menu.isEmpty() else self._more.sizeHint().width()
            left_out = inner and needed + more > room
            if left_out:
                needed -= _width(self._steps[place])
                level, name = self._shown[place]
                self._menu.addAction(name.replace("&", "&&")).triggered.connect(
                    partial(self._go, level)
                )
            button.setVisible(not left_out)
            arrow.setVisible(place > 0 and not left_out)
        self._more.setVisible(not self._menu.isEmpty())
        self.adjustSize()

    def event(self, event: QEvent) -> bool:
        # The canvas below must not take what is meant for the bar.
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            event.accept()
            return True
        return super().event(event)

    def _refresh(self) -> None:
        state = self._context.graph.state
        shown: tuple[tuple[str, str], ...] = ()
        if has_blocks(state):
            names = ((i, state.nodes[i].name) for i in self._context.open_block.way[1:])
            shown = ((TOP, MODEL), *names)
        if shown != self._shown:
            self._shown = shown
            self._build()

    def _set_up_more(self) -> None:
        more = self._more
        more.setText("\u203a \u2026")
        more.setObjectName("breadcrumbs_more")
        more.setAccessibleName("Blocks between")
        more.setToolTip("The blocks between, which have no room here.")
        more.setAutoRaise(True)
        more.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        more.setMenu(self._menu)

    def _build(self) -> None:
        self._row.removeWidget(self._more)
        for part in (part for step in self._steps for part in step):
            self._row.removeWidget(part)
            part.hide()
            part.deleteLater()
        last = len(self._shown) - 1
        self._steps = []
        for place, (level, name) in enumerate(self._shown):
            arrow = QLabel("\u203a", self)
            arrow.setProperty("role", "faint")
            button = self._button(level, name, is_open=place == last)
            self._row.addWidget(arrow)
            self._row.addWidget(button)
            if place == 0:
                self._row.addWidget(self._more)
            self._steps.append((button, arrow))
        self.setVisible(bool(self._shown))
        self.fit()

    def _button(self, level: str, name: str, *, is_open: bool) -> QToolButton:
        button = QToolButton(self)
        metrics = button.fontMetrics()
        button.setText(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, _MOST_PIXELS))
        button.setAccessibleName(f"{name}, open" if is_open else f"Go to {name}")
        button.setToolTip(name)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if is_open:
            font = button.font()
            font.setBold(True)
            button.setFont(font)
        button.clicked.connect(partial(self._go, level))
        return button

    def _go(self, level: str) -> None:
        context = self._context
        left = context.open_block.way
        context.bus.clear(CANVAS)
        context.open_block.open(level)
        inner = left[left.index(level) + 1 : left.index(level) + 2] if level in left else ()
        context.select(inner)

    def _dress(self) -> None:
        ground, outline = theme.colour("dock").name(), theme.colour("hairline").name()
        self.setStyleSheet(
            f"QFrame#breadcrumbs {{ background: {ground}; border: 1px solid {outline};"
            " border-radius: 8px; }"
        )


def _width(step: tuple[QToolButton, QLabel]) -> int:
    button, arrow = step
    return button.sizeHint().width() + arrow.sizeHint().width()
