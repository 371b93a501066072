"""Facts about a data set: parts, class balance, ranges, and values after normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.normalization import (
    Normalization,
    Statistics,
    feature_statistics,
)
from studio.engine.train.data.stored_rows import chosen_rows
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.settings import TrainingSettings
from studio.session.data.parts import Indices, Part, parts_of

UNEVEN = 3.0
"""How many times larger than the smallest the largest class may be before it is remarked on."""


@dataclass(frozen=True)
class FeatureRow:
    """One feature (table column, image channel) over the training part.

    Attributes:
        name: its name, or its number.
        low: smallest raw value.
        high: largest raw value.
        mean: mean of the raw values.
        deviation: their standard deviation.
        low_in: smallest value the network gets.
        high_in: largest value the network gets.
    """

    name: str
    low: float
    high: float
    mean: float
    deviation: float
    low_in: float
    high_in: float

    @property
    def is_constant(self) -> bool:
        """Whether it tells the samples of the training part apart in no way."""
        return self.low == self.high


@dataclass(frozen=True, eq=False)
class DataSummary:
    """A data set under the settings of a project.

    Attributes:
        dataset: the record itself.
        parts: training, validation where it is one apart, test.
        features: one row per feature, from the training part.
        normalization: what the network's input is made by.
        remarks: what may be worth changing, one sentence each.
        sha256: hash of the content, worked out here because that takes time for a large set.
    """

    dataset: Dataset
    parts: tuple[Part, ...]
    features: tuple[FeatureRow, ...]
    normalization: Normalization
    remarks: tuple[str, ...]
    sha256: str

    @property
    def training(self) -> Part:
        """The samples that are trained on."""
        return self.parts[0]

    @property
    def samples(self) -> int:
        """All samples, the source's own test part included."""
        held = self.dataset.held_out
        return len(self.dataset) + (0 if held is None else len(held))

    @property
    def nbytes(self) -> int:
        """Bytes of all samples and labels as stored."""
        return self.samples * self.dataset.sample_bytes

    @property
    def raw_range(self) -> tuple[float, float]:
        """Smallest and largest raw value of the training part."""
        return min(f.low for f in self.features), max(f.high for f in self.features)

    @property
    def input_range(self) -> tuple[float, float]:
        """Smallest and largest value the network gets from the training part."""
        return min(f.low_in for f in self.features), max(f.high_in for f in self.features)


def summarise(dataset: Dataset, data: DataSettings, training: TrainingSettings) -> DataSummary:
    """Look at a data set once; it reads every sample, so not on the window's thread.

    Raises:
        StudioError: it cannot be divided or normalised as the settings ask.
    """
    parts = parts_of(dataset, data, training)
    kept = parts[0]
    whole = len(kept) == len(dataset)
    x = dataset.x if whole else chosen_rows(dataset.x, kept.indices)
    if dataset.inputs:
        norm, features = _of_inputs(dataset, None if whole else kept.indices, data)
    else:
        norm = dataset.all_inputs()[0].normalization_for(data.normalization, x)
        features = _features(feature_statistics(x), norm, dataset.feature_names)
    remarks = _remarks(dataset, parts, features, data)
    return DataSummary(dataset, parts, features, norm, remarks, dataset.sha256)


def _of_inputs(
    dataset: Dataset, indices: Indices | None, data: DataSettings
) -> tuple[Normalization, tuple[FeatureRow, ...]]:
    """The features of every input, named after it, and what makes the first of them."""
    rows: list[FeatureRow] = []
    norms: list[Normalization] = []
    for each in dataset.inputs:
        values = each.values if indices is None else chosen_rows(each.values, indices)
        norm = each.normalization_for(data.normalization, values)
        norms.append(norm)
        found = feature_statistics(values)
        count = len(found.mean)
        names = each.feature_names or tuple(map(str, range(count)))
        names = tuple(f"{each.name} {name}" if count > 1 else each.name for name in names)
        rows += _features(found, norm, names)
    return norms[0], tuple(rows)


def _features(
    found: Statistics, norm: Normalization, names: Sequence[str]
) -> tuple[FeatureRow, ...]:
    scale, shift = norm.scale.astype(np.float64), norm.shift.astype(np.float64)
    low, high = found.minimum * scale + shift, found.maximum * scale + shift
    return tuple(
        FeatureRow(
            names[i] if names else str(i), float(found.minimum[i]), float(found.maximum[i]),
            float(found.mean[i]), float(found.std[i]), float(low[i]), float(high[i]),
        )
        for i in range(len(found.mean))
    )  # fmt: skip


def _remarks(
    dataset: Dataset, parts: tuple[Part, ...], features: tuple[FeatureRow, ...], data: DataSettings
) -> tuple[str, ...]:
    found: list[str] = [*dataset.notes, *dataset.cleaning.sentences]
    for part in parts:
        if dataset.has_class_each and not part.counts.all():
            missing = [dataset.class_names[i] for i in np.flatnonzero(part.counts == 0)]
            shown = ", ".join(missing[:6]) + (" …" if len(missing) > 6 else "")
            found.append(f"the {part.title} part has no sample of {shown}")
    counts = parts[0].counts
    if len(counts) and counts.all() and counts.max() >= UNEVEN * counts.min():
        times = counts.max() / counts.min()
        found.append(
            f"the largest class has {times:.1f} times the samples of the smallest; balanced class "
            "weights count them alike"
        )
    constant = [f.name for f in features if f.is_constant]
    if constant and dataset.kind == "table":
        shown = ", ".join(constant[:6]) + (" …" if len(constant) > 6 else "")
        found.append(f"constant in the training part: {shown}")
    spread = max(abs(value) for f in features for value in (f.low_in, f.high_in))
    plain = all((each.normalization or data.normalization) == "none" for each in dataset.inputs)
    if data.normalization == "none" and plain and spread > 8.0:
        found.append(
            f"the network gets values up to {spread:.4g} as they are; normalising trains better"
        )
    return tuple(found)
