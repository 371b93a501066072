"""Checks against data and training: sample shape, classes, loss and metrics that fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from studio.engine.compiler.lower_augment import following_refusal, moved_with
from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer, shape_text
from studio.engine.optim.counted_metrics import CountedMetric
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.train.project.objective import fitting_loss
from studio.engine.train.project.plugin_use import missing_settings
from studio.engine.train.settings import TrainingSettings
from studio.session.document.edits.sections import data_of, training_of
from studio.session.document.flow import Flow
from studio.session.document.layer_types import is_input, layer_at
from studio.session.document.report import DataFacts, Problem, TargetFacts
from studio.session.document.resolve import Resolved, output_names
from studio.session.document.state import CanvasNode, DocumentState


@dataclass(frozen=True)
class _TrainedOutput:
    """An output of the network and what it is trained with."""

    node: str
    layer: Layer
    shape: Shape
    loss: Loss
    chosen: bool
    metrics: tuple[Metric, ...]
    target: TargetFacts
    wanted: Shape

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
    """Whether the data has samples for each input and targets for each output, and they fit."""
    entries = [i for i in flow.order if i in resolved.reached and is_input(state.nodes[i])]
    if facts.inputs:
        yield from _named_inputs(state, flow, facts, entries)
    else:
        yield from _only_input(state, flow, facts, entries)
    if facts.outputs:
        yield from _named_outputs(state, resolved, facts)
    else:
        for node_id in [port.node for port, _ in _compared(state, resolved)][1:]:
            yield Problem(
                "data.several_outputs", "error", node_id,
                f"the data has one target, the network has {len(resolved.outputs)} outputs",
                "choose data with named arrays, or mark one output only",
            )  # fmt: skip
    yield from _augmentation(state, resolved, facts)


def _augmentation(state: DocumentState, resolved: Resolved, facts: DataFacts) -> Iterator[Problem]:
    """Whether there are images to augment, and targets of their pixels that can follow."""
    if state.data is None or not state.data.get("augment"):
        return
    shapes = [each.shape for each in facts.inputs if each.shape is not None]
    shapes = shapes or [facts.sample_shape]
    if all(len(shape) != 3 for shape in shapes):
        yield Problem(
            "data.augment", "error", "",
            "augmentation needs images [height, width, channels], the data has samples "
            f"{' and '.join(map(shape_text, shapes))}",
            "remove the augmentation",
        )  # fmt: skip
        return
    settings = data_of(state)
    changes = () if settings is None else settings.augment
    refusal = following_refusal(changes)
    for port, name in _compared(state, resolved) if refusal else ():
        target = facts.target_of(name)
        of_places = () if target is None or target.shape is None else target.shape
        if moved_with(changes, shapes, of_places):
            yield Problem(
                "data.augment", "error", port.node, refusal,
                "use flip alone, or remove the augmentation",
            )  # fmt: skip


def _only_input(
    state: DocumentState, flow: Flow, facts: DataFacts, entries: Sequence[str]
) -> Iterator[Problem]:
    for node_id in entries[1:]:
        yield Problem(
            "data.several_inputs", "error", node_id,
            f"the data feeds one input, the network has {len(entries)}",
            "choose data with named arrays, or remove an input",
        )  # fmt: skip
    for node_id in entries[:1]:
        yield from _input_shape(state.nodes[node_id], flow, facts.sample_shape)


def _named_inputs(
    state: DocumentState, flow: Flow, facts: DataFacts, entries: Sequence[str]
) -> Iterator[Problem]:
    known = {each.name: each.shape for each in facts.inputs}
    named = {i: state.nodes[i].name for i in entries}
    for node_id, name in named.items():
        if name in known:
            yield from _input_shape(state.nodes[node_id], flow, known[name])
    missing = [(i, name) for i, name in named.items() if name not in known]
    yield from _by_name("input", list(named.values()), missing, list(known))


def _input_shape(node: CanvasNode, flow: Flow, given: Shape | None) -> Iterator[Problem]:
    shape, layer = flow.shape(node.id), layer_at(node)
    stated = layer.shape if isinstance(layer, Input) else shape or ()
    if shape is not None and given is not None and shape != given:
        yield Problem(
            "data.input_shape", "error", node.id,
            f"the data has samples {shape_text(given)}, the input takes {shape_text(stated)}",
            "give the Input layer the shape of the data",
        )  # fmt: skip


def _compared(state: DocumentState, resolved: Resolved) -> list[tuple[Port, str]]:
    """Outputs, with their names, that need targets: those with a loss or metrics of their own."""
    settings, names = training_of(state), output_names(state)
    named = zip(resolved.outputs, names, strict=True)
    if len(names) == 1:
        return list(named)
    return [
        (port, name)
        for port, name in named
        if not settings.has_no_loss(name) or settings.measures(name)
    ]


def _named_outputs(state: DocumentState, resolved: Resolved, facts: DataFacts) -> Iterator[Problem]:
    needed = _compared(state, resolved)
    missing = [(port.node, name) for port, name in needed if facts.target_of(name) is None]
    names = output_names(state)
    yield from _by_name("output", names, missing, [each.name for each in facts.outputs])


def _by_name(
    side: str, names: Sequence[str], missing: Sequence[tuple[str, str]], known: Sequence[str]
) -> Iterator[Problem]:
    """Inputs or outputs without an array; where each has one, arrays that none of them takes.

    Args:
        side: ``input`` or ``output``.
        names: what they are called.
        missing: layers and names of those without an array.
        known: names the data has arrays for.
    """
    array = "array" if side == "input" else "targets"
    for node_id, name in missing:
        yield Problem(
            f"data.no_{'input' if side == 'input' else 'target'}_array", "error", node_id,
            f"the data has no {array} for the {side} {name}",
            f"map an array to {name} in the data pane",
        )  # fmt: skip
    unknown = [name for name in known if name not in names]
    if unknown and names and not missing:
        yield Problem(
            f"data.unknown_{side}", "error", "",
            f"the data has {array} for {unknown[0]}, which is no {side} of the network",
            f"the {side}s are {', '.join(names)}",
        )  # fmt: skip


def output_problems(
    state: DocumentState, resolved: Resolved, flow: Flow, facts: DataFacts
) -> Iterator[Problem]:
    """Whether each output, its loss and its metrics fit the targets and each other."""
    names, settings = output_names(state), training_of(state)
    try:
        settings.require_outputs(names)
    except CompileError as error:
        yield Problem(
            "training.outputs", "error", "", error.message,
            error.hint or "name an output of the network",
        )  # fmt: skip
        return
    if names and all(settings.has_no_loss(name) for name in names):
        yield Problem(
            "training.no_loss", "error", resolved.outputs[0].node,
            f"{'no output' if len(names) > 1 else f'the output {names[0]}'} has a loss",
            "choose a loss for one output in the inspector",
        )  # fmt: skip
    compared = _compared(state, resolved)
    if missing_settings(settings) or (len(compared) > 1 and not facts.outputs):
        return
    for port, name in compared:
        node_id, target, shape = port.node, facts.target_of(name), flow.shape(port)
        if target is None or target.shape is None or shape is None:
            continue
        layer, chosen = layer_at(state.nodes[node_id]), settings.loss_of(name)
        loss = chosen or fitting_loss(layer, shape, target.classes > 0)
        metrics = settings.metrics_of(name)
        if metrics is None:
            metrics = () if settings.has_no_loss(name) else _default_metrics(target)
        metrics = (*metrics, *settings.weighted_metrics_of(name))
        end = _TrainedOutput(
            node_id, layer, shape, loss, chosen is not None, metrics, target, target.shape
        )
        for problem in _of_output(end):
            said = problem.message
            yield replace(problem, message=f"output {name}: {said}") if len(names) > 1 else problem
    yield from _class_weight_problems(settings, resolved, names, facts)


def _of_output(end: _TrainedOutput) -> Iterator[Problem]:
    sized = list(_class_sizes(end) if end.target.classes else _target_sizes(end))
    yield from sized
    if any(problem.severity == "error" for problem in sized):
        return
    yield from _loss_problems(end)
    yield from _metric_problems(end)


def _class_weight_problems(
    settings: TrainingSettings, resolved: Resolved, names: Sequence[str], facts: DataFacts
) -> Iterator[Problem]:
    """Whether class weights are for outputs with classes, and say which where there are several."""
    if settings.class_weights is None:
        return
    several, targets = len(names) > 1, [facts.target_of(name) for name in names]
    if several and not settings.has_class_tables:
        if settings.class_weights != "balanced":
            yield Problem(
                "training.class_weights_for", "error", "",
                "class weights by class need the output they are for",
                "set the class weights of each output",
            )  # fmt: skip
        elif not any(each is not None and each.classes for each in targets):
            yield _no_classes("", "the data has numbers as targets")
        return
    for port, name, target in zip(resolved.outputs, names, targets, strict=True):
        if settings.class_weights_of(name) is None or target is None or target.classes:
            continue
        if several:
            yield _no_classes(port.node, f"the output {name} has numbers as targets")
        else:
            yield _no_classes("", "the data has numbers as targets")


def _no_classes(node_id: str, reason: str) -> Problem:
    return Problem(
        "training.class_weights", "error", node_id, f"class weights need classes, {reason}",
        "remove the class weights",
    )  # fmt: skip


def _class_sizes(end: _TrainedOutput) -> Iterator[Problem]:
    classes, shown = end.target.classes, shape_text(end.shape)
    if end.shape[:-1] != end.wanted or not end.shape:
        wanted = (
            f"expected one number for each of {classes} classes" if not end.wanted else
            f"expected {shape_text((*end.wanted, classes))} for {classes} classes at each "
            "position"
        )  # fmt: skip
        yield Problem(
            "output.rank", "error", end.node, f"{wanted}, got {shown}",
            "end with Flatten or pooling, then a Dense layer" if not end.wanted else
            "keep the size of the targets, and end with a channel for each class",
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
        f"give the last layer {end.target.classes} units",
    )  # fmt: skip


def _target_sizes(end: _TrainedOutput) -> Iterator[Problem]:
    wanted = end.wanted
    if end.shape == wanted:
        return
    if len(wanted) == 1:
        count = f"{end.target.width} number{'' if end.target.width == 1 else 's'}"
        units = f"give the last layer {end.target.width} unit{'s'[: end.target.width != 1]}"
        flat = "end with Flatten or pooling, then a Dense layer"
        yield Problem(
            "output.targets", "error", end.node,
            f"expected {shape_text(wanted)} as the data has {count} to predict, got "
            f"{shape_text(end.shape)}",
            flat if len(end.shape) != 1 else units,
        )  # fmt: skip
    else:
        yield Problem(
            "output.targets", "error", end.node,
            f"expected {shape_text(wanted)} as the targets are, got {shape_text(end.shape)}",
            "end with layers that give the shape of the targets",
        )  # fmt: skip


def _loss_problems(end: _TrainedOutput) -> Iterator[Problem]:
    if end.function == "softmax" and end.width == 1:
        yield Problem(
            "output.softmax_of_one", "warning", end.node,
            "softmax of a single value is always 1", "use sigmoid, or one output per class",
        )  # fmt: skip
        return
    if end.loss.needs_classes and not end.target.classes:
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
    for metric in end.metrics:
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
                "choose other metrics, or leave them out",
            )  # fmt: skip


def _counting_problems(
    end: _TrainedOutput, metric: CountedMetric, reason: str
) -> Iterator[Problem]:
    if reason:
        yield Problem("metrics.form", "error", end.node, f"{metric.label} {reason}", metric.hint)


def _default_metrics(target: TargetFacts) -> tuple[Metric, ...]:
    return (Metric.resolve("accuracy"),) if target.classes else ()
