"""What a compile changed: rows that came, rows that went, rows that say something else."""

from __future__ import annotations

from typing import NamedTuple

from studio.session.listing.arrangement import Removed
from studio.session.listing.rows import ProgramRows


class RowChanges(NamedTuple):
    """The difference between two programs.

    Attributes:
        added: keys of rows the program before did not have.
        changed: keys of rows with other scalars or operands; registers that only got another
            number do not count.
        removed: rows it had that are gone, in its order.
    """

    added: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    removed: tuple[Removed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


NO_CHANGES = RowChanges()


def row_changes(before: ProgramRows, after: ProgramRows) -> RowChanges:
    """Compare two programs row by row; rows are the same where their keys are."""
    if before.program.mode != after.program.mode:
        return NO_CHANGES
    old, new = before.signatures, after.signatures
    added: set[str] = set()
    changed: set[str] = set()
    for index in range(len(after)):
        key = after.key(index)
        place = before.origins.index_of(key)
        if place is None:
            added.add(key)
        elif old[place] != new[index]:
            changed.add(key)
    removed: list[Removed] = []
    last = ""
    for index in range(len(before)):
        key = before.key(index)
        if after.origins.index_of(key) is None:
            removed.append(Removed(key, before.text(index), last))
        last = key
    return RowChanges(frozenset(added), frozenset(changed), tuple(removed))
