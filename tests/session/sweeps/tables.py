"""Tables of trials, made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis, Raw
from studio.engine.scale.sweep.trial import Outcome

RATE = Axis("learning_rate", "log:1e-4..1e-1", "optimizer", "", "learning_rate",
            low=1e-4, high=1e-1, is_log=True)  # fmt: skip
UNITS = Axis("hidden.units", "16,32,64", "layer", "hidden", "units", values=(16, 32, 64))
DROPOUT = Axis("dropout.rate", "0..0.5", "layer", "dropout", "rate", low=0.0, high=0.5)
ACTIVATION = Axis("hidden.activation", "relu,tanh,gelu", "layer", "hidden", "activation",
                  values=("relu", "tanh", "gelu"))  # fmt: skip
SHUFFLE = Axis("shuffle", "true,false", "training", "", "shuffle", values=(True, False))
DEPTH = Axis("depth", "1..9", "layer", "stack", "depth", low=1, high=9, is_whole=True)


def trial(number: int, values: dict[str, Raw], value: float | None) -> TrialRow:
    """A finished trial, or one that failed."""
    if value is None:
        return TrialRow(number, values, Outcome("failed", "no memory"))
    return TrialRow(number, values, Outcome("finished", values=(value,)))


def table(
    axes: Sequence[Axis], count: int, objective: Callable[[dict[str, Raw]], float], seed: int = 0
) -> list[TrialRow]:
    """Trials whose values are drawn at random, and what they reached."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        values = {axis.name: axis.at(float(rng.random())) for axis in axes}
        rows.append(trial(number, values, objective(values)))
    return rows
