"""What a training writes down: checkpoints of everything it needs, and the summary of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from studio import __version__
from studio.engine.core.errors import StudioError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.history import History
from studio.engine.train.checkpoint import Checkpoint, Position
from studio.engine.train.loop import EpochLoop
from studio.engine.train.network import STATE_ROLES, Network
from studio.engine.train.runs import RunFolder

_CHECKPOINT = "checkpoint"
_EPOCH = "epoch "


class RunWriter:
    """Writes a training into its run's folder.

    What cannot be written, because the disk is full or the folder is gone, is told, and the
    training goes on: its weights are worth more than the record. At its end, and whenever somebody
    asks, it is tried again.

    Args:
        folder: of the run, None for no record.
        warn: hears a sentence for every reason, once.
    """

    def __init__(self, folder: RunFolder | None, warn: Callable[[str], object]) -> None:
        self._folder = folder
        self._warn = warn
        self._told: set[str] = set()
        self._missing: dict[str, tuple[Callable[[], object], StudioError]] = {}

    @property
    def unsaved(self) -> StudioError | None:
        """Why the last checkpoint is not on the disk; None where it is."""
        found = self._missing.get(_CHECKPOINT)
        return None if found is None else found[1]

    def begin(self, device: str, data_hash: str, choices: str = "") -> None:
        """Write down that it trains, where and on what; StudioError where that cannot be."""
        if self._folder is not None:
            facts = {"device": device, "data_hash": data_hash, "version": __version__}
            facts["kernels"] = choices or "shipped"
            before = self._folder.summary()
            self._folder.write_summary({**before, **facts, "state": "running", "reason": ""})

    def seconds(self) -> float:
        """How long the run trained before, as its summary says; 0 where it does not."""
        found = {} if self._folder is None else self._folder.summary()
        seconds = found.get("seconds")
        is_time = isinstance(seconds, int | float) and 0.0 <= seconds < math.inf
        return float(seconds) if isinstance(seconds, int | float) and is_time else 0.0

    def save(self, name: str, checkpoint: Checkpoint) -> str:
        """Write a checkpoint; its name, empty where it could not be written."""
        folder = self._folder
        if folder is None:
            return ""
        written = self._write(_CHECKPOINT, lambda: checkpoint.save(folder.checkpoint_path(name)))
        return name if written else ""

    def remove(self, name: str) -> None:
        """Delete a checkpoint."""
        if self._folder is not None and name:
            self._folder.remove_checkpoint(name)

    def add_metrics(self, epoch: int, logs: Mapping[str, float]) -> None:
        """Write down the numbers of an epoch."""
        folder = self._folder
        if folder is None:
            return

        def work() -> None:
            if any(what.startswith(_EPOCH) for what in self._missing):
                # The last line may have been torn.
                folder.mend_metrics()
            folder.append_metrics(epoch, logs)

        self._write(f"{_EPOCH}{epoch}", work)

    def end(self, summary: Mapping[str, object]) -> None:
        """Write down how it ended, and what could not be written before."""
        folder = self._folder
        if folder is not None:
            self.retry()
            facts = {**folder.summary(), **summary, "started": folder.name}
            self._write("summary", lambda: folder.write_summary(facts))

    def retry(self) -> StudioError | None:
        """Write what could not be written before; why that fails again, if it does."""
        missing = dict(self._missing)
        for what, (work, _) in missing.items():
            if not self._write(what, work):
                break
        return next((error for _, error in self._missing.values()), None)

    def _write(self, what: str, work: Callable[[], object]) -> bool:
        try:
            work()
        except StudioError as error:
            self._missing[what] = (work, error)
            if error.message not in self._told:
                self._told.add(error.message)
                hint = f"; {error.hint}" if error.hint else ""
                self._warn(f"the training goes on, but is not recorded: {error.message}{hint}")
            return False
        self._missing.pop(what, None)
        return True


def checkpoint_of(
    network: Network,
    loop: EpochLoop,
    place: tuple[int, bool],
    history: History,
    callbacks: Sequence[Callback],
    learning_rate: float | None,
    seconds: float,
) -> Checkpoint:
    """The checkpoint of a training that stands between two steps.

    Args:
        network: weights, statistics and slots.
        loop: steps and sums so far.
        place: epochs finished, and whether another has begun.
        history: record of the epochs.
        callbacks: whose state is kept.
        learning_rate: the rate somebody fixed, or None.
        seconds: seconds of training so far.
    """
    loop.meter.finish()
    epoch, begun = place
    position = (
        Position(epoch, loop.step, loop.total_step, loop.meter.rows, loop.meter.sums)
        if begun
        else Position(epoch, 0, loop.total_step)
    )
    tensors = network.read(STATE_ROLES)
    tensors["train/step"] = np.array(network.session.read("train/step").result())
    settings = network.task.settings
    return Checkpoint(
        tensors,
        position,
        settings.seed,
        settings.batch_size,
        learning_rate,
        history.state(),
        tuple((type(c).__name__, c.state()) for c in callbacks),
        tuple(c.arrays() for c in callbacks),
        network.task.data_hash,
        seconds,
    )


def restore_callbacks(callbacks: Sequence[Callback], found: Checkpoint) -> None:
    """Give each callback the state of the first of its kind that is left in the checkpoint."""
    left = list(zip(found.callbacks, found.callback_arrays, strict=True))
    for callback in callbacks:
        for entry in left:
            (kind, state), arrays = entry
            if kind == type(callback).__name__:
                callback.restore(state, dict(arrays))
                left.remove(entry)
                break


def summary_of(
    state: str, reason: str, device: str, history: History, steps: int, seconds: float
) -> Mapping[str, object]:
    """The summary of a run: how it ended, where it ran, its last finite numbers."""
    return {
        "state": state,
        "reason": reason,
        "device": device,
        "epochs": len(history.epoch),
        "steps": steps,
        "seconds": round(seconds, 3),
        "metrics": {
            name: values[-1]
            for name, values in history.history.items()
            if values and np.isfinite(values[-1])
        },
    }
