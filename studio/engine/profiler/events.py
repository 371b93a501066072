"""What a profiled run leaves behind: one event per kernel, with its place in the program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelEvent:
    """One kernel of one run.

    Attributes:
        step: which of the profiled runs, from 0.
        section: section of the program.
        index: running index of the (first) instruction in the program.
        mnemonic: instruction, or the parts of a fused group joined by ``+``.
        kernel: kernel variant that ran, as the backend names it.
        owners: layers the instruction came from.
        start_us: begin, microseconds from the start of the profile.
        duration_us: time the kernel took, microseconds.
        flops: arithmetic operations by the instruction's own formula.
        traffic_bytes: bytes read and written, each storage once per direction.
    """

    step: int
    section: str
    index: int
    mnemonic: str
    kernel: str
    owners: tuple[str, ...]
    start_us: float
    duration_us: float
    flops: int
    traffic_bytes: int


@dataclass(frozen=True)
class Profile:
    """Events of some runs and what surrounds them.

    Attributes:
        device: where it ran.
        clock: ``gpu timestamps`` or ``wall clock``.
        steps: runs profiled.
        wall_us: wall time of all runs, microseconds.
        events: kernels in order.
    """

    device: str
    clock: str
    steps: int
    wall_us: float
    events: tuple[KernelEvent, ...]
