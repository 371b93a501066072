"""What a worker of a cluster gets of a project's files: its data, known by their hash."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from studio.engine.core.errors import DataError, cleaned
from studio.engine.core.options import Plain
from studio.engine.train.data.source_files import resolve_source, size_text
from studio.engine.train.project.project import Project

PATHS = ("path", "x", "y", "images", "labels")
"""Fields of a data section that name files or folders."""
MAX_BYTES = 4 << 30
_NAME = re.compile(r"(?!\.{1,2}(?:/|\Z))[^\x00-\x1f\\:]{1,255}\Z")


@dataclass(frozen=True)
class Bundle:
    """Files by the names they get in a worker's folder, and the data section that names them so.

    Attributes:
        files: contents by relative name, parts joined by slashes.
        data: the data section; None for a project without data.
    """

    files: Mapping[str, bytes]
    data: Mapping[str, Plain] | None

    @property
    def digest(self) -> str:
        """SHA-256 of names and contents."""
        made = hashlib.sha256()
        for name in sorted(self.files):
            made.update(f"{name}\0{len(self.files[name])}\0".encode())
            made.update(self.files[name])
        return made.hexdigest()

    @classmethod
    def of_project(cls, project: Project) -> Bundle:
        """The files that the data of a project consists of.

        Raises:
            DataError: one is missing or cannot be read, or they are too large to send.
        """
        if project.data is None:
            return cls({}, None)
        data, files, size = project.data.to_json(), dict[str, bytes](), 0
        for field in PATHS:
            text = data.get(field)
            if not isinstance(text, str) or not text:
                continue
            source = resolve_source(project.folder, text)
            # Where it lies on this machine is no business of another.
            data[field] = f"{field}/{source.name}" if source.name else field
            for name, path in _files(source):
                sent = "/".join(filter(None, (str(data[field]), name)))
                if not _is_plain(sent):
                    raise DataError(
                        "a file of this name cannot be sent to a cluster",
                        who=cleaned(str(path)),
                        hint="rename it: without colons, backslashes and control characters",
                    )
                try:
                    size += path.stat().st_size
                    if size > MAX_BYTES:
                        raise DataError(
                            f"the data is larger than {size_text(MAX_BYTES)}, which is the most "
                            "that is sent to a cluster",
                            who=project.name,
                        )
                    files[sent] = path.read_bytes()
                except OSError as error:
                    raise DataError(f"cannot be read: {error.strerror}", who=str(path)) from error
        return cls(files, data)


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """The regular files of a source, by their names below it; one file has none."""
    if not source.is_dir():
        yield "", source
        return
    for folder, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file():
                yield path.relative_to(source).as_posix(), path


def unpacked(files: Mapping[str, bytes], digest: str, root: Path) -> Path:
    """The folder with the files of a bundle; made once below ``root``.

    Raises:
        DataError: they are not those of the digest, or a name leads out of the folder.
    """
    place = root / f"glassbox-{digest}"
    if place.is_dir():
        return place
    if Bundle(files, None).digest != digest:
        raise DataError("the files of the sweep arrived damaged", who="sweep")
    root.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".glassbox-", dir=root))
    try:
        write_files(files, made)
        try:
            made.rename(place)
        except OSError:
            # Another trial of this machine was sooner.
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


def file_names(folder: Path) -> list[str]:
    """Names of all files below a folder."""
    return [name for name, _ in _files(folder)] if folder.is_dir() else []


def read_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their names below it."""
    return {name: path.read_bytes() for name, path in _files(folder)}


def place_of(name: str, folder: Path) -> Path:
    """Where a file that a worker sent belongs; DataError for a name that leads elsewhere."""
    if not _is_plain(name):
        raise DataError(f"a worker sent a file of the name {name!r}", who="cluster")
    return folder.joinpath(*PurePosixPath(name).parts)


def _is_plain(name: str) -> bool:
    """Whether a name leads to one and the same place below a folder on every system."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and all(map(_NAME.match, parts))


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files below a folder; DataError for a name that leads out of it, before any is."""
    for path, content in [(place_of(name, folder), content) for name, content in files.items()]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
