"""Whose weights previews are made with: the training's, a trained network's, or initial ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import StudioError
from studio.engine.train.trainer import Trainer
from studio.ui.models.live import LiveTensors
from studio.ui.models.live_resting import Resting, is_replaced
from studio.ui.models.preview_network import Weights

Array: TypeAlias = npt.NDArray[Any]

_WAIT_SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class Origin:
    """Where weights come from.

    Attributes:
        key: the same as long as pictures may stand for each other.
        label: whose they are; empty for initial ones.
        moves: they change while nobody edits, because a training runs.
        read: gives them, in the background; None for initial ones.
    """

    key: str
    label: str = ""
    moves: bool = False
    read: Weights | None = None


INITIAL = Origin("initial")


def origin_of(live: LiveTensors) -> Origin:
    """Whose weights are current."""
    trainer, resting = live.trainer, live.resting
    if trainer is not None:
        return Origin(f"training {id(trainer)}", "training", True, _of_trainer(trainer))
    if resting is not None and resting.step > 0:
        key = " ".join((resting.label, str(resting.step), *sorted(resting.replaced)))
        return Origin(key, resting.label, False, _of_rest(resting))
    return INITIAL


def _of_trainer(trainer: Trainer) -> Weights:
    def read(names: Iterable[str]) -> Mapping[str, Array]:
        wanted, session = list(names), trainer.network.session

        def begin() -> dict[str, Future[Array]]:
            # Between two steps, so that all belong to the same; nobody waits for the device here.
            return {name: session.read(name) for name in wanted if session.has(name)}

        try:
            begun = trainer.control.call(begin).result(_WAIT_SECONDS)
            return {n: np.array(future.result(_WAIT_SECONDS)) for n, future in begun.items()}
        except (StudioError, TimeoutError):
            return {}

    return read


def _of_rest(resting: Resting) -> Weights:
    def read(names: Iterable[str]) -> Mapping[str, Array]:
        found: dict[str, Array] = {}
        for name in names:
            if is_replaced(resting, name):
                continue
            try:
                array = resting.read(name)
            except StudioError:
                continue
            if array is not None:
                found[name] = array
        return found

    return read
