"""How a Keras model was compiled: optimiser, losses and metrics, as settings here.

What is not here is no error, since the network is whole without it: it is left out, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.interop.imported import ImportedTraining
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.layers_in import short_number
from studio.engine.optim.auc import AUC
from studio.engine.optim.intersection import BinaryIoU, MeanIoU
from studio.engine.optim.losses import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    Loss,
    MeanAbsoluteError,
    MeanSquaredError,
    SparseCategoricalCrossentropy,
)
from studio.engine.optim.metrics import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    Metric,
    SparseCategoricalAccuracy,
)
from studio.engine.optim.metrics import MeanAbsoluteError as AbsoluteErrorMetric
from studio.engine.optim.metrics import MeanSquaredError as SquaredErrorMetric
from studio.engine.optim.optimizers import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Optimizer,
    RMSprop,
)
from studio.engine.optim.precision_recall import F1Score, Precision, Recall
from studio.engine.optim.r2_score import R2Score
from studio.engine.optim.schedules import (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
    Schedule,
)

if TYPE_CHECKING:
    from studio.engine.core.options import Plain
    from studio.engine.formats.safe_json import JsonValue

    Config = dict[str, JsonValue]

T = TypeVar("T")
C = TypeVar("C", bound=Configured)

_ANY = object()
_OPTIMIZERS: Mapping[str, type[Optimizer]] = {
    each.__name__.lower(): each for each in (SGD, RMSprop, Adam, AdamW, Adagrad, Adadelta, Adamax)
}
_SCHEDULES: Mapping[str, type[Schedule]] = {
    each.__name__: each
    for each in (
        ExponentialDecay, InverseTimeDecay, PolynomialDecay, CosineDecay, CosineDecayRestarts,
        PiecewiseConstantDecay,
    )
}  # fmt: skip
_LOSSES: Mapping[str, type[Loss]] = {
    "CategoricalCrossentropy": CategoricalCrossentropy,
    "SparseCategoricalCrossentropy": SparseCategoricalCrossentropy,
    "BinaryCrossentropy": BinaryCrossentropy,
    "MeanSquaredError": MeanSquaredError,
    "MeanAbsoluteError": MeanAbsoluteError,
}
_METRICS: Mapping[str, type[Metric]] = {
    **{
        each.__name__: each
        for each in (
            Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy, AUC,
            Precision, Recall, F1Score, R2Score, MeanIoU, BinaryIoU,
        )
    },
    "MeanSquaredError": SquaredErrorMetric,
    "MeanAbsoluteError": AbsoluteErrorMetric,
}  # fmt: skip
_WORDS = {
    "categorical_crossentropy": "CategoricalCrossentropy",
    "sparse_categorical_crossentropy": "SparseCategoricalCrossentropy",
    "binary_crossentropy": "BinaryCrossentropy",
    "mse": "MeanSquaredError", "mean_squared_error": "MeanSquaredError",
    "mae": "MeanAbsoluteError", "mean_absolute_error": "MeanAbsoluteError",
    "accuracy": "Accuracy", "acc": "Accuracy", "binary_accuracy": "BinaryAccuracy",
    "categorical_accuracy": "CategoricalAccuracy",
    "sparse_categorical_accuracy": "SparseCategoricalAccuracy",
    "auc": "AUC",
}  # fmt: skip
"""What Keras calls a loss or metric where it names it by a word."""

_SPELLED = {
    "lr": "learning_rate", "learningRate": "learning_rate", "beta1": "beta_1", "beta2": "beta_2",
    "useNesterov": "nesterov", "initialAccumulatorValue": "initial_accumulator_value",
}  # fmt: skip
"""Options of optimisers as old files and TensorFlow.js spell them."""

_WITHOUT_MEANING: Mapping[str, tuple[object, ...]] = {
    "use_ema": (None, False),
    **dict.fromkeys(
        ("loss_scale_factor", "gradient_accumulation_steps", "num_labels", "label_weights",
         "top_k"),
        (None,),
    ),
    "decay": (None, 0, 0.0),
    "reduction": ("sum_over_batch_size", "auto", "mean_with_sample_weight", "mean"),
    "axis": (-1,),
    **dict.fromkeys(
        ("name", "dtype", "fn", "ema_momentum", "ema_overwrite_frequency", "jit_compile",
         "is_legacy_optimizer"),
        (_ANY,),
    ),
}  # fmt: skip
"""Options that change nothing here, with the values for which that is so."""


def training_from_keras(
    config: JsonValue, model: KerasModel, outputs: Sequence[str]
) -> tuple[ImportedTraining | None, list[str]]:
    """How a model was compiled, and what of that is left out, one sentence each.

    Args:
        config: ``compile_config`` or ``training_config``; None where the file has none.
        model: the model.
        outputs: names of its outputs here, in order.
    """
    if config is None:
        return None, []
    if not isinstance(config, dict):
        return None, [f"how the model was compiled: expected an object, got {quoted(config)}"]
    names = [tensor.layer for tensor in model.outputs]
    reader = _Reader(names, outputs)
    chosen = config.get("optimizer", config.get("optimizer_config"))
    optimizer = reader.one("the optimiser", _optimizer, chosen)
    given = config.get("loss")
    losses = reader.by_output("loss", given, is_list=isinstance(given, list))
    loss: dict[str, Plain] = {}
    for output, each in losses.items():
        found = reader.one(f"the loss of the output {quoted(output)}", _loss, each)
        if each is None or found is not None:
            loss[output] = None if found is None else found.to_json()
    weights = config.get("loss_weights")
    loss_weights: dict[str, float] = {}
    for output, each in reader.by_output(
        "loss_weights", weights, is_list=isinstance(weights, list)
    ).items():
        number = reader.one(f"the weight of the loss of {quoted(output)}", _number, each)
        if number is not None:
            loss_weights[output] = number
    training = ImportedTraining(
        optimizer,
        loss,
        loss_weights,
        reader.metrics(config.get("metrics"), "metric"),
        reader.metrics(config.get("weighted_metrics"), "weighted metric"),
    )
    return training, reader.left_out


@dataclass
class _Reader:
    """Reads settings by output; what cannot be read is noted."""

    names: Sequence[str]
    outputs: Sequence[str]
    left_out: list[str] = field(default_factory=list)

    def one(self, what: str, read: Callable[[JsonValue], T], value: JsonValue) -> T | None:
        """What ``read`` makes of a value; None for none, and where it is not here."""
        if value is None:
            return None
        try:
            return read(value)
        except ParameterError as error:
            self.left_out.append(f"{what}: {error.message}")
            return None

    def by_output(self, what: str, value: JsonValue, *, is_list: bool) -> dict[str, JsonValue]:
        """A value for each output by its name here: of a list, by Keras' names, or one for all."""
        if isinstance(value, dict) and "class_name" not in value:
            found = {}
            for name, each in value.items():
                if name in self.names:
                    found[self.outputs[self.names.index(name)]] = each
                else:
                    self.left_out.append(f"{what} of {quoted(name)}, which is no output")
            return found
        if not is_list or not isinstance(value, list):
            return dict.fromkeys(self.outputs, value)
        if len(value) != len(self.outputs):
            self.left_out.append(
                f"{what}: expected one for each of {len(self.outputs)} outputs, got {len(value)}"
            )
            return {}
        return dict(zip(self.outputs, value, strict=True))

    def metrics(self, value: JsonValue, what: str) -> dict[str, tuple[Plain, ...]]:
        """The metrics of each output."""
        is_list = isinstance(value, list) and (
            any(each is None or isinstance(each, list) for each in value)
            or 1 < len(self.outputs) == len(value)
        )
        found: dict[str, tuple[Plain, ...]] = {}
        for output, given in self.by_output(f"{what}s", value, is_list=is_list).items():
            several = given if isinstance(given, list) else [given]
            made = [
                self.one(f"a {what} of the output {quoted(output)}", _metric, each)
                for each in several
            ]
            # A loss that is asked for as a metric too is measured anyway.
            kept = {metric.label: metric for metric in made if metric is not None}
            if kept:
                found[output] = tuple(metric.to_json() for metric in kept.values())
        return found


def _parts(value: JsonValue, what: str) -> tuple[str, Config]:
    """Class and options of an object, or of a word or function in its place."""
    if isinstance(value, str):
        return _WORDS.get(value, value), {}
    class_name = value.get("class_name") if isinstance(value, dict) else None
    config = value.get("config", {}) if isinstance(value, dict) else None
    if class_name == "function" and isinstance(config, str):
        return _WORDS.get(config, config), {}
    if not isinstance(class_name, str) or not isinstance(config, dict):
        raise ParameterError(f"expected {what}, got {quoted(value)}")
    return class_name, dict(config)


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"expected a number, got {quoted(value)}")
    return float(value)


def _made(cls: type[C], config: Config) -> C:
    """The object with these options; ParameterError where one is not here."""
    known = {option.name for option in cls.options}
    given: dict[str, object] = {}
    for key, value in config.items():
        if key not in known:
            allowed = _WITHOUT_MEANING.get(key, ())
            same = (type(value) is type(each) and value == each for each in allowed)
            if allowed != (_ANY,) and not any(same):
                raise ParameterError(f"{cls.__name__} has no {quoted(key)} = {quoted(value)} here")
        elif value is not None:
            # What is null has its default in Keras, too.
            given[key] = short_number(value)
    return cls(**given)


def _chosen(
    value: JsonValue, what: str, classes: Mapping[str, type[C]], wrapper: str = ""
) -> tuple[type[C], Config]:
    """The class that an object names, and its options.

    Args:
        value: the object.
        what: it is expected to be, with its article.
        classes: those there are here, by Keras' names.
        wrapper: class of Keras' whose option ``fn`` is the object that counts.

    Raises:
        ParameterError: it is of no such class.
    """
    class_name, config = _parts(value, what)
    if class_name == wrapper:
        class_name, _ = _parts(config.pop("fn", None), what)
    found = classes.get(class_name)
    if found is None:
        raise ParameterError(f"{quoted(class_name)[1:-1]} is not here")
    return found, config


def _optimizer(value: JsonValue) -> Optimizer:
    class_name, config = _parts(value, "an optimiser")
    found = _OPTIMIZERS.get(class_name.removeprefix("Custom>").lower())
    if found is None:
        raise ParameterError(f"{quoted(class_name)[1:-1]} is not here")
    config = {_SPELLED.get(key, key): each for key, each in config.items()}
    rate = config.pop("learning_rate", None)
    made = _made(found, config)
    if rate is None:
        return made
    if isinstance(rate, dict):
        return made.replace(learning_rate=_schedule(rate))
    return made.replace(learning_rate=short_number(rate))


def _schedule(value: JsonValue) -> Schedule:
    return _made(*_chosen(value, "a schedule", _SCHEDULES))


def _loss(value: JsonValue) -> Loss:
    return _made(*_chosen(value, "a loss", _LOSSES, "LossFunctionWrapper"))


def _metric(value: JsonValue) -> Metric:
    found, config = _chosen(value, "a metric", _METRICS, "MeanMetricWrapper")
    if found is MeanIoU:
        # Keras takes classes for predictions unless told; here it is what the output gives.
        config.pop("sparse_y_true", None)
        if config.pop("sparse_y_pred", True) is not False:
            raise ParameterError("MeanIoU compares the numbers of the classes here, not classes")
    return _made(found, config)
