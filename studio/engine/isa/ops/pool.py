"""Pooling over windows of rows and columns, and over the whole image."""

from __future__ import annotations

from types import MappingProxyType

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import PICTURES, require_pictures
from studio.engine.isa.fields import flag, integer, integers, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.ops.conv import geometry_ends, window_out


class Pool2D(Instruction, category="pooling"):
    """Shared operands, geometry and shape rule of window pooling."""

    merges = PICTURES

    x = reads("Input [N,…,H,W,C].")
    y = writes("Output [N,…,H',W',C].")
    window_h = integer("Rows of the window.", 2, low=1, high=2**15)
    window_w = integer("Columns of the window.", 2, low=1, high=2**15)
    stride_h = integer("Step between rows.", 2, low=1, high=2**15)
    stride_w = integer("Step between columns.", 2, low=1, high=2**15)
    pad_h = integer("Rows above (and below, unless pad_end says otherwise).", 0, low=0)
    pad_w = integer("Columns left (and right, unless pad_end says otherwise).", 0, low=0)
    pad_end = integers("Rows below and columns right, where they differ from pad_h, pad_w.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,…,H',W',C] with H' = floor((H + pads - window)/stride) + 1."""
        x = of(self.x)
        lead, height, width, channels = require_pictures(self.mnemonic, x)
        end_h, end_w = geometry_ends(self)
        if max(self.pad_h, end_h) >= self.window_h or max(self.pad_w, end_w) >= self.window_w:
            raise ShapeError("padding must be smaller than the window", who=self.mnemonic)
        out_h = window_out(self.mnemonic, height, self.window_h, self.stride_h, self.pad_h + end_h)
        out_w = window_out(self.mnemonic, width, self.window_w, self.stride_w, self.pad_w + end_w)
        return (TensorType((*lead, out_h, out_w, channels), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """One operation per window cell of each result."""
        return of(self.y).numel * self.window_h * self.window_w


class MaxPool2D(Pool2D, code=4, mnemonic="MAXPOOL2D", saves=("x", "y")):
    """Maximum over windows.

    y = max of the window; padding cells never win. NaN wins. At a tie the gradient goes to the
    first cell in row order.
    """

    synopsis = "{y} = maxpool({x})"


class AvgPool2D(Pool2D, code=5, mnemonic="AVGPOOL2D", saves=()):
    """Mean over windows.

    y = Σ window / (window_h·window_w); with ``exclude`` padding cells leave the divisor as well.
    """

    synopsis = "{y} = avgpool({x})"
    exclude = flag("Divide by the number of cells inside the input only.")


class GlobalAvgPool2D(
    Instruction, code=12, mnemonic="GLOBAL_AVGPOOL2D", category="pooling", saves=()
):
    """Mean over all rows and columns.

    y[n,c] = Σ x[n,i,j,c] / (H·W).
    """

    synopsis = "{y} = mean({x})"
    merges = MappingProxyType({"x": 3, "y": 1})

    x = reads("Input [N,…,H,W,C].")
    y = writes("Output [N,…,C].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,…,C]."""
        x = of(self.x)
        lead, _, _, channels = require_pictures(self.mnemonic, x)
        return (TensorType((*lead, channels), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """One addition per input element."""
        return of(self.x).numel
