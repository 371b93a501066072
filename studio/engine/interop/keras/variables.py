"""Where each weight of a Keras model stands in a file, and which parameter here it is.

Three names are in use. Files of Keras 3 count layers of one class in the order of the model's list
(``layers/conv2d_1/vars/0``), and the names of layers play no part. The older HDF5 form keeps a list
of names for each layer of the outermost model. TensorFlow.js and Keras 2 name the layer and the
weight, and call one kernel by another word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from studio.engine.core.errors import GraphError, quoted
from studio.engine.core.tensor import Shape
from studio.engine.interop.keras.description import KerasLayer, KerasModel
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import NamedParameter, named_parameters

_BORDERS = re.compile(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")

_OLD_ROLES = {("DepthwiseConv2D", "kernel"): "depthwise_kernel"}
"""What Keras 2 and TensorFlow.js call a weight that has another name in Keras 3."""


class KerasVariable(NamedTuple):
    """One weight of a Keras model.

    Attributes:
        parameter: what it is here, ``<layer>/<role>``.
        shape: in Keras' layout.
        is_trained: whether the optimiser updates it; running statistics and what is frozen, by its
            own layer or by a model around it, are not.
        path: of its data set in files of Keras 3, below the root of the weights.
        group: name of the layer of the outermost model it belongs to, its group in the older form.
        name: in the older form as Keras 3 writes it, ``conv/kernel``.
        old_name: as Keras 2 (which appends ``:0``) and TensorFlow.js write it.
    """

    parameter: str
    shape: Shape
    is_trained: bool
    path: str
    group: str
    name: str
    old_name: str


def snake_case(class_name: str) -> str:
    """Keras' name of a class in paths: ``re_lu``, ``p_re_lu``, ``conv2d_transpose``."""
    return _BORDERS.sub("_", re.sub(r"\W+", "", class_name)).lower()


def layer_paths(model: KerasModel, prefix: str = "layers") -> Iterator[tuple[str, KerasLayer]]:
    """Each layer of a model with its path in a file of Keras 3; those of nested models are not.

    Layers of one class are told apart by a number, in the order of the model's list.
    """
    counts: dict[str, int] = {}
    for layer in model.layers:
        stem = snake_case(layer.class_name)
        count = counts.get(stem, 0)
        counts[stem] = count + 1
        yield f"{prefix}/{stem}_{count}" if count else f"{prefix}/{stem}", layer


def keras_variables(
    model: KerasModel, graph: LayerGraph, names: Mapping[str, str]
) -> tuple[KerasVariable, ...]:
    """The weights of a model, layer by layer in the order of its list.

    Args:
        model: the model.
        graph: the network it is here.
        names: of the layers in ``graph``, by those in ``model`` with the models they stand in
            (``encoder/conv1``); a layer that is not in it has no weights.

    Raises:
        GraphError: two layers of the model are one layer here.
    """
    parameters: dict[str, list[NamedParameter]] = {}
    for each in named_parameters(graph):
        parameters.setdefault(each.layer.name, []).append(each)
    found = tuple(_variables(model, parameters, names, _Place("layers", "", "", True)))
    seen: set[str] = set()
    for variable in found:
        if variable.parameter in seen:
            raise GraphError(
                f"two layers have one weight here, {quoted(variable.parameter)}", who=model.name
            )
        seen.add(variable.parameter)
    return found


def trained_variables(variables: Sequence[KerasVariable]) -> list[KerasVariable]:
    """What the optimiser updates, in the order of its state."""
    return [each for each in variables if each.is_trained]


def legacy_groups(
    model: KerasModel, variables: Sequence[KerasVariable]
) -> dict[str, list[KerasVariable]]:
    """The groups of the older HDF5 form by the layers of the outermost model, in its order.

    Within a group come what is trained, then the rest; layers without weights have an empty group.
    """
    groups: dict[str, list[KerasVariable]] = {layer.name: [] for layer in model.layers}
    for variable in variables:
        groups[variable.group].append(variable)
    return {
        name: sorted(members, key=lambda each: not each.is_trained)
        for name, members in groups.items()
    }


class _Place(NamedTuple):
    """Where the layers of a model stand: their path, model, group, and whether all is trained."""

    path: str
    model: str
    group: str
    is_trained: bool


def _variables(
    model: KerasModel,
    parameters: Mapping[str, Sequence[NamedParameter]],
    names: Mapping[str, str],
    place: _Place,
) -> Iterator[KerasVariable]:
    """The weights of a model and of those nested in it, to the depth that a reader admits."""
    for path, layer in layer_paths(model, place.path):
        name = f"{place.model}{layer.name}"
        group = place.group or layer.name
        is_trained = place.is_trained and layer.trainable
        if layer.model is not None:
            inner = _Place(f"{path}/layers", f"{name}/", group, is_trained)
            yield from _variables(layer.model, parameters, names, inner)
            continue
        for index, each in enumerate(parameters.get(names.get(name, ""), ())):
            role = each.parameter.role
            old_role = _OLD_ROLES.get((layer.class_name, role), role)
            yield KerasVariable(
                each.name,
                each.public_shape,
                is_trained and not each.parameter.state,
                f"{path}/vars/{index}",
                group,
                f"{layer.name}/{role}",
                f"{layer.name}/{old_role}",
            )
