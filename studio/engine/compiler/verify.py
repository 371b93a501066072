"""Refuses a program that breaks a rule, naming the pass that made it, the line and the rule."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rules.breach import Breach
from studio.engine.compiler.rules.data_flow import check_data_flow
from studio.engine.compiler.rules.groups import check_groups
from studio.engine.compiler.rules.lines import check_lines, check_references
from studio.engine.compiler.rules.owners import check_owned, check_owner_names
from studio.engine.compiler.rules.tensor_map import check_tensor_map, check_tensors
from studio.engine.core.errors import VerifyError
from studio.engine.isa.line import format_line
from studio.engine.isa.program import Program

STAGES = (
    (check_references, check_tensor_map),
    (check_tensors, check_lines, check_groups, check_data_flow, check_owner_names),
)
"""Rules of a stage are only asked when all of the stages before it hold."""


def verify(program: Program, after: str = "", *, owned: bool = False) -> None:
    """Check every rule a program keeps.

    Operands and views refer to tensors of the map; attributes are in range and types are those
    inferred; storages are written before they are read, data by one writer only but for in-place
    updates of persistent tensors, gradients set once before they are added to; view classes are
    dense and of one size; fused groups are well formed and registers live inside one; owners have
    names, and where ``owned`` is asked every instruction has one.

    Args:
        program: the program.
        after: name of the pass that made it, for the message.
        owned: whether every instruction must have an owner, as those of compiled graphs have;
            hand-written programs need none.

    Raises VerifyError for the first rule broken, naming the pass, the line and the rule.
    """
    breach = next(breaches(program, owned=owned), None)
    if breach is not None:
        raise VerifyError(
            f"{breach.rule}: {breach.found}",
            who=f"after {after}" if after else program.name,
            origin=_place(program, breach.index),
        )


def breaches(program: Program, *, owned: bool = False) -> Iterator[Breach]:
    """Every broken rule of the first stage that has any; for ``owned`` see `verify`."""
    for stage in (*STAGES, (check_owned,)) if owned else STAGES:
        found = [breach for check in stage for breach in check(program)]
        if found:
            yield from found
            return


def _place(program: Program, index: int) -> str:
    for section, place, ins in program.located():
        if place == index:
            owners = f" of {', '.join(ins.owners)}" if ins.owners else ""
            return f"line {index} in {section}: {format_line(ins)}{owners}"
    return "tensor map"
