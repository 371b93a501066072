"""Area under a curve of rates, from counts between thresholds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studio.engine.core.options import choice, flag, integer, numbers
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops import activation
from studio.engine.optim.counted_metrics import (
    CountedMetric,
    Counts,
    Keep,
    above,
    emit_thresholds,
    share,
)

_EPSILON = 1e-7


class AUC(CountedMetric, aliases=("auc",)):
    """Area under the curve of true against false positive rates, or of precision against recall.

    1 where every positive is above every negative, 0.5 where chance orders them.
    """

    is_share = False
    spelled = "AUC"
    positional = ("num_thresholds", "curve", "summation_method")
    num_thresholds = integer(
        "Points of the curve, evenly spaced from 0 to 1.", 200, low=2, high=10_000
    )
    curve = choice("Rates of positives (ROC), or precision by recall (PR).", "ROC", "PR")
    summation_method = choice(
        "Height between two points: between theirs, the lower, the higher.",
        "interpolation", "minoring", "majoring",
    )  # fmt: skip
    thresholds = numbers("Points between 0 and 1 in place of even ones.", (), low=0.0)
    multi_label = flag("The mean over outputs that are each a yes or no of their own.")
    from_logits = flag("Predictions are logits.")
    hint = "use 'accuracy', or set multi_label where each output is a yes or no"

    def misfit(self, p: Shape, t: Shape) -> str:
        """One probability, or several that are each one."""
        if p[-1] > 1 and not self.multi_label:
            return f"takes one probability of yes, the output has {p[-1]} numbers"
        return super().misfit(p, t)

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """THRESHOLD_COUNTS of probabilities."""
        if self.from_logits:
            p = builder.emit("metrics", activation.Sigmoid, name="metrics/probability", x=p)[0]
        emit_thresholds(builder, p, t, keep, weights, self._bounds(), by_class=self.multi_label)

    def _bounds(self) -> tuple[float, ...]:
        count = self.num_thresholds
        inner = sorted(self.thresholds) or [(k + 1) / (count - 1) for k in range(count - 2)]
        # The ends take in every probability.
        return (-_EPSILON, *inner, 1.0 + _EPSILON)

    def value(self, counts: Mapping[str, Counts]) -> float:
        """The area; the mean of those of the outputs."""
        found = counts["counts"]
        true, false = (part.astype(np.float64) for part in above(found))
        negatives, positives = (found[:, k].sum(axis=-1, keepdims=True) for k in (0, 1))
        if self.curve == "PR" and self.summation_method == "interpolation":
            return float(_precision_area(true, false, positives).mean())
        x, y = share(false, negatives), share(true, positives)
        if self.curve == "PR":
            x, y = y, share(true, true + false)
        one, other = y[:, :-1], y[:, 1:]
        heights = {
            "interpolation": (one + other) / 2,
            "minoring": np.minimum(one, other),
            "majoring": np.maximum(one, other),
        }[self.summation_method]
        return float((-np.diff(x) * heights).sum(axis=-1).mean())


def _precision_area(true: Counts, false: Counts, positives: Counts) -> Counts:
    """Davis and Goadrich 2006: true positives and predicted ones change linearly between points."""
    predicted = true + false
    gained, added = -np.diff(true), -np.diff(predicted)
    slope = share(gained, added)
    intercept = true[:, 1:] - slope * predicted[:, 1:]
    both = (predicted[:, :-1] > 0) & (predicted[:, 1:] > 0)
    ratio = np.where(both, share(predicted[:, :-1], predicted[:, 1:]), 1.0)
    area: Counts = share(slope * (gained + intercept * np.log(ratio)), positives).sum(axis=-1)
    return area
