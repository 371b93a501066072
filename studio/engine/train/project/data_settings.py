"""The data section of a project: which data, how it is split, normalised and augmented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.train.data.cleaning import SplitRule
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.input_columns import InputColumn
from studio.engine.train.data.normalization import NormalizationKind, parse_kind
from studio.engine.train.data.references import CLEANING, OPTIONS, open_dataset
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits

OWN_FIELDS = ("augment", "memory", "normalization", "split_seed", "test_fraction")
MAX_AUGMENTATIONS = 16

BY_NAME: Mapping[str, str] = {"arrays": "array", "columns": "columns", "folders": "folder"}
"""Sources with a part for each input and output by name, and what an entry calls that part."""


@dataclass(frozen=True)
class DataSettings:
    """Where a project's samples come from and what is done to them.

    Attributes:
        reference: what `open_dataset` takes: ``{"source": …, option: value, …}``.
        normalization: what turns raw values into the network's input.
        test_fraction: share held out for testing, unless the source brings a test part.
        split_seed: seed of that split, apart from the training's, so that seeds compare fairly.
        augment: changes made to training samples on the device.
        memory: MiB that samples may take in memory; larger arrays and folders of images stay in
            their files, with the same results. 0 for a quarter of the machine's memory.
    """

    reference: Mapping[str, object]
    normalization: NormalizationKind = "none"
    test_fraction: float = 0.2
    split_seed: int = 0
    augment: tuple[Augmentation, ...] = field(default=())
    memory: int = 0

    @property
    def is_by_name(self) -> bool:
        """Whether parts of the source are mapped to inputs and outputs of the network by name."""
        return self.reference.get("source") in BY_NAME

    @property
    def is_cleaned(self) -> bool:
        """Whether bad rows, cells or pictures are left out or filled, or columns are categories."""
        return any(self.reference.get(key) is not None for key in (*CLEANING, "categories"))

    @property
    def key(self) -> tuple[object, ...]:
        """What, besides the files, decides the data: the split too, where cells are filled."""
        split = (self.test_fraction, self.split_seed) if self.reference.get("fill") else ()
        return (dict(self.reference), self.memory, *split)

    def with_categories(self, columns: Iterable[InputColumn]) -> DataSettings:
        """The same data with the lists of categories stated that some columns have."""
        given = self.reference.get("categories")
        stated = dict(given) if isinstance(given, Mapping) else {}
        for column in columns:
            if column.name in stated:
                stated[column.name] = {k: v for k, v in column.to_json().items() if k != "name"}
        return replace(self, reference={**self.reference, "categories": stated})

    def open(self, base: Path) -> Dataset:
        """The data set; ``base`` is the project's folder. Raises what `open_dataset` raises."""
        split = SplitRule(self.test_fraction, self.split_seed)
        return open_dataset(self.reference, base, split, self.limits)

    @property
    def limits(self) -> DataLimits:
        """The caps that data is opened under."""
        return DataLimits(resident_bytes=self.memory << 20) if self.memory else DEFAULT_LIMITS

    def to_json(self) -> dict[str, Plain]:
        """Source, its options and the other fields in one object, defaults left out."""
        made: dict[str, Plain] = {str(k): _plain(v) for k, v in self.reference.items()}
        if self.normalization != "none":
            made["normalization"] = self.normalization
        made["test_fraction"] = self.test_fraction
        if self.split_seed:
            made["split_seed"] = self.split_seed
        if self.augment:
            made["augment"] = [step.to_json() for step in self.augment]
        if self.memory:
            made["memory"] = self.memory
        return made

    @classmethod
    def from_json(cls, fields: Mapping[str, object]) -> DataSettings:
        """Check and read the section; DataError or ParameterError naming the field."""
        reference = {key: value for key, value in fields.items() if key not in OWN_FIELDS}
        source = reference.get("source")
        if not isinstance(source, str) or source not in OPTIONS:
            raise DataError(
                f"source: expected one of {', '.join(OPTIONS)}, got {quoted(source)}",
                who="data",
                hint=did_you_mean(source, OPTIONS),
            )
        for key in reference:
            if key != "source" and key not in OPTIONS[source]:
                known = ", ".join(sorted((*OPTIONS[source], *OWN_FIELDS)))
                raise DataError(
                    f"unknown field {quoted(key)} for source {source}",
                    who="data",
                    hint=did_you_mean(key, (*OPTIONS[source], *OWN_FIELDS), f"known: {known}"),
                )
        fraction = fields.get("test_fraction", 0.2)
        if isinstance(fraction, bool) or not isinstance(fraction, int | float):
            raise DataError("test_fraction: expected a number", who="data")
        if not 0.0 < fraction < 1.0:
            raise DataError(
                f"test_fraction: expected a number between 0 and 1, got {fraction}", who="data"
            )
        seed = fields.get("split_seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
            raise DataError("split_seed: expected a whole number from 0 up", who="data")
        memory = fields.get("memory", 0)
        if isinstance(memory, bool) or not isinstance(memory, int) or not 0 <= memory < 1 << 32:
            raise DataError(
                f"memory: expected a whole number of MiB from 0 up, got {quoted(memory)}",
                who="data",
            )
        steps = fields.get("augment", [])
        if not isinstance(steps, list | tuple) or len(steps) > MAX_AUGMENTATIONS:
            raise ParameterError(
                f"augment: expected a list of at most {MAX_AUGMENTATIONS}", who="data"
            )
        return cls(
            reference,
            parse_kind(fields.get("normalization", "none")),
            float(fraction),
            seed,
            tuple(Augmentation.resolve(step) for step in steps),
            memory,
        )


def _plain(value: object) -> Plain:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"a data reference holds plain values only: got {quoted(value)}", who="data")
