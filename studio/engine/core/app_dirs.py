"""Where the studio keeps what belongs to the user and not to a project."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

NAME = "glassbox"
CONFIG_VARIABLE = "GLASSBOX_CONFIG_DIR"
"""Folder to use for the configuration instead of the platform's."""


@dataclass(frozen=True)
class AppDirs:
    """Folders; they are made when something is first written there.

    Attributes:
        config: preferences, layouts, shortcuts, published blocks.
        state: journals of unsaved work, recent files, history of use.
        cache: what can be made again: thumbnails, measured peaks, compiled kernels.
        data: projects and runs that have no file of their own yet.
    """

    config: Path
    state: Path
    cache: Path
    data: Path

    @property
    def examples(self) -> Path:
        """The user's copies of the example projects."""
        return self.data / "projects"

    @classmethod
    def below(cls, root: Path) -> AppDirs:
        """All of them in one folder."""
        return cls(root / "config", root / "state", root / "cache", root / "data")

    @classmethod
    def of_user(cls) -> AppDirs:
        """The platform's folders (on Linux those of the XDG base directory specification)."""
        found = cls._of_platform()
        given = os.environ.get(CONFIG_VARIABLE, "")
        return replace(found, config=Path(given)) if given else found

    @classmethod
    def _of_platform(cls) -> AppDirs:
        home = Path.home()
        if sys.platform == "win32":
            local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
            return cls.below(local / "Glassbox")
        if sys.platform == "darwin":
            library = home / "Library"
            support = library / "Application Support" / "Glassbox"
            return cls(
                support / "config", support / "state", library / "Caches" / "Glassbox",
                support / "data",
            )  # fmt: skip
        return cls(
            _xdg("XDG_CONFIG_HOME", home / ".config"),
            _xdg("XDG_STATE_HOME", home / ".local" / "state"),
            _xdg("XDG_CACHE_HOME", home / ".cache"),
            _xdg("XDG_DATA_HOME", home / ".local" / "share"),
        )


def _xdg(variable: str, default: Path) -> Path:
    # The specification says that a relative path is to be ignored.
    given = os.environ.get(variable, "")
    return (Path(given) if given.startswith("/") else default) / NAME
