"""Saving a document so that its work is never lost, whatever the disk says."""

from __future__ import annotations

from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.session.data.data import DataModel
from studio.session.document.document import Document
from studio.session.safety.recovery import Recovery


def save_document(
    document: Document, recovery: Recovery, data: DataModel | None = None, path: Path | None = None
) -> Path:
    """Save a document, to where it came from unless told.

    Args:
        document: what is saved.
        recovery: keeps a copy where saving fails.
        data: lets the data stay in reach when the folder changes.
        path: another place.

    Raises:
        StudioError: it cannot be saved; the document stays unsaved, a copy is kept in the user's
            own folder, and the hint says where.
    """
    try:
        if data is not None and path is not None:
            data.before_save(path)
        return document.save(path)
    except StudioError as error:
        error.hint = "; ".join(part for part in (error.hint, _copy(document, recovery)) if part)
        raise


def _copy(document: Document, recovery: Recovery) -> str:
    try:
        return f"a copy is kept in {recovery.keep_copy(document)}"
    except StudioError as error:
        return f"no copy could be kept either: {error.message}"
