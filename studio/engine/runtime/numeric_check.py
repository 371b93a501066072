"""Words for the first NaN or infinity that check mode meets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import NumericError
from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program

Array = npt.NDArray[np.generic]
Contents = Callable[[Ref], Array | None]


def first_bad(array: Array) -> tuple[tuple[int, ...], float] | None:
    """Index and value of the first element, in row-major order, that is NaN or infinite."""
    if array.dtype.kind != "f":
        return None
    bad = ~np.isfinite(array)
    if not bad.any():
        return None
    place = np.unravel_index(int(np.argmax(bad)), array.shape) if array.ndim else ()
    index = tuple(int(i) for i in place)
    return index, float(np.asarray(array[index], np.float64))


def check_results(program: Program, index: int, ins: Instruction, contents: Contents) -> None:
    """NumericError if anything the instruction wrote holds a NaN or an infinity.

    Args:
        program: whose instruction it is.
        index: its running index.
        ins: the instruction, just run.
        contents: gives the elements of an operand, ``None`` where they are not kept.

    The message names line, layer, the storage with its first bad element, and which operands the
    instruction read are bad themselves.
    """
    effects = ins.effects()
    for ref in sorted(effects.writes):
        array = contents(ref)
        found = None if array is None else first_bad(array)
        if found is not None:
            raise _error(program, index, ins, ref, found, contents)


def _error(
    program: Program,
    index: int,
    ins: Instruction,
    ref: Ref,
    found: tuple[tuple[int, ...], float],
    contents: Contents,
) -> NumericError:
    place, value = found
    effects = ins.effects()
    inputs = sorted(effects.reads - effects.writes)
    held = []
    for other in inputs:
        array = contents(other)
        if array is not None and first_bad(array) is not None:
            held.append(named(program, other))
    operands = ", ".join(named(program, other) for other in inputs) or "nothing"
    owners = ", ".join(ins.owners)
    element = f"[{', '.join(map(str, place))}]" if place else "its only element"
    hint = (
        f"{' and '.join(held)} held NaN or infinity before: look at what wrote it"
        if held
        else "its operands were finite: look at their size, at the learning rate, or at the data"
    )
    return NumericError(
        f"{named(program, ref)} must be finite: got {value:g} at {element}, written by line "
        f"{index} `{format_line(ins)}` from {operands}",
        who=ins.mnemonic,
        hint=hint,
        origin=f"layer {owners}" if owners else f"line {index}",
    )


def named(program: Program, ref: Ref) -> str:
    """An operand as ``0x9 conv1/output``, with ``gradient of`` in front where that is meant."""
    text = f"{ref} {program.tensors[ref.id].name}"
    return f"gradient of {text}" if ref.grad else text
