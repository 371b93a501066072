"""Paints the memory picture: boxes of lifetimes, the sum of what is alive, the peak, the axes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from typing import NamedTuple

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen

from studio.instruction_view.inks import Inks
from studio.instruction_view.tensor_map.links import TensorLinks
from studio.instruction_view.tensor_map.picture_axes import Axes
from studio.instruction_view.tensor_map.role_legend import role_colour
from studio.session.core.quantities import bytes_text
from studio.session.listing.rows import ProgramRows
from studio.session.listing.tensor_map.memory_picture import Box, MemoryPicture
from studio.session.listing.tensor_map.rows import TensorRole
from studio.widgets import theme

LEAST_BOX = 3.0
"""Boxes narrower than this many pixels are not drawn: the sum curve stands for them."""

GAP, LEFT, RIGHT, TOP = 8, 66, 10, 18
_CURVE, _SECTIONS, _NOTE = 44, 18, 16
_LOW = 160
_LOWEST = 110
_TICK_PIXELS = 22


class Margins(NamedTuple):
    """What stands above and below the arena, in pixels.

    Attributes:
        curve: height of the sum; 0 where there is no room for it.
        bottom: height of what is written below.
    """

    curve: int
    bottom: int

    @classmethod
    def of(cls, height: float) -> Margins:
        """In a low picture the arena has the room of the remark, then of the sum."""
        bottom = _SECTIONS + (_NOTE if height >= _LOW else 0)
        return cls(_CURVE if height >= _LOWEST else 0, bottom)

    @property
    def top(self) -> int:
        """Where the arena begins."""
        return TOP + (self.curve + GAP if self.curve else 0)


class PicturePainter:
    """Paints one picture.

    Args:
        picture: what is drawn.
        rows: the program, for names.
        links: what is lit and marked.
        name_of: what a person calls a tensor, empty for nothing.
    """

    def __init__(
        self,
        picture: MemoryPicture,
        rows: ProgramRows,
        links: TensorLinks,
        name_of: Callable[[str], str],
    ) -> None:
        self._name_of = name_of
        self._picture = picture
        self._rows = rows
        self._links = links
        self.inks = Inks()
        self._metrics = QFontMetricsF(self.inks.small)

    def paint_ground(
        self, painter: QPainter, size: QRectF, axes: Axes, roles: Collection[TensorRole]
    ) -> None:
        """Paint what stays while the pointer moves: boxes, sum, peak and axes.

        Args:
            painter: on a picture as large as the widget.
            size: of the widget.
            axes: zoom and pan; their area is that of the arena.
            roles: roles to show; others are drawn faint. Empty for all.
        """
        painter.fillRect(size, self.inks.ground)
        painter.fillRect(axes.area, theme.colour("canvas"))
        margins = Margins.of(size.height())
        curve = self._curve(axes, margins)
        self._paint_axes(painter, axes, curve, margins)
        painter.save()
        painter.setClipRect(axes.area.adjusted(-1, -1, 1, 1))
        self._paint_boxes(painter, axes, roles)
        painter.restore()
        if margins.curve:
            painter.save()
            painter.setClipRect(curve.adjusted(0, -1, 1, 1))
            self._paint_curve(painter, axes, curve)
            painter.restore()
        self._paint_peak(painter, axes, curve)

    def paint_marks(self, painter: QPainter, size: QRectF, axes: Axes, caret: Box | None) -> None:
        """Paint what is lit, selected, and under the keyboard."""
        curve = self._curve(axes, Margins.of(size.height()))
        painter.save()
        reach = QRectF(curve.topLeft(), axes.area.bottomRight()).adjusted(-1, -1, 1, 1)
        painter.setClipRect(reach)
        self._paint_rows(painter, axes, curve)
        for ref, style in self._links.glow.items():
            box = self._picture.box_of(ref)
            if box is not None and style == "solid":
                painter.fillRect(axes.rect_of(box), role_colour(box.role, 110))
                if not curve.isEmpty():
                    self._paint_share(painter, axes, curve, box)
        special = {*self._links.marks, *self._links.glow}
        boxes = {box for box in map(self._picture.box_of, special) if box is not None}
        for box in boxes if caret is None else boxes | {caret}:
            self._paint_frame(painter, axes.rect_of(box), box, is_caret=box == caret)
        painter.restore()

    def _curve(self, axes: Axes, margins: Margins) -> QRectF:
        """Where the sum is drawn, above the arena."""
        return QRectF(axes.area.left(), TOP, axes.area.width(), margins.curve)

    # -- boxes ----------------------------------------------------------------------------------

    def _paint_boxes(self, painter: QPainter, axes: Axes, roles: Collection[TensorRole]) -> None:
        wide = [b for b in self._picture.boxes if _in_sight(b, axes)]
        if not wide:
            painter.setPen(self.inks.text3)
            painter.setFont(self.inks.small)
            text = "Zoom in to see the tensors one by one"
            painter.drawText(axes.area, Qt.AlignmentFlag.AlignCenter, text)
            return
        painter.setFont(self.inks.small)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for role in dict.fromkeys(box.role for box in wide):
            is_shown = not roles or role in roles
            fill = role_colour(role, 110 if is_shown else 22)
            edge = QPen(role_colour(role), 1)
            for box in (each for each in wide if each.role == role):
                rect = axes.rect_of(box)
                # Neighbours stay apart where there is room for a gap.
                inner = rect.adjusted(0.5, 0.5, -0.5, -0.5) if rect.height() > 3 else rect
                painter.fillRect(inner, fill)
                if is_shown and rect.height() >= 2:
                    painter.setPen(edge)
                    painter.drawRect(inner)
                if is_shown and rect.height() >= self._metrics.height() + 2:
                    self._paint_label(painter, rect, box)

    def _paint_label(self, painter: QPainter, rect: QRectF, box: Box) -> None:
        room = rect.width() - 8
        alias = self._name_of(box.key)
        for text in (f"{box.ref}  {alias or box.key}", alias or str(box.ref)):
            if self._metrics.horizontalAdvance(text) <= room:
                painter.setPen(self.inks.text)
                area = rect.adjusted(4, 0, -4, 0)
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)
                return

    def _paint_frame(self, painter: QPainter, rect: QRectF, box: Box, *, is_caret: bool) -> None:
        """Mark what is selected, lit by a gradient, or under the keyboard."""
        links = self._links
        if box.ref == links.primary:
            painter.setPen(QPen(self.inks.accent, 3))
        elif box.ref in links.marks:
            painter.setPen(QPen(self.inks.accent, 1.5))
        elif links.glow.get(box.ref) == "dashed":
            pen = self.inks.dashed()
            pen.setColor(self.inks.text)
            pen.setWidthF(2)
            painter.setPen(pen)
        elif is_caret or box.ref in links.glow:
            painter.setPen(QPen(self.inks.text, 1.5))
        else:
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(rect.adjusted(1, 1, -1, -1))

    # -- the sum --------------------------------------------------------------------------------

    def _paint_curve(self, painter: QPainter, axes: Axes, curve: QRectF) -> None:
        most = max(self._picture.peak_bytes, 1)
        first = max(int(axes.left), 0)
        last = min(int(axes.left + axes.shown_rows) + 1, self._picture.length)
        path = QPainterPath(QPointF(axes.x_of(first), curve.bottom()))
        # Of rows narrower than a pixel the highest in each pixel is drawn, so that no peak is lost.
        step = max(1, int(1 / max(axes.row_width, 1e-9)))
        for row in range(first, last, step):
            level = max(self._picture.live_bytes[row : row + step])
            y = curve.bottom() - level / most * curve.height()
            path.lineTo(axes.x_of(row), y)
            path.lineTo(axes.x_of(min(row + step, last)), y)
        path.lineTo(axes.x_of(last), curve.bottom())
        painter.setPen(QPen(self.inks.text2, 1))
        painter.setBrush(theme.colour("text3", 50))
        painter.drawPath(path)

    def _paint_share(self, painter: QPainter, axes: Axes, curve: QRectF, box: Box) -> None:
        """What a box is of the sum, at the top of the curve over its lifetime."""
        most = max(self._picture.peak_bytes, 1)
        height = max(box.nbytes / most * curve.height(), 1.5)
        step = max(1, int(1 / max(axes.row_width, 1e-9)))
        first = max(box.first, int(axes.left))
        last = min(box.last + 1, int(axes.left + axes.shown_rows) + 1)
        colour = role_colour(box.role)
        for row in range(first, last, step):
            level = max(self._picture.live_bytes[row : row + step]) / most * curve.height()
            left, right = axes.x_of(row), axes.x_of(min(row + step, last))
            painter.fillRect(QRectF(left, curve.bottom() - level, right - left, height), colour)

    def _paint_rows(self, painter: QPainter, axes: Axes, curve: QRectF) -> None:
        """The instruction that is selected, and the one that is lit."""
        for row, alpha in ((self._links.row, 56), (self._links.lit_row, 40)):
            if row >= 0:
                width = max(axes.row_width, 1.0)
                height = axes.area.bottom() - curve.top()
                area = QRectF(axes.x_of(row), curve.top(), width, height)
                painter.fillRect(area, theme.colour("accent", alpha))

    def _paint_peak(self, painter: QPainter, axes: Axes, curve: QRectF) -> None:
        if not self._picture.length:
            return
        middle = axes.x_of(self._picture.peak_row + 0.5)
        row = self._picture.peak_row
        text = f"peak {bytes_text(self._picture.peak_bytes)} at #{row} {self._rows.mnemonic(row)}"
        painter.setFont(self.inks.small)
        width = self._metrics.horizontalAdvance(text)
        left = min(max(middle - width / 2, curve.left()), curve.right() - width)
        painter.setPen(self.inks.warning)
        painter.drawText(QPointF(left, curve.top() - 5), text)
        if curve.left() <= middle <= curve.right():
            pen = QPen(self.inks.warning, 1.5, Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.drawLine(QLineF(middle, curve.top(), middle, axes.area.bottom()))

    # -- axes -----------------------------------------------------------------------------------

    def _paint_axes(self, painter: QPainter, axes: Axes, curve: QRectF, margins: Margins) -> None:
        inks = self.inks
        painter.setFont(inks.small)
        for byte in _ticks(axes):
            y = axes.y_of(byte)
            painter.setPen(QPen(inks.hairline, 1))
            painter.drawLine(QLineF(axes.area.left() - 4, y, axes.area.left(), y))
            painter.setPen(inks.text3)
            label = QRectF(0, y - 8, axes.area.left() - 8, 16)
            painter.drawText(label, _RIGHT, bytes_text(byte))
        if margins.curve:
            room = QRectF(0, curve.top(), curve.left() - 8, curve.height())
            painter.drawText(room, _RIGHT, "alive")
        self._paint_sections(painter, axes, curve)
        if margins.bottom <= _SECTIONS:
            return
        note = QRectF(axes.area.left(), axes.area.bottom() + 18, axes.area.width(), 16)
        painter.setPen(inks.text3)
        painter.drawText(note, _CENTRE, "instructions in program order, not time")

    def _paint_sections(self, painter: QPainter, axes: Axes, curve: QRectF) -> None:
        """Names of sections under the rows they cover, and lines between them."""
        indices = range(len(self._rows))
        for section, group in groupby(indices, self._rows.section):
            members = list(group)
            left = max(axes.x_of(members[0]), axes.area.left())
            right = min(axes.x_of(members[-1] + 1), axes.area.right())
            if right <= left:
                continue
            painter.setPen(QPen(self.inks.hairline, 1))
            if members[0] > 0 and left > axes.area.left():
                painter.drawLine(QLineF(left, curve.top(), left, axes.area.bottom() + 4))
            painter.setPen(self.inks.text2)
            area = QRectF(left, axes.area.bottom() + 3, right - left, 16)
            for text in (f"{section} #{members[0]}", section):
                if self._metrics.horizontalAdvance(text) <= area.width() - 4:
                    painter.drawText(area, _CENTRE, text)
                    break


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter


def _ticks(axes: Axes) -> list[int]:
    """Round numbers of bytes along the arena, far enough apart to be read."""
    step = 1
    while step * axes.byte_height < _TICK_PIXELS and step < max(axes.nbytes, 1):
        step *= 2
    first = -(-int(axes.bottom) // step) * step
    return list(range(first, int(axes.bottom + axes.shown_bytes) + 1, step))


def _in_sight(box: Box, axes: Axes) -> bool:
    """Whether a box is wide enough to be drawn, and not outside."""
    if (box.last + 1 - box.first) * axes.row_width < LEAST_BOX:
        return False
    return box.last + 1 > axes.left and box.first < axes.left + axes.shown_rows
