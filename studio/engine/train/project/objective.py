"""What outputs are compared by, as settings and data say: losses, metrics, weights of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

import numpy as np

from studio.engine.compiler.lower import Metrics, require_loss
from studio.engine.core.errors import DataError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer
from studio.engine.optim.losses import Loss, OutputSpec
from studio.engine.optim.metrics import Accuracy, Metric
from studio.engine.train.data.batches import class_weights
from studio.engine.train.data.dataset import TargetArray
from studio.engine.train.settings import ClassWeights, TrainingSettings

TargetKind: TypeAlias = Literal["none", "classes", "numbers"]


def fitting_loss(layer: Layer, shape: Shape, classification: bool) -> Loss:
    """The loss for a last layer whose output has a shape: the first that suits.

    Squared error for numbers. For classes cross-entropy: binary where there is one output, and on
    logits where the last layer does not make shares of its own.
    """
    ending = OutputSpec(shape, layer.ending(len(shape) + 1), classification)
    suited = (cls.suited(ending) for cls in Loss.members.values() if issubclass(cls, Loss))
    return next(loss for loss in suited if loss is not None)


class ObjectiveFields(TypedDict):
    """What a task knows of it."""

    losses: tuple[Loss | None, ...]
    metrics: Metrics
    loss_weights: tuple[float, ...]
    weighted_metrics: Metrics


def objective_fields(
    graph: LayerGraph, settings: TrainingSettings, targets: Sequence[TargetKind]
) -> ObjectiveFields:
    """Losses, metrics and loss weights as the settings say, or as they follow from the data.

    Args:
        graph: the network.
        settings: what was chosen, for all outputs or by output name.
        targets: of what kind those of each output are.
    """
    names, types = graph.output_names(), graph.types()
    settings.require_outputs(names)
    losses: list[Loss | None] = []
    metrics, weighted = dict[str, Sequence[Metric]](), dict[str, Sequence[Metric]]()
    for name, port, kind in zip(names, graph.outputs, targets, strict=True):
        layer, is_trained = graph.node(port.node).layer, not settings.has_no_loss(name)
        fitting = fitting_loss(layer, types[port].sample, kind == "classes")
        losses.append((settings.loss_of(name) or fitting) if is_trained else None)
        default = (Accuracy(),) if kind == "classes" and is_trained else ()
        own = settings.metrics_of(name)
        metrics[name] = default if own is None else own
        weighted[name] = settings.weighted_metrics_of(name)
        if kind == "none" and not settings.measures(name):
            # Metrics given for all outputs are for those that have targets.
            metrics[name] = weighted[name] = ()
    require_loss(names, losses)
    weights = settings.loss_weights or {}
    one = names[0] if len(names) == 1 else ""
    return {
        "losses": tuple(losses),
        "metrics": metrics[one] if one else metrics,
        "loss_weights": tuple(weights.get(name, 1.0) for name in names) if weights else (),
        "weighted_metrics": weighted[one] if one else weighted,
    }


def class_table(
    choice: ClassWeights | None, labels: object, names: tuple[str, ...]
) -> tuple[float, ...]:
    """The weight of each class, empty where none are wanted; see `batches.class_weights`."""
    if choice is None:
        return ()
    found = np.asarray(labels, np.int32)
    if choice != "balanced":
        every = np.arange(len(names), dtype=np.int32)
        return tuple(float(w) for w in class_weights(_by_name(choice, names), every, names))
    weights = class_weights("balanced", found, names)
    table = np.ones(len(names))
    table[found] = weights
    return tuple(float(w) for w in table)


def _by_name(choice: ClassWeights, names: tuple[str, ...]) -> Mapping[str | int, float]:
    """Class names as given; numbers in text, as JSON keys are, stand for indices."""
    table = choice if isinstance(choice, Mapping) else {}
    return {
        int(key) if isinstance(key, str) and key not in names and key.isdecimal() else key: weight
        for key, weight in table.items()
    }


def class_tables(
    settings: TrainingSettings, targets: Sequence[TargetArray | None], names: Sequence[str]
) -> tuple[tuple[float, ...], ...]:
    """For each output the weight of each class; empty where no class weights are wanted."""
    if settings.class_weights is None:
        return ()
    tables: list[tuple[float, ...]] = []
    for target, name in zip(targets, names, strict=True):
        choice = settings.class_weights_of(name)
        if target is None:
            tables.append(())
            continue
        several = len(targets) > 1
        if several and isinstance(choice, Mapping) and choice is settings.class_weights:
            raise DataError("class weights by class need the output they are for",
                            who="class_weights", hint=f'write {{"{name}": {{…}}}}')  # fmt: skip
        is_for_all = several and choice is settings.class_weights
        if choice is not None and not target.class_names and not is_for_all:
            raise DataError("class weights need classes: the data has numbers as targets",
                            who="class_weights")  # fmt: skip
        found = class_table(choice, target.y, target.class_names) if target.class_names else ()
        tables.append(found)
    return tuple(tables) if any(tables) else ()
