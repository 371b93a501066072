"""What the lines of a program call on a CPU: their kernels are built, and nothing runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.threads import MOST_THREADS
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.cpu.memory.blocks import MemoryCount
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.cpu.memory.views import Views
from studio.engine.cpu.plan.assemble import assemble
from studio.engine.cpu.run.placement import place
from studio.engine.cpu.run.session import CpuSession
from studio.engine.runtime.entries import entries
from studio.engine.runtime.kernel_calls import KernelCall, StepCalls
from studio.engine.runtime.requirements import asked_in_turn

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.isa.program import Program


def bound_calls(program: Program, target: Target, batch: int, rows: int) -> StepCalls:
    """The calls of one step on a CPU of as many cores as kernels ever share.

    Nothing runs, and memory that is not touched costs nothing.

    Raises:
        BackendError: an instruction has no kernel, or the step does not fit this machine's memory.
    """
    session = CpuSession(MemoryCount(), target)
    try:
        for tensors in asked_in_turn(program):
            session.ensure(tensors, rows)
        plan = plan_memory(program, batch, rows, target)
        placement = place(plan, session, batch, rows)
        scratches = [Scratch() for _ in range(MOST_THREADS)]
        config = ExecutionConfig(MOST_THREADS, has_compiler()).fit(program)
        views = Views(program, batch, rows, placement.buffers, scratches[0], config)
        calls: dict[int, tuple[KernelCall, ...]] = {}
        for entry in entries(program):
            views.calls.clear()
            assemble(entry, views, scratches)
            calls[entry.index] = tuple(views.calls)
        return StepCalls(calls)
    finally:
        session.close()


def reference_words() -> str:
    """The CPU that stands for all, in words."""
    loops = "Numba" if has_compiler() else "no Numba"
    return f"NumPy and {loops}, {MOST_THREADS} cores"
