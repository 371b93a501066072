"""What a user hands to predict (arrays, images, tables) as one array of the model's input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.tensor import OpenShape
from studio.engine.layers.lengths import fits
from studio.engine.train.data.array_storage import refuse_where, to_float32
from studio.engine.train.data.arrays.array_files import open_npz, read_npy
from studio.engine.train.data.csv.bad_rows import TableRules
from studio.engine.train.data.csv.columns import Columns
from studio.engine.train.data.csv.features import FeatureReader
from studio.engine.train.data.csv.rows import looks_like_header, name_columns, open_table
from studio.engine.train.data.images.decode import IMAGE_SUFFIXES, decode_image
from studio.engine.train.data.input_columns import CategoryOption, InputColumn
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import (
    DEFAULT_LIMITS,
    DataLimits,
    open_regular,
    size_text,
)

_PNG, _JPEG, _BMP, _GIF = b"\x89PNG", b"\xff\xd8\xff", b"BM", b"GIF8"
_ARRAY, _ARCHIVE = b"\x93NUMPY", b"PK"

_BOUNDS = {DType.bool: (0, 1), DType.uint8: (0, 255), DType.int32: (-(1 << 31), (1 << 31) - 1)}

_Kind: TypeAlias = Literal["array", "archive", "image", "table"]


@dataclass(frozen=True, slots=True, eq=False)
class RawInputs:
    """Rows for a model, before normalisation.

    Attributes:
        values: the rows.
        names: a name for each to print beside its answer.
        notes: what was decided about them, one sentence each.
    """

    values: Array
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What a model takes.

    Args:
        shape: shape of one sample.
        dtype: element type of the raw input.
        value_range: raw values that stand for the darkest and the lightest pixel, to which image
            files (0 to 255) are brought; the bundled digits have (0, 16).
        feature_names: columns of a table in the model's order, or empty. A table with a header is
            read by these names, so that it may have other columns, the label too.
        key: array to take from an ``.npz``, or empty for the only one, ``x`` or ``x_test``.
        names: arrays of an ``.npz`` that are taken before those, where it has them.
        open_shape: the shape with None for lengths of which an array may have any; None without.
        columns: columns of a table with their categories, where the model's numbers are made of
            such; a table then has these columns.
    """

    shape: tuple[int, ...]
    dtype: DType = DType.float32
    value_range: tuple[float, float] | None = None
    feature_names: tuple[str, ...] = ()
    key: str = ""
    names: tuple[str, ...] = ()
    open_shape: OpenShape | None = None
    columns: tuple[InputColumn, ...] = ()

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns of a table, by name, or empty."""
        return tuple(each.name for each in self.columns) or self.feature_names


def read_inputs(
    paths: Sequence[Path], spec: InputSpec, limits: DataLimits = DEFAULT_LIMITS
) -> RawInputs:
    """All rows of some files, in their order, as one array [rows, …] of the model's input.

    ``.npy`` and ``.npz`` hold [rows, …], one sample, or flat rows; images are one row each,
    resampled to the model's size; CSV has one row per line; a folder stands for the images
    directly in it, sorted. What a file is, is decided by its content.

    Raises:
        DataError: naming file, row and column of what does not fit.
        FormatError: a damaged or hostile array file.
    """
    parts: list[Array] = []
    names: list[str] = []
    notes: list[str] = []
    for path in _expand(paths, spec.names):
        values = _read_one(path, spec, limits, notes)
        if len(values) == 1:
            names.append(path.name)
        else:
            names.extend(f"{path.name}:{row}" for row in range(len(values)))
        is_part = bool(spec.key) and path.suffix.lower() == ".npz"
        who = f"{path.name}/{spec.key}" if is_part else path.name
        parts.append(_to_dtype(values, spec.dtype, who))
        held = sum(part.nbytes for part in parts)
        if held > limits.array_bytes:
            raise DataError(
                f"the inputs are too large: at most {size_text(limits.array_bytes)} at once",
                who=path.name,
            )
    if not parts:
        raise DataError("there are no inputs", who="input")
    other = next((part for part in parts if part.shape[1:] != parts[0].shape[1:]), None)
    if other is not None:
        raise DataError(
            f"expected files with samples of one length, got {list(parts[0].shape[1:])} and "
            f"{list(other.shape[1:])}",
            who="input",
            hint="give the files one by one",
        )
    joined = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return RawInputs(joined, tuple(names), tuple(notes))


def read_named_inputs(
    paths: Sequence[Path],
    specs: Mapping[str, InputSpec],
    limits: DataLimits = DEFAULT_LIMITS,
    notes: list[str] | None = None,
) -> tuple[list[Array], tuple[str, ...]]:
    """Rows for a network with several inputs, and a name for each row.

    Args:
        paths: one ``.npz`` archive with an array for each input, called as the input or as the key
            of its form; one table, where the columns of every input are known by name; or one
            folder with a folder of images for each input, called so too, paired by name.
        specs: the form of each input by name, in order.
        limits: caps on sizes.
        notes: gets what was decided about them, one sentence each.

    Raises:
        DataError: none of these, a part that is missing or does not fit, unequal lengths.
    """
    path = paths[0] if len(paths) == 1 else None
    tables = all(each.table_columns for each in specs.values())
    images = all(len(each.shape) == 3 for each in specs.values())
    kind = None
    if path is not None:
        kind = "folder" if path.is_dir() else _sniff(path, limits)
        if kind == "folder" and images:
            return _read_folders(path, specs, limits)
        if kind == "table" and tables:
            return _read_named_columns(path, specs, limits, [] if notes is None else notes)
    if path is None or kind != "archive":
        more = ", or a table with their columns" if tables else ""
        more += ", or a folder with a folder of images for each" if images else ""
        raise DataError(
            f"expected one .npz file with an array for each of {', '.join(specs)}{more}",
            who="input" if path is None else path.name,
        )
    with open_npz(path, limits) as archive:
        keys = archive.keys
    found = []
    for name, spec in specs.items():
        key = name if name in keys else spec.key
        if key not in keys:
            raise DataError(
                f"there is no array for the input {quoted(name)}: the archive holds "
                f"{', '.join(quoted(each) for each in keys[:12]) or 'nothing'}",
                who=path.name,
            )
        found.append(read_inputs([path], replace(spec, key=key), limits))
    lengths = {name: len(each.names) for name, each in zip(specs, found, strict=True)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{quoted(name)} has {count}" for name, count in lengths.items())
        raise DataError(f"all inputs need the same number of rows: {shown}", who=path.name)
    return [each.values for each in found], found[0].names


def _read_named_columns(
    path: Path, specs: Mapping[str, InputSpec], limits: DataLimits, notes: list[str]
) -> tuple[list[Array], tuple[str, ...]]:
    """The rows of a table for each input, by the names of its columns."""
    with open_table(path, None, limits) as table:
        first = next(table.rows(), None)
        columns = () if first is None else first.cells
    for name, spec in specs.items():
        missing = next((each for each in spec.table_columns if each not in columns), None)
        if missing is not None:
            raise DataError(
                f"the first row names no column {quoted(missing)}, which the input {quoted(name)} "
                "takes",
                who=path.name,
            )
    found = [read_inputs([path], spec, limits) for spec in specs.values()]
    for each in found:
        notes += each.notes
    return [each.values for each in found], found[0].names


def _read_folders(
    path: Path, specs: Mapping[str, InputSpec], limits: DataLimits
) -> tuple[list[Array], tuple[str, ...]]:
    """The images of a folder for each input, paired by their names without the ending."""
    found: list[Array] = []
    stems, first = list[str](), tuple[str, ...]()
    for name, spec in specs.items():
        folder = _folder_of(path, (name, spec.key))
        if folder is None:
            raise DataError(
                f"there is no folder {quoted(name)} with the images of that input", who=path.name
            )
        files = _expand([folder])
        own = [file.stem for file in files]
        if stems and own != stems:
            odd = sorted(set(own) ^ set(stems)) or own
            raise DataError(
                f"each input needs an image of the same name: only one has {quoted(odd[0])}",
                who=path.name,
            )
        read = read_inputs(files, spec, limits)
        stems, first = own, first or read.names
        found.append(read.values)
    return found, first


def _folder_of(path: Path, names: Sequence[str]) -> Path | None:
    """The folder in another one that has the first of some names."""
    return next((path / name for name in names if name and (path / name).is_dir()), None)


def _expand(paths: Sequence[Path], names: Sequence[str] = ()) -> list[Path]:
    """The files meant; a folder gives its images, or those of a folder of these names in it."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        try:
            images = _images_in(path)
            inner = None if images else _folder_of(path, names)
            images = images if inner is None else _images_in(inner)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", who=path.name) from None
        if not images:
            raise DataError("the folder holds no images", who=path.name)
        files.extend(images)
    return files


def _images_in(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.suffix.lower() in IMAGE_SUFFIXES)


def _read_one(path: Path, spec: InputSpec, limits: DataLimits, notes: list[str]) -> Array:
    kind = _sniff(path, limits)
    if kind == "image":
        return _read_image(path, spec, limits)
    if kind == "table":
        return _fit(_read_table(path, spec, limits, notes), spec.shape, path.name)
    if kind == "array":
        return _fit_array(read_npy(path, limits), spec, path.name)
    with open_npz(path, limits) as archive:
        key = spec.key
        if not key:
            wanted = (*spec.names, "x", "X", "x_test", "images")
            usual = [name for name in wanted if name in archive.keys]
            key = archive.keys[0] if len(archive.keys) == 1 else next(iter(usual), "x")
        return _fit_array(archive.read(key), spec, f"{path.name}/{key}")


def _sniff(path: Path, limits: DataLimits) -> _Kind:
    stream, _ = open_regular(path, limits.file_bytes)
    with stream:
        start = stream.read(8)
    if start.startswith(_ARRAY):
        return "array"
    if start.startswith(_ARCHIVE):
        return "archive"
    if start.startswith((_PNG, _JPEG, _GIF)):
        return "image"
    # "BM" may also begin a table, so a bitmap needs its name as well.
    suffix = path.suffix.lower()
    return "image" if start.startswith(_BMP) and suffix == ".bmp" else _kind_by_name(suffix, path)


def _kind_by_name(suffix: str, path: Path) -> _Kind:
    if suffix in IMAGE_SUFFIXES:
        return "image"
    if suffix in (".npy", ".npz"):
        return "array" if suffix == ".npy" else "archive"
    if suffix in (".csv", ".tsv", ".txt"):
        return "table"
    raise DataError(
        f"expected .npy, .npz, .csv or an image, got a file called {quoted(path.name)}",
        who=path.name,
    )


def _read_image(path: Path, spec: InputSpec, limits: DataLimits) -> Array:
    shape = (*spec.shape, 1) if len(spec.shape) == 2 else spec.shape
    if len(shape) != 3 or shape[2] not in (1, 3):
        raise DataError(
            f"the model takes samples of shape {list(spec.shape)}, which are not images",
            who=path.name,
            hint="give an .npy, .npz or .csv file",
        )
    pixels = decode_image(path, 1 if shape[2] == 1 else 3, (shape[0], shape[1]), "", limits)
    values: Array = pixels
    if spec.value_range is not None and spec.value_range != (0.0, 255.0):
        low, high = spec.value_range
        scaled = low + pixels.astype(np.float32) * np.float32((high - low) / 255.0)
        values = scaled if spec.dtype is DType.float32 else np.rint(scaled)
    return values.reshape(1, *spec.shape)


def _read_table(path: Path, spec: InputSpec, limits: DataLimits, notes: list[str]) -> Array:
    """The rows of a CSV file as float32 [rows, columns]; notes get what was decided."""
    who, known = path.name, spec.table_columns
    count = len(spec.columns) or prod(spec.shape)
    with open_table(path, None, limits) as table:
        first = next(table.rows(), None)
        if first is None:
            raise DataError("the table has no rows", who=who)
        width = len(first.cells)
        features = list(range(width))
        has_header = looks_like_header(first.cells) or (
            bool(known) and set(known) <= set(first.cells)
        )
        names = name_columns(first.cells if has_header else None, width, who)
        if has_header and known:
            missing = [name for name in known if name not in names]
            if missing:
                raise DataError(
                    f"the table has no column {quoted(missing[0])}, which the model takes", who=who
                )
            features = [names.index(name) for name in known]
        elif width != count:
            raise DataError(
                f"row {first.line}: expected {count} cells, one per input of the "
                f"model, got {width}",
                who=who,
            )
        # A table without a header has the columns in their order.
        made_of = spec.columns or tuple(InputColumn(names[i]) for i in features)
        rules = TableRules(
            categories={
                names[i]: CategoryOption(each.encoding, each.categories, each.unknown)
                for i, each in zip(features, made_of, strict=True)
                if each.categories
            }
        )
        reader = FeatureReader(names, features, rules, who, limits)
        texts = tuple(reader.texts.values())
        columns = Columns(table, reader.wanted(()), names, reader.blocks, texts)
        if not has_header:
            columns.add_row(first)
        columns.add_rest()
    if not len(columns.lines):
        raise DataError("the table has a header but no rows of data", who=who)
    reader.settle(columns.lines, ())
    notes += reader.cleaning(columns.lines).sentences
    return reader.take(features)[0]


def _fit_array(values: Array, spec: InputSpec, who: str) -> Array:
    """An array as [rows, *shape], of any length where the model takes any."""
    if spec.open_shape is not None and 0 not in values.shape[1:]:
        if fits(spec.open_shape, values.shape[1:]):
            return values
        if fits(spec.open_shape, values.shape):
            return values[np.newaxis]
    return _fit(values, spec.shape, who)


def _fit(values: Array, shape: tuple[int, ...], who: str) -> Array:
    """``values`` as [rows, *shape]: as they are, as one sample, or as flat rows."""
    without_channel = shape[:-1] if shape and shape[-1] == 1 else shape
    if values.shape in (shape, without_channel, (prod(shape),)):
        return values.reshape(1, *shape)
    if values.ndim >= 1 and values.shape[1:] in (shape, without_channel, (prod(shape),)):
        return values.reshape(len(values), *shape)
    raise DataError(
        f"inputs must have shape {['rows', *shape]}: got {list(values.shape)}".replace("'", ""),
        who=who,
    )


def _to_dtype(values: Array, dtype: DType, who: str) -> Array:
    """``values`` in the model's type; DataError where a value does not fit."""
    if values.dtype.kind not in "biuf":
        raise DataError(f"expected numbers, got elements of type {values.dtype}", who=who)
    if dtype in (DType.float32, DType.float16):
        return to_float32(values, who).astype(dtype.np, copy=False)
    bounds = _BOUNDS[dtype]
    wide = values.astype(np.float64)
    wrong = ~((wide >= bounds[0]) & (wide <= bounds[1]) & (wide == np.floor(wide)))
    refuse_where(wrong, values, f"must be a whole number from {bounds[0]} to {bounds[1]}", who)
    return values.astype(dtype.np)
