"""What a training writes down: checkpoints of everything it needs, and the summary of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.history import History
from studio.engine.train.checkpoint import Checkpoint, Position
from studio.engine.train.loop import EpochLoop
from studio.engine.train.network import STATE_ROLES, Network


def checkpoint_of(
    network: Network,
    loop: EpochLoop,
    place: tuple[int, bool],
    history: History,
    callbacks: Sequence[Callback],
    learning_rate: float | None,
) -> Checkpoint:
    """The checkpoint of a training that stands between two steps.

    Args:
        network: weights, statistics and slots.
        loop: steps and sums so far.
        place: epochs finished, and whether another has begun.
        history: record of the epochs.
        callbacks: whose state is kept.
        learning_rate: the rate somebody fixed, or None.
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
