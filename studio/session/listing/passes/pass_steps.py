"""What each compiler pass did to a program: counts, estimated bytes, and the difference."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from studio.engine.compiler.pipeline import ALGEBRAIC, DIFFERENTIATE, EMIT_UPDATES, JOINT
from studio.engine.isa.program import Program
from studio.engine.runtime.entries import entries
from studio.session.listing.passes.program_diff import DiffLine, program_diff

BASELINE = "baseline"
"""The step from the program that was pinned to the one shown."""

NOTES = {
    BASELINE: "since it was pinned",
    **{each.name: each.note for each in (*ALGEBRAIC, *JOINT)},
    DIFFERENTIATE: "the backward section",
    EMIT_UPDATES: "the update section",
}
"""What each pass does, in a few words."""


class Amounts(NamedTuple):
    """How large a program is.

    Attributes:
        instructions: lines.
        kernels: what runs as one; a fused group counts once.
        tensors: entries of the tensor map.
        nbytes: estimated bytes read and written by a run.
    """

    instructions: int
    kernels: int
    tensors: int
    nbytes: int


class PassStep:
    """One pass that ran.

    Args:
        name: the pass.
        before: the program it got.
        after: the program it gave.
        batch: rows of the batch symbol, for bytes.
        data_rows: rows of the resident data set, for bytes.
    """

    def __init__(
        self, name: str, before: Program, after: Program, batch: int, data_rows: int
    ) -> None:
        self.name = name
        self.note = NOTES.get(name, "")
        self.before = before
        self.after = after
        self._sizes = batch, data_rows

    @property
    def idle_words(self) -> str:
        """What is said where nothing changed."""
        return "no difference" if self.name == BASELINE else "nothing to do"

    @cached_property
    def is_empty(self) -> bool:
        """Whether it found nothing to do."""
        return not self.diff

    @cached_property
    def diff(self) -> tuple[DiffLine, ...]:
        """The program before and after, aligned."""
        if self.before is self.after:
            return ()
        return program_diff(self.before, self.after)

    @cached_property
    def amounts(self) -> tuple[Amounts, Amounts]:
        """Size of the program before and after."""
        return self._amounts(self.before), self._amounts(self.after)

    def _amounts(self, program: Program) -> Amounts:
        found = entries(program)
        return Amounts(
            len(program),
            len(found),
            len(program.tensors),
            sum(entry.traffic(program, *self._sizes) for entry in found),
        )


def pass_steps(
    stages: Iterable[tuple[str, Program, Program]], batch: int, data_rows: int
) -> tuple[PassStep, ...]:
    """The steps of a compile, from what its observer heard."""
    return tuple(PassStep(name, before, after, batch, data_rows) for name, before, after in stages)
