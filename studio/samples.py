"""The sample projects: where they are, and how to open one as a copy of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from studio.engine.core.errors import DataError


def sample_root() -> Path:
    """The folder of sample projects: the packaged ones, or ``projects/`` of a checkout.

    Returns:
        A folder to read from; an installed Glassbox never writes into it.
    """
    package = Path(__file__).resolve().parent
    packaged = package / "projects"
    return packaged if packaged.is_dir() else package.parent / "projects"


def sample_names() -> list[str]:
    """The names of all samples, sorted: each is a folder that holds ``<name>.glassbox``."""
    root = sample_root()
    if not root.is_dir():
        return []
    return sorted(
        folder.name for folder in root.iterdir() if (folder / f"{folder.name}.glassbox").is_file()
    )


def open_copy(name: str, into: Path) -> Path:
    """Copy a sample, with its data, to a folder of the user's and return its project file.

    A project that already stands there is kept as it is, with its runs: the copy is the user's.

    Args:
        name: one of :func:`sample_names`.
        into: the folder that gets ``<name>/``; made when missing.

    Returns:
        The path of ``<into>/<name>/<name>.glassbox``.

    Raises:
        DataError: there is no such sample, or the folder cannot be written.
    """
    names = sample_names()
    if name not in names:
        raise DataError(
            f"unknown sample project: expected one of {', '.join(names) or '(none)'}, got {name!r}",
            who="samples",
        )
    source, target = sample_root() / name, into / name
    project = target / f"{name}.glassbox"
    if project.is_file():
        return project
    ignored = shutil.ignore_patterns("*.runs", "__pycache__", "*.part")
    try:
        # copyfile leaves permissions behind: a sample may be read-only where it is installed.
        shutil.copytree(
            source, target, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True
        )
    except OSError as error:
        reason = error.strerror or "some files could not be copied"
        raise DataError(
            f"the sample project cannot be copied there: {reason}", who=str(target)
        ) from error
    return project
