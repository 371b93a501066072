"""R²: the share of the targets' variance that predictions explain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.options import choice, integer
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops import arithmetic, metric
from studio.engine.optim.counted_metrics import CountedMetric, Counts, Keep


class R2Score(CountedMetric, aliases=("r2_score", "r2")):
    """1 less the squared errors by the squares of the targets around their mean.

    1 where predictions are the targets, 0 where they are no better than their mean.
    """

    logged = "r2_score"
    spelled = "R² score"
    title = "R² score"
    is_share = False
    positional = ("class_aggregation", "num_regressors")
    class_aggregation = choice(
        "Mean over the outputs, or weighted by their variances.",
        "uniform_average", "variance_weighted_average",
    )  # fmt: skip
    num_regressors = integer(
        "Number of inputs, for the adjusted score; 0 for the plain one.", 0, low=0
    )

    def misfit(self, p: Shape, t: Shape) -> str:
        """Rows of numbers."""
        return "" if p == t else "compares numbers, the loss takes class indices"

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """ACCUMULATE of targets, their squares, and squared errors."""
        error = builder.emit(
            "metrics", arithmetic.Add, name="metrics/error", x1=t, x2=p, beta=-1.0
        )[0]
        shape = (2, builder.type_of(p).shape[-1] + 1)
        for port, x, square in (("sum", t, False), ("squares", t, True), ("errors", error, True)):
            sums = keep(port, shape, DType.float32)
            builder.append(
                "metrics", metric.Accumulate(x=x, sums=sums, square=square, weights=weights)
            )

    def value(self, counts: Mapping[str, Counts]) -> float:
        """As Keras; 0 where targets do not vary and predictions are not they."""
        total, squares, errors = (counts[port][:-1] for port in ("sum", "squares", "errors"))
        rows = float(counts["sum"][-1])
        with np.errstate(all="ignore"):
            around = squares - total * (total / rows)
            scores = 1.0 - errors / around
            scores = np.where(np.isinf(scores), 0.0, scores)
            score = float(scores.mean())
            if self.class_aggregation == "variance_weighted_average":
                score = float((around * scores).sum() / around.sum())
        free = rows * len(scores) - self.num_regressors - 1.0
        if self.num_regressors and free > 0:
            score = 1.0 - (1.0 - score) * (rows * len(scores) - 1.0) / free
        return score
