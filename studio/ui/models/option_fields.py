"""Declared options as a form shows them: editor, help, value and default of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from studio.engine.core.options import MAX_INTEGER, Option, OptionKind, Plain
from studio.instruction_view.model.quantities import THIN, TIMES

Editor: TypeAlias = Literal[
    "integer", "number", "flag", "choice", "pair", "integers", "numbers", "variants", "list",
    "border", "weights", "text",
]  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One kind a value may be of, with the options of that kind.

    Attributes:
        key: its name in plain data; empty for none.
        label: its name for people.
        doc: one sentence.
        fields: its own options.
    """

    key: str
    label: str
    doc: str = ""
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Variants:
    """A value that is of one of several kinds, each with options.

    Attributes:
        kinds: in the order they are offered.
        split: plain data to the kind's key and values of its options (missing ones are default).
        join: the other way round.
    """

    kinds: tuple[Variant, ...]
    split: Callable[[Plain], tuple[str, dict[str, Plain]]]
    join: Callable[[str, Mapping[str, Plain]], Plain]

    def kind(self, key: str) -> Variant:
        """The kind of that key; the first for one that is not offered."""
        return next((kind for kind in self.kinds if kind.key == key), self.kinds[0])

    def with_kind(self, value: Plain, key: str) -> Plain:
        """The value turned into another kind, with the options both have."""
        _, values = self.split(value)
        fields = self.kind(key).fields
        kept = {f.name: values[f.name] for f in fields if f.name in values}
        missing = {f.name: f.start for f in fields if f.required and f.name not in kept}
        return self.join(key, {**kept, **missing})

    def with_value(self, value: Plain, name: str, changed: Plain) -> Plain:
        """The value with one option of its kind changed; ``None`` for one that is not optional
        takes the default again."""
        key, values = self.split(value)
        field = next(f for f in self.kind(key).fields if f.name == name)
        if changed is None and not field.optional:
            values.pop(name, None)
            if field.required:
                values[name] = field.start
        else:
            values[name] = changed
        return self.join(key, values)


@dataclass(frozen=True)
class Field:
    """One option, apart from any value.

    Attributes:
        name: as in plain data.
        label: as shown.
        editor: what it is edited with.
        doc: one sentence.
        default: its default as plain data; None also where one has to be given.
        required: whether it has no default.
        optional: whether none is allowed.
        low: smallest number.
        high: largest number.
        choices: words allowed.
        start: a value to begin with where one has to be given.
        variants: kinds, for the editors ``variants`` and ``list``.
        effect: what turning it does, one sentence.
        check: the value in stored form; raises StudioError for one that is not allowed.
    """

    name: str
    label: str
    editor: Editor
    doc: str
    default: Plain = None
    required: bool = False
    optional: bool = False
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    start: Plain = None
    variants: Variants | None = None
    effect: str = ""
    check: Callable[[object], object] = lambda value: value

    def is_default(self, value: Plain) -> bool:
        """Whether a value is the default; never where one has to be given."""
        return not self.required and value == self.default

    def tip(self) -> str:
        """Help in a few sentences: meaning, effect, range, default."""
        parts = [self.doc, self.effect, self.range_text(), self.default_text()]
        return " ".join(part for part in parts if part)

    def range_text(self) -> str:
        """Which values are allowed, as a sentence; empty where any is."""
        whole = self.editor in ("integer", "pair", "integers")
        noun = "Whole numbers" if whole else "Numbers"
        low = -math.inf if self.low <= -MAX_INTEGER else self.low
        high = math.inf if self.high >= MAX_INTEGER else self.high
        if self.editor not in ("integer", "number", "pair", "integers", "numbers"):
            return ""
        if math.isinf(low) and math.isinf(high):
            return ""
        if low == high:
            return f"Only {_digits(low)} is possible."
        if math.isinf(high):
            return f"{noun} from {_digits(low)} up."
        return f"{noun} from {_digits(low)} to {_digits(high)}."

    def default_text(self) -> str:
        """What holds where nothing is chosen, as a sentence."""
        if self.required:
            return ""
        if self.default is None:
            return "Not set by default."
        return f"Default: {plain_text(self.default, self)}."


EFFECTS: Mapping[str, str] = {
    "units": "More let the layer tell apart more, and cost more numbers to learn.",
    "filters": "More find more kinds of patterns, and cost more time and memory.",
    "kernel_size": "Larger ones see more of the picture at once.",
    "strides": "Larger steps make the output smaller.",
    "padding": "It decides whether the picture shrinks at its edges.",
    "dilation_rate": "Larger distances see more of the picture with the same filters.",
    "use_bias": "Turn it off in front of a batch normalisation, which has a shift of its own.",
    "activation": "Without one, layers in a row are no more than a single layer.",
    "pool_size": "Larger windows make the output smaller and less exact about places.",
    "rate": "More works against overfitting and slows learning down.",
    "momentum": "More smooths the course and carries over old mistakes longer.",
    "epsilon": "More makes it steadier where numbers are tiny.",
    "kernel_initializer": "It decides how large the first outputs and gradients are.",
    "kernel_regularizer": "It keeps weights small, against overfitting.",
    "learning_rate": "Too much makes the loss rise or become no number, too little learns slowly.",
    "epochs": "More learn longer; the plots show when it stops paying.",
    "batch_size": "More use the device better and make steadier, rarer steps.",
    "seed": "The same seed gives the same training.",
    "shuffle": "Turn it off only for data whose order is meant.",
    "weight_decay": "It pulls weights towards zero, against overfitting.",
    "clipnorm": "It keeps a single bad batch from throwing the training off.",
    "level": "Level 0 runs every instruction as lowered, to look at; level 2 is fastest.",
    "data_budget": "Less leaves more of the device to the network.",
    "patience": "More waits longer before it gives up.",
    "validation": "It is what overfitting is seen by.",
    "test_fraction": "More make a surer measurement and leave less to learn from.",
    "split_seed": "Another seed holds out other samples.",
    "normalization": "Inputs of about the same size are learned from faster.",
    "turns": "More are harder to tell apart.",
    "noise": "More is harder to tell apart.",
    "Dropout.seed": "",
    "ZeroPadding2D.padding": "More cells make the picture larger.",
    "BatchNormalization.momentum": "More follows the batches more slowly.",
    "label_smoothing": "It keeps the network from being too sure.",
}
"""What turning an option does, by its name, or by owner and name where that differs."""

_WORDS = {
    "use_bias": "bias", "kernel_initializer": "kernel init", "bias_initializer": "bias init",
    "depthwise_initializer": "kernel init", "kernel_regularizer": "kernel penalty",
    "bias_regularizer": "bias penalty", "depthwise_regularizer": "kernel penalty",
    "beta_initializer": "shift init", "gamma_initializer": "scale init",
    "beta_regularizer": "shift penalty", "gamma_regularizer": "scale penalty",
    "moving_mean_initializer": "mean init", "moving_variance_initializer": "variance init",
    "n": "points", "min_lr": "smallest rate", "test_fraction": "test share",
    "validation_fraction": "validation share", "data_budget": "data memory", "cols": "columns",
    "level": "optimisation", "early_stopping": "early stopping", "stop_on_nan": "stop on NaN",
    "warmup_target": "rise to", "warmup_steps": "rise steps", "global_clipnorm": "clip all norms",
    "clipnorm": "clip norm", "clipvalue": "clip value", "restore_best_weights": "restore best",
    "start_from_epoch": "first epoch", "initial_accumulator_value": "first sum",
    "first_decay_steps": "first steps", "negative_slope": "slope below",
    "normalization": "normalisation", "initial_learning_rate": "first rate",
    "end_learning_rate": "last rate", "optimizer": "optimiser", "color_mode": "colour",
    "x_key": "samples", "y_key": "labels", "class_names": "class names",
    "range": "raw range",
}  # fmt: skip


def _digits(bound: float) -> str:
    return f"{int(bound):,}".replace(",", THIN) if bound == int(bound) else f"{bound:g}"


def label_of(name: str) -> str:
    """An option's name in words, in sentence case: ``Kernel size``."""
    words = _WORDS.get(name, name.replace("_", " "))
    return words[:1].upper() + words[1:]


def plain_text(value: Plain, field: Field | None = None) -> str:
    """A value in a few words, as help and lists show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        between = (
            f" {TIMES} " if field is not None and field.editor in ("pair", "integers") else ", "
        )
        return between.join(plain_text(each) for each in value) or "none"
    if isinstance(value, dict):
        kind, config = value.get("type"), value.get("config")
        if kind is None:
            return ", ".join(f"{k} {plain_text(v)}" for k, v in value.items()) or "as it is"
        return str(kind) if not config else f"{kind} ({plain_text(config)})"
    return str(value)


_EDITORS: dict[OptionKind, Editor] = {
    OptionKind.INTEGER: "integer",
    OptionKind.NUMBER: "number",
    OptionKind.FLAG: "flag",
    OptionKind.CHOICE: "choice",
    OptionKind.PAIR: "pair",
    OptionKind.INTEGERS: "integers",
    OptionKind.NUMBERS: "numbers",
    OptionKind.SPEC: "text",
}


def field_of(option: Option[Any], who: str, start: Plain = None) -> Field:
    """An option of the engine as a field, without kinds of its own; a closed list is a choice."""
    editor = _EDITORS[option.kind]
    if editor == "text" and option.choices:
        editor = "choice"
    default = None if option.required else option.plain(option.default)
    return Field(
        option.name, label_of(option.name), editor, option.doc, default, option.required,
        option.optional, option.low, option.high, option.choices, start,
        effect=EFFECTS.get(f"{who}.{option.name}", EFFECTS.get(option.name, "")),
        check=lambda value: option.check(value, who),
    )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A field with the value it has in what is edited.

    Attributes:
        field: the option.
        value: its value as plain data; of the first where several are edited.
        is_default: whether it is the default everywhere.
        is_mixed: whether several are edited and differ in it.
    """

    field: Field
    value: Plain
    is_default: bool
    is_mixed: bool = False


def row_of(field: Field, value: Plain) -> Row:
    """A field and its value."""
    return Row(field, value, field.is_default(value))


def joined_rows(forms: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """The rows several forms have in common; those that differ are marked."""
    if not forms:
        return ()
    first, *others = forms
    found = []
    for row in first:
        twins = [next((r for r in form if _alike(r.field, row.field)), None) for form in others]
        known = [twin for twin in twins if twin is not None]
        if len(known) < len(twins):
            continue
        differs = any(twin.value != row.value for twin in known)
        default = row.is_default and all(twin.is_default for twin in known)
        found.append(Row(row.field, row.value, default, differs))
    return tuple(found)


def _alike(one: Field, other: Field) -> bool:
    """Whether two fields mean the same, although their help may differ."""
    return one is other or (
        (one.name, one.editor, one.low, one.high, one.choices, one.optional)
        == (other.name, other.editor, other.low, other.high, other.choices, other.optional)
    )
