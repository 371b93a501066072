"""The listing under pointer and keyboard: what is chosen, lit, and brought into sight."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QPoint, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.line_table import MILLISECONDS, ROW, LineTable
from studio.instruction_view.listing.links import ListingLinks
from studio.session.listing.columns import cell_text
from studio.session.listing.listing import Listing
from studio.widgets import binding, theme

_MOST_PLACES = 200
"""Places Back remembers."""


class ListingView(LineTable):
    """Shows a listing.

    Args:
        listing: what is shown.
        links: what is lit and marked, and where choices go.
        parent: owner in Qt.
    """

    tip_wanted = QtSignal(QPoint, object)
    """The pointer rests: its place on the screen, and the spot it is at."""

    producer_wanted = QtSignal(object)
    """Ctrl was held over a register: its storage."""

    line_opened = QtSignal(object)
    """A line was double-clicked."""

    def __init__(
        self, listing: Listing, links: ListingLinks, parent: QWidget | None = None
    ) -> None:
        super().__init__(listing, links, parent)
        self._history: list[tuple[int, str]] = []
        self._ahead: list[tuple[int, str]] = []
        self._settling = False
        self._lit: dict[int, tuple[object, ...]] = {}
        self._times: dict[str, str] = {}
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        binding.connect(self, listing.arranged, self._arranged)
        binding.connect(self, listing.recoloured, self._repaint)
        binding.connect(self, listing.timed, self._timed)
        binding.connect(self, listing.caret_moved, self._caret_moved)
        binding.connect(self, links.lit, self._relit)
        binding.connect(self, links.marked, self._marked)
        binding.connect(self, links.wanted, self._show_row)
        binding.connect(self, theme.changed, self.restyle)
        self._arranged()

    # -- places ---------------------------------------------------------------------------------

    def show_place(self, place: int) -> None:
        """Bring a line into the middle third unless it is in sight; Back returns."""
        if place >= 0 and not self.is_row_visible(place):
            self.remember()
            self._scroll_to(place)

    def _scroll_to(self, place: int) -> None:
        """Bring a line into the middle third unless it is in sight."""
        if not self.is_row_visible(place):
            height = self.viewport().height()
            top = place * ROW - self.verticalScrollBar().value()
            aim = height // 3 if top < 0 else 2 * height // 3 - ROW
            self.verticalScrollBar().setValue(place * ROW - aim)

    def remember(self) -> None:
        """Keep the place for Back, before leaving it; there is nothing ahead any more."""
        self._ahead.clear()
        now = self._here()
        if not self._history or self._history[-1] != now:
            self._history.append(now)
            del self._history[:-_MOST_PLACES]

    def _here(self) -> tuple[int, str]:
        caret = self._listing.caret_line
        return (self.verticalScrollBar().value(), "" if caret is None else caret.key)

    def can_go_back(self) -> bool:
        """Whether there is a place to return to."""
        return bool(self._history)

    def can_go_forward(self) -> bool:
        """Whether Back has left a place."""
        return bool(self._ahead)

    def go_back(self) -> None:
        """Return to the place that was left last; what is selected stays so."""
        if self._history:
            self._ahead.append(self._here())
            self._stand_at(*self._history.pop())

    def go_forward(self) -> None:
        """Go again to the place that Back has left."""
        if self._ahead:
            self._history.append(self._here())
            self._stand_at(*self._ahead.pop())

    def _stand_at(self, value: int, key: str) -> None:
        place = self._listing.arrangement.by_key.get(key, -1)
        if place >= 0:
            self._listing.set_caret(place)
        self.verticalScrollBar().setValue(value)

    # -- choosing -------------------------------------------------------------------------------

    def go_to_row(self, row: int, operand: int = -1) -> None:
        """Move the caret to an instruction and select it; Back returns."""
        self.remember()
        place = self._listing.open_to(row)
        if place >= 0:
            self._listing.set_caret(place, operand)
            # One jump is one step back: where it began is remembered already.
            self._scroll_to(place)
            self.choose_caret()

    def choose_caret(self) -> None:
        """Select the line, or the register, the caret is on."""
        line = self._listing.caret_line
        if line is not None:
            self._settle_selection((self._listing.caret,))
            self._links.choose((line,), line, self._listing.operand)

    def chosen_instructions(self) -> tuple[int, ...]:
        """Instructions of the lines selected, in the order shown; folded groups whole."""
        rows = self._listing.rows
        found: dict[int, None] = {}
        for place in self.chosen_rows() or (
            [self._listing.caret] if self._listing.caret >= 0 else []
        ):
            line = self._shown[place]
            if rows is None:
                continue
            if line.kind == "heading":
                found.update(dict.fromkeys(line.members))
            elif line.row >= 0:
                last = rows.group(line.row).last if self._listing.is_folded(line) else line.row
                found.update(dict.fromkeys(range(line.row, last + 1)))
        return tuple(found)

    def _selection_changed(self, _now: QItemSelection, _before: QItemSelection) -> None:
        if not self._settling:
            self._choose(-1)

    def _choose(self, operand: int) -> None:
        """Tell what the Qt selection holds."""
        place = self.currentIndex().row()
        if not 0 <= place < len(self._shown):
            return
        self._listing.set_caret(place, operand)
        lines = [self._shown[each] for each in self.chosen_rows()] or [self._shown[place]]
        self._links.choose(lines, self._shown[place], operand)

    def _settle_selection(self, places: tuple[int, ...]) -> None:
        """Bring the Qt selection in line without telling anybody."""
        self._settling = True
        self.choose(places)
        if places:
            self._set_current(places[0])
        self._settling = False
        self.viewport().update()

    def _set_current(self, place: int) -> None:
        index = self.entries.at(place)
        if index != self.currentIndex():
            self.setAutoScroll(False)
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.setAutoScroll(True)

    # -- hearing the models ---------------------------------------------------------------------

    def _arranged(self) -> None:
        self._settling = True
        self._times = {}
        self.take_lines()
        if self._listing.caret >= 0:
            self._set_current(self._listing.caret)
        self._settling = False

    def _relit(self) -> None:
        """Paint the lines whose light has changed; a hover touches no others."""
        before, self._lit = self._lit, self._light_in_sight()
        value, width = self.verticalScrollBar().value(), self.viewport().width()
        for place in before.keys() | self._lit.keys():
            if before.get(place) != self._lit.get(place):
                self.viewport().update(0, place * ROW - value, width, ROW)

    def _light_in_sight(self) -> dict[int, tuple[object, ...]]:
        """How the lit lines in sight are painted."""
        light = self._links.light
        found: dict[int, tuple[object, ...]] = {}
        for place in self._places_in_sight():
            line = self._shown[place]
            spans = light.span_styles(line.row, self._listing.spans(line))
            style = None if line.kind == "heading" else light.rows.get(line.row)
            if style is not None or any(spans):
                found[place] = (style, spans)
        return found

    def _repaint(self) -> None:
        self.relabel()
        self.mark_scroll_bar()
        self.viewport().update()

    def _timed(self) -> None:
        """Paint the times that read otherwise now, where they are seen at all."""
        self.fit_times()
        before, self._times = self._times, self._times_in_sight()
        left, width = self.columnViewportPosition(MILLISECONDS), self.columnWidth(MILLISECONDS)
        for place in self._places_in_sight():
            key = self._shown[place].key
            if key in self._times and before.get(key) != self._times[key]:
                top = place * ROW - self.verticalScrollBar().value()
                self.viewport().update(left, top, width, ROW)

    def _times_in_sight(self) -> dict[str, str]:
        """What stands in the column of times, line by line; nothing while it is out of sight."""
        left, width = self.columnViewportPosition(MILLISECONDS), self.columnWidth(MILLISECONDS)
        if not width or left >= self.viewport().width() or left + width <= 0:
            return {}
        lines = (self._shown[place] for place in self._places_in_sight())
        return {line.key: cell_text(self._listing, line, "ms") for line in lines}

    def _places_in_sight(self) -> range:
        value = self.verticalScrollBar().value()
        last = (value + self.viewport().height()) // ROW
        return range(value // ROW, min(last + 1, len(self._shown)))

    def _caret_moved(self) -> None:
        if self._listing.caret >= 0:
            self._set_current(self._listing.caret)
        self.viewport().update()

    def _marked(self, may_scroll: bool) -> None:
        row = self._links.primary_row
        if may_scroll:
            self._settle_selection(())
            place = self._listing.arrangement.place_of(row)
            if place >= 0:
                self.show_place(place)
                self._listing.set_caret(place)
        self._repaint()

    def _show_row(self, row: int) -> None:
        place = self._listing.open_to(row)
        if place >= 0:
            self.show_place(place)
            self._listing.set_caret(place)

    # -- pointer --------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        spot = self.spot_at(event.position().toPoint())
        line = self._shown[spot.place] if spot.place >= 0 else None
        self._links.hover(line, spot.operand)
        shape = Qt.CursorShape.PointingHandCursor
        is_link = spot.operand >= 0 or spot.is_fold
        self.viewport().setCursor(shape if is_link else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold, select a line or a register, go to a register's producer, back or forward."""
        if event.button() is Qt.MouseButton.BackButton:
            self.go_back()
            return
        if event.button() is Qt.MouseButton.ForwardButton:
            self.go_forward()
            return
        spot = self.spot_at(event.position().toPoint())
        if event.button() is not Qt.MouseButton.LeftButton or spot.place < 0:
            super().mousePressEvent(event)
            return
        line = self._shown[spot.place]
        if spot.is_fold:
            self._listing.fold((line.key,), not self._listing.is_folded(line))
            return
        held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ref: Ref | None = self._links.register_at(line, spot.operand)
        if held and ref is not None:
            self.producer_wanted.emit(ref)
            return
        if line.kind == "reference":
            self.go_to_row(line.row)
            return
        self._settling = True
        super().mousePressEvent(event)
        self._settling = False
        self._choose(spot.operand)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position().toPoint())
        if spot.place >= 0 and not spot.is_fold:
            self.line_opened.emit(self._shown[spot.place])

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._links.hover(None)

    def viewportEvent(self, event: QEvent) -> bool:
        """Ask for a card where the pointer rests."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self.tip_wanted.emit(event.globalPos(), self.spot_at(event.pos()))
            return True
        return super().viewportEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
