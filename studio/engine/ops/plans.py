"""A trace compiled: feeds the values it starts from, runs, and lends its results."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING
from weakref import ref

from studio.engine.core.tensor import Role, Tensor
from studio.engine.ops.patterns import TYPES, kind_of
from studio.engine.ops.programs import Written
from studio.engine.ops.values import Value
from studio.engine.runtime.transfers import Array

if TYPE_CHECKING:
    from studio.engine.isa.program import Program
    from studio.engine.ops.runner import Runner
    from studio.engine.profiler.events import Profile

_NUMBERS = count()


class Plan:
    """One program with room for its inputs and results.

    Results are lent: they stay where they are until the next run, which copies those away that
    somebody still has.

    Args:
        runner: the device.
        made: the trace as a program.
        program: what runs, perhaps fused.
        fused: whether it is.
    """

    def __init__(self, runner: Runner, made: Written, program: Program, *, fused: bool) -> None:
        self.runner = runner
        self.fused = fused
        self.program = program
        self.executable = runner.backend.compile(program, runner.session, 1)
        self._inputs = made.inputs
        self._outputs = made.outputs
        touched = [r for ins in program for r in ins.operands if r.present]
        self._used = {program.tensors.root(r.id) for r in (*touched, *made.outputs)}
        self.kinds = [kind_of(program.type_of(r)) for r in made.outputs]
        self._fed: list[ref[Value] | None] = [None] * len(made.inputs)
        self._lent: list[ref[Value]] = []

    def run(self, leaves: list[Value]) -> list[Value]:
        """Run with values from outside; returns the results in order of their places.

        ``leaves`` is emptied: a value that nobody else has need not be copied away.
        """
        self._prepare(leaves)
        self.executable.run(1)
        return self._lend()

    def profile(self, leaves: list[Value]) -> tuple[list[Value], Profile]:
        """As `run`, with the time of every kernel."""
        self._prepare(leaves)
        profile = self.executable.profile(1)
        return self._lend(), profile

    def check(self, leaves: list[Value]) -> list[Value]:
        """As `run`, line by line.

        Raises:
            NumericError: a line made a NaN or an infinity.
        """
        self._prepare(leaves)
        found = self.executable.check(self._outputs)
        return [
            Value(kind, found[output])
            for kind, output in zip(self.kinds, self._outputs, strict=True)
        ]

    def fetch(self, slot: int) -> Future[Array]:
        """A result of the last run."""
        return self.executable.fetch(self._outputs[slot])

    def settle(self) -> None:
        """Copy away all results that somebody still has."""
        for lent in self._lent:
            value = lent()
            if value is None or value.plan is not self:
                continue
            if self.runner.is_host:
                value.on_host()
            else:
                name = self.runner.room(value.kind)
                self.executable.store(self._outputs[value.slot], name)
                value.runner, value.stored, value.plan = self.runner, name, None
        self._lent.clear()

    def close(self) -> None:
        """Give the memory back."""
        self.settle()
        self.executable.close()

    def _prepare(self, leaves: list[Value]) -> None:
        own = [value for value in leaves if value.plan is self]
        if own and self._reused(own):
            self.settle()
        del own
        for number in range(len(leaves)):
            fed = self._fed[number]
            if (fed is None or fed() is not leaves[number]) and self._inputs[number] in self._used:
                self._feed(self._inputs[number], leaves[number])
            self._fed[number] = ref(leaves[number])
        leaves.clear()
        self.settle()

    def _reused(self, own: Sequence[Value]) -> bool:
        """Whether a result lies where an input does, so that feeding could overwrite it."""
        program = self.program
        shared = {program.tensors.root(i) for i in self._inputs}
        return any(program.tensors.root(self._outputs[v.slot].id) in shared for v in own)

    def _feed(self, tensor: int, value: Value) -> None:
        """Copy a value into an input, on the device where it lies there."""
        plan, runner = value.plan, self.runner
        if value.array is not None:
            self.executable.feed(tensor, value.array)
        elif plan is not None and plan.runner is runner:
            self.executable.feed_from(tensor, plan.executable, plan._outputs[value.slot])
        elif value.stored and value.runner is runner:
            self.executable.feed_held(tensor, value.stored)
        else:
            self.executable.feed(tensor, value.on_host())

    def _lend(self) -> list[Value]:
        found = []
        for slot, kind in enumerate(self.kinds):
            value = Value(kind)
            value.plan, value.slot = self, slot
            found.append(value)
        self._lent = [ref(value) for value in found]
        return found


def stored_tensor(kind: int) -> Tensor:
    """A tensor of the session for a value of a type."""
    found = TYPES[kind]
    return Tensor(0, f"value{next(_NUMBERS)}", found.shape, found.dtype, Role.STATE)
