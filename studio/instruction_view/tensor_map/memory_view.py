"""The memory picture as a widget: pointer, wheel and keyboard."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import (
    QEnterEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.core.tensor import Ref
from studio.engine.train.project.annotations import NO_ANNOTATIONS, Annotations
from studio.instruction_view.tensor_map.links import TensorLinks
from studio.instruction_view.tensor_map.picture_axes import Axes
from studio.instruction_view.tensor_map.picture_painter import LEFT, RIGHT, Margins, PicturePainter
from studio.session.listing.rows import ProgramRows
from studio.session.listing.tensor_map.memory_picture import Box, MemoryPicture
from studio.session.listing.tensor_map.rows import TensorRole
from studio.widgets import binding, theme

_NOTCH = 1.1
_KEY_STEP = 1.25
_DRAG = 6


class MemoryView(QWidget):
    """Draws the arena over the course of the program.

    The wheel zooms along the program at the pointer, with Shift along the arena; dragging pans; a
    double click shows everything. The arrows walk from box to box.

    Args:
        links: what is lit and marked, and where choices go.
        parent: owner in Qt.
    """

    tip_wanted = QtSignal(object, object)
    """The pointer rests: its place on the screen, and the register there."""

    def __init__(self, links: TensorLinks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_map.picture")
        self.setAccessibleName("Memory of the program")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(200, 72)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.axes = Axes()
        self._links = links
        self._picture: MemoryPicture | None = None
        self._rows: ProgramRows | None = None
        self._painter: PicturePainter | None = None
        self._roles: frozenset[TensorRole] = frozenset()
        self._annotations = NO_ANNOTATIONS
        self._caret: Ref | None = None
        self._painted: tuple[tuple[object, ...], QPixmap] | None = None
        self._pressed: QPointF | None = None
        self._dragged = False
        binding.connect(self, links.lit, self._relit)
        binding.connect(self, theme.changed, self._restyle)

    # -- what is shown --------------------------------------------------------------------------

    @property
    def picture(self) -> MemoryPicture | None:
        return self._picture

    @property
    def caret(self) -> Box | None:
        """The box of the keyboard."""
        if self._picture is None or self._caret is None:
            return None
        return self._picture.box_of(self._caret)

    def take(self, picture: MemoryPicture | None, rows: ProgramRows | None) -> None:
        """Draw another program; zoom and pan stay where they fit."""
        was_fitted = self.axes.is_fitted or self._picture is None
        self._picture, self._rows = picture, rows
        if picture is not None:
            self.axes.rows, self.axes.nbytes = picture.length, picture.height
        if was_fitted:
            self.axes.fit()
        self.axes.hold()
        self._restyle()

    def show_roles(self, roles: frozenset[TensorRole]) -> None:
        """Draw only some roles strongly; none for all."""
        self._roles = roles
        self.update()

    def annotate(self, annotations: Annotations) -> None:
        """Show the names the user gave tensors."""
        self._annotations = annotations
        self._restyle()

    def fit(self) -> None:
        self.axes.fit()
        self.update()

    def show_register(self, ref: Ref | None) -> None:
        """Bring a register's box into sight."""
        box = None if self._picture is None or ref is None else self._picture.box_of(ref)
        if box is not None:
            self._caret = box.ref
            self.axes.show_box(box)
        self.update()

    def box_at(self, at: QPointF) -> Box | None:
        """The box at a place of the widget."""
        if self._picture is None or not self.axes.area.contains(at):
            return None
        return self._picture.box_at(self.axes.row_at(at.x()), self.axes.byte_at(at.y()))

    def _relit(self) -> None:
        self.update()

    def _restyle(self) -> None:
        self._painter = None
        if self._picture is not None and self._rows is not None:
            name_of = self._annotations.alias_of
            self._painter = PicturePainter(self._picture, self._rows, self._links, name_of)
        self.update()

    # -- painting -------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(640, 260)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The arena takes what axes and curve leave."""
        super().resizeEvent(event)
        margins = Margins.of(self.height())
        height = self.height() - margins.top - margins.bottom
        self.axes.area = QRectF(
            LEFT, margins.top, max(self.width() - LEFT - RIGHT, 1), max(height, 1)
        )
        self.axes.hold()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        size = QRectF(self.rect())
        if self._painter is None:
            painter.fillRect(size, theme.colour("dock"))
        else:
            painter.drawPixmap(0, 0, self._ground(self._painter, size))
            caret = self.caret if self.hasFocus() else None
            self._painter.paint_marks(painter, size, self.axes, caret)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(size.adjusted(1, 1, -1, -1))
        painter.end()

    def _ground(self, painting: PicturePainter, size: QRectF) -> QPixmap:
        """The picture without marks; painted again only when it would look different."""
        axes, ratio = self.axes, self.devicePixelRatioF()
        key = (
            painting, size.width(), size.height(), ratio, self._roles, axes.left, axes.shown_rows,
            axes.bottom, axes.shown_bytes,
        )  # fmt: skip
        if self._painted is None or self._painted[0] != key:
            pixmap = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
            pixmap.setDevicePixelRatio(ratio)
            painter = QPainter(pixmap)
            painting.paint_ground(painter, size, axes, self._roles)
            painter.end()
            self._painted = (key, pixmap)
        return self._painted[1]

    # -- pointer --------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._pressed is not None and event.buttons() != Qt.MouseButton.NoButton:
            moved = at - self._pressed
            if self._dragged or moved.manhattanLength() >= _DRAG:
                self._dragged = True
                self._pressed = at
                self.axes.pan(moved.x(), moved.y())
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
                self.update()
            return
        box = self.box_at(at)
        self._links.hover(None if box is None else box.ref)
        hand = Qt.CursorShape.PointingHandCursor
        self.setCursor(Qt.CursorShape.ArrowCursor if box is None else hand)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._pressed, self._dragged = event.position(), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the box under the pointer, unless it was dragged."""
        was_click = self._pressed is not None and not self._dragged
        self._pressed, self._dragged = None, False
        self.setCursor(Qt.CursorShape.ArrowCursor)
        box = self.box_at(event.position())
        if was_click and box is not None and event.button() is Qt.MouseButton.LeftButton:
            self._caret = box.ref
            self._links.choose((box.ref,))
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show everything, or where the box comes from."""
        box = self.box_at(event.position())
        if box is None:
            self.fit()
        else:
            self._links.reveal(box.ref)

    def wheelEvent(self, event: QWheelEvent) -> None:
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120
        factor = _NOTCH**notches
        upright = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.axes.zoom(event.position(), 1.0 if upright else factor, factor if upright else 1.0)
        self.update()
        event.accept()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._links.hover(None)

    def event(self, event: QEvent) -> bool:
        """Ask for a card where the pointer rests."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            box = self.box_at(QPointF(event.pos()))
            self.tip_wanted.emit(event.globalPos(), None if box is None else box.ref)
            return True
        return super().event(event)

    # -- keyboard -------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _ARROWS and self._picture is not None and self._picture.boxes:
            self._walk(self._picture, *_ARROWS[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.caret is not None:
            self._links.reveal(self.caret.ref)
        elif key in _ZOOMS:
            middle = self.axes.area.center()
            if self.caret is not None:
                middle = self.axes.rect_of(self.caret).center()
            self.axes.zoom(middle, _ZOOMS[key], 1.0)
            self.update()
        elif key == Qt.Key.Key_Home:
            self.fit()
        else:
            super().keyPressEvent(event)

    def _walk(self, picture: MemoryPicture, rows: int, places: int) -> None:
        caret = self.caret
        box = picture.boxes[0] if caret is None else picture.neighbour(caret, rows, places)
        self._caret = box.ref
        self.axes.show_box(box)
        name = self._annotations.alias_of(box.key) or box.key
        self.setAccessibleDescription(f"{box.ref} {name}, {box.role}, {box.nbytes} bytes")
        self._links.choose((box.ref,))
        self.update()


_ARROWS = {
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}

_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP,
    Qt.Key.Key_Equal: _KEY_STEP,
    Qt.Key.Key_Minus: 1 / _KEY_STEP,
}
