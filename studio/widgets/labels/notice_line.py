"""The latest notice, in a place of its own beside the path, where it covers nothing."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QCursor, QHoverEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.signal import Signal
from studio.session.notices.notices import Notice, Notices
from studio.widgets import binding, icons, theme
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

SECONDS = 6.0
"""How long a notice stays; errors stay until they are seen or settled."""

READ_SECONDS = 1.0
"""Seconds of pointing at an error after which it counts as read."""

HEIGHT = 36
"""Two lines of text, and the air of a row of tools around them."""

LEAST = 320
"""Pixels that a notice needs at least."""

_MOST = 900
ICONS = {"info": "info", "ok": "ok", "warning": "warning", "error": "error"}
ROLES = {"info": "accent", "ok": "ok", "warning": "warning", "error": "error"}


class NoticeLine(QWidget):
    """Shows the newest notice, and after it the errors not seen yet.

    A notice goes by itself after some seconds. An error goes when it was read, which is to point
    at it for a moment, when it is closed, when its button is pressed, when the list under the bell
    is opened, or when what it is about is over. A press anywhere else on it asks for that list.

    Args:
        notices: what there is to say.
        parent: the row it stands in.
    """

    def __init__(self, notices: Notices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice_line")
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.shown_or_hidden: Signal[[]] = Signal()
        self.list_wanted: Signal[[]] = Signal()
        self._notices = notices
        self._notice: Notice | None = None
        self._rested_at = QCursor.pos()
        self._pointed_since: float | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._pass)
        self._build()
        self.hide()
        binding.connect(self, notices.added, self._added)
        binding.connect(self, notices.changed, self._changed)
        binding.connect(self, theme.changed, self._recolour)

    @property
    def notice(self) -> Notice | None:
        return self._notice

    # -- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        self._sign = QLabel(self)
        self._text = ElidedLabel(self)
        self._text.setObjectName("notice_text")
        self._times = QLabel(self)
        self._times.setObjectName("notice_times")
        self._times.setProperty("role", "soft")
        self._details = ElidedLabel(self)
        self._details.setObjectName("notice_details")
        self._details.setProperty("role", "soft")
        self._details.setFont(theme.font("small"))
        self._act_button = QPushButton(self)
        self._act_button.setObjectName("notice_action")
        self._act_button.clicked.connect(self._act)
        self._more = QToolButton(self)
        self._more.setObjectName("notice_more")
        self._more.setAutoRaise(True)
        self._more.setMinimumHeight(theme.HIT)
        self._more.clicked.connect(self._want_list)
        self._close = tool_button("close", "notice_close", "Dismiss", self)
        self._close.clicked.connect(self._dismiss)
        lines = QVBoxLayout()
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addStretch(1)
        first = QHBoxLayout()
        first.setContentsMargins(0, 0, 0, 0)
        first.setSpacing(6)
        first.addWidget(self._text)
        # Beside the sentence, so that a long one does not cut it off.
        first.addWidget(self._times)
        first.addStretch(1)
        lines.addLayout(first)
        lines.addWidget(self._details)
        lines.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 1, 4, 1)
        row.setSpacing(8)
        row.addWidget(self._sign)
        row.addLayout(lines, 1)
        for button in (self._act_button, self._more, self._close):
            # A notice never takes the keyboard: its list under the bell is reached by keys.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)

    def sizeHint(self) -> QSize:
        wide = super().sizeHint().width()
        return QSize(min(max(wide, LEAST), _MOST), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST, HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._notice is None:
            return
        role = ROLES[self._notice.severity]
        frame = QRectF(self.rect()).adjusted(0.5, 1.5, -0.5, -1.5)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.mixed(role, "dock", 0.5), 1))
        painter.setBrush(theme.mixed(role, "dock", 0.12))
        painter.drawRoundedRect(frame, 4, 4)
        painter.end()

    # -- what is shown --------------------------------------------------------------------------

    def _added(self, notice: Notice) -> None:
        """The newest is always shown."""
        self._show(notice)

    def _changed(self) -> None:
        if self._notice is not None and self._notice.seen:
            self._next()
        elif self._notice is not None:
            self._fill(self._notice)

    def _next(self) -> None:
        """Show the newest error that waits, if there is one."""
        waiting = self._waiting()
        if waiting:
            self._show(waiting[-1])
        else:
            self._timer.stop()
            self._notice = None
            self.hide()
            self.shown_or_hidden.emit()

    def _waiting(self) -> list[Notice]:
        """Errors not seen yet, other than the notice shown; the oldest first."""
        return [
            notice
            for notice in self._notices.all
            if notice.severity == "error" and not notice.seen and notice is not self._notice
        ]

    def _show(self, notice: Notice) -> None:
        self._notice = notice
        self._rested_at = QCursor.pos()
        self._pointed_since = None
        self._fill(notice)
        if notice.severity == "error":
            self._timer.stop()
        else:
            self._timer.start(round(SECONDS * 1000))
        self.show()
        self.shown_or_hidden.emit()

    def _fill(self, notice: Notice) -> None:
        often = f"({notice.times} times)" if notice.times > 1 else ""
        self._text.set_text(notice.text)
        self._times.setText(often)
        self._times.setVisible(bool(often))
        details = " · ".join(" ".join(line.split()) for line in notice.details.splitlines())
        self._details.set_text(details)
        self._details.setToolTip(notice.details)
        self._details.setVisible(bool(details))
        self._act_button.setVisible(notice.action is not None)
        if notice.action is not None:
            self._act_button.setText(notice.action[0].replace("&", "&&"))
        waiting = len(self._waiting())
        self._more.setVisible(bool(waiting))
        self._more.setText(f"+{waiting}")
        errors = "1 more error" if waiting == 1 else f"{waiting} more errors"
        self._more.setToolTip(f"{errors}: show the list")
        self._more.setAccessibleName(errors)
        self.setAccessibleName(
            ". ".join(part for part in (f"{notice.text} {often}".strip(), details) if part)
        )
        self._recolour()
        self.updateGeometry()

    def _recolour(self) -> None:
        if self._notice is not None:
            severity = self._notice.severity
            picture = icons.icon(ICONS[severity], ROLES[severity])
            self._sign.setPixmap(picture.pixmap(QSize(16, 16)))
            self.update()

    # -- what the user does ---------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHoverEvent) and self._notice is not None:
            self._hover(event, self._notice)
        return super().event(event)

    def _hover(self, event: QHoverEvent, notice: Notice) -> None:
        """Keep the notice while the pointer moves over it; a resting pointer does not keep it."""
        if event.type() == QEvent.Type.HoverLeave:
            since, self._pointed_since = self._pointed_since, None
            if notice.severity != "error":
                self._timer.start(round(SECONDS * 1000))
            elif since is not None and time.monotonic() - since >= READ_SECONDS:
                self._notices.see(notice)
            return
        # Qt also reports a move when the widget appears under a resting pointer.
        moved = event.globalPosition().toPoint() != self._rested_at
        if moved and event.type() == QEvent.Type.HoverMove:
            self._timer.stop()
            if self._pointed_since is None:
                self._pointed_since = time.monotonic()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        inside = self.rect().contains(event.position().toPoint())
        if event.button() is Qt.MouseButton.LeftButton and inside:
            self._want_list()

    def _want_list(self) -> None:
        self.list_wanted.emit()

    def _act(self) -> None:
        notice = self._notice
        if notice is None:
            return
        action = notice.action
        self._notices.see(notice)
        if action is not None:
            action[1]()

    def _dismiss(self) -> None:
        if self._notice is not None:
            self._notices.see(self._notice)

    def _pass(self) -> None:
        """Its time is over; the bell still counts it, since it may not have been seen."""
        self._next()
