"""The surroundings every golden picture is taken in: fonts, scale, language, clock and display.

A picture is taken by a process of its own, since Qt reads scale and fonts once. `surroundings`
gives that process its variables; `hold_still` is called in it before anything of the studio is
loaded.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

NOW = 1_767_258_000.0
"""The moment pictures are taken: 1 January 2026, 9:00 UTC."""

SCREEN = "5120x2880x24"
"""Room for a window of 1600 by 1000 at 200 %."""

FONTS = Path("/usr/share/fonts")
FONT_FILES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf",
              "DejaVuSansMono-Bold.ttf")  # fmt: skip
FONT_PACKAGE = "fonts-dejavu-core"
FAMILY, POINTS = "DejaVu Sans", 9

# Outlines without hinting look the same with every version of FreeType.
_FONT_CONFIG = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <match target="pattern">
    <edit name="dpi" mode="assign"><double>96</double></edit>
  </match>
  <match target="font">
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="hintstyle" mode="assign"><const>hintnone</const></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  </match>
</fontconfig>
"""

# What a desktop would bring in.
_FOREIGN = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION",
            "KDE_FULL_SESSION", "GNOME_DESKTOP_SESSION_ID", "XDG_CURRENT_DESKTOP",
            "SESSION_MANAGER", "XMODIFIERS", "PYTEST_XDIST_WORKER", "LANGUAGE")  # fmt: skip


def font_file(name: str) -> Path | None:
    """Where a font of the system lies."""
    return next(FONTS.rglob(name), None)


def missing_fonts() -> str:
    """Why pictures cannot be taken here, with what to do about it; empty when they can."""
    missing = [name for name in FONT_FILES if font_file(name) is None]
    if not missing:
        return ""
    return f"fonts are missing ({', '.join(missing)}): apt-get install {FONT_PACKAGE}"


def surroundings(scratch: Path, per_cent: int) -> dict[str, str]:
    """The variables of a process that takes pictures.

    Args:
        scratch: an empty folder, its home.
        per_cent: the scale.
    """
    fonts = scratch / "fonts"
    fonts.mkdir()
    for name in FONT_FILES:
        file = font_file(name)
        if file is not None:
            (fonts / name).symlink_to(file)
    config = scratch / "fonts.conf"
    config.write_text(_FONT_CONFIG.format(fonts=fonts, cache=scratch / "font-cache"))
    kept = {
        name: value for name, value in os.environ.items()
        if name not in _FOREIGN and not name.startswith(("QT_", "LC_", "XDG_", "PYTEST_"))
    }  # fmt: skip
    threads = ("LP_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return kept | dict.fromkeys(threads, "1") | {
        "HOME": str(scratch),
        # Kernels that were compiled before need not be compiled again.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        "FONTCONFIG_FILE": str(config),
        "QT_QPA_PLATFORM": "xcb",
        "QT_SCALE_FACTOR": f"{per_cent / 100:g}",
        "QT_FONT_DPI": "96",
        "QT_ACCESSIBILITY": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
    }  # fmt: skip


def hold_still() -> None:
    """Stop the clock people read; what measures durations goes on."""
    real_local, real_utc, real_text = time.localtime, time.gmtime, time.strftime
    time.time = lambda: NOW
    time.localtime = lambda seconds=None: real_local(NOW if seconds is None else seconds)
    time.gmtime = lambda seconds=None: real_utc(NOW if seconds is None else seconds)
    time.strftime = lambda form, moment=None: real_text(
        form, real_local(NOW) if moment is None else moment
    )
