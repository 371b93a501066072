"""The data reference of a project file: a mapping that names a source and its options."""

from collections.abc import Callable
from pathlib import Path
from typing import cast, get_args

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.train.data.arrays.idx import load_idx
from studio.engine.train.data.arrays.numpy_files import ArrayOptions, load_npy_pair, load_npz
from studio.engine.train.data.builtin import circles, load_digits, load_iris, moons, spirals
from studio.engine.train.data.csv.rows import parse_delimiter
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.images.folder import ColorMode, FolderOptions, load_image_folder
from studio.engine.train.data.reference_options import Reference, ReferenceOptions

OPTIONS: dict[str, tuple[str, ...]] = {
    "digits": (),
    "iris": (),
    "spirals": ("n", "classes", "turns", "noise", "seed"),
    "moons": ("n", "noise", "seed"),
    "circles": ("n", "classes", "factor", "noise", "seed"),
    "csv": ("path", "label", "header", "delimiter", "task", "class_names", "drop", "shape"),
    "npz": ("path", "x", "y", "task", "class_names", "x_key", "y_key", "range"),
    "images": ("path", "size", "color_mode", "class_names"),
    "idx": ("path", "images", "labels", "class_names"),
}
"""The option names of every source."""


def open_dataset(spec: Reference, base: Path) -> Dataset:
    """The data set a project means.

    Args:
        spec: ``{"source": …, option: value, …}``, see `OPTIONS`.
        base: the project's folder, which relative paths are inside of.

    Raises:
        DataError: an unknown source, option or value, named; or what the loader refuses.
        ParameterError, FormatError: from the generator or loader.
    """
    source = spec.get("source")
    if not isinstance(source, str) or source not in OPTIONS:
        raise DataError(
            f"unknown data source: expected one of {', '.join(OPTIONS)}, got {quoted(source)}",
            who="data",
            hint=did_you_mean(source, OPTIONS),
        )
    unknown = [key for key in spec if key != "source" and key not in OPTIONS[source]]
    if unknown:
        known = ", ".join(OPTIONS[source]) or "none"
        raise DataError(
            f"unknown option {quoted(unknown[0])} of source {source}: expected one of {known}",
            who="data",
            hint=did_you_mean(unknown[0], OPTIONS[source]),
        )
    return _OPENERS[source](ReferenceOptions(spec, source, base))


def _open_spirals(options: ReferenceOptions) -> Dataset:
    return spirals(
        n=options.whole("n", 600),
        classes=options.whole("classes", 2),
        turns=options.number("turns", 1.0),
        noise=options.number("noise", 0.02),
        seed=options.whole("seed", 0),
    )


def _open_moons(options: ReferenceOptions) -> Dataset:
    return moons(
        n=options.whole("n", 600), noise=options.number("noise", 0.1), seed=options.whole("seed", 0)
    )


def _open_circles(options: ReferenceOptions) -> Dataset:
    return circles(
        n=options.whole("n", 600),
        classes=options.whole("classes", 2),
        factor=options.number("factor", 0.5),
        noise=options.number("noise", 0.05),
        seed=options.whole("seed", 0),
    )


def _open_csv(options: ReferenceOptions) -> Dataset:
    delimiter = parse_delimiter(options.text("delimiter")) if options.has("delimiter") else None
    csv_options = CsvOptions(
        label=options.columns_or_one("label"),
        header=options.flag("header"),
        delimiter=delimiter,
        task=options.task(),
        class_names=options.texts("class_names"),
        drop=options.columns("drop"),
        shape=options.sizes("shape"),
    )
    return load_csv(options.path("path"), csv_options)


def _open_npz(options: ReferenceOptions) -> Dataset:
    array_options = ArrayOptions(
        task=options.task(),
        class_names=options.texts("class_names"),
        x_key=options.text("x_key"),
        y_key=options.text("y_key"),
        value_range=options.span("range"),
    )
    if options.has("path"):
        if options.has("x") or options.has("y"):
            raise options.refuse("path", "an .npz file, or left out where x and y are .npy files")
        return load_npz(options.path("path"), array_options)
    return load_npy_pair(options.path("x"), options.path("y"), array_options)


def _open_images(options: ReferenceOptions) -> Dataset:
    size = options.sizes("size")
    if size and len(size) != 2:
        raise options.refuse("size", "a height and a width")
    folder_options = FolderOptions(
        size=(size[0], size[1]) if size else None,
        color_mode=cast(ColorMode, options.choice("color_mode", get_args(ColorMode))),
        class_names=options.texts("class_names"),
    )
    return load_image_folder(options.path("path"), folder_options)


def _open_idx(options: ReferenceOptions) -> Dataset:
    if options.has("path") and (options.has("images") or options.has("labels")):
        raise options.refuse("path", "a folder, or left out where images and labels are files")
    path = options.path("path" if options.has("path") else "images")
    labels = options.path("labels") if options.has("labels") else None
    return load_idx(path, labels, options.texts("class_names"))


_OPENERS: dict[str, Callable[[ReferenceOptions], Dataset]] = {
    "digits": lambda _: load_digits(),
    "iris": lambda _: load_iris(),
    "spirals": _open_spirals,
    "moons": _open_moons,
    "circles": _open_circles,
    "csv": _open_csv,
    "npz": _open_npz,
    "images": _open_images,
    "idx": _open_idx,
}
