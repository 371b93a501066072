"""The kernels that run a program: as a device has recorded them, or as they are planned for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from studio.engine.isa.program import Program
from studio.engine.runtime.entries import entries
from studio.engine.runtime.kernel_calls import Groups, KernelCall, StepCalls
from studio.session.core.quantities import TIMES

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.engine.runtime.backend import Executable


def size_text(call: KernelCall) -> str:
    """How many work groups, and how large each is; empty on a processor."""
    if call.groups is None or call.local is None:
        return ""
    many = "" if call.groups == (1, 1, 1) else "s"
    return f"{_product(call.groups)} group{many} of {_product(call.local)}"


def order_text(call: KernelCall) -> str:
    """When it runs: place and level, behind a barrier or not; on a processor who shares it."""
    if call.groups is None:
        if not call.shared_by:
            return ""
        return f"up to {call.threads} threads by {call.shared_by}"
    if call.turn < 0:
        return ""
    return f"{call.turn}, level {call.level}{', barrier' if call.barrier else ''}"


class Kernels:
    """The dispatches of a program, by the index of the row they begin at.

    Args:
        runs: dispatches of each entry; a fused group is one entry and begins at its first row.
        source: who runs them, in a word.
        is_exact: whether every call is there; else there is one name for each entry.
    """

    def __init__(
        self, runs: Mapping[int, Sequence[KernelCall]], source: str, *, is_exact: bool = True
    ) -> None:
        self._runs = {index: tuple(found) for index, found in runs.items()}
        self.source = source
        self.is_exact = is_exact

    def of(self, index: int) -> tuple[KernelCall, ...]:
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
    """Names for the kernels of the processor backend, which are known without binding anything."""
    # The window starts without the kernels of a backend; they are loaded when a program is there.
    from studio.engine.cpu.plan.assemble import kernel_name

    runs = {
        e.index: (KernelCall(kernel_name(e).removeprefix("numpy: ")),) for e in entries(program)
    }
    return Kernels(runs, "NumPy", is_exact=False)


def planned_kernels(
    program: Program, target: Target, batch: int, rows: int, caps: DeviceCaps | None = None
) -> Kernels:
    """The kernels a device of the target's kind runs, none being open; takes a moment.

    Args:
        program: what runs.
        target: the kind of device it was compiled for.
        batch: rows of a step.
        rows: rows of the resident data set.
        caps: what the OpenGL device at hand is like; the reference device by default.

    Raises:
        BackendError: an instruction has no kernel there.
    """
    from studio.engine.train.listing.step_calls import step_calls

    return _of(step_calls(program, target, batch, rows, caps))


def kernels_of(executable: Executable) -> Kernels:
    """The kernels an executable runs."""
    calls = getattr(executable, "calls", None)
    return numpy_kernels(executable.program) if calls is None else _of(calls)


def _of(calls: StepCalls) -> Kernels:
    return Kernels(calls.runs, "OpenGL" if calls.levels else "NumPy")


def _product(sizes: Groups) -> str:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return TIMES.join(str(size) for size in kept)
