"""The bin of deleted runs: for some minutes a deleted run can be had back, then it is gone."""

from __future__ import annotations

import logging
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import DataError
from studio.engine.train.runs.run_folder import RunFolder

_LOG = logging.getLogger(__name__)

FOLDER = ".bin"
KEPT_SECONDS = 600.0

_ENTRY = re.compile(r"(\d{10,12})\.(.+)\Z")


@dataclass(frozen=True)
class Binned:
    """A deleted run.

    Attributes:
        path: its folder in the bin.
        home: its folder before it was deleted.
    """

    path: Path
    home: Path


def put_away(run: RunFolder) -> Binned:
    """Move a run into the bin beside it; DataError where that fails."""
    folder = run.path.parent / FOLDER
    target = folder / f"{int(time.time())}.{run.name}"
    try:
        folder.mkdir(exist_ok=True)
        run.path.rename(target)
    except OSError as error:
        raise DataError(f"cannot be deleted: {error.strerror}", who=run.name) from error
    return Binned(target, run.path)


def take_back(binned: Binned) -> RunFolder:
    """Move a run out of the bin again; DataError when it is gone or its place is taken."""
    try:
        if binned.home.exists():
            raise DataError("another run has this name", who=binned.home.name)
        binned.path.rename(binned.home)
    except OSError as error:
        raise DataError(f"cannot be restored: {error.strerror}", who=binned.home.name) from error
    return RunFolder(binned.home)


def empty(runs: Path, older_than: float = KEPT_SECONDS) -> int:
    """Remove what has been in the bin for so many seconds; how many runs were removed."""
    folder = runs / FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return 0
    removed = 0
    limit = time.time() - older_than
    for entry in folder.iterdir():
        found = _ENTRY.match(entry.name)
        if found is None or int(found[1]) > limit or entry.is_symlink():
            continue
        try:
            shutil.rmtree(entry)
            removed += 1
        except OSError as error:
            _LOG.warning("a deleted run stays in the bin: %s", error)
    return removed
