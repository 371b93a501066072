"""The training settings of a project: typed, ranged, and plain data in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import TypeAlias, TypeVar, cast

from studio.engine.compiler.lower import is_by_output, require_outputs
from studio.engine.core import renamed
from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.kinds import FamilyKinds, SettingsKinds
from studio.engine.core.options import Option, Plain, choice, flag, integer, number, spec
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import Adam, Optimizer
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.callbacks.early_stopping import EarlyStopping
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint

ClassWeights: TypeAlias = "str | Mapping[str | int, float]"
"""``balanced``, or a weight by class."""
MetricTuple: TypeAlias = tuple[Metric, ...]

T = TypeVar("T")

MAX_EPOCHS = 1_000_000
MAX_BATCH = 1 << 20
MAX_METRICS = 16
MAX_CALLBACKS = 16
MAX_OUTPUTS = 64
MAX_LOSS_WEIGHT = 1e30

DEFAULT_OPTIMIZER: Optimizer = Adam()
NO_METRICS: MetricTuple | dict[str, MetricTuple] = ()
NO_CALLBACKS: tuple[ProjectCallback, ...] = ()


def _by_output(
    value: object, name: str, who: str, read: Callable[[object, str], T]
) -> dict[str, T]:
    """An object by output name, each value read; errors name the output."""
    table = _mapping(value, name, who)
    if not 0 < len(table) <= MAX_OUTPUTS:
        raise ParameterError(
            f"{name}: expected an object of 1 to {MAX_OUTPUTS} output names, got {len(table)}",
            who=who,
        )
    made = {}
    for output, each in table.items():
        try:
            made[output] = read(each, who)
        except ParameterError as error:
            error.who = f"{name} of the output {quoted(output)}"
            raise
    return made


def _read_loss(value: object, who: str) -> Loss | dict[str, Loss | None]:
    if is_by_output(value):
        return _by_output(value, "loss", who, _read_loss_or_none)
    return Loss.resolve(value)


def _read_loss_or_none(value: object, _: str) -> Loss | None:
    return None if value is None else Loss.resolve(value)


def _write_loss(value: Loss | Mapping[str, Loss | None] | None) -> Plain:
    if isinstance(value, Mapping):
        return {name: None if loss is None else _short(loss) for name, loss in value.items()}
    return None if value is None else _short(value)


def _read_loss_weights(value: object, who: str) -> dict[str, float]:
    return _by_output(value, "loss_weights", who, _read_loss_weight)


def _read_loss_weight(value: object, who: str) -> float:
    found = value if isinstance(value, int | float) and not isinstance(value, bool) else nan
    if not abs(found) <= MAX_LOSS_WEIGHT:
        raise ParameterError(
            f"expected a number from {-MAX_LOSS_WEIGHT:g} to {MAX_LOSS_WEIGHT:g}, got "
            f"{quoted(value)}",
            who=who,
        )
    return float(found)


def _write_loss_weights(value: Mapping[str, float] | None) -> Plain:
    return None if value is None else dict(value)


def _read_optimizer(value: object, _: str) -> Optimizer:
    return Optimizer.resolve(value)


def _read_metrics(value: object, who: str) -> MetricTuple | dict[str, MetricTuple]:
    if isinstance(value, Mapping):
        return _by_output(value, "metrics", who, _read_metric_list)
    return _read_metric_list(value, who)


def _read_weighted_metrics(value: object, who: str) -> MetricTuple | dict[str, MetricTuple]:
    if isinstance(value, Mapping):
        return _by_output(value, "weighted_metrics", who, _read_metric_list)
    return _read_metric_list(value, who)


def _read_metric_list(value: object, who: str) -> MetricTuple:
    found = tuple(Metric.resolve(v) for v in _listed(value, "metrics", who, MAX_METRICS))
    labels = [m.label for m in found]
    twice = next((name for name in labels if labels.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"metrics: {twice} is given twice", who=who)
    return found


def _write_metrics(value: MetricTuple | Mapping[str, MetricTuple] | None) -> Plain:
    if isinstance(value, Mapping):
        return {output: _write_metrics(metrics) for output, metrics in value.items()}
    return None if value is None else [_short(metric) for metric in value]


def _read_callbacks(value: object, who: str) -> tuple[ProjectCallback, ...]:
    listed = _listed(value, "callbacks", who, MAX_CALLBACKS)
    return tuple(ProjectCallback.resolve(v) for v in listed)


def _write_callbacks(value: tuple[ProjectCallback, ...]) -> Plain:
    return [callback.to_json() for callback in value]


def _listed(value: object, name: str, who: str, most: int) -> list[object]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise ParameterError(
            f"{name}: expected a list of at most {most}, got {quoted(value)}", who=who
        )
    return list(value)


def _short(value: Configured) -> Plain:
    """The name alone where every option is default."""
    written = value.to_json()
    return written if written["config"] else written["type"]


def _read_early_stopping(value: object, who: str) -> EarlyStopping:
    if isinstance(value, EarlyStopping):
        return value
    return EarlyStopping.from_config(_mapping(value, "early_stopping", who))


def _write_early_stopping(value: EarlyStopping | None) -> Plain:
    return None if value is None else value.config()


def _read_checkpoints(value: object, who: str) -> ModelCheckpoint:
    if isinstance(value, ModelCheckpoint):
        return value
    return ModelCheckpoint.from_config(_mapping(value, "checkpoints", who))


def _write_checkpoints(value: ModelCheckpoint) -> Plain:
    return value.config()


def _mapping(value: object, name: str, who: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"{name}: expected an object, got {quoted(value)}", who=who)
    return value


def _read_class_weights(value: object, who: str) -> ClassWeights | dict[str, ClassWeights]:
    if isinstance(value, Mapping) and any(isinstance(v, str | Mapping) for v in value.values()):
        return _by_output(value, "class_weights", who, _read_class_table)
    return _read_class_table(value, who)


def _read_class_table(value: object, who: str) -> ClassWeights:
    if value == "balanced":
        return "balanced"
    table = value if isinstance(value, Mapping) else {}
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in table.values())
    if not table or not numbers or not all(isinstance(k, str | int) for k in table):
        raise ParameterError(
            "class_weights: expected 'balanced', or an object of class names and weights, got "
            f"{quoted(value)}",
            who=who,
        )
    return {cast("str | int", key): float(v) for key, v in table.items()}


def _write_class_weights(value: ClassWeights | Mapping[str, ClassWeights] | None) -> Plain:
    if value is None or isinstance(value, str):
        return value
    return {
        str(key): each if isinstance(each, int | float) else _write_class_weights(each)
        for key, each in value.items()
    }


class TrainingSettings(Configured, family="training settings"):
    """How a network is trained. What is left out takes its default.

    ``loss`` and ``metrics`` that are not given follow the data: cross-entropy and accuracy for
    classes, squared error for numbers. Both may be objects by output name, where an output that is
    left out follows the data, and one whose loss is None is trained by no loss. The learning rate,
    or its schedule, is the optimiser's.
    """

    epochs = integer(
        "Passes over the training part.", 10, low=1, high=MAX_EPOCHS,
        effect="More epochs train longer; the plots show when the loss stops improving.",
        group="Training",
    )  # fmt: skip
    batch_size = integer(
        "Samples per step.", 32, low=1, high=MAX_BATCH, steps="powers",
        effect="Larger batches use the device better and give fewer, less noisy steps.",
        group="Training",
    )  # fmt: skip
    seed = integer(
        "Seed of initial weights, shuffling, dropout and augmentation.", 0, low=0,
        effect="The same seed gives the same training.", group="Training",
    )  # fmt: skip
    shuffle = flag(
        "Shuffle the samples in each epoch.", True,
        effect="Turn it off only if the order of the data matters.", group="Training",
    )  # fmt: skip
    optimizer: Option[Optimizer] = spec(
        "Optimiser with its learning rate.", DEFAULT_OPTIMIZER, _read_optimizer, _short,
        label="Optimiser", kinds=FamilyKinds(Optimizer), group="Optimiser",
    )  # fmt: skip
    loss = spec(
        "Loss; chosen by the data if not set.", None, _read_loss, _write_loss, optional=True,
        kinds=FamilyKinds(Loss, none="by the data"), group="Loss and metrics",
    )  # fmt: skip
    metrics = spec(
        "Metrics; chosen by the data if not set.",
        None, _read_metrics, _write_metrics, optional=True,
        editor="list", kinds=FamilyKinds(Metric), group="Loss and metrics",
    )  # fmt: skip
    weighted_metrics: Option[MetricTuple | dict[str, MetricTuple]] = spec(
        "Metrics that count sample and class weights.",
        NO_METRICS, _read_weighted_metrics, _write_metrics, editor="list",
        kinds=FamilyKinds(Metric), group="Loss and metrics",
    )  # fmt: skip
    loss_weights = spec(
        "Factor of each output's loss in the total, by output name; 1 for those left out.",
        None, _read_loss_weights, _write_loss_weights, optional=True, editor="weights",
        group="Loss and metrics",
    )  # fmt: skip
    validation = choice(
        "Data to validate on after each epoch: the held-out part, the last or a "
        "random fraction of the training part, or none.",
        "held-out", "tail", "random", "none", effect="Validation shows overfitting.",
        group="Validation",
    )  # fmt: skip
    validation_fraction = number(
        "Fraction for tail and random.", 0.1, low=1e-6, high=0.999999, label="Validation fraction",
        group="Validation",
    )  # fmt: skip
    class_weights = spec(
        "Class weights: balanced, or by name.", None, _read_class_weights,
        _write_class_weights, optional=True, editor="weights",
        group="Loss and metrics",
    )  # fmt: skip
    early_stopping = spec(
        "Options of EarlyStopping, or null.", None, _read_early_stopping, _write_early_stopping,
        optional=True, kinds=SettingsKinds(EarlyStopping, none="off"), group="Stopping",
    )  # fmt: skip
    begin_with = choice(
        "Weights that a training begins with: fresh ones, or those imported last with the state "
        "of their optimiser. Layers they have nothing for begin with fresh ones.",
        "fresh", "imported", effect="Imported weights need far less training.",
        label="Begin with", group="Training",
    )  # fmt: skip
    stop_on_nan = flag(
        "Stop if the loss is NaN or infinite, and find the layer it came from.", True,
        label="Stop on NaN", group="Stopping",
    )  # fmt: skip
    callbacks = spec(
        "Further callbacks.", NO_CALLBACKS, _read_callbacks, _write_callbacks, editor="list",
        kinds=FamilyKinds(ProjectCallback), group="Stopping",
    )  # fmt: skip
    checkpoints = spec(
        "Options of ModelCheckpoint.", ModelCheckpoint(), _read_checkpoints, _write_checkpoints,
        kinds=SettingsKinds(ModelCheckpoint), group="Checkpoints",
    )  # fmt: skip
    level = integer(
        "Optimisation level of the compiler, 0 to 2.", 2, low=0, high=2, label="Optimisation",
        effect="Level 0 runs all instructions as lowered; level 2 is fastest.",
        group="Program",
    )  # fmt: skip
    data_budget = integer(
        "Device memory for the training data in MiB; larger data is streamed in shards.",
        1024, low=1,
        label="Data memory", steps="powers",
        effect="Less leaves more memory to the network.",
        group="Program",
    )  # fmt: skip

    def plain(self) -> dict[str, Plain]:
        """The settings for a file: those that are not default, and always the first few."""
        always: dict[str, Plain] = {
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "optimizer": _short(self.optimizer),
        }
        return {**always, **self.config()}

    @property
    def is_by_output(self) -> bool:
        """Whether loss, metrics or loss weights are given by output name."""
        given = (self.loss, self.metrics, self.weighted_metrics, self.loss_weights)
        return self.has_class_tables or any(isinstance(each, Mapping) for each in given)

    @property
    def has_class_tables(self) -> bool:
        """Whether class weights are given by output name."""
        table = self.class_weights
        values = table.values() if isinstance(table, Mapping) else ()
        return any(isinstance(each, str | Mapping) for each in values)

    def class_weights_of(self, output: str) -> ClassWeights | None:
        """The class weights of an output; those given for all are the same object."""
        table = self.class_weights
        if self.has_class_tables and isinstance(table, Mapping):
            return cast("ClassWeights | None", table.get(output))
        return cast("ClassWeights | None", table)

    def loss_of(self, output: str) -> Loss | None:
        """The loss of an output; None where the data chooses it, and for none."""
        return self.loss.get(output) if isinstance(self.loss, Mapping) else self.loss

    def has_no_loss(self, output: str) -> bool:
        """Whether an output is trained by no loss."""
        return isinstance(self.loss, Mapping) and self.loss.get(output, ...) is None

    def metrics_of(self, output: str) -> MetricTuple | None:
        """The metrics of an output; None where the data chooses them."""
        return self.metrics.get(output) if isinstance(self.metrics, Mapping) else self.metrics

    def weighted_metrics_of(self, output: str) -> MetricTuple:
        """The metrics of an output that count sample and class weights."""
        given = self.weighted_metrics
        return given.get(output, ()) if isinstance(given, Mapping) else given

    def measures(self, output: str) -> bool:
        """Whether metrics are given for an output by its name, which then needs targets."""
        tables = (self.metrics, self.weighted_metrics)
        return any(isinstance(each, Mapping) and bool(each.get(output)) for each in tables)

    def require_outputs(self, outputs: Sequence[str]) -> None:
        """CompileError where an object by output name has a name that is none of ``outputs``."""
        for what in ("loss", "metrics", "weighted_metrics", "loss_weights"):
            given = self.option_values[what]
            if isinstance(given, Mapping):
                require_outputs(given, outputs, what)
        if self.has_class_tables and isinstance(self.class_weights, Mapping):
            table = {str(name): each for name, each in self.class_weights.items()}
            require_outputs(table, outputs, "class_weights")

    @property
    def who(self) -> str:
        """How errors name this."""
        return "training"


def __getattr__(name: str) -> object:
    """Names that this module had before."""
    if name == "CALLBACKS":
        renamed.warn(f"{__name__}.{name}")
        return tuple(ProjectCallback.members.values())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
