"""Opens and describes data; runs in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from studio.engine.core.errors import DataError, EmptyDataError, StudioError
from studio.engine.core.options import Plain
from studio.engine.train.data.csv.rows import parse_delimiter
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.source_files import resolve_source
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.settings import TrainingSettings
from studio.session.core.tasks import CancelledError, TaskHandle
from studio.session.data.cache import DatasetCache
from studio.session.data.columns import ColumnPeek, peek_table
from studio.session.data.mapping import Ends, is_by_name
from studio.session.data.recognition import Recognised, recognise, recognise_pair
from studio.session.data.sources import (
    default_normalization,
    form_of,
    with_reference,
)
from studio.session.data.summary import DataSummary, summarise
from studio.session.document.document import Document
from studio.session.document.edits.sections import data_of, training_of


class Wanted(NamedTuple):
    """Everything the description of a data set depends on.

    Attributes:
        data: the data section.
        validation: what each epoch is measured on, and the share.
        folder: where relative paths start.
    """

    data: DataSettings
    validation: tuple[str, float]
    folder: Path

    @property
    def title(self) -> str:
        """What to call the data in a list of tasks."""
        reference = self.data.reference
        path = reference.get("path", reference.get("images"))
        form = form_of(reference)
        named = Path(path).name if isinstance(path, str) else ""
        return named or (form.title.lower() if form is not None else "the data")

    @property
    def is_table(self) -> bool:
        """Whether it is a table with columns to choose from."""
        reference = self.data.reference
        return reference.get("source") == "csv" and isinstance(reference.get("path"), str)


def wanted_of(document: Document) -> Wanted | None:
    """What a document wants opened; None where it has no data."""
    settings = data_of(document.state)
    if settings is None:
        return None
    training = training_of(document.state)
    divided = (training.validation, float(training.validation_fraction))
    return Wanted(settings, divided, document.folder)


def described(wanted: Wanted, cache: DatasetCache, handle: TaskHandle) -> DataSummary:
    """Open the data and look at every sample; raises what loaders raise."""
    handle.progress(None, "reading")
    dataset = cache.open(wanted.data, wanted.folder)
    handle.progress(None, "scanning samples")
    kind, fraction = wanted.validation
    training = TrainingSettings(validation=kind, validation_fraction=fraction)
    return summarise(dataset, wanted.data, training)


def columns_of(wanted: Wanted) -> tuple[ColumnPeek, ...]:
    """The columns of a table by its first rows; raises what reading it raises."""
    reference = wanted.data.reference
    header, delimiter = reference.get("header"), reference.get("delimiter")
    table = peek_table(
        resolve_source(wanted.folder, str(reference["path"])),
        parse_delimiter(delimiter) if isinstance(delimiter, str) else None,
        header if isinstance(header, bool) else None,
    )
    return table.columns


@dataclass(frozen=True)
class Attachment:
    """What looking at a path of the user's found.

    Attributes:
        found: what it was taken for.
        dataset: the data; None where it is recognised but cannot be read.
    """

    found: Recognised
    dataset: Dataset | None

    def section(self, before: dict[str, Plain]) -> dict[str, Plain]:
        """The data section with it: split as before, the normalisation that suits it."""
        data = with_reference(before or None, self.found.reference)
        data.pop("normalization", None)
        if is_by_name(self.found.reference):
            # Each input has its own.
            inputs = () if self.dataset is None else self.dataset.all_inputs()
            return fitting(data, is_pictures=any(each.kind == "images" for each in inputs))
        kind, has_range = "table" if self.found.reference["source"] == "csv" else "", False
        if self.dataset is not None:
            kind, has_range = self.dataset.kind, self.dataset.value_range is not None
        normalization = default_normalization(kind, has_range=has_range)
        if normalization != "none":
            data["normalization"] = normalization
        return fitting(data, is_pictures=self.dataset is None or kind == "images")


def look_at(
    paths: Sequence[Path],
    base: Path | None,
    cache: DatasetCache,
    handle: TaskHandle,
    ends: Ends = (),
) -> Attachment:
    """Recognise and read a file, a folder, or two files that belong together.

    Args:
        paths: the files.
        base: the project's folder, if it has one.
        cache: keeps what is read.
        handle: of the task this is.
        ends: inputs and outputs of the network; parts of a file go to them where they are several.

    Raises:
        DataError: it is nothing to train on, or there is nothing in it.
    """
    handle.progress(None, "recognising")
    if len(paths) > 2:
        raise DataError(
            f"expected one file or folder, or samples and labels in two: got {len(paths)}",
            who=paths[0].name,
        )
    first, *beside = paths
    found = recognise_pair(first, beside[0], base) if beside else recognise(first, base, ends)
    settings = DataSettings.from_json(found.reference)
    if cache.trusted is not None:
        # The user has just chosen it.
        cache.trusted.trust(found.reference, base or Path.cwd(), remember=False)
    handle.progress(None, "reading")
    try:
        return Attachment(found, cache.open(settings, base or Path.cwd()))
    except (EmptyDataError, CancelledError):
        raise
    except StudioError:
        return Attachment(found, None)


def fitting(data: dict[str, Plain], *, is_pictures: bool) -> dict[str, Plain]:
    """The section without augmentation where there are no pictures to change."""
    return data if is_pictures else {key: v for key, v in data.items() if key != "augment"}
