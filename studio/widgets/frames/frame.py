"""What all panes have in common: title, remark, chain button, and what is shown when empty."""

from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStackedLayout, QToolButton, QWidget

from studio.widgets import binding, icons, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_MARK = 2


class PaneFrame(QWidget):
    """A pane: give it a body, and an `EmptyState` for when there is nothing to show.

    Its header is drawn where it stands (see `FrameHeader`), with the title and icon of its row; the
    pane only says what is in it.

    Args:
        linkable: it follows the selection, so that it can be pinned.
        parent: the widget it stands in.
    """

    header_changed = Signal()
    pin_changed = Signal(bool)

    def __init__(self, *, linkable: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.linkable = linkable
        self._note = ""
        self._pinned = False
        self._body: QWidget | None = None
        self._empty: EmptyState | None = None
        self._tools: list[QWidget] = []
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)

    @property
    def note(self) -> str:
        return self._note

    @property
    def pinned(self) -> bool:
        """Whether the pane keeps what it shows, whatever is selected elsewhere."""
        return self._pinned

    @property
    def tools(self) -> tuple[QWidget, ...]:
        """Widgets of the pane that stand in its header."""
        return tuple(self._tools)

    def set_note(self, text: str) -> None:
        """Put a remark behind the title, such as ``3 of 7``."""
        if text != self._note:
            self._note = text
            self.header_changed.emit()

    def set_pinned(self, on: bool) -> None:
        """Keep what is shown, or follow the selection again."""
        if self.linkable and on != self._pinned:
            self._pinned = on
            self.header_changed.emit()
            self.pin_changed.emit(on)

    def add_tool(self, widget: QWidget) -> None:
        """Place a small widget into the header."""
        self._tools.append(widget)
        self.header_changed.emit()

    def set_body(self, body: QWidget) -> None:
        """Show ``body`` whenever there is something to show."""
        self._body = body
        self._stack.addWidget(body)
        if self._empty is None:
            self._stack.setCurrentWidget(body)
        self.setFocusProxy(body)

    def childEvent(self, event: QChildEvent) -> None:
        super().childEvent(event)
        child = event.child()
        # One that was made as a child of ours must not lie over the body until it is shown.
        if event.type() is not QEvent.Type.ChildPolished or not isinstance(child, EmptyState):
            return
        if self._stack.indexOf(child) < 0:
            self._stack.addWidget(child)
            if self._body is not None and self._empty is None:
                self._stack.setCurrentWidget(self._body)

    def show_empty(self, empty: EmptyState | None) -> None:
        """Show why there is nothing, or the body again with None."""
        if empty is not None and empty is not self._empty:
            if self._empty is not None:
                self._stack.removeWidget(self._empty)
                self._empty.deleteLater()
            self._empty = empty
            self._stack.addWidget(empty)
        shown = empty if empty is not None else self._body
        if shown is not None:
            # A hidden widget that was given the keyboard would take it when it appears, from
            # wherever the user works by then.
            self.setFocusProxy(shown)
            self._stack.setCurrentWidget(shown)

    @property
    def is_empty(self) -> bool:
        """Whether the empty state is shown."""
        return self._empty is not None and self._stack.currentWidget() is self._empty


class FrameHeader(QWidget):
    """The bar above a pane: icon, title, remark, the pane's tools, and buttons.

    Args:
        frame: the pane; None for a plain widget, which has no remark and no tools.
        title: the pane's name.
        icon: its icon.
        parent: the widget it stands in.
    """

    def __init__(
        self,
        frame: PaneFrame | None,
        title: str,
        icon: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("frame_header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._frame = frame
        self._marked = False
        self._height = theme.ROW
        self._title = QLabel(title, self)
        self._title.setFont(theme.font("ui"))
        self._note = ElidedLabel(self)
        self._note.setProperty("role", "faint")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(8, 0, 4, 0)
        self._row.setSpacing(4)
        picture = QLabel(self)
        self._row.addWidget(picture)
        self._row.addWidget(self._title)
        self._row.addWidget(self._note)
        self._row.addStretch(1)
        self._chain: QToolButton | None = None
        if self._frame is not None:
            for tool in self._frame.tools:
                self._row.addWidget(tool)
            if self._frame.linkable:
                self._chain = self.add_button("linked", "Follow the selection", "chain")
                self._chain.setCheckable(True)
                self._chain.toggled.connect(self._toggled)
            self._frame.header_changed.connect(self.refresh)
        self._picture = picture
        self._icon = icon
        self._picture.setVisible(bool(self._icon))
        binding.connect(self, theme.changed, self.refresh)
        self.refresh()

    def add_button(self, icon: str, tip: str, name: str) -> QToolButton:
        """Add a small button at the right end."""
        button = tool_button(icon, name, tip, self, f"{tip}: {self._title.text()}")
        button.setAutoRaise(True)
        button.setIconSize(QSize(14, 14))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row.addWidget(button)
        return button

    def show_title(self, on: bool) -> None:
        """Show icon and title, or leave them to a tab that says the same."""
        self._title.setVisible(on)
        self._picture.setVisible(on and bool(self._icon))
        self._height = theme.ROW if on else theme.HIT
        self.updateGeometry()

    @property
    def is_marked(self) -> bool:
        """Whether it says that the keyboard is in its pane."""
        return self._marked

    def mark(self, on: bool) -> None:
        """Say that the keyboard is in the pane, for panes whose widgets do not."""
        if on != self._marked:
            self._marked = on
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._marked:
            line = QRect(0, self.height() - _MARK, self.width(), _MARK)
            QPainter(self).fillRect(line, theme.colour("accent"))

    def refresh(self) -> None:
        """Show what the pane says about itself now."""
        if self._icon:
            self._picture.setPixmap(icons.icon(self._icon).pixmap(QSize(14, 14)))
        if self._frame is None:
            return
        self._note.set_text(self._frame.note)
        for tool in self._frame.tools:
            if tool.parent() is not self:
                self._row.insertWidget(4, tool)
        if self._chain is not None:
            pinned = self._frame.pinned
            self._chain.setChecked(pinned)
            icons.keep(self._chain, "pinned" if pinned else "linked")
            self._chain.setToolTip(
                "Pinned. Click to follow the selection"
                if pinned
                else "Follows the selection. Click to pin"
            )

    def sizeHint(self) -> QSize:
        return QSize(120, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(72, self._height)

    def _toggled(self, on: bool) -> None:
        if self._frame is not None:
            self._frame.set_pinned(on)


def separator(parent: QWidget | None = None) -> QWidget:
    """A thin line between groups of widgets."""
    line = QWidget(parent)
    line.setProperty("line", True)
    line.setFixedHeight(1)
    line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    line.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    return line
