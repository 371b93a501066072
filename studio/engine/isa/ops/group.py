"""Markers round a fused kernel: the ordinary instructions between them run as one."""

from __future__ import annotations

from studio.engine.isa.fields import choice
from studio.engine.isa.instruction import Instruction


class Fuse(Instruction, code=380, mnemonic="FUSE", category="group"):
    """Begin a fused kernel.

    kind=epilogue: one producer, forward or gradient, followed by element-wise instructions on what
    it makes (normalisations by running statistics count as such), and last by sums of columns of
    what is made; kind=chain: element-wise instructions only; kind=update: one update instruction
    per parameter, all alike; kind=row_loss: LINEAR, ROW_CE or ROW_SPARSE_CE of its result, and
    perhaps the gradient of that loss, and behind it GRADS_LINEAR for x alone with element-wise
    gradients of what it makes.
    """

    synopsis = "begin fused kernel"
    kind = choice("What is fused.", "epilogue", "chain", "update", "row_loss")


class End(Instruction, code=381, mnemonic="END", category="group"):
    """End a fused kernel."""

    synopsis = "end fused kernel"
