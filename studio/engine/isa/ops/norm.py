"""Batch normalisation (Ioffe and Szegedy 2015)."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape, TensorType
from studio.engine.isa.families import require_equal
from studio.engine.isa.fields import flag, number, reads, side_input, updates, writes
from studio.engine.isa.instruction import Effects, GradInstruction, Instruction, TypeOf

REDUCTION_FLOPS = 4
"""Operations per element of the sums a batch normalisation begins with, forward and backward."""


class BatchNormBase(Instruction, category="normalisation"):
    """Operands and effects of both batch normalisations.

    Training uses the statistics of the batch and updates running = (1 - factor)·running +
    factor·batch with the biased variance; it leaves the batch mean and 1/√(var + eps) in the
    gradient storages of ``mean`` and ``var`` for the backward pass. A ``frozen`` instruction uses
    the running statistics and changes nothing, and takes no ``stats``. With ``stats`` the
    reductions over the rows have been made by another instruction, and are only joined here.
    """

    x = reads("Input [N,…,C].")
    y = writes("Output, shape of the input.")
    gamma = reads("Scale, or 0x- for 1.", optional=True)
    beta = reads("Shift, or 0x- for 0.", optional=True)
    mean = updates("Running mean; its gradient storage keeps the batch mean.")
    var = updates("Running variance; its gradient storage keeps 1/√(batch variance + eps).")
    eps = number("Added to the variance.", 1e-3, low=0.0)
    factor = number("Weight of the batch in the running statistics.", 0.01, low=0.0, high=1.0)
    frozen = flag("Use the running statistics and leave them alone.")
    stats = side_input(
        "What COLUMN_STATS found of x, or for the gradient COLUMN_PRODUCTS of the gradient of y.",
        since=2,
        partial=True,
    )

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x, when the parameters fit."""
        x = of(self.x)
        if len(x.shape) < 2:
            raise ShapeError(f"x needs a batch dimension and features: got {x}", who=self.mnemonic)
        wanted = self.statistics_shape(x.shape)
        for name in ("gamma", "beta", "mean", "var"):
            if self.ref(name).present:
                require_equal(self.mnemonic, name, of(self.ref(name)).shape, wanted)
        if self.stats.present:
            self._check_stats(of(self.stats), TensorType((2, *wanted)))
        return (x,)

    def _check_stats(self, found: TensorType, wanted: TensorType) -> None:
        if self.frozen:
            raise ShapeError("a frozen normalisation takes no stats", who=self.mnemonic)
        if found != wanted:
            raise ShapeError(f"stats must be {wanted}: got {found}", who=self.mnemonic)

    @staticmethod
    def statistics_shape(shape: Shape) -> Shape:
        """Shape of the statistics for an input of ``shape``: the channels."""
        return (shape[-1],)

    def _found_effects(self) -> Effects:
        """Running statistics are only read when frozen; else they change, batch ones are kept."""
        base = super()._found_effects()
        state = frozenset({self.mean, self.var})
        if self.frozen:
            return Effects(base.reads, base.writes - state, base.accumulates)
        return Effects(base.reads, base.writes | {r.gradient for r in state}, base.accumulates)

    @classmethod
    def saved_statistics(cls, grad_ins: GradInstruction) -> frozenset[Ref]:
        """Batch statistics, or the running ones when frozen; sums that were made before."""
        refs = (grad_ins.ref("mean"), grad_ins.ref("var"))
        kept = refs if grad_ins.value("frozen") else tuple(r.gradient for r in refs)
        return frozenset((*kept, grad_ins.ref("stats")) if grad_ins.ref("stats").present else kept)

    def flops(self, of: TypeOf) -> int:
        """Two per element for the scale, and the reductions where it makes them itself."""
        given = self.frozen or self.stats.present
        return of(self.y).numel * (2 if given else 2 + REDUCTION_FLOPS)

    @classmethod
    def grad_flops(cls, grad_ins: GradInstruction, of: TypeOf) -> int:
        """The correction per element, and the reductions where it makes them itself."""
        each = 5 if grad_ins.ref("stats").present else 5 + REDUCTION_FLOPS
        return each * of(grad_ins.ref("x")).numel


def is_affine(ins: Instruction) -> bool:
    """Whether an instruction only scales and shifts: a normalisation by running statistics."""
    return isinstance(ins, BatchNormBase) and bool(ins.frozen)


class BatchNorm(BatchNormBase, code=7, mnemonic="BATCHNORM", saves=("x", "gamma")):
    """Batch normalisation per activation.

    y = gamma·(x - mean)/√(var + eps) + beta with statistics over the batch dimension only;
    parameters have the shape of one entry.
    """

    synopsis = "{y} = batchnorm({x})"

    @staticmethod
    def statistics_shape(shape: Shape) -> Shape:
        """Shape of one entry of the batch."""
        return shape[1:]


class BatchNorm2D(BatchNormBase, code=14, mnemonic="BATCHNORM2D", saves=("x", "gamma")):
    """Batch normalisation per channel.

    y = gamma·(x - mean)/√(var + eps) + beta with statistics over every dimension but the last;
    parameters are [C].
    """

    synopsis = "{y} = batchnorm({x})"


class ColumnSums(Instruction, category="normalisation"):
    """Two sums over the rows of each column, what a batch normalisation begins with.

    Rows are all dimensions but the last. A partial result is stored in parts, each over some of the
    rows: all parts of the first sum, then all of the second. Its reader joins them.
    """

    def flops(self, of: TypeOf) -> int:
        """The sums of every element."""
        return REDUCTION_FLOPS * of(self.source).numel

    @property
    def source(self) -> Ref:
        """The storage whose columns are summed."""
        return self.operands[0]


class ColumnStats(ColumnSums, code=382, mnemonic="COLUMN_STATS", since=2):
    """Mean and sum of squared deviations of each column.

    y[0,c] = mean of x[…,c]; y[1,c] = Σ (x[…,c] - y[0,c])², over all dimensions but the last. A
    partial result holds that of several groups of rows: their means, then their squares; its reader
    joins them (Chan, Golub and LeVeque 1979).
    """

    synopsis = "{y} = mean and squared deviations of the columns of {x}"

    x = reads("Input [N,…,C].")
    y = writes("Statistics [2,C], may be partial.", partial=True)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Two rows of the columns of x."""
        return (TensorType((2, _columns(self.mnemonic, of(self.x)))),)


class ColumnProducts(ColumnSums, code=383, mnemonic="COLUMN_PRODUCTS", since=2):
    """Sums of a gradient, and of it times what another tensor is away from its mean.

    y[0,c] = Σ dy[…,c]; y[1,c] = Σ dy[…,c]·(x[…,c] - mean[c]), over all dimensions but the last. A
    partial result holds that of several groups of rows; its reader adds them up.
    """

    synopsis = "{y} = sums of the columns of {dy} and of {dy} times {x} less {mean}"

    dy = reads("Gradient [N,…,C], as 0x9.grad.")
    x = reads("Input of the normalisation, shape of dy.")
    mean = reads("Mean of the columns of x [C].")
    y = writes("Sums [2,C], may be partial.", partial=True)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Two rows of the columns of x."""
        x = of(self.x)
        columns = _columns(self.mnemonic, x)
        require_equal(self.mnemonic, "dy", of(self.dy).shape, x.shape)
        require_equal(self.mnemonic, "mean", of(self.mean).shape, (columns,))
        return (TensorType((2, columns)),)


def _columns(who: str, found: TensorType) -> int:
    """The last dimension of a matrix."""
    if len(found.shape) < 2:
        raise ShapeError(f"x needs rows and columns: got {found}", who=who)
    return found.shape[-1]
