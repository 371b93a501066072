"""The training settings of a project: typed, ranged, and plain data in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

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

MAX_EPOCHS = 1_000_000
MAX_BATCH = 1 << 20
MAX_METRICS = 16
MAX_CALLBACKS = 16

DEFAULT_OPTIMIZER: Optimizer = Adam()
NO_CALLBACKS: tuple[ProjectCallback, ...] = ()


def _read_loss(value: object, _: str) -> Loss:
    return Loss.resolve(value)


def _write_loss(value: Loss | None) -> Plain:
    return None if value is None else _short(value)


def _read_optimizer(value: object, _: str) -> Optimizer:
    return Optimizer.resolve(value)


def _read_metrics(value: object, who: str) -> tuple[Metric, ...]:
    found = tuple(Metric.resolve(v) for v in _listed(value, "metrics", who, MAX_METRICS))
    labels = [m.label for m in found]
    twice = next((name for name in labels if labels.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"metrics: {twice} is given twice", who=who)
    return found


def _write_metrics(value: tuple[Metric, ...] | None) -> Plain:
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


def _read_class_weights(value: object, who: str) -> ClassWeights:
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


def _write_class_weights(value: ClassWeights | None) -> Plain:
    if value is None or isinstance(value, str):
        return value
    return {str(key): weight for key, weight in value.items()}


class TrainingSettings(Configured, family="training settings"):
    """How a network is trained. What is left out takes its default.

    ``loss`` and ``metrics`` that are not given follow the data: cross-entropy and accuracy for
    classes, squared error for numbers. The learning rate, or its schedule, is the optimiser's.
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
    def who(self) -> str:
        """How errors name this."""
        return "training"


def __getattr__(name: str) -> object:
    """Names that this module had before."""
    if name == "CALLBACKS":
        renamed.warn(f"{__name__}.{name}")
        return tuple(ProjectCallback.members.values())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
