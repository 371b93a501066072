"""Notices that slide into the corner of the window and never take the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from studio.ui.kit import binding, icons, theme
from studio.ui.kit.tool_button import tool_button
from studio.ui.models.notices import Notice, Notices

MOST = 3
"""Toasts at a time; further ones wait under the bell."""

SECONDS = 6.0
"""How long a toast stays; errors stay until they are seen."""

_WIDTH = 360
_MARGIN = 16
ICONS = {"info": "info", "ok": "ok", "warning": "warning", "error": "error"}
ROLES = {"info": "accent", "ok": "ok", "warning": "warning", "error": "error"}


class Toast(QWidget):
    """One notice on the window."""

    def __init__(self, notice: Notice, stack: ToastStack) -> None:
        super().__init__(stack)
        self.setObjectName("toast")
        self.setAccessibleName(notice.text)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, False)
        self.notice = notice
        self._stack = stack
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(round(SECONDS * 1000))
        self._timer.timeout.connect(self._leave)
        self._fill()
        self.setFixedWidth(_WIDTH)
        if notice.severity != "error":
            self._timer.start()

    def enterEvent(self, _event: QEnterEvent) -> None:
        self._timer.stop()

    def leaveEvent(self, _event: QEvent) -> None:
        if self.notice.severity != "error":
            self._timer.start()

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
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 8, 8, 8)
        row.setSpacing(8)
        picture = QLabel(self)
        picture.setPixmap(
            icons.icon(ICONS[notice.severity], ROLES[notice.severity]).pixmap(QSize(16, 16))
        )
        picture.setFixedHeight(theme.HIT)
        row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(4)
        for text, role in ((notice.text, ""), (notice.details, "soft")):
            if text:
                label = QLabel(text, self)
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
        close = tool_button("close", "toast_close", "Dismiss", self)
        close.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        close.clicked.connect(self._dismiss)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)

    def _act(self) -> None:
        action = self.notice.action
        self._dismiss()
        if action is not None:
            action[1]()

    def _dismiss(self) -> None:
        self._stack.dismiss(self, seen=True)

    def _leave(self) -> None:
        self._stack.dismiss(self, seen=False)


class ToastStack(QWidget):
    """The corner of the window where toasts stand, newest at the bottom.

    Args:
        notices: what there is to say.
        window: whose lower right corner it keeps to.
        bottom: height left free below, for a status bar.
    """

    def __init__(self, notices: Notices, window: QWidget, bottom: int = 0) -> None:
        super().__init__(window)
        self.setObjectName("toasts")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._notices = notices
        self._bottom = bottom
        self._toasts: list[Toast] = []
        self._waiting: list[Notice] = []
        window.installEventFilter(self)
        binding.connect(self, notices.added, self.add)
        binding.connect(self, notices.changed, self._forget_seen)
        binding.connect(self, theme.changed, self._recolour)
        self.hide()

    @property
    def toasts(self) -> tuple[Toast, ...]:
        """What is shown, oldest first."""
        return tuple(self._toasts)

    def add(self, notice: Notice) -> None:
        """Show a notice; the oldest that is no error makes room, errors wait for their turn."""
        if len(self._toasts) >= MOST:
            passing = next((t for t in self._toasts if t.notice.severity != "error"), None)
            if passing is None:
                if notice.severity == "error":
                    self._waiting.append(notice)
                return
            self._remove(passing)
        self._toasts.append(Toast(notice, self))
        self._place()

    def dismiss(self, toast: Toast, *, seen: bool) -> None:
        """Take a toast away; one that only ran out is still unseen under the bell."""
        self._remove(toast)
        if self._waiting:
            self.add(self._waiting.pop(0))
        self._place()
        if seen:
            self._notices.see(toast.notice)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self.parent():
            self._place()
        return False

    def _remove(self, toast: Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
            toast.hide()
            toast.deleteLater()

    def _forget_seen(self) -> None:
        self._waiting = [notice for notice in self._waiting if not notice.seen]
        seen = [toast for toast in self._toasts if toast.notice.seen]
        for toast in seen:
            self._remove(toast)
        if seen:
            self._place()

    def _recolour(self) -> None:
        for toast in self._toasts:
            toast.update()

    def _place(self) -> None:
        window = self.parentWidget()
        if not self._toasts or window is None:
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
