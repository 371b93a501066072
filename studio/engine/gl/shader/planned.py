"""A dispatch as the planner hands it to the recorder: text, storages, grid and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.core.tensor import Ref
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.dispatch import Groups
from studio.engine.gl.shader.source import KernelSource


@dataclass(frozen=True)
class StorageBinding:
    """A tensor's storage, bound by its range."""

    ref: Ref
    use: Use


@dataclass(frozen=True)
class ArenaBinding:
    """The range of one buffer from the first to the last of some storages, all in that buffer.

    For kernels that find several storages by a table; offsets count from the first one's begin.

    Attributes:
        refs: the storages.
        use: what the kernel does with them.
    """

    refs: tuple[Ref, ...]
    use: Use


@dataclass(frozen=True)
class TableBinding:
    """Constant words made for this dispatch."""

    words: bytes


@dataclass(frozen=True)
class ScratchBinding:
    """Scratch storage, shared by all dispatches but not at the same time.

    A dispatch that only writes starts a new range. Consecutive dispatches that only write fill one
    range together. All others use the range of the dispatch before them.

    Attributes:
        floats: how many.
        use: what the kernel does with them.
        alone: whether only this kernel reads what it writes.
    """

    floats: int
    use: Use = Use.BOTH
    alone: bool = False


@dataclass(frozen=True)
class TicketsBinding:
    """Counters of this dispatch's own, zero before and after it."""

    count: int


Binding = StorageBinding | ArenaBinding | TableBinding | ScratchBinding | TicketsBinding


@dataclass(frozen=True)
class PlannedDispatch:
    """One dispatch.

    Attributes:
        source: the kernel's text.
        bindings: what is bound at 0, 1, … in order.
        groups: work groups, already folded to what drivers take.
        launch: the two numbers a kernel sees as ``LAUNCH_0`` and ``LAUNCH_1``.
        variant: name of the variant, for profiles.
        slack: levels it may wait behind the one it could run at, see ``hazards.with_slack``.
    """

    source: KernelSource
    bindings: tuple[Binding, ...]
    groups: Groups
    launch: tuple[int, int] = (0, 0)
    variant: str = "simple"
    slack: int = 0
