"""Check mode for every backend: runs a line, finds its first NaN or infinity, says where from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import NumericError, TensorCopy
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line, number_text
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program
from studio.engine.runtime.entries import Entry

Array = npt.NDArray[np.generic]

_SOURCES = {
    Role.INPUT: "check the input data",
    Role.TARGET: "check the input data",
    Role.DATA: "check the data set",
    Role.STEP: "check the learning rate",
    Role.PARAM: "check the weights that were loaded or updated in the previous step",
    Role.STATE: "check the weights that were loaded or updated in the previous step",
    Role.SLOT: "check the weights that were loaded or updated in the previous step",
}
"""Where what the program itself has not written comes from."""


@dataclass(frozen=True)
class BadNumbers:
    """NaN and infinity among the elements of one storage.

    Attributes:
        count: how many elements are bad.
        numel: how many there are.
        place: coordinates of the first, in row-major order.
        value: what it is.
    """

    count: int
    numel: int
    place: tuple[int, ...]
    value: float


COPIED_BYTES = 256 << 20
"""Bytes copied of what the broken instruction wrote and read; only the first may take more."""

ScanValues = Callable[[Iterable[Ref]], Mapping[Ref, BadNumbers]]
"""Searches storages as they are now; what it returns has only those with bad numbers."""

Read = Callable[[Ref, float], Array | None]
"""Copies a storage as it is now to the host, dense and without its halo.

None, and nothing is copied, for one of more bytes than the second argument says.
"""


def bad_numbers(array: Array) -> BadNumbers | None:
    """The NaN and infinities of an array without its halo; ``None`` where all is finite."""
    if array.dtype.kind != "f":
        return None
    bad = ~np.isfinite(array)
    count = int(np.count_nonzero(bad))
    if not count:
        return None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))
    return BadNumbers(count, array.size, place, float(np.asarray(array[place], np.float64)))


def run_checked(
    program: Program, entry: Entry, run: Callable[[], object], scan: ScanValues, read: Read
) -> None:
    """Run one unfused entry and search everything it wrote.

    Args:
        program: whose entry it is.
        entry: the line, a part of its own.
        run: runs it.
        scan: searches storages.
        read: copies storages of a line that broke.

    Raises:
        NumericError: something written holds a NaN or an infinity. Names the line, its layer, the
            storage with its first bad element, and for every operand read whether it was finite
            before.
    """
    (ins,) = entry.parts
    effects = ins.effects()
    changed = {program.storage(ref) for ref in effects.writes}
    in_place = sorted(r for r in effects.reads if program.storage(r) in changed)
    before = dict(scan(in_place)) if in_place else {}
    run()
    found = scan(sorted(effects.writes))
    if found:
        rest = effects.reads.difference(in_place)
        error = _error(program, entry, min(found), found[min(found)], before | dict(scan(rest)))
        error.tensors = _copies(program, [min(found), *sorted(effects.reads)], read)
        raise error


def written(program: Program, entry: Entry, keep: Iterable[Ref]) -> list[Ref]:
    """Which of the storages an entry writes, perhaps through a view."""
    changed = {program.storage(ref) for ref in entry.writes()}
    return [ref for ref in keep if program.storage(ref) in changed]


def _copies(program: Program, refs: Iterable[Ref], read: Read) -> tuple[TensorCopy, ...]:
    """The storages as they are now, the first whatever its size."""
    found: list[TensorCopy] = []
    left = COPIED_BYTES
    for ref in dict.fromkeys(refs):
        values = read(ref, left if found else math.inf)
        if values is not None:
            found.append(TensorCopy(program.tensor(ref).name, ref.grad, values))
            left -= values.nbytes
    return tuple(found)


def _error(
    program: Program, entry: Entry, ref: Ref, found: BadNumbers, before: Mapping[Ref, BadNumbers]
) -> NumericError:
    (ins,) = entry.parts
    read = sorted(ins.effects().reads)
    operands = [f"{_named(program, r)} ({_state(before.get(r))})" for r in read]
    broken = [f"{name}={number_text(value)}" for name, value in _bad_attributes(ins)]
    # An update belongs to no layer: what it breaks is the layer whose parameter it changes.
    layer = program.tensor(ref).name.rpartition("/")[0] if isinstance(ins, Update) else ""
    owners = layer or ", ".join(ins.owners)
    place = f"[{', '.join(map(str, found.place))}]" if found.place else "its only element"
    return NumericError(
        f"{_named(program, ref)} must be finite: got {found.count} of {found.numel} elements that "
        f"are not, the first {number_text(found.value)} at {place}, written by line {entry.index} "
        f"`{format_line(ins)}` in {entry.section} from "
        f"{', '.join([*operands, *broken]) or 'nothing'}",
        who=ins.mnemonic,
        hint=_hint(program, ins, [r for r in read if r in before], broken),
        origin=f"layer {owners}" if owners else f"line {entry.index}",
    )


def _hint(program: Program, ins: Instruction, held: list[Ref], broken: list[str]) -> str:
    if held:
        names = " and ".join(_named(program, ref) for ref in held)
        roles = [None if r.grad else program.tensor(r).role for r in held]
        advice = [_SOURCES[role] for role in roles if role in _SOURCES]
        advice = advice or ["check the instruction that wrote it"]
        return f"{names} held NaN or infinity before: {', '.join(dict.fromkeys(advice))}"
    if broken:
        return f"{' and '.join(broken)} is NaN or infinite: check the layer's options"
    if isinstance(ins, Update):
        return "its inputs were finite but too large: lower the learning rate or clip gradients"
    return "its inputs were finite: they may be too large, or outside the function's domain"


def _bad_attributes(ins: Instruction) -> list[tuple[str, float]]:
    """Attributes that are no finite numbers, but for those that mean "none" by default."""
    values = [(attr.name, ins.value(attr.name), attr.default) for attr in ins.attr_fields]
    return [
        (name, value)
        for name, value, default in values
        if isinstance(value, float) and not math.isfinite(value) and value != default
    ]


def _state(found: BadNumbers | None) -> str:
    if found is None:
        return "finite"
    return f"{found.count} of {found.numel} NaN or infinite, the first {number_text(found.value)}"


def _named(program: Program, ref: Ref) -> str:
    """An operand as ``0x9 conv1/output``, with ``gradient of`` in front where that is meant."""
    text = f"{ref} {program.tensors[ref.id].name}"
    return f"gradient of {text}" if ref.grad else text
