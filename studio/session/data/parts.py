"""Which samples a training gets, which it is measured on and which are held out, by index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.splitting import (
    random_split_indices,
    stratified_split_indices,
    tail_split_indices,
)
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.settings import TrainingSettings
from studio.session.core.held_out import SHARED_NAME, is_shared_by

PartName: TypeAlias = Literal["training", "validation", "test"]
Indices: TypeAlias = npt.NDArray[np.int32]

PARTS: tuple[PartName, ...] = ("training", "validation", "test")


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the data: samples of one record, picked by index.

    Attributes:
        name: what it is used for.
        dataset: where its samples are: the source, or the test part the source brings.
        indices: which of them, in the order of the part.
        counts: samples per class, empty for regression.
        is_shared: whether it is both, validation and test.
    """

    name: PartName
    dataset: Dataset
    indices: Indices
    counts: npt.NDArray[np.int64]
    is_shared: bool = False

    @property
    def title(self) -> str:
        """What it is called where parts are listed."""
        return SHARED_NAME if self.is_shared else self.name

    def __len__(self) -> int:
        return len(self.indices)


def parts_of(dataset: Dataset, data: DataSettings, training: TrainingSettings) -> tuple[Part, ...]:
    """The parts of a data set under some settings; a validation part only where it is one apart.

    The rules are those a training divides by, without copying a sample. ParameterError or
    DataError where a part would be empty.
    """
    shared = is_shared_by(training)
    if dataset.held_out is not None:
        kept = np.arange(len(dataset), dtype=np.int32)
        test = Part("test", dataset.held_out, np.arange(len(dataset.held_out), dtype=np.int32),
                    _counts(dataset.held_out, None), shared)  # fmt: skip
    else:
        kept, held = _divided(dataset, np.arange(len(dataset), dtype=np.int32),
                              data.test_fraction, data.split_seed)  # fmt: skip
        test = Part("test", dataset, held, _counts(dataset, held), shared)
    if training.validation not in ("tail", "random"):
        return (Part("training", dataset, kept, _counts(dataset, kept)), test)
    share = training.validation_fraction
    if training.validation == "tail":
        first, rest = tail_split_indices(len(kept), share)
        kept, measured = kept[first], kept[rest]
    else:
        kept, measured = _divided(dataset, kept, share, data.split_seed)
    return (
        Part("training", dataset, kept, _counts(dataset, kept)),
        Part("validation", dataset, measured, _counts(dataset, measured)),
        test,
    )


def _divided(dataset: Dataset, of: Indices, share: float, seed: int) -> tuple[Indices, Indices]:
    """Some samples in two parts: the same share of every class, where there are classes."""
    if dataset.has_class_each:
        labels = dataset.y.astype(np.int32)[of]
        kept, held = stratified_split_indices(labels, share, seed)
    else:
        kept, held = random_split_indices(len(of), share, seed)
    return of[kept], of[held]


def _counts(dataset: Dataset, indices: Indices | None) -> npt.NDArray[np.int64]:
    if not dataset.has_class_each:
        return np.zeros(0, np.int64)
    labels = dataset.y if indices is None else dataset.y[indices]
    return np.bincount(labels.astype(np.int64), minlength=len(dataset.class_names))
