"""A program with what runs each line, when, and what the host does around it.

``glassbox compile --kernels``, `studio.engine.debug` and ``GLASSBOX_DEBUG=4`` print it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from studio.engine.isa.line import format_line
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.runtime.kernel_calls import KernelCall, StepCalls
from studio.engine.train.listing.host_traffic import host_entries, resident_rows
from studio.engine.train.listing.step_calls import device_words, step_calls

if TYPE_CHECKING:
    from studio.engine.compiler.plan_memory import MemoryPlan
    from studio.engine.compiler.target import Target
    from studio.engine.isa.program import Program
    from studio.engine.runtime.kernel_calls import Groups, HostEntry
    from studio.engine.train.project.task import Task

_INDENT = " " * 8


@dataclass(frozen=True)
class KernelListing:
    """A program line by line with what runs each.

    Attributes:
        program: what runs.
        target: the kind of device it was compiled for, and whether its kernels run in order.
        batch: rows of a step.
        calls: what the lines run as.
        host: what the host does around the steps.
        device: the device in words.
    """

    program: Program
    target: Target
    batch: int
    calls: StepCalls
    host: tuple[HostEntry, ...]
    device: str

    @classmethod
    def of(cls, program: Program, task: Task, target: Target, plan: MemoryPlan) -> KernelListing:
        """Planned for the batches a task trains with."""
        batch, (rows, streams) = task.batch_rows, resident_rows(task, program.mode)
        calls = step_calls(program, target, batch, rows)
        around = host_entries(program, plan, target, batch, rows, streams=streams)
        return cls(program, target, batch, calls, (*calls.host, *around), device_words(target))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The texts that are compiled, each once, in order of first use."""
        return tuple(dict.fromkeys(call.source for call in self.calls if call.source))

    def text(self, *, source: bool = False) -> str:
        """All of it for people.

        Args:
            source: print the text of every kernel behind the lines.
        """
        lines = [*self._lines(source=source), *(self._texts() if source else ())]
        return "\n".join(lines) + "\n"

    def to_json(self, *, source: bool) -> dict[str, object]:
        """The same for programs."""
        found: dict[str, object] = {
            "name": self.program.name,
            "mode": self.program.mode,
            "target": self.target.name,
            "device": self.device,
            "batch": self.batch,
            "in_order": self.target.in_order,
            "levels": self.calls.levels,
            "steps_join": self.calls.seamless,
            "host": [entry._asdict() for entry in self.host],
            "lines": [
                {
                    "index": index,
                    "last": last,
                    "section": section,
                    "text": texts,
                    "owners": owners,
                    "calls": [self._call_json(call, source=source) for call in calls],
                }
                for index, last, section, texts, owners, calls in self._entries()
            ],
        }
        return found | ({"sources": list(self.sources)} if source else {})

    def _call_json(self, call: KernelCall, *, source: bool) -> dict[str, object]:
        found = call._asdict()
        del found["source"]
        return found | ({"source": self._number(call)} if source else {})

    def _number(self, call: KernelCall) -> int:
        """The place of its text among the sources; -1 without one."""
        return self.sources.index(call.source) if call.source else -1

    def _entries(
        self,
    ) -> Iterator[tuple[int, int, str, list[str], list[str], tuple[KernelCall, ...]]]:
        """Lines and groups: first and last index, section, texts, owners, calls."""
        texts: list[str] = []
        owners: dict[str, None] = {}
        first, where = -1, ""
        for section, index, ins in self.program.located():
            if first < 0:
                texts, owners, first, where = [], {}, index, section
            texts.append(format_line(ins))
            owners.update(dict.fromkeys(ins.owners))
            inside = first < index or isinstance(ins, Fuse)
            if not inside or isinstance(ins, End):
                calls = self.calls.runs.get(first, ())
                yield first, index, where, texts, list(owners), calls
                first = -1

    def _lines(self, *, source: bool) -> Iterator[str]:
        yield f"{self.program.name} ({self.program.mode}) in batches of {self.batch}"
        yield f"on {self.target.name}: {self.device}"
        if self.host:
            yield "\nhost:"
        widths = [
            max(len(cell) for cell in column)
            for column in zip(*map(_host_cells, self.host), strict=True)
        ]
        for entry in self.host:
            action, what, nbytes, when = _host_cells(entry)
            yield f"  {action:<{widths[0]}}  {what:<{widths[1]}}  {nbytes:>{widths[2]}}  {when}"
        cells = {id(call): self._cells(call, source=source) for call in self.calls}
        widths = [max(map(len, column)) for column in zip(*cells.values(), strict=True)]
        section = ""
        for index, _, where, texts, owners, calls in self._entries():
            if where != section:
                section = where
                yield f"\n{section}:"
            for number, text in enumerate(texts):
                inside = "  " * (0 < number < len(texts) - 1)
                names = ", ".join(owners) if number == 0 else ""
                yield f"  {index + number:4d}  {inside + text:<60}  {names}".rstrip()
            for call in calls:
                row = zip(cells[id(call)], widths, strict=True)
                yield _INDENT + "  ".join(f"{cell:<{width}}" for cell, width in row).rstrip()
        yield f"\n{self._summary()}"

    def _cells(self, call: KernelCall, *, source: bool) -> tuple[str, ...]:
        """One call as columns."""
        if call.groups is None or call.local is None:
            return call.name, call.variant, threads_words(call)
        found = (
            f"#{call.turn}",
            f"level {call.level}",
            "barrier" if call.barrier else "",
            f"{call.name}.glsl" if call.is_file else call.name,
            call.variant,
            f"{groups_words(call.groups)} of {_times(call.local)}",
        )
        return (*found, f"source {self._number(call)}") if source else found

    def _summary(self) -> str:
        calls = tuple(self.calls)
        if not self.calls.levels:
            return (
                f"{len(calls)} calls; a machine with fewer cores shares them by fewer threads, one "
                "without Numba calls NumPy only"
            )
        barriers = sum(call.barrier for call in calls)
        order = "in the program's order, " if self.target.in_order else ""
        begins = "without a barrier" if self.calls.seamless else "behind a barrier"
        return (
            f"{len(calls)} dispatches {order}in {self.calls.levels} levels with {barriers} "
            f"barriers; a step that follows this one begins {begins}\n"
            "# is the place in the order of issue; dispatches of one level may run at the same time"
        )

    def _texts(self) -> Iterator[str]:
        for number, text in enumerate(self.sources):
            users = [call for call in self.calls if call.source == text]
            names = ", ".join(dict.fromkeys(f"#{call.turn}" for call in users))
            yield f"\n== source {number}: {users[0].name}, for {names}"
            yield text.rstrip("\n")


def threads_words(call: KernelCall) -> str:
    """How many threads share a call on a CPU, and what they divide."""
    if call.threads == 1:
        return "1 thread"
    return f"up to {call.threads} threads by {call.shared_by}"


def groups_words(groups: Groups) -> str:
    """How many work groups there are, along each axis."""
    return "1 group" if groups == (1, 1, 1) else f"{_times(groups)} groups"


def _host_cells(entry: HostEntry) -> tuple[str, str, str, str]:
    return entry.action, entry.what, f"{entry.nbytes:,} bytes", entry.when


def _times(sizes: Sequence[int]) -> str:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " x ".join(str(size) for size in kept)
