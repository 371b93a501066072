"""What both window poolings share."""

from __future__ import annotations

from studio.engine.cpu.convolution.windows import Geometry
from studio.engine.cpu.memory.views import Views
from studio.engine.isa.instruction import Instruction

ELEMENTS = 1 << 15
"""Elements of the result worked on at once."""


def pool_geometry(ins: Instruction, views: Views) -> Geometry:
    """The window of a pooling instruction or its gradient."""
    window = (ins.value("window_h"), ins.value("window_w"))
    return Geometry.of(ins, window, views.shape(ins.ref("y")))
