"""Notices in the corner of the window, over as little as they can, that never take the focus."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QCursor, QHoverEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.ui.kit import binding, icons, theme
from studio.ui.kit.tool_button import tool_button
from studio.ui.models.notices import Notice, Notices

MOST = 3
"""Toasts at a time; further ones wait under the bell."""

SECONDS = 6.0
"""How long a toast stays; errors stay until they are seen."""

_WIDTH, _MOST_LINE, _LEAST_LINE = 360, 520, 200
_MARGIN, _BESIDE = 16, 4
_LONG = re.compile(r"\S{32,}")
_PIECE = 8
ICONS = {"info": "info", "ok": "ok", "warning": "warning", "error": "error"}
ROLES = {"info": "accent", "ok": "ok", "warning": "warning", "error": "error"}


def _breakable(text: str) -> str:
    """Words longer than a line may be broken: a label would cut them off at its edge."""

    def broken(word: re.Match[str]) -> str:
        whole = word.group()
        return "\u200b".join(whole[at : at + _PIECE] for at in range(0, len(whole), _PIECE))

    return _LONG.sub(broken, text)


class Toast(QWidget):
    """One notice on the window.

    Args:
        notice: what it says.
        stack: where it is one of several.
        parent: what it stands on.
    """

    def __init__(self, notice: Notice, stack: ToastStack, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self.setAccessibleName(notice.text)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.notice = notice
        self._stack = stack
        self._rested_at = QCursor.pos()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(round(SECONDS * 1000))
        self._timer.timeout.connect(self._leave)
        self._fill()
        if notice.severity != "error":
            self._timer.start()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHoverEvent):
            self._hover(event)
        return super().event(event)

    def _hover(self, event: QHoverEvent) -> None:
        """It stays while somebody points at it, and leaves from under a pointer that rests."""
        if event.type() == QEvent.Type.HoverLeave:
            if self.notice.severity != "error":
                self._timer.start()
            return
        # Under a pointer that rests Qt tells of a move too, to where it is.
        moved = event.globalPosition().toPoint() != self._rested_at
        if moved and event.type() == QEvent.Type.HoverMove:
            self._timer.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = self.rect().adjusted(0, 0, -1, -1).toRectF().translated(0.5, 0.5)
        painter.setPen(QPen(theme.colour("outline"), 1))
        painter.setBrush(theme.colour("field"))
        painter.drawRoundedRect(frame, 6, 6)
        painter.setClipRect(QRect(0, 0, 4, self.height()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(ROLES[self.notice.severity]))
        painter.drawRoundedRect(frame.adjusted(0, 0, 0, 0), 6, 6)
        painter.end()

    def _fill(self) -> None:
        notice = self.notice
        self.setFixedWidth(_WIDTH)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 8, 8)
        row.setSpacing(8)
        row.addWidget(self._picture(), 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(4)
        for text, role in ((notice.text, ""), (notice.details, "soft")):
            if text:
                label = QLabel(_breakable(text), self)
                label.setAccessibleName(text)
                label.setTextFormat(Qt.TextFormat.PlainText)
                label.setWordWrap(True)
                label.setProperty("role", role)
                column.addWidget(label)
        if notice.action is not None:
            button = QPushButton(notice.action[0], self)
            button.setObjectName("toast_action")
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(self._act)
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        # The first line stands beside the middle of picture and button, whatever comes below.
        line = self.fontMetrics().height()
        column.setContentsMargins(0, max(0, (theme.HIT - line) // 2), 0, 0)
        column.addStretch(1)
        row.addLayout(column, 1)
        row.addWidget(self._close_button(), 0, Qt.AlignmentFlag.AlignTop)

    def _picture(self) -> QLabel:
        role = ROLES[self.notice.severity]
        made = QLabel(self)
        made.setPixmap(icons.icon(ICONS[self.notice.severity], role).pixmap(QSize(16, 16)))
        made.setFixedHeight(theme.HIT)
        return made

    def _close_button(self) -> QToolButton:
        made = tool_button("close", "toast_close", "Dismiss", self)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        made.clicked.connect(self._dismiss)
        return made

    def _act(self) -> None:
        action = self.notice.action
        self._dismiss()
        if action is not None:
            action[1]()

    def _dismiss(self) -> None:
        self._stack.dismiss(self, seen=True)

    def _leave(self) -> None:
        self._stack.dismiss(self, seen=False)


class LineToast(Toast):
    """A short notice on the status bar, where it covers nothing that is worked with."""

    def _fill(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 2, 0)
        row.setSpacing(8)
        row.addWidget(self._picture())
        self._words = QLabel(self.notice.text, self)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row.addWidget(self._words, 1)
        row.addWidget(self._close_button())
        words = self._words.fontMetrics().horizontalAdvance(self.notice.text)
        # The words themselves claim no width: where there is less, they are cut.
        self.wanted_width = row.minimumSize().width() + words + 4
        """How wide it is with every word of it."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        text = self.notice.text
        room = self._words.width()
        shown = self._words.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        self._words.setText(shown)
        self.setToolTip(text if shown != text else "")


class ToastStack(QWidget):
    """The corner of the window where toasts stand, newest at the bottom.

    What is said in a few words and asks for nothing stands on the status bar instead.

    Args:
        notices: what there is to say.
        window: whose lower right corner it keeps to.
        bottom: height left free below, for a status bar.
        bell: what stands on the status bar for all notices: short ones stand to the left of it.
    """

    def __init__(
        self, notices: Notices, window: QWidget, bottom: int = 0, bell: QWidget | None = None
    ) -> None:
        super().__init__(window)
        self.setObjectName("toasts")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._notices = notices
        self._window = window
        self._bottom = bottom
        self._bell = bell
        self._line: LineToast | None = None
        self._toasts: list[Toast] = []
        self._waiting: list[Notice] = []
        window.installEventFilter(self)
        if bell is not None:
            bell.installEventFilter(self)
        binding.connect(self, notices.added, self.add)
        binding.connect(self, notices.changed, self._forget_seen)
        binding.connect(self, theme.changed, self._recolour)
        self.hide()

    @property
    def toasts(self) -> tuple[Toast, ...]:
        """What stands in the corner, oldest first."""
        return tuple(self._toasts)

    @property
    def line(self) -> LineToast | None:
        """What stands on the status bar."""
        return self._line

    def add(self, notice: Notice) -> None:
        """Show a notice; the oldest that is no error makes room, errors wait for their turn."""
        if self._add_line(notice):
            return
        if len(self._toasts) >= MOST:
            passing = next((t for t in self._toasts if t.notice.severity != "error"), None)
            if passing is None:
                if notice.severity == "error":
                    self._waiting.append(notice)
                return
            self._remove(passing)
        self._toasts.append(Toast(notice, self, self))
        self._place()

    def _add_line(self, notice: Notice) -> bool:
        """Whether it is said on the status bar, in place of what was said there before."""
        short = notice.severity in ("info", "ok") and not notice.details and notice.action is None
        if not short or self._bell is None:
            return False
        line = LineToast(notice, self, self._window)
        if line.wanted_width > self._room():
            line.deleteLater()
            return False
        if self._line is not None:
            self._remove(self._line)
        self._line = line
        self._place_line()
        return True

    def dismiss(self, toast: Toast, *, seen: bool) -> None:
        """Take a toast away; one that only ran out is still unseen under the bell."""
        self._remove(toast)
        if self._waiting:
            self.add(self._waiting.pop(0))
        self._place()
        if seen:
            self._notices.see(toast.notice)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            if event.type() == QEvent.Type.Resize and watched is self._window:
                self._place()
            self._place_line()
        elif event.type() == QEvent.Type.LayoutRequest and watched is self._window:
            # Panes that were opened or brought to the front stand over what was there before.
            for toasts in (self, self._line):
                if toasts is not None and toasts.isVisible():
                    toasts.raise_()
        return False

    def _remove(self, toast: Toast) -> None:
        if toast is self._line:
            self._line = None
        elif toast in self._toasts:
            self._toasts.remove(toast)
        else:
            return
        toast.hide()
        toast.deleteLater()

    def _forget_seen(self) -> None:
        self._waiting = [notice for notice in self._waiting if not notice.seen]
        shown = [*self._toasts, *([self._line] if self._line else [])]
        seen = [toast for toast in shown if toast.notice.seen]
        for toast in seen:
            self._remove(toast)
        if seen:
            self._place()

    def _recolour(self) -> None:
        for toast in (*self._toasts, self._line):
            if toast is not None:
                toast.update()

    def _place(self) -> None:
        window = self._window
        if not self._toasts:
            self.hide()
            return
        y = 0
        for toast in self._toasts:
            # The size hint of words that wrap is that of a narrower toast.
            height = toast.heightForWidth(_WIDTH)
            toast.setGeometry(0, y, _WIDTH, height)
            toast.show()
            y += height + 8
        height = y - 8
        self.setGeometry(
            window.width() - _WIDTH - _MARGIN,
            window.height() - height - _MARGIN - self._bottom,
            _WIDTH,
            height,
        )
        self.show()
        self.raise_()

    def _right(self) -> int:
        """Where the bell begins, in the window."""
        bell = self._bell
        if bell is None or not bell.isVisible():
            return self._window.width()
        return bell.mapTo(self._window, QPoint(0, 0)).x() - _BESIDE

    def _room(self) -> int:
        return min(_MOST_LINE, self._right() - _MARGIN)

    def _place_line(self) -> None:
        line = self._line
        if line is None:
            return
        width = max(_LEAST_LINE, min(line.wanted_width, self._room()))
        top = self._window.height() - self._bottom
        right = self._right()
        left = self._whole(right - width)
        line.setGeometry(left, top, right - left, self._bottom)
        line.show()
        line.raise_()

    def _whole(self, left: int) -> int:
        """A place at or left of this one where no fact is cut: half a number reads as another."""
        bar = None if self._bell is None else self._bell.parentWidget()
        for fact in [] if bar is None else bar.findChildren(QToolButton):
            begin = fact.mapTo(self._window, QPoint(0, 0)).x()
            if fact.isVisible() and begin < left < begin + fact.width():
                return begin
        return left
