"""Finds which entries can take along the sums that normalisations behind them begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.gl.families.norm import joins_tallies
from studio.engine.gl.row_losses import row_losses
from studio.engine.gl.tallies import Tally
from studio.engine.isa.instruction import Twin
from studio.engine.isa.ops.norm import BatchNormBase

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

    Where an entry makes what a normalisation begins with sums of, it takes those along; one that
    makes rows takes their loss along.

    Args:
        planner: plans single entries.
        found: the entries.
        hear: told every dispatch as soon as it is planned.
    """
    wanted = wanted_tallies(planner, found)
    losses = row_losses(planner, found, wanted)
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
            planned, taken = planner.plan_taking(
                entry, wanted.get(number, ()), given.get(number), loss, back, number in backs
            )
            given |= {one.key: one for one in taken}
        plans.append(planned)
        if hear is not None:
            for one in planned:
                hear(one)
    return plans


def early_storages(planner: Planner, found: Sequence[Entry]) -> dict[Storage, int]:
    """Storages that are written before the program says so, and from which instruction on."""
    program = planner.program
    early: dict[Storage, int] = {}
    for one in row_losses(planner, found, wanted_tallies(planner, found)):
        refs = {one.ins.ref("p").gradient} if one.gradient >= 0 else set()
        if one.back >= 0:
            weights = {found[one.maker].parts[0].ref(name).gradient for name in ("w", "b")}
            refs |= found[one.back].writes() - weights
        early |= {program.storage(ref): found[one.maker].index for ref in refs}
    return early


def wanted_tallies(planner: Planner, found: Sequence[Entry]) -> dict[int, list[Tally]]:
    """By number of the entry that could take them along, the sums normalisations want."""
    if planner.traits.is_software:
        return {}
    writer: dict[Storage, int] = {}
    wanted: dict[int, list[Tally]] = {}
    storage = planner.program.storage
    for number, entry in enumerate(found):
        tally = _tally(planner, number, entry)
        if tally is not None:
            maker = writer.get(storage(tally.noted), -1)
            read = [ref for ref in (tally.x, tally.center) if ref is not None]
            ready = all(writer.get(storage(ref), -1) < maker for ref in read)
            if maker >= 0 and ready and tally.noted in found[maker].writes():
                wanted.setdefault(maker, []).append(tally)
        writer |= {storage(ref): number for ref in entry.writes()}
    return wanted


def _tally(planner: Planner, number: int, entry: Entry) -> Tally | None:
    """What an entry wants summed; None where it is no normalisation that could use it."""
    ins = entry.parts[0]
    base = ins.forward if isinstance(ins, Twin) else type(ins)
    if not issubclass(base, BatchNormBase):
        return None
    case = planner.first_case(entry)
    if not joins_tallies(case):
        return None
    columns = case.numel("mean")
    if not isinstance(ins, Twin):
        return Tally(number, case.ref("x"), columns)
    return Tally(number, case.ref("dy"), columns, case.ref("x"), case.ref("dmean"))
