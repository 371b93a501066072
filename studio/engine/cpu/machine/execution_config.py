"""What a kernel may use besides NumPy on one thread: more threads, and compiled loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from studio.engine.core.dtypes import DType
from studio.engine.cpu.machine.threads import usable_threads
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.isa.program import Program
from studio.engine.runtime.exchange import Exchange


@dataclass(frozen=True)
class ExecutionConfig:
    """Threads and compiled loops that kernels may use.

    Attributes:
        threads: how many threads may share the work of a kernel.
        compiled: whether loops compiled by Numba may stand in for NumPy.
        exchange: brings this worker and others of one training together, None where it is alone.
    """

    threads: int = 1
    compiled: bool = False
    exchange: Exchange | None = None

    @classmethod
    def of_machine(cls) -> ExecutionConfig:
        """Everything this machine has."""
        return cls(usable_threads(), has_compiler())

    def fit(self, program: Program) -> ExecutionConfig:
        """What the kernels of a program may use: compiled loops are made for float32."""
        narrow = any(t.dtype is DType.float16 for t in program.tensors.values())
        return replace(self, compiled=False) if narrow else self

    def alone(self) -> ExecutionConfig:
        """The same for one thread."""
        return replace(self, threads=1)


NUMPY_ONLY = ExecutionConfig()
"""One thread, no compiled loops."""
