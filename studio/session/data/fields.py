"""The settings of a data section as rows of a form: source, split, normalisation, changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.core.kinds import FamilyKinds
from studio.engine.core.options import Option, Plain, choice, integer, number, spec
from studio.engine.train.data.normalization import KINDS
from studio.session.core.option_rows import Row, row_of
from studio.session.data.sources import SourceForm

NORMALIZATIONS = {
    "none": "values as they are",
    "unit": "0 to 1",
    "symmetric": "-1 to 1",
    "standard": "mean 0, deviation 1",
}
"""What each normalisation brings raw values to."""


TEST_FRACTION = number(
    "Share of the samples held out for testing, the same of every class.", 0.2, low=0.01, high=0.9,
    label="Test share", effect="More make a surer measurement and leave less to learn from.",
).named("test_fraction")  # fmt: skip

SPLIT_SEED = integer(
    "Seed of that split; the training's seed does not move it.", 0, low=0,
    effect="Another seed holds out other samples.",
).named("split_seed")  # fmt: skip

NORMALIZATION = choice(
    "How raw values become the network's input, measured on the training part: "
    + ", ".join(f"{name} ({what})" for name, what in NORMALIZATIONS.items()) + ".", *KINDS,
    label="Normalisation", effect="Inputs of about the same size are learned from faster.",
).named("normalization")  # fmt: skip

_NONE: list[Plain] = []
AUGMENT = spec(
    "Random changes of training pictures, different for every sample and epoch.", _NONE,
    lambda value, _: cast("list[Plain]", value), list, label="Changes", editor="list",
    kinds=FamilyKinds(Augmentation), effect="They make more out of little data.",
).named("augment")  # fmt: skip


def source_rows(form: SourceForm, reference: Mapping[str, object]) -> tuple[Row, ...]:
    """The options of a source that are plain values."""
    return tuple(
        row_of(option, option.plain(form.value(reference, option.name))) for option in form.options
    )


def split_rows(data: Mapping[str, Plain], *, has_test_part: bool) -> tuple[Row, ...]:
    """How the data is divided; nothing where the source brings its own test part."""
    if has_test_part:
        return ()
    return _row_in(data, TEST_FRACTION), _row_in(data, SPLIT_SEED)


def normalization_row(data: Mapping[str, Plain]) -> Row:
    """What turns raw values into the network's input."""
    return _row_in(data, NORMALIZATION)


def augmentation_row(data: Mapping[str, Plain]) -> Row:
    """Changes made to training pictures."""
    found = data.get("augment")
    return row_of(AUGMENT, found if isinstance(found, list) else [])


def _row_in(data: Mapping[str, Plain], option: Option[Any]) -> Row:
    return row_of(option, data.get(option.name, option.plain_default))
