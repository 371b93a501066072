"""A picture to draw in without a window: pixels in a context of one's own, read back when asked."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.entry_points import prototype

_FRAMEBUFFER, _RENDERBUFFER = 0x8D40, 0x8D41
_COLOUR, _RGBA8, _COMPLETE = 0x8CE0, 0x8058, 0x8CD5
_RGBA, _UNSIGNED_BYTE = 0x1908, 0x1401

_UINT, _INT, _PTR = ctypes.c_uint, ctypes.c_int, ctypes.c_void_p


class PixelTarget:
    """A framebuffer of that many pixels, bound when it is made; on the thread of its context.

    Args:
        load: the platform's address lookup.
        width: pixels.
        height: pixels.

    Raises:
        BackendError: the driver cannot draw into it.
    """

    def __init__(self, load: Callable[[str], int], width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._load = load
        self._names = (_UINT * 2)()
        frame, pixels = ctypes.byref(self._names, 0), ctypes.byref(self._names, 4)
        self._call("glGenFramebuffers", (_INT, _PTR), 1, frame)
        self._call("glGenRenderbuffers", (_INT, _PTR), 1, pixels)
        self.bind()
        self._call("glBindRenderbuffer", (_UINT, _UINT), _RENDERBUFFER, self._names[1])
        self._call(
            "glRenderbufferStorage",
            (_UINT, _UINT, _INT, _INT),
            _RENDERBUFFER,
            _RGBA8,
            width,
            height,
        )
        self._call(
            "glFramebufferRenderbuffer", (_UINT,) * 4, _FRAMEBUFFER, _COLOUR, _RENDERBUFFER,
            self._names[1],
        )  # fmt: skip
        status = self._call("glCheckFramebufferStatus", (_UINT,), _FRAMEBUFFER, result=_UINT)
        if status != _COMPLETE:
            raise BackendError(f"the driver offers no picture of {width} x {height}", who="gl")

    def bind(self) -> None:
        """Draw into it from now on."""
        self._call("glBindFramebuffer", (_UINT, _UINT), _FRAMEBUFFER, self._names[0])

    def read(self) -> npt.NDArray[np.uint8]:
        """The pixels [height, width, 4] from the top; waits for the device."""
        found = np.empty((self.height, self.width, 4), np.uint8)
        self._call(
            "glReadPixels", (_INT, _INT, _INT, _INT, _UINT, _UINT, _PTR), 0, 0, self.width,
            self.height, _RGBA, _UNSIGNED_BYTE, found.ctypes.data,
        )  # fmt: skip
        return found[::-1]

    def release(self) -> None:
        """Delete it."""
        self._call("glDeleteFramebuffers", (_INT, _PTR), 1, ctypes.byref(self._names, 0))
        self._call("glDeleteRenderbuffers", (_INT, _PTR), 1, ctypes.byref(self._names, 4))

    def _call(self, name: str, arguments: tuple[Any, ...], *values: Any, result: Any = None) -> Any:
        address = self._load(name)
        if not address:
            raise BackendError(f"the OpenGL driver has no function {name}", who="gl")
        return prototype(result, arguments)(address)(*values)
