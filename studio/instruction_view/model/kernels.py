"""The kernels that run a program: names and dispatch sizes, as the backend has recorded them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.isa.program import Program
from studio.engine.runtime.entries import Entry, entries
from studio.instruction_view.model.quantities import TIMES

if TYPE_CHECKING:
    from studio.engine.gl.planned import Planned
    from studio.engine.runtime.backend import Executable

Groups = tuple[int, int, int]


class KernelRun(NamedTuple):
    """One dispatch.

    Attributes:
        name: the kernel, as the backend names it.
        variant: which of its variants; empty where there is only one.
        groups: work groups along x, y and z; None on a processor.
        local: invocations of a work group along x, y and z; None on a processor.
    """

    name: str
    variant: str = ""
    groups: Groups | None = None
    local: Groups | None = None

    @property
    def size_text(self) -> str:
        """How many work groups, and how large each is; empty on a processor."""
        if self.groups is None or self.local is None:
            return ""
        return f"{_product(self.groups)} groups of {_product(self.local)}"


class Kernels:
    """The dispatches of a program, by the index of the row they begin at.

    Args:
        runs: dispatches of each entry; a fused group is one entry and begins at its first row.
        source: who runs them, in a word.
    """

    def __init__(self, runs: Mapping[int, Sequence[KernelRun]], source: str) -> None:
        self._runs = {index: tuple(found) for index, found in runs.items()}
        self.source = source

    def of(self, index: int) -> tuple[KernelRun, ...]:
        """The dispatches that begin at a row, in order."""
        return self._runs.get(index, ())

    def counts(self) -> dict[int, int]:
        """How many dispatches begin at each row."""
        return {index: len(found) for index, found in self._runs.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernels) and self._runs == other._runs

    def __hash__(self) -> int:
        return hash(tuple(self._runs.items()))


def numpy_kernels(program: Program) -> Kernels:
    """The kernels of the processor backend, which are known without running anything."""
    # The window starts without the kernels of a backend; they are loaded when a program is there.
    from studio.engine.cpu.assemble import kernel_name

    runs = {e.index: (KernelRun(kernel_name(e).removeprefix("numpy: ")),) for e in entries(program)}
    return Kernels(runs, "NumPy")


def recorded_kernels(planned: Iterable[tuple[Entry, Sequence[Planned]]]) -> Kernels:
    """The dispatches an OpenGL executable has recorded."""
    runs = {
        entry.index: tuple(
            KernelRun(one.source.name, one.variant, one.groups, one.source.local) for one in group
        )
        for entry, group in planned
    }
    return Kernels(runs, "OpenGL")


def kernels_of(executable: Executable) -> Kernels:
    """The kernels an executable runs."""
    planned = getattr(executable, "planned", None)
    return numpy_kernels(executable.program) if planned is None else recorded_kernels(planned)


def _product(sizes: Groups) -> str:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return TIMES.join(str(size) for size in kept)
