"""A trace's program on its device: what lies where it reads, and what lies where it writes."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING
from weakref import ref

from studio.engine.ops.patterns import kind_of
from studio.engine.ops.values import Value
from studio.engine.runtime.transfers import Array

if TYPE_CHECKING:
    from studio.engine.isa.program import Program
    from studio.engine.ops.programs import Written
    from studio.engine.ops.runner import Runner
    from studio.engine.ops.work import Work
    from studio.engine.profiler.events import Profile


class Bound:
    """One program with room for its inputs and results.

    Results are lent: they stay where they are until the next run, which copies those away that
    somebody still has.

    Args:
        runner: the device.
        made: the trace as a program.
        program: what runs, perhaps fused.

    Attributes:
        runner: the device.
        program: what runs.
        outputs: operands of the results.
        executable: runs the program.
    """

    def __init__(self, runner: Runner, made: Written, program: Program) -> None:
        self.runner = runner
        self.program = program
        self.executable = runner.backend.compile(program, runner.session, 1)
        self.outputs = made.outputs
        self._inputs = made.inputs
        touched = [r for ins in program for r in ins.operands if r.present]
        roots = {program.tensors.root(r.id) for r in (*touched, *made.outputs)}
        self._used = [program.tensors.root(i) in roots for i in made.inputs]
        read = {program.tensors.root(i) for i in made.inputs}
        self._shared = any(not r.grad and program.tensors.root(r.id) in read for r in made.outputs)
        self._kinds = [kind_of(program.type_of(r)) for r in made.outputs]
        self._fed: list[ref[Value] | None] = [None] * len(made.inputs)
        self._lent: list[ref[Value]] = []
        self._last: Work | None = None

    def has(self, number: int, value: Value) -> bool:
        """Whether a value was fed to an input and is still there."""
        fed = self._fed[number]
        return fed is not None and fed() is value

    def note(self, number: int, value: Value | None) -> None:
        """Say what lies in the room of an input that others write to."""
        self._fed[number] = None if value is None else ref(value)

    def follow(self, work: Work) -> None:
        """Have ``work`` come behind the run before, whatever became of it.

        Where that failed, nothing is known of what it fed. This comes before `note`, since what
        others wrote is not touched by its failure.
        """
        last = self._last
        if last is not None and not last.done:
            if last.failed:
                self._fed = [None] * len(self._fed)
            else:
                work.do(last.require)
        self._last = work

    def prepare(self, leaves: list[Value], moves: Work, work: Work) -> None:
        """Have values from outside where the program reads them; the list is emptied.

        Args:
            leaves: the values.
            moves: copies results away; comes before ``work``.
            work: feeds.
        """
        if self._shared:
            # A result lies where an input does, so that feeding could overwrite it.
            self.settle(moves)
        fed, used = self._fed, self._used
        for number, value in enumerate(leaves):
            before = fed[number]
            if before is None or before() is not value:
                if used[number]:
                    self._feed(number, value, work)
                fed[number] = ref(value)
        # A value that nobody else has need not be copied away.
        value = None  # type: ignore[assignment]
        leaves.clear()
        if self._lent:
            self.settle(moves)

    def lend(self, work: Work | None) -> list[Value]:
        """The results of the run that ``work`` ends with."""
        found = []
        runner = self.runner
        for slot, kind in enumerate(self._kinds):
            value = Value(kind)
            value.bound, value.slot, value.runner, value.work = self, slot, runner, work
            found.append(value)
        self._lent = [ref(value) for value in found]
        return found

    def check(self) -> list[Value]:
        """Run line by line; the results are numbers on the host.

        Raises:
            NumericError: a line made a NaN or an infinity.
        """
        found = self.executable.check(self.outputs)
        return [Value(k, found[r]) for k, r in zip(self._kinds, self.outputs, strict=True)]

    def profile(self) -> Profile:
        """Run with the time of every kernel."""
        return self.executable.profile(1)

    def fetch(self, slot: int) -> Future[Array]:
        """A result of the last run."""
        return self.executable.fetch(self.outputs[slot])

    def settle(self, moves: Work) -> None:
        """Copy away all results that somebody still has."""
        lent = self._lent
        while lent:
            value = lent[-1]()
            if value is not None and value.bound is self:
                self._move(value, moves)
            # Behind the move: one that had no room is still lent.
            lent.pop()

    def close(self, moves: Work) -> None:
        """Give the memory back, behind the moves."""
        self.settle(moves)
        moves.send()
        moves.wait()
        self.executable.close()

    def _move(self, value: Value, moves: Work) -> None:
        made = value.work
        if self.runner.is_host:
            value.on_host()
            return
        if made is not None:
            made.wait()
            if not made.done:
                # It stays what it is: an error for who reads it.
                return
        name = self.runner.room(value.kind)
        moves.do(self.executable.store, self.outputs[value.slot], name)
        value.stored, value.bound, value.work = name, None, moves

    def _feed(self, number: int, value: Value, work: Work) -> None:
        """Copy a value into an input, on the device where it lies there."""
        tensor, bound, runner = self._inputs[number], value.bound, self.runner
        if value.array is None and value.runner is runner and value.work is not None:
            if value.work.done:
                value.work = None
            else:
                work.do(value.work.require)
        if value.array is not None:
            work.do(self.executable.feed, tensor, value.array)
        elif bound is not None and bound.runner is runner:
            work.do(self.executable.feed_from, tensor, bound.executable, bound.outputs[value.slot])
        elif value.stored and value.runner is runner:
            work.do(self.executable.feed_held, tensor, value.stored)
        else:
            work.do(self.executable.feed, tensor, value.on_host())
