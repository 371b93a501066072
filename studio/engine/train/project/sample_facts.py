"""What is known of a network's samples: from its data, or as the file says it was imported from.

A project without data has no other place for names of classes and for how raw samples become its
input. Exports, tests and predictions take them from here as they take them from data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from studio.engine.compiler.lower_data import Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.core.options import Plain
from studio.engine.formats.safe_json import parse_json
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.train.data.input_columns import InputColumn, columns_from_json
from studio.engine.train.data.normalization import KINDS

T = TypeVar("T")

MAX_CLASSES = 100_000
MAX_TEXT = 2000
"""Characters of one name."""
MAX_PORTS = 10_000
_LARGEST = 3e38
_INPUT_FIELDS = (
    "kind", "range", "features", "normalization", "scale", "shift", "resize", "columns",
)  # fmt: skip
_DATA_KINDS = ("images", "table", "points")
_RESIZES = ("bilinear",)


@dataclass(frozen=True)
class InputFacts:
    """What reading a user's files needs to know of the raw input.

    Attributes:
        kind: ``images``, ``table`` or ``points``; empty for arrays.
        value_range: lowest and highest raw value, where the data states them.
        feature_names: columns of a table, or empty.
        name: the input of the network; empty where the data has only one, whatever its name.
        array: name of its array in the data's file; empty where there is only one.
        columns: columns of a table that its numbers are made of, where some are categories.
    """

    kind: str = ""
    value_range: tuple[float, float] | None = None
    feature_names: tuple[str, ...] = ()
    name: str = ""
    array: str = ""
    columns: tuple[InputColumn, ...] = ()


@dataclass(frozen=True)
class OutputFacts:
    """What is known of the targets of an output.

    Attributes:
        name: the output; empty where the data has only one, whatever its name.
        class_names: names of the classes, empty for numbers.
    """

    name: str = ""
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatedInput:
    """How raw samples become an input, as a file says.

    Attributes:
        kind: as in `InputFacts`.
        value_range: likewise.
        feature_names: likewise.
        normalization: what the numbers were made by; empty where that is not known.
        scale: factors along the last axis, or one for all; empty for no normalisation.
        shift: summands, as many.
        resize: how images are resampled; empty where that is not known.
        columns: columns of a table with their categories, as in `InputFacts`.
    """

    kind: str = ""
    value_range: tuple[float, float] | None = None
    feature_names: tuple[str, ...] = ()
    normalization: str = ""
    scale: tuple[float, ...] = ()
    shift: tuple[float, ...] = ()
    resize: str = ""
    columns: tuple[InputColumn, ...] = ()

    def to_json(self) -> dict[str, Plain]:
        """Plain data without what is not known."""
        made: dict[str, Plain] = {
            "kind": self.kind,
            "range": None if self.value_range is None else list(self.value_range),
            "features": list(self.feature_names),
            "normalization": self.normalization,
            "scale": list(self.scale),
            "shift": list(self.shift),
            "resize": self.resize,
            "columns": [each.to_json() for each in self.columns],
        }
        return {key: value for key, value in made.items() if value}


@dataclass(frozen=True)
class SampleFacts:
    """What a file says of the samples of its network.

    What fits the network no more, since a layer was changed, is passed over.

    Attributes:
        inputs: by the name of the input; where there is one only, whatever its name.
        classes: names of classes by the name of the output, likewise.
        attribution: whom to name for the data the weights come from.
    """

    inputs: Mapping[str, StatedInput] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attribution: str = ""

    def to_json(self) -> dict[str, Plain]:
        """Plain data; empty for nothing."""
        made: dict[str, Plain] = {}
        if self.inputs:
            made["inputs"] = {name: each.to_json() for name, each in self.inputs.items()}
        if self.classes:
            made["classes"] = {name: list(each) for name, each in self.classes.items()}
        if self.attribution:
            made["attribution"] = self.attribution
        return made

    @property
    def has_columns(self) -> bool:
        """Whether any input is made of columns of categories."""
        return any(each.columns for each in self.inputs.values())

    def class_names(self, graph: LayerGraph) -> tuple[tuple[str, ...], ...]:
        """Names of the classes of each output; empty where none are known or they do not fit."""
        shapes = [graph.types()[port].sample for port in graph.outputs]
        found = _in_order(self.classes, graph.output_names())
        return tuple(
            names if names and _are_classes(names, shape) else ()
            for names, shape in zip(found, shapes, strict=True)
        )

    def sources(self, graph: LayerGraph) -> tuple[Source, ...]:
        """What each input takes: raw float32 samples where its normalisation is known."""
        plain = plain_sources(graph)
        return tuple(
            source if stated is None or not _is_scaled(stated, source)
            else replace(source, scale=stated.scale, shift=stated.shift)
            for source, stated in zip(plain, self._stated(graph), strict=True)
        )  # fmt: skip

    def scaled_sources(self, graph: LayerGraph) -> tuple[Source, ...]:
        """`sources` where any input is normalised; else nothing."""
        found = self.sources(graph)
        return found if any(each.scale for each in found) else ()

    def input_facts(self, graph: LayerGraph) -> tuple[InputFacts, ...]:
        """What each input takes, for reading files."""
        shapes = [source.shape for source in plain_sources(graph)]
        return tuple(
            InputFacts() if each is None else _input_facts(each, shape)
            for each, shape in zip(self._stated(graph), shapes, strict=True)
        )

    def texts(self, graph: LayerGraph) -> dict[str, str]:
        """The facts as they travel with exports: in the same words as those of data."""
        made: dict[str, str] = {}
        classes, outputs = self.class_names(graph), graph.output_names()
        if len(outputs) > 1 and any(classes):
            made["output_class_names"] = _text(dict(zip(outputs, classes, strict=True)))
        elif len(outputs) == 1 and classes[0]:
            made["class_names"] = json.dumps(classes[0], ensure_ascii=False)
        names = _input_names(graph)
        facts, stated = self.input_facts(graph), self._stated(graph)
        if facts and facts[0].kind:
            made["input_kind"] = facts[0].kind
        if len(facts) == 1 and facts[0].feature_names:
            made["feature_names"] = json.dumps(facts[0].feature_names, ensure_ascii=False)
        columns = {
            name: [column.to_json() for column in each.columns]
            for name, each in zip(names, facts, strict=True)
            if each.columns
        }
        if columns:
            alone = len(names) == 1
            made["columns"] = _text(next(iter(columns.values())) if alone else columns)
        if len(facts) == 1 and facts[0].value_range is not None:
            made["value_range"] = json.dumps(facts[0].value_range)
        kinds = {
            name: each.normalization if each is not None and source.scale else "none"
            for name, each, source in zip(names, stated, self.sources(graph), strict=True)
        }
        if any(each is not None and each.normalization for each in stated):
            made["normalization"] = next(iter(kinds.values())) if len(kinds) == 1 else _text(kinds)
        resize = {n: e.resize for n, e in zip(names, stated, strict=True) if e and e.resize}
        if resize:
            made["resize"] = next(iter(resize.values())) if len(names) == 1 else _text(resize)
        if self.attribution:
            made["attribution"] = self.attribution
        return made

    def _stated(self, graph: LayerGraph) -> tuple[StatedInput | None, ...]:
        return _in_order(self.inputs, _input_names(graph))


NO_FACTS = InputFacts()
NOTHING_STATED = SampleFacts()


def plain_sources(graph: LayerGraph) -> tuple[Source, ...]:
    """What each input takes, where nothing else is known of the data."""
    types = graph.types()
    found = (types[Port(node.id)] for node in graph.inputs)
    return tuple(Source(each.sample, each.dtype) for each in found)


# -- from what a file says ------------------------------------------------------------------------


def facts_of_file(
    texts: Mapping[str, str], graph: LayerGraph
) -> tuple[SampleFacts, tuple[str, ...]]:
    """What the text facts of a file say of samples, and what of them is left out, with why.

    Facts of another meaning are passed over. Nothing in them is trusted: what is damaged, or does
    not fit the network, is left out.
    """
    problems: list[str] = []

    def taken(key: str, read: Callable[[str], T]) -> T | None:
        if key not in texts:
            return None
        try:
            return read(texts[key])
        except StudioError as error:
            problems.append(f"{key.replace('_', ' ')}: {error.message}")
            return None

    names, ends = _input_names(graph), graph.output_names()
    classes = taken("output_class_names", lambda t: _class_table(_parsed(t), ends)) or {}
    if not classes and len(ends) == 1:
        classes = taken("class_names", lambda t: _class_table({ends[0]: _parsed(t)}, ends)) or {}
    numbers = taken("input_normalization", lambda t: _numbers_table(_parsed(t), names)) or {}
    kinds = taken("normalization", lambda t: _by_input(t, names, KINDS)) or {}
    resizes = taken("resize", lambda t: _by_input(t, names, _RESIZES)) or {}
    kind = taken("input_kind", lambda t: _one_of(t, ("", *_DATA_KINDS))) or ""
    span = taken("value_range", lambda t: _range(_parsed(t)))
    features = taken("feature_names", lambda t: _names(_parsed(t))) or ()
    credit = taken("attribution", _line) or ""
    columns = taken("columns", lambda t: _columns_table(_parsed(t), names)) or {}
    inputs = {}
    for place, name in enumerate(names):
        scale, shift = numbers.get(name, ((), ()))
        alone = len(names) == 1
        found = StatedInput(
            kind if place == 0 else "", span if alone else None, features if alone else (),
            kinds.get(name, "") if scale else "", scale, shift, resizes.get(name, ""),
            columns.get(name, ()),
        )  # fmt: skip
        if found != StatedInput():
            inputs[name] = found
    made = SampleFacts(inputs, classes, credit)
    for name, source, own in zip(names, made.sources(graph), made._stated(graph), strict=True):
        if own is not None and own.scale and not source.scale:
            problems.append(
                f"the normalisation of {quoted(name)} has {len(own.scale)} numbers, which do not "
                f"fit {list(source.shape)} of {source.dtype.name}"
            )
    fitting = dict(zip(ends, made.class_names(graph), strict=True))
    for name, each in classes.items():
        if not fitting.get(name):
            problems.append(f"{len(each)} names of classes, which do not fit the output {name}")
    return replace(made, classes={n: c for n, c in classes.items() if fitting.get(n)}), (*problems,)


def _parsed(text: str) -> object:
    return parse_json(text.encode("utf-8", "replace"), "fact")


def _by_input(text: str, names: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """A word for the only input, or JSON with one for some of several."""
    if len(names) == 1:
        return {names[0]: _one_of(text, known)}
    found = _parsed(text)
    if not isinstance(found, Mapping):
        raise FormatError("expected a word for each input")
    return {str(name): _one_of(word, known) for name, word in found.items() if name in names}


def _numbers_table(
    value: object, names: Sequence[str]
) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    made = {}
    for name, each in _mapping(value).items():
        if name not in names:
            raise FormatError(f"the network has no input {quoted(name)}")
        fields = _mapping(each)
        scale, shift = _numbers(fields.get("scale")), _numbers(fields.get("shift"))
        if len(scale) != len(shift) or not scale:
            raise FormatError(f"expected as many factors as summands for {quoted(name)}")
        made[name] = scale, shift
    return made


def _columns_table(value: object, names: Sequence[str]) -> dict[str, tuple[InputColumn, ...]]:
    """Columns of the only input, or of some of several by name."""
    if len(names) == 1:
        return {names[0]: _columns(value)}
    return {name: _columns(each) for name, each in _mapping(value).items() if name in names}


def _columns(value: object) -> tuple[InputColumn, ...]:
    found = columns_from_json(value)
    texts = [text for each in found for text in (each.name, *each.categories)]
    if len(texts) > MAX_CLASSES or any(len(text) > MAX_TEXT for text in texts):
        raise FormatError(
            f"expected at most {MAX_CLASSES} columns and categories of {MAX_TEXT} characters"
        )
    return found


def _class_table(value: object, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names of classes by output; an output of numbers, which has an empty list, is left out."""
    made = {}
    for name, each in _mapping(value).items():
        if name not in names:
            raise FormatError(f"the network has no output {quoted(name)}")
        if found := _names(each):
            made[name] = found
    return made


# -- as a project holds them ----------------------------------------------------------------------


def sample_facts_from_json(value: object) -> SampleFacts:
    """The facts `SampleFacts.to_json` described.

    Raises:
        FormatError: the data is not of that form.
    """
    fields = _mapping(value)
    _refuse_others(fields, ("inputs", "classes", "attribution"))
    inputs, classes = (_mapping(fields.get(key, {})) for key in ("inputs", "classes"))
    if max(len(inputs), len(classes)) > MAX_PORTS:
        raise FormatError(f"expected at most {MAX_PORTS} inputs and outputs")
    return SampleFacts(
        {name: _input_from_json(each) for name, each in inputs.items()},
        {name: _names(each) for name, each in classes.items()},
        _line(fields.get("attribution", "")),
    )


def _input_from_json(value: object) -> StatedInput:
    fields = _mapping(value)
    _refuse_others(fields, _INPUT_FIELDS)
    scale, shift = _numbers(fields.get("scale", [])), _numbers(fields.get("shift", []))
    if len(scale) != len(shift):
        raise FormatError(f"expected as many factors as summands, got {len(scale)}, {len(shift)}")
    return StatedInput(
        _one_of(fields.get("kind", ""), ("", *_DATA_KINDS)),
        None if fields.get("range") is None else _range(fields["range"]),
        _names(fields.get("features", [])),
        _one_of(fields.get("normalization", ""), ("", *KINDS)),
        scale,
        shift,
        _one_of(fields.get("resize", ""), ("", *_RESIZES)),
        _columns(fields.get("columns", [])),
    )


def _refuse_others(fields: Mapping[str, object], known: Sequence[str]) -> None:
    unknown = sorted(key for key in fields if key not in known)
    if unknown:
        raise FormatError(f"unknown field {quoted(unknown[0])}", hint=f"known: {', '.join(known)}")


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"expected an object, got {quoted(value)}")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_CLASSES:
        raise FormatError(f"expected a list of at most {MAX_CLASSES} names")
    return tuple(_line(each) for each in value)


def _line(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise FormatError(f"expected one line of at most {MAX_TEXT} characters")
    return value


def _one_of(value: object, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        words = ", ".join(word for word in known if word)
        raise FormatError(f"expected one of {words}, got {quoted(value)}")
    return value


def _numbers(value: object) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_CLASSES:
        raise FormatError(f"expected a list of at most {MAX_CLASSES} numbers")
    return tuple(_number(each) for each in value)


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return float(value)
    raise FormatError(f"expected a finite number of single precision, got {quoted(value)}")


def _range(value: object) -> tuple[float, float]:
    found = _numbers(value)
    if len(found) != 2 or found[0] >= found[1]:
        raise FormatError(f"expected a lowest and a highest value, got {quoted(value)}")
    return found[0], found[1]


# -- what fits a network --------------------------------------------------------------------------


def _in_order(found: Mapping[str, T], names: Sequence[str]) -> tuple[T | None, ...]:
    """What there is for each name; what there is for one stands for the only one."""
    if len(found) == len(names) == 1:
        return tuple(found.values())
    return tuple(found.get(name) for name in names)


def _are_classes(names: Sequence[str], shape: Sequence[int]) -> bool:
    """Whether an output of that shape tells so many classes apart: one number tells two."""
    return bool(shape) and (shape[-1] == len(names) or (shape[-1] == 1 and len(names) == 2))


def _is_scaled(stated: StatedInput, source: Source) -> bool:
    width = source.shape[-1] if source.shape else 1
    return source.dtype is DType.float32 and len(stated.scale) in (1, width)


def _input_facts(stated: StatedInput, shape: Sequence[int]) -> InputFacts:
    is_image = stated.kind == "images" and len(shape) == 3
    is_row = stated.kind in ("table", "points") and bool(shape)
    features = stated.feature_names if shape and len(stated.feature_names) == shape[-1] else ()
    kind = stated.kind if is_image or is_row else ""
    width = sum(len(each.names) for each in stated.columns)
    columns = stated.columns if shape and width == shape[-1] else ()
    return InputFacts(kind, stated.value_range, features, columns=columns)


def _input_names(graph: LayerGraph) -> tuple[str, ...]:
    return tuple(node.layer.name for node in graph.inputs)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
