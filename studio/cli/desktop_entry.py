"""Glassbox in the menus of a Linux desktop: entry, icons and file type, in the user's own folders.

Everything lies where the XDG base directory, desktop entry, icon theme and shared MIME-info
specifications say, below ``$XDG_DATA_HOME``. Nothing needs or takes the rights of root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import studio
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.formats.atomic import write_atomic

MIME_TYPE = "application/x-glassbox-project"
MARK = "Written by: glassbox desktop install"
"""Stands in the entry and in the file type, so that nothing of the user's own is replaced."""

_WHO = "desktop"
_ICONS = Path(studio.__file__).with_name("icons")
_PNG_SIZES = (48, 128, 256)
_MIME_ICON = MIME_TYPE.replace("/", "-")
_SECONDS = 60

_ENTRY = """\
# {mark}
[Desktop Entry]
Type=Application
Version=1.0
Name=Glassbox
GenericName=Neural network studio
Comment=Build, train and read neural networks
Exec={command} %f
TryExec={program}
Icon=glassbox
Terminal=false
StartupNotify=true
StartupWMClass=Glassbox
Categories=Science;ArtificialIntelligence;
Keywords=neural;network;machine learning;training;
MimeType={mime};
"""

_TYPE = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- {mark} -->
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="{mime}">
    <comment>Glassbox project</comment>
    <sub-class-of type="application/json"/>
    <icon name="{icon}"/>
    <glob pattern="*.glassbox"/>
  </mime-type>
</mime-info>
"""


def own_command() -> tuple[str, ...]:
    """The words that start this Glassbox from anywhere."""
    running = Path(sys.executable)
    if getattr(sys, "frozen", False):
        return (str(running),)
    script = running.with_name("glassbox")
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (str(running), "-m", "studio")


@dataclass(frozen=True)
class DesktopEntry:
    """Glassbox in the menus of one user.

    Attributes:
        data: the user's folder for data, ``$XDG_DATA_HOME``.
    """

    data: Path

    @classmethod
    def of_user(cls) -> DesktopEntry:
        """That of the user who runs this; ParameterError where there is no such thing."""
        if sys.platform in ("win32", "darwin"):
            system = "Windows" if sys.platform == "win32" else "macOS"
            raise ParameterError(
                f"desktop entries are those of Linux desktops, and this is {system}", who=_WHO,
                hint="make a shortcut to the glassbox command",
            )  # fmt: skip
        if os.environ.get("SUDO_USER") and os.geteuid() == 0:
            raise ParameterError(
                "the entry is made for one user, and sudo would make it for root", who=_WHO,
                hint="run it without sudo",
            )  # fmt: skip
        return cls(AppDirs.of_user().data.parent)

    @property
    def entry(self) -> Path:
        """The desktop entry."""
        return self.data / "applications" / "glassbox.desktop"

    @property
    def file_type(self) -> Path:
        """The file type of projects."""
        return self.data / "mime" / "packages" / "glassbox.xml"

    @property
    def icons(self) -> Mapping[Path, Path]:
        """The icons: where each goes, and where it is copied from."""
        theme = self.data / "icons" / "hicolor"
        drawing = _ICONS / "glassbox.svg"
        found = {
            theme / f"{size}x{size}" / "apps" / "glassbox.png": _ICONS / f"glassbox-{size}.png"
            for size in _PNG_SIZES
        }
        found[theme / "scalable" / "apps" / "glassbox.svg"] = drawing
        found[theme / "scalable" / "mimetypes" / f"{_MIME_ICON}.svg"] = drawing
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file, the entry first."""
        return (self.entry, self.file_type, *self.icons)

    @property
    def missing(self) -> tuple[Path, ...]:
        """The files that are not there."""
        return tuple(path for path in self.files if not path.is_file())

    def install(self, command: Sequence[str]) -> None:
        """Write the files, again where they are there already, and tell the desktop.

        Args:
            command: the words that start Glassbox; the first is an absolute path.

        Raises:
            FormatError: a file cannot be written.
            ParameterError: a file of that name is the user's own, or the command cannot be
                written into an entry.
        """
        self._require_own()
        texts = {
            self.entry: _ENTRY.format(
                mark=MARK, mime=MIME_TYPE, program=_as_value(command[0]),
                command=" ".join(map(_as_argument, command)),
            ),
            self.file_type: _TYPE.format(mark=MARK, mime=MIME_TYPE, icon=_MIME_ICON),
        }  # fmt: skip
        contents = {path: text.encode() for path, text in texts.items()}
        contents |= {path: source.read_bytes() for path, source in self.icons.items()}
        for path, content in contents.items():
            # What cannot be made is said by the writing, with its reason.
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, content)
        self._tell_desktop()

    def remove(self) -> tuple[Path, ...]:
        """Delete the files that are there, and tell the desktop; gives those deleted.

        Raises:
            ParameterError: a file of that name is the user's own, or one cannot be deleted.
        """
        self._require_own()
        gone = []
        for path in self.files:
            try:
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ParameterError(
                    f"{path} cannot be deleted: {error.strerror}", who=_WHO
                ) from None
            gone.append(path)
        if gone:
            self._tell_desktop()
        return tuple(gone)

    def _require_own(self) -> None:
        for path in (self.entry, self.file_type):
            with suppress(FileNotFoundError, NotADirectoryError):
                try:
                    is_own = MARK.encode() in path.read_bytes()
                except PermissionError:
                    is_own = False
                if not is_own:
                    raise ParameterError(
                        f"{path} was not written by this command, and stays as it is", who=_WHO,
                        hint="move it away first",
                    )  # fmt: skip

    def _tell_desktop(self) -> None:
        """Have the caches made again; a desktop without these programs looks by itself."""
        with suppress(OSError):
            # Icon caches go by the time of this folder.
            os.utime(self.data / "icons" / "hicolor")
        for program, folder in (
            ("update-mime-database", self.data / "mime"),
            ("update-desktop-database", self.data / "applications"),
        ):
            found = shutil.which(program)
            if found and folder.is_dir():
                with suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(
                        [found, str(folder)], check=False, capture_output=True, timeout=_SECONDS
                    )


def _as_value(text: str) -> str:
    """A text as a value of an entry, whose only escapes are those of the backslash."""
    if not text.isprintable():
        raise ParameterError(
            f"a desktop entry cannot hold the path {quoted(text)}", who=_WHO,
            hint="install Glassbox into a folder with a plain name",
        )  # fmt: skip
    return text.replace("\\", "\\\\")


def _as_argument(word: str) -> str:
    """A word of ``Exec``: in quotes, escaped for them, then as a value of the entry."""
    for letter in '\\"`$':
        word = word.replace(letter, f"\\{letter}")
    return f'"{_as_value(word)}"'.replace("%", "%%")
