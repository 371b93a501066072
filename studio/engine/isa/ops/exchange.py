"""What workers of one training exchange."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.fields import side_input, updates_many
from studio.engine.isa.instruction import Instruction, TypeOf


class AllReduce(Instruction, code=550, mnemonic="ALLREDUCE", category="update", since=2):
    """Replace tensors by their means over all workers.

    x = Σ over workers share·x, where share is the worker's part of the rows of the batch: the mean
    over all rows where x is one over a worker's rows. All workers get the same bits. The tensors of
    a line travel as one bucket; the line begins the exchange, and the first line behind it that
    reads one of them waits for it. No gradient.

    With ``rows``, x is what COLUMN_STATS found of that tensor. Then x[0,c] becomes the mean m[c] of
    the rows of all workers, and x[1,c] becomes n·Σ share·(x[1,c]/n + (x[0,c] - m[c])²): their
    variance times the number n of this worker's rows.
    """

    synopsis = "{xs} = mean over workers"
    xs = updates_many("Tensors of fixed shape, float32.")
    rows = side_input(
        "Tensor whose column statistics are joined with those of other workers.", since=2
    )

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """No results: tensors are replaced in place, and none may have a batch axis."""
        if self.rows.present:
            self._check_statistics(of)
        for ref in self.xs:
            found = of(ref)
            if found.dtype is not DType.float32 or any(size < 0 for size in found.shape):
                raise ShapeError(
                    f"workers exchange float32 of fixed shape: got {found}", who=self.mnemonic
                )
        return ()

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per element."""
        return 2 * sum(of(ref).numel for ref in self.xs)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """All of it, once each way; of ``rows`` only their number is used."""
        return 0 if ref == self.rows else of(ref).numel

    def _check_statistics(self, of: TypeOf) -> None:
        rows = of(self.rows)
        found = [of(ref) for ref in self.xs]
        if len(rows.shape) < 2 or [each.shape for each in found] != [(2, rows.shape[-1])]:
            raise ShapeError(
                f"expected the statistics of the columns of {rows}, [2, columns]: got "
                f"{', '.join(map(str, found))}",
                who=self.mnemonic,
            )
