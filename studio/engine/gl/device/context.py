"""Opens the OpenGL context the engine works in, and says plainly when there is none."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.entry_points import prototype
from studio.engine.gl.device.preflight import check_libraries, explain_failure, software_renderer

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
    """A standalone context owned by glcontext, the loader moderngl itself stands on.

    Args:
        raw: what glcontext made, current on this thread.
        origin: how it was made.
        unbind: takes it off this thread; glcontext's own way crashes where nothing was current
            before it.
    """

    def __init__(self, raw: Any, origin: str, unbind: Callable[[Any], None]) -> None:
        self._raw = raw
        self._origin = origin
        self._unbind = unbind

    @property
    def origin(self) -> str:
        return self._origin

    def load(self, name: str) -> int:
        return int(self._raw.load_opengl_function(name) or 0)

    def make_current(self) -> bool:
        self._raw.__enter__()
        return True

    def release(self) -> None:
        self._unbind(self._raw)
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
        place: where no device is chosen, which of the hardware devices to open, counted from 0 and
            round again, so that processes of one host have different ones.
    """

    def __init__(self, device_index: int | None = None, *, place: int = 0) -> None:
        self.device_index = device_index
        self.place = place

    def create(self) -> DeviceContext:
        """Open the context and leave it current on this thread.

        Raises:
            BackendError: no OpenGL 4.3 here; the sentence names what is missing.
        """
        preflight = check_libraries()
        if not preflight.ok:
            raise BackendError(preflight.problem, who="gl", hint=preflight.hint)
        failures: list[str] = []
        chosen = _index_from_environment(self.device_index)
        if not sys.platform.startswith("linux"):
            found = _try_open(_open_native, "default device", _unbind_nothing, failures)
        elif chosen is not None:
            # Who names a device wants that one or an explanation.
            found = _try_open_egl(chosen, failures)
        else:
            found = _search_egl(failures, self.place) or _try_open(
                _open_native, "X11 display", _unbind_glx, failures
            )
        if found is not None:
            return found
        verdict = explain_failure(failures[0])
        raise BackendError(verdict.problem, who="gl", hint=verdict.hint)


def _search_egl(failures: list[str], place: int) -> _GlcontextContext | None:
    """A hardware device of EGL, else its first software one; current on this thread.

    Args:
        failures: gets what kept devices from being opened.
        place: which of the hardware devices, counted from 0 and round again.
    """
    software: _GlcontextContext | None = None
    hardware: list[int] = []
    for index in range(_MAX_DEVICES):
        candidate = _try_open_egl(index, failures)
        if candidate is None:
            if "but found" in failures[-1]:
                break
        elif software_renderer(_renderer_of(candidate)) is None:
            hardware.append(index)
            if len(hardware) > place:
                if software is not None:
                    software.release()
                    candidate.make_current()
                return candidate
            candidate.release()
        elif software is None:
            software = candidate
        else:
            candidate.release()
    if hardware:
        if software is not None:
            software.release()
        return _try_open_egl(hardware[place % len(hardware)], failures)
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


def _try_open_egl(index: int, failures: list[str]) -> _GlcontextContext | None:
    from glcontext import get_backend_by_name  # type: ignore[import-untyped]

    # The sonames are given so that nothing has to search for them with a compiler or ldconfig.
    make = partial(
        get_backend_by_name("egl"),
        mode="standalone",
        glversion=REQUIRED_VERSION,
        libgl="libGL.so.1",
        libegl="libEGL.so.1",
        device_index=index,
    )
    return _try_open(make, f"EGL device {index}", _unbind_egl, failures)


def _open_native() -> Any:
    from glcontext import default_backend

    libraries = {"libgl": "libGL.so.1", "libx11": "libX11.so.6"}
    return default_backend()(
        mode="standalone",
        glversion=REQUIRED_VERSION,
        **(libraries if sys.platform.startswith("linux") else {}),
    )


def _try_open(
    make: Callable[[], Any],
    origin: str,
    unbind: Callable[[Any], None],
    failures: list[str],
) -> _GlcontextContext | None:
    try:
        return _GlcontextContext(make(), origin, unbind)
    except Exception as error:
        # The loader raises bare Exception: its text is all there is to tell one cause from another.
        failures.append(str(error))
        return None


def _unbind_egl(raw: Any) -> None:
    # It restores what was current before, which for EGL may be nothing.
    raw.__exit__(None, None, None)


def _unbind_glx(_raw: Any) -> None:
    library = ctypes.CDLL("libGL.so.1")
    library.glXGetCurrentDisplay.restype = ctypes.c_void_p
    library.glXMakeCurrent.argtypes = (ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p)
    display = library.glXGetCurrentDisplay()
    if display:
        library.glXMakeCurrent(display, 0, None)


def _unbind_nothing(_raw: Any) -> None:
    """Windows takes a context off its thread when it is deleted there."""


def _renderer_of(context: _GlcontextContext) -> str:
    get_string = prototype(ctypes.c_char_p, (ctypes.c_uint,))(context.load("glGetString"))
    name = get_string(const.RENDERER)
    return name.decode("utf-8", "replace") if name else ""
