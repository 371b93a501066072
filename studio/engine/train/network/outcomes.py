"""What each output of a network says about samples, compared with their targets."""

from __future__ import annotations

import math
from collections.abc import Callable

from studio.engine.core.options import Plain
from studio.engine.train.data.samples import Samples
from studio.engine.train.network.measures import (
    Array,
    Classification,
    Flags,
    Labels,
    Outcome,
    are_labels,
    classify,
    counting,
    regress,
    tell_labels,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.objective import fitting_loss
from studio.engine.train.project.task import Task

USUAL_K, MANY_K, _MANY = 3, 5, 100


def outcomes_of(
    trained: Trained, samples: Samples, progress: Callable[[int, int], None] | None = None
) -> tuple[Outcome | None, ...]:
    """Ask a network about every sample; for each output what it said, None without targets.

    Args:
        progress: hears (samples done, samples in all); may raise to stop.
    """
    predicted = trained.predict_all(list(samples.inputs), progress)
    masks = trained.predict_masks(list(samples.inputs))
    weights = samples.weights
    if len(weights) != len(predicted):
        weights = (weights or (None,)) * len(predicted)
    return tuple(
        None
        if targets is None
        else _outcome(trained.task, place, found, targets, counting(mask, own))
        for place, (found, targets, mask, own) in enumerate(
            zip(predicted, samples.targets, masks, weights, strict=True)
        )
    )


def _outcome(
    task: Task, place: int, outputs: Array, targets: Array, counts: Flags | None
) -> Outcome:
    """What an output, by its place, said; samples of one without a loss have that which fits."""
    classes = task.all_outputs[place].class_names
    if classes:
        logits = task.gives_logits(place)
        return classify(outputs, targets, classes, logits=logits, counts=counts)
    loss, port = task.losses[place], task.graph.outputs[place]
    if loss is None:
        layer = task.graph.node(port.node).layer
        loss = fitting_loss(layer, task.graph.types()[port].sample, classification=False)
    if are_labels(outputs, targets, loss):
        return tell_labels(outputs, targets, loss, logits=task.gives_logits(place), counts=counts)
    return regress(outputs, targets, loss, counts)


def usual_k(classes: int) -> int:
    """How many likeliest classes top-k accuracy looks at unless told; fewer than there are."""
    return max(1, min(MANY_K if classes >= _MANY else USUAL_K, classes - 1))


def scores_to_json(outcome: Outcome | None, top_k: int | None = None) -> dict[str, Plain]:
    """Scores of each class or label and their means, with accuracies; empty for numbers."""
    if isinstance(outcome, Labels):
        return {"all_labels_right": _known(outcome.exact), **outcome.scores.to_json()}
    if not isinstance(outcome, Classification):
        return {}
    made: dict[str, Plain] = {"accuracy": _known(outcome.accuracy)}
    classes = len(outcome.names)
    if classes > 2:
        k = min(top_k or usual_k(classes), classes)
        made["top_k"] = {"k": k, "accuracy": _known(outcome.top_k(k))}
    return {**made, **outcome.scores.to_json()}


def _known(share: float) -> float | None:
    """A share; None where nothing counts."""
    return share if math.isfinite(share) else None
