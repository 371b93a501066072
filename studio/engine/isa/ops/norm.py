"""Batch normalisation (Ioffe and Szegedy 2015)."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape, TensorType
from studio.engine.isa.families import require_equal
from studio.engine.isa.fields import flag, number, reads, updates, writes
from studio.engine.isa.instruction import Effects, Instruction, Twin, TypeOf


class BatchNormBase(Instruction, category="normalisation"):
    """Operands and effects of both batch normalisations.

    Training uses the statistics of the batch and updates running = (1 - factor)·running +
    factor·batch with the biased variance; it leaves the batch mean and 1/√(var + eps) in the
    gradient storages of ``mean`` and ``var`` for the backward pass. A ``frozen`` instruction uses
    the running statistics and changes nothing.
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

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x, when the parameters fit."""
        x = of(self.x)
        if len(x.shape) < 2:
            raise ShapeError(f"x needs a batch dimension and features: got {x}", who=self.mnemonic)
        wanted = self.statistics_shape(x.shape)
        for name in ("gamma", "beta", "mean", "var"):
            if self.ref(name).present:
                require_equal(self.mnemonic, name, of(self.ref(name)).shape, wanted)
        return (x,)

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
    def saved_statistics(cls, twin: Twin) -> frozenset[Ref]:
        """Batch statistics, or the running ones when frozen."""
        refs = (twin.ref("mean"), twin.ref("var"))
        return frozenset(refs if twin.value("frozen") else (r.gradient for r in refs))

    def flops(self, of: TypeOf) -> int:
        """Four per element with batch statistics, two without, plus the scale."""
        return of(self.y).numel * (2 if self.frozen else 6)

    @classmethod
    def grad_flops(cls, twin: Twin, of: TypeOf) -> int:
        """Two reductions and the correction per element."""
        return 9 * of(twin.ref("x")).numel


def is_affine(ins: Instruction) -> bool:
    """Whether an instruction only scales and shifts: a normalisation by running statistics."""
    return isinstance(ins, BatchNormBase) and bool(ins.frozen)


class BatchNorm(BatchNormBase, code=7, mnemonic="BATCHNORM", twin=("x", "gamma")):
    """Batch normalisation per activation.

    y = gamma·(x - mean)/√(var + eps) + beta with statistics over the batch dimension only;
    parameters have the shape of one entry.
    """

    synopsis = "{y} = batchnorm({x})"

    @staticmethod
    def statistics_shape(shape: Shape) -> Shape:
        """Shape of one entry of the batch."""
        return shape[1:]


class BatchNorm2D(BatchNormBase, code=14, mnemonic="BATCHNORM2D", twin=("x", "gamma")):
    """Batch normalisation per channel.

    y = gamma·(x - mean)/√(var + eps) + beta with statistics over every dimension but the last;
    parameters are [C].
    """

    synopsis = "{y} = batchnorm({x})"
