"""The state of an optimiser as Keras keeps it: a list of variables in a fixed order.

First the count of updates, then the learning rate where it is a number and the program that wrote
the list keeps it (Keras 3 does, Keras 2 does not), then the slots. These go by trained weights in
Keras' order, slot after slot of each weight (Adam's mean and square), or one slot of all weights
before the next (RMSprop). The update rules are Keras' own, so that slots hold the same numbers
here; only their layout is that of the weight, as stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.interop.keras.training_out import keras_schedule
from studio.engine.interop.keras.variables import KerasVariable
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.initializers import parse_initializer
from studio.engine.layers.layer import shape_text
from studio.engine.layers.named_parameters import NamedParameter, named_parameters
from studio.engine.layers.weights import to_public, to_stored
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule

Array: TypeAlias = npt.NDArray[np.generic]

MAX_UPDATES = 2**31 - 1
"""Most updates that the device can count."""

SLOT_NAMES: Mapping[str, Mapping[str, str]] = {
    "SGD": {"m": "momentum"},
    "RMSprop": {"v": "velocity", "m": "momentum", "a": "average_gradient"},
    "Adam": {"m": "momentum", "v": "velocity", "vmax": "velocity_hat"},
    "AdamW": {"m": "momentum", "v": "velocity", "vmax": "velocity_hat"},
    "Adagrad": {"a": "accumulator"},
    "Adadelta": {"a": "accumulated_grad", "u": "accumulated_delta_var"},
    "Adamax": {"m": "momentum", "u": "norm"},
}
"""The slots of each optimiser in Keras' order, and what Keras calls them."""

_INTERLEAVED: Mapping[str, frozenset[str]] = {
    "Adam": frozenset("mv"),
    "AdamW": frozenset("mv"),
    "Adadelta": frozenset("au"),
    "Adamax": frozenset("mu"),
}
"""Slots that stand side by side for each weight; every other stands for all weights at a time."""


class StateVariable(NamedTuple):
    """One slot of one weight.

    Attributes:
        weight: whose it is.
        slot: its name in the rule of the optimiser.
        name: its name in Keras.
    """

    weight: KerasVariable
    slot: str
    name: str


class OptimizerState(NamedTuple):
    """How far an optimiser is.

    Attributes:
        steps: updates it has made.
        slots: as stored, by ``<layer>/<role>/<slot>``; one that is missing is at its beginning.
    """

    steps: int = 0
    slots: Mapping[str, Array] = {}


def state_order(optimizer: Optimizer, trained: Sequence[KerasVariable]) -> list[StateVariable]:
    """The slots of an optimiser in the order of Keras' list.

    Args:
        optimizer: one that Keras has.
        trained: the weights it updates, in Keras' order.
    """
    kind = type(optimizer).__name__
    names = SLOT_NAMES[kind]
    used = [slot for slot in names if slot in optimizer.rule().slots]
    beside = [slot for slot in used if slot in _INTERLEAVED.get(kind, ())]
    blocks = [beside] if beside else []
    blocks += [[slot] for slot in used if slot not in beside]
    return [
        StateVariable(weight, slot, names[slot])
        for block in blocks
        for weight in trained
        for slot in block
    ]


def state_of(checkpoint: Checkpoint | None) -> OptimizerState:
    """What a checkpoint says of its optimiser; a beginning without one."""
    if checkpoint is None:
        return OptimizerState()
    return OptimizerState(checkpoint.position.total_step, checkpoint.tensors)


def state_to_keras(
    optimizer: Optimizer,
    trained: Sequence[KerasVariable],
    graph: LayerGraph,
    state: OptimizerState,
) -> Iterator[Array]:
    """The variables of Keras' list, as Keras 3 orders them.

    A learning rate is there unless a schedule gives it.

    Args:
        optimizer: one that Keras has.
        trained: the weights it updates, in Keras' order.
        graph: the network.
        state: how far it is.
    """
    yield np.array(state.steps, np.int32)
    rate = optimizer.learning_rate
    rate = keras_schedule(rate) if isinstance(rate, Schedule) else rate
    if not isinstance(rate, Schedule):
        yield np.array(rate, np.float32)
    own = _by_name(graph)
    starts = optimizer.rule().slots
    for variable in state_order(optimizer, trained):
        each = own[variable.weight.parameter]
        values = state.slots.get(f"{each.name}/{variable.slot}")
        if values is None:
            start = parse_initializer(starts[variable.slot] or "zeros")
            values = start.values(each.parameter.shape, 0, 0)
        yield to_public(each.layer, each.parameter, values)


def state_from_keras(
    optimizer: Optimizer,
    trained: Sequence[KerasVariable],
    graph: LayerGraph,
    variables: Sequence[Array],
    who: str,
) -> OptimizerState:
    """How far an optimiser is, from Keras' list of its variables.

    Args:
        optimizer: as the file has it.
        trained: the weights it updates, in Keras' order.
        graph: the network.
        variables: the list, with the learning rate behind the count or without.
        who: names the file in errors.

    Raises:
        CheckpointError: the list is of another length, or a variable in it of another kind.
        ShapeError: a slot has another shape than its weight.
    """
    order = state_order(optimizer, trained)
    rest = list(variables)
    if len(rest) not in (len(order) + 1, len(order) + 2):
        raise CheckpointError(
            f"expected {len(order) + 1} or {len(order) + 2} variables of the optimiser "
            f"{type(optimizer).__name__}, got {len(rest)}",
            who=who,
        )
    steps = _count(rest.pop(0), who)
    if len(rest) > len(order):
        # The config has it as well, in full precision.
        _scalar(rest.pop(0), "learning rate", who)
    own = _by_name(graph)
    slots: dict[str, Array] = {}
    for variable, values in zip(order, rest, strict=True):
        each = own[variable.weight.parameter]
        if values.dtype.kind != "f" or not np.isfinite(values).all():
            raise CheckpointError(
                f"{variable.name} of {each.name}: expected finite numbers", who=who
            )
        slots[f"{each.name}/{variable.slot}"] = to_stored(each.layer, each.parameter, values)
    return OptimizerState(steps, slots)


def _by_name(graph: LayerGraph) -> dict[str, NamedParameter]:
    return {each.name: each for each in named_parameters(graph)}


def _count(value: Array, who: str) -> int:
    if _scalar(value, "count of updates", who).dtype.kind not in "iu":
        raise CheckpointError(f"expected a whole count of updates, got {value.dtype}", who=who)
    count = int(value.reshape(()))
    if not 0 <= count <= MAX_UPDATES:
        raise CheckpointError(f"expected 0 to {MAX_UPDATES} updates, got {count}", who=who)
    return count


def _scalar(value: Array, what: str, who: str) -> Array:
    if value.size != 1:
        raise CheckpointError(
            f"expected one number as the {what}, got {shape_text(value.shape)}", who=who
        )
    return value
