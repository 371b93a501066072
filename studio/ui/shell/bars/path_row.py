"""The row under the toolbar: path of the selection, latest notice, reason for read-only."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolBar, QVBoxLayout, QWidget

from studio.session.notices.notices import Notices
from studio.widgets import binding
from studio.widgets.labels.banner import Banner
from studio.widgets.labels.notice_line import HEIGHT, LEAST, NoticeLine

_AROUND = 4
_SHARE = 0.55
"""How much of the row a notice may have."""


class PathRow(QToolBar):
    """The row; the notice has a fixed place in it, so that it moves and covers nothing.

    Args:
        notices: what there is to say.
        parent: the window.
    """

    def __init__(self, notices: Notices, parent: QWidget) -> None:
        super().__init__("Path", parent)
        self.setObjectName("path_bar_row")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.notice_line = NoticeLine(notices, self)
        self.read_only = Banner("warning", "read_only_text", self, (12, 6))
        self.read_only.setObjectName("read_only_band")
        self._path: QWidget | None = None
        self._alone = False
        self._top = QWidget(self)
        self._top.setFixedHeight(HEIGHT)
        self._row = QHBoxLayout(self._top)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)
        self._row.addStretch(1)
        self._row.addWidget(self.notice_line)
        holder = QWidget(self)
        holder.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        column = QVBoxLayout(holder)
        column.setContentsMargins(_AROUND, 0, _AROUND, 0)
        column.setSpacing(2)
        column.addWidget(self._top)
        column.addWidget(self.read_only)
        self.addWidget(holder)
        self._take_margins()
        binding.connect(self, self.notice_line.shown_or_hidden, self._fit)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._take_margins()

    def _take_margins(self) -> None:
        """Fix the height to that of the path, so that a notice moves nothing."""
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(_AROUND, _AROUND, _AROUND, _AROUND)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The path shrinks for a notice, but stays readable.
        self.notice_line.setMaximumWidth(max(LEAST, round(_SHARE * event.size().width())))

    def set_path_bar(self, path: QWidget) -> None:
        """Put the path at the left."""
        self._path = path
        self._row.insertWidget(0, path)
        path.setVisible(not self._alone)

    def set_read_only(self, why: str) -> None:
        """Show why the project is read-only; an empty text hides the band."""
        self.read_only.say(f"Read-only: {why}." if why else "")
        self._fit()

    def set_focus_mode(self, on: bool) -> None:
        """In focus mode the row is shown only with a notice or the read-only band."""
        self._alone = on
        if self._path is not None:
            self._path.setVisible(not on)
        self._fit()

    def _fit(self) -> None:
        is_told = self.notice_line.notice is not None
        self._top.setVisible(is_told or not self._alone)
        if self._alone:
            self.setVisible(is_told or not self.read_only.isHidden())
