"""What a computed tensor holds: numbers on the host, or a place on the device."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.runtime.transfers import Array, ready

if TYPE_CHECKING:
    from studio.engine.ops.plans import Plan
    from studio.engine.ops.runner import Runner


class Value:
    """Numbers that never change, wherever they lie.

    Exactly one of ``array``, ``plan`` and ``stored`` says where.

    Args:
        kind: number of the type.
        array: the numbers, on the host; nobody else writes there.

    Attributes:
        plan: whose last run made them, and has not run since.
        slot: which result of that run.
        runner: holds ``stored``.
        stored: name of a tensor of its session.
    """

    __slots__ = ("__weakref__", "array", "kind", "plan", "runner", "slot", "stored")

    def __init__(self, kind: int, array: Array | None = None) -> None:
        self.kind = kind
        self.array = array
        self.plan: Plan | None = None
        self.slot = 0
        self.runner: Runner | None = None
        self.stored = ""

    def read(self) -> Future[Array]:
        """The numbers, in an array of the caller's own."""
        if self.array is not None:
            return ready(np.array(self.array, order="C"))
        if self.plan is not None:
            return self.plan.fetch(self.slot)
        if self.runner is None:
            raise RuntimeError("a value is nowhere")
        return self.runner.session.read(self.stored)

    def on_host(self) -> Array:
        """The numbers, not to be changed."""
        if self.array is None:
            found = self.read().result()
            self.forget()
            self.array = found
        return self.array

    def forget(self) -> None:
        """Give back what lies on the device."""
        self.plan = None
        if self.stored and self.runner is not None:
            self.runner.drop(self.stored)
            self.stored = ""

    def __del__(self) -> None:
        if self.stored and self.runner is not None:
            self.runner.drop(self.stored)
