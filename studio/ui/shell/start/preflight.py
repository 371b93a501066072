"""Looks whether a window can be opened before Qt is loaded, since Qt ends the process if not.

Nothing here imports Qt. The answer is one sentence that names what is missing.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from studio.engine.gl.device.preflight import Preflight, apt_command, check_libraries

# Shared library, package of Debian and Ubuntu that carries it.
_QT_LIBRARIES = (
    ("libglib-2.0.so.0", "libglib2.0-0"),
    ("libfontconfig.so.1", "libfontconfig1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
    ("libdbus-1.so.3", "libdbus-1-3"),
)
_XCB_LIBRARIES = (
    ("libxcb-cursor.so.0", "libxcb-cursor0"),
    ("libxcb-icccm.so.4", "libxcb-icccm4"),
    ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    ("libxcb-shape.so.0", "libxcb-shape0"),
    ("libxcb-xkb.so.1", "libxcb-xkb1"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
)
_SCREENLESS = ("offscreen", "minimal", "vnc")


def can_load(library: str) -> bool:
    """Whether the dynamic linker finds a library and all that it needs in turn."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def check_window(
    environment: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    loads: Callable[[str], bool] = can_load,
) -> Preflight:
    """Whether Qt will be able to open a window here.

    Args:
        environment: the variables of the process.
        platform: as ``sys.platform`` writes it.
        loads: tells whether a shared library opens.
    """
    if not platform.startswith("linux"):
        return Preflight(ok=True)
    wanted = environment.get("QT_QPA_PLATFORM", "").partition(":")[0]
    x11 = wanted == "xcb" or (not wanted and not environment.get("WAYLAND_DISPLAY"))
    display = Preflight(ok=True)
    if wanted not in _SCREENLESS:
        display = check_display(environment, x11=x11)
    if not display.ok and not environment.get("DISPLAY") and not wanted:
        # Without a display its libraries do not matter.
        return display
    needed = _QT_LIBRARIES + (_XCB_LIBRARIES if x11 and wanted not in _SCREENLESS else ())
    missing = [(name, package) for name, package in needed if not loads(name)]
    packages = tuple(package for _, package in missing)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return Preflight(
            ok=False,
            problem=f"{', '.join(name for name, _ in missing)} {verb} not installed, so no window "
            "can be opened",
            hint=apt_command(packages),
            packages=packages,
        )
    opengl = check_libraries(platform, loads)
    if not opengl.ok:
        # Qt itself is linked with OpenGL, whatever is drawn with it.
        return Preflight(False, opengl.problem, apt_command(opengl.packages), opengl.packages)
    return display


def check_display(environment: Mapping[str, str], *, x11: bool) -> Preflight:
    """Whether the display the environment names answers.

    Args:
        environment: the variables of the process.
        x11: look for an X server; otherwise for a Wayland compositor, then for an X server.
    """
    wayland, name = environment.get("WAYLAND_DISPLAY", ""), environment.get("DISPLAY", "")
    if not x11 and wayland and _wayland_answers(wayland, environment):
        return Preflight(ok=True)
    if not name:
        return Preflight(
            ok=False,
            problem="there is no display to open a window on (DISPLAY is not set)",
            hint="start it from a desktop, or use the terminal commands",
        )
    if not _x_answers(name):
        return Preflight(
            ok=False,
            problem=f"the display {name} cannot be opened",
            hint="check DISPLAY and whether this user may use the display (xhost, ssh -X)",
        )
    return Preflight(ok=True)


def _x_answers(name: str) -> bool:
    """Whether an X server lets us in; without libX11 to ask, Qt has to find out."""
    try:
        library = ctypes.CDLL("libX11.so.6")
    except OSError:
        return True
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XOpenDisplay.argtypes = [ctypes.c_char_p]
    library.XCloseDisplay.argtypes = [ctypes.c_void_p]
    found = library.XOpenDisplay(name.encode())
    if found:
        library.XCloseDisplay(found)
    return bool(found)


def _wayland_answers(name: str, environment: Mapping[str, str]) -> bool:
    path = Path(environment.get("XDG_RUNTIME_DIR", "")) / name
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as found:
        try:
            found.connect(str(path))
        except (OSError, ValueError):
            return False
    return True
