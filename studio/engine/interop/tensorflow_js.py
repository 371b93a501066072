"""Layers models of TensorFlow.js: a folder with the model, its weights, and a page that runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from studio import __version__
from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.core.progress import Progress, unheard
from studio.engine.formats import tfjs
from studio.engine.formats.atomic import write_new
from studio.engine.formats.safe_json import JsonValue, parse_json
from studio.engine.formats.tfjs import MODEL_FILE, Json, LayersModel, Quantized
from studio.engine.interop.file_format import Array, Exportable, FileFormat
from studio.engine.interop.imported import ImportedModel, ImportReport
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.files_in import facts_of
from studio.engine.interop.keras.files_out import FACTS
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.tensorflow_js_in import keras_words
from studio.engine.interop.keras.tensorflow_js_out import TensorFlowJsModel, tensorflow_js_model
from studio.engine.interop.keras.tensorflow_js_training import (
    training_for_tensorflow_js,
    training_from_tensorflow_js,
)
from studio.engine.interop.keras.tensorflow_js_weights import weights_by_name
from studio.engine.interop.keras.variables import keras_variables
from studio.engine.interop.small_weights import (
    Floats,
    SmallWeight,
    WeightForm,
    narrow,
    require_finite,
)
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.layers.weights import to_public

PAGE = "index.html"
_LIBRARY = "sha384-vE8hbVJ4lezako5rlvE7bY0BVzWlFhZncPlckrqNwcUQpVtgbENTgZ8TBbnPjZre"
"""Hash of the TensorFlow.js that the page takes from the network, as browsers check it."""
_OF_LAYER = ("module", "class_name", "config", "registered_name", "build_config", "compile_config")
_SHOWN = 100


@dataclass(frozen=True)
class AffineWeight(SmallWeight):
    """A kernel as whole numbers between its least and its greatest weight.

    Attributes:
        step: what a whole number is multiplied with, in double precision.
        least: what is added then.
    """

    step: float = 1.0
    least: float = 0.0

    def widened(self) -> Floats:
        """The weights as float32, as TensorFlow.js computes them."""
        wide = Quantized(self.values, self.step, self.least).widened()
        return np.asarray(wide, np.float32)


class TensorFlowJs(FileFormat):
    """A model that runs in browsers, with a page to try it on."""

    name = "tfjs"
    title = "TensorFlow.js model"
    ending = ".tfjs"
    about = "A folder with the model, its weights and a page that runs it in a browser."
    holds = "model"
    order = 70
    words = ("browser", "web", "page", "javascript")
    files = (MODEL_FILE, "group1-shard*of*.bin", PAGE)
    keeps = ("tf.min.js",)
    weight_forms = ("float32", "float16", "uint8", "uint16")

    def sniff(self, head: bytes) -> bool:
        is_object = head.lstrip(b" \t\r\n").startswith(b"{")
        return is_object and (b'"modelTopology"' in head or b'"layers-model"' in head)

    def narrow(
        self, name: str, values: Floats, axes: tuple[int, ...], form: WeightForm
    ) -> SmallWeight:
        """A kernel as float16, or as whole numbers with one scale and one least value for all."""
        if form not in ("uint8", "uint16"):
            return narrow(name, values, axes, form)
        require_finite(name, values, form)
        found = tfjs.quantized(values, form)
        return AffineWeight(found.values, None, found.scale, found.least)

    def why_not(self, model: Exportable) -> StudioError | None:
        try:
            _exported(model).to_json()
        except StudioError as error:
            return error
        return None

    def write(self, model: Exportable, path: Path) -> None:
        made = _exported(model)
        names = {layer.name: layer.name for layer in model.graph.layers()}
        variables = keras_variables(made.model, model.graph, names)
        own = {each.name: each for each in named_parameters(model.graph)}
        small: dict[str, Quantized] = {}
        for each in variables:
            held = model.small.get(each.parameter)
            if held is not None:
                owner = own[each.parameter]
                turned = to_public(owner.layer, owner.parameter, held.values)
                scale = (held.step, held.least) if isinstance(held, AffineWeight) else ()
                small[each.old_name] = Quantized(turned, *scale)
        weights = {each.old_name: model.public[each.parameter] for each in variables}
        training = training_for_tensorflow_js(model, made.model, variables)
        written = LayersModel(
            made.to_json(),
            weights,
            {} if training is None else training.state,
            None if training is None else training.config,
            metadata={FACTS: dict(model.facts)},
            written_by=f"Glassbox {__version__}",
        )
        path.mkdir()
        tfjs.save(path, written, small)
        write_new(path / PAGE, [_page(model.name)])

    def read_model(self, path: Path, progress: Progress | None = None) -> ImportedModel:
        tell = progress or unheard
        tell(0.0, "reading the weights")
        place = path / MODEL_FILE if path.is_dir() else path
        found, who = tfjs.load(place), str(place)
        tell(0.5, "making the network")
        form, document = _topology(found.topology, who)
        model = keras_words(model_from_json(document, who, version=form))
        graph, layers = graph_from_keras(model)
        tell(0.8, "taking the weights")
        names = {each.name: each.layer for each in layers if each.layer}
        variables = keras_variables(model, graph, names)
        held = weights_by_name(found.weights, variables, graph, layers, who)
        training, left_out = training_from_tensorflow_js(
            found.training, found.optimizer, model, graph, variables, held.names
        )
        remarks = list(held.remarks)
        if found.quantized:
            remarks.append(f"{len(found.quantized)} weights were stored in fewer bits")
        by = f", written by {found.written_by}" if found.written_by else ""
        report = ImportReport(
            path.name, f"{self.title}{by}", layers, (*held.left_out, *left_out), tuple(remarks)
        )
        tell(1.0, "done")
        facts = _facts(found.metadata)
        return ImportedModel(model.name, graph, held.weights, report, facts, training)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        document = parse_json(content, MODEL_FILE)
        if not isinstance(document, dict):
            raise FormatError("a model must be a JSON object", who=MODEL_FILE)
        yield f"{document.get('format')}, written by {document.get('generatedBy')}"
        groups = document.get("weightsManifest")
        for group in groups if isinstance(groups, list) else ():
            weights = group.get("weights") if isinstance(group, dict) else None
            yield from map(_line, weights if isinstance(weights, list) else ())
        metadata = document.get("userDefinedMetadata")
        for key, value in _facts(metadata if isinstance(metadata, dict) else None).items():
            yield f"{key}: {value[:_SHOWN]}"


def _exported(model: Exportable) -> TensorFlowJsModel:
    # Models there take any length that the network takes.
    return tensorflow_js_model(keras_from_graph(model.open_graph or model.graph))


def _page(name: str) -> bytes:
    """The page that runs a model, with its name."""
    text = files(__package__).joinpath("tensorflow_js.html").read_text(encoding="utf-8")
    shown = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("{{integrity}}", _LIBRARY).replace("{{name}}", shown).encode("utf-8")


def _topology(topology: Json, who: str) -> tuple[str, JsonValue]:
    """The version that wrote a model, and Keras' JSON of it, in whichever of two places."""
    version = topology.get("keras_version", "")
    held = topology.get("model_config")
    if held is None:
        held = {key: topology[key] for key in _OF_LAYER if key in topology}
    if not isinstance(version, str):
        raise FormatError(f"keras_version must be text, got {quoted(version)}", who=who)
    return version or "tfjs", held


def _facts(metadata: Json | None) -> dict[str, str]:
    return facts_of(None if metadata is None else metadata.get(FACTS))


def _line(weight: JsonValue) -> str:
    if not isinstance(weight, dict):
        return "a weight that is none"
    small = weight.get("quantization")
    kind = small.get("dtype") if isinstance(small, dict) else weight.get("dtype")
    return f"  {weight.get('name')}  {kind}{weight.get('shape')}"
