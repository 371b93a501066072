"""The files a project consists of; an export or a save must not overwrite one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from studio.engine.core.errors import DataError


def paths_of(reference: Mapping[str, object], folder: Path) -> Iterator[Path]:
    """The files and folders a reference names, from the folder its relative paths start at."""
    for name in ("path", "x", "y", "images", "labels"):
        text = reference.get(name)
        if isinstance(text, str) and text and "\0" not in text:
            yield folder / text


def refuse_source(
    path: Path, project: Path | None, data: Mapping[str, object] | None, folder: Path
) -> None:
    """DataError where a file about to be written is the project's own or one of its data's.

    Args:
        path: what is to be written.
        project: the project's file, if it has one.
        data: the reference of its data, if it has any.
        folder: where relative paths of the data start.
    """
    sources = () if data is None else tuple(paths_of(data, folder))
    for what, files in (("project", (project,)), ("project's data", sources)):
        if any(each is not None and _is_same(path, each) for each in files):
            raise DataError(
                f"the {what} would be overwritten", who=str(path), hint="choose another name"
            )


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file that is there."""
    with suppress(OSError):
        return path.samefile(other)
    return False
