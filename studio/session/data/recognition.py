"""Tells what a file or folder of the user's holds, by content and name, and how to refer to it."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import DataError, FormatError, StudioError, quoted
from studio.engine.core.options import Plain
from studio.engine.train.data.arrays.array_files import map_npy, open_npz, read_npy
from studio.engine.train.data.images.decode import IMAGE_SUFFIXES
from studio.engine.train.data.images.folder import class_folders
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES
from studio.engine.train.data.source_files import open_regular
from studio.session.data.columns import ColumnPeek, TablePeek, peek_table
from studio.session.data.mapping import (
    SIDES,
    Ends,
    SourcePart,
    is_several,
    mapped,
    mapped_by_name,
    missing_ends,
)
from studio.session.data.peeking import are_pairs, by_name_source, parts_of_source

_TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".data")
_IDX_TYPES = frozenset(b"\x08\x09\x0b\x0c\x0d\x0e")
_IMAGE_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_LABEL_WORDS = ("label", "labels", "class", "target", "species", "category", "y")
_PARTNERS = (("x", "y"), ("X", "y"), ("images", "labels"), ("samples", "labels"),
             ("data", "labels"), ("data", "target"), ("features", "targets"))  # fmt: skip
_DEPTH = 3
_NAMED = 6
"""Names of parts a note holds at most."""


@dataclass(frozen=True)
class Recognised:
    """What a path was taken for.

    Attributes:
        reference: the data reference of a project, paths as they are to be stored.
        kind: in a few words: ``table``, ``folder of images``.
        notes: what was decided on the user's behalf, one sentence each.
    """

    reference: dict[str, Plain]
    kind: str
    notes: tuple[str, ...] = ()


def recognise(path: Path, base: Path | None = None, ends: Ends = ()) -> Recognised:
    """What a file or folder is.

    Args:
        path: the file or folder.
        base: the project's folder; what lies inside is referred to relative to it.
        ends: inputs and outputs of the network; the parts of a file go to them by name where there
            are several of either, or arrays that have their names.

    Raises:
        DataError: it is nothing a network can be trained on, and what would be.
    """
    path = path.absolute()
    if path.is_dir():
        return _by_name(_folder(path, base, _DEPTH), base, ends)
    return _by_name(_file(path, base), base, ends)


def _by_name(found: Recognised, base: Path | None, ends: Ends) -> Recognised:
    """What was recognised, with a mapping by name where the network has several ends."""
    source = by_name_source(found.reference)
    if source is None:
        return found
    several = is_several(ends) or source["source"] == "folders"
    if not several and (source["source"] != "arrays" or len(ends) != len(SIDES)):
        return found
    try:
        parts = parts_of_source(source, base or Path())
    except StudioError:
        # The loader says what is wrong, where the problems are listed.
        return found
    if not (several or _are_named(parts, ends)):
        return found
    made = mapped_by_name(source, parts, ends)
    missing = missing_ends(made, ends)
    notes = [
        f"{end.title}: {', '.join(keys[:_NAMED])}{' …' * (len(keys) > _NAMED)}"
        for end in ends
        if (keys := mapped(made, end.side).get(end.name))
    ]
    notes += [f"nothing goes to the {end.title} yet" for end in missing]
    return Recognised(made, found.kind, tuple(notes))


def _are_named(parts: Sequence[SourcePart], ends: Ends) -> bool:
    """Whether arrays have the names of inputs and outputs, and not the usual ones."""
    keys = {part.key for part in parts}
    usual = any(keys.issuperset(pair) for pair in _PARTNERS)
    named = {key.casefold() for key in keys}.issuperset(end.name.casefold() for end in ends)
    return named and not usual


def recognise_pair(first: Path, second: Path, base: Path | None = None) -> Recognised:
    """What two files chosen together are: samples and labels, in whichever order.

    Raises:
        DataError: they do not belong together.
    """
    paths = (first.absolute(), second.absolute())
    ranks = [_rank(path) for path in paths]
    if None in ranks or len({path.suffix.lower() == ".npy" for path in paths}) > 1:
        raise DataError(
            "two files together are samples and labels, as NumPy arrays (.npy) or IDX files",
            who=f"{first.name}, {second.name}",
            hint="choose one file, or a folder",
        )
    samples, labels = paths
    if (ranks[0] or 0) < (ranks[1] or 0) or (ranks[0] == ranks[1] and _sounds_like_labels(first)):
        samples, labels = labels, samples
    is_numpy = samples.suffix.lower() == ".npy"
    names = ("x", "y") if is_numpy else ("images", "labels")
    reference: dict[str, Plain] = {
        "source": "npz" if is_numpy else "idx",
        names[0]: stored_path(samples, base),
        names[1]: stored_path(labels, base),
    }
    note = f"samples are read from {samples.name}, labels from {labels.name}"
    return Recognised(reference, "NumPy arrays" if is_numpy else "IDX files", (note,))


def _rank(path: Path) -> int | None:
    """How many axes an array file has; None for any other file."""
    if path.suffix.lower() == ".npy":
        try:
            return map_npy(path).ndim
        except FormatError:
            # Columns one after another cannot be mapped; damage is said by the reading too.
            return read_npy(path).ndim
    stream, _ = open_regular(path)
    with stream:
        start = stream.read(4)
    return _idx_start(path, start)[3] if _is_idx(path, start) else None


def _sounds_like_labels(path: Path) -> bool:
    words = re.split(r"[^a-z]+", path.stem.lower())
    return any(word in _LABEL_WORDS or word == "targets" for word in words)


def stored_path(path: Path, base: Path | None) -> str:
    """How a project in ``base`` refers to a path: relative inside its folder, else absolute."""
    if base is not None:
        with suppress(OSError, ValueError):
            return path.resolve().relative_to(base.resolve()).as_posix()
    return str(path)


def moved_reference(reference: dict[str, Plain], old: Path, new: Path) -> dict[str, Plain]:
    """The reference as a project in folder ``new`` has it that was in ``old`` before."""
    made = dict(reference)
    for key in ("path", "x", "y", "images", "labels"):
        text = made.get(key)
        if isinstance(text, str) and text:
            made[key] = stored_path(old / text, new)
    return made


def _file(path: Path, base: Path | None) -> Recognised:
    stream, _ = open_regular(path)
    with stream:
        start = stream.read(64)
    if start.startswith(b"\x93NUMPY"):
        return _npy_pair(path, base)
    if start.startswith(b"PK"):
        return _archive(path, base)
    if _is_idx(path, start):
        return _idx(path, base)
    suffix = path.suffix.lower()
    if start.startswith(_IMAGE_STARTS) or suffix in IMAGE_SUFFIXES:
        raise DataError(
            "one image is not a data set",
            who=path.name,
            hint="choose a folder with one folder of images per class",
        )
    if suffix == ".glassbox":
        raise DataError("this is a project, not data", who=path.name, hint="open it instead")
    if b"\0" not in start and (suffix in _TABLE_SUFFIXES or _reads_as_table(path)):
        return _table(path, base)
    raise DataError(
        f"the format of {quoted(path.name)} is not supported",
        who=path.name,
        hint="choose a table (CSV), NumPy arrays (.npz, .npy), IDX files or a folder of images",
    )


def _idx_start(path: Path, start: bytes) -> bytes:
    """The first bytes of a file, unpacked where they are packed."""
    if not start.startswith(b"\x1f\x8b"):
        return start
    try:
        with gzip.open(path) as unpacked:
            return unpacked.read(4)
    except (OSError, EOFError, zlib.error):
        return b""


def _is_idx(path: Path, start: bytes) -> bool:
    start = _idx_start(path, start)
    return len(start) >= 4 and start[:2] == b"\0\0" and start[2] in _IDX_TYPES and 0 < start[3] <= 8


def _idx(path: Path, base: Path | None) -> Recognised:
    kind = "IDX files"
    names = _names(path.parent)
    if "train-" in path.name and any(n.startswith(("t10k-images", "test-images")) for n in names):
        note = f"the test part in the folder of {path.name} is used too"
        return Recognised({"source": "idx", "path": stored_path(path.parent, base)}, kind, (note,))
    if "labels" in path.name:
        images = path.with_name(path.name.replace("labels", "images").replace("idx1", "idx3"))
        if not images.is_file():
            raise DataError(f"the images file {images.name} is missing", who=path.name)
        return Recognised(
            {"source": "idx", "images": stored_path(images, base),
             "labels": stored_path(path, base)}, kind,
        )  # fmt: skip
    return Recognised({"source": "idx", "images": stored_path(path, base)}, kind)


def _archive(path: Path, base: Path | None) -> Recognised:
    """An archive; where it holds two arrays of unusual names, they are samples and labels."""
    reference: dict[str, Plain] = {"source": "npz", "path": stored_path(path, base)}
    try:
        with open_npz(path) as archive:
            keys = archive.keys
            unusual = len(keys) == 2 and not any(set(pair) == set(keys) for pair in _PARTNERS)
            ranks = {key: archive.read(key).ndim for key in keys} if unusual else {}
    except StudioError:
        # The loader says what is wrong, where the problems are listed.
        return Recognised(reference, "NumPy archive")
    if len(set(ranks.values())) < 2:
        return Recognised(reference, "NumPy archive")
    labels, samples = sorted(keys, key=lambda key: ranks[key])
    reference |= {"x_key": samples, "y_key": labels}
    note = f"samples: {samples!r}, labels: {labels!r}"
    return Recognised(reference, "NumPy archive", (note,))


def _npy_pair(path: Path, base: Path | None) -> Recognised:
    for samples, labels in _partners(path):
        if samples.is_file() and labels.is_file():
            reference: dict[str, Plain] = {
                "source": "npz", "x": stored_path(samples, base), "y": stored_path(labels, base),
            }  # fmt: skip
            return Recognised(reference, "NumPy arrays", (f"labels are read from {labels.name}",))
    # A damaged file holds none: what is wrong with it is said instead.
    read_npy(path)
    raise DataError(
        "this file holds one array, but samples and labels are needed",
        who=path.name,
        hint="choose both files together, name them x.npy and y.npy, or save both into one .npz",
    )


def _partners(path: Path) -> Iterable[tuple[Path, Path]]:
    """Pairs of a samples and a labels file this one may be half of."""
    words = path.stem.replace("-", "_").split("_")
    for samples, labels in _PARTNERS:
        for own, other in ((samples, labels), (labels, samples)):
            if own not in words:
                continue
            at = path.stem.find(own)
            name = path.stem[:at] + other + path.stem[at + len(own) :] + path.suffix
            partner = path.with_name(name)
            yield (path, partner) if own == samples else (partner, path)


def _reads_as_table(path: Path) -> bool:
    try:
        return len(peek_table(path).columns) > 1
    except StudioError:
        return False


def _table(path: Path, base: Path | None) -> Recognised:
    reference: dict[str, Plain] = {"source": "csv", "path": stored_path(path, base)}
    try:
        table = peek_table(path)
    except StudioError:
        # The loader says what is wrong, by row and column, where the problems are listed.
        return Recognised(reference, "table")
    notes = []
    label = _label_column(table)
    if label is not None:
        reference["label"] = label
        notes.append(f"label: column {label!r}")
    elif any(column.name.lower() in _LABEL_WORDS for column in table.columns[:-1]):
        notes.append(f"label: column {table.columns[-1].name!r}, which holds classes")
    chosen = label if label is not None else table.columns[-1].name
    texts = [c.name for c in table.columns if c.kind == "text" and c.name != chosen]
    if texts and len(texts) < len(table.columns) - 1:
        reference["drop"] = list(texts)
        notes.append(
            f"text columns left out: {', '.join(texts[:_NAMED])}{' …' * (len(texts) > _NAMED)}"
        )
    return Recognised(reference, "table", tuple(notes))


def _label_column(table: TablePeek) -> str | None:
    """The column called like a label, where that is not the last, which is taken anyway.

    A last column of few texts is a class, and a column of many numbers beside it a feature, even
    if it is called y.
    """
    if not table.has_header:
        return None
    last = table.columns[-1]
    are_classes = last.kind == "text" and _are_few(last, table)
    for column in table.columns[:-1]:
        if column.name.lower() not in _LABEL_WORDS:
            continue
        if not are_classes or column.kind != "numbers" or _are_few(column, table):
            return column.name
    return None


def _are_few(column: ColumnPeek, table: TablePeek) -> bool:
    """Whether the cells of a column come again and again, as those of classes do."""
    return column.distinct <= MAX_GUESSED_CLASSES and 2 * column.distinct <= len(table.rows)


def _folder(path: Path, base: Path | None, depth: int) -> Recognised:
    names = _names(path)
    if any("train-images" in name for name in names):
        return Recognised({"source": "idx", "path": stored_path(path, base)}, "IDX files")
    folders = class_folders(path)
    files = [name for name in names if not (path / name).is_dir()]
    if are_pairs(path):
        reference: dict[str, Plain] = {"source": "folders", "path": stored_path(path, base)}
        return Recognised(reference, "images and masks")
    if len(folders) >= 2:
        return Recognised({"source": "images", "path": stored_path(path, base)}, "folder of images")
    arrays = [name for name in files if name.endswith(".npy")]
    for name in arrays:
        with suppress(DataError):
            return _npy_pair(path / name, base)
    tables = [n for n in files if n.lower().endswith((".csv", ".tsv", ".npz"))]
    if len(tables) == 1:
        return _file(path / tables[0], base)
    if len(folders) == 1 and not files and depth:
        return _folder(path / folders[0], base, depth - 1)
    pictures = any(name.lower().endswith(IMAGE_SUFFIXES) for name in files)
    raise DataError(
        "its images are not sorted into class folders" if pictures else
        "this folder holds no supported data",
        who=path.name,
        hint="create one folder per class and move its images there",
    )  # fmt: skip


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", who=folder.name) from None
