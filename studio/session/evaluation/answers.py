"""What a network says about rows of the user's own: shares of classes, or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studio.engine.train.trained import Trained
from studio.engine.train.weights_origin import WeightsOrigin
from studio.session.evaluation.measures import Array, class_shares, has_logits, names_of


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer about some rows.

    Attributes:
        names: what each row is called.
        rows: the rows as the network was given them.
        classes: the classes; empty where it predicts numbers.
        values: [rows, classes] shares, or [rows, numbers].
        origin: where the weights come from, if that is known.
    """

    names: tuple[str, ...]
    rows: Array
    classes: tuple[str, ...]
    values: Array
    origin: WeightsOrigin | None = None

    @property
    def best(self) -> tuple[str, ...]:
        """The likeliest class of each row; nothing for numbers."""
        if not self.classes:
            return ()
        found = np.where(np.isnan(self.values), -1.0, self.values)
        return tuple(self.classes[index] for index in found.argmax(axis=1))


def answer(trained: Trained, names: tuple[str, ...], rows: Array) -> Answer:
    """What a network says about raw rows."""
    task, outputs = trained.task, trained.predict(rows)
    if not task.class_names:
        numbers = outputs.reshape(len(outputs), -1).astype(np.float64)
        return Answer(names, rows, (), numbers, trained.origin)
    values = class_shares(outputs, len(task.class_names), logits=has_logits(task.losses))
    return Answer(
        names, rows, names_of(task.class_names, values.shape[1]), values, trained.origin
    )  # fmt: skip
