"""Plans all entries of a program: losses of rows are taken along by what makes the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.gl.row_losses import row_losses
from studio.engine.isa.ops.norm import ColumnSums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from studio.engine.gl.planned import Planned
    from studio.engine.gl.planner import Planner
    from studio.engine.isa.program import Storage
    from studio.engine.runtime.entries import Entry


def plan_entries(
    planner: Planner, found: Sequence[Entry], hear: Callable[[Planned], None] | None = None
) -> list[list[Planned]]:
    """The dispatches of all entries of a program, in order.

    One that makes rows takes their loss along.

    Args:
        planner: plans single entries.
        found: the entries.
        hear: told every dispatch as soon as it is planned.
    """
    losses = row_losses(planner, found, _with_sums(found))
    given = {one.loss: one.left for one in losses}
    makers = {one.maker: one for one in losses}
    backs = {one.back for one in losses}
    plans: list[list[Planned]] = []
    joined = {one.gradient for one in losses}
    for number, entry in enumerate(found):
        planned: list[Planned] = []
        if number not in joined:
            loss = makers.get(number)
            back = found[loss.back] if loss is not None and loss.back >= 0 else None
            planned = planner.plan_taking(entry, given.get(number), loss, back, number in backs)
        plans.append(planned)
        if hear is not None:
            for one in planned:
                hear(one)
    return plans


def early_storages(planner: Planner, found: Sequence[Entry]) -> dict[Storage, int]:
    """Storages that are written before the program says so, and from which instruction on."""
    program = planner.program
    early: dict[Storage, int] = {}
    for one in row_losses(planner, found, _with_sums(found)):
        refs = {one.ins.ref("p").gradient} if one.gradient >= 0 else set()
        if one.back >= 0:
            weights = {found[one.maker].parts[0].ref(name).gradient for name in ("w", "b")}
            refs |= found[one.back].writes() - weights
        early |= {program.storage(ref): found[one.maker].index for ref in refs}
    return early


def _with_sums(found: Sequence[Entry]) -> set[int]:
    """Numbers of the entries that make sums of columns of what they store."""
    return {
        number
        for number, entry in enumerate(found)
        if any(isinstance(part, ColumnSums) for part in entry.parts)
    }
