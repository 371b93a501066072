"""Opens the OpenGL context the engine works in, and says plainly when there is none."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from studio.engine.core.errors import BackendError
from studio.engine.gl import constants as const
from studio.engine.gl.entry_points import prototype
from studio.engine.gl.preflight import check_libraries, explain_failure, software_renderer

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRED_VERSION = 430
# More devices than any one host is likely to offer; the search ends at the first that is missing.
_MAX_DEVICES = 16


class DeviceContext(Protocol):
    """A context that exists; all calls come from the thread that created it."""

    @property
    def origin(self) -> str:
        """How the context was made, for the status bar (``egl device 0``)."""
        ...

    def load(self, name: str) -> int:
        """The address of a driver function, 0 when the platform knows none."""
        ...

    def make_current(self) -> bool:
        """Make the context current on this thread; False when it is lost."""
        ...

    def release(self) -> None:
        """Take the context off this thread and destroy it."""
        ...


class ContextProvider(Protocol):
    """Makes the engine's context; a window's provider shares it with the one Qt draws in."""

    def create(self) -> DeviceContext:
        """Create a context and leave it current; called in the engine thread.

        Raises:
            BackendError: no context of OpenGL 4.3 can be had, with the reason in one sentence.
        """
        ...


class _GlcontextContext:
    """A standalone context owned by glcontext, the loader moderngl itself stands on."""

    def __init__(self, raw: Any, origin: str) -> None:
        self._raw = raw
        self._origin = origin
        self._entered = False

    @property
    def origin(self) -> str:
        return self._origin

    def load(self, name: str) -> int:
        return int(self._raw.load_opengl_function(name) or 0)

    def make_current(self) -> bool:
        self._raw.__enter__()
        self._entered = True
        return True

    def release(self) -> None:
        # The X11 loader crashes when it leaves a context that it never entered.
        if self._entered or self._origin.startswith("EGL"):
            self._raw.__exit__(None, None, None)
        self._raw.release()

    def moderngl_context(self) -> Any:
        """The same context as a moderngl object, for code that draws with it in this thread.

        Its garbage collection stays off, which is moderngl's default: who makes an object
        releases it, on this thread.
        """
        import moderngl

        return moderngl.create_context(require=REQUIRED_VERSION, context=self._raw)


class StandaloneProvider:
    """A context without window or display: EGL on Linux, the platform's own way elsewhere.

    Args:
        device_index: which EGL device to open; None takes the first hardware device, else the
            first software one. The variable GLCONTEXT_DEVICE_INDEX outranks it.
    """

    def __init__(self, device_index: int | None = None) -> None:
        self.device_index = device_index

    def create(self) -> DeviceContext:
        """Open the context and leave it current on this thread.

        Raises:
            BackendError: no OpenGL 4.3 here; the sentence names what is missing.
        """
        preflight = check_libraries()
        if not preflight.ok:
            raise BackendError(preflight.problem, who="gl", hint=preflight.hint)
        failures: list[str] = []
        if sys.platform.startswith("linux"):
            found = self._open_egl(failures)
            if found is not None:
                return found
        # Whoever asks for one device must not get another, which an X server on :0 would give.
        if not failures or _index_from_environment(self.device_index) is None:
            native = _try_open(_open_native, "default device", failures)
            if native is not None:
                return native
        verdict = explain_failure(failures[0])
        raise BackendError(verdict.problem, who="gl", hint=verdict.hint)

    def _open_egl(self, failures: list[str]) -> _GlcontextContext | None:
        """The first hardware device of EGL, else its first software one."""
        chosen = _index_from_environment(self.device_index)
        if chosen is not None:
            return _try_open(_egl_opener(chosen), f"EGL device {chosen}", failures)
        software: _GlcontextContext | None = None
        for index in range(_MAX_DEVICES):
            candidate = _try_open(_egl_opener(index), f"EGL device {index}", failures)
            if candidate is None:
                if "but found" in failures[-1]:
                    break
            elif software_renderer(_renderer_of(candidate)) is None:
                if software is not None:
                    software.release()
                    candidate.make_current()
                return candidate
            elif software is None:
                software = candidate
            else:
                candidate.release()
        if software is not None:
            software.make_current()
        return software


def _index_from_environment(default: int | None) -> int | None:
    text = os.environ.get("GLCONTEXT_DEVICE_INDEX", "")
    if not text:
        return default
    if not text.isdecimal():
        raise BackendError(
            f"GLCONTEXT_DEVICE_INDEX must be a whole number, got {text!r}",
            who="gl",
            hint="unset it, or give the number of the device to use, counted from 0",
        )
    return int(text)


def _egl_opener(index: int) -> Callable[[], Any]:
    from glcontext import get_backend_by_name  # type: ignore[import-untyped]

    # The sonames are given so that nothing has to search for them with a compiler or ldconfig.
    return partial(
        get_backend_by_name("egl"),
        mode="standalone",
        glversion=REQUIRED_VERSION,
        libgl="libGL.so.1",
        libegl="libEGL.so.1",
        device_index=index,
    )


def _open_native() -> Any:
    from glcontext import default_backend

    return default_backend()(mode="standalone", glversion=REQUIRED_VERSION)


def _try_open(
    make: Callable[[], Any], origin: str, failures: list[str]
) -> _GlcontextContext | None:
    try:
        return _GlcontextContext(make(), origin)
    except Exception as error:
        # The loader raises bare Exception: its text is all there is to tell one cause from another.
        failures.append(str(error))
        return None


def _renderer_of(context: _GlcontextContext) -> str:
    get_string = prototype(ctypes.c_char_p, (ctypes.c_uint,))(context.load("glGetString"))
    name = get_string(const.RENDERER)
    return name.decode("utf-8", "replace") if name else ""
