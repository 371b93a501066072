"""Convolutions: channels last, weights HWIO."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType, shape_text
from studio.engine.isa.families import (
    PICTURES,
    require_equal,
    require_pictures,
    require_products,
    require_rank,
)
from studio.engine.isa.fields import integer, integers, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf


def window_out(who: str, size: int, window: int, stride: int, pads: int) -> int:
    """Output length of a sliding window: floor((size + pads - window)/stride) + 1."""
    room = size + pads - window
    if room < 0:
        raise ShapeError(
            f"a window of {window} must fit the padded input: got {size} + {pads} padding",
            who=who,
            hint="make the kernel smaller, or use padding 'same'",
        )
    return room // stride + 1


class Windowed(Instruction, category="convolution"):
    """Shared geometry of convolutions: strides, pads (begin, and end where different), dilation."""

    merges = PICTURES
    stride_h = integer("Step between rows.", 1, low=1, high=2**15)
    stride_w = integer("Step between columns.", 1, low=1, high=2**15)
    pad_h = integer("Zero rows above (and below, unless pad_end says otherwise).", 0, low=0)
    pad_w = integer("Zero columns left (and right, unless pad_end says otherwise).", 0, low=0)
    dil_h = integer("Distance between filter rows.", 1, low=1, high=2**15)
    dil_w = integer("Distance between filter columns.", 1, low=1, high=2**15)
    pad_end = integers("Zero rows below and columns right, where they differ from pad_h, pad_w.")

    def ends(self) -> tuple[int, int]:
        """Zero rows below and zero columns right."""
        return geometry_ends(self)

    def output_size(self, height: int, width: int, kh: int, kw: int) -> tuple[int, int]:
        """Output rows and columns for an input of height x width and a kh x kw filter."""
        end_h, end_w = self.ends()
        return (
            window_out(
                self.mnemonic, height, (kh - 1) * self.dil_h + 1, self.stride_h, self.pad_h + end_h
            ),
            window_out(
                self.mnemonic, width, (kw - 1) * self.dil_w + 1, self.stride_w, self.pad_w + end_w
            ),
        )


def geometry_ends(ins: Instruction) -> tuple[int, int]:
    """Rows below and columns right of a windowed instruction or its gradient."""
    ends = ins.value("pad_end")
    if not ends:
        return (ins.value("pad_h"), ins.value("pad_w"))
    if len(ends) != 2 or min(ends) < 0:
        raise ShapeError(f"pad_end takes two counts: got {ends}", who=ins.mnemonic)
    return (ends[0], ends[1])


class Conv2D(Windowed, code=3, mnemonic="CONV2D", saves=("w", "x")):
    """Two-dimensional cross-correlation.

    y[n,i,j,k] = b[k] + Σ x[n, i·sh + r·dh - ph, j·sw + s·dw - pw, c]·w[r,s,c,k]; cells outside x
    count as 0. Output size floor((in + pads - (d·(k-1)+1))/s) + 1. There may be any number of
    dimensions in front of rows and columns, as if n were several.
    """

    synopsis = "{y} = conv({x}, {w}) + {b}"

    w = reads("Weights [kh,kw,in,out].")
    b = reads("Bias [out], or 0x- for none.", optional=True)
    x = reads("Input [N,…,H,W,in].")
    y = writes("Output [N,…,H',W',out].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,…,H',W',out]."""
        require_products(self.mnemonic, of, self.w, self.b, self.x)
        w, x = of(self.w), of(self.x)
        require_rank(self.mnemonic, "w", w, 4)
        lead, rows, columns, channels = require_pictures(self.mnemonic, x)
        kh, kw, cin, cout = w.shape
        if channels != cin:
            raise ShapeError(
                f"the channels of x must equal in = {cin}: got {shape_text(x.shape)}",
                who=self.mnemonic,
            )
        if self.b.present:
            require_equal(self.mnemonic, "b", of(self.b).shape, (cout,))
        height, width = self.output_size(rows, columns, kh, kw)
        return (TensorType((*lead, height, width, cout), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per filter tap of each result, plus the bias."""
        kh, kw, cin, _ = of(self.w).shape
        y = of(self.y).numel
        return 2 * y * kh * kw * cin + (y if self.b.present else 0)


class DepthwiseConv2D(Windowed, code=241, mnemonic="DEPTHWISE_CONV2D", saves=("w", "x")):
    """Convolution of every channel with its own filters.

    y[n,i,j,c·M+m] = b[c·M+m] + Σ x[n, i·sh + r·dh - ph, j·sw + s·dw - pw, c]·w[r,s,c,m].
    """

    synopsis = "{y} = depthwise({x}, {w}) + {b}"

    w = reads("Weights [kh,kw,in,multiplier].")
    b = reads("Bias [in·multiplier], or 0x- for none.", optional=True)
    x = reads("Input [N,…,H,W,in].")
    y = writes("Output [N,…,H',W',in·multiplier].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N,…,H',W',in·multiplier]."""
        require_products(self.mnemonic, of, self.w, self.b, self.x)
        w, x = of(self.w), of(self.x)
        require_rank(self.mnemonic, "w", w, 4)
        lead, rows, columns, channels = require_pictures(self.mnemonic, x)
        kh, kw, cin, multiplier = w.shape
        if channels != cin:
            raise ShapeError(
                f"the channels of x must equal in = {cin}: got {shape_text(x.shape)}",
                who=self.mnemonic,
            )
        if self.b.present:
            require_equal(self.mnemonic, "b", of(self.b).shape, (cin * multiplier,))
        height, width = self.output_size(rows, columns, kh, kw)
        return (TensorType((*lead, height, width, cin * multiplier), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per filter tap of each result, plus the bias."""
        kh, kw, _, _ = of(self.w).shape
        y = of(self.y).numel
        return 2 * y * kh * kw + (y if self.b.present else 0)
