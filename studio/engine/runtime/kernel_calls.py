"""What runs a program's lines on a device, as plain data: dispatches on a GPU, calls on a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Groups = tuple[int, int, int]
HostAction: TypeAlias = Literal["clear", "upload", "read back", "feed", "fetch"]

ONCE = "once"
"""When the host does what is done before the first step only."""


class KernelCall(NamedTuple):
    """One dispatch of a device, or one call on a CPU.

    Attributes:
        name: the kernel: its file, what a generated one is called, or a function.
        variant: which of its variants; empty where there is only one.
        groups: work groups along x, y and z; None on a CPU.
        local: invocations of a work group along x, y and z; None on a CPU.
        is_file: whether the kernel has a file of its name.
        turn: place in the order the dispatches of a step are issued in; -1 where unknown.
        level: dispatches of one level may run at the same time; -1 where unknown.
        barrier: whether it has to wait for all of the levels before.
        source: the text the driver compiles; empty on a CPU.
        threads: the most threads that share a call on a CPU.
        shared_by: what they divide among themselves; empty where one thread runs it.
    """

    name: str
    variant: str = ""
    groups: Groups | None = None
    local: Groups | None = None
    is_file: bool = False
    turn: int = -1
    level: int = -1
    barrier: bool = False
    source: str = ""
    threads: int = 1
    shared_by: str = ""


class HostEntry(NamedTuple):
    """One thing the host does.

    Attributes:
        action: what: fill with zeros, copy to the device, or copy from it.
        what: which tensors, by name or by role.
        nbytes: bytes moved or cleared each time, as the device keeps them.
        when: how often, in words.
    """

    action: HostAction
    what: str
    nbytes: int
    when: str


@dataclass(frozen=True)
class StepCalls:
    """The calls of one step.

    Attributes:
        runs: calls by the running index of the line, or of the FUSE line of the group, they run.
        seamless: whether the next step's first level may begin before this step has ended.
        host: what is uploaded and cleared for the calls themselves, before the first step.
    """

    runs: Mapping[int, tuple[KernelCall, ...]]
    seamless: bool = False
    host: tuple[HostEntry, ...] = ()

    def __iter__(self) -> Iterator[KernelCall]:
        """All calls, as the program has them."""
        for calls in self.runs.values():
            yield from calls

    @property
    def levels(self) -> int:
        """How many levels there are; 0 where levels are not known."""
        return max((call.level for call in self), default=-1) + 1
