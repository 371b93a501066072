"""Counts and sums over an epoch, for metrics that are no mean of the means of batches."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Shape, TensorType, shape_text
from studio.engine.isa.families import require_equal
from studio.engine.isa.fields import flag, integer, reads, side_input, updates
from studio.engine.isa.instruction import Instruction, TypeOf


class EpochCounts(Instruction, category="metric"):
    """Operands and shape rule of instructions that go on counting from step to step.

    The host zeroes what they count in before the first step of an epoch and reads it after the
    last. Only the rows of a batch are counted. Without weights they count in int32. With weights
    they sum in float32 pairs, the sum and what rounding took from it, in a first dimension of 2.
    """

    weights = side_input("Weight of each row, [N] or [N,…].")

    def check_counts(self, of: TypeOf, rows: Shape, counts: TensorType, wanted: Shape) -> None:
        """Raise ShapeError unless weights and counts fit.

        Args:
            of: types of operands.
            rows: shape of what is counted, without the dimension of classes.
            counts: the type of the counts.
            wanted: their shape without weights.
        """
        expected = TensorType(wanted, DType.int32)
        if self.weights.present:
            expected = TensorType((2, *wanted))
            found = of(self.weights).shape
            require_equal(self.mnemonic, "weights", found, rows[: max(len(found), 1)])
        if counts != expected:
            raise ShapeError(f"counts must be {expected}: got {counts}", who=self.mnemonic)


class ThresholdCounts(EpochCounts, code=510, mnemonic="THRESHOLD_COUNTS", since=2):
    """Count predictions between thresholds, apart for zero and other targets.

    counts[c, l, j] grows by the entries of class c whose target is zero (l = 0) or not (l = 1) and
    whose prediction is above exactly j of the thresholds, which ascend. NaN is above none. With
    ``top_k`` only the top_k largest of each row, the first of equals, are above any. Without
    ``by_class`` all entries are of one class. No gradient.
    """

    synopsis = "{counts} += {p} between {thresholds}, by {t}"
    p = reads("Predictions [N,…,K].", differentiable=False)
    t = reads("Targets in the shape of p.", differentiable=False)
    thresholds = reads("Thresholds [B], ascending.", differentiable=False)
    counts = updates("Counts [K or 1, 2, B + 1].")
    by_class = flag("Count each of the K classes for itself.")
    class_id = integer("The only class counted; -1 for all.", -1, low=-1, high=2**31 - 1, tail=True)
    top_k = integer(
        "How many of a row may be above a threshold; 0 for all.", 0, low=0, high=2**31 - 1,
        tail=True,
    )  # fmt: skip

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Nothing is written anew; counts must fit."""
        p, bounds = of(self.p), of(self.thresholds)
        if len(p.shape) < 2:
            raise ShapeError(f"predictions need a batch and classes: got {p}", who=self.mnemonic)
        require_equal(self.mnemonic, "targets", of(self.t).shape, p.shape)
        if len(bounds.shape) != 1:
            raise ShapeError(f"thresholds must have rank 1: got {bounds}", who=self.mnemonic)
        if self.class_id >= p.shape[-1]:
            raise ShapeError(
                f"there is no class {self.class_id} in {shape_text(p.shape)}", who=self.mnemonic
            )
        classes = p.shape[-1] if self.by_class else 1
        wanted = (classes, 2, bounds.shape[0] + 1)
        self.check_counts(of, p.shape[:-1], of(self.counts), wanted)
        return ()

    def flops(self, of: TypeOf) -> int:
        """A search of the thresholds per prediction."""
        return of(self.p).numel * of(self.thresholds).numel.bit_length()


class Confusion(EpochCounts, code=511, mnemonic="CONFUSION", since=2):
    """Count each class a row has against the class predicted for it.

    counts[a, b] grows by the rows whose target is class a and whose largest prediction is that of
    class b; the first of equals and the first NaN count as largest. t holds class indices [N,…],
    or rows in the shape of p, whose largest is meant. Rows of class ``ignore``, or of none of the
    K classes, are left out. No gradient.
    """

    synopsis = "{counts} += {t} against argmax {p}"
    p = reads("Predictions [N,…,K].", differentiable=False)
    t = reads("Class indices, int32, or rows.", differentiable=False)
    counts = updates("Counts [K,K].")
    ignore = integer("The class left out; -1 for none.", -1, low=-1, high=2**31 - 1, tail=True)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Nothing is written anew; counts must fit."""
        p, t = of(self.p), of(self.t)
        if len(p.shape) < 2:
            raise ShapeError(f"predictions need a batch and classes: got {p}", who=self.mnemonic)
        sparse = t.dtype is DType.int32 and len(t.shape) < len(p.shape)
        require_equal(self.mnemonic, "targets", t.shape, p.shape[:-1] if sparse else p.shape)
        self.check_counts(of, p.shape[:-1], of(self.counts), (p.shape[-1], p.shape[-1]))
        return ()

    def flops(self, of: TypeOf) -> int:
        """One comparison per prediction."""
        return of(self.p).numel


class Accumulate(EpochCounts, code=512, mnemonic="ACCUMULATE", since=2):
    """Go on summing the columns of batches, with what rounding takes from the sums.

    sums[0, k] + sums[1, k] grows by Σ weight·x[…, k], of x² with ``square``, over the rows, and
    sums[0, K] + sums[1, K] by Σ weight. The second row is what rounding took from the first
    (Neumaier). No gradient.
    """

    synopsis = "{sums} += sum over rows of {x}"
    x = reads("Numbers [N,…,K].", differentiable=False)
    sums = updates("Sums [2, K + 1], float32.")
    square = flag("Sum the squares.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Nothing is written anew; sums must fit."""
        x, sums = of(self.x), of(self.sums)
        if len(x.shape) < 2:
            raise ShapeError(f"numbers need a batch and columns: got {x}", who=self.mnemonic)
        if self.weights.present:
            found = of(self.weights).shape
            rows = x.shape[:-1]
            require_equal(self.mnemonic, "weights", found, rows[: max(len(found), 1)])
        expected = TensorType((2, x.shape[-1] + 1))
        if sums != expected:
            raise ShapeError(f"sums must be {expected}: got {sums}", who=self.mnemonic)
        return ()

    def flops(self, of: TypeOf) -> int:
        """A product and a compensated sum per number."""
        return 6 * of(self.x).numel
