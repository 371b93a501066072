"""The samples behind a measurement: which of them to look at, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.session.evaluation.measures import Classification, Outcome

Order: TypeAlias = Literal["largest loss", "smallest loss", "least confident", "as in the data"]

ORDERS: tuple[Order, ...] = get_args(Order)

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """Which samples are looked at.

    Attributes:
        order: which come first.
        wrong_only: only those taken for another class.
        truth: only those of this class; -1 for all.
        predicted: only those taken for this class; -1 for all.
    """

    order: Order = "largest loss"
    wrong_only: bool = False
    truth: int = -1
    predicted: int = -1

    @property
    def is_cell(self) -> bool:
        """Whether one cell of the confusion matrix is looked at."""
        return self.truth >= 0 and self.predicted >= 0

    def indices(self, outcome: Outcome) -> Indices:
        """The samples, in order."""
        kept = np.ones(len(outcome.losses), bool)
        if isinstance(outcome, Classification):
            if self.wrong_only:
                kept &= outcome.wrong
            if self.truth >= 0:
                kept &= outcome.truth == self.truth
            if self.predicted >= 0:
                kept &= outcome.predicted == self.predicted
        found = np.flatnonzero(kept)
        if self.order == "as in the data":
            return found
        if self.order == "least confident" and isinstance(outcome, Classification):
            return found[np.argsort(outcome.confidence[found], kind="stable")]
        losses = outcome.losses[found]
        return found[
            np.argsort(losses if self.order == "smallest loss" else -losses, kind="stable")
        ]
