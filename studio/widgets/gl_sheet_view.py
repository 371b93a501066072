"""A widget that draws a tensor from the device's memory: nothing comes back to the host.

It shares buffers with the engine (see ``shell.shared_context``), takes snapshots from it and gives
each back with a fence of its own. Its OpenGL objects are made again whenever Qt makes its context
again, as undocking may.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QSurfaceFormat
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.context import REQUIRED_VERSION
from studio.engine.gl.live.live import SHARED, GlSnapshot
from studio.engine.gl.live.painter import SheetPainter, Source, View


def is_shared(snapshot: object) -> bool:
    """Whether the window's contexts see the buffer of a snapshot."""
    return isinstance(snapshot, GlSnapshot) and snapshot.device.origin == SHARED


class GlSheetView(QOpenGLWidget):
    """Draws one sheet of one snapshot at a time, and something over it.

    Args:
        over: paints over the sheet, in the widget's own pixels.
        parent: the widget it stands in.
    """

    broke = Signal(str)
    """It cannot draw; says why in one sentence. The caller shows the tensor another way."""

    def __init__(
        self, over: Callable[[QPainter], object] | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        wanted = QSurfaceFormat()
        wanted.setVersion(*divmod(REQUIRED_VERSION // 10, 10))
        wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
        self.setFormat(wanted)
        self.frames = 0
        """Pictures drawn."""
        self._over = over
        self._painter: SheetPainter | None = None
        self._snapshot: GlSnapshot | None = None
        self._view: View | None = None
        self._palette: npt.NDArray[np.uint8] | None = None
        self._palette_set = False
        self._drawn = False

    @property
    def snapshot(self) -> GlSnapshot | None:
        return self._snapshot

    def show_snapshot(
        self, snapshot: GlSnapshot, view: View, palette: npt.NDArray[np.uint8]
    ) -> None:
        """Draw a snapshot; the one before goes back to the engine.

        Args:
            snapshot: of an engine whose context shares with the window's.
            view: the sheet and where it lies, in the widget's own pixels.
            palette: the colours of the shader.
        """
        if snapshot is not self._snapshot:
            self._give_back()
            self._snapshot = snapshot.retain()
        self._view = view
        if self._palette is not palette:
            self._palette, self._palette_set = palette, False
        self.update()

    def clear(self) -> None:
        """Draw nothing, and give back what was drawn."""
        self._give_back()
        self._view = None
        self.update()

    def initializeGL(self) -> None:
        context = self.context()
        context.aboutToBeDestroyed.connect(self._context_going)
        try:
            self._painter = SheetPainter(self._load)
        except BackendError as error:
            self._painter = None
            self.broke.emit(error.message)
        self._palette_set = False

    def paintGL(self) -> None:
        snapshot, view, made = self._snapshot, self._view, self._painter
        if snapshot is not None and view is not None and made is not None:
            try:
                self._draw(made, snapshot, view)
            except BackendError as error:
                self.broke.emit(error.message)
        if self._over is not None:
            over = QPainter(self)
            self._over(over)
            over.end()

    def _draw(self, made: SheetPainter, snapshot: GlSnapshot, view: View) -> None:
        if not self._palette_set and self._palette is not None:
            made.set_palette(self._palette)
            self._palette_set = True
        scale = self.devicePixelRatioF()
        wide, tall = round(self.width() * scale), round(self.height() * scale)
        made.draw(Source.of(snapshot), view.scaled(scale), wide, tall)
        self._drawn = True
        self.frames += 1

    def _load(self, name: str) -> int:
        return int(self.context().getProcAddress(name.encode()) or 0)

    def _give_back(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None:
            return
        if self._drawn and self._painter is not None and self.context() is not None:
            self.makeCurrent()
            self._tell_drawn(snapshot, self._painter)
            self.doneCurrent()
        self._drawn = False
        snapshot.release()

    @staticmethod
    def _tell_drawn(snapshot: GlSnapshot, painter: SheetPainter) -> None:
        fence = painter.fence()
        # A lost context makes none, and waiting for none would be an error of the engine's.
        if fence:
            snapshot.drawn(fence)

    def _context_going(self) -> None:
        """Qt is about to destroy the context: give everything of it back."""
        self.makeCurrent()
        if self._snapshot is not None and self._drawn and self._painter is not None:
            self._tell_drawn(self._snapshot, self._painter)
            self._drawn = False
        if self._painter is not None:
            self._painter.release()
            self._painter = None
        self.doneCurrent()
