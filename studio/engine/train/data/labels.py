"""From raw labels (text, whole numbers, one-hot rows, real numbers) to class indices or targets."""

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.train.data.array_storage import refuse_where, to_float32
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits

_BLOCK = 1 << 16

Task: TypeAlias = Literal["auto", "classes", "regression"]

MAX_GUESSED_CLASSES = 20
"""Whole-number columns of a table with more distinct values are taken for regression targets."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Class indices int32[n] with class names, or targets float32[n, k] with none."""

    y: npt.NDArray[np.int32] | npt.NDArray[np.float32]
    class_names: tuple[str, ...]


def parse_task(value: object) -> Task:
    """``value`` if it names a task, else ParameterError listing the names."""
    if value not in get_args(Task):
        raise ParameterError(
            f"unknown task: expected one of {', '.join(get_args(Task))}, got {quoted(value)}",
            who="data",
        )
    return cast(Task, value)


def index_classes(
    values: Sequence[str],
    rows: Sequence[int],
    who: str,
    class_names: Sequence[str] = (),
    limits: DataLimits = DEFAULT_LIMITS,
) -> Labels:
    """Class indices of text labels; classes are sorted unless ``class_names`` gives the order.

    Names that are all whole numbers sort as numbers, so that class 10 comes after class 9.

    Args:
        values: one label per sample.
        rows: where each stands in the file, for messages.
        who: the file's name.
        class_names: all classes in order, or empty to take those that occur.
        limits: cap on the number of classes.
    """
    index: dict[str, int] = {}
    codes = np.empty(len(values), np.int32)
    # So many at once that no other thread waits for long.
    for begin in range(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK]
        for text in dict.fromkeys(block):
            index.setdefault(text, len(index))
        codes[begin : begin + len(block)] = [index[text] for text in block]
    return classes_of_codes(list(index), codes, rows.__getitem__, who, class_names, limits)


def classes_of_codes(
    texts: Sequence[str],
    codes: npt.NDArray[np.int32],
    line_of: Callable[[int], int],
    who: str,
    class_names: Sequence[str] = (),
    limits: DataLimits = DEFAULT_LIMITS,
) -> Labels:
    """As `index_classes`, from the different texts and a code into them for every sample.

    Args:
        texts: the labels that occur; several may be the same.
        codes: place of each sample's label in them.
        line_of: where a sample stands in the file, for messages.
        who: the file's name.
        class_names: all classes in order, or empty to take those that occur.
        limits: cap on the number of classes.
    """
    names = tuple(class_names) or tuple(sorted_names(set(texts)))
    if len(names) > limits.classes:
        raise too_many_classes(limits, who)
    index = {name: position for position, name in enumerate(names)}
    if len(index) != len(names):
        raise DataError("class names must differ from one another", who=who)
    table = np.fromiter((index.get(text, -1) for text in texts), np.int32, len(texts))
    found = table[codes]
    if len(table) and table.min() < 0:
        place = int(np.argmin(found))
        raise unknown_label(line_of(place), texts[codes[place]], len(names), who)
    return Labels(found, names)


def too_many_classes(limits: DataLimits, who: str) -> DataError:
    """The error for labels of which more differ than there can be classes."""
    return DataError(
        f"too many classes: expected at most {limits.classes} different labels, got more",
        who=who,
        hint="is this the label column? numeric targets need task regression",
    )


def unknown_label(line: int, text: str, count: int, who: str) -> DataError:
    """The error for a label that is none of the stated classes."""
    return DataError(
        f"row {line}: label {quoted(text)} is none of the {count} stated classes", who=who
    )


def sorted_names(names: set[str]) -> list[str]:
    """Names in order; those that are all whole numbers as numbers."""
    if all(name.isascii() and name.removeprefix("-").isdigit() for name in names):
        return sorted(names, key=lambda name: (int(name) if len(name) < 400 else 0, name))
    return sorted(names)


def labels_from_array(
    y: Array,
    who: str,
    task: Task = "auto",
    class_names: Sequence[str] = (),
    limits: DataLimits = DEFAULT_LIMITS,
) -> Labels:
    """Labels of an array file.

    Text and whole-number types are classes, float types are targets unless every row is one-hot or
    ``task`` is ``classes``. Whole numbers are the class indices themselves (0 to the largest).

    Args:
        y: [n], [n, 1] or [n, k]; int, uint, bool, float or text.
        who: the file's name.
        task: overrides the guess.
        class_names: names of the classes in order, or empty for ``"0"``, ``"1"``, …
        limits: cap on the number of classes.
    """
    found = _labels_of(y, who, task, class_names, limits)
    if len(found.class_names) == 1:
        hint = "are these the labels?"
        if task == "auto":
            hint += " for numbers to predict set task regression"
        raise DataError(
            f"expected at least two classes: every label is {quoted(found.class_names[0])}",
            who=who,
            hint=hint,
        )
    return found


def has_positions(y: Array, task: Task) -> bool:
    """Whether targets have something at each position of a sample.

    An array of rank 2 has where it holds whole numbers that are no one-hot rows.
    """
    if y.ndim != 2:
        return y.ndim > 2
    return task != "regression" and y.shape[1] > 1 and y.dtype.kind in "biu" and not _is_one_hot(y)


def labels_of_positions(
    y: Array,
    who: str,
    task: Task = "auto",
    class_names: Sequence[str] = (),
    limits: DataLimits = DEFAULT_LIMITS,
) -> Labels:
    """Targets with something at each position: class indices as in masks, or numbers.

    Whole numbers are class indices unless ``task`` is ``regression``; a last axis of length 1 is
    left out of them.

    Args:
        y: [n, …] of rank 2 or more.
        who: the file's name.
        task: overrides the guess.
        class_names: names of the classes in order, or empty for ``"0"``, ``"1"``, …
        limits: cap on the number of classes.
    """
    if y.dtype.kind not in "biuf":
        raise DataError(f"expected numbers at each position of the targets, got {y.dtype}", who=who)
    if task == "regression" or (task == "auto" and y.dtype.kind == "f"):
        return Labels(to_float32(y, who), ())
    if y.ndim > 2 and y.shape[-1] == 1:
        y = y[..., 0]
    _check_finite(y, who)
    values = y.astype(np.float64)
    wrong = (values != np.floor(values)) | (values < 0) | (values >= limits.classes)
    refuse_where(wrong, y, f"must be a class number from 0 to {limits.classes - 1}", who)
    return _named(values.astype(np.int64), int(values.max()) + 1, who, class_names, limits)


def _labels_of(
    y: Array, who: str, task: Task, class_names: Sequence[str], limits: DataLimits
) -> Labels:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim not in (1, 2) or y.size == 0:
        raise DataError(f"labels must have shape [n] or [n, k]: got {list(y.shape)}", who=who)
    if y.dtype.kind == "U":
        if y.ndim == 2 or task == "regression":
            raise DataError("text labels must be one class per sample", who=who)
        texts = [str(value) for value in y]
        return index_classes(texts, range(len(texts)), who, class_names, limits)
    _check_finite(y, who)
    if task != "regression" and y.ndim == 2 and _is_one_hot(y):
        return _named(y.argmax(axis=1).astype(np.int64), y.shape[1], who, class_names, limits)
    if task == "regression" or (task == "auto" and y.dtype.kind == "f"):
        return Labels(to_float32(y.reshape(len(y), -1), who), ())
    if y.ndim == 2:
        raise DataError(
            f"labels of shape {list(y.shape)} must be one-hot rows for classes",
            who=who,
            hint="set task regression if these are targets",
        )
    return _whole_classes(y, who, class_names, limits)


def _whole_classes(y: Array, who: str, class_names: Sequence[str], limits: DataLimits) -> Labels:
    values = y.astype(np.float64)
    wrong = np.flatnonzero((values != np.floor(values)) | (values < 0) | (values >= limits.classes))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"class labels must be whole numbers from 0 to {limits.classes - 1}: got {y[row]} "
            f"in sample {row}",
            who=who,
        )
    index = values.astype(np.int64)
    return _named(index, int(index.max()) + 1, who, class_names, limits)


def _named(
    index: npt.NDArray[np.int64],
    count: int,
    who: str,
    class_names: Sequence[str],
    limits: DataLimits,
) -> Labels:
    names = tuple(class_names) or tuple(str(i) for i in range(count))
    if count > len(names) or len(names) > limits.classes:
        raise DataError(
            f"the labels need {count} classes (at most {limits.classes}), got {len(names)} names",
            who=who,
        )
    return Labels(index.astype(np.int32), names)


def _is_one_hot(y: Array) -> bool:
    ones = np.count_nonzero(y == 1, axis=1)
    return bool((ones == 1).all() and (np.count_nonzero(y, axis=1) == 1).all())


def _check_finite(values: Array, who: str) -> None:
    if values.dtype.kind == "f":
        finite = np.isfinite(values.astype(np.float64)).reshape(len(values), -1).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise DataError(f"the label of sample {row} is not a finite number", who=who)


def check_counts(samples: Sized, labels: Labels, who: str) -> None:
    """DataError where there are not as many labels as samples."""
    if len(samples) != len(labels.y):
        raise DataError(
            f"every sample needs a label: got {len(samples)} samples and {len(labels.y)} labels",
            who=who,
        )
