"""Lets the first writer of a gradient set it, so that nothing has to clear it first."""

from __future__ import annotations

from collections.abc import Sequence

from studio.engine.compiler.rewriting import with_lines
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.move import Slice, Zero
from studio.engine.isa.program import Program, Storage

PARTIAL = (Slice,)
"""Forward classes whose gradient reaches only a part of its target."""


def set_first_gradients(program: Program) -> Program:
    """The program with ``ZERO g`` and the first accumulation into g made one setting of g.

    Only where the first writer covers the whole storage, and where for an operand list all its
    storages are written for the first time and are different ones.
    """
    lines = list(program)
    cleared: dict[Storage, int] = {}
    changes: dict[int, tuple[Instruction, ...]] = {}
    for index, ins in enumerate(lines):
        if isinstance(ins, Zero) and ins.y.grad:
            cleared[program.storage(ins.y)] = index
            continue
        if isinstance(ins, GradInstruction):
            taken = _settable(program, ins, cleared)
            for storages in taken.values():
                for storage in storages:
                    changes[cleared.pop(storage)] = ()
            if taken:
                names = (*ins.value("set"), *taken)
                changes[index] = (ins.replace(set=names),)
        for storage in program.reads(ins) | program.writes(ins):
            cleared.pop(storage, None)
    return with_lines(program, changes)


def _settable(
    program: Program, ins: GradInstruction, cleared: dict[Storage, int]
) -> dict[str, list[Storage]]:
    """Operand names that may be set, with the storages behind them."""
    if issubclass(ins.forward, PARTIAL):
        return {}
    by_name: dict[str, list[Storage]] = {}
    for name, ref in ins.targets():
        by_name.setdefault(name, []).append(program.storage(ref))
    found: dict[str, list[Storage]] = {}
    met: set[Storage] = set()
    for name, storages in by_name.items():
        if _fresh(storages, cleared, met) and not ins.sets(name):
            found[name] = storages
        met.update(storages)
    return found


def _fresh(storages: Sequence[Storage], cleared: dict[Storage, int], met: set[Storage]) -> bool:
    return len(set(storages)) == len(storages) and all(
        s in cleared and s not in met for s in storages
    )
