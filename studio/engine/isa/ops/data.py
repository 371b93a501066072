"""Data: gathering batches on the device, the step block, the metrics ring, normalisation."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, Ref, TensorType
from studio.engine.isa.families import broadcast_shapes
from studio.engine.isa.fields import choice, reads, reads_many, updates, writes
from studio.engine.isa.instruction import Instruction, TypeOf

STEP_WORDS = 8
"""Length of a step block: int32 words, see ``StepWord``."""


class StepWord:
    """Index of each word of a step block.

    ``OFFSET`` is added to an index out of ``order`` to give the number of the sample in the whole
    data set; it is 0 unless only a shard of the set is resident.
    """

    STEP = 0
    EPOCH = 1
    CURSOR = 2
    UPDATES = 3
    RECORD = 4
    SEED_LOW = 5
    SEED_HIGH = 6
    OFFSET = 7


class DataMove(Instruction, category="data"):
    """Instructions that feed a step cost no arithmetic."""

    def flops(self, of: TypeOf) -> int:
        """None."""
        return 0


class GatherBatch(DataMove, code=320, mnemonic="GATHER_BATCH"):
    """Copy the next batch out of the resident data set.

    y[i] = data[order[cursor + i]] for i in 0..N-1, cursor from the step block. Indices past the end
    of order wrap round.
    """

    synopsis = "{y} = {data}[{order}[cursor:]]"
    data = reads("The resident data set [D,…].", differentiable=False)
    order = reads("Order of the samples [D], int32.", differentiable=False)
    step = reads("Step block.", differentiable=False)
    y = writes("The batch [N,…].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """N rows of the data set."""
        data = of(self.data)
        if not data.shape:
            raise ShapeError("a data set needs rows", who=self.mnemonic)
        return (TensorType((BATCH, *data.shape[1:]), data.dtype),)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of the data set and its order what belongs to the batch."""
        y = of(self.y)
        if ref == self.order:
            return y.shape[0]
        return y.numel if ref == self.data else super().moved(ref, of)


class TakeRows(DataMove, code=321, mnemonic="TAKE"):
    """Look rows up in a table.

    y[…] = table[i[…]]; an index outside the table gives NaN. No gradient.
    """

    synopsis = "{y} = {table}[{i}]"
    table = reads("Table [rows,…], float32.", differentiable=False)
    i = reads("Indices, int32.", differentiable=False)
    y = writes("Rows.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of i followed by that of a row."""
        table = of(self.table)
        return (TensorType((*of(self.i).shape, *table.shape[1:]), table.dtype),)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of the table the rows looked up."""
        return of(self.y).numel if ref == self.table else super().moved(ref, of)


class Normalize(Instruction, code=322, mnemonic="NORMALIZE", category="data"):
    """Turn raw input into what the network sees.

    scale and shift broadcast. x may be of any storage type. The
    gradient is not taken.
    """

    synopsis = "{y} = {x}·{scale} + {shift}"
    elementwise = False  # It reads raw input of any dtype: it joins no group.
    formula = "float(x) * scale + shift"
    x = reads("Raw input, any dtype.", differentiable=False)
    scale = reads("Factor, float32.", differentiable=False)
    shift = reads("Offset, float32.", differentiable=False)
    y = writes("Normalised input, float32.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x, as float32."""
        x = of(self.x)
        for ref in (self.scale, self.shift):
            if broadcast_shapes(self.mnemonic, x.shape, of(ref).shape) != x.shape:
                raise ShapeError(f"scale and shift must broadcast to {x}", who=self.mnemonic)
        return (TensorType(x.shape, DType.float32),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per element."""
        return 2 * of(self.y).numel


class Dequantize(Instruction, code=325, mnemonic="DEQUANTIZE", category="data", since=2):
    """Widen weights that are stored small.

    y = x·scale, where scale broadcasts: it is as long as x along the axes of the output channels
    and 1 long along all others. x may be of any storage type; weights are int8, or float16 where a
    normalisation was folded into the scale. The gradient is not taken.
    """

    synopsis = "{y} = {x}·{scale}"
    elementwise = False  # It reads storage types: it joins no group.
    formula = "float(x) * scale"
    x = reads("Weights as stored, any dtype.", differentiable=False)
    scale = reads(
        "What a weight of each channel is multiplied with, float32.", differentiable=False
    )
    y = writes("The weights, float32.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x, as float32."""
        x, scale = of(self.x), of(self.scale)
        if broadcast_shapes(self.mnemonic, x.shape, scale.shape) != x.shape:
            raise ShapeError(f"the scales {scale} must broadcast to {x}", who=self.mnemonic)
        return (TensorType(x.shape, DType.float32),)


class Quantize(Instruction, code=540, mnemonic="QUANTIZE", category="data", since=2):
    """Store numbers in bytes.

    y = x/scale, rounded half to even, + zero, kept within the range of ``dtype``; scale and zero
    broadcast: they are one number, or as long as x along the channels. NaN becomes 0. DEQUANTIZE
    is the way back where zero is 0. The gradient is not taken.
    """

    synopsis = "{y} = {dtype}({x}/{scale} + {zero})"
    elementwise = False  # It writes storage types: it joins no group.
    formula = (
        'clip(round(x / scale) + round(zero), -128.0 if dtype == "int8" else 0.0, '
        '127.0 if dtype == "int8" else 255.0) if x / scale + zero == x / scale + zero else 0.0'
    )
    x = reads("Numbers, float32.", differentiable=False)
    scale = reads("What 1 stands for, of each channel, float32.", differentiable=False)
    zero = reads("What 0 becomes, of each channel, whole float32.", differentiable=False)
    y = writes("The bytes.")
    dtype = choice("Element type of the result.", "int8", "uint8")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x, as bytes."""
        x = of(self.x)
        if x.dtype is not DType.float32:
            raise ShapeError(f"x must be float32: got {x}", who=self.mnemonic, hint="CAST it first")
        for name, ref in (("scale", self.scale), ("zero", self.zero)):
            if broadcast_shapes(self.mnemonic, x.shape, of(ref).shape) != x.shape:
                raise ShapeError(f"{name} must broadcast to {x}", who=self.mnemonic)
        return (TensorType(x.shape, DType.parse(self.dtype)),)


class Record(DataMove, code=323, mnemonic="RECORD", category="metric"):
    """Write this step's numbers into the metrics ring.

    ring[record mod R] = [v0, v1, …], record from the step block.
    """

    synopsis = "{ring}[record] = {values}"
    values = reads_many("Scalars.", differentiable=False)
    ring = updates("Metrics ring [R,k].")
    step = reads("Step block.", differentiable=False)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of the ring one entry."""
        return of(ref).shape[1] if ref == self.ring else super().moved(ref, of)


class Advance(DataMove, code=324, mnemonic="ADVANCE"):
    """Move the step block on by one step.

    step, record += 1; cursor += N, the batch length of x.
    """

    synopsis = "{step} += 1 step of {x}"
    x = reads("A tensor of the batch; only its length counts.", differentiable=False)
    step = updates("Step block.")

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Nothing of the batch."""
        return 0 if ref == self.x else super().moved(ref, of)
