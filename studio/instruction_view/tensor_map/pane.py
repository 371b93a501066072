"""The tensor map: the arena as a picture, and every tensor in a table, linked both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import (
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QSplitter, QToolTip, QVBoxLayout, QWidget

from studio.engine.core.tensor import Ref
from studio.engine.runtime.live_statistics import Statistics
from studio.instruction_view.tensor_map.links import TensorLinks
from studio.instruction_view.tensor_map.memory_view import MemoryView
from studio.instruction_view.tensor_map.role_legend import RoleLegend
from studio.instruction_view.tensor_map.tensor_table import TensorTable
from studio.instruction_view.tips import register_tip
from studio.session.listing.tensor_map.columns import Extremes
from studio.session.listing.tensor_map.rows import TensorRole, TensorRow
from studio.session.live.channel import TensorSurvey
from studio.session.live.scheduler import Repeated
from studio.session.live.tensors import LiveView
from studio.widgets import binding
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame

if TYPE_CHECKING:
    from studio.session.studio import Studio

_WIDE = 1.3
"""Picture and table may stand side by side in a pane this much wider than high."""

_PICTURE_WIDTH, _PICTURE_HEIGHT = 600, 180
"""The picture is not made smaller than that for the table, where the pane has the room."""

_TABLE_WIDTH, _TABLE_HEIGHT = 150, 72
"""What is left of the table then: names, and a few rows."""

_PICTURE_SHARE = 56
"""Per cent of the pane, until the user chooses."""
_LOOK_SECONDS = 0.5


class TensorMapPane(PaneFrame):
    """Shows where the tensors of the program lie, and for how long.

    Args:
        studio: the models.
        parent: owner in Qt.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("tensor_map")
        self.setProperty("richTips", True)
        self._compilation = studio.compilation
        self._annotations = studio.annotations
        self._by_ref: dict[Ref, TensorRow] = {}
        self._has_chosen_sizes = False
        self.links = TensorLinks(studio.bus, lambda: self._compilation.provenance)
        self.legend = RoleLegend(self)
        self.picture = MemoryView(self.links, self)
        self.table = TensorTable(self.links, self)
        self._build()
        binding.connect(self, studio.compilation.changed, self._take_program)
        binding.connect(self, studio.document_replaced, self._forget_seen)
        binding.connect(self, studio.compilation.stale_changed, self._show_note)
        binding.connect(self, studio.annotations.changed, self._take_names)
        binding.connect(self, self.links.marked, self._marked)
        binding.connect(self, self.links.wanted, self._show_register)
        self.pin_changed.connect(self.links.set_pinned)
        self.legend.chosen.connect(self._choose_roles)
        self.picture.tip_wanted.connect(self._show_tip)
        self.table.tip_wanted.connect(self._show_tip)
        self.table.take_seen({})
        self._live = studio.live
        self._survey = TensorSurvey(studio.live.scheduler)
        self._look = Repeated(studio.live.scheduler, _LOOK_SECONDS)
        binding.connect(self, self._look.due, self.take_seen)
        self._take_names()
        self._take_program()

    def _build(self) -> None:
        self._split = QSplitter(Qt.Orientation.Vertical, self)
        self._split.setObjectName("tensor_map.split")
        self._split.addWidget(self.picture)
        self._split.addWidget(self.table)
        self._split.setChildrenCollapsible(False)
        self._split.splitterMoved.connect(self._sizes_chosen)
        self._split.setStretchFactor(0, 3)
        self._split.setStretchFactor(1, 2)
        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.legend)
        column.addWidget(self._split, 1)
        body.setFocusProxy(self.picture)
        self.set_body(body)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand side by side where the pane is wide."""
        super().resizeEvent(event)
        width, height = self.width(), self.height() - self.legend.height()
        is_wide = width > _WIDE * height and (
            width >= _PICTURE_WIDTH + _TABLE_WIDTH or height < _PICTURE_HEIGHT + _TABLE_HEIGHT
        )
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._split.orientation() is not wanted:
            self._split.setOrientation(wanted)
            self._has_chosen_sizes = False
        if not self._has_chosen_sizes:
            # Of the room there is: from less than they need at least, parts come out otherwise.
            room = (width if is_wide else height) - self._split.handleWidth()
            picture = room * _PICTURE_SHARE // 100
            enough = _PICTURE_WIDTH if is_wide else _PICTURE_HEIGHT
            rest = _TABLE_WIDTH if is_wide else _TABLE_HEIGHT
            picture = max(picture, min(enough, room - rest))
            self._split.setSizes([picture, room - picture])

    def _sizes_chosen(self) -> None:
        self._has_chosen_sizes = True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the rows chosen, from the picture too."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.table.copied())
            return
        super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Sample the tensors in sight, while the pane is visible."""
        super().showEvent(event)
        self.take_seen()
        self._look.set_on(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._look.set_on(False)
        self._survey.want(())

    def take_seen(self) -> None:
        """Take over what was seen of tensors last: by the live views, and looking on purpose."""
        self._survey.want(self.table.keys_wanted())
        seen = {key: _extremes(*look) for key, look in self._survey.seen.items()}
        for view in self._live.views:
            frame = view.frame
            if frame is None or frame.statistics is None or not _is_the_tensor(view):
                continue
            seen[view.entity.key] = _extremes(frame.statistics, frame.snapshot.moment.step)
        self.table.take_seen(seen)

    def _forget_seen(self, _document: object) -> None:
        self._survey.forget()
        self.take_seen()

    # -- hearing the models ---------------------------------------------------------------------

    def _take_program(self) -> None:
        shown = self._compilation.shown
        if shown is None:
            self._by_ref = {}
            self.picture.take(None, None)
            self.table.take(())
            self.links.use_rows(None)
            self.show_empty(EmptyState("tensor-map", "No program yet", _explained()))
            return
        self._by_ref = {row.ref: row for row in shown.tensors}
        self.picture.take(shown.picture, shown.rows)
        self.table.take(shown.tensors)
        self.legend.take(shown.tensors)
        self.show_empty(None)
        self.links.use_rows(shown.rows)
        self._show_note()

    def _take_names(self) -> None:
        self.table.annotate(self._annotations.found)
        self.picture.annotate(self._annotations.found)

    def _marked(self, may_scroll: bool) -> None:
        self.table.mark(may_scroll=may_scroll)
        if may_scroll:
            self.picture.show_register(self.links.primary)
        self.picture.update()
        self._show_note()

    def _show_register(self, ref: Ref) -> None:
        self.picture.show_register(ref)
        index = self.table.row_of(ref)
        if index.isValid():
            self.table.bring_into_sight(index)

    def _show_note(self) -> None:
        stale = "of the previous program" if self._compilation.is_stale else ""
        self.set_note("  ".join(part for part in (self.links.note(), stale) if part))

    def _choose_roles(self, roles: frozenset[TensorRole]) -> None:
        self.picture.show_roles(roles)
        self.table.show_roles(roles)

    def _show_tip(self, at: QPoint, ref: Ref | None) -> None:
        row = None if ref is None else self._by_ref.get(ref)
        if row is None:
            QToolTip.hideText()
            return
        names = {found: each.key for found, each in self._by_ref.items()}
        alias = self._annotations.found.alias_of(row.key)
        QToolTip.showText(at, register_tip(row, names, alias), self)


def _is_the_tensor(view: LiveView) -> bool:
    """Whether a view shows its tensor as it is now.

    An invisible view keeps its old picture; several pictures in a row are more than a tensor.
    """
    wish = view.wish
    return wish.active and wish.held is None and wish.minus is None and not view.past


def _extremes(found: Statistics, step: int) -> Extremes:
    low, high = (found.low, found.high) if found.finite else (None, None)
    return Extremes(low, high, found.nan, step)


def _explained() -> str:
    return "Shows the place and lifetime of every tensor in memory."
