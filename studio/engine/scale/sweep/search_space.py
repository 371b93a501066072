"""What a sweep varies: options of layers, of the optimiser and of the training, and their values.

An axis is written ``NAME=VALUES``. A name is a training setting (``batch_size``), an option of the
optimiser (``learning_rate``) or ``LAYER.OPTION``. Values are a list (``8,16,32``), a range
(``0.1..0.5``), a range on a logarithmic scale (``log:1e-4..1e-1``), or either range with a number
of points (``log:1e-4..1e-1/4``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import AnyOption, OptionKind, Plain
from studio.engine.layers.inputs import Input
from studio.engine.train.project.project import Project
from studio.engine.train.settings import TrainingSettings

Raw: TypeAlias = "bool | int | float | str | None"
"""A value as a table shows it; a pair such as ``3x5`` is text."""
Place: TypeAlias = Literal["training", "optimizer", "rate", "layer"]

MAX_AXES = 32
MAX_VALUES = 1000
MAX_POINTS = 10_000
"""Points of a grid, and trials of a sweep."""

_MEASURING = (
    "validation", "validation_fraction", "metrics", "weighted_metrics", "loss_weights",
)  # fmt: skip
_WHOLE = (
    "callbacks",
    "checkpoints",
    "early_stopping",
    "begin_with",
    "stop_on_nan",
    "class_weights",
)
_BARRED = (*_MEASURING, *_WHOLE)
_NUMBERS = (OptionKind.INTEGER, OptionKind.NUMBER)
_LISTED = (*_NUMBERS, OptionKind.FLAG, OptionKind.CHOICE, OptionKind.PAIR)


@dataclass(frozen=True)
class Axis:
    """One thing that varies.

    Attributes:
        name: as the user wrote it.
        text: its values as the user wrote them.
        place: whose option it is.
        owner: name of the layer; empty for others.
        option: name of the option.
        values: what it may be, in order; empty for a range.
        low: lowest value of a range.
        high: highest value of a range.
        is_log: whether the range is drawn from by its logarithm.
        is_whole: whether the range holds whole numbers only.
        is_pair: whether a value is one whole number or two, as text such as ``3x5``.
    """

    name: str
    text: str
    place: Place
    owner: str
    option: str
    values: tuple[Raw, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    is_whole: bool = False
    is_pair: bool = False

    @property
    def count(self) -> int:
        """How many values it has; 0 for a range of fractions."""
        if self.values:
            return len(self.values)
        return int(self.high) - int(self.low) + 1 if self.is_whole and not self.is_log else 0

    def point(self, index: int) -> Raw:
        """A value of those it has, by its place."""
        return self.values[index] if self.values else int(self.low) + index

    def at(self, share: float) -> Raw:
        """The value at a share from 0 up to 1 of the axis."""
        if self.count:
            return self.point(min(int(share * self.count), self.count - 1))
        low, high = self.low, self.high
        if self.is_whole:
            # Each whole number gets the room from half below to half above it.
            low, high = low - 0.5, high + 0.5
        if self.is_log:
            found = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            found = low + share * (high - low)
        found = min(max(found, self.low), self.high)
        return round(found) if self.is_whole else found


@dataclass(frozen=True)
class Variable:
    """Something of a project that may be varied.

    Attributes:
        name: as an axis names it.
        option: what is varied.
        value: what it is now, as plain data.
    """

    name: str
    option: AnyOption
    value: Plain


def parse_axes(words: Sequence[str], project: Project) -> tuple[Axis, ...]:
    """The axes that words such as ``conv1.filters=8,16`` mean for a project.

    Every listed value and both ends of every range are tried on the project.

    Raises:
        ParameterError: a name or a value is wrong; names it and the rule.
    """
    if not 0 < len(words) <= MAX_AXES:
        raise ParameterError(
            f"expected 1 to {MAX_AXES} things to vary, got {len(words)}",
            who="--vary",
            hint='for example --vary "learning_rate=log:1e-4..1e-1"',
        )
    axes: list[Axis] = []
    for word in words:
        axis = _parse(word, project)
        same = next((a for a in axes if _target(a) == _target(axis)), None)
        if same is not None:
            both = f" by {same.name} and {axis.name}" if same.name != axis.name else ""
            raise ParameterError(f"{axis.name} is varied twice{both}", who="--vary")
        axes.append(axis)
    for axis in axes:
        for value in axis.values or (axis.at(0.0), axis.at(1.0)):
            _try(axis, value, project)
    return tuple(axes)


def variables(project: Project) -> dict[str, Variable]:
    """Everything of a project that may be varied, by name; lists and what is fixed are left out."""
    training, optimizer = project.training, project.training.optimizer
    rate = optimizer.option_values.get("learning_rate")
    owners: list[tuple[str, Configured]] = [("", training), ("", optimizer)]
    if isinstance(rate, Configured):
        owners.append(("learning_rate.", rate))
    owners += [
        (f"{layer.name}.", layer)
        for layer in project.graph.layers()
        if not isinstance(layer, Input)
    ]
    found: dict[str, Variable] = {}
    for prefix, owner in owners:
        for option in owner.options:
            value = owner.option_values[option.name]
            barred = _BARRED if owner is training else ("name",)
            is_schedule = owner is optimizer and isinstance(value, Configured)
            is_value = option.kind in (*_LISTED, OptionKind.SPEC) and not option.is_fixed
            if is_value and not is_schedule and option.name not in barred:
                name = f"{prefix}{option.name}"
                found.setdefault(name, Variable(name, option, option.plain(value)))
    return found


def varied(project: Project, axes: Sequence[Axis], values: Mapping[str, Raw]) -> Project:
    """The project with a value for each axis.

    Raises:
        StudioError: a layer or the optimiser refuses them together.
    """
    document = project.to_json()
    # A chosen optimiser comes before its options.
    for axis in sorted(axes, key=lambda axis: axis.place != "training"):
        _place_value(document, axis, _plain(axis, values[axis.name]))
    made = Project.from_json(document, project.name)
    return replace(made, path=project.path)


def grid_size(axes: Sequence[Axis]) -> int:
    """How many points the grid has; ParameterError for a range without points, or too many."""
    size = 1
    for axis in axes:
        if not axis.count:
            raise ParameterError(
                f"{axis.name}: a grid needs values, not the range {axis.text}",
                who="--vary",
                hint=f'give a number of points, such as "{axis.name}={axis.text}/5", or a list',
            )
        size *= axis.count
    if size > MAX_POINTS:
        raise ParameterError(
            f"the grid has {size:,} points, at most {MAX_POINTS:,} are allowed",
            who="--sampler grid",
            hint="list fewer values, or take --sampler random",
        )
    return size


def grid_point(axes: Sequence[Axis], number: int) -> dict[str, Raw]:
    """The values of one point of the grid; the last axis changes fastest."""
    values: dict[str, Raw] = {}
    for axis in reversed(axes):
        number, index = divmod(number, axis.count)
        values[axis.name] = axis.point(index)
    return {axis.name: values[axis.name] for axis in axes}


def _target(axis: Axis) -> tuple[str, str, str]:
    return axis.place, axis.owner, axis.option


def _parse(word: str, project: Project) -> Axis:
    name, sign, text = (part.strip() for part in word.partition("="))
    if not sign or not name or not text:
        raise ParameterError(
            f"expected NAME=VALUES, got {quoted(word)}",
            who="--vary",
            hint='for example "batch_size=16,32,64" or "learning_rate=log:1e-4..1e-1"',
        )
    place, owner, option = _find(name, project)
    axis = Axis(
        name, text, place, owner, option.name, is_pair=option.kind is OptionKind.PAIR
    )  # fmt: skip
    if ".." in text:
        return _ranged(axis, option)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 2 or len(parts) > MAX_VALUES:
        raise ParameterError(
            f"{name}: expected 2 to {MAX_VALUES} values, got {len(parts)}",
            who="--vary",
            hint=f'list them, as in "{name}={text},…", or give a range, as in "{name}=A..B"',
        )
    values = tuple(_listed(part, option, name) for part in parts)
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or values.count(None) > 1:
        raise ParameterError(f"{name}: {shown(twice)} is listed twice", who="--vary")
    return replace(axis, values=values)


def _find(name: str, project: Project) -> tuple[Place, str, AnyOption]:
    """Whose option a name means; ParameterError with what was probably meant."""
    owner, dot, last = name.rpartition(".")
    optimizer = project.training.optimizer
    rate = optimizer.option_values.get("learning_rate")
    if owner == "learning_rate" and isinstance(rate, Configured):
        inner = next((o for o in rate.options if o.name == last), None)
        if inner is None:
            raise _unknown(name, project, f"{type(rate).__name__} has no option {quoted(last)}")
        return "rate", "", inner
    if not dot or owner in ("training", "optimizer"):
        settings = {o.name: o for o in TrainingSettings.options} if owner != "optimizer" else {}
        own = {o.name: o for o in optimizer.options} if owner != "training" else {}
        if last in settings:
            return "training", "", _allowed(settings[last], name)
        if last == "learning_rate" and isinstance(rate, Configured):
            raise ParameterError(
                f"{name} is a schedule here, {type(rate).__name__}",
                who="--vary",
                hint="vary an option of it: "
                + " or ".join(f"learning_rate.{o.name}" for o in rate.options[:3]),
            )
        if last in own:
            return "optimizer", "", own[last]
        raise _unknown(name, project, f"unknown setting {quoted(name)}")
    layer = next((each for each in project.graph.layers() if each.name == owner), None)
    if layer is None:
        raise _unknown(name, project, f"there is no layer {quoted(owner)}")
    options = {o.name: o for o in layer.options}
    if last not in options or isinstance(layer, Input) or last == "name":
        raise _unknown(name, project, f"layer {owner} has no option {quoted(last)} to vary")
    return "layer", owner, options[last]


def _allowed(option: AnyOption, name: str) -> AnyOption:
    """The option of a training; ParameterError for one that trials cannot differ in."""
    if option.name in _MEASURING:
        raise ParameterError(
            f"{name} decides how trials are measured, and must be the same for all", who="--vary"
        )
    if option.name in _WHOLE:
        raise ParameterError(f"{name} cannot be varied", who="--vary")
    return option


def _unknown(name: str, project: Project, message: str) -> ParameterError:
    known = list(variables(project))
    otherwise = "name a training setting, an option of the optimiser, or LAYER.OPTION"
    return ParameterError(message, who="--vary", hint=did_you_mean(name, known, otherwise))


def _ranged(axis: Axis, option: AnyOption) -> Axis:
    name, text = axis.name, axis.text
    is_log = text.startswith("log:")
    body, slash, points = text.removeprefix("log:").partition("/")
    first, _, last = body.partition("..")
    # A learning rate may be a schedule, too; its range is one of numbers.
    number_like = option.kind in _NUMBERS or option.name == "learning_rate"
    if not number_like:
        raise ParameterError(f"{name} has no range: it is no number", who="--vary",
                             hint=f'list its values, as in "{name}=A,B"')  # fmt: skip
    low, high = _number(first, name), _number(last, name)
    is_whole = option.kind is OptionKind.INTEGER
    if is_whole and (low != int(low) or high != int(high)):
        raise ParameterError(f"{name}: expected whole numbers, got {quoted(text)}", who="--vary")
    if not low < high:
        raise ParameterError(
            f"{name}: the range {text} is empty: {first.strip()} is not below {last.strip()}",
            who="--vary",
        )
    if is_log and low <= 0.0:
        raise ParameterError(
            f"{name}: a logarithmic range begins above 0, got {first.strip()}", who="--vary"
        )
    found = replace(axis, low=low, high=high, is_log=is_log, is_whole=is_whole)
    return replace(found, values=_spaced(found, points)) if slash else found


def _spaced(axis: Axis, points: str) -> tuple[Raw, ...]:
    """Values at equal distances, or equal ratios on a logarithmic scale, both ends among them."""
    count = int(points) if points.strip().isascii() and points.strip().isdecimal() else 0
    if not 2 <= count <= MAX_VALUES:
        raise ParameterError(
            f"{axis.name}: expected 2 to {MAX_VALUES} points, got {quoted(points)}", who="--vary"
        )
    ends = (math.log(axis.low), math.log(axis.high)) if axis.is_log else (axis.low, axis.high)
    inner = [ends[0] + (ends[1] - ends[0]) * i / (count - 1) for i in range(1, count - 1)]
    places = [axis.low, *(math.exp(v) if axis.is_log else v for v in inner), axis.high]
    # Twelve digits: 0.01 is written so, not as 0.010000000000000002.
    found = [round(v) if axis.is_whole else float(f"{v:.12g}") for v in places]
    return tuple(dict.fromkeys(found))


def _number(text: str, name: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ParameterError(
            f"{name}: expected a number, got {quoted(text.strip())}",
            who="--vary",
            hint="a range is written A..B, or log:A..B",
        )
    return found


def _listed(text: str, option: AnyOption, name: str) -> Raw:
    """One value out of a list, as its option's kind reads text."""
    if option.optional and text == "none":
        return None
    kind = option.kind
    if kind is OptionKind.FLAG:
        if text not in ("true", "false"):
            raise ParameterError(f"{name}: expected true or false, got {quoted(text)}",
                                 who="--vary")  # fmt: skip
        return text == "true"
    if kind is OptionKind.INTEGER:
        try:
            return int(text)
        except ValueError:
            raise ParameterError(
                f"{name}: expected a whole number, got {quoted(text)}", who="--vary"
            ) from None
    if kind is OptionKind.NUMBER or option.name == "learning_rate":
        return _number(text, name)
    if kind not in (*_LISTED, OptionKind.SPEC):
        raise ParameterError(f"{name} cannot be varied: it is a list of values", who="--vary")
    return text


def _plain(axis: Axis, value: Raw) -> Plain:
    """A value as a project's file holds it."""
    if axis.is_pair and isinstance(value, str):
        sides = value.split("x")
        if not all(side.isascii() and side.isdecimal() for side in sides):
            raise ParameterError(
                f"{axis.name}: expected a whole number, or two as in 3x5, got {quoted(value)}",
                who="--vary",
            )
        whole: list[Plain] = [int(side) for side in sides]
        return whole[0] if len(whole) == 1 else whole
    return value


def _place_value(document: dict[str, Plain], axis: Axis, value: Plain) -> None:
    """Put a value where the document of a project has it."""
    if axis.place == "layer":
        graph = cast("dict[str, list[dict[str, Plain]]]", document["graph"])
        for node in graph["nodes"]:
            config = node.get("config")
            if isinstance(config, dict) and config.get("name", node["id"]) == axis.owner:
                config[axis.option] = value
        return
    training = cast("dict[str, Plain]", document["training"])
    if axis.place == "training":
        training[axis.option] = value
        return
    found = training["optimizer"]
    made = {"type": found, "config": {}} if isinstance(found, str) else found
    config = cast("dict[str, dict[str, Plain]]", made)["config"]
    if axis.place == "rate":
        config = cast("dict[str, dict[str, Plain]]", config["learning_rate"])["config"]
    config[axis.option] = value
    training["optimizer"] = cast("Plain", made)


def _try(axis: Axis, value: Raw, project: Project) -> None:
    """ParameterError where a value alone is refused."""
    try:
        varied(project, [axis], {axis.name: value})
    except StudioError as error:
        raise ParameterError(
            f"{axis.name}: {error.message.removeprefix(f'{axis.option}: ')}",
            who="--vary",
            hint=error.hint,
        ) from None


def shown(value: Raw) -> str:
    """A value as a table shows it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
