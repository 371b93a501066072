"""The JSON that Keras writes of a model, in all its dialects, as plain data.

Keras 3 notes each call of a layer as arguments with tensors in them; Keras 2 and TensorFlow.js as
lists of ``[layer, call, output, options]``. Nothing in the text is looked up or run: classes are
words that `layers_in` has a table of. A long chain of layers is no deep one: only models in models
are, and their depth is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.core.errors import FormatError, quoted
from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor
from studio.engine.interop.keras.layers_in import is_known
from studio.engine.interop.keras.variables import snake_case
from studio.engine.layers.graph import MAX_NODES, free_name

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

MAX_DEPTH = 16
"""Models that may stand in one another."""

MODELS = ("Functional", "Model", "Sequential")
"""Classes that are models."""

_ENTRY = frozenset(
    {"module", "class_name", "config", "registered_name", "build_config", "compile_config", "name",
     "inbound_nodes", "shared_object_id"}
)  # fmt: skip
_OF_MODEL = frozenset(
    {"name", "trainable", "dtype", "layers", "input_layers", "output_layers", "build_input_shape"}
)
_MODULE = re.compile(
    r"(keras|tf_keras|keras_core|tensorflow\.keras|tensorflow\.python\.keras)(\.[a-z0-9_]+)*"
)
_OPERATIONS = re.compile(r"\.ops(\.|\Z)")
_SHAPES = ("batch_shape", "batch_input_shape")


def model_from_json(
    document: JsonValue, who: str = "Keras model", *, version: str = ""
) -> KerasModel:
    """The model that Keras' JSON describes: ``{"class_name": …, "config": …}``.

    Args:
        document: the JSON.
        who: the file, for errors.
        version: of the program that wrote it, where the file says so.

    Raises:
        FormatError: it is no Functional or Sequential model, it is too large or too deep, or
            something in it is not as Keras writes it.
    """
    reader = _Reader(who, bool(version) and not version.startswith("3."))
    entry = reader.entry(document, "the model")
    if entry.class_name not in MODELS:
        raise FormatError(
            f"expected a Functional or Sequential model, got {quoted(entry.class_name)}",
            who=who,
            hint="a model that is a class of its own keeps its network in Python; save a "
            "Functional one",
        )
    return reader.model(entry, 1).model


class _Entry(NamedTuple):
    """A layer as the JSON has it."""

    class_name: str
    name: str
    config: dict[str, JsonValue]
    nodes: list[JsonValue]
    build: JsonValue


class _Reference(NamedTuple):
    """A tensor as the JSON has it; the number of the call is counted as the dialect does."""

    layer: str
    call: int
    output: int


class _Named(NamedTuple):
    """What a call is given by name instead of in order."""

    tensors: dict[str, _Reference]


class _Parsed(NamedTuple):
    """A model, and the names its inputs have where they are given by name."""

    model: KerasModel
    names: tuple[str, ...]


@dataclass
class _Target:
    """What is known of a layer before the calls are read."""

    calls: int
    parsed: _Parsed | None
    is_functional: bool


@dataclass
class _Reader:
    """Reads one document; counts its layers, in whatever model they stand."""

    who: str
    is_old: bool
    count: int = 0
    shared: set[JsonValue] = field(default_factory=set)

    def entry(self, value: JsonValue, what: str) -> _Entry:
        """A layer or model: class, name, options and calls."""
        found = self.object(value, what)
        class_name = self.text(found.get("class_name"), f"class_name of {what}")
        config = found.get("config", {})
        # Keras 2 had the layers of a Sequential model without anything around them.
        config = {"layers": config} if isinstance(config, list) else config
        own = self.object(config, f"config of {what}")
        name = found.get("name", own.get("name", ""))
        name = self.text("" if name is None else name, f"name of {what}")
        label = f"{quoted(name)} ({quoted(class_name)[1:-1]})" if name else what
        self._known(found, _ENTRY, label)
        nodes = self.list(found.get("inbound_nodes", []), f"inbound_nodes of {label}")
        shared = found.get("shared_object_id")
        if shared is not None and isinstance(shared, int | str):
            if shared in self.shared:
                raise FormatError(f"{label} is shared by several models", who=self.who)
            self.shared.add(shared)
        kind = self._kind(found, class_name, label)
        return _Entry(kind, name, dict(own), nodes, found.get("build_config"))

    def _kind(self, found: Mapping[str, JsonValue], class_name: str, label: str) -> str:
        """The class, with its module in front unless it is one of Keras' layers."""
        module, registered = found.get("module"), found.get("registered_name")
        for value, what in ((module, "module"), (registered, "registered_name")):
            if value is not None:
                self.text(value, f"{what} of {label}")
        if isinstance(registered, str) and registered not in ("", class_name):
            return registered
        if not isinstance(module, str) or not module:
            # Operations have no module in HDF5 files, and only they are given numbers.
            return f"keras.ops.{class_name}" if _has_numbers(found) else class_name
        if not _MODULE.fullmatch(module) or _OPERATIONS.search(module):
            return f"{module}.{class_name}"
        return class_name

    def model(self, entry: _Entry, depth: int) -> _Parsed:
        """A model, with the models in it."""
        if depth > MAX_DEPTH:
            raise FormatError(
                f"models stand in one another too deeply: expected at most {MAX_DEPTH}",
                who=self.who,
            )
        label = entry.name or entry.class_name
        self._known(entry.config, _OF_MODEL, label)
        entries = [
            self.entry(each, f"layer {index} of {quoted(label)}")
            for index, each in enumerate(self._layers(entry.config, label), 1)
        ]
        is_sequential = entry.class_name == "Sequential"
        entries = _all_named(entries) if is_sequential else entries
        seen: set[str] = set()
        for each in entries:
            if not each.name or each.name in seen:
                raise FormatError(
                    f"layers of {quoted(label)} must have names of their own: {quoted(each.name)} "
                    f"{'occurs twice' if each.name else 'is none'}",
                    who=self.who,
                )
            seen.add(each.name)
        inner = {
            each.name: self.model(each, depth + 1) for each in entries if each.class_name in MODELS
        }
        if is_sequential:
            return self._sequential(entry, label, entries, inner)
        return self._functional(entry, label, entries, inner)

    def _layers(self, config: Mapping[str, JsonValue], label: str) -> list[JsonValue]:
        found = self.list(config.get("layers"), f"layers of {quoted(label)}")
        self.count += len(found)
        if self.count > MAX_NODES:
            raise FormatError(
                f"the model is too large: expected at most {MAX_NODES} layers, got {self.count}",
                who=self.who,
            )
        if not found:
            raise FormatError(f"the model {quoted(label)} has no layers", who=self.who)
        return found

    def _functional(
        self,
        entry: _Entry,
        label: str,
        entries: Sequence[_Entry],
        inner: Mapping[str, _Parsed],
    ) -> _Parsed:
        is_new = not any(isinstance(node, list) for each in entries for node in each.nodes)
        targets = {
            each.name: _Target(
                max(len(each.nodes), each.class_name == "InputLayer"),
                inner.get(each.name),
                each.class_name != "Sequential",
            )
            for each in entries
        }
        calls = _Calls(self, targets)
        layers = tuple(
            self._layer(each, calls.known(each), parsed=inner.get(each.name)) for each in entries
        )
        keys, inputs = calls.ends(entry.config.get("input_layers"), label, "input", is_new=is_new)
        _, outputs = calls.ends(entry.config.get("output_layers"), label, "output", is_new=is_new)
        made = KerasModel(label, layers, inputs, outputs, is_old=self.is_old)
        return _Parsed(made, keys or tuple(each.layer for each in inputs))

    def _sequential(
        self,
        entry: _Entry,
        label: str,
        entries: list[_Entry],
        inner: Mapping[str, _Parsed],
    ) -> _Parsed:
        if entries[0].class_name != "InputLayer":
            name = free_name(f"{entries[0].name}_input", {each.name for each in entries})
            shape, dtype = self._input_of(entry, label, entries[0], inner)
            config: dict[str, JsonValue] = {"batch_shape": shape, "dtype": dtype}
            entries = [_Entry("InputLayer", name, config, [], None), *entries]
        layers = []
        for name, parsed in inner.items():
            counts = len(parsed.model.inputs), len(parsed.model.outputs)
            if counts != (1, 1):
                raise FormatError(
                    f"{quoted(name)} in the Sequential model {quoted(label)}: expected one input "
                    f"and one output, got {counts[0]} and {counts[1]}",
                    who=self.who,
                )
        for index, each in enumerate(entries):
            given = (KerasTensor(entries[index - 1].name),) if index else ()
            if index and each.class_name == "InputLayer":
                raise FormatError(
                    f"{quoted(each.name)} must be the first layer of {quoted(label)}", who=self.who
                )
            layers.append(self._layer(each, (given,), parsed=inner.get(each.name)))
        inputs, outputs = (KerasTensor(entries[0].name),), (KerasTensor(entries[-1].name),)
        made = KerasModel(label, tuple(layers), inputs, outputs, True, self.is_old)
        return _Parsed(made, (entries[0].name,))

    def _input_of(
        self, entry: _Entry, label: str, first: _Entry, inner: Mapping[str, _Parsed]
    ) -> tuple[JsonValue, JsonValue]:
        """Shape and dtype of what a Sequential model without an input layer is given."""
        dtype = self.dtype(first.config, first.name)
        places = [entry.config.get("build_input_shape")]
        places += [first.config.get(name) for name in _SHAPES]
        places += [
            build.get("input_shape") for build in (entry.build, first.build)
            if isinstance(build, dict)
        ]  # fmt: skip
        if first.name in inner:
            nested = inner[first.name].model
            opening = next(e for e in nested.layers if e.name == nested.inputs[0].layer)
            places += [opening.config.get(name) for name in _SHAPES]
            dtype = opening.dtype
        shape = next((place for place in places if place is not None), None)
        if shape is None:
            raise FormatError(
                f"the Sequential model {quoted(label)} does not say what shape its input has",
                who=self.who,
                hint="call the model once, or give it an Input, and save it again",
            )
        return shape, dtype

    def _layer(
        self,
        entry: _Entry,
        calls: tuple[tuple[KerasTensor, ...], ...],
        parsed: _Parsed | None,
    ) -> KerasLayer:
        config = dict(entry.config)
        trainable = config.pop("trainable", True)
        if not isinstance(trainable, bool):
            raise FormatError(
                f"trainable of {quoted(entry.name)}: expected true or false, got "
                f"{quoted(trainable)}",
                who=self.who,
            )
        dtype = self.dtype(config, entry.name)
        config.pop("name", None)
        config.pop("dtype", None)
        made = None if parsed is None else replace(parsed.model, name=entry.name)
        return KerasLayer(
            entry.class_name,
            entry.name,
            config if made is None else {},
            trainable,
            dtype,
            calls,
            made,
            is_still=any(map(_is_still, entry.nodes)),
        )

    def dtype(self, config: Mapping[str, JsonValue], name: str) -> str:
        """Name of a layer's dtype or of the policy that stands in its place."""
        found = config.get("dtype")
        if isinstance(found, dict):
            policy = found.get("config")
            found = policy.get("name") if isinstance(policy, dict) else found
        return "float32" if found is None else self.text(found, f"dtype of {quoted(name)}")

    def object(self, value: JsonValue, what: str) -> dict[str, JsonValue]:
        """A JSON object; FormatError for anything else."""
        if not isinstance(value, dict):
            raise FormatError(f"{what}: expected an object, got {quoted(value)}", who=self.who)
        return value

    def list(self, value: JsonValue, what: str) -> list[JsonValue]:
        """A JSON list; FormatError for anything else."""
        if not isinstance(value, list):
            raise FormatError(f"{what}: expected a list, got {quoted(value)}", who=self.who)
        return value

    def text(self, value: JsonValue, what: str) -> str:
        """A JSON string; FormatError for anything else."""
        if not isinstance(value, str):
            raise FormatError(f"{what}: expected text, got {quoted(value)}", who=self.who)
        return value

    def _known(self, found: Mapping[str, JsonValue], known: frozenset[str], label: str) -> None:
        unknown = next((key for key in found if key not in known), None)
        if unknown is not None:
            raise FormatError(
                f"{label} has an entry that is not known here: {quoted(unknown)}", who=self.who
            )


@dataclass
class _Calls:
    """Reads what the layers of one Functional model are called on."""

    reader: _Reader
    targets: Mapping[str, _Target]

    def known(self, entry: _Entry) -> tuple[tuple[KerasTensor, ...], ...]:
        """Every call of a layer; none of one that is not here and is called in a way of its own."""
        try:
            return self.of(entry)
        except FormatError:
            if entry.class_name in MODELS or is_known(entry.class_name):
                raise
            return ()

    def of(self, entry: _Entry) -> tuple[tuple[KerasTensor, ...], ...]:
        """Every call of a layer; one without tensors for an input."""
        if entry.class_name == "InputLayer":
            if any(node not in ([], {}) for node in entry.nodes):
                raise self._wrong(f"the input {quoted(entry.name)} is given something")
            return ((),)
        return tuple(self._call(entry, node) for node in entry.nodes)

    def ends(
        self, value: JsonValue, label: str, what: str, *, is_new: bool
    ) -> tuple[tuple[str, ...], tuple[KerasTensor, ...]]:
        """The inputs or outputs of the model, and their names where it has them by name."""
        place = f"{what}_layers of {quoted(label)}"
        # A single one may stand alone.
        found = _flattened([value] if _is_reference(value) else value)
        keys: tuple[str, ...] = ()
        if isinstance(value, dict):
            keys = tuple(sorted(value))
            found = (value[key] for key in keys)
        references = [self._reference(each, place) for each in found]
        if not references:
            raise self._wrong(f"{place}: expected at least one, got {quoted(value)}")
        ends = tuple(self._tensor(each, place, is_new=is_new, is_end=True) for each in references)
        if what == "input" and len(set(ends)) < len(ends):
            raise self._wrong(f"{place}: one stands there twice")
        return keys, ends

    def _call(self, entry: _Entry, node: JsonValue) -> tuple[KerasTensor, ...]:
        """The tensors of one call, in the order of the layer's inputs."""
        is_new = isinstance(node, dict) and "args" in node
        place = f"inbound_nodes of {quoted(entry.name)}"
        given = self._arguments(entry, node, place) if is_new else node
        found: list[_Reference] = []
        for part in [given] if _is_reference(given) else _flattened(given):
            if isinstance(part, dict) and not _is_tensor(part):
                found += self._in_order(entry, part, place)
            else:
                found.append(self._reference(part, place))
        return tuple(self._tensor(each, place, is_new=is_new, is_end=False) for each in found)

    def _arguments(self, entry: _Entry, node: JsonValue, place: str) -> JsonValue:
        """The tensors among the arguments of a call as Keras 3 writes it."""
        found = self.reader.object(node, place)
        args = self.reader.list(found["args"], place)
        options = dict(self.reader.object(found.get("kwargs", {}), place))
        given = [options.pop("inputs")] if not args and "inputs" in options else args
        self._check_options(place, options)
        # Behind the inputs a mask or ``training`` may be given by place.
        while len(given) > 1 and (given[-1] is None or given[-1] is False):
            given = given[:-1]
        return given

    def _check_options(self, place: str, options: Mapping[str, JsonValue]) -> None:
        """FormatError for an option of a call that would change what the layer computes."""
        for name, value in options.items():
            given = list(value.values()) if isinstance(value, dict) else value
            is_usual = all(each is None or each is False for each in _flattened(given))
            if name not in ("mask", "training") or not is_usual:
                raise self._wrong(
                    f"{place}: expected a call without options, got {quoted(name)} = "
                    f"{quoted(value)}"
                )

    def _in_order(
        self, entry: _Entry, given: Mapping[str, JsonValue], place: str
    ) -> list[_Reference]:
        """Tensors given by name, in the order of the inputs of a nested model."""
        parsed = self.targets[entry.name].parsed
        names = tuple(given) if parsed is None else parsed.names
        if parsed is None or set(names) != set(given):
            raise self._wrong(
                f"{place}: expected inputs {', '.join(map(quoted, names))}, got "
                f"{', '.join(map(quoted, given))}"
                if parsed is not None
                else f"{place}: inputs by name are for models only"
            )
        return [self._reference(given[name], place) for name in names]

    def _reference(self, value: JsonValue, place: str) -> _Reference:
        """``[layer, call, output]``, options allowed behind it, or Keras 3's tensor with that."""
        found = value
        if isinstance(value, dict) and _is_tensor(value):
            config = value.get("config")
            found = config.get("keras_history") if isinstance(config, dict) else None
        if not _is_reference(found) or not isinstance(found, list):
            raise self._wrong(f"{place}: expected the output of a layer, got {quoted(value)}")
        options = found[3] if len(found) == 4 else {}
        name, call, output = found[:3]
        self._check_options(place, self.reader.object(options, place))
        if not (_is_count(call) and _is_count(output)):
            raise self._wrong(
                f"{place}: expected numbers of a call and an output, got {quoted(found[1:3])}"
            )
        return _Reference(str(name), int(str(call)), int(str(output)))

    def _tensor(self, found: _Reference, place: str, *, is_new: bool, is_end: bool) -> KerasTensor:
        """The tensor meant, its call counted from 0."""
        target = self.targets.get(found.layer)
        if target is None:
            raise self._wrong(f"{place}: there is no layer {quoted(found.layer)}")
        # To Keras 2 a model had been called once when it was made, and in one place Keras 3 still
        # counts that call of those that are Functional.
        first = target.parsed is not None and (not is_new or (is_end and target.is_functional))
        bases = (int(first), 1 - int(first)) if target.parsed is not None else (0,)
        for base in bases:
            if 0 <= found.call - base < target.calls:
                return KerasTensor(found.layer, found.call - base, found.output)
        times = "once" if target.calls == 1 else f"{target.calls} times"
        raise self._wrong(
            f"{place}: expected a call of {quoted(found.layer)}, which is called {times}, got "
            f"number {found.call}"
        )

    def _wrong(self, message: str) -> FormatError:
        return FormatError(message, who=self.reader.who)


def _all_named(entries: Sequence[_Entry]) -> list[_Entry]:
    """Layers with the names Keras would give those that have none."""
    taken = {each.name for each in entries}
    named = []
    for each in entries:
        name = each.name or free_name(snake_case(each.class_name) or "layer", taken)
        taken.add(name)
        named.append(each._replace(name=name))
    return named


def _has_numbers(found: Mapping[str, JsonValue]) -> bool:
    """Whether a call has a number among the places where layers are given tensors."""
    nodes = found.get("inbound_nodes")
    given = [
        each
        for node in (nodes if isinstance(nodes, list) else ())
        if isinstance(node, dict) and isinstance(args := node.get("args"), list)
        for each in args
    ]
    return any(isinstance(each, int | float) and not isinstance(each, bool) for each in given)


def _is_still(node: JsonValue) -> bool:
    """Whether a call states ``training=False``, in either dialect."""
    if isinstance(node, dict):
        options = [node.get("kwargs")]
    else:
        options = [each[-1] for each in _references(node)]
    return any(isinstance(each, dict) and each.get("training") is False for each in options)


def _references(node: JsonValue) -> Iterator[list[JsonValue]]:
    """The references of Keras 2 in a call."""
    for part in [node] if _is_reference(node) else _flattened(node):
        if isinstance(part, list) and part:
            yield part


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NODES


def _is_tensor(value: Mapping[str, JsonValue]) -> bool:
    return value.get("class_name") == "__keras_tensor__"


def _is_reference(value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) in (3, 4) and isinstance(value[0], str)


def _flattened(value: JsonValue) -> Iterator[JsonValue]:
    """What stands in lists, in order; references are no lists of three."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list) and not _is_reference(part):
            waiting += part[::-1]
        else:
            yield part
