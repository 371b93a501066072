"""Archives whose arrays are inputs and targets of a network, each named by the project."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.train.data.array_storage import to_float32
from studio.engine.train.data.arrays.array_files import DataArchive, open_npz
from studio.engine.train.data.arrays.numpy_files import as_samples, with_sample
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray, WeightArray
from studio.engine.train.data.labels import (
    has_positions,
    labels_from_array,
    labels_of_positions,
)
from studio.engine.train.data.named_parts import MAX_ARRAYS, NamedArray
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits


def weights_by_output(given: object, outputs: Sequence[str]) -> dict[str, str]:
    """The option ``weights``: by output the name of the array, by an empty name that for all.

    Args:
        given: the name of an array, or an object of such names by output.
        outputs: the outputs that have targets.

    Raises:
        DataError: it has another form, or names an output without targets.
    """
    if isinstance(given, str):
        return {"": given}
    named = given if isinstance(given, Mapping) else {}
    if not 0 < len(named) <= MAX_ARRAYS or not all(isinstance(v, str) for v in named.values()):
        raise DataError(
            f"expected the name of an array, or an object of names by output, got {quoted(given)}",
            who="data: weights",
        )
    for name in named:
        if name not in outputs:
            raise DataError(
                f"there are no targets for the output {quoted(name)}", who="data: weights",
                hint=did_you_mean(name, outputs, f"known: {', '.join(outputs)}"),
            )  # fmt: skip
    return {name: named[name] for name in sorted(named)}


def load_named_arrays(
    path: Path,
    inputs: Sequence[NamedArray],
    targets: Sequence[NamedArray],
    weights: Mapping[str, str] | None = None,
    limits: DataLimits = DEFAULT_LIMITS,
) -> Dataset:
    """An ``.npz`` archive as a data set of several inputs and targets.

    Args:
        path: the archive.
        inputs: at least one.
        targets: at least one.
        weights: array of the sample weights by output, by an empty name that for all.
        limits: caps on sizes.

    Raises:
        DataError: an array is missing, makes no samples or labels, or has another length.
        FormatError: the archive is damaged or hostile.
    """
    with open_npz(path, limits) as archive:
        weighed = [NamedArray(name, array) for name, array in (weights or {}).items()]
        wanted = [*inputs, *targets, *weighed]
        missing = next((each for each in wanted if each.array not in archive.keys), None)
        if missing is not None:
            shown = ", ".join(quoted(key) for key in archive.keys[:12]) or "nothing"
            raise DataError(
                f"there is no array {quoted(missing.array)} for "
                f"{quoted(missing.name) if missing.name else 'the sample weights'}: the archive "
                f"holds {shown}",
                who=path.name,
                hint=did_you_mean(missing.array, archive.keys, ""),
            )
        samples = tuple(_input(archive, path, each) for each in inputs)
        labels = tuple(_target(archive, path, each, limits) for each in targets)
        factors = tuple(_weight(archive, path, each) for each in weighed)
    lengths = {each.array: len(own.values) for each, own in zip(inputs, samples, strict=True)}
    lengths |= {each.array: len(own.y) for each, own in zip(targets, labels, strict=True)}
    lengths |= {each.array: len(own.values) for each, own in zip(weighed, factors, strict=True)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{quoted(name)} has {count}" for name, count in lengths.items())
        raise DataError(f"all arrays need the same number of samples: {shown}", who=path.name)
    first, y = samples[0], labels[0]
    return Dataset(
        x=first.values,
        y=y.y,
        name=path.stem,
        kind=first.kind,
        class_names=y.class_names,
        value_range=first.value_range,
        inputs=samples,
        targets=labels,
        weights=factors,
    )


def _input(archive: DataArchive, path: Path, wanted: NamedArray) -> InputArray:
    raw = archive.open(wanted.array)
    raw = with_sample(raw, (1,)) if raw.ndim == 1 else raw
    values, kind = as_samples(raw, f"{path.name}/{wanted.array}")
    pixels = (0.0, 255.0) if kind == "images" and values.dtype.name == "uint8" else None
    span = wanted.value_range or pixels
    return InputArray(wanted.name, values, kind, span, wanted.kind_of_normalization, wanted.array)


def _target(
    archive: DataArchive, path: Path, wanted: NamedArray, limits: DataLimits
) -> TargetArray:
    raw, who = archive.read(wanted.array), f"{path.name}/{wanted.array}"
    read = labels_of_positions if has_positions(raw, wanted.task) else labels_from_array
    found = read(raw, who, wanted.task, wanted.class_names, limits)
    return TargetArray(wanted.name, found.y, found.class_names)


def _weight(archive: DataArchive, path: Path, wanted: NamedArray) -> WeightArray:
    who = f"{path.name}/{wanted.array}"
    array = archive.read(wanted.array)
    if array.ndim == 0 or not array.size or array.dtype.kind not in "buif":
        raise DataError(
            f"expected numbers [n] or [n, …] as weights, got {array.dtype} {list(array.shape)}",
            who=who,
        )
    values = to_float32(array, who)
    if values.min() < 0:
        row = int(np.argmax((values < 0).reshape(len(values), -1).any(axis=1)))
        raise DataError(f"expected weights of at least 0, got less in sample {row}", who=who)
    return WeightArray(wanted.name, values)


def input_shape(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> tuple[int, ...] | None:
    """Shape of one sample of an array as an input; None where it makes none."""
    if not shape or 0 in shape or dtype.kind not in "biuf":
        return None
    if len(shape) == 1:
        return (1,)
    pictures = len(shape) == 3 and dtype.kind == "u" and dtype.itemsize == 1
    return (*shape[1:], 1) if pictures else shape[1:]
