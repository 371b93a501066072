"""What a network says about rows of the user's own, and all over a plane of two inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.train.data.stored_rows import evenly_spaced
from studio.engine.train.network.measures import (
    Array,
    Classification,
    Floats,
    Labels,
    Outcome,
    PositionClassification,
    mean_shares,
    names_of,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.task import Task
from studio.engine.train.runs.weights_origin import WeightsOrigin
from studio.session.evaluation.form import MOST_ROWS

CELLS = 96
_MARGIN = 0.08
_NAMED = 4
"""Numbers, labels or classes a truth is told by."""


@dataclass(frozen=True)
class Truth:
    """What the data says of a sample.

    Attributes:
        text: its class, its labels, or its first numbers.
        place: of the class among the classes; -1 where it is not one class.
    """

    text: str
    place: int = -1


def truth_of(outcome: Outcome | None, sample: int) -> Truth | None:
    """What the data says of a sample; None where it has no targets."""
    if outcome is None:
        return None
    if isinstance(outcome, PositionClassification):
        own = outcome.truth[sample][outcome.counts[sample]]
        counts = np.bincount(own, minlength=len(outcome.names))
        common = [int(n) for n in np.argsort(-counts, kind="stable")[:_NAMED] if counts[n]]
        parts = (f"{outcome.names[n]} {counts[n] / len(own):.0%}" for n in common)
        return Truth(", ".join(parts) or "no position counts")
    if isinstance(outcome, Classification):
        place = int(outcome.truth[sample])
        return Truth(outcome.names[place], place)
    if isinstance(outcome, Labels):
        own = np.flatnonzero(outcome.has[sample])
        return Truth(_listed([outcome.names[n] for n in own[: _NAMED + 1]]) or "none of the labels")
    return Truth(_listed([f"{number:.4g}" for number in outcome.truth[sample][: _NAMED + 1]]))


def _listed(words: list[str]) -> str:
    shown = ", ".join(words[:_NAMED])
    return f"{shown}, …" if len(words) > _NAMED else shown


@dataclass(frozen=True, eq=False)
class Answer:
    """What one output says about some rows.

    Attributes:
        names: what each row is called.
        inputs: for each input the rows as the network was given them.
        classes: the classes; empty where it predicts numbers.
        values: [rows, classes] shares, or [rows, numbers]. Of classes of positions the means.
        origin: where the weights come from, if that is known.
        output: name of the output.
    """

    names: tuple[str, ...]
    inputs: tuple[Array, ...]
    classes: tuple[str, ...]
    values: Array
    origin: WeightsOrigin | None = None
    output: str = ""
    positions: int = 1
    """How many positions of a row have a class each."""
    inverted: tuple[bool, ...] = ()
    """For each row whether it was inverted before the network got it."""
    truth: Truth | None = None
    """What the data says of the only row, where it is a sample of it."""

    @property
    def is_right(self) -> bool | None:
        """Whether the likeliest class is the true one; None where that is no question."""
        if self.truth is None or self.truth.place < 0 or not self.classes:
            return None
        return self.best[0] == self.classes[self.truth.place]

    @property
    def best(self) -> tuple[str, ...]:
        """The likeliest class of each row; nothing for numbers."""
        if not self.classes:
            return ()
        found = np.where(np.isnan(self.values), -1.0, self.values)
        return tuple(self.classes[index] for index in found.argmax(axis=1))


def answers(
    trained: Trained, names: tuple[str, ...], inputs: tuple[Array, ...]
) -> tuple[Answer, ...]:
    """What each output of a network says about raw rows, one array for each input."""
    outputs = trained.predict_all(list(inputs))
    said = zip(trained.task.all_outputs, _said(trained.task, outputs), strict=True)
    positions = [prod(found.shape[1:-1]) for found in outputs]
    return tuple(
        Answer(names, inputs, classes, values, trained.origin, facts.name, count if classes else 1)
        for count, (facts, (classes, values)) in zip(positions, said, strict=True)
    )


def _said(task: Task, outputs: Sequence[Array]) -> Iterator[tuple[tuple[str, ...], Floats]]:
    """For each output names of its classes and their shares, or no names and its numbers."""
    for place, (facts, found) in enumerate(zip(task.all_outputs, outputs, strict=True)):
        if facts.class_names:
            logits = task.gives_logits(place)
            shares = mean_shares(found, len(facts.class_names), logits=logits)
            yield names_of(facts.class_names, shares.shape[1]), shares
        else:
            yield (), found.reshape(len(found), -1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Plane:
    """Answers of one output on a grid.

    Attributes:
        x: lowest and highest first number.
        y: lowest and highest second number.
        values: [rows, columns, classes] shares or [rows, columns, numbers]; row 0 is the lowest y.
        names: the two numbers.
        classes: the classes; empty where numbers are predicted.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    values: Floats
    names: tuple[str, str]
    classes: tuple[str, ...]


def is_plane(task: Task) -> bool:
    """Whether each sample is two numbers."""
    inputs = () if task.training is None else task.training.inputs
    return len(inputs) == 1 and tuple(inputs[0].shape[1:]) == (2,)


def ask_planes(
    trained: Trained, progress: Callable[[int, int], None] | None = None
) -> tuple[Plane, ...]:
    """Ask a network about a grid over all samples of its data; see `is_plane`."""
    task = trained.task
    samples = task.training_samples().inputs[0]
    low, high = _bounds(evenly_spaced(samples, MOST_ROWS))
    columns = np.linspace(low[0], high[0], CELLS)
    rows = np.linspace(low[1], high[1], CELLS)
    points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    outputs = trained.predict_all([points.astype(samples.dtype)], progress)
    names = task.input_facts.feature_names
    return tuple(
        Plane(
            (float(low[0]), float(high[0])),
            (float(low[1]), float(high[1])),
            values.reshape(CELLS, CELLS, -1),
            (names[0], names[1]) if len(names) == 2 else ("x", "y"),
            classes,
        )
        for classes, values in _said(task, outputs)
    )


def _bounds(samples: npt.NDArray[np.generic]) -> tuple[Floats, Floats]:
    wide = samples.astype(np.float64)
    low, high = wide.min(axis=0), wide.max(axis=0)
    margin = np.where(high > low, _MARGIN * (high - low), 1.0)
    return low - margin, high + margin
