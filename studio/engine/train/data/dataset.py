"""The data set record: samples as stored, labels or targets, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.train.data.cleaning import NOTHING_CLEANED, Cleaning
from studio.engine.train.data.input_columns import InputColumn
from studio.engine.train.data.normalization import (
    Normalization,
    NormalizationKind,
    make_normalization,
)
from studio.engine.train.data.splitting import divided_indices, tail_split_indices
from studio.engine.train.data.stored_rows import SampleArray, StoredRows, chosen_rows

DatasetKind: TypeAlias = Literal["images", "table", "points"]

STORAGE_TYPES = ("uint8", "int32", "float32")
"""The element types samples are kept in, on the host and on the device."""

_HASH_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)
class InputArray:
    """Samples of one input of a network.

    Attributes:
        name: the input; empty for the only one, whatever its name.
        values: samples [n, …, c] as uint8, int32 or float32.
        kind: what they are.
        value_range: lowest and highest raw value where the kind of data states them.
        normalization: how they are normalised; None as the project says.
        array: name of the array in the file; empty where it has none.
        feature_names: one per trailing index, or empty.
        resize: how pictures are brought to their size, ``bilinear``; empty where none are.
        columns: the columns of a table that these are made of, where some are categories.
    """

    name: str
    values: SampleArray
    kind: DatasetKind
    value_range: tuple[float, float] | None = None
    normalization: NormalizationKind | None = None
    array: str = ""
    feature_names: tuple[str, ...] = ()
    resize: str = ""
    columns: tuple[InputColumn, ...] = ()

    def normalization_for(self, default: NormalizationKind, training: SampleArray) -> Normalization:
        """How it is normalised; columns of categories stay as they are.

        Args:
            default: what the project says.
            training: its values in the training part.
        """
        made = make_normalization(self.normalization or default, training, self.value_range)
        kinds = [column.encoding for column in self.columns for _ in column.names]
        is_number = np.array([kind == "number" for kind in kinds], np.bool_)
        if is_number.all():
            return made
        if not is_number.any():
            return make_normalization("none", training)
        one, zero = np.float32(1), np.float32(0)
        scale = np.where(is_number, made.scale, one)
        return Normalization(made.kind, scale, np.where(is_number, made.shift, zero))


@dataclass(frozen=True, eq=False)
class TargetArray:
    """Targets of one output of a network.

    Attributes:
        name: the output; empty for the only one, whatever its name.
        y: int32[n, …] class indices, as of masks, or float32[n, k, …] numbers.
        class_names: one per class; empty for numbers.
    """

    name: str
    y: npt.NDArray[np.int32] | npt.NDArray[np.float32]
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class WeightArray:
    """How much the samples count in the loss of an output.

    Attributes:
        name: the output; empty for all outputs.
        values: float32[n], or float32[n, …] with a weight for each position; none is negative.
    """

    name: str
    values: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with class indices or regression targets; arrays are read-only views.

    Samples may stay in their files; everything else is in memory.

    Args:
        x: samples [n, …, c] as uint8, int32 or float32; images are [n, height, width, channels].
        y: int32[n, …] class indices, or float32[n, k, …] targets.
        name: what to call it in messages and summaries.
        kind: ``images`` (rank 4), ``table`` (rank 2 or more) or ``points`` (x is [n, 2]).
        class_names: one per class; empty for regression.
        feature_names: one per trailing index of x, or empty.
        attribution: who made the data, as its licence asks to be named.
        licence: short name of the licence, empty when unknown.
        value_range: lowest and highest raw value where the kind of data states them (pixels).
        held_out: the part the source itself sets aside for testing, if it does.
        notes: what the loader decided or skipped, one sentence each.
        inputs: arrays by input name, x the first of them; empty where x goes to the only input.
        targets: arrays by output name, y the first of them; empty where y goes to the only output.
        weights: one for all outputs, or one for each of some outputs; empty where all samples
            count the same.
        resize: how pictures are brought to their size, as `InputArray.resize`.
        columns: the columns of a table that x is made of, as `InputArray.columns`.
        cleaning: what the loader left out or filled in.

    Raises:
        DataError: the parts do not fit together, named by the data set.
    """

    x: SampleArray
    y: npt.NDArray[np.int32] | npt.NDArray[np.float32]
    name: str
    kind: DatasetKind
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    attribution: str = ""
    licence: str = ""
    value_range: tuple[float, float] | None = None
    held_out: Dataset | None = None
    notes: tuple[str, ...] = field(default=())
    inputs: tuple[InputArray, ...] = ()
    targets: tuple[TargetArray, ...] = ()
    weights: tuple[WeightArray, ...] = ()
    resize: str = ""
    columns: tuple[InputColumn, ...] = ()
    cleaning: Cleaning = NOTHING_CLEANED

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            array = getattr(self, name)
            if isinstance(array, StoredRows):
                continue
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        self._check_samples()
        self._check_labels()
        if self.held_out is not None and (
            self.held_out.sample_shape != self.sample_shape
            or self.held_out.class_names != self.class_names
        ):
            raise DataError(
                "training and test part must be of the same kind: expected samples "
                f"{list(self.sample_shape)} of {len(self.class_names)} classes, got "
                f"{list(self.held_out.sample_shape)} of {len(self.held_out.class_names)}",
                who=self.name,
            )

    def _check_samples(self) -> None:
        if self.x.dtype.name not in STORAGE_TYPES:
            raise DataError(
                f"samples must be {', '.join(STORAGE_TYPES)}: got {self.x.dtype}", who=self.name
            )
        rank = {"images": self.x.ndim == 4, "table": self.x.ndim >= 2}.get(
            self.kind, self.x.ndim == 2 and self.x.shape[1] == 2
        )
        if not rank or 0 in self.x.shape:
            raise DataError(
                f"{self.kind} have a shape of another form: got {list(self.x.shape)}",
                who=self.name,
            )
        if len(self.x) != len(self.y):
            raise DataError(
                f"every sample needs a label: got {len(self.x)} samples and {len(self.y)} labels",
                who=self.name,
            )
        if self.feature_names and len(self.feature_names) != self.x.shape[-1]:
            raise DataError(
                f"every feature needs a name: got {self.x.shape[-1]} features and "
                f"{len(self.feature_names)} names",
                who=self.name,
            )

    def _check_labels(self) -> None:
        if not self.class_names:
            if self.y.dtype != np.float32 or self.y.ndim < 2 or 0 in self.y.shape:
                raise DataError(
                    f"regression targets must be float32[n, k, …]: got {self.y.dtype} "
                    f"{list(self.y.shape)}",
                    who=self.name,
                )
            return
        if self.y.dtype != np.int32 or self.y.ndim < 1:
            raise DataError(
                f"class labels must be int32[n, …]: got {self.y.dtype} {list(self.y.shape)}",
                who=self.name,
            )
        outside = np.flatnonzero((self.y < 0) | (self.y >= len(self.class_names)))
        if outside.size:
            row = int(outside[0]) // max(1, self.y[0].size)
            raise DataError(
                f"class indices must be 0 to {len(self.class_names) - 1}: got "
                f"{self.y.flat[int(outside[0])]} in sample {row}",
                who=self.name,
            )

    def __len__(self) -> int:
        return len(self.x)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.x.shape[1:])

    @property
    def is_classification(self) -> bool:
        """Whether y holds class indices rather than regression targets."""
        return bool(self.class_names)

    @property
    def has_class_each(self) -> bool:
        """Whether y holds one class for each sample, as a split by class needs; no masks."""
        return self.is_classification and self.y.ndim == 1

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample and its label as stored."""
        return sum(array.nbytes for array in self._arrays()) // len(self.x)

    def all_inputs(self) -> tuple[InputArray, ...]:
        """The inputs; x without a name where it is the only one."""
        own = InputArray(
            "", self.x, self.kind, self.value_range, resize=self.resize, columns=self.columns
        )
        return self.inputs or (own,)

    def all_targets(self) -> tuple[TargetArray, ...]:
        """The targets; y without a name where it is the only one."""
        return self.targets or (TargetArray("", self.y, self.class_names),)

    def _arrays(self) -> tuple[SampleArray, ...]:
        inputs, targets = self.all_inputs(), self.all_targets()
        values = [each.values for each in inputs], [each.values for each in self.weights]
        return (*values[0], *(each.y for each in targets), *values[1])

    @cached_property
    def sha256(self) -> str:
        """Hex hash of the content: types, shapes, values, class and feature names of all parts."""
        digest = sha256()
        for array in self._arrays():
            digest.update(f"{array.dtype.name}{list(array.shape)}".encode())
            step = max(1, _HASH_BYTES * len(array) // max(1, array.nbytes))
            for begin in range(0, len(array), step):
                block = np.ascontiguousarray(array[begin : begin + step])
                digest.update(block.astype(block.dtype.newbyteorder("<"), copy=False).data)
        digest.update(repr((self.class_names, self.feature_names)).encode())
        if self.inputs:
            names = [each.name for each in self.inputs], [each.name for each in self.targets]
            classes = [each.class_names for each in self.targets]
            digest.update(repr((names, classes)).encode())
        if self.weights:
            digest.update(repr([each.name for each in self.weights]).encode())
        if self.held_out is not None:
            digest.update(self.held_out.sha256.encode())
        return digest.hexdigest()

    def class_counts(self) -> dict[str, int]:
        """Samples per class, in the order of the classes; empty for regression and masks."""
        if not self.has_class_each:
            return {}
        counts = np.bincount(self.y.astype(np.int64), minlength=len(self.class_names))
        return dict(zip(self.class_names, counts.tolist(), strict=True))

    def summary(self) -> str:
        """A few lines for a person: shape, type, classes or targets, origin, notes."""
        shape = "x".join(str(size) for size in self.sample_shape)
        noun = "rows" if self.kind == "table" else self.kind
        lines = [f"{self.name}: {len(self)} {noun} of {shape} {self.x.dtype}"]
        if self.has_class_each:
            counts = self.class_counts()
            shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:12])
            more = ", …" if len(counts) > 12 else ""
            lines.append(f"{len(counts)} classes: {shown}{more}")
        elif self.class_names:
            lines.append(f"{len(self.class_names)} classes at each position")
        else:
            lines.append(f"{self.y.shape[1]} regression target(s)")
        for each in self.inputs[1:]:
            sizes = "x".join(str(size) for size in each.values.shape[1:])
            lines.append(f"input {each.name}: {sizes} {each.values.dtype}")
        for target in self.targets[1:]:
            count = len(target.class_names)
            numbers = f"{target.y.shape[-1]} regression target(s)"
            lines.append(f"output {target.name}: {f'{count} classes' if count else numbers}")
        weighed = ", ".join(each.name or "all outputs" for each in self.weights)
        lines.extend([f"sample weights: {weighed}"] if weighed else [])
        if self.held_out is not None:
            lines.append(f"own test part: {len(self.held_out)}")
        lines.extend((*self.notes, *self.cleaning.sentences))
        lines.extend(part for part in (self.attribution, self.licence) if part)
        return "\n".join(lines)

    def subset(self, indices: npt.NDArray[np.int32], name: str = "") -> Dataset:
        """The samples at ``indices``, in that order; the own test part is left off.

        Samples in memory are copied, those in their files are not read.
        """
        inputs = tuple(
            replace(each, values=chosen_rows(each.values, indices)) for each in self.inputs
        )
        targets = tuple(replace(each, y=each.y[indices]) for each in self.targets)
        return replace(
            self,
            x=inputs[0].values if inputs else chosen_rows(self.x, indices),
            y=targets[0].y if targets else self.y[indices],
            name=name or self.name,
            held_out=None,
            inputs=inputs,
            targets=targets,
            weights=tuple(replace(each, values=each.values[indices]) for each in self.weights),
        )

    def split(self, fraction: float, seed: int, stratify: bool = True) -> tuple[Dataset, Dataset]:
        """Training part and held-out part by a Philox permutation of the seed.

        The training part has ``floor(n * (1 - fraction))`` samples. With ``stratify`` each class
        gives the same share (regression is never stratified).
        """
        labels = self.y.astype(np.int32) if stratify and self.has_class_each else None
        kept, held = divided_indices(labels, len(self), fraction, seed)
        return self.subset(kept), self.subset(held)

    def tail_split(self, fraction: float) -> tuple[Dataset, Dataset]:
        """The first ``floor(n * (1 - fraction))`` samples and the rest, as Keras splits."""
        kept, held = tail_split_indices(len(self), fraction)
        return self.subset(kept), self.subset(held)

    def parts(self, fraction: float, seed: int, stratify: bool = True) -> tuple[Dataset, Dataset]:
        """Training and test part: the source's own where it has one, else `split`."""
        if self.held_out is None:
            return self.split(fraction, seed, stratify)
        return replace(self, held_out=None), self.held_out
