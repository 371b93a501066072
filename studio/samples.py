"""The sample projects: where they are, and how to open one as a copy of one's own."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from itertools import count
from pathlib import Path

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean

_LEFT_OUT = shutil.ignore_patterns("*.runs", "__pycache__", "*.part")


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
    source, target = _source(name), into / name
    project = target / f"{name}.glassbox"
    if project.is_file():
        return project
    try:
        _copy(source, target)
    except OSError as error:
        raise _not_copied(target, error) from error
    return project


def pristine_copy(name: str, into: Path) -> Path:
    """Make an unchanged copy of a sample, and return its project file.

    Copies that were changed are left alone: the next one is ``<name>-2``, and so on. An unchanged
    one is used again, with the runs trained in it.

    Args:
        name: one of :func:`sample_names`.
        into: the folder that gets the copies; made when missing.

    Raises:
        DataError: there is no such sample, or the folder cannot be written.
    """
    source = _source(name)
    for number in count(1):
        called = name if number == 1 else f"{name}-{number}"
        target = into / called
        if not target.exists():
            break
        if _is_pristine(source, target):
            return target / f"{called}.glassbox"
    # Under another name until it is whole: a copy that was cut short is never taken for one.
    made = into / f".{called}.{os.getpid()}.part"
    try:
        try:
            _copy(source, made)
            (made / f"{name}.glassbox").rename(made / f"{called}.glassbox")
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise _not_copied(target, error) from error
    return target / f"{called}.glassbox"


def changed_copies(name: str, into: Path) -> list[Path]:
    """Project files of the changed copies of a sample, the newest first."""
    source, found = _source(name), []
    for folder in into.iterdir() if into.is_dir() else ():
        project = folder / f"{folder.name}.glassbox"
        if sample_of(project, into) == name and not _is_pristine(source, folder):
            found.append(project)
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def sample_of(project: Path | None, into: Path) -> str:
    """Name of the sample that a project is a copy of; empty for any other project.

    Args:
        project: a project file.
        into: the folder that copies are made in.
    """
    if project is None or not project.is_file():
        return ""
    place = project.resolve()
    if place.parent.parent != into.resolve() or place.stem != place.parent.name:
        return ""
    found = re.sub(r"-[0-9]+$", "", place.stem)
    return next((name for name in (place.stem, found) if name in sample_names()), "")


def _source(name: str) -> Path:
    names = sample_names()
    if name not in names:
        raise DataError(
            f"unknown sample project: expected one of {', '.join(names) or '(none)'}, "
            f"got {quoted(name)}",
            who="samples",
            hint=did_you_mean(name, names),
        )
    return sample_root() / name


def _copy(source: Path, target: Path) -> None:
    # copyfile leaves permissions behind: a sample may be read-only where it is installed.
    shutil.copytree(
        source, target, ignore=_LEFT_OUT, copy_function=shutil.copyfile, dirs_exist_ok=True
    )


def _is_pristine(source: Path, copy: Path) -> bool:
    """Whether every file of a sample is unchanged in its copy; the project may be renamed."""
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if not path.is_file() or _LEFT_OUT("", [*place.parts]):
            continue
        if place.name == f"{source.name}.glassbox":
            place = Path(f"{copy.name}.glassbox")
        try:
            if not filecmp.cmp(path, copy / place, shallow=False):
                return False
        except OSError:
            return False
    return True


def _not_copied(target: Path, error: OSError) -> DataError:
    reason = error.strerror or "some files could not be copied"
    return DataError(f"the sample project cannot be copied there: {reason}", who=str(target))
