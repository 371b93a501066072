"""The two contexts of the studio's window: the engine's, and one that draws, both Qt's."""

from __future__ import annotations

from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

from studio.engine.gl.device.context import DeviceContext
from studio.ui.shell.start.app import make_application
from studio.ui.shell.start.shared_context import QtSharedProvider, SharedContext, prepare_sharing


class SharedQt:
    """A context provider like the window's, with a second context to draw in.

    Made on the main thread, since surfaces belong there.

    Raises:
        SystemExit: the driver shares no contexts, so nothing can be measured.
    """

    def __init__(self) -> None:
        prepare_sharing()
        self._app = make_application()
        self._provider = QtSharedProvider(software_too=True)
        shared = QOpenGLContext.globalShareContext()
        self._surface = QOffscreenSurface(shared.screen())
        self._surface.setFormat(shared.format())
        self._surface.create()

    def create(self) -> DeviceContext:
        """The engine's context, current on the calling thread."""
        made = self._provider.create()
        if not self._provider.is_shared:
            raise SystemExit(self._provider.note)
        return made

    def viewer(self) -> DeviceContext:
        """The context to draw in, current nowhere."""
        context = QOpenGLContext()
        context.setFormat(self._surface.format())
        context.setShareContext(QOpenGLContext.globalShareContext())
        if not context.create():
            raise SystemExit("Qt makes no second context")
        return SharedContext(context, self._surface)

    def close(self) -> None:
        """Destroy the surfaces; the engine has ended."""
        self._provider.close()
        self._surface.destroy()
