"""Copies of a document in the user's own folder: twenty of each, the oldest go first."""

from __future__ import annotations

import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from studio.engine.formats.atomic import write_atomic
from studio.engine.train.project import SUFFIX
from studio.session.document.files.project_file import project_of_state
from studio.session.document.state import DocumentState

KEPT = 20
UNTITLED_DAYS = 30

_UNTITLED = "untitled-"
_DAY = 86_400.0


def write_copy(folder: Path, path: Path | None, uuid: str, state: DocumentState) -> Path:
    """Write a state as a project file of its own; where it is.

    Args:
        folder: where copies of all documents are kept.
        path: the document's file, by which its copies stay together from window to window.
        uuid: of the document, for one without a file.
        state: what is written.

    Raises:
        StudioError: it cannot be written.
    """
    into = _folder_of(folder, path, uuid)
    with suppress(OSError):
        # Where the folder cannot be made, the write below says why.
        into.mkdir(parents=True, exist_ok=True)
    target = into / f"{_stamp()}{SUFFIX}"
    write_atomic(target, project_of_state(state).text().encode("utf-8"))
    for old in sorted(into.glob(f"*{SUFFIX}"), reverse=True)[KEPT:]:
        with suppress(OSError):
            old.unlink()
    return target


def copies_of(folder: Path, path: Path | None, uuid: str) -> tuple[Path, ...]:
    """The copies of a document, the newest first."""
    into = _folder_of(folder, path, uuid)
    return tuple(sorted(into.glob(f"*{SUFFIX}"), reverse=True)) if into.is_dir() else ()


def sweep_copies(folder: Path) -> None:
    """Delete copies of documents that never had a file, after a month."""
    limit = time.time() - UNTITLED_DAYS * _DAY
    for into in folder.glob(f"{_UNTITLED}*") if folder.is_dir() else ():
        with suppress(OSError):
            for copy in into.glob(f"*{SUFFIX}"):
                if copy.stat().st_mtime < limit:
                    copy.unlink()
            if not any(into.iterdir()):
                into.rmdir()


def _folder_of(folder: Path, path: Path | None, uuid: str) -> Path:
    if path is None:
        return folder / f"{_UNTITLED}{uuid}"
    mark = sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"{path.stem[:40]}-{mark}"


def _stamp() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%d_%H-%M-%S', time.gmtime(now))}-{int(now * 1e6) % 10**6:06d}"
