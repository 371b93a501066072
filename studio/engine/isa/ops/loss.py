"""Losses: one number per batch, the mean over its entries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.families import require_equal, require_leading
from studio.engine.isa.fields import choice, flag, number, reads, side_input, writes
from studio.engine.isa.instruction import GradInstruction, Instruction, TypeOf


class Loss(Instruction, category="loss"):
    """Operands and shape rule of losses that compare predictions with targets.

    The value is the mean of weight·loss over the batch and an entry's own positions (all dimensions
    between batch and last; and the last one too for binary cross-entropy, MSE and MAE). Weights
    [N] are those of entries, weights [N,…] of positions: their shape is a leading part of that of
    the positions. Without ``weights`` every weight is 1.

    Attributes:
        by_row: whether all numbers of a row make one term; otherwise each has a term of its own.
    """

    by_row: ClassVar[bool] = False
    merges = MappingProxyType({"weights": 0})

    p = reads("Predictions [N,…,K].")
    t = reads("Targets.", differentiable=False)
    y = writes("The loss, a scalar.")
    weights = side_input("Weight of each entry [N], or of each position [N,…].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar, when targets and weights fit the predictions."""
        p, t = of(self.p), of(self.t)
        if len(p.shape) < 2:
            raise ShapeError(f"predictions need a batch and a last dimension: got {p}",
                             who=self.mnemonic)  # fmt: skip
        self.check_targets(p, t)
        positions = p.shape[:-1] if self.by_row else p.shape
        require_leading(self.mnemonic, "weights", of, self.weights, positions)
        return (TensorType(()),)

    def check_targets(self, p: TensorType, t: TensorType) -> None:
        """Targets have the shape of the predictions."""
        require_equal(self.mnemonic, "targets", t.shape, p.shape)

    @classmethod
    def saved_statistics(cls, grad_ins: GradInstruction) -> frozenset[Ref]:
        """The weights, where there are any, scale the gradient as well."""
        weights = grad_ins.ref("weights")
        return frozenset({weights} if weights.present else ())

    def flops(self, of: TypeOf) -> int:
        """Five operations per prediction."""
        return 5 * of(self.p).numel


class LossCE(Loss, code=300, mnemonic="LOSS_CE", saves=("p", "t")):
    """Categorical cross-entropy.

    ``source=probs``: -Σ_k t·ln(clip(p/Σp, 1e-7, 1 - 1e-7)), as Keras. ``source=logits``:
    Σ_k t·(logsumexp(p) - p_k). ``source=softmax``: p comes from SOFTMAX_CE; the value is as for
    probs, and the gradient written is (p·Σt - t)·weight/N with respect to the logits. With
    ``dylann_sum`` the gradient is not divided by N (Dylann's convention); the value still is.
    """

    synopsis = "{y} = cross_entropy({p}, {t})"
    by_row = True
    source = choice("What the predictions are.", "probs", "logits", "softmax")
    dylann_sum = flag("Leave the division by N out of the gradient.")


class LossSparseCE(Loss, code=301, mnemonic="LOSS_SPARSE_CE", saves=("p", "t")):
    """Cross-entropy against class indices.

    As LOSS_CE with t the index of the class [N,…] (int32) instead of a row per entry. An index
    outside 0..K-1 gives NaN.
    """

    synopsis = "{y} = sparse_cross_entropy({p}, {t})"
    by_row = True
    source = choice("What the predictions are.", "probs", "logits", "softmax")
    dylann_sum = flag("Leave the division by N out of the gradient.")

    def check_targets(self, p: TensorType, t: TensorType) -> None:
        """Targets have the shape of the predictions without the last dimension."""
        require_equal(self.mnemonic, "targets", t.shape, p.shape[:-1])


class RowLoss(Loss):
    """Losses of the single rows, before the mean over them is taken; they have no gradient."""

    by_row = True
    p = reads("Predictions [N,…,K].", differentiable=False)
    y = writes("The loss of every row [N,…].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 number per row, when targets and weights fit the predictions."""
        super().infer(of)
        return (TensorType(of(self.p).shape[:-1]),)


class RowCE(RowLoss, code=384, mnemonic="ROW_CE", since=2):
    """Categorical cross-entropy of every row.

    The terms of LOSS_CE, each times its weight: their LOSS_MEAN is its value. No
    gradient; GRADS_LOSS_CE has that of the mean.
    """

    synopsis = "{y} = cross_entropy of each row of ({p}, {t})"
    source = choice("What the predictions are.", "probs", "logits", "softmax")


class RowSparseCE(RowLoss, code=385, mnemonic="ROW_SPARSE_CE", since=2):
    """Cross-entropy of every row against class indices.

    The terms of LOSS_SPARSE_CE, each times its weight: their LOSS_MEAN is its value. An index
    outside 0..K-1 gives NaN for its row. No gradient; GRADS_LOSS_SPARSE_CE has that of the mean.
    """

    synopsis = "{y} = sparse_cross_entropy of each row of ({p}, {t})"
    source = choice("What the predictions are.", "probs", "logits", "softmax")

    def check_targets(self, p: TensorType, t: TensorType) -> None:
        """Targets have the shape of the predictions without the last dimension."""
        require_equal(self.mnemonic, "targets", t.shape, p.shape[:-1])


ROW_LOSSES: Mapping[type[Loss], type[RowLoss]] = {LossCE: RowCE, LossSparseCE: RowSparseCE}
"""Losses of a batch, and the instruction that has those of its rows."""


class LossMean(Instruction, code=386, mnemonic="LOSS_MEAN", category="loss", since=2):
    """Mean of the losses of rows.

    y = Σ x / count. Behind ROW_CE this is the value of LOSS_CE, behind ROW_SPARSE_CE that of
    LOSS_SPARSE_CE. No gradient.
    """

    synopsis = "{y} = mean({x})"
    x = reads("Losses of rows [N,…].", differentiable=False)
    y = writes("The loss, a scalar.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar."""
        return (TensorType(()),)

    def flops(self, of: TypeOf) -> int:
        """One operation per row."""
        return of(self.x).numel


class LossBCE(Loss, code=302, mnemonic="LOSS_BCE", saves=("p", "t")):
    """Binary cross-entropy.

    ``source=probs``: -(t·ln q + (1-t)·ln(1-q)) with q = clip(p, 1e-7, 1 - 1e-7).
    ``source=logits``: max(p,0) - p·t + ln(1 + e^-|p|).
    """

    synopsis = "{y} = binary_cross_entropy({p}, {t})"
    source = choice("What the predictions are.", "probs", "logits")


class LossMSE(Loss, code=303, mnemonic="LOSS_MSE", saves=("p", "t")):
    """Mean squared error.

    (p - t)² averaged over the entry. With ``dylann_sum``: Σ (p - t)²/2 over everything, and the
    gradient is p - t.
    """

    synopsis = "{y} = mse({p}, {t})"
    dylann_sum = flag("Dylann's sum of half squares instead of the mean.")


class LossMAE(Loss, code=304, mnemonic="LOSS_MAE", saves=("p", "t")):
    """Mean absolute error.

    |p - t| averaged over the entry; the derivative where they are equal is 0.
    """

    synopsis = "{y} = mae({p}, {t})"


class LossL1L2(Instruction, code=305, mnemonic="LOSS_L1L2", category="loss", saves=("w",)):
    """Weight penalty.

    y = l1·Σ|w| + l2·Σw²; the derivative of |w| at 0 is 0.
    """

    synopsis = "{y} = {l1}·sum|{w}| + {l2}·sum({w}²)"
    w = reads("Weights, any shape.")
    y = writes("The penalty, a scalar.")
    l1 = number("Factor of the sum of absolute values.", 0.0, low=0.0)
    l2 = number("Factor of the sum of squares.", 0.01, low=0.0)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar."""
        return (TensorType(()),)

    def flops(self, of: TypeOf) -> int:
        """Four operations per weight."""
        return 4 * of(self.w).numel


class Hits(Instruction, category="metric"):
    """Operands, attributes and shape rule of what counts right predictions."""

    p = reads("Predictions [N,…,K].", differentiable=False)
    t = reads("Targets: rows, class indices, or 0/1 in the shape of p.", differentiable=False)
    y = writes("The fraction, a scalar.")
    kind = choice("How predictions and targets are compared.", "categorical", "sparse", "binary")
    threshold = number("Where a binary prediction becomes 1.", 0.5, tail=True)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar."""
        p, t = of(self.p), of(self.t)
        wanted = p.shape[:-1] if self.kind == "sparse" else p.shape
        require_equal(self.mnemonic, "targets", t.shape, wanted)
        return (TensorType(()),)

    def flops(self, of: TypeOf) -> int:
        """One comparison per prediction."""
        return of(self.p).numel


class Accuracy(Hits, code=310, mnemonic="ACCURACY", category="metric"):
    """Fraction of entries predicted correctly.

    categorical: argmax p == argmax t; sparse: argmax p == t; binary: (p > threshold) == t, averaged
    over the last dimension too. The first of equal maxima counts. No gradient.
    """

    synopsis = "{y} = accuracy({p}, {t})"


class WeightedAccuracy(Hits, code=519, mnemonic="WEIGHTED_ACCURACY", category="metric", since=2):
    """Fraction of the weight of entries that are predicted correctly.

    Σ weight·right / Σ weight, and 0 where all weights are 0; what is right is what ACCURACY counts.
    Weights are those of entries [N] or of positions [N,…]. No gradient.
    """

    synopsis = "{y} = accuracy({p}, {t}) weighted by {weights}"
    merges = MappingProxyType({"weights": 0})

    weights = reads("Weight of each entry [N], or of each position [N,…].", differentiable=False)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar, when targets and weights fit the predictions."""
        p = of(self.p).shape
        positions = p if self.kind == "binary" else p[:-1]
        require_leading(self.mnemonic, "weights", of, self.weights, positions)
        return super().infer(of)
