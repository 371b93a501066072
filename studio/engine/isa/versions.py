"""Versions of the file forms: which one a program needs, and what an older file may not hold.

Version 1 is written wherever it suffices. Version 2 adds sections whose lines alternate, the
section ``setup``, ``partial`` and int8 tensors, the instructions, operands and tail entries that
are declared with ``since=2``, and shapes of operands that older instructions did not take.
"""

from __future__ import annotations

from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Tensor
from studio.engine.isa.fields import Attr, Operand
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import SETUP, Program

NEWEST = 2


def program_version(program: Program) -> int:
    """The version of the forms that a program needs."""
    found = 2 if program.order or SETUP in program.sections else 1
    found = max([found, *(tensor_version(t) for t in program.tensors.values())])
    found = max([found, *(line_version(ins) for ins in program)])
    return max([found, *(ins.types_since(program.type_of) for ins in program)])


def tensor_version(tensor: Tensor) -> int:
    """The version a tensor needs."""
    return 2 if tensor.partial or tensor.dtype is DType.int8 else 1


def line_version(ins: Instruction) -> int:
    """The version an instruction needs: its class, and what is there of operands and the tail."""
    return max([ins.since, *(spec.since for spec in _newer_present(ins))])


def check_version(version: int, who: str = "") -> None:
    """FormatError for a version that this Glassbox cannot read."""
    if version < 1:
        raise FormatError(f"there is no version {version} of the format", who=who)
    if version > NEWEST:
        raise FormatError(
            f"written by version {version} of the format, this reads up to {NEWEST}",
            who=who,
            hint="update Glassbox",
        )


def check_tensor(tensor: Tensor, version: int) -> None:
    """FormatError where a tensor needs a newer version than its file says."""
    kind = "partial" if tensor.partial else tensor.dtype.name
    check_needed(tensor_version(tensor), version, f"{kind} tensor {tensor.id:#x}")


def check_section(section: str, version: int) -> None:
    """FormatError where a section is newer than its file says."""
    check_needed(2 if section == SETUP else 1, version, f"section {section}")


def check_line(ins: Instruction, version: int) -> None:
    """FormatError where an instruction or a part of it is newer than its file says."""
    check_needed(ins.since, version, ins.mnemonic)
    for spec in _newer_present(ins):
        kind = "operand" if isinstance(spec, Operand) else "tail entry"
        check_needed(spec.since, version, f"{kind} {spec.name!r} of {ins.mnemonic}")


def check_types(program: Program, version: int) -> None:
    """FormatError where an instruction has operands of a shape that its file's version lacks."""
    for ins in program:
        needed = ins.types_since(program.type_of)
        check_needed(needed, version, f"{ins.mnemonic} with operands of these shapes")


def check_needed(needed: int, version: int, what: str) -> None:
    """FormatError where something needs a newer version than its file says.

    Args:
        needed: the version it needs.
        version: what the file says.
        what: what needs it, as the subject of a sentence.
    """
    if needed > version:
        raise FormatError(f"{what} needs version {needed} of the format, the file says {version}")


def _newer_present(ins: Instruction) -> list[Operand | Attr[Any]]:
    """Operands and tail entries that are newer than their class and are there."""
    operands = [f for f in ins.newer_operands if any(ref.present for ref in ins.refs(f.name))]
    return [*operands, *(a for a in ins.newer_attrs if not a.is_default(ins.value(a.name)))]
