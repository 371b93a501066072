"""The settings of a data section as forms show them: its source, split, normalisation, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.core.errors import DataError, ParameterError, StudioError
from studio.engine.core.kinds import FamilyKinds
from studio.engine.core.options import (
    Option,
    Plain,
    choice,
    integer,
    integers,
    named,
    number,
    numbers,
    spec,
)
from studio.engine.train.data.builtin import MAX_POINTS
from studio.engine.train.data.cleaning import POLICIES
from studio.engine.train.data.csv.rows import DELIMITERS
from studio.engine.train.data.normalization import KINDS
from studio.engine.train.project.data_settings import OWN_FIELDS
from studio.session.core.option_rows import Row, row_of

Origin: TypeAlias = Literal["bundled", "generated", "file"]

AUTO = "auto"
_NAMES = "class_names"
_HEADERS: dict[str, Plain] = {"yes": True, "no": False}


def _seed() -> Option[int]:
    return integer("Seed of the points: the same seed gives the same set.", 0, low=0)


def _noise(default: float) -> Option[float]:
    return number(
        "Standard deviation of the noise added to each coordinate.", default, low=0.0, high=10.0,
        effect="More noise makes classes harder to separate.",
    )  # fmt: skip


def _points() -> Option[int]:
    return integer(
        "Total number of points, equal for every class.", 600, low=2, high=MAX_POINTS,
        label="Points", steps="powers",
    )  # fmt: skip


@dataclass(frozen=True)
class SourceForm:
    """One kind of data source.

    Attributes:
        source: its name in a project file.
        title: its name for people.
        origin: whether it comes with the studio, is computed, or is the user's own.
        about: one sentence.
        options: its options that are plain values; columns and classes have editors of their own.
    """

    source: str
    title: str
    origin: Origin
    about: str
    options: tuple[Option[Any], ...] = ()

    def option(self, name: str) -> Option[Any]:
        """The option of that name; KeyError for another."""
        return next(each for each in self.options if each.name == name)

    def value(self, reference: Mapping[str, object], name: str) -> object:
        """The value an option has in a reference, as the form shows it."""
        option = self.option(name)
        given = reference.get(name)
        if given is None:
            return option.default
        if name == "header":
            return "yes" if given else "no"
        if name == _NAMES and isinstance(given, list | tuple):
            return ", ".join(map(str, given))
        try:
            return option.check(given, self.source)
        except StudioError:
            return given

    def with_value(
        self, reference: Mapping[str, Plain], name: str, value: object
    ) -> dict[str, Plain]:
        """A reference with one option changed; ParameterError for a value out of its range."""
        option = self.option(name)
        found = option.check(value, self.source)
        made = {key: given for key, given in reference.items() if key != name}
        if found != option.default:
            made[name] = _stored(option, found)
        return made


def _stored(option: Option[Any], value: Any) -> Plain:
    """A value of a form as a reference has it."""
    if option.name == "header":
        return _HEADERS[str(value)]
    if option.name == _NAMES:
        return list(_words(value))
    return option.plain(value)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _text(doc: str, label: str) -> Option[str]:
    def read(value: object, who: str) -> str:
        if not isinstance(value, str):
            raise ParameterError(f"expected a text, got {str(value)[:40]!r}", who=who)
        return value.strip()

    return spec(doc, "", read, str, label=label)


def class_names_option(doc: str, label: str = "") -> Option[str]:
    """A list of class names as text with commas between."""

    def read(value: object, who: str) -> str:
        if not isinstance(value, str):
            raise ParameterError(f"expected names, got {str(value)[:40]!r}", who=who)
        return ", ".join(_words(value))

    return spec(doc, "", read, str, label=label)


_NUMBERED = "Names of the classes 0, 1, 2 and so on, with commas between; numbers unless given."
_BAD_ROWS = choice(
    "What happens to rows or samples that cannot be read: refused, or left out and counted.",
    *POLICIES,
    label="Bad rows",
)
_BAD_IMAGES = choice(
    "What happens to images that cannot be read: refused, or left out and counted.",
    *POLICIES,
    label="Bad images",
)
_TASK = "Whether labels are classes or numbers; automatic goes by what they look like."

FORMS: dict[str, SourceForm] = {
    form.source: form
    for form in (
        SourceForm("digits", "Digits", "bundled",
                   "1,797 handwritten digits of 8 by 8 pixels, ten classes."),
        SourceForm("iris", "Iris", "bundled",
                   "150 flowers, four measurements each, three species."),
        SourceForm(
            "spirals", "Spirals", "generated", "Spiral arms around the origin, one per class.",
            named(
                n=_points(),
                classes=integer("Arms, one per class.", 2, low=2, high=64),
                turns=number("Revolutions of an arm.", 1.0, low=0.01, high=100.0,
                             effect="More turns make classes harder to separate."),
                noise=_noise(0.02),
                seed=_seed(),
            ),
        ),
        SourceForm(
            "moons", "Moons", "generated", "Two interleaved half circles.",
            named(n=_points(), noise=_noise(0.1),
                   seed=_seed()),
        ),
        SourceForm(
            "circles", "Circles", "generated", "Circles around the origin, one per class.",
            named(
                n=_points(),
                classes=integer("Circles, one per class.", 2, low=2, high=64),
                factor=number("Radius of each circle relative to the one around it.", 0.5,
                              low=0.01, high=0.99),
                noise=_noise(0.05),
                seed=_seed(),
            ),
        ),
        SourceForm(
            "csv", "Table", "file", "A CSV file: one row per sample, one column is the label.",
            named(
                header=choice("Whether the first row names the columns; automatic detects it.",
                              AUTO, "yes", "no"),
                delimiter=choice("Separator between cells; automatic detects it.",
                                 AUTO, *DELIMITERS),
                task=choice(_TASK, AUTO, "classes", "regression"),
                shape=integers("Shape of a sample if each row holds an image: height, "
                               "width, channels.", (), low=1),
                class_names=class_names_option("Labels in the order of the classes, with commas "
                                         "between; sorted unless given."),
                bad_rows=_BAD_ROWS,
            ),
        ),
        SourceForm(
            "npz", "NumPy arrays", "file", "Samples and labels as arrays.",
            named(
                x_key=_text("Name of the array of samples in an archive; the usual names unless "
                            "given.", "Samples"),
                y_key=_text("Name of the array of labels in an archive; the usual names unless "
                            "given.", "Labels"),
                task=choice(_TASK, AUTO, "classes", "regression"),
                class_names=class_names_option(_NUMBERED),
                range=numbers("Lowest and highest possible raw value; by default 0 "
                              "and 255 for 8-bit images.", (), label="Raw range"),
                bad_rows=_BAD_ROWS,
            ),
        ),
        SourceForm(
            "arrays", "Named arrays", "file",
            "An archive with an array for each input and output of the network.",
        ),
        SourceForm(
            "columns", "Table", "file",
            "A CSV file with columns for each input and output of the network.",
            named(
                header=choice("Whether the first row names the columns; automatic detects it.",
                              AUTO, "yes", "no"),
                delimiter=choice("Separator between cells; automatic detects it.",
                                 AUTO, *DELIMITERS),
                bad_rows=_BAD_ROWS,
            ),
        ),
        SourceForm(
            "images", "Folder of images", "file", "One folder of images per class.",
            named(
                size=integers("Height and width of every sample; by default the most "
                              "common size.",
                              (), low=1),
                color_mode=choice("Colour of the samples; automatic: grey if all images are.",
                                  AUTO, "grayscale", "rgb", label="Colour"),
                class_names=class_names_option("Folders in the order of the classes, with commas "
                                         "between; sorted unless given."),
                bad_images=_BAD_IMAGES,
            ),
        ),
        SourceForm(
            "folders", "Images and masks", "file",
            "A folder of images for each input, and of masks for each output.",
            named(
                size=integers("Height and width of every sample; by default the most "
                              "common size.",
                              (), low=1),
                color_mode=choice("Colour of the samples; automatic: grey if all images are.",
                                  AUTO, "grayscale", "rgb", label="Colour"),
                bad_images=_BAD_IMAGES,
            ),
        ),
        SourceForm(
            "idx", "IDX files", "file", "The file format of MNIST.",
            named(class_names=class_names_option(_NUMBERED)),
        ),
    )
}  # fmt: skip
"""Every source, those that need no file first."""

OFFERED = tuple(name for name, form in FORMS.items() if form.origin != "file")
"""Sources that can be had without a file."""


def form_of(data: Mapping[str, object] | None) -> SourceForm | None:
    """The form of a project's data section; None without data or for an unknown source."""
    return None if data is None else FORMS.get(str(data.get("source")))


def reference_of(data: Mapping[str, Plain]) -> dict[str, Plain]:
    """The source and its options out of a data section."""
    return {key: value for key, value in data.items() if key not in OWN_FIELDS}


def with_reference(
    data: Mapping[str, Plain] | None, reference: Mapping[str, Plain]
) -> dict[str, Plain]:
    """A data section with another reference, split and normalisation as they were."""
    own = {key: value for key, value in (data or {}).items() if key in OWN_FIELDS}
    return {**reference, "test_fraction": 0.2, **own}


def default_normalization(kind: str, *, has_range: bool) -> str:
    """The normalisation that suits data of a kind, for a source that is newly attached."""
    if kind == "images" and has_range:
        return "unit"
    return "standard" if kind == "table" else "none"


def check_source(name: str) -> SourceForm:
    """The form of a source; DataError for an unknown name."""
    form = FORMS.get(name)
    if form is None:
        raise DataError(
            f"unknown data source: expected one of {', '.join(FORMS)}, got {name[:40]!r}",
            who="data",
        )
    return form


NORMALIZATIONS = {
    "none": "unchanged values",
    "unit": "0 to 1",
    "symmetric": "-1 to 1",
    "standard": "mean 0, standard deviation 1",
}
"""What each normalisation brings raw values to."""


TEST_FRACTION = number(
    "Fraction of the samples held out for testing, equal for every class.", 0.2, low=0.01, high=0.9,
    label="Test fraction", effect="A larger test part measures more precisely and leaves "
                                  "less to train on.",
).named("test_fraction")  # fmt: skip

SPLIT_SEED = integer(
    "Seed of the split, independent of the training seed.", 0, low=0,
    effect="Another seed selects other samples.",
).named("split_seed")  # fmt: skip

NORMALIZATION = choice(
    "How raw values are scaled for the network, by statistics of the training part: "
    + ", ".join(f"{name} ({what})" for name, what in NORMALIZATIONS.items()) + ".", *KINDS,
    label="Normalisation", effect="Training is faster when all inputs have a similar scale.",
).named("normalization")  # fmt: skip

_NONE: list[Plain] = []
AUGMENT = spec(
    "Random changes of training images, different for every sample and epoch.", _NONE,
    lambda value, _: cast("list[Plain]", value), list, label="Augmentation", editor="list",
    kinds=FamilyKinds(Augmentation), effect="Augmentation helps when there is little data.",
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
