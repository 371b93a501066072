"""A Keras model as a layer graph: nested models become blocks, shared layers stay shared."""

from __future__ import annotations

import heapq
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from studio.engine.core.errors import FormatError, GraphError, quoted
from studio.engine.interop.imported import ImportedLayer
from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor
from studio.engine.interop.keras.layers_in import Converted, is_known, layers_from_keras
from studio.engine.layers.graph import MAX_NODES, LayerGraph, free_name
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import RESERVED_NAMES, shape_text
from studio.engine.layers.lengths import fits
from studio.engine.layers.symbol import Call, ModelUse, Symbol, graph_of

MAX_NAME = 64
"""Characters of a layer's name."""

_SHOWN = 3
"""Layers of one missing class that an error names."""

_WITH_STATE = ("BatchNormalization",)
"""Layers that a training changes in another way than through gradients."""

_STILL = "called with training=False: freeze it, so that training leaves its statistics alone"
_MASK_ENDS = "the mask of its input ends here"

Step: TypeAlias = tuple[KerasLayer, int]
"""One call of a layer."""


def graph_from_keras(model: KerasModel) -> tuple[LayerGraph, tuple[ImportedLayer, ...]]:
    """The network a Keras model is, and what each of its layers became.

    Layers keep their names where these are possible here and not taken; the weights of a layer are
    those of the layer it became.

    Raises:
        FormatError: it has layers of classes that are not here, all of which are named; or its
            calls close a loop.
        ParameterError: an option of a layer is unknown, or has a value layers here cannot have.
        GraphError, ShapeError: layers do not fit together; the layer is named.
    """
    _require_known(model)
    maker = _Maker(model)
    maker.name_all(model, "")
    inputs = [maker.enter(layer) for layer in _entries(model)]
    given = dict(zip(model.inputs, inputs, strict=True))
    outputs = maker.call(model, "", given, use=None, trainable=True)
    graph = graph_of(inputs, outputs, _as_name(model.name))
    kept = {layer.name for layer in graph.layers()}
    return graph, tuple(maker.report(model, "", kept))


def missing_layers(model: KerasModel) -> dict[str, list[str]]:
    """The layers of classes that are not here, by class; those of nested models with them."""
    found: dict[str, list[str]] = {}
    waiting = [("", model)]
    while waiting:
        place, at = waiting.pop()
        for layer in at.layers:
            if layer.model is not None:
                waiting.append((f"{place}{layer.name}/", layer.model))
            elif not is_known(layer.class_name):
                found.setdefault(layer.class_name, []).append(f"{place}{layer.name}")
    return found


def _require_known(model: KerasModel) -> None:
    missing = missing_layers(model)
    if not missing:
        return
    texts = []
    for class_name, names in sorted(missing.items()):
        shown = ", ".join(quoted(name) for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        texts.append(f"{quoted(class_name)[1:-1]} ({shown}{more})")
    count = sum(map(len, missing.values()))
    raise FormatError(
        f"{count} layer{'s are' if count > 1 else ' is'} of a kind that is not here yet: "
        f"{'; '.join(texts)}",
        who=model.name,
        hint="docs/interop.md lists the layers of Keras that are read",
    )


def _entries(model: KerasModel) -> list[KerasLayer]:
    """The input layers of a model, in the order of its inputs."""
    by_name = {layer.name: layer for layer in model.layers}
    found = [by_name[tensor.layer] for tensor in model.inputs]
    for layer in found:
        if layer.class_name != "InputLayer":
            raise FormatError(
                f"expected an input layer as input, got {quoted(layer.class_name)}",
                who=layer.name,
            )
    return found


@dataclass
class _Maker:
    """Calls layers as the model does.

    Attributes:
        top: the outermost model.
        names: of layers here, by their names with the models they stand in.
        made: what layers became, likewise.
        notes: what is different, likewise.
        calls: how many there were, those of models included.
        plans: the calls of a model in the order in which they can be made, by its place.
    """

    top: KerasModel
    names: dict[str, str] = field(default_factory=dict)
    made: dict[str, Converted] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(RESERVED_NAMES))
    calls: int = 0
    plans: dict[str, list[Step]] = field(default_factory=dict)

    def name_all(self, model: KerasModel, place: str) -> None:
        """Choose the names here; those of the outermost model come first."""
        inner: list[KerasLayer] = []
        entries = {tensor.layer for tensor in model.inputs}
        for layer in model.layers:
            if layer.model is not None:
                inner.append(layer)
            elif not place or layer.name not in entries:
                self.names[place + layer.name] = self._free(layer.name, place)
        for layer in inner:
            if layer.model is not None:
                self.name_all(layer.model, f"{place}{layer.name}/")

    def _free(self, name: str, place: str) -> str:
        """The name, made one that layers may have here and none has yet."""
        wanted = _as_name(name)
        if wanted in self.taken and place:
            wanted = _as_name(f"{place}{name}")
        chosen = free_name(wanted, self.taken)
        if len(chosen) > MAX_NAME:
            chosen = free_name(wanted[: MAX_NAME - 8], self.taken)
        self.taken.add(chosen)
        return chosen

    def enter(self, layer: KerasLayer) -> Symbol:
        """Where data enter the network."""
        return Call(self._converted(layer, "", trainable=True).layers[0]).outputs[0]

    def _converted(self, layer: KerasLayer, place: str, *, trainable: bool) -> Converted:
        """What a layer is here; the same for all its calls."""
        path = place + layer.name
        if path not in self.made:
            name = self.names[path]
            is_old = self.top.is_old
            self.made[path] = layers_from_keras(layer, name, trainable=trainable, is_old=is_old)
            for behind in self.made[path].layers[1:]:
                behind.name = self._free(f"{name}_activation", "")
            if self.made[path].note:
                self._note(path, self.made[path].note)
        return self.made[path]

    def _note(self, path: str, text: str) -> None:
        notes = self.notes.setdefault(path, [])
        if text not in notes:
            notes.append(text)

    def call(
        self,
        model: KerasModel,
        place: str,
        given: Mapping[KerasTensor, Symbol],
        *,
        use: ModelUse | None,
        trainable: bool,
    ) -> list[Symbol]:
        """The outputs of a model for what it is given, by the tensors that are its inputs."""
        found = dict(given)
        if place not in self.plans:
            self.plans[place] = planned(model)
        for layer, number in self.plans[place]:
            if KerasTensor(layer.name) in given:
                continue
            self._count()
            inputs = [_output(found, each, layer.name) for each in layer.calls[number]]
            is_trained = trainable and layer.trainable
            outputs: Sequence[Symbol]
            if layer.model is not None:
                outputs = self._nested(layer, place, inputs, use=use, trainable=is_trained)
            else:
                outputs = self._single(layer, place, inputs, use=use, trainable=is_trained)
            for index, symbol in enumerate(outputs):
                found[KerasTensor(layer.name, number, index)] = symbol
        return [_output(found, each, model.name) for each in model.outputs]

    def _count(self) -> None:
        self.calls += 1
        if self.calls > MAX_NODES:
            raise GraphError(
                f"expected at most {MAX_NODES} calls of layers, got more", who=self.top.name
            )

    def _single(
        self,
        layer: KerasLayer,
        place: str,
        inputs: Sequence[Symbol],
        *,
        use: ModelUse | None,
        trainable: bool,
    ) -> tuple[Symbol, ...]:
        """The outputs of a layer, and of the activation behind it."""
        path = place + layer.name
        made = self._converted(layer, place, trainable=trainable)
        outputs: tuple[Symbol, ...] = ()
        for each in made.layers:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outputs = Call(each, outputs or inputs, use).outputs
            if any(_MASK_ENDS in str(warning.message) for warning in caught):
                self._note(path, _MASK_ENDS)
        return outputs

    def _nested(
        self,
        layer: KerasLayer,
        place: str,
        inputs: Sequence[Symbol],
        *,
        use: ModelUse | None,
        trainable: bool,
    ) -> list[Symbol]:
        """The outputs of a model in the model."""
        model = layer.model
        if model is None:
            raise TypeError(f"{layer.name} is no model")
        entries = _entries(model)
        if len(inputs) != len(entries):
            raise GraphError(
                f"expected {len(entries)} inputs, got {len(inputs)}", who=place + layer.name
            )
        for entry, symbol in zip(entries, inputs, strict=True):
            self._require_fit(entry, f"{place}{layer.name}/", symbol)
        own = ModelUse(model, model.name, use)
        given = dict(zip(model.inputs, inputs, strict=True))
        path = f"{place}{layer.name}/"
        outputs = self.call(model, path, given, use=own, trainable=trainable)
        names = [_as_name(entry.name) for entry in entries]
        own.inputs = tuple(zip(names, inputs, strict=True))
        titles: list[str] = []
        for tensor in model.outputs:
            titles.append(free_name(_as_name(tensor.layer), titles))
        own.outputs = tuple(zip(titles, outputs, strict=True))
        return outputs

    def _require_fit(self, entry: KerasLayer, place: str, symbol: Symbol) -> None:
        """GraphError where a nested model is given another shape than it states."""
        stated = layers_from_keras(entry, _as_name(entry.name)).layers[0]
        if not isinstance(stated, Input) or not fits(stated.shape, symbol.shape):
            wanted = stated.shape if isinstance(stated, Input) else ()
            raise GraphError(
                f"expected an input {shape_text(wanted)}, got {shape_text(symbol.shape)}",
                who=place + entry.name,
            )
        if stated.dtype != symbol.dtype.name:
            raise GraphError(
                f"expected an input of {stated.dtype}, got {symbol.dtype.name}",
                who=place + entry.name,
            )

    def report(self, model: KerasModel, place: str, kept: set[str]) -> list[ImportedLayer]:
        """What each layer became, those of nested models behind the model."""
        found = []
        entries = {tensor.layer for tensor in model.inputs}
        for layer in model.layers:
            path = place + layer.name
            notes = list(self.notes.get(path, ()))
            name = self.names.get(path, "")
            if layer.is_still and (layer.model is not None or layer.class_name in _WITH_STATE):
                notes.append(_STILL)
            if layer.model is not None:
                note = "; ".join(["a model, now a block", *notes])
                found.append(ImportedLayer(path, layer.class_name, "", note))
                found += self.report(layer.model, f"{path}/", kept)
                continue
            if place and layer.name in entries:
                name = ""
                notes.append(f"an input of the block {place[:-1]}")
            elif name not in kept:
                name = ""
                notes.append("left out, since no output needs it")
            elif name != layer.name:
                notes.insert(0, f"now called {name}")
            found.append(ImportedLayer(path, layer.class_name, name, "; ".join(notes)))
        return found


def planned(model: KerasModel) -> list[Step]:
    """The calls of a model so that each comes after what it is given; otherwise in file order.

    Raises:
        FormatError: a call is given the output of one that is not there, or calls close a loop.
    """
    steps = [(layer, number) for layer in model.layers for number in range(len(layer.calls))]
    places = {(layer.name, number): place for place, (layer, number) in enumerate(steps)}
    followers: list[list[int]] = [[] for _ in steps]
    waiting: Counter[int] = Counter()
    for place, (layer, number) in enumerate(steps):
        for source in {(each.layer, each.call) for each in layer.calls[number]}:
            if source not in places:
                raise FormatError(
                    f"it is given call {source[1]} of {quoted(source[0])}, which there is not",
                    who=layer.name,
                )
            followers[places[source]].append(place)
            waiting[place] += 1
    ready = [place for place in range(len(steps)) if not waiting[place]]
    found = []
    while ready:
        place = heapq.heappop(ready)
        found.append(steps[place])
        for follower in followers[place]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    if len(found) < len(steps):
        done = {(layer.name, number) for layer, number in found}
        left = next(layer for layer, number in steps if (layer.name, number) not in done)
        raise FormatError("its calls close a loop, or wait for one that does", who=left.name)
    return found


def _output(found: Mapping[KerasTensor, Symbol], tensor: KerasTensor, who: str) -> Symbol:
    if tensor not in found:
        raise FormatError(
            f"it is given output {tensor.output} of {quoted(tensor.layer)}, which there is not",
            who=who,
        )
    return found[tensor]


def _as_name(name: str) -> str:
    """The name with what layers' names cannot have here as underscores."""
    kept = re.sub(r"[^\w.\-]", "_", name)[:MAX_NAME]
    return kept if re.match(r"\w", kept) else f"_{kept}"[:MAX_NAME]
