"""The parts of a source that can go to inputs and outputs, by name: looked at, not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np

from studio.engine.core.options import Plain
from studio.engine.train.data.arrays.array_files import open_npz
from studio.engine.train.data.arrays.named_arrays import input_shape
from studio.engine.train.data.csv.rows import parse_delimiter
from studio.engine.train.data.images.decode import IMAGE_SUFFIXES
from studio.engine.train.data.images.folder import class_folders, walk
from studio.engine.train.data.named_parts import MAX_ARRAYS
from studio.engine.train.data.references import TABLE_RULES
from studio.engine.train.data.source_files import resolve_source
from studio.session.data.columns import peek_table
from studio.session.data.mapping import SourcePart, is_mask_folder
from studio.session.data.sources import default_normalization

_ARCHIVES = ("npz", "arrays")
_TABLES = ("csv", "columns")
_LOOKED_AT = 20_000
"""Files of a folder that are looked at before it is read."""


def has_parts(reference: Mapping[str, object]) -> bool:
    """Whether a source has parts that can go to inputs and outputs by name."""
    return by_name_source(reference) is not None


def by_name_source(reference: Mapping[str, object]) -> dict[str, Plain] | None:
    """The source whose parts are mapped by name that reads the same files, without a mapping."""
    path = reference.get("path")
    if not isinstance(path, str) or not path:
        return None
    if reference.get("source") in _ARCHIVES:
        return {"source": "arrays", "path": path}
    if reference.get("source") in _TABLES:
        made: dict[str, Plain] = {"source": "columns", "path": path}
        for option in ("header", "delimiter"):
            given = reference.get(option)
            if isinstance(given, bool | str):
                made[option] = given
        return made | _rules_of(reference, TABLE_RULES)
    if reference.get("source") == "folders":
        return {"source": "folders", "path": path, **_rules_of(reference, ("bad_images",))}
    return None


def _rules_of(reference: Mapping[str, object], names: Sequence[str]) -> dict[str, Plain]:
    """What a reference says of bad rows and images, and of columns of categories."""
    return {key: cast(Plain, reference[key]) for key in names if reference.get(key) is not None}


def parts_of_source(reference: Mapping[str, object], folder: Path) -> tuple[SourcePart, ...]:
    """The parts of a source; none where it has no parts to choose.

    Raises:
        StudioError: what the file cannot be opened for.
    """
    source = by_name_source(reference)
    if source is None:
        return ()
    path = resolve_source(folder, str(source["path"]))
    if source["source"] == "columns":
        return column_parts(path, source)
    if source["source"] == "folders":
        return folder_parts(path)
    return array_parts(path)


def array_parts(path: Path) -> tuple[SourcePart, ...]:
    """The arrays of an archive by their headers; raises what opening it raises."""
    with open_npz(path) as archive:
        headers = {key: archive.header(key) for key in archive.keys[:MAX_ARRAYS]}
    return tuple(_array(key, header.shape, header.dtype) for key, header in headers.items())


def column_parts(path: Path, reference: Mapping[str, object]) -> tuple[SourcePart, ...]:
    """The columns of a table by its first rows; raises what reading it raises."""
    header, delimiter = reference.get("header"), reference.get("delimiter")
    table = peek_table(
        path,
        parse_delimiter(delimiter) if isinstance(delimiter, str) else None,
        header if isinstance(header, bool) else None,
    )
    return tuple(
        SourcePart(
            column.name,
            f"{column.kind}: {', '.join(column.examples)}",
            (1,) if column.kind in ("numbers", "mixed") else None,
            "standard" if column.kind == "numbers" else "none",
            f"{column.kind}: {', '.join(column.examples)}",
        )
        for column in table.columns
    )


def folder_parts(path: Path) -> tuple[SourcePart, ...]:
    """The folders of pictures in a folder; raises what reading it raises."""
    parts = []
    for name in class_folders(path)[:MAX_ARRAYS]:
        names = picture_names(path / name)
        if names:
            count = f"{len(names):,} image{'' if len(names) == 1 else 's'}"
            parts.append(SourcePart(name, count, None, "unit", f"{count}, such as {min(names)}"))
    return tuple(parts)


def are_pairs(path: Path) -> bool:
    """Whether a folder holds pictures and masks: folders called so, with equal file names."""
    folders = class_folders(path)
    masks = [name for name in folders if is_mask_folder(name)]
    if not masks or len(masks) == len(folders):
        return False
    found = {name: picture_names(path / name) for name in folders}
    first = next(found[name] for name in folders if name not in masks)
    return bool(first) and any(found[name] & first for name in masks)


def picture_names(folder: Path) -> set[str]:
    """Names of the pictures in a folder without their endings, at any depth."""
    return {
        each.relative_to(folder).with_suffix("").as_posix()
        for each in islice(walk(folder), _LOOKED_AT)
        if each.suffix.lower() in IMAGE_SUFFIXES and not each.name.startswith(".")
    }


def _array(key: str, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> SourcePart:
    sample = input_shape(shape, dtype)
    is_picture = sample is not None and len(sample) == 3 and sample[2] in (1, 3, 4)
    pixels = is_picture and dtype.name == "uint8"
    normalization = "none"
    if dtype.kind == "f" or pixels:
        normalization = default_normalization("images" if pixels else "table", has_range=pixels)
    kind = "text" if dtype.kind == "U" else dtype.name
    rows = f"{shape[0]:,}" if shape else "no"
    return SourcePart(
        key,
        f"{list(shape)} {kind}",
        sample,
        normalization,
        f"{rows} samples of {kind}" if len(shape) < 2 else f"{rows} samples of {list(shape[1:])}",
    )
