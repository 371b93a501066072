"""Scalars that are sums of many terms: a dispatch of partial sums, and one that adds them up."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64
_THREADS = {True: 256, False: 4096}
"""Invocations that share a sum on a software renderer and on a GPU."""
TOTAL_LOCAL = {True: 16, False: 256}
"""Invocations of the work group that adds up."""


def term_threads(op: BoundInstruction) -> int:
    """Invocations a sum of terms is shared by; does not depend on the batch."""
    return _THREADS[op.caps.is_software]


def terms(
    op: BoundInstruction,
    kernel: str,
    count: int,
    defines: Mapping[str, int | str],
    *,
    base: int = 0,
    room: int = 0,
    bind: Mapping[str, Ref] | None = None,
) -> DispatchSpec:
    """The dispatch that sums ``count`` terms of a kernel into scratch storage from ``base`` on."""
    threads = term_threads(op)
    return DispatchSpec(
        kernel,
        groups=(min(groups_for(count, _LOCAL), threads // _LOCAL), 1, 1),
        local=(_LOCAL, 1, 1),
        defines={"TERM_THREADS": threads, **defines},
        launch=(count, base),
        scratch=room or threads,
        bind=bind or {},
    )


def summed(op: BoundInstruction, count: int) -> int:
    """Partial sums that ``terms`` leaves for so many terms."""
    return min(groups_for(count, _LOCAL) * _LOCAL, term_threads(op))


def total(
    op: BoundInstruction, partial_sums: int, finish: str, number: int = 1, room: int = 0
) -> DispatchSpec:
    """The dispatch that adds partial sums up and stores ``y = finish(sum)``.

    Args:
        op: the instruction.
        partial_sums: how many lie in scratch storage.
        finish: GLSL over ``sum`` and ``LAUNCH_1``.
        number: what ``LAUNCH_1`` is.
        room: floats of scratch storage.
    """
    return DispatchSpec(
        "total_scratch",
        local=(TOTAL_LOCAL[op.caps.is_software], 1, 1),
        defines={"FINISH(sum)": finish},
        launch=(partial_sums, number),
        scratch=room or term_threads(op),
    )


def reduced(
    op: BoundInstruction, kernel: str, count: int, defines: Mapping[str, int | str], finish: str
) -> tuple[DispatchSpec, ...]:
    """Both dispatches of a scalar; ``LAUNCH_1`` in ``finish`` is the number of terms."""
    return (
        terms(op, kernel, count, defines),
        total(op, summed(op, count), finish, count),
    )
