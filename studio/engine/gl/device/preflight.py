"""Looks for what OpenGL needs before anything is loaded, and says what is missing in one sentence.

Nothing here imports moderngl or Qt: both may abort or fail obscurely where a library is missing.
"""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Shared library, Debian/Ubuntu package that carries it.
_LINUX_LIBRARIES: tuple[tuple[str, str], ...] = (
    ("libGL.so.1", "libgl1"),
    ("libEGL.so.1", "libegl1"),
)

# What the driver's text holds, the name people know it by.
_SOFTWARE_RENDERERS: tuple[tuple[str, str], ...] = (
    ("llvmpipe", "llvmpipe"),
    ("softpipe", "softpipe"),
    ("lavapipe", "lavapipe"),
    ("swiftshader", "SwiftShader"),
    ("software rasterizer", "Mesa's software rasterizer"),
    ("swrast", "Mesa's software rasterizer"),
    ("openswr", "OpenSWR"),
    ("microsoft basic render", "Microsoft Basic Render Driver"),
    ("gdi generic", "GDI Generic"),
    ("apple software", "Apple Software Renderer"),
)

# What the loader says (as a pattern), the sentence for the user, the packages that cure it.
_CONTEXT_FAILURES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"libE?GL\S* not loaded", "an OpenGL library is not installed", ("libgl1", "libegl1")),
    (
        r"found 0 devices",
        "no EGL driver is installed, so there is no device to open",
        ("libegl-mesa0",),
    ),
    (
        r"eglInitialize failed",
        "the EGL driver could not start, most often because its renderer is not installed",
        ("libgl1-mesa-dri",),
    ),
    (
        r"cannot open display|XOpenDisplay",
        "there is no display and no EGL driver that works without one",
        ("libegl1", "libegl-mesa0", "libgl1-mesa-dri"),
    ),
    (r"requested device index", "GLCONTEXT_DEVICE_INDEX names a device that is not there", ()),
)

_TOO_OLD = re.compile(r"got version (\d)(\d)\d?")


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found before opening a context.

    Attributes:
        ok: True when nothing speaks against trying OpenGL.
        problem: one sentence for the user, empty when ok.
        hint: what to do about it, empty when there is nothing to do.
        packages: Debian/Ubuntu packages that would cure it.
    """

    ok: bool
    problem: str = ""
    hint: str = ""
    packages: tuple[str, ...] = ()


def apt_command(packages: Sequence[str]) -> str:
    """The exact command that installs the packages on Debian or Ubuntu."""
    return f"sudo apt-get install --no-install-recommends {' '.join(packages)}"


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def check_libraries(
    platform: str = sys.platform, can_load: Callable[[str], bool] = _can_load
) -> Preflight:
    """Whether the libraries a standalone OpenGL context needs can be loaded here.

    Args:
        platform: as ``sys.platform`` writes it.
        can_load: tells whether a shared library opens (a test gives its own).
    """
    if platform == "darwin":
        return Preflight(
            ok=False,
            problem="macOS stops at OpenGL 4.1 and compute shaders need 4.3, "
            "so Glassbox trains on the CPU here",
        )
    if platform.startswith("win"):
        if can_load("opengl32.dll"):
            return Preflight(ok=True)
        return Preflight(
            ok=False,
            problem="opengl32.dll cannot be loaded",
            hint="install the graphics driver of your card's maker, or train with --backend cpu",
        )
    missing = [(name, package) for name, package in _LINUX_LIBRARIES if not can_load(name)]
    if not missing:
        return Preflight(ok=True)
    packages = tuple(package for _, package in missing)
    verb = "is" if len(missing) == 1 else "are"
    return Preflight(
        ok=False,
        problem=f"{' and '.join(name for name, _ in missing)} {verb} not installed, "
        "so OpenGL cannot be used",
        hint=f"{apt_command((*packages, 'libgl1-mesa-dri', 'libegl-mesa0'))}, "
        "or train with --backend cpu",
        packages=(*packages, "libgl1-mesa-dri", "libegl-mesa0"),
    )


def software_renderer(renderer: str) -> str | None:
    """The common name of a software renderer, or None when the text names hardware.

    Args:
        renderer: the driver's GL_RENDERER text.
    """
    text = renderer.lower()
    for mark, name in _SOFTWARE_RENDERERS:
        if mark in text:
            return name
    return None


def software_notice(renderer: str) -> str:
    """One sentence for the status bar on a software renderer; empty for hardware."""
    name = software_renderer(renderer)
    if name is None:
        return ""
    return f"OpenGL runs in software here ({name}): the CPU backend is faster, so 'auto' takes it"


def explain_failure(text: str) -> Preflight:
    """Turn the loader's message about a context that did not open into one sentence.

    Args:
        text: the exception text of glcontext or moderngl.
    """
    old = _TOO_OLD.search(text)
    if old:
        return Preflight(
            ok=False,
            problem=f"the driver offers OpenGL {old[1]}.{old[2]}, compute shaders need 4.3",
            hint="update the graphics driver, or train with --backend cpu",
        )
    for pattern, sentence, packages in _CONTEXT_FAILURES:
        if re.search(pattern, text):
            cure = f"{apt_command(packages)}, or " if packages else ""
            return Preflight(
                ok=False,
                problem=sentence,
                hint=f"{cure}train with --backend cpu",
                packages=packages,
            )
    first_line = text.strip().splitlines()[0] if text.strip() else "no reason given"
    return Preflight(
        ok=False,
        problem=f"no OpenGL 4.3 context could be opened ({first_line})",
        hint="update the graphics driver, or train with --backend cpu",
    )
