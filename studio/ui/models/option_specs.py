"""Options with a form of their own: initialisers, penalties, rates, optimisers and the like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from studio.engine.core.configured import Configured
from studio.engine.core.options import Option, Plain, choice, number
from studio.engine.layers.initializers import (
    DISTRIBUTIONS,
    KINDS,
    MODES,
    parse_initializer,
)
from studio.engine.layers.regularizers import DEFAULT, Regularizer, parse_regularizer
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule, read_rate
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.callbacks.early_stopping import EarlyStopping
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.ui.models.option_fields import Field, Variant, Variants, field_of

CONSTANT = "constant"

_BORDERS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NAMES = ("RMSprop", "AdamW")
_NUMBERS: Mapping[str, tuple[tuple[str, float, str], ...]] = {
    "constant": (("value", 0.0, "Every element."),),
    "random_uniform": (("low", -0.05, "Smallest value."), ("high", 0.05, "Largest value.")),
    "random_normal": (("mean", 0.0, "Mean."), ("deviation", 0.05, "Standard deviation.")),
    "truncated_normal": (("mean", 0.0, "Mean."), ("deviation", 0.05, "Standard deviation.")),
    "orthogonal": (("gain", 1.0, "Factor of the orthonormal matrix."),),
    "identity": (("gain", 1.0, "Value on the diagonal."),),
}

_INITIALISERS: Mapping[str, str] = {
    "zeros": "All 0.",
    "ones": "All 1.",
    "constant": "All the same number.",
    "random_uniform": "Even between two numbers.",
    "random_normal": "Normal numbers.",
    "truncated_normal": "Normal numbers, those beyond two deviations drawn again.",
    "orthogonal": "Orthonormal rows or columns (Saxe et al. 2014).",
    "identity": "The identity matrix.",
    "glorot_uniform": "Even, by inputs and outputs (Glorot and Bengio 2010).",
    "glorot_normal": "Normal, by inputs and outputs (Glorot and Bengio 2010).",
    "he_uniform": "Even, by inputs; for relu (He et al. 2015).",
    "he_normal": "Normal, by inputs; for relu (He et al. 2015).",
    "lecun_uniform": "Even, by inputs; for selu (LeCun et al. 1998).",
    "lecun_normal": "Normal, by inputs; for selu (LeCun et al. 1998).",
    "dylann_linear": "The rule of the framework Dylann for dense layers.",
    "dylann_conv": "The rule of the framework Dylann for convolutions.",
    "variance_scaling": "The general rule: scale, fan and distribution chosen freely.",
}


_KNOWN: dict[type[Configured], tuple[Field, ...]] = {}


def fields_of(owner: type[Configured]) -> tuple[Field, ...]:
    """The options of a kind of layer, optimiser or setting as fields."""
    found = _KNOWN.get(owner)
    if found is None:
        found = tuple(described(option, owner.__name__) for option in _in_order(owner))
        _KNOWN[owner] = found
    return found


def _in_order(owner: type[Configured]) -> list[Option[Any]]:
    """Of an optimiser what is usually given first, the learning rate before all."""
    usual = (owner.positional or ()) if issubclass(owner, Optimizer) else ()
    places = {name: place for place, name in enumerate(usual)}
    return sorted(owner.options, key=lambda option: places.get(option.name, len(places)))


def described(option: Option[Any], who: str) -> Field:
    """An option as a field, with its kinds where it has any."""
    field = field_of(option, who)
    if option.read is parse_initializer:
        return replace(field, editor="variants", choices=(), variants=initialisers())
    if option.read is parse_regularizer:
        return replace(field, editor="variants", variants=penalties())
    if option.read is read_rate:
        usual = option.default
        return replace(
            field,
            editor="variants",
            variants=rates(float(usual)) if isinstance(usual, int | float) else rates(),
        )
    make = _BY_NAME.get((who, option.name))
    return field if make is None else make(field)


# -- initialisers and penalties, which are written as text ---------------------------------------


@lru_cache(maxsize=1)
def initialisers() -> Variants:
    """Every initialiser with its numbers."""
    kinds = tuple(
        Variant(kind, kind.replace("_", " "), _INITIALISERS.get(kind, ""), _arguments(kind))
        for kind in KINDS
    )
    return Variants(kinds, _split_initialiser, _join_initialiser)


def _arguments(kind: str) -> tuple[Field, ...]:
    if kind == "variance_scaling":
        scale = _named("scale", number("Variance times the fan.", 1.0, low=1e-6))
        mode = _named("mode", choice("Which connections the fan counts.", *MODES))
        distribution = _named("distribution", choice("How numbers are drawn.", *DISTRIBUTIONS))
        return scale, mode, distribution
    return tuple(
        _named(name, number(doc, default, low=0.0 if name == "deviation" else float("-inf")))
        for name, default, doc in _NUMBERS.get(kind, ())
    )


def _split_initialiser(value: Plain) -> tuple[str, dict[str, Plain]]:
    found = parse_initializer(value)
    values: dict[str, Plain] = {
        field.name: number
        for field, number in zip(_arguments(found.kind), found.numbers, strict=False)
    }
    if found.kind == "variance_scaling":
        values |= {"mode": found.mode, "distribution": found.distribution}
    return found.kind, values


def _join_initialiser(key: str, values: Mapping[str, Plain]) -> Plain:
    given = [values.get(field.name, field.default) for field in _arguments(key)]
    text = f"{key}({','.join(_digits(v) for v in given)})" if given else key
    return parse_initializer(text).text


@lru_cache(maxsize=1)
def penalties() -> Variants:
    """The weight penalties, and none."""
    first = _named(
        "l1", number("Factor of the sum of magnitudes.", DEFAULT, low=0.0, steps="decades")
    )
    second = _named(
        "l2", number("Factor of the sum of squares.", DEFAULT, low=0.0, steps="decades")
    )
    kinds = (
        Variant("", "none"),
        Variant("l1", "l1", "Pulls weights to exactly 0.", (first,)),
        Variant("l2", "l2", "Keeps weights small.", (second,)),
        Variant("l1_l2", "l1 and l2", "Both.", (first, second)),
    )
    return Variants(kinds, _split_penalty, _join_penalty)


def _split_penalty(value: Plain) -> tuple[str, dict[str, Plain]]:
    if value is None:
        return "", {}
    found: Regularizer = parse_regularizer(value)
    if found.l1 and found.l2:
        return "l1_l2", {"l1": found.l1, "l2": found.l2}
    return ("l1", {"l1": found.l1}) if found.l1 else ("l2", {"l2": found.l2})


def _join_penalty(key: str, values: Mapping[str, Plain]) -> Plain:
    if not key:
        return None
    given = [values.get(name, DEFAULT) for name in key.split("_")]
    return parse_regularizer(f"{key}({','.join(_digits(v) for v in given)})").text


def _digits(value: Plain) -> str:
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def _named(name: str, option: Option[Any]) -> Field:
    return field_of(option.named(name), name)


# -- families of settings, which are written as type and config ----------------------------------


def members(family: type[Configured], *, none: str = "") -> Variants:
    """The members of a family, each with its options; ``none`` names the choice of none."""
    kinds = tuple(
        Variant(name, _spaced(name), _first_sentence(member), fields_of(member))
        for name, member in family.members.items()
    )
    first = (Variant("", none),) if none else ()
    return Variants((*first, *kinds), _splitter(family), _join_member)


def _splitter(family: type[Configured]) -> Callable[[Plain], tuple[str, dict[str, Plain]]]:
    def split(value: Plain) -> tuple[str, dict[str, Plain]]:
        if value is None:
            return "", {}
        found = family.resolve(value)
        return type(found).__name__, found.config()

    return split


def _join_member(key: str, values: Mapping[str, Plain]) -> Plain:
    if not key:
        return None
    return {"type": key, "config": dict(values)} if values else key


@lru_cache
def rates(usual: float = 0.001) -> Variants:
    """A fixed learning rate, or one of the schedules.

    Args:
        usual: the fixed rate that is the default.
    """
    fixed = _named(
        CONSTANT,
        number("The same rate at every step.", usual, low=0.0, label="Rate", steps="decades"),
    )
    schedules = tuple(
        Variant(name, _spaced(name), _first_sentence(member), _rate_fields(member))
        for name, member in Schedule.members.items()
        if name != "Constant"
    )
    kinds = (Variant(CONSTANT, "fixed", "The same rate at every step.", (fixed,)), *schedules)
    return Variants(kinds, _split_rate, partial(_join_rate, usual))


def _rate_fields(member: type[Configured]) -> tuple[Field, ...]:
    """Options of a schedule; what follows a warm-up is a number here, not a schedule again."""
    found = []
    for option in member.options:
        field = field_of(option, member.__name__)
        if option.read is read_rate:
            field = replace(field, editor="number", low=0.0)
        found.append(field)
    return tuple(found)


def _split_rate(value: Plain) -> tuple[str, dict[str, Plain]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return CONSTANT, {CONSTANT: float(value)}
    found = Schedule.from_json(value)
    return type(found).__name__, found.config()


def _join_rate(usual: float, key: str, values: Mapping[str, Plain]) -> Plain:
    if key == CONSTANT:
        return values.get(CONSTANT, usual)
    return {"type": key, "config": dict(values)}


def options_of(owner: type[Configured], *, none: str) -> Variants:
    """One kind of settings that is used or not: ``none`` names the choice of not using it."""
    kinds = (Variant("", none), Variant(owner.__name__, "on", _first_sentence(owner),
                                        fields_of(owner)))  # fmt: skip
    return Variants(
        kinds if none else kinds[1:],
        lambda value: ("", {}) if value is None else (owner.__name__, _values(value)),
        lambda key, values: dict(values) if key else None,
    )


def _values(value: Plain) -> dict[str, Plain]:
    return dict(value) if isinstance(value, dict) else {}


def _first_sentence(member: type[Configured]) -> str:
    text = (member.__doc__ or "").split("\n\n")[0].replace("``", "")
    return " ".join(text.split())


def _spaced(name: str) -> str:
    """``CosineDecayRestarts`` as ``Cosine decay restarts``; initials stay together."""
    if name in _NAMES:
        return name
    words = _BORDERS.sub(" ", name).split()
    return " ".join(word if word.isupper() or not i else word.lower()
                    for i, word in enumerate(words))  # fmt: skip


def _optimiser(field: Field) -> Field:
    return replace(field, editor="variants", variants=members(Optimizer))


def _loss(field: Field) -> Field:
    return replace(field, editor="variants", variants=members(Loss, none="by the data"))


def _metrics(field: Field) -> Field:
    return replace(field, editor="list", variants=members(Metric))


def _callbacks(field: Field) -> Field:
    return replace(field, editor="list", variants=members(ProjectCallback))


def _early_stopping(field: Field) -> Field:
    return replace(field, editor="variants", variants=options_of(EarlyStopping, none="off"))


def _checkpoints(field: Field) -> Field:
    return replace(field, editor="variants", variants=options_of(ModelCheckpoint, none=""))


_SETTINGS = "TrainingSettings"
_BY_NAME: dict[tuple[str, str], Callable[[Field], Field]] = {
    (_SETTINGS, "optimizer"): _optimiser,
    (_SETTINGS, "loss"): _loss,
    (_SETTINGS, "metrics"): _metrics,
    (_SETTINGS, "callbacks"): _callbacks,
    (_SETTINGS, "early_stopping"): _early_stopping,
    (_SETTINGS, "checkpoints"): _checkpoints,
}
