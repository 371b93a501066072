"""Lets the step block move on while updates run: what they need of it is noted when they begin.

What writes a step's numbers down needs the note as well: it waits for the loss, and the next step
need not wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.engine.gl.accessors import Access, Use
from studio.engine.gl.layout import Layout
from studio.engine.gl.pass_kernel import operands_of
from studio.engine.gl.planned import Planned, StorageBinding, TallyBinding
from studio.engine.gl.source import assemble, kernel_text
from studio.engine.gl.specs import choose
from studio.engine.gl.update_kernel import NOTED, plan_updates
from studio.engine.gl.update_rows import UPDATE_ROWS

if TYPE_CHECKING:
    from studio.engine.core.tensor import Ref
    from studio.engine.gl.planner import Planner
    from studio.engine.runtime.entries import Entry


def noted_updates(planner: Planner, found: Sequence[Entry]) -> dict[int, list[Planned]]:
    """By number of their entries, the plans of updates and of what counts them, joined by a note.

    An update that read the step block itself would hold up what moves the block on. Updates that
    may have to read it are left out.
    """
    plans: dict[int, list[Planned]] = {}
    begun: dict[Ref, int] = {}
    for number, entry in enumerate(found):
        step = entry.parts[0].ref("step") if _uses_step(entry) else None
        if entry.parts[0].mnemonic == "BEGIN_UPDATE" and step is not None:
            begun[step] = number
            continue
        if entry.parts[0].mnemonic == "RECORD":
            if step in begun and begun[step] in plans:
                plans[number] = _recordings(planner, entry, -1 - begun[step])
        elif step in begun and {part.ref("step") for part in entry.parts} == {step}:
            key = -1 - begun[step]
            cases = [planner.case(part) for part in entry.parts]
            plans[number] = plan_updates(cases, planner.place, key)
            plans[begun[step]] = [_beginning(planner, step, key)]
        storage = planner.program.storage
        changed = {storage(ref) for ref in entry.writes()}
        begun = {ref: k for ref, k in begun.items() if storage(ref) not in changed}
    return plans


def _uses_step(entry: Entry) -> bool:
    names = {part.mnemonic for part in entry.parts}
    return names <= UPDATE_ROWS.keys() or names in ({"BEGIN_UPDATE"}, {"RECORD"})


def _recordings(planner: Planner, entry: Entry, key: int) -> list[Planned]:
    """What an entry that writes numbers down dispatches, its own number taken from the note."""
    case = planner.case(entry.parts[0])
    body = kernel_text("record").replace("step_word(4)", "noted[2]")
    found = []
    for one in choose(case).plan(case):
        accesses, refs = operands_of(case, one, body)
        bindings = [
            StorageBinding(ref, access.use) for access, ref in zip(accesses, refs, strict=True)
        ]
        source = assemble(
            "record",
            body,
            accesses,
            local=one.local,
            constants=NOTED.format(binding=len(bindings), use="readonly"),
            defines=one.defines,
        )
        found.append(Planned(source, (*bindings, TallyBinding(key, 4, Use.READ)), (1, 1, 1)))
    return found


def _beginning(planner: Planner, step: Ref, key: int) -> Planned:
    """The dispatch that counts an update and leaves the note; keys of sums are not negative."""
    tensor = planner.program.tensor(step)
    layout = Layout.of(tensor, planner.batch, planner.rows)
    source = assemble(
        "begin_update",
        kernel_text("begin_update"),
        [Access("step_word", layout, Use.BOTH)],
        local=(1, 1, 1),
        constants=NOTED.format(binding=1, use="writeonly"),
        defines={"NOTES": 1},
    )
    bindings = (StorageBinding(step, Use.BOTH), TallyBinding(key, 4, Use.WRITE))
    return Planned(source, bindings, (1, 1, 1))
