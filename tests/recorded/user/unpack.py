"""Puts the files of a user of an earlier version where a test wants them.

``0.1.0.zip`` was recorded by `tests.recorded.user.record` in commit b1df738, under the names its
modules had then. ``continued.safetensors`` is what `glassbox train iris.glassbox --epochs 4
--resume --backend cpu` of that commit then made of the newer run.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

RECORDED = Path("/tmp/glassbox")
"""Where the files were when they were recorded; their texts name it."""

_ARCHIVE = Path(__file__).with_name("0.1.0.zip")


def unpack(folder: Path) -> Path:
    """Put the files into ``folder``, to which the texts point from then on; returns the project."""
    with zipfile.ZipFile(_ARCHIVE) as archive:
        archive.extractall(folder)
    for path in folder.glob("state/*.json"):
        text = path.read_text("utf-8")
        path.write_text(text.replace(str(RECORDED), str(folder.resolve())), "utf-8")
    return folder / "projects/iris/iris.glassbox"
