"""NumPy files to data sets: an .npz with its usual keys, or a pair of .npy files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, EmptyDataError, quoted
from studio.engine.train.data.array_storage import to_storage
from studio.engine.train.data.arrays.array_files import (
    DataArchive,
    FileRows,
    open_npy,
    open_npz,
    read_npy,
)
from studio.engine.train.data.cleaning import (
    MOST_PLACES,
    NOTHING_CLEANED,
    CleanedPlace,
    Cleaning,
    Policy,
)
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.labels import Labels, Task, check_counts, labels_from_array
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits
from studio.engine.train.data.stored_rows import SampleArray

_WHOLE = (("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"), ("data", "labels"))
_PARTS = (("x_train", "y_train"), ("X_train", "y_train"), ("train_images", "train_labels"))
_TEST = {"x_train": "x_test", "X_train": "X_test", "train_images": "test_images"}
_TEST_LABELS = {"y_train": "y_test", "train_labels": "test_labels"}


@dataclass(frozen=True, slots=True)
class ArrayOptions:
    """How to read array files.

    Args:
        task: whether labels are classes or numbers; ``auto`` goes by their type.
        class_names: names of the classes in order; empty takes the archive's ``class_names``, or
            the numbers.
        x_key: name of the samples in the archive, or empty for the usual names.
        y_key: name of the labels in the archive, or empty for the usual names.
        value_range: lowest and highest raw value, or None for 0 to 255 where images are uint8.
        bad_rows: what happens to samples with numbers that are not finite.
    """

    task: Task = "auto"
    class_names: Sequence[str] = ()
    x_key: str = ""
    y_key: str = ""
    value_range: tuple[float, float] | None = None
    bad_rows: Policy = "refuse"


_DEFAULT_OPTIONS = ArrayOptions()


def load_npz(
    path: Path, options: ArrayOptions = _DEFAULT_OPTIONS, limits: DataLimits = DEFAULT_LIMITS
) -> Dataset:
    """An ``.npz`` archive as a data set.

    Samples and labels are ``x`` and ``y`` (or ``images`` and ``labels``, ``data`` and ``target``);
    with ``x_train`` and ``y_train`` the arrays ``x_test`` and ``y_test`` become its held-out part.

    Raises:
        DataError: no such keys, or arrays that make no data set, by sample and element.
        FormatError: the archive is damaged or hostile.
    """
    who = path.name
    with open_npz(path, limits) as archive:
        x_key, y_key = _choose_keys(archive.keys, options, who)
        names = tuple(options.class_names) or _stored_names(archive, who)
        x, y = archive.open(x_key), archive.read(y_key)
        test_keys = (_TEST.get(x_key, ""), _TEST_LABELS.get(y_key, ""))
        test = None
        if set(test_keys) <= set(archive.keys):
            test = (archive.open(test_keys[0]), archive.read(test_keys[1]))
    x, y, cleaning = _cleaned(x, y, f"{who}/{x_key}", options)
    labels = labels_from_array(y, f"{who}/{y_key}", options.task, names, limits)
    samples, kind = as_samples(x, f"{who}/{x_key}")
    check_counts(samples, labels, who)
    held_out = None
    if test is not None:
        given, wanted, cleaned = _cleaned(*test, f"{who}/{test_keys[0]}", options)
        cleaning = cleaning.joined(cleaned)
        test_x, test_kind = as_samples(given, f"{who}/{test_keys[0]}")
        task: Task = "classes" if labels.class_names else "regression"
        test_labels = labels_from_array(
            wanted, f"{who}/{test_keys[1]}", task, labels.class_names, limits
        )
        check_counts(test_x, test_labels, f"{who}/{test_keys[0]}")
        held_out = _dataset(path, test_x, test_labels, test_kind, options, None)
    made = _dataset(path, samples, labels, kind, options, held_out)
    return replace(made, cleaning=cleaning)


def load_npy_pair(
    x_path: Path,
    y_path: Path,
    options: ArrayOptions = _DEFAULT_OPTIONS,
    limits: DataLimits = DEFAULT_LIMITS,
) -> Dataset:
    """Samples and labels from two ``.npy`` files as a data set; errors as `load_npz`."""
    given, wanted = open_npy(x_path, limits), read_npy(y_path, limits)
    given, wanted, cleaning = _cleaned(given, wanted, x_path.name, options)
    labels = labels_from_array(wanted, y_path.name, options.task, options.class_names, limits)
    x, kind = as_samples(given, x_path.name)
    check_counts(x, labels, f"{x_path.name}, {y_path.name}")
    return replace(_dataset(x_path, x, labels, kind, options, None), cleaning=cleaning)


def _cleaned(
    x: Array | FileRows, y: Array, who: str, options: ArrayOptions
) -> tuple[Array | FileRows, Array, Cleaning]:
    """Samples and labels without those with a number that is not finite, where they are skipped."""
    if options.bad_rows != "skip" or x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
        return x, y, NOTHING_CLEANED
    bad = [_not_finite(each) for each in (x, y)]
    found = np.flatnonzero(bad[0] | bad[1])
    if not len(found):
        return x, y, NOTHING_CLEANED
    if len(found) == len(x):
        raise DataError(
            f"no sample is left: all {len(x):,} have a number that is not finite", who=who
        )
    places = tuple(
        CleanedPlace(
            f"{who} sample {row}", 0, "",
            f"the {'sample' if bad[0][row] else 'label'} has a number that is not finite",
            "skipped",
        )
        for row in found[:MOST_PLACES].tolist()
    )  # fmt: skip
    kept = ~(bad[0] | bad[1])
    left = x.subset(np.flatnonzero(kept).astype(np.int32)) if isinstance(x, FileRows) else x[kept]
    return left, y[kept], Cleaning(skipped=len(found), noun="sample", places=places)


def _not_finite(values: Array | FileRows) -> npt.NDArray[np.bool_]:
    """Which samples have a number that is not finite within float32."""
    if isinstance(values, FileRows):
        return np.concatenate([_not_finite(block) for block in values.raw_blocks()])
    if values.dtype.kind != "f" or not values.size:
        return np.zeros(len(values), np.bool_)
    with np.errstate(over="ignore"):
        found = np.isfinite(values.astype(np.float32))
    return np.asarray(~found.reshape(len(values), -1).all(axis=1))


def _dataset(
    path: Path,
    x: SampleArray,
    labels: Labels,
    kind: Literal["images", "table"],
    options: ArrayOptions,
    held_out: Dataset | None,
) -> Dataset:
    pixels = (0.0, 255.0) if kind == "images" and x.dtype == np.uint8 else None
    return Dataset(
        x=x,
        y=labels.y,
        name=path.stem,
        kind=kind,
        class_names=labels.class_names,
        value_range=options.value_range or pixels,
        held_out=held_out,
    )


def _choose_keys(keys: Sequence[str], options: ArrayOptions, who: str) -> tuple[str, str]:
    if options.x_key or options.y_key:
        pairs = [(options.x_key or "x", options.y_key or "y")]
    else:
        pairs = [*_WHOLE, *_PARTS]
    for x_key, y_key in pairs:
        if x_key in keys and y_key in keys:
            return x_key, y_key
    if len(keys) < 2:
        raise EmptyDataError(
            "the archive holds one array, but samples and labels are needed"
            if keys
            else "the archive holds no arrays",
            who=who,
            hint="save samples as x and labels as y",
        )
    x_key, y_key = pairs[0]
    shown = ", ".join(quoted(key) for key in keys[:12])
    raise DataError(
        f"expected arrays {x_key} and {y_key}, or others of the usual names, got {shown}"
        if len(pairs) > 1
        else f"expected arrays {x_key} and {y_key}, got {shown}",
        who=who,
        hint="say which array holds the samples (x_key) and which the labels (y_key)",
    )


def _stored_names(archive: DataArchive, who: str) -> tuple[str, ...]:
    if "class_names" not in archive.keys:
        return ()
    names = archive.read("class_names")
    if names.dtype.kind != "U" or names.ndim != 1:
        raise DataError(
            f"class_names must be a list of texts: got {names.dtype} {list(names.shape)}", who=who
        )
    return tuple(str(name) for name in names)


def as_samples(x: Array | FileRows, who: str) -> tuple[SampleArray, Literal["images", "table"]]:
    """An array as samples in a storage type, and whether they are images.

    uint8 [n, h, w] gets a channel axis; [n, h, w, c] with 1, 3 or 4 channels are images; anything
    else of rank 2 or more is a table.

    Raises:
        DataError: the rank is below 2, or an element cannot be stored.
    """
    if x.ndim < 2:
        raise DataError(
            f"samples must have shape [n, …]: got {list(x.shape)}",
            who=who,
            hint="give one row per sample",
        )
    stored = x if isinstance(x, FileRows) else to_storage(x, who)
    if stored.ndim == 3 and stored.dtype == np.uint8:
        return with_sample(stored, (*stored.shape[1:], 1)), "images"
    if stored.ndim == 4 and stored.shape[3] in (1, 3, 4):
        return stored, "images"
    if stored.ndim == 4 and stored.shape[1] in (1, 3):
        raise DataError(
            f"images must have their channels last: got {list(x.shape)}",
            who=who,
            hint="x.transpose(0, 2, 3, 1) moves them there",
        )
    return stored, "table"


def with_sample(x: Array | FileRows, shape: tuple[int, ...]) -> Array | FileRows:
    """The same numbers with another shape of one sample."""
    return x.with_sample(shape) if isinstance(x, FileRows) else x.reshape(len(x), *shape)
