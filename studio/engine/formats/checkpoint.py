"""Checkpoints: everything a training needs to go on as if it had never stopped.

A safetensors file. Its tensors are the session's (weights, running statistics, optimiser slots) by
name behind ``tensor/``, the step block as ``tensor/train/step``, and arrays of callbacks behind
``callback/<index>/``. One metadata entry holds the rest as JSON. Order and random numbers need no
state: they follow from seed, epoch and step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, StudioError, quoted
from studio.engine.core.options import Plain
from studio.engine.formats import safetensors
from studio.engine.formats.byte_source import FileOrBytes
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import parse_json

Array: TypeAlias = npt.NDArray[np.generic]

FORMAT = "glassbox-checkpoint"
VERSION = 1
LIMITS = Limits(json_bytes=16 * MIB)
MAX_STEPS = 1 << 30
"""Steps of a training; the device counts them in 32 bits."""
_TENSOR, _CALLBACK = "tensor/", "callback/"


@dataclass(frozen=True)
class Position:
    """Where a training stands, always at the end of a step.

    Attributes:
        epoch: epochs finished.
        step: steps of the epoch that runs.
        total_step: steps of all epochs.
        rows: rows of the running epoch that have been counted in ``sums``.
        sums: sums over those rows of loss and metrics.
    """

    epoch: int = 0
    step: int = 0
    total_step: int = 0
    rows: int = 0
    sums: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """One checkpoint in memory.

    Attributes:
        tensors: session tensors by name.
        position: where the training stands.
        seed: seed of the run.
        batch_size: samples per step, on which the steps of an epoch depend.
        learning_rate: the fixed rate that was set, or None for the optimiser's own.
        history: state of the history of all epochs.
        callbacks: kind and plain state of every callback, in order.
        callback_arrays: arrays of every callback, in order.
        data_hash: hash of the data set.
        seconds: seconds of training so far, all parts of the run together.
        stop_reason: why a callback ended the training here, None where none did.
    """

    tensors: Mapping[str, Array]
    position: Position
    seed: int
    batch_size: int
    learning_rate: float | None = None
    history: Mapping[str, Plain] = field(default_factory=dict)
    callbacks: tuple[tuple[str, Mapping[str, object]], ...] = ()
    callback_arrays: tuple[Mapping[str, Array], ...] = ()
    data_hash: str = ""
    seconds: float = 0.0
    stop_reason: str | None = None

    @property
    def weights_place(self) -> tuple[int, int]:
        """Epochs, and steps of the next, that the weights were trained for.

        Those of the position, unless a callback has put the weights of an earlier epoch back.
        """
        return _weights_place(self.position, self.callbacks)

    def save(self, path: Path | str) -> None:
        """Write it in one atomic step; FormatError where that fails."""
        tensors = {_TENSOR + name: array for name, array in self.tensors.items()}
        for index, arrays in enumerate(self.callback_arrays):
            tensors |= {f"{_CALLBACK}{index}/{name}": array for name, array in arrays.items()}
        state = {
            "position": {
                "epoch": self.position.epoch,
                "step": self.position.step,
                "total_step": self.position.total_step,
                "rows": self.position.rows,
                "sums": [repr(value) for value in self.position.sums],
            },
            "seed": self.seed,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "history": dict(self.history),
            "callbacks": [[kind, dict(state)] for kind, state in self.callbacks],
            "data_hash": self.data_hash,
            "seconds": self.seconds,
            "stop_reason": self.stop_reason,
        }
        metadata = {
            "format": FORMAT,
            "version": str(VERSION),
            "state": json.dumps(state, allow_nan=False, sort_keys=True),
        }
        safetensors.save(path, tensors, metadata)

    @classmethod
    def load(cls, source: FileOrBytes) -> Checkpoint:
        """Read one; FormatError for a damaged file, CheckpointError for one of another kind."""
        stored, metadata = safetensors.load(source, LIMITS)
        reader = _fields_of(metadata, source)
        callbacks = reader.callbacks()
        return cls(
            {n.removeprefix(_TENSOR): a for n, a in stored.items() if n.startswith(_TENSOR)},
            reader.position(),
            reader.whole("seed"),
            reader.whole("batch_size"),
            reader.rate(),
            reader.mapping("history"),
            callbacks,
            tuple(_of_callback(stored, index) for index in range(len(callbacks))),
            reader.text("data_hash"),
            reader.seconds(),
            reader.text_or_none("stop_reason"),
        )


@dataclass(frozen=True)
class CheckpointHead:
    """What a checkpoint says about itself, read without its tensors.

    Attributes:
        path: the file.
        position: where the training stood.
        weights_place: epochs, and steps of the next, that the weights were trained for.
        is_resumable: whether a training can go on from it as if it had never stopped.
        problem: why it cannot be read; None for a whole file.
    """

    path: Path
    position: Position = Position()
    weights_place: tuple[int, int] = (0, 0)
    is_resumable: bool = False
    problem: StudioError | None = None

    @classmethod
    def read(cls, path: Path) -> CheckpointHead:
        """The head of a file; damage is said in ``problem``, never raised."""
        try:
            names, metadata = safetensors.load_names(path, LIMITS)
            fields = _fields_of(metadata, path)
            position = fields.position()
            place = _weights_place(position, fields.callbacks())
        except StudioError as error:
            return cls(path, problem=error)
        # Imported weights come without the step block.
        resumable = f"{_TENSOR}train/step" in names and place == (position.epoch, position.step)
        return cls(path, position, place, resumable)


def _weights_place(
    position: Position, callbacks: tuple[tuple[str, Mapping[str, object]], ...]
) -> tuple[int, int]:
    for _, state in callbacks:
        best = state.get("best_epoch")
        if state.get("restored") is True and isinstance(best, int):
            return min(best + 1, position.epoch), 0
    return position.epoch, position.step


def _fields_of(metadata: Mapping[str, str], source: FileOrBytes) -> _Fields:
    """The state of a checkpoint; CheckpointError for another file or a newer version."""
    who = "checkpoint data" if isinstance(source, bytes) else str(source)
    if metadata.get("format") != FORMAT:
        raise CheckpointError("not a checkpoint of Glassbox", who=who)
    version = metadata.get("version", "")
    if not version.isdecimal() or len(version) > 6 or int(version) > VERSION:
        raise CheckpointError(
            f"written by version {quoted(version)} of the format, this reads up to {VERSION}",
            who=who,
            hint="update Glassbox",
        )
    return _Fields(parse_json(metadata.get("state", "").encode("utf-8"), who, LIMITS), who)


def _of_callback(stored: Mapping[str, Array], index: int) -> dict[str, Array]:
    prefix = f"{_CALLBACK}{index}/"
    return {n.removeprefix(prefix): a for n, a in stored.items() if n.startswith(prefix)}


def numbers_of_texts(values: Iterable[object]) -> list[float]:
    """The numbers a checkpoint holds as texts; TypeError or ValueError for anything else."""
    found = []
    for value in values:
        if not isinstance(value, str):
            raise TypeError("a number is expected as text")
        found.append(float(value))
    return found


class _Fields:
    """Typed look-ups in the state of a checkpoint; each raises CheckpointError by name."""

    def __init__(self, fields: object, who: str) -> None:
        if not isinstance(fields, Mapping):
            raise CheckpointError("the state must be an object", who=who)
        self._fields = fields
        self._who = who

    def wrong(self, name: str) -> CheckpointError:
        """The error about one field."""
        return CheckpointError(f"{name} is missing or of the wrong kind", who=self._who)

    def whole(self, name: str, most: int = (1 << 64) - 1) -> int:
        """A whole number from 0 to ``most``."""
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self.wrong(name)
        return value

    def text(self, name: str) -> str:
        """A text."""
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise self.wrong(name)
        return value

    def text_or_none(self, name: str) -> str | None:
        """A text, or None; files of earlier versions lack it."""
        return None if self._fields.get(name) is None else self.text(name)

    def rate(self) -> float | None:
        """The fixed rate, if there is one."""
        value = self._fields.get("learning_rate")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.wrong("learning_rate")
        return float(value)

    def seconds(self) -> float:
        """How long it trained; 0 where that was not recorded."""
        value = self._fields.get("seconds", 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong("seconds")
        if not 0.0 <= value < math.inf:
            raise self.wrong("seconds")
        return float(value)

    def mapping(self, name: str) -> Mapping[str, Plain]:
        """An object."""
        value = self._fields.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name)
        return value

    def position(self) -> Position:
        """Where the training stood."""
        inner = _Fields(self.mapping("position"), self._who)
        sums = inner._fields.get("sums")
        if not isinstance(sums, list):
            raise self.wrong("sums")
        try:
            numbers = tuple(numbers_of_texts(sums))
        except (TypeError, ValueError):
            raise self.wrong("sums") from None
        return Position(
            inner.whole("epoch", MAX_STEPS),
            inner.whole("step", MAX_STEPS),
            inner.whole("total_step", MAX_STEPS),
            inner.whole("rows"),
            numbers,
        )

    def callbacks(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """Kind and state of every callback."""
        value = self._fields.get("callbacks")
        found: list[tuple[str, Mapping[str, object]]] = []
        for entry in value if isinstance(value, list) else [None]:
            pair = entry if isinstance(entry, list) and len(entry) == 2 else [None, None]
            kind, state = pair
            if not isinstance(kind, str) or not isinstance(state, Mapping):
                raise self.wrong("callbacks")
            found.append((kind, state))
        return tuple(found)
