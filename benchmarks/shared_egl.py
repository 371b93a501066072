"""Two contexts of one EGL device that share buffers: one to compute in, one to draw in.

A window has this from Qt; here it is without display and window, for tests and to measure what
drawing costs a training. Each context is made current on its own thread.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.context import DeviceContext
from studio.engine.gl.device.preflight import software_renderer

_PLATFORM_DEVICE = 0x313F
_OPENGL_API = 0x30A2
_SURFACE_TYPE, _PBUFFER_BIT = 0x3033, 0x0001
_RENDERABLE_TYPE, _OPENGL_BIT = 0x3040, 0x0008
_MAJOR, _MINOR, _PROFILE, _CORE = 0x3098, 0x30FB, 0x30FD, 0x00000001
_NONE = 0x3038
_MAX_DEVICES = 16
_RENDERER = 0x1F01

_PTR = ctypes.c_void_p


class SharedEgl:
    """A device of EGL with two contexts; hardware before software.

    It is a context provider: `create` gives the context of the engine thread. `viewer` gives the
    one to draw in, once the engine has been started.

    Raises:
        BackendError: there is no EGL here, or no device that makes a context of OpenGL 4.3.
    """

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise BackendError(
                "two contexts without a window need EGL, which is on Linux", who="gl"
            )
        try:
            self._egl = ctypes.CDLL("libEGL.so.1")
        except OSError as error:
            raise BackendError(f"EGL cannot be loaded: {error}", who="gl") from error
        self._egl.eglGetProcAddress.restype = _PTR
        self._egl.eglGetProcAddress.argtypes = (ctypes.c_char_p,)
        self._display: int | None = None
        self._config: int | None = None
        self._first: int | None = None
        self._origin = ""

    def create(self) -> DeviceContext:
        """The context of the engine, current on this thread."""
        software: tuple[int, int, int, str] | None = None
        for number, device in enumerate(self._devices()):
            found = self._open(device)
            if found is None:
                continue
            display, config, context = found
            self._display = display
            self._make_current(context)
            if not self._is_software():
                return self._keep(display, config, context, f"EGL device {number}, shared")
            if software is None:
                software = (display, config, context, f"EGL device {number}, shared")
            else:
                self._call("eglDestroyContext", (_PTR, _PTR), display, context)
        if software is None:
            raise BackendError("no EGL device makes a context of OpenGL 4.3", who="gl")
        self._display = software[0]
        self._make_current(software[2])
        return self._keep(*software)

    def viewer(self) -> DeviceContext:
        """A context that shares with the engine's; not current anywhere yet.

        Raises:
            BackendError: the engine has not been started, or the driver refuses.
        """
        if self._first is None or self._display is None or self._config is None:
            raise BackendError("the engine's context comes first", who="gl")
        context = self._context(self._display, self._config, self._first)
        if context is None:
            raise BackendError("the driver does not share contexts", who="gl")
        return _EglContext(self, context, f"{self._origin} to draw in")

    def make_current(self, context: int | None) -> bool:
        """Make a context current on this thread, or none."""
        return self._make_current(context)

    def destroy(self, context: int) -> None:
        """Destroy a context."""
        self._call("eglDestroyContext", (_PTR, _PTR), self._display, context)

    def load(self, name: str) -> int:
        """The address of a driver function."""
        return int(self._egl.eglGetProcAddress(name.encode()) or 0)

    def _keep(self, display: int, config: int, context: int, origin: str) -> DeviceContext:
        self._display, self._config, self._first, self._origin = display, config, context, origin
        return _EglContext(self, context, origin)

    def _devices(self) -> list[int]:
        count = ctypes.c_int()
        devices = (_PTR * _MAX_DEVICES)()
        found = self._call(
            "eglQueryDevicesEXT", (ctypes.c_int, _PTR, _PTR), _MAX_DEVICES, devices,
            ctypes.byref(count),
        )  # fmt: skip
        return [device for device in devices[: count.value] if device] if found else []

    def _open(self, device: int) -> tuple[int, int, int] | None:
        """Display, configuration and context of a device, if it makes one."""
        display = self._call(
            "eglGetPlatformDisplayEXT", (ctypes.c_uint, _PTR, _PTR), _PLATFORM_DEVICE, device, None,
            result=_PTR,
        )  # fmt: skip
        if not display or not self._call("eglInitialize", (_PTR, _PTR, _PTR), display, None, None):
            return None
        self._call("eglBindAPI", (ctypes.c_uint,), _OPENGL_API)
        wanted = (ctypes.c_int * 5)(
            _SURFACE_TYPE, _PBUFFER_BIT, _RENDERABLE_TYPE, _OPENGL_BIT, _NONE
        )
        config, count = _PTR(), ctypes.c_int()
        self._call(
            "eglChooseConfig", (_PTR, _PTR, _PTR, ctypes.c_int, _PTR), display, wanted,
            ctypes.byref(config), 1, ctypes.byref(count),
        )  # fmt: skip
        if not count.value or config.value is None:
            return None
        context = self._context(display, config.value, None)
        return None if context is None else (display, config.value, context)

    def _context(self, display: int, config: int, shared: int | None) -> int | None:
        self._call("eglBindAPI", (ctypes.c_uint,), _OPENGL_API)
        wanted = (ctypes.c_int * 7)(_MAJOR, 4, _MINOR, 3, _PROFILE, _CORE, _NONE)
        made = self._call(
            "eglCreateContext", (_PTR, _PTR, _PTR, _PTR), display, config, shared, wanted,
            result=_PTR,
        )  # fmt: skip
        return made or None

    def _make_current(self, context: int | None) -> bool:
        return bool(
            self._call(
                "eglMakeCurrent", (_PTR, _PTR, _PTR, _PTR), self._display, None, None, context
            )
        )

    def _is_software(self) -> bool:
        get_string = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(self.load("glGetString"))
        name = get_string(_RENDERER) or b""
        return software_renderer(name.decode("utf-8", "replace")) is not None

    def _call(
        self, name: str, arguments: tuple[Any, ...], *values: Any, result: Any = ctypes.c_uint
    ) -> Any:
        address = self._egl.eglGetProcAddress(name.encode())
        if not address:
            raise BackendError(f"EGL has no function {name}", who="gl")
        return ctypes.CFUNCTYPE(result, *arguments)(address)(*values)


class _EglContext:
    """One of the two contexts; see ``DeviceContext``."""

    def __init__(self, egl: SharedEgl, context: int, origin: str) -> None:
        self._egl = egl
        self._context = context
        self._origin = origin

    @property
    def origin(self) -> str:
        return self._origin

    def load(self, name: str) -> int:
        return self._egl.load(name)

    def make_current(self) -> bool:
        return self._egl.make_current(self._context)

    def release(self) -> None:
        self._egl.make_current(None)
        self._egl.destroy(self._context)
