"""How a TensorFlow.js model is trained, and how far its optimiser is, both ways.

TensorFlow.js keeps its optimiser by words of its own (``learningRate``), and its state as the count
of updates, then one slot of all trained weights after the other, in the order of its layers. Its
Adam adds epsilon to the corrected root, which is ``epsilon_at='hat'`` here. It has no schedules,
weights of losses or options of losses; a model with any of them is written without its training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, StudioError, quoted
from studio.engine.interop.file_format import Exportable, ExportedTraining
from studio.engine.interop.imported import ImportedTraining
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.optimizer_state import MAX_UPDATES, state_of
from studio.engine.interop.keras.training_in import training_from_keras
from studio.engine.interop.keras.variables import KerasVariable, trained_variables
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import shape_text
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.layers.weights import to_public, to_stored
from studio.engine.optim import losses, metrics
from studio.engine.optim.optimizers import SGD, Adam, Optimizer

if TYPE_CHECKING:
    from studio.engine.formats.tfjs import Json

Array: TypeAlias = npt.NDArray[np.generic]

_LOSSES = {
    losses.CategoricalCrossentropy: "categorical_crossentropy",
    losses.SparseCategoricalCrossentropy: "sparse_categorical_crossentropy",
    losses.BinaryCrossentropy: "binary_crossentropy",
    losses.MeanSquaredError: "mean_squared_error",
    losses.MeanAbsoluteError: "mean_absolute_error",
}
_SLOTS = {Adam: ("m", "v"), SGD: ()}
"""The optimisers that are the same there, with their slots, which both call alike."""
_OPTIONS = frozenset({"learning_rate", "beta_1", "beta_2", "epsilon", "epsilon_at", "form"})
"""Options of these that TensorFlow.js has, or that say nothing of them."""


class WrittenTraining(NamedTuple):
    """The training of a model in TensorFlow.js' words.

    Attributes:
        config: ``trainingConfig``.
        state: weights of the optimiser by name, in order.
    """

    config: Json
    state: dict[str, Array]


def training_for_tensorflow_js(
    model: Exportable, made: KerasModel, variables: Sequence[KerasVariable]
) -> WrittenTraining | None:
    """The training of a network, with its state; None where TensorFlow.js has it not the same.

    Args:
        model: the network.
        made: the model that is written.
        variables: its weights.
    """
    known = model.training
    if known is None:
        return None
    optimizer = _optimizer(known.optimizer)
    loss = _losses(known)
    order = _order(made)
    if optimizer is None or loss is None or order is None:
        return None
    config: Json = {"optimizer_config": optimizer, "loss": [*loss] if len(loss) > 1 else loss[0]}
    if len(loss) == 1 and any(isinstance(e, metrics.Accuracy) for e in known.objective.metrics[0]):
        config["metrics"] = ["accuracy"]
    reached = state_of(model.checkpoint)
    state: dict[str, Array] = {"iter": np.array(reached.steps, np.int32)}
    own = {each.name: each for each in named_parameters(model.graph)}
    trained = sorted(trained_variables(variables), key=lambda each: order[each.group])
    for slot in _SLOTS[type(known.optimizer)]:
        for variable in trained:
            each = own[variable.parameter]
            values = reached.slots.get(f"{each.name}/{slot}")
            if values is None:
                values = np.zeros(each.parameter.shape, np.float32)
            state[f"{variable.old_name}/{slot}"] = to_public(each.layer, each.parameter, values)
    return WrittenTraining(config, state)


def _optimizer(optimizer: Optimizer) -> Json | None:
    """An optimiser that TensorFlow.js computes in the same way, but for where epsilon is added."""
    given = optimizer.plain_options()
    rate = optimizer.learning_rate
    if type(optimizer) not in _SLOTS or not set(given) <= _OPTIONS or not isinstance(rate, float):
        return None
    config: Json = {"learningRate": rate}
    if isinstance(optimizer, Adam):
        config |= {
            "beta1": optimizer.beta_1, "beta2": optimizer.beta_2, "epsilon": optimizer.epsilon,
        }  # fmt: skip
    return {"class_name": type(optimizer).__name__, "config": config}


def _losses(known: ExportedTraining) -> list[str] | None:
    objective = known.objective
    if any(weight != 1.0 for weight in objective.weights) or any(objective.weighted):
        return None
    found = [
        _LOSSES.get(type(each)) if each is not None and not each.plain_options() else None
        for each in objective.losses
    ]
    names = [each for each in found if each is not None]
    return names if len(names) == len(found) else None


def _order(made: KerasModel) -> dict[str, int] | None:
    """The place of each layer in TensorFlow.js, which orders them as Keras does, whatever the file.

    None where the layers are such that it cannot be told.
    """
    try:
        whole = keras_from_graph(graph_from_keras(made)[0])
    except StudioError:
        return None
    places = {layer.name: place for place, layer in enumerate(whole.layers)}
    return places if all(layer.name in places for layer in made.layers) else None


def training_from_tensorflow_js(
    config: Json | None,
    state: Mapping[str, Array],
    model: KerasModel,
    graph: LayerGraph,
    variables: Sequence[KerasVariable],
    names: Mapping[str, str],
) -> tuple[ImportedTraining | None, list[str]]:
    """How a model was trained and how far, and what of that is left out, one sentence each.

    Args:
        config: ``trainingConfig``; None where the file has none.
        state: weights of the optimiser by name, in the order of the file.
        model: the model.
        graph: the network it is here.
        variables: its weights.
        names: of the weights in the file, by parameter.
    """
    training, left_out = training_from_keras(config, model, graph.output_names())
    if training is None:
        if state:
            left_out.append("the state of an optimiser that the file does not name")
        return None, left_out
    optimizer = training.optimizer
    if isinstance(optimizer, Adam) and _is_of_tensorflow_js(config):
        training = replace(training, optimizer=optimizer.replace(epsilon_at="hat"))
    if not state or optimizer is None:
        return training, left_out
    kind = type(optimizer).__name__
    if type(optimizer) not in _SLOTS or optimizer.rule().slots.keys() != {*_SLOTS[type(optimizer)]}:
        left_out.append(f"the state of the optimiser {kind}, which TensorFlow.js keeps otherwise")
        return training, left_out
    try:
        return _with_state(training, state, graph, trained_variables(variables), names), left_out
    except StudioError as error:
        left_out.append(f"the state of the optimiser: {error.message}")
        return training, left_out


def _is_of_tensorflow_js(config: Json | None) -> bool:
    held = None if config is None else config.get("optimizer_config")
    options = held.get("config") if isinstance(held, dict) else None
    return isinstance(options, dict) and "learningRate" in options


def _with_state(
    training: ImportedTraining,
    state: Mapping[str, Array],
    graph: LayerGraph,
    trained: Sequence[KerasVariable],
    names: Mapping[str, str],
) -> ImportedTraining:
    """The training with how far it is; CheckpointError or ShapeError where that does not fit."""
    slots = _SLOTS[type(training.optimizer)] if training.optimizer is not None else ()
    rest = dict(state)
    count = rest.pop("iter", None)
    if count is None or count.size != 1 or count.dtype.kind != "i":
        raise CheckpointError("expected a whole count of updates, 'iter'", who="optimizer")
    steps = int(count.reshape(()))
    if not 0 <= steps <= MAX_UPDATES or len(rest) != len(slots) * len(trained):
        raise CheckpointError(
            f"expected {len(slots) * len(trained)} arrays and 0 to {MAX_UPDATES} updates, got "
            f"{len(rest)} and {steps}",
            who="optimizer",
        )
    wanted = [(each, slot) for slot in slots for each in trained]
    exact = [f"{names[each.parameter]}/{slot}" for each, slot in wanted]
    # A model that was loaded into a page with another has numbers behind the names of its weights.
    given = exact if set(exact) == set(rest) else list(rest)
    own = {each.name: each for each in named_parameters(graph)}
    found: dict[str, Array] = {}
    for (variable, slot), name in zip(wanted, given, strict=True):
        values, each = rest[name], own[variable.parameter]
        if not name.endswith(f"/{slot}") or tuple(values.shape) != tuple(variable.shape):
            raise CheckpointError(
                f"expected {slot} of {quoted(variable.old_name)}, {shape_text(variable.shape)}, "
                f"got {quoted(name)}, {shape_text(values.shape)}",
                who="optimizer",
            )
        if values.dtype != np.float32 or not np.isfinite(values).all():
            raise CheckpointError(f"{quoted(name)} must be finite float32", who="optimizer")
        found[f"{each.name}/{slot}"] = to_stored(each.layer, each.parameter, values)
    return replace(training, steps=steps, slots=found)
