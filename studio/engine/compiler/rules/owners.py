"""Rules about owners: the layers, or the housekeeping, that a line belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rules.breach import Breach
from studio.engine.isa.program import Program


def check_owner_names(program: Program) -> Iterator[Breach]:
    """Owners without a name, and owners a line has twice."""
    for _, index, ins in program.located():
        if not all(owner.strip() for owner in ins.owners):
            yield Breach("owners have names", f"owners are {ins.owners}", index)
        if len(set(ins.owners)) < len(ins.owners):
            yield Breach("a line has each owner once", f"owners are {ins.owners}", index)


def check_owned(program: Program) -> Iterator[Breach]:
    """Lines without an owner, which no message and no profile could place in the network."""
    for _, index, ins in program.located():
        if not ins.owners:
            yield Breach("every instruction has an owner", "it has none", index)
