"""The base of all callbacks, and what a callback may ask of the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import Plain
from studio.engine.optim.metrics import Metric, metric_logged_as

Array: TypeAlias = npt.NDArray[np.generic]
Weights: TypeAlias = dict[str, Array]
Logs: TypeAlias = Mapping[str, float]


class Training(Protocol):
    """The training as its callbacks see it; all calls happen on the training thread."""

    @property
    def epochs(self) -> int:
        """Epochs in all."""
        ...

    @property
    def learning_rate(self) -> float:
        """Rate of the next step."""
        ...

    def set_learning_rate(self, rate: float) -> None:
        """Use a fixed rate from the next step on."""
        ...

    def stop_training(self, reason: str = "") -> None:
        """End after this epoch."""
        ...

    def read_weights(self) -> Weights:
        """Parameters and running statistics by tensor name, as stored."""
        ...

    def write_weights(self, weights: Mapping[str, Array]) -> None:
        """Put parameters and running statistics back."""
        ...

    def save_checkpoint(self, name: str) -> str:
        """Write a checkpoint into the run's folder; its name, empty without a run."""
        ...

    def remove_checkpoint(self, name: str) -> None:
        """Delete a checkpoint `save_checkpoint` wrote."""
        ...

    def saved_epochs(self) -> tuple[str, ...]:
        """Names of the epoch checkpoints in the run's folder, the first to remove first."""
        ...

    def say(self, text: str) -> None:
        """Tell the user one sentence."""
        ...


class Callback:
    """Called as a network trains; every method may be overridden and does nothing here.

    Epochs count from 0. ``logs`` hold ``loss``, the metrics, their ``val_`` forms where there is
    validation, and ``learning_rate`` at the end of an epoch. Numbers of single steps come back from
    the device a little later, so `on_train_batch_end` is called in order but behind the step.
    """

    training: Training

    def set_training(self, training: Training) -> None:
        """Remember the training; called before `on_train_begin`."""
        self.training = training

    def on_train_begin(self) -> None:
        """Before the first step."""

    def on_train_end(self) -> None:
        """After the last step, also when the training was stopped."""

    def on_epoch_begin(self, epoch: int) -> None:
        """Before the first step of an epoch."""

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """After the validation of an epoch."""

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        """When the numbers of a step have arrived; ``batch`` counts within the epoch."""

    def state(self) -> dict[str, Plain]:
        """What a checkpoint keeps of it, as plain data."""
        return {}

    def arrays(self) -> Weights:
        """Arrays a checkpoint keeps of it."""
        return {}

    def restore(self, state: Mapping[str, object], arrays: Weights) -> None:
        """Take back what `state` and `arrays` gave; called after `on_train_begin`."""


class ProjectCallback(
    Configured, Callback, family="callback", package="studio.engine.train.callbacks"
):
    """A callback that a project file may name: plain options, no code, no paths."""


MODES = ("auto", "min", "max")


def higher_is_better(monitor: str, mode: str) -> bool:
    """Whether larger values of ``monitor`` are better; ``auto`` asks the metric of that name.

    For a name that is no metric's, ``auto`` looks for words such as acc, auc and precision.
    """
    if mode != "auto":
        return mode == "max"
    metric = metric_logged_as(monitor)
    if metric is not None:
        return metric.more_is_better
    return any(mark in monitor for mark in ("acc", "auc", "precision", "recall", "r2"))


def _logged_form(monitor: str) -> str:
    """The name with its metric as logs show it: ``val_mae`` is ``val_mean_absolute_error``."""
    words = monitor.split("_")
    for begin in range(len(words)):
        found = Metric.members.find("_".join(words[begin:]))
        if found is not None and issubclass(found, Metric):
            return "_".join((*words[:begin], found.logged_as()))
    return monitor


def monitored(logs: Logs, monitor: str, who: str) -> float:
    """The value a callback watches; ParameterError with the names there are."""
    value = logs.get(monitor, logs.get(_logged_form(monitor)))
    if value is None:
        raise ParameterError(
            f"monitor: expected one of {', '.join(sorted(logs))}, got {quoted(monitor)}",
            who=who,
            hint="give validation data, or watch 'loss'" if monitor.startswith("val_") else "",
        )
    return value


def number_in(state: Mapping[str, object], name: str, default: float) -> float:
    """A number out of a checkpoint's plain data, ``default`` where it is missing or no number."""
    value = state.get(name)
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default
    )
