"""The data reference of a project file: a mapping that names a source and its options."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias, cast, get_args

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.train.data.arrays.idx import load_idx
from studio.engine.train.data.arrays.named_arrays import (
    load_named_arrays,
    weights_by_output,
)
from studio.engine.train.data.arrays.numpy_files import ArrayOptions, load_npy_pair, load_npz
from studio.engine.train.data.builtin import circles, load_digits, load_iris, moons, spirals
from studio.engine.train.data.cleaning import (
    DEFAULT_SPLIT,
    POLICIES,
    Policy,
    SplitRule,
    parse_fill,
)
from studio.engine.train.data.csv.bad_rows import TableRules
from studio.engine.train.data.csv.named_columns import load_named_columns, named_columns
from studio.engine.train.data.csv.rows import Column, parse_delimiter
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.images.folder import ColorMode, FolderOptions, load_image_folder
from studio.engine.train.data.images.named_folders import load_named_folders, named_folder
from studio.engine.train.data.input_columns import parse_categories
from studio.engine.train.data.labels import Task, parse_task
from studio.engine.train.data.named_parts import MAX_ARRAYS, named_array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, resolve_source

Reference: TypeAlias = Mapping[str, object]
"""A data reference as the project file holds it: JSON values under ``source`` and option names."""

TABLE_RULES = ("bad_rows", "fill", "categories")
"""Options of tables that say what becomes of cells that hold no number."""

CLEANING = ("bad_rows", "fill", "bad_images")
"""Options that leave out or fill in what cannot be read."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "digits": (),
    "iris": (),
    "spirals": ("n", "classes", "turns", "noise", "seed"),
    "moons": ("n", "noise", "seed"),
    "circles": ("n", "classes", "factor", "noise", "seed"),
    "csv": (
        "path",
        "label",
        "header",
        "delimiter",
        "task",
        "class_names",
        "drop",
        "shape",
        *TABLE_RULES,
    ),
    "npz": ("path", "x", "y", "task", "class_names", "x_key", "y_key", "range", "bad_rows"),
    "arrays": ("path", "inputs", "targets", "weights"),
    "columns": ("path", "inputs", "targets", "header", "delimiter", *TABLE_RULES),
    "folders": ("path", "inputs", "targets", "size", "color_mode", "bad_images"),
    "images": ("path", "size", "color_mode", "class_names", "bad_images"),
    "idx": ("path", "images", "labels", "class_names"),
}  # fmt: skip
"""The option names of every source."""


def open_dataset(
    spec: Reference, base: Path, split: SplitRule = DEFAULT_SPLIT,
    limits: DataLimits = DEFAULT_LIMITS,
) -> Dataset:  # fmt: skip
    """The data set a project means.

    Args:
        spec: ``{"source": …, option: value, …}``, see `OPTIONS`.
        base: the project's folder, which relative paths are inside of.
        split: how it will be divided; what is filled in is learned from the training part.
        limits: caps; ``resident_bytes`` is what samples may take in memory.

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
    return _OPENERS[source](ReferenceOptions(spec, source, base, split, limits))


class ReferenceOptions:
    """Typed look-ups in a reference; each raises DataError naming the option."""

    def __init__(
        self, spec: Reference, source: str, base: Path, split: SplitRule = DEFAULT_SPLIT,
        limits: DataLimits = DEFAULT_LIMITS,
    ) -> None:  # fmt: skip
        self.split = split
        self.limits = limits
        self._spec = spec
        self._source = source
        self._base = base

    def refuse(self, key: str, expected: str) -> DataError:
        """The error for an option that is missing or of the wrong kind."""
        got = quoted(self._spec[key]) if key in self._spec else "nothing"
        return DataError(
            f"option {key} of source {self._source} must be {expected}: got {got}", who="data"
        )

    def has(self, key: str) -> bool:
        """Whether the option is given and not null."""
        return self._spec.get(key) is not None

    def value(self, key: str) -> object:
        """An option as it is given; None where it is not."""
        return self._spec.get(key)

    def text(self, key: str, default: str = "") -> str:
        """A text option."""
        value = self._spec.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.refuse(key, "a text")
        return value

    def choice(self, key: str, names: Sequence[str]) -> str:
        """One of some names; the first where it is not given."""
        value = self.text(key, names[0])
        if value not in names:
            raise self.refuse(key, f"one of {', '.join(names)}")
        return value

    def path(self, key: str) -> Path:
        """A path that must be given."""
        if not self.has(key):
            raise self.refuse(key, "a path")
        return resolve_source(self._base, self.text(key))

    def whole(self, key: str, default: int) -> int:
        """A whole number option."""
        value = self._spec.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refuse(key, "a whole number")
        return value

    def number(self, key: str, default: float) -> float:
        """A number option."""
        value = self._spec.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e30:
            raise self.refuse(key, "a number")
        return float(value)

    def flag(self, key: str) -> bool | None:
        """A yes-or-no option, None where it is not given."""
        value = self._spec.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def table(self, key: str) -> list[tuple[str, object]]:
        """The entries of an object, at least one, in the order that a project file has them in."""
        value = self._spec.get(key)
        if isinstance(value, Mapping) and not value:
            side = "input" if key == "inputs" else "output"
            raise DataError(
                f"nothing is mapped to an {side} of the network",
                who="data",
                hint=f"choose what each {side} gets in the Data pane, or list it under {key}",
            )
        if not isinstance(value, Mapping) or not 0 < len(value) <= MAX_ARRAYS:
            raise self.refuse(key, f"an object of 1 to {MAX_ARRAYS} names")
        return sorted(((str(name), given) for name, given in value.items()), key=itemgetter(0))

    def items(self, key: str) -> list[object]:
        """A list option, empty where it is not given."""
        value = self._spec.get(key)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.refuse(key, "a list")
        return list(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self.items(key)
        if not all(isinstance(item, str) for item in found):
            raise self.refuse(key, "a list of texts")
        return tuple(cast("list[str]", found))

    def sizes(self, key: str) -> tuple[int, ...]:
        """A list of positive whole numbers."""
        found = self.items(key)
        whole = [item for item in found if isinstance(item, int) and not isinstance(item, bool)]
        if len(whole) != len(found) or any(not 1 <= item <= 1 << 24 for item in whole):
            raise self.refuse(key, "a list of whole numbers from 1 up")
        return tuple(whole)

    def columns_or_one(self, key: str) -> Column | tuple[Column, ...] | None:
        """One column, a list of them, or None where it is not given."""
        value = self._spec.get(key)
        if value is None:
            return None
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        return self.columns(key)

    def columns(self, key: str) -> tuple[Column, ...]:
        """A list of column names or positions."""
        found = self.items(key)
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in found):
            raise self.refuse(key, "a list of column names or positions")
        return tuple(cast("list[Column]", found))

    def span(self, key: str) -> tuple[float, float] | None:
        """A lowest and a highest number, or None where it is not given."""
        found = [
            float(item)
            for item in self.items(key)
            if isinstance(item, int | float) and not isinstance(item, bool) and abs(item) < 1e30
        ]
        if len(found) != len(self.items(key)) or (found and len(found) != 2):
            raise self.refuse(key, "two numbers, lowest and highest")
        if found and not found[0] < found[1]:
            raise self.refuse(key, "two numbers, the lowest first")
        return (found[0], found[1]) if found else None

    def table_rules(self) -> TableRules:
        """What becomes of bad cells of a table, and which columns hold categories."""
        return TableRules(
            cast(Policy, self.choice("bad_rows", POLICIES)),
            parse_fill(self.value("fill")) if self.has("fill") else {},
            parse_categories(self.value("categories")) if self.has("categories") else {},
            self.split,
        )

    def task(self) -> Task:
        """The task option."""
        return parse_task(self.text("task", "auto"))


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
        rules=options.table_rules(),
    )
    return load_csv(options.path("path"), csv_options)


def _open_npz(options: ReferenceOptions) -> Dataset:
    array_options = ArrayOptions(
        task=options.task(),
        class_names=options.texts("class_names"),
        x_key=options.text("x_key"),
        y_key=options.text("y_key"),
        value_range=options.span("range"),
        bad_rows=cast(Policy, options.choice("bad_rows", POLICIES)),
    )
    if options.has("path"):
        if options.has("x") or options.has("y"):
            raise options.refuse("path", "an .npz file, or left out where x and y are .npy files")
        return load_npz(options.path("path"), array_options, options.limits)
    return load_npy_pair(options.path("x"), options.path("y"), array_options, options.limits)


def _open_arrays(options: ReferenceOptions) -> Dataset:
    inputs = [named_array(name, given, True) for name, given in options.table("inputs")]
    targets = [named_array(name, given, False) for name, given in options.table("targets")]
    weights = {}
    if options.has("weights"):
        weights = weights_by_output(options.value("weights"), [each.name for each in targets])
    return load_named_arrays(options.path("path"), inputs, targets, weights, options.limits)


def _open_columns(options: ReferenceOptions) -> Dataset:
    delimiter = parse_delimiter(options.text("delimiter")) if options.has("delimiter") else None
    inputs = [named_columns(name, given, True) for name, given in options.table("inputs")]
    targets = [named_columns(name, given, False) for name, given in options.table("targets")]
    path, header = options.path("path"), options.flag("header")
    rules = options.table_rules()
    return load_named_columns(path, inputs, targets, header, delimiter, rules=rules)


def _open_images(options: ReferenceOptions) -> Dataset:
    return load_image_folder(options.path("path"), _folder_options(options), options.limits)


def _open_folders(options: ReferenceOptions) -> Dataset:
    inputs = [named_folder(name, given, True) for name, given in options.table("inputs")]
    targets = [named_folder(name, given, False) for name, given in options.table("targets")]
    return load_named_folders(options.path("path"), inputs, targets, _folder_options(options))


def _folder_options(options: ReferenceOptions) -> FolderOptions:
    size = options.sizes("size")
    if size and len(size) != 2:
        raise options.refuse("size", "a height and a width")
    return FolderOptions(
        size=(size[0], size[1]) if size else None,
        color_mode=cast(ColorMode, options.choice("color_mode", get_args(ColorMode))),
        class_names=options.texts("class_names"),
        bad_images=cast(Policy, options.choice("bad_images", POLICIES)),
    )


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
    "arrays": _open_arrays,
    "columns": _open_columns,
    "folders": _open_folders,
    "images": _open_images,
    "idx": _open_idx,
}
