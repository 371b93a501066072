"""Keras' files as imported models: ``.keras`` archives, and whole models in HDF5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.core.progress import unheard
from studio.engine.formats.byte_source import open_source
from studio.engine.formats.hdf5_reading import Hdf5File, read_hdf5, read_hdf5_member
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.formats.safe_json import parse_json
from studio.engine.formats.safe_zip import Member, MemberReader, list_members
from studio.engine.interop.imported import (
    ImportedLayer,
    ImportedModel,
    ImportedTraining,
    ImportReport,
)
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.files_out import FACTS
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.optimizer_state import state_from_keras, state_order
from studio.engine.interop.keras.training_in import training_from_keras
from studio.engine.interop.keras.variables import (
    KerasVariable,
    keras_variables,
    trained_variables,
)
from studio.engine.interop.keras.weights_in import (
    FoundWeights,
    WeightReader,
    legacy_optimizer_arrays,
    optimizer_arrays,
    weight_names,
)

if TYPE_CHECKING:
    from studio.engine.core.progress import Progress
    from studio.engine.formats.byte_source import ByteSource
    from studio.engine.formats.safe_json import JsonValue
    from studio.engine.interop.file_format import Array
    from studio.engine.layers.graph import LayerGraph

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
MAX_FACTS = 200
MAX_FACT_CHARS = 1 << 23
"""Much: the normalisation of a table has two numbers for each of its columns."""
MAX_FACT_NAME = 64

_SHOWN = 60
"""Characters of a fact in a summary."""

_UNBUILT = 2
"""Variables of an optimiser before its first step: the count of steps and the learning rate."""

# Shares of the whole: the network, the process that looks into the HDF5 data, the weights.
_NETWORK, _LOOKED = 0.1, 0.3


@dataclass
class _Network:
    """A network of a file, before its weights are read."""

    model: KerasModel
    graph: LayerGraph
    layers: tuple[ImportedLayer, ...]
    variables: tuple[KerasVariable, ...]

    @classmethod
    def of(cls, document: JsonValue, who: str, version: str) -> _Network:
        """The network of a JSON document; errors of its layers name the file as well."""
        model = model_from_json(document, who, version=version)
        try:
            graph, layers = graph_from_keras(model)
        except StudioError as error:
            error.origin = error.origin or who
            raise
        names = {each.name: each.layer for each in layers}
        return cls(model, graph, layers, keras_variables(model, graph, names))

    def reader(self, file: Hdf5File, who: str, tell: Progress) -> WeightReader:
        """Reads its weights."""

        def hear(share: float) -> None:
            tell(_LOOKED + (1 - _LOOKED) * share, "reading the weights")

        return WeightReader(file, self.model, self.graph, self.layers, self.variables, who, hear)


def read_keras_archive(
    path: Path, form: str, progress: Progress | None = None, limits: Limits = DEFAULT_LIMITS
) -> ImportedModel:
    """The model of a ``.keras`` file.

    Args:
        path: the file.
        form: title of the format, for the report.
        progress: hears how far it is, from 0 to 1; may raise to stop.
        limits: caps on what the file declares.

    Raises:
        FormatError: it is damaged, or of another kind.
        CheckpointError: weights are missing or do not fit.
        StudioError: something in it is not known here; it is named.
    """
    tell = progress or unheard
    who = str(path)
    with open_source(path, limits, "Keras") as opened:
        members = {member.name: member for member in list_members(opened, limits)}
        missing = [name for name in (CONFIG, WEIGHTS) if name not in members]
        if missing:
            raise FormatError(
                f"expected {CONFIG} and {WEIGHTS} in the archive, {missing[0]} is not there",
                who=who,
                hint="a model that Keras 3 saved has both",
            )
        about = _json_member(opened, members.get(METADATA), limits)
        version = about.get("keras_version") if isinstance(about, dict) else ""
        version = version if isinstance(version, str) else ""
        tell(0.0, "reading the network")
        document = _json_member(opened, members[CONFIG], limits)
        network = _Network.of(document, who, version)
        tell(_NETWORK, "reading the weights")
        with read_hdf5_member(
            opened, path, members[WEIGHTS], limits=limits, progress=_between(tell)
        ) as file:
            found = network.reader(file, who, tell).by_path()
            state = optimizer_arrays(file)
        config = document.get("compile_config") if isinstance(document, dict) else None
        others = [name for name in members if name not in (CONFIG, METADATA, WEIGHTS)]
        found.left_out += [f"{quoted(name)}, which is no part of the network" for name in others]
    facts = facts_of(about.get(FACTS) if isinstance(about, dict) else None)
    return _imported(path, _form(form, version), network, found, facts, config, state)


def read_keras_hdf5(
    path: Path, form: str, progress: Progress | None = None, limits: Limits = DEFAULT_LIMITS
) -> ImportedModel:
    """The model of an HDF5 file that holds a whole one; arguments and errors as above."""
    tell = progress or unheard
    who = str(path)
    with read_hdf5(path, limits=limits, progress=_between(tell)) as file:
        about = file.attributes.get("", {})
        text = about.get("model_config")
        if not isinstance(text, str):
            raise FormatError(
                "expected a whole model, got an HDF5 file without model_config",
                who=who,
                hint="weights alone are imported into a project that has the network",
            )
        version = about.get("keras_version")
        version = version if isinstance(version, str) else ""
        tell(_NETWORK, "reading the network")
        document = parse_json(text.encode(), f"{who}: model_config", limits)
        network = _Network.of(document, who, version)
        found = network.reader(file, who, tell).by_group("model_weights")
        state = legacy_optimizer_arrays(file, who)
        config = _json_attribute(about.get("training_config"), f"{who}: training_config", limits)
        facts = facts_of(_json_attribute(about.get(FACTS), f"{who}: {FACTS}", limits))
    return _imported(path, _form(form, version), network, found, facts, config, state)


def facts_of(value: JsonValue) -> dict[str, str]:
    """What a file says of data, normalisation and classes; only short text under short names."""
    if not isinstance(value, dict):
        return {}
    return {
        name: text
        for name, text in list(value.items())[:MAX_FACTS]
        if isinstance(text, str) and len(text) <= MAX_FACT_CHARS and len(name) <= MAX_FACT_NAME
    }


def _imported(
    path: Path,
    form: str,
    network: _Network,
    found: FoundWeights,
    facts: Mapping[str, str],
    config: JsonValue,
    state: list[Array] | None,
) -> ImportedModel:
    names = network.graph.output_names()
    training, left_out = training_from_keras(config, network.model, names)
    if training is not None:
        training = _with_state(training, network, state, str(path), left_out)
    report = ImportReport(
        path.name,
        form,
        network.layers,
        (*found.left_out, *left_out),
        tuple(found.remarks),
    )
    return ImportedModel(network.graph.name, network.graph, found.weights, report, facts, training)


def _with_state(
    training: ImportedTraining,
    network: _Network,
    state: list[Array] | None,
    who: str,
    left_out: list[str],
) -> ImportedTraining:
    """The training with how far its optimiser is; what cannot be read of that is noted."""
    if state is None:
        left_out.append("the state of the optimiser, in the order of Keras before 2.11")
    if not state or training.optimizer is None:
        return training
    trained = trained_variables(network.variables)
    if len(state) <= _UNBUILT and state_order(training.optimizer, trained):
        # It has not made a step yet, and has no variables for the weights.
        return training
    try:
        found = state_from_keras(training.optimizer, trained, network.graph, state, who)
    except StudioError as error:
        left_out.append(f"the state of the optimiser: {error.message}")
        return training
    return replace(training, steps=found.steps, slots=dict(found.slots))


def _json_member(opened: ByteSource, member: Member | None, limits: Limits) -> JsonValue:
    """The JSON of a member; None without one."""
    if member is None:
        return None
    who = f"{opened.who}: {member.name}"
    if member.size > limits.json_bytes:
        raise FormatError(
            f"JSON is too long: expected at most {limits.json_bytes} bytes, got {member.size}",
            who=who,
        )
    reader = MemberReader(opened, member)
    data = reader.read(member.size)
    reader.finish()
    return parse_json(data, who, limits)


def _json_attribute(value: object, who: str, limits: Limits) -> JsonValue:
    """The JSON of an attribute; None where there is none."""
    return parse_json(value.encode(), who, limits) if isinstance(value, str) else None


def _form(form: str, version: str) -> str:
    return f"{form}, written by Keras {version[:20]}" if version else form


def _between(tell: Progress) -> Callable[[float | None, str], None]:
    """Tells how far the look into the HDF5 data is, as a share of the whole."""

    def hear(share: float | None, text: str) -> None:
        del text
        part = None if share is None else _NETWORK + (_LOOKED - _NETWORK) * share
        tell(part, "reading the weights")

    return hear


def weights_for(
    path: Path, graph: LayerGraph, limits: Limits = DEFAULT_LIMITS
) -> tuple[dict[str, Array], dict[str, str]]:
    """Weights as stored for a network, from an HDF5 file of weights alone, and its facts.

    They are found by their place in the network as Keras has it, or in the older form by the names
    of layers.

    Raises:
        FormatError: the file is damaged, or Keras has no such layer.
        CheckpointError: a weight is missing, fits no layer or has another shape.
    """
    who = str(path)
    model = keras_from_graph(graph)
    names = {layer.name: layer.name for layer in model.layers}
    variables = keras_variables(model, graph, names)
    layers = [ImportedLayer(each.name, each.class_name, each.name) for each in model.layers]
    with read_hdf5(path, limits=limits) as file:
        reader = WeightReader(file, model, graph, layers, variables, who)
        about = file.attributes.get("", {})
        is_older = any(name.startswith("layer_names") for name in about)
        found = reader.by_group("") if is_older else reader.by_path()
        facts = facts_of(_json_attribute(about.get(FACTS), f"{who}: {FACTS}", limits))
    return found.weights, facts


def named_weights(
    path: Path, limits: Limits = DEFAULT_LIMITS
) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of an HDF5 file of weights alone by names like those here, and its facts.

    A layer has the name the file has for it, else its class and number; of a weight the role is
    known where the class has only one order of them.
    """
    who = str(path)
    with read_hdf5(path, limits=limits) as file:
        found = weight_names(file)
        about = file.attributes.get("", {})
        facts = facts_of(_json_attribute(about.get(FACTS), f"{who}: {FACTS}", limits))
        return {name: file.arrays[place] for name, place in found.items()}, facts


def archive_summary(content: bytes, title: str) -> Iterator[str]:
    """Lines that describe a ``.keras`` file: its layers, and what else it states.

    Args:
        content: of the file.
        title: of the format.

    Raises:
        FormatError: it is damaged, or of another kind.
    """
    with open_source(content, DEFAULT_LIMITS, "Keras") as opened:
        members = {member.name: member for member in list_members(opened, DEFAULT_LIMITS)}
        about = _json_member(opened, members.get(METADATA), DEFAULT_LIMITS)
        document = _json_member(opened, members.get(CONFIG), DEFAULT_LIMITS)
    known = about if isinstance(about, dict) else {}
    model = model_from_json(document, title, version=str(known.get("keras_version", "")))
    count = len(model.layers)
    yield f"{title}, {count} layer{'' if count == 1 else 's'}"
    yield from (f"  {layer.name}  {layer.class_name}" for layer in model.layers)
    for key, value in facts_of(known.get(FACTS)).items():
        yield f"{key}: {value[:_SHOWN]}"


def hdf5_summary(content: bytes, title: str) -> Iterator[str | Mapping[str, Array]]:
    """Lines that describe an HDF5 file of Keras, and its arrays.

    Args:
        content: of the file.
        title: of the format.

    Raises:
        FormatError: it is damaged, or of another kind.
    """
    yield title
    # The process that reads HDF5 takes files, not bytes.
    with TemporaryDirectory(prefix="glassbox-summary-") as folder:
        path = Path(folder) / "summary.h5"
        path.write_bytes(content)
        with read_hdf5(path, who=title) as file:
            yield file.arrays
