"""The settings of a data section as rows of a form: source, split, normalisation, changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.core.options import Option, Plain, choice, integer, number
from studio.engine.train.data.normalization import KINDS
from studio.ui.models.data_sources import SourceForm
from studio.ui.models.option_fields import Field, Row, field_of, row_of
from studio.ui.models.option_specs import members

NORMALIZATIONS = {
    "none": "values as they are",
    "unit": "0 to 1",
    "symmetric": "-1 to 1",
    "standard": "mean 0, deviation 1",
}
"""What each normalisation brings raw values to."""


def source_rows(form: SourceForm, reference: Mapping[str, object]) -> tuple[Row, ...]:
    """The options of a source that are plain values."""
    rows = []
    for field, option in _source_fields(form):
        value: Plain = option.plain(form.value(reference, option.name))
        rows.append(row_of(field, value))
    return tuple(rows)


def _source_fields(form: SourceForm) -> list[tuple[Field, Option[Any]]]:
    known = _KNOWN.get(form.source)
    if known is None:
        known = [(field_of(option, form.source), option) for option in form.options]
        _KNOWN[form.source] = known
    return known


_KNOWN: dict[str, list[tuple[Field, Option[Any]]]] = {}


def split_rows(data: Mapping[str, Plain], *, has_test_part: bool) -> tuple[Row, ...]:
    """How the data is divided; nothing where the source brings its own test part."""
    if has_test_part:
        return ()
    share, seed, _, _ = _fields()
    return (
        row_of(share, data.get("test_fraction", 0.2)),
        row_of(seed, data.get("split_seed", 0)),
    )


def normalization_row(data: Mapping[str, Plain]) -> Row:
    """What turns raw values into the network's input."""
    return row_of(_fields()[2], data.get("normalization", "none"))


def augmentation_row(data: Mapping[str, Plain]) -> Row:
    """Changes made to training pictures."""
    found = data.get("augment")
    return row_of(_fields()[3], found if isinstance(found, list) else [])


@lru_cache(maxsize=1)
def _fields() -> tuple[Field, Field, Field, Field]:
    share = _named("test_fraction", number(
        "Share of the samples held out for testing, the same of every class.", 0.2,
        low=0.01, high=0.9, label="Test share",
        effect="More make a surer measurement and leave less to learn from.",
    ))  # fmt: skip
    seed = _named("split_seed", integer(
        "Seed of that split; the training's seed does not move it.", 0, low=0,
        effect="Another seed holds out other samples.",
    ))  # fmt: skip
    norm = _named("normalization", choice(
        "How raw values become the network's input, measured on the training part: "
        + ", ".join(f"{name} ({what})" for name, what in NORMALIZATIONS.items()) + ".", *KINDS,
        label="Normalisation", effect="Inputs of about the same size are learned from faster.",
    ))  # fmt: skip
    changes = Field(
        "augment", "Changes", "list",
        "Changes of training pictures, drawn anew for every sample and epoch.", [],
        variants=members(Augmentation), effect="They make more out of little data.",
    )  # fmt: skip
    return share, seed, norm, changes


def _named(name: str, option: Option[Any]) -> Field:
    return field_of(option.named(name), "data")
