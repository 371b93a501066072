"""Updates all parameters in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from studio.engine.compiler.fusion import fused, in_groups
from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.rules.groups import alike
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program, Storage


def merge_updates(program: Program) -> Program:
    """The program with update instructions that are all alike fused into groups of kind update.

    Updates are alike when optimiser, settings, step block and rate table are. They touch different
    parameters, so a group may stand where its last member stood; it is ended early where a line
    between needs what a member changes.
    """
    grouped = in_groups(program)
    changes: dict[int, Sequence[Instruction]] = {}
    for section, start, lines in program.section_ranges():
        indices = range(start, start + len(lines))
        if section != "update" or not grouped.isdisjoint(indices):
            continue
        gathering = _Gathering(program)
        for ins in lines:
            gathering.take(ins)
        gathering.release_all()
        changes |= dict.fromkeys(indices, ()) | {start: gathering.done}
    return with_lines(program, changes)


@dataclass
class _Group:
    """Updates that wait for others of their kind, and all they touch."""

    members: list[Instruction] = field(default_factory=list)
    reads: set[Storage] = field(default_factory=set)
    writes: set[Storage] = field(default_factory=set)

    def clashes(self, reads: frozenset[Storage], writes: frozenset[Storage]) -> bool:
        """Whether a line that touches these must not change places with a member."""
        return not (
            self.writes.isdisjoint(reads)
            and self.writes.isdisjoint(writes)
            and self.reads.isdisjoint(writes)
        )


class _Gathering:
    """The groups that wait, and the lines put down so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.waiting: dict[tuple[object, ...], _Group] = {}
        self.done: list[Instruction] = []

    def take(self, ins: Instruction) -> None:
        """Put a line down, or let it wait; what it clashes with goes first."""
        reads, writes = self.program.reads(ins), self.program.writes(ins)
        for key in [k for k, group in self.waiting.items() if group.clashes(reads, writes)]:
            self._release(key)
        if not isinstance(ins, Update):
            self.done.append(ins)
            return
        group = self.waiting.setdefault(alike(ins), _Group())
        group.members.append(ins)
        group.reads |= reads
        group.writes |= writes

    def release_all(self) -> None:
        """Put everything down that still waits."""
        for key in list(self.waiting):
            self._release(key)

    def _release(self, key: tuple[object, ...]) -> None:
        members = self.waiting.pop(key).members
        self.done += members if len(members) == 1 else fused("update", members)
