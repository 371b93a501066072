"""Checks against data and training: sample shape, classes, loss and metrics that fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import Layer, shape_text
from studio.engine.optim.counted_metrics import CountedMetric
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.train.project.plugin_use import missing_settings
from studio.engine.train.project.task import fitting_loss
from studio.session.document.edits.sections import training_of
from studio.session.document.flow import Flow
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.report import DataFacts, Problem
from studio.session.document.resolve import Resolved
from studio.session.document.state import DocumentState


@dataclass(frozen=True)
class _TrainedOutput:
    """The network's output and what it is trained with."""

    node: str
    layer: Layer
    shape: Shape
    loss: Loss
    chosen: bool
    metrics: tuple[Metric, ...]
    facts: DataFacts

    @property
    def width(self) -> int:
        """Length of the last dimension."""
        return self.shape[-1] if self.shape else 1

    @property
    def function(self) -> str:
        """The activation it ends in."""
        return self.layer.ending(len(self.shape) + 1)


def input_problems(
    state: DocumentState, resolved: Resolved, flow: Flow, facts: DataFacts
) -> Iterator[Problem]:
    """Whether samples fit the network's input, and there is one of each."""
    entries = [i for i in flow.order if i in resolved.reached and is_input(state.nodes[i])]
    for node_id in entries[1:]:
        yield Problem(
            "data.several_inputs", "error", node_id,
            f"a data set feeds one input, the network has {len(entries)}",
            "train networks with several with glassbox train, or from Python",
        )  # fmt: skip
    for node_id in resolved.outputs[1:]:
        yield Problem(
            "data.several_outputs", "error", node_id,
            f"a data set has one target, the network has {len(resolved.outputs)} outputs",
            "mark one output only",
        )  # fmt: skip
    for node_id in entries[:1]:
        shape = flow.shape(node_id)
        if shape is not None and shape != facts.sample_shape:
            yield Problem(
                "data.input_shape", "error", node_id,
                f"the data has samples {shape_text(facts.sample_shape)}, the input takes "
                f"{shape_text(shape)}",
                "give the Input layer the shape of the data",
            )  # fmt: skip
    if state.data is not None and state.data.get("augment") and len(facts.sample_shape) != 3:
        yield Problem(
            "data.augment", "error", "",
            "augmentation needs images [height, width, channels], the data has samples "
            f"{shape_text(facts.sample_shape)}",
            "remove the augmentation",
        )  # fmt: skip


def output_problems(
    state: DocumentState, resolved: Resolved, flow: Flow, facts: DataFacts
) -> Iterator[Problem]:
    """Whether output, loss and metrics fit the targets and each other."""
    try:
        training_of(state).require_outputs([state.nodes[i].name for i in resolved.outputs])
    except CompileError as error:
        yield Problem(
            "training.outputs", "error", "", error.message,
            error.hint or "name an output of the network",
        )  # fmt: skip
        return
    if len(resolved.outputs) != 1:
        return
    node_id = resolved.outputs[0]
    shape = flow.shape(node_id)
    if shape is None:
        return
    layer, settings = layer_at(state.nodes[node_id]), training_of(state)
    if missing_settings(settings):
        return
    name = state.nodes[node_id].name
    chosen, metrics = settings.loss_of(name), settings.metrics_of(name)
    loss = chosen or fitting_loss(layer, shape, facts.classes > 0)
    ending = _TrainedOutput(node_id, layer, shape, loss, chosen is not None, metrics or (), facts)
    sized = list(_class_sizes(ending) if facts.classes else _target_sizes(ending))
    yield from sized
    if any(problem.severity == "error" for problem in sized):
        return
    yield from _loss_problems(ending)
    yield from _metric_problems(ending)
    if settings.class_weights is not None and not facts.classes:
        yield Problem(
            "training.class_weights", "error", "",
            "class weights need classes, the data has numbers as targets",
            "remove the class weights",
        )  # fmt: skip


def _class_sizes(end: _TrainedOutput) -> Iterator[Problem]:
    classes, shown = end.facts.classes, shape_text(end.shape)
    if len(end.shape) != 1:
        yield Problem(
            "output.rank", "error", end.node,
            f"expected one number for each of {classes} classes, got {shown}",
            "end with Flatten or pooling, then a Dense layer",
        )  # fmt: skip
    elif end.width == 1 and classes != 2:
        yield _classes(end, f"one output tells 2 classes apart, the data has {classes}")
    elif 1 < end.width < classes:
        yield _classes(end, f"expected {classes} outputs for {classes} classes, got {end.width}")
    elif end.width > classes:
        yield Problem(
            "output.more_than_classes", "warning", end.node,
            f"{end.width} outputs for {classes} classes: {end.width - classes} are never used",
            f"give the last layer {classes} units",
        )  # fmt: skip


def _classes(end: _TrainedOutput, message: str) -> Problem:
    return Problem(
        "output.classes", "error", end.node, message,
        f"give the last layer {end.facts.classes} units",
    )  # fmt: skip


def _target_sizes(end: _TrainedOutput) -> Iterator[Problem]:
    wanted = (end.facts.targets,)
    if end.shape != wanted:
        yield Problem(
            "output.targets", "error", end.node,
            f"expected {shape_text(wanted)} as the data has {end.facts.targets} "
            f"number{'' if end.facts.targets == 1 else 's'} to predict, got "
            f"{shape_text(end.shape)}",
            "end with Flatten or pooling, then a Dense layer" if len(end.shape) != 1 else
            f"give the last layer {end.facts.targets} unit{'' if end.facts.targets == 1 else 's'}",
        )  # fmt: skip


def _loss_problems(end: _TrainedOutput) -> Iterator[Problem]:
    if end.function == "softmax" and end.width == 1:
        yield Problem(
            "output.softmax_of_one", "warning", end.node,
            "softmax of a single value is always 1", "use sigmoid, or one output per class",
        )  # fmt: skip
        return
    if end.loss.needs_classes and not end.facts.classes:
        yield Problem(
            "loss.needs_classes", "error", end.node,
            f"{type(end.loss).__name__} needs classes, the data has numbers as targets",
            "use a loss for numbers, such as MeanSquaredError",
        )  # fmt: skip
        return
    if end.chosen and end.loss.function:
        yield from _logits(end, end.loss.function)


def _logits(end: _TrainedOutput, function: str) -> Iterator[Problem]:
    """Whether the loss expects what the layer gives: logits, or what ``function`` makes of them."""
    name, takes_logits = type(end.loss).__name__, end.loss.takes_logits
    if (end.function == function) != takes_logits:
        return
    if takes_logits:
        yield Problem(
            f"loss.{function}_twice", "warning", end.node,
            f"{name} with from_logits applies {function} itself, but the layer already does",
            f"set from_logits to false, or remove the {function}",
        )  # fmt: skip
    else:
        yield Problem(
            "loss.no_shares", "warning", end.node,
            f"{name} expects the output of {function}, but the layer does not apply it",
            f"set from_logits to true, or end in {function}",
        )  # fmt: skip


def _metric_problems(end: _TrainedOutput) -> Iterator[Problem]:
    """Metrics compare predictions with targets in the form the loss takes them."""
    indices = end.loss.indices
    for metric in end.metrics or _default_metrics(end):
        predictions = (1, *end.shape)
        targets = predictions[:-1] if indices else predictions
        if isinstance(metric, CountedMetric):
            yield from _counting_problems(end, metric, metric.misfit(predictions, targets))
        elif not metric.fits(predictions, targets):
            wanted = "rows" if indices else "class indices"
            came = "class indices" if indices else "rows"
            yield Problem(
                "metrics.form", "error", end.node,
                f"{metric.label} compares {wanted}, {type(end.loss).__name__} takes {came}",
                "leave the metrics unset, so the data chooses them",
            )  # fmt: skip


def _counting_problems(
    end: _TrainedOutput, metric: CountedMetric, reason: str
) -> Iterator[Problem]:
    if reason:
        yield Problem("metrics.form", "error", end.node, f"{metric.label} {reason}", metric.hint)


def _default_metrics(end: _TrainedOutput) -> tuple[Metric, ...]:
    return (Metric.resolve("accuracy"),) if end.facts.classes else ()
