"""What a process tells of programs and steps on standard error: ``GLASSBOX_DEBUG``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, cast

from studio.engine.core.errors import ParameterError, quoted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from studio.engine.compiler.pipeline import Observer
    from studio.engine.isa.program import Program
    from studio.engine.profiler.events import Profile
    from studio.engine.runtime.backend import Backend, Executable

VARIABLE = "GLASSBOX_DEBUG"


class DebugLevel(IntEnum):
    """What is told; each level tells what those before it do too."""

    NOTHING = 0
    STEPS = 1
    KERNELS = 2
    PASSES = 3
    SOURCES = 4


def debug_level(environment: Mapping[str, str] = os.environ) -> DebugLevel:
    """The level that is set; ``NOTHING`` where the variable is not there or empty.

    Raises:
        ParameterError: it is none of 0 to 4.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return DebugLevel.NOTHING
    if text not in {str(int(level)) for level in DebugLevel}:
        raise ParameterError(
            f"expected 0 to {int(max(DebugLevel))}, got {quoted(text)}",
            who=VARIABLE,
            hint="1 steps, 2 also kernels, 3 also listings after passes, 4 also shader sources",
        )
    return DebugLevel(int(text))


def tell(text: str) -> None:
    """Write a text and a line break to standard error, where there is one."""
    if sys.stderr is not None:
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()


def told_passes(observer: Observer | None) -> Observer | None:
    """The observer, and from level 3 on a listing after each pass that changes the program."""
    if debug_level() < DebugLevel.PASSES:
        return observer
    from studio.engine.compiler.pipeline import pass_heading
    from studio.engine.isa.text import format_program

    begun = False

    def told(name: str, before: Program, after: Program) -> None:
        nonlocal begun
        if not begun:
            begun = True
            tell(f"== lower: {len(before)} instructions\n{format_program(before)}")
        tell(pass_heading(name, before, after))
        text = format_program(after)
        if text != format_program(before):
            tell(text)
        if observer is not None:
            observer(name, before, after)

    return told


def told_steps(executable: Executable, backend: Backend) -> Executable:
    """The executable, or from level 1 on one that tells of each step it runs."""
    level = debug_level()
    if level == DebugLevel.NOTHING:
        return executable
    if level >= DebugLevel.SOURCES:
        from studio.engine.train.listing.kernel_listing import KernelListing

        program, calls = executable.program, executable.calls
        listing = KernelListing(
            program, backend.target, executable.batch, calls, calls.host, backend.device
        )
        tell(listing.text(source=True))
    return cast("Executable", _LoggingExecutable(executable, level))


def told_numbers(labels: tuple[str, ...]) -> Callable[[int, npt.NDArray[np.float32]], None] | None:
    """What tells the numbers [steps, columns] from level 1 on; the caller keeps and connects it."""
    if debug_level() == DebugLevel.NOTHING:
        return None

    def told(first: int, numbers: npt.NDArray[np.float32]) -> None:
        for step, row in enumerate(numbers, first):
            named = "  ".join(f"{n} {v:.6g}" for n, v in zip(labels, row, strict=True))
            tell(f"train step {step}: {named}")

    return told


class _LoggingExecutable:
    """An executable that waits for each step and tells of it.

    Args:
        executable: what runs; has all that is not here.
        level: from level 2 on steps run instrumented, with the same results.
    """

    def __init__(self, executable: Executable, level: DebugLevel) -> None:
        self._executable = executable
        self._kernels = level >= DebugLevel.KERNELS
        self._name = f"{executable.program.name} {executable.program.mode}"
        self._steps = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._executable, name)

    def run(self, steps: int = 1, stop: Callable[[], bool] | None = None) -> int:
        """Run steps one by one; see ``Executable.run``."""
        for done in range(steps):
            if stop is not None and stop():
                return done
            begun = time.perf_counter()
            found = self._run_one()
            taken = (time.perf_counter() - begun) * 1e3
            tell(f"{self._name} in batches of {self._executable.batch}, run {self._steps}: "
                 f"{taken:.3f} ms")  # fmt: skip
            if found is not None:
                tell(_kernel_table(found))
            self._steps += 1
        return steps

    def _run_one(self) -> Profile | None:
        if self._kernels:
            self._executable.finish()
            return self._executable.profile(1, while_busy=True)
        self._executable.run(1)
        self._executable.finish()
        return None


def _kernel_table(profile: Profile) -> str:
    """The kernels of a step in the order of the program."""
    from studio.engine.profiler.text_table import kernel_lines
    from studio.engine.profiler.totals import kernel_totals

    totals = sorted(kernel_totals(profile), key=lambda total: total.index)
    return "\n".join(f"  {line}" for line in [f"{profile.device}, {profile.clock}:",
                                              *kernel_lines(totals)])  # fmt: skip
