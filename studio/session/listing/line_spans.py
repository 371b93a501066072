"""Where the registers stand in the text of an instruction, so that they can be links."""

from __future__ import annotations

import re
from typing import NamedTuple

from studio.engine.core.tensor import Ref
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction

_REGISTER = re.compile(r"(?<=[ =])0x(?:-|[0-9a-f]+(?:\.grad)?)(?=[ }]|\Z)")


class OperandSpan(NamedTuple):
    """One register in a line.

    Attributes:
        start: index of its first character.
        end: index behind its last one.
        ref: the tensor or gradient it names; absent for ``0x-``.
        name: the operand's name in the instruction's declaration.
        access: what the instruction does with it; a gradient instruction prints the operands of
            its forward instruction and touches their gradients too.
    """

    start: int
    end: int
    ref: Ref
    name: str
    access: Access


def operand_spans(instruction: Instruction, text: str) -> tuple[OperandSpan, ...]:
    """The registers of a line, left to right; ``text`` is what `format_line` makes of it."""
    printed = [pair for pair in instruction.named_operands() if not pair[0].tail]
    printed += [p for p in instruction.named_operands() if p[0].tail and p[1].present]
    found = _REGISTER.finditer(text)
    return tuple(
        OperandSpan(*match.span(), ref, spec.name, spec.access)
        for (spec, ref), match in zip(printed, found, strict=True)
    )
