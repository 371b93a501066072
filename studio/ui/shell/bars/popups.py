"""The popups above the status bar: running tasks and notices."""

from __future__ import annotations

import re
import time

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.session.core.tasks import TaskHandle
from studio.session.notices.notices import Notice
from studio.session.studio import Studio
from studio.widgets import binding, icons, theme
from studio.widgets.labels.notice_line import ICONS, ROLES

_WIDTH = 400
_HEIGHT = 420
_LONG = re.compile(r"\S{32,}")
_PIECE = 8


class Popup(QFrame):
    """A small window over a button of the status bar; it closes when the user looks elsewhere."""

    def __init__(self, title: str, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFrameShape(QFrame.Shape.Box)
        self.setFixedWidth(_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        self._head = QHBoxLayout()
        heading = QLabel(title, self)
        heading.setFont(theme.font("title"))
        self._head.addWidget(heading)
        self._head.addStretch(1)
        column.addLayout(self._head)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.viewport().setAutoFillBackground(False)
        column.addWidget(self._area, 1)

    def show_rows(self, rows: list[QWidget], nothing: str) -> None:
        """Fill the list, or say that there is nothing."""
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if not rows:
            label = QLabel(nothing, body)
            label.setProperty("role", "soft")
            rows = [label]
        for row in rows:
            column.addWidget(row)
        column.addStretch(1)
        self._area.setWidget(body)
        body.setAutoFillBackground(False)
        wanted = body.sizeHint().height() + self._area.frameWidth() * 2
        self._area.setFixedHeight(min(wanted, _HEIGHT))
        self._settle()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            # Content may change its height after it was added.
            self._settle()
        return done

    def _settle(self) -> None:
        """As high as it needs to be, its lower edge where it is."""
        bottom = self.geometry().bottom()
        self._take_size()
        if self.isVisible():
            self.move(self.x(), bottom - self.height() + 1)

    def _take_size(self) -> None:
        # Qt would adjust a window that can grow to no less than a hundred pixels.
        self.resize(self.sizeHint())

    def open_above(self, button: QWidget) -> None:
        """Show it above a button, inside the window of that."""
        window = button.window()
        self._take_size()
        corner = button.mapTo(window, QPoint(button.width(), 0))
        left = min(max(8, corner.x() - self.width()), window.width() - self.width() - 8)
        self.move(window.mapToGlobal(QPoint(left, corner.y() - self.height() - 4)))
        self.show()


class TasksPopup(Popup):
    """Everything that runs in the background, each with a button to stop it."""

    def __init__(self, studio: Studio, window: QWidget) -> None:
        super().__init__("Running tasks", window)
        self.setObjectName("tasks_popup")
        self._studio = studio
        binding.refresh(self, self.refresh, studio.tasks.changed, rate=10)
        self.refresh()

    def refresh(self) -> None:
        """Show what runs now."""
        rows = [self._row(task) for task in self._studio.tasks.shown]
        self.show_rows(rows, "No background tasks.")

    def _row(self, task: TaskHandle) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 8, 0)
        column = QVBoxLayout()
        column.setSpacing(4)
        column.addWidget(QLabel(task.title, row))
        bar = QProgressBar(row)
        bar.setTextVisible(False)
        bar.setAccessibleName(task.title)
        bar.setRange(0, 0 if task.share is None else 1000)
        if task.share is not None:
            bar.setValue(round(task.share * 1000))
        column.addWidget(bar)
        if task.text:
            text = QLabel(task.text, row)
            text.setProperty("role", "faint")
            column.addWidget(text)
        line.addLayout(column, 1)
        stop = QPushButton("Cancel", row)
        stop.setAccessibleName(f"Cancel {task.title}")
        stop.setEnabled(not task.cancelled)
        stop.clicked.connect(task.cancel)
        line.addWidget(stop, 0, Qt.AlignmentFlag.AlignTop)
        return row


class NoticesPopup(Popup):
    """What the studio said in this session, the last first; opening it means having seen it."""

    def __init__(self, studio: Studio, window: QWidget) -> None:
        super().__init__("Notices", window)
        self.setObjectName("notices_popup")
        self._studio = studio
        log = QToolButton(self)
        log.setText("Log")
        log.setToolTip("Show the whole log")
        log.clicked.connect(self._show_log)
        self._head.addWidget(log)
        # Notices that come while it is open count as seen; actions that no longer apply go.
        binding.connect(self, studio.notices.changed, self._refresh)
        self._shown: list[tuple[Notice, int, bool]] = []
        self._is_over = False
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # It is deleted later in the event loop; notices until then count as unseen.
        self._is_over = True

    def _refresh(self) -> None:
        notices = self._studio.notices
        now = [(each, each.times, each.action is not None) for each in reversed(notices.all)]
        if self._is_over or (now and now == self._shown):
            return
        self._shown = now
        self.show_rows([self._row(each) for each, *_ in now], "No notices yet.")
        if notices.unseen:
            notices.see()

    def _row(self, notice: Notice) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 8, 0)
        line.setSpacing(8)
        picture = QLabel(row)
        icon = icons.icon(ICONS[notice.severity], ROLES[notice.severity])
        picture.setPixmap(icon.pixmap(QSize(16, 16)))
        line.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(2)
        for text, role in ((notice.text, ""), (notice.details, "soft")):
            if text:
                label = QLabel(_breakable(text), row)
                label.setAccessibleName(text)
                label.setTextFormat(Qt.TextFormat.PlainText)
                label.setWordWrap(True)
                label.setProperty("role", role)
                column.addWidget(label)
        often = f", {notice.times} times" if notice.times > 1 else ""
        when = QLabel(time.strftime("%H:%M:%S", time.localtime(notice.when)) + often, row)
        when.setProperty("role", "faint")
        column.addWidget(when)
        line.addLayout(column, 1)
        if notice.action is not None:
            word, act = notice.action
            button = QPushButton(word, row)
            button.clicked.connect(self.close)
            button.clicked.connect(lambda: act())
            line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _show_log(self) -> None:
        self.close()
        self._studio.log.point_at("")


def _breakable(text: str) -> str:
    """Words longer than a line may be broken: a label would cut them off at its edge."""

    def broken(word: re.Match[str]) -> str:
        whole = word.group()
        return "\u200b".join(whole[at : at + _PIECE] for at in range(0, len(whole), _PIECE))

    return _LONG.sub(broken, text)
