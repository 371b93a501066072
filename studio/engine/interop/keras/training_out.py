"""How a model is trained, as Keras writes it: ``compile_config`` and ``training_config``.

Options that are default are left out, as for layers. What Keras has no class or option for is
refused by name: a file that trains on in another way would not say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from studio.engine.compiler.lower import Objective
from studio.engine.core.configured import Configured
from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.dialect_out import Dialect
from studio.engine.optim import intersection, losses, metrics, optimizers, schedules
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Rate, Schedule

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

HINT = "choose what Keras has too, or export weights (keras-weights)"

_OPTIMIZERS = (
    optimizers.SGD, optimizers.RMSprop, optimizers.Adam, optimizers.AdamW, optimizers.Adagrad,
    optimizers.Adadelta, optimizers.Adamax,
)  # fmt: skip
_LOSSES = (
    losses.CategoricalCrossentropy, losses.SparseCategoricalCrossentropy,
    losses.BinaryCrossentropy, losses.MeanSquaredError, losses.MeanAbsoluteError,
)  # fmt: skip
_METRICS = frozenset(
    {
        "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "SparseCategoricalAccuracy",
        "MeanSquaredError", "MeanAbsoluteError", "AUC", "BinaryIoU", "MeanIoU", "Precision",
        "Recall", "F1Score", "R2Score",
    }
)  # fmt: skip
_SCHEDULES = (
    schedules.ExponentialDecay, schedules.InverseTimeDecay, schedules.PolynomialDecay,
    schedules.CosineDecay, schedules.CosineDecayRestarts, schedules.PiecewiseConstantDecay,
)  # fmt: skip
_OWN_OPTIONS = frozenset(
    {
        "shrink", "form", "epsilon_outside", "epsilon_at", "previous_mean", "sum_gradient",
        "sum_halves",
    }
)  # fmt: skip
"""Options that Keras' classes of the same name have not."""

_WORDS = {
    "CategoricalCrossentropy": "categorical_crossentropy",
    "SparseCategoricalCrossentropy": "sparse_categorical_crossentropy",
    "BinaryCrossentropy": "binary_crossentropy",
    "MeanSquaredError": "mean_squared_error",
    "MeanAbsoluteError": "mean_absolute_error",
    "BinaryAccuracy": "binary_accuracy",
    "CategoricalAccuracy": "categorical_accuracy",
    "SparseCategoricalAccuracy": "sparse_categorical_accuracy",
}
"""Losses and metrics that Keras 2, Keras 3 and TensorFlow.js know by one word."""


class TrainingForm:
    """The training of a model as the JSON of a dialect.

    Args:
        model: the model it is of.
        optimizer: updates its weights.
        objective: what its outputs are compared by.
        dialect: of the file.

    Raises:
        FormatError: Keras has no such optimiser, schedule, loss, metric or option.
    """

    def __init__(
        self, model: KerasModel, optimizer: Optimizer, objective: Objective, dialect: Dialect
    ) -> None:
        self._dialect = dialect
        self.optimizer = self._optimizer(optimizer)
        several = len(model.outputs) > 1
        found = [None if one is None else self._loss(one) for one in objective.losses]
        self.loss: JsonValue = [*found] if several else found[0]
        self.loss_weights: JsonValue = [*objective.weights] if objective.weights else None
        self.metrics = self._by_output(model, objective, objective.metrics)
        self.weighted_metrics = self._by_output(model, objective, objective.weighted)

    def to_json(self) -> dict[str, JsonValue]:
        """``compile_config`` of Keras 3, or ``training_config`` of Keras 2."""
        named: dict[str, JsonValue] = {
            "loss": self.loss,
            "loss_weights": self.loss_weights,
            "metrics": self.metrics,
            "weighted_metrics": self.weighted_metrics,
        }
        if self._dialect == "keras2":
            return {**named, "optimizer_config": self.optimizer}
        return {"optimizer": self.optimizer, **named}

    def _optimizer(self, optimizer: Optimizer) -> JsonValue:
        if type(optimizer) not in _OPTIMIZERS:
            raise _lacks("optimiser", type(optimizer).__name__)
        config = _config(optimizer, unused=() if _uses_form(optimizer) else ("form",))
        config["learning_rate"] = self._rate(optimizer.learning_rate)
        return self._object("keras.optimizers", type(optimizer).__name__, config)

    def _rate(self, rate: Rate) -> JsonValue:
        found = keras_schedule(rate) if isinstance(rate, Schedule) else rate
        if not isinstance(found, Schedule):
            return found
        # Keras 3 finds schedules by their module, in the older form too.
        return {
            "module": "keras.optimizers.schedules",
            "class_name": type(found).__name__,
            "config": dict(found.config()),
            "registered_name": None,
        }

    def _loss(self, loss: Loss) -> JsonValue:
        if type(loss) not in _LOSSES:
            raise _lacks("loss", type(loss).__name__)
        return self._worded("keras.losses", type(loss).__name__, _config(loss))

    def _by_output(
        self,
        model: KerasModel,
        objective: Objective,
        chosen: Sequence[Sequence[Metric]],
    ) -> JsonValue:
        """Metrics of the only output, or a list for each; None where there are none at all."""
        if not any(chosen):
            return None
        widths = output_widths(model)
        made: list[JsonValue] = [
            [self._metric(each, width, loss) for each in own]
            for own, width, loss in zip(chosen, widths, objective.losses, strict=True)
        ]
        return made if len(made) > 1 else made[0]

    def _metric(self, metric: Metric, width: int, loss: Loss | None) -> JsonValue:
        name = type(metric).__name__
        if name not in _METRICS or not type(metric).__module__.startswith("studio.engine.optim."):
            raise _lacks("metric", name)
        config = _config(metric)
        if isinstance(metric, intersection.MeanIoU):
            # Here it takes what the output gives; Keras' takes classes unless told.
            config |= {"num_classes": metric.num_classes or width, "sparse_y_pred": False}
            if loss is not None and not loss.indices:
                config["sparse_y_true"] = False
        if isinstance(metric, metrics.Accuracy):
            return "accuracy"
        return self._worded("keras.metrics", name, config)

    def _worded(self, module: str, name: str, config: dict[str, JsonValue]) -> JsonValue:
        """The word that every version knows, where all options are default; else the object."""
        if not config and name in _WORDS:
            return _WORDS[name]
        return self._object(module, name, config)

    def _object(self, module: str, name: str, config: dict[str, JsonValue]) -> JsonValue:
        made: dict[str, JsonValue] = {"class_name": name, "config": config}
        if self._dialect == "keras2":
            return made
        return {"module": module, **made, "registered_name": None}


def keras_schedule(schedule: Schedule) -> Rate:
    """The same rates by a schedule that Keras has, or by a number.

    Raises:
        FormatError: Keras has none.
    """
    if isinstance(schedule, schedules.Constant):
        return schedule.learning_rate
    if isinstance(schedule, schedules.StepDecay):
        return schedules.ExponentialDecay(**schedule.option_values, staircase=True)
    if isinstance(schedule, schedules.WarmUp):
        after = schedule.after
        after = keras_schedule(after) if isinstance(after, Schedule) else after
        if not isinstance(after, Schedule):
            return schedules.PolynomialDecay(
                initial_learning_rate=schedule.start,
                decay_steps=schedule.warmup_steps,
                end_learning_rate=after,
            )
        if isinstance(after, schedules.CosineDecay) and after.warmup_target is None:
            return after.replace(
                initial_learning_rate=schedule.start,
                warmup_target=after.initial_learning_rate,
                warmup_steps=schedule.warmup_steps,
            )
        raise FormatError(
            f"Keras has no warm-up before {type(after).__name__}", who="training",
            hint="choose CosineDecay with a warm-up, or export weights (keras-weights)",
        )  # fmt: skip
    if type(schedule) not in _SCHEDULES:
        raise _lacks("schedule", type(schedule).__name__)
    return schedule


def output_widths(model: KerasModel) -> list[int]:
    """Length of the last dimension of each output, 0 where it may be any."""
    layers = {layer.name: layer for layer in model.layers}
    found = (layers[port.layer].gives[port.call][port.output] for port in model.outputs)
    return [each.shape[-1] or 0 for each in found]


def _uses_form(optimizer: Optimizer) -> bool:
    """Whether the form of the momentum says anything: only of one that is not 0."""
    return not isinstance(optimizer, optimizers.SGD) or optimizer.momentum != 0.0


def _config(configured: Configured, unused: Sequence[str] = ()) -> dict[str, JsonValue]:
    """Options that are not default, without the name; FormatError for one that is our own."""
    config: dict[str, JsonValue] = {}
    given: Mapping[str, JsonValue] = configured.plain_options()
    for name, value in given.items():
        if name in unused:
            continue
        if name in _OWN_OPTIONS:
            raise FormatError(
                f"Keras' {type(configured).__name__} has no option {name}, here {quoted(value)}",
                who="training",
                hint=HINT,
            )
        config[name] = value
    return config


def _lacks(what: str, name: str) -> StudioError:
    return FormatError(f"Keras has no {what} {name}", who="training", hint=HINT)
