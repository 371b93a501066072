"""Writes trained networks to files for Keras: whole models in either form, and weights alone.

The same network gives the same bytes: dates are fixed, and HDF5 files hold none.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.hdf5_writing import Attribute, write_hdf5
from studio.engine.interop.file_format import Exportable
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.dialect_out import (
    KERAS_VERSION,
    OLD_VERSION,
    Dialect,
    model_name,
    model_to_json,
)
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.optimizer_state import state_of, state_to_keras
from studio.engine.interop.keras.training_out import TrainingForm
from studio.engine.interop.keras.variables import (
    KerasVariable,
    keras_variables,
    layer_paths,
    legacy_groups,
    trained_variables,
)
from studio.engine.layers.graph import LayerGraph

Array: TypeAlias = npt.NDArray[np.generic]
Groups: TypeAlias = dict[str, Mapping[str, Attribute]]

FACTS = "glassbox"
"""Where a file for Keras keeps what is known of data, normalisation and classes."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every member of an archive."""


@dataclass(frozen=True, eq=False)
class KerasExport:
    """A trained network as files for Keras hold it.

    Args:
        given: the network.
        dialect: of the file.

    Raises:
        FormatError: Keras, or the dialect, has no such layer or option.
    """

    given: Exportable
    dialect: Dialect

    @property
    def graph(self) -> LayerGraph:
        """The network, of any length where it takes inputs of any."""
        return self.given.open_graph or self.given.graph

    @cached_property
    def model(self) -> KerasModel:
        """The network in Keras' words."""
        return keras_from_graph(self.graph)

    @cached_property
    def variables(self) -> tuple[KerasVariable, ...]:
        """Its weights in Keras' order."""
        names = {layer.name: layer.name for layer in self.model.layers}
        return keras_variables(self.model, self.graph, names)

    @cached_property
    def training(self) -> TrainingForm | None:
        """How it is trained; None where that is not known."""
        known = self.given.training
        if known is None:
            return None
        return TrainingForm(self.model, known.optimizer, known.objective, self.dialect)

    def why_not(self) -> StudioError | None:
        """Why it cannot be written, if it cannot."""
        try:
            model_to_json(self.model, self.dialect)
            _ = self.variables, self.training
        except StudioError as error:
            return error
        return None

    def optimizer_variables(self) -> Iterator[Array]:
        """The state of the optimiser in Keras' order; nothing where none is known."""
        known = self.given.training
        if known is not None:
            trained = trained_variables(self.variables)
            state = state_of(self.given.checkpoint)
            yield from state_to_keras(known.optimizer, trained, self.graph, state)

    def weights_file(self) -> tuple[Groups, dict[str, Array]]:
        """Groups and arrays of the HDF5 file that Keras 3 keeps weights in.

        Every layer has its group, even without weights: Keras 3.0 to 3.3 look for each.
        """
        groups: Groups = {
            f"{path}/vars": {"name": layer.name} for path, layer in layer_paths(self.model)
        }
        groups["vars"] = {"name": model_name(self.model.name)}
        public = self.given.public
        arrays = {each.path: public[each.parameter] for each in self.variables}
        if self.given.training is not None:
            groups["optimizer/vars"] = {"name": _optimizer_name(self.given)}
            for index, values in enumerate(self.optimizer_variables()):
                arrays[f"optimizer/vars/{index}"] = values
        return groups, arrays

    def legacy_file(self) -> tuple[Groups, dict[str, Array]]:
        """Groups and arrays of the older HDF5 form, without the model's own attributes.

        The state of the optimiser is left out: Keras 3.0 to 3.15 give what they read of it to an
        optimiser of no weights at all, with which ``fit`` fails.
        """
        public = self.given.public
        own = legacy_groups(self.model, self.variables)
        groups: Groups = {"model_weights": {"layer_names": list(own)}}
        groups["model_weights/top_level_model_weights"] = {"weight_names": []}
        arrays: dict[str, Array] = {}
        for layer, members in own.items():
            names = [f"{each.old_name}:0" for each in members]
            groups[f"model_weights/{layer}"] = {"weight_names": names}
            for name, each in zip(names, members, strict=True):
                arrays[f"model_weights/{layer}/{name}"] = public[each.parameter]
        return groups, arrays


def why_not_keras(model: Exportable) -> StudioError | None:
    """Why `write_keras` cannot write a model, if it cannot."""
    return KerasExport(model, "keras3").why_not()


def write_keras(model: Exportable, path: Path) -> None:
    """Write a ``.keras`` archive: network, weights, training and the state of the optimiser.

    Raises:
        FormatError: Keras has no such layer or option, or the file cannot be written.
    """
    export = KerasExport(model, "keras3")
    config = model_to_json(export.model, "keras3")
    if export.training is not None:
        config["compile_config"] = export.training.to_json()
    metadata = {
        "keras_version": KERAS_VERSION,
        "date_saved": "1980-01-01@00:00:00",
        FACTS: dict(model.facts),
    }
    weights = io.BytesIO()
    write_hdf5(weights, *export.weights_file())
    members = {
        "metadata.json": _text(metadata).encode("utf-8"),
        "config.json": _text(config).encode("utf-8"),
        "model.weights.h5": weights.getvalue(),
    }
    write_atomic(path, lambda file: _write_zip(file, members))


def why_not_hdf5(model: Exportable) -> StudioError | None:
    """Why `write_keras_hdf5` cannot write a model, if it cannot."""
    export = KerasExport(model, "keras2")
    return export.why_not() or _lost_axis(export.model)


def write_keras_hdf5(model: Exportable, path: Path) -> None:
    """Write a model in one HDF5 file in the form of Keras 2, without the state of its optimiser.

    Raises:
        FormatError: the form cannot say the model (`why_not_hdf5`), or the file cannot be written.
    """
    refused = why_not_hdf5(model)
    if refused is not None:
        raise refused
    export = KerasExport(model, "keras2")
    writer = {"keras_version": OLD_VERSION, "backend": "tensorflow"}
    root: dict[str, Attribute] = {
        **writer,
        "model_config": _text(model_to_json(export.model, "keras2")),
        FACTS: _text(dict(model.facts)),
    }
    if export.training is not None:
        root["training_config"] = _text(export.training.to_json())
    groups, arrays = export.legacy_file()
    groups["model_weights"] = {**groups["model_weights"], **writer}
    write_atomic(path, lambda file: write_hdf5(file, {"/": root, **groups}, arrays))


def why_not_weights(model: Exportable) -> StudioError | None:
    """Why `write_keras_weights` cannot write the weights of a model, if it cannot."""
    return KerasExport(_with_known_training(model), "keras3").why_not()


def write_keras_weights(model: Exportable, path: Path) -> None:
    """Write weights alone, with the state of the optimiser where Keras has one like it.

    Raises:
        FormatError: Keras has no such layer or option, or the file cannot be written.
    """
    groups, arrays = KerasExport(_with_known_training(model), "keras3").weights_file()
    root = {FACTS: _text(dict(model.facts))}
    write_atomic(path, lambda file: write_hdf5(file, {"/": root, **groups}, arrays))


def _with_known_training(model: Exportable) -> Exportable:
    """The model, without its training where Keras cannot say that: its weights are no others."""
    try:
        _ = KerasExport(model, "keras3").training
    except StudioError:
        return replace(model, training=None)
    return model


def _lost_axis(model: KerasModel) -> StudioError | None:
    """That Keras 3.0 to 3.9 read a file of this form as if the last dimension were meant."""
    for layer in model.layers:
        axis = layer.config.get("axis")
        rank = len(layer.gives[0][0].shape)
        if isinstance(axis, int) and axis % rank != rank - 1:
            return FormatError(
                f"axis: Keras 3.0 to 3.9 take the last dimension for {axis} in such a file",
                who=layer.name,
                hint="export a Keras model (keras)",
            )
    return None


def _text(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _write_zip(file: BinaryIO, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)


def _optimizer_name(given: Exportable) -> str:
    """What Keras calls the optimiser unless told: its class in lower case."""
    known = given.training
    return "" if known is None else type(known.optimizer).__name__.lower()
