"""``glassbox desktop``: the studio in the menus of a Linux desktop, for one user."""

from __future__ import annotations

from typing import Annotated

import typer

from studio.cli import console
from studio.cli.desktop_entry import MIME_TYPE, DesktopEntry, own_command
from studio.cli.options import JsonOption
from studio.engine.core.errors import ParameterError, quoted

ActionArgument = Annotated[
    str, typer.Argument(help="install, remove; left out: say what is there.",
                        metavar="[install|remove]")
]  # fmt: skip


def desktop(action: ActionArgument = "", as_json: JsonOption = False) -> None:
    """Add Glassbox to the menus of your desktop, or take it away again.

    Writes a desktop entry, icons and the file type of .glassbox into your own folders
    (XDG_DATA_HOME); never needs root.
    """
    if action not in ("", "install", "remove"):
        raise ParameterError(f"expected install or remove, got {quoted(action)}", who="desktop")
    entry = DesktopEntry.of_user()
    if action == "install":
        entry.install(own_command())
        said = f"Glassbox is in the menus, and opens {MIME_TYPE}: {entry.entry}"
    elif action == "remove":
        gone = entry.remove()
        said = f"removed {len(gone)} files" if gone else "there was nothing to remove"
    elif entry.missing:
        there = len(entry.files) - len(entry.missing)
        said = f"{there} of {len(entry.files)} files are there; glassbox desktop install adds them"
    else:
        said = f"Glassbox is in the menus: {entry.entry}"
    if as_json:
        files = {str(path): path.is_file() for path in entry.files}
        console.answer_json({"installed": not entry.missing, "files": files})
    else:
        console.say(said)
