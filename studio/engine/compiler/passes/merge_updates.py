"""Updates all parameters in one kernel."""

from __future__ import annotations

from studio.engine.compiler.fusion import fused, in_groups
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
    lines = program.section("update")
    if in_groups(program.with_sections(**{n: () for n in program.sections if n != "update"})):
        return program
    gathering = _Gathering(program)
    for ins in lines:
        gathering.take(ins)
    gathering.release_all()
    return program.with_sections(update=gathering.done) if lines else program


class _Gathering:
    """Updates waiting for others of their kind, and the lines put down so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.waiting: dict[tuple[object, ...], list[Instruction]] = {}
        self.done: list[Instruction] = []

    def take(self, ins: Instruction) -> None:
        """Put a line down, or let it wait; what it clashes with goes first."""
        for key, group in list(self.waiting.items()):
            if any(self._clash(ins, member) for member in group):
                self._release(key)
        if isinstance(ins, Update):
            self.waiting.setdefault(alike(ins), []).append(ins)
        else:
            self.done.append(ins)

    def release_all(self) -> None:
        """Put everything down that still waits."""
        for key in list(self.waiting):
            self._release(key)

    def _release(self, key: tuple[object, ...]) -> None:
        group = self.waiting.pop(key)
        self.done += group if len(group) == 1 else fused("update", group)

    def _clash(self, ins: Instruction, member: Instruction) -> bool:
        reads, writes = self._touched(ins)
        held, changed = self._touched(member)
        return bool(writes & (held | changed) or reads & changed)

    def _touched(self, ins: Instruction) -> tuple[frozenset[Storage], frozenset[Storage]]:
        return self.program.reads(ins), self.program.writes(ins)
