"""Which taps of a strided convolution the pixels of its input meet, axis by axis.

Pixels a stride apart meet the same taps, the others of the window none of them: those pixels are a
phase. The gradient of the input is one product for each phase, over its own taps only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from studio.engine.gl.kernels.specs import BoundInstruction


class Phase(NamedTuple):
    """Every ``stride``-th pixel along one axis.

    Attributes:
        pixel: the first.
        reach: position of the result it meets through the first tap; may lie outside.
        tap: the first tap; 0 where there is none.
        taps: how many taps its pixels meet.
    """

    pixel: int
    reach: int
    tap: int
    taps: int


def axis_phases(stride: int, dilation: int, pad: int, taps: int) -> tuple[Phase, ...]:
    """The phases of one axis, those of the most taps first.

    The taps of a phase are ``stride / gcd(stride, dilation)`` apart, and the positions met through
    them ``dilation / gcd(stride, dilation)``.

    Args:
        stride: pixels from one window to the next.
        dilation: pixels from one tap to the next.
        pad: pixels the first window begins before the first pixel.
        taps: of the window.
    """
    apart = stride // gcd(stride, dilation)
    found = []
    for rest in range(stride):
        pixel = (rest - pad) % stride
        meeting = [tap for tap in range(min(apart, taps)) if tap * dilation % stride == rest]
        tap = meeting[0] if meeting else 0
        count = (taps - tap + apart - 1) // apart if meeting else 0
        found.append(Phase(pixel, (pixel + pad - tap * dilation) // stride, tap, count))
    return tuple(sorted(found, key=lambda phase: -phase.taps))


class PhaseGrid:
    """The phases of a convolution's input along both axes.

    Args:
        op: a gradient of a convolution.
    """

    def __init__(self, op: BoundInstruction) -> None:
        ins = op.ins
        self.strides: tuple[int, int] = (ins.value("stride_h"), ins.value("stride_w"))
        self.dilations: tuple[int, int] = (ins.value("dil_h"), ins.value("dil_w"))
        pads = (ins.value("pad_h"), ins.value("pad_w"))
        axes = zip(self.strides, self.dilations, pads, op.shape("w")[:2], strict=True)
        self.axes = tuple(axis_phases(*axis) for axis in axes)
        _, height, width, _ = op.shape("x")
        self.size = (height, width)

    @property
    def count(self) -> int:
        """Phases in all; each pixel is of one."""
        return self.strides[0] * self.strides[1]

    @property
    def pixels(self) -> int:
        """Pixels of a phase of one picture, those counted that lie beyond its edge."""
        (height, width), (down, across) = self.size, self.strides
        return -(-height // down) * -(-width // across)

    @property
    def taps(self) -> tuple[int, ...]:
        """How many taps there are phases with, the most first."""
        down, across = self.axes
        return tuple(sorted({a.taps * b.taps for a in down for b in across}, reverse=True))

    def macros(self) -> dict[str, int | str]:
        """What the kernel has to know."""
        found: dict[str, int | str] = {"PHASED": 1, "TAPS_DOWN": self.axes[0][0].taps}
        names = zip(("DOWN", "ACROSS"), self.axes, self.strides, self.dilations, strict=True)
        for name, phases, stride, dilation in names:
            shared = gcd(stride, dilation)
            found[name] = _table(phases)
            found[f"{name}_TAP"] = stride // shared
            found[f"{name}_REACH"] = dilation // shared
        return found


def _table(phases: Sequence[Phase]) -> str:
    listed = ", ".join(f"ivec4({', '.join(map(str, phase))})" for phase in phases)
    return f"ivec4[{len(phases)}]({listed})"
