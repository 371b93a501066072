"""The engine's OpenGL context when there is a window: one that shares buffers with Qt's.

Made in two steps, because Qt asks for it: the surface on the thread of the window, the context on
the engine's own thread. Where sharing is not to be had, the engine gets a context of its own and
the studio says so; pictures are then read back, and everything else works as before.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QOffscreenSurface, QOpenGLContext, QSurfaceFormat

from studio.engine.gl.device.context import REQUIRED_VERSION, DeviceContext, StandaloneProvider
from studio.engine.gl.device.preflight import software_renderer
from studio.engine.gl.live.live import SHARED

if TYPE_CHECKING:
    from studio.engine.gl.device.context import ContextProvider

_RENDERER = 0x1F01
_THREADS = "LP_NUM_THREADS"


def surface_format() -> QSurfaceFormat:
    """The format of every OpenGL surface of the studio; the default before the application."""
    wanted = QSurfaceFormat()
    wanted.setVersion(*divmod(REQUIRED_VERSION // 10, 10))
    wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    return wanted


def prepare_sharing() -> None:
    """Let all OpenGL contexts of Qt share; to be called before the application object is made."""
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    QSurfaceFormat.setDefaultFormat(surface_format())


def provider_for(wanted: str) -> QtSharedProvider | None:
    """The provider of one backend, on the window's thread, as the user wants tensors drawn.

    Args:
        wanted: ``auto``, ``always`` (on software renderers too) or ``never``.
    """
    return None if wanted == "never" else QtSharedProvider(software_too=wanted == "always")


def _context_of_qt() -> QOpenGLContext | None:
    """The context all others of Qt share with; the first call makes it.

    Where Mesa renders it in software (llvmpipe) it draws without threads of its own: those let go
    of a fence only after the thread that draws next may have freed it, which ends the process. How
    many there are is asked when the first context of a display is made; other displays, such as
    that of an engine which does not share, keep theirs.
    """
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = "0"
    try:
        return QOpenGLContext.globalShareContext()
    finally:
        if given is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = given


class QtSharedProvider:
    """Opens one engine context that shares with Qt's; one provider for each backend.

    Made on the window's thread; `create` is called by the engine. `close` is called on the window's
    thread after the engine has ended.

    Args:
        software_too: share on software renderers as well, where reading back is the cheaper way.
        standalone: opens the context where sharing is not to be had.
    """

    def __init__(
        self, *, software_too: bool = False, standalone: ContextProvider | None = None
    ) -> None:
        self.note = ""
        """Why the context is one of its own; empty where it shares, and before it is made."""
        self.is_shared = False
        self._software_too = software_too
        self._standalone = standalone or StandaloneProvider()
        self._surface: QOffscreenSurface | None = None
        shared = _context_of_qt()
        if shared is None or not shared.isValid():
            self.note = "Qt has no OpenGL here, so tensors are drawn from copies."
            return
        self._surface = QOffscreenSurface(shared.screen())
        self._surface.setFormat(shared.format())
        self._surface.create()

    def create(self) -> DeviceContext:
        """Open the context and leave it current on this thread.

        Raises:
            BackendError: no OpenGL 4.3 can be had at all.
        """
        if self._surface is not None:
            made = self._create_shared(self._surface)
            if made is not None:
                self.is_shared, self.note = True, ""
                return made
        return self._standalone.create()

    def close(self) -> None:
        """Destroy the surface; the engine has ended."""
        if self._surface is not None:
            self._surface.destroy()
            self._surface = None

    def _create_shared(self, surface: QOffscreenSurface) -> DeviceContext | None:
        if not surface.isValid():
            self.note = "Qt could not create a shared surface, so tensors are drawn from copies."
            return None
        context = QOpenGLContext()
        context.setFormat(surface.format())
        context.setShareContext(QOpenGLContext.globalShareContext())
        if not context.create() or not context.makeCurrent(surface):
            self.note = "The driver cannot share contexts, so tensors are drawn from copies."
            return None
        found = SharedContext(context, surface)
        version = context.format().version()
        if tuple(version) < divmod(REQUIRED_VERSION // 10, 10):
            self.note = f"The window has OpenGL {version[0]}.{version[1]} but sharing needs 4.3."
        elif software_renderer(found.renderer) is not None and not self._software_too:
            self.note = "OpenGL runs in software here, where drawing from copies is faster."
        else:
            return found
        found.release()
        return None


class SharedContext:
    """A context of Qt on the thread that makes it current; see ``DeviceContext``."""

    def __init__(self, context: QOpenGLContext, surface: QOffscreenSurface) -> None:
        self._context = context
        self._surface = surface

    @property
    def origin(self) -> str:
        return SHARED

    @property
    def renderer(self) -> str:
        get_string = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(self.load("glGetString"))
        return (get_string(_RENDERER) or b"").decode("utf-8", "replace")

    def load(self, name: str) -> int:
        # Some platforms answer with a number, some bindings with a pointer that may be none.
        return int(self._context.getProcAddress(name.encode()) or 0)

    def make_current(self) -> bool:
        return self._context.makeCurrent(self._surface)

    def release(self) -> None:
        self._context.doneCurrent()
        del self._context
