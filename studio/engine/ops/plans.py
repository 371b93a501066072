"""A trace compiled: once, or twice where its results come back as what it starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from studio.engine.core.tensor import Role, Tensor
from studio.engine.ops.bound import Bound
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.values import Value
from studio.engine.ops.work import Work

if TYPE_CHECKING:
    from studio.engine.isa.program import Program
    from studio.engine.ops.programs import Written
    from studio.engine.ops.runner import Runner
    from studio.engine.profiler.events import Profile

T = TypeVar("T")

_NUMBERS = count()


class Plan:
    """A program bound to a device.

    A loop feeds results of one run, such as weights, to the next one. Where that is seen twice, the
    program is bound a second time, so that each of the two writes these results where the other
    reads them: they take turns, and nothing is copied.

    Args:
        runner: the device.
        made: the trace as a program.
        program: what runs, perhaps fused.
        fused: whether it is.

    Attributes:
        program: what runs.
        fused: whether it is fused.
        is_short: whether there is nothing to fuse.
    """

    def __init__(self, runner: Runner, made: Written, program: Program, *, fused: bool) -> None:
        self.program = program
        self.fused = fused
        self.is_short = len(program) < 2
        self._runner = runner
        self._made = made
        self._turns = [Bound(runner, made, program)]
        self._returning: dict[int, int] = {}
        """By number of an input the result of the run before that is fed to it."""
        self._seen: dict[int, int] = {}
        self._may_turn = bool(made.inputs and made.outputs)
        self._rooms: list[tuple[str, int]] = []

    def run(self, leaves: list[Value]) -> list[Value]:
        """Run with values from outside; returns the results in order of their places.

        ``leaves`` is emptied: a value that nobody else has need not be copied away.
        """
        return self._run(leaves, lambda bound, work: work.do(bound.executable.run, 1))[0]

    def profile(self, leaves: list[Value]) -> tuple[list[Value], Profile]:
        """As `run`, with the time of every kernel."""
        return self._run(leaves, _profiled)

    def check(self, leaves: list[Value]) -> list[Value]:
        """As `run`, line by line.

        Raises:
            NumericError: a line made a NaN or an infinity.
        """
        bound, work = self._ready(leaves)
        work.send()
        work.require()
        return bound.check()

    def close(self) -> None:
        """Give the memory back; results that somebody has are copied away."""
        for bound in self._turns:
            bound.close(self._runner.work())
        for name, kind in self._rooms:
            self._runner.drop(name, kind)
        self._rooms.clear()

    def _run(self, leaves: list[Value], how: Callable[[Bound, Work], T]) -> tuple[list[Value], T]:
        bound, work = self._ready(leaves)
        answer = how(bound, work)
        work.send()
        self._runner.underway(work)
        return bound.lend(None if self._runner.is_host else work), answer

    def _ready(self, leaves: list[Value]) -> tuple[Bound, Work]:
        """Whose turn it is, and what brings the values where it reads them."""
        moves, work = self._runner.work(), self._runner.work()
        try:
            bound = self._prepared(leaves, moves, work)
        except BaseException:
            moves.send()
            work.send()
            raise
        # Apart, so that what was moved is there whatever fails behind it.
        moves.send()
        return bound, work

    def _prepared(self, leaves: list[Value], moves: Work, work: Work) -> Bound:
        """Whose turn it is, with the values where it reads them."""
        if self._may_turn and not self._returning:
            self._look(leaves, moves)
        bound, other = self._turns[0], self._turns[-1]
        if other is not bound:
            first = leaves[next(iter(self._returning))].bound
            if first is bound:
                bound, other = other, bound
        bound.follow(work)
        if other is not bound:
            self._bring(bound, other, leaves, moves)
        bound.prepare(leaves, moves, work)
        return bound

    def _bring(self, bound: Bound, other: Bound, leaves: list[Value], moves: Work) -> None:
        """Note what lies in the rooms of ``bound`` already; make way for what is to come there."""
        there = []
        for number, slot in self._returning.items():
            value = leaves[number]
            if value.bound is other and value.slot == slot:
                there.append((number, value))
            elif not bound.has(number, value):
                # The room of the input may hold a result that somebody has, even another leaf.
                other.settle(moves)
                bound.settle(moves)
                there.clear()
                break
        for number, value in there:
            bound.note(number, value)
        for number in self._returning:
            other.note(number, None)

    def _look(self, leaves: list[Value], moves: Work) -> None:
        """Bind a second time once the same results came back twice."""
        only = self._turns[0]
        for value in leaves:
            if value.bound is only:
                break
        else:
            return
        found = {n: v.slot for n, v in enumerate(leaves) if v.bound is only}
        if found != self._seen:
            self._seen = found
            return
        returning = _can_return(self.program, self._made, found)
        if not returning or not self._runner.has_room:
            self._may_turn = False
            return
        self._turn(returning, leaves, moves)

    def _turn(self, returning: dict[int, int], leaves: list[Value], moves: Work) -> None:
        """Bind the program twice in place of once, with rooms that the two share."""
        runner = self._runner
        kinds = {slot: leaves[number].kind for number, slot in returning.items()}
        rooms = {slot: (runner.room(kind), runner.room(kind)) for slot, kind in kinds.items()}
        names = [
            {slot: pair if turn else pair[::-1] for slot, pair in rooms.items()}
            for turn in range(2)
        ]
        (only,) = self._turns
        try:
            turns = [
                Bound(runner, self._made, _in_rooms(self.program, self._made, returning, each))
                for each in names
            ]
        finally:
            self._rooms = [(name, kinds[slot]) for slot, pair in rooms.items() for name in pair]
        only.close(moves)
        self._turns, self._returning = turns, returning


def _can_return(program: Program, made: Written, found: Mapping[int, int]) -> dict[int, int]:
    """By number of an input the result that may be written where the input is read.

    Both have storage of their own, without a halo. Of inputs that are the same value only one
    may have a gradient, since they become one storage.
    """
    tensors = program.tensors
    views = {tensor.view_of for tensor in tensors.values()}
    graded = {r.id for ins in program for r in ins.effects().writes if r.grad}
    # A result that lies where an input is read would be overwritten by the other turn.
    shown = {tensors.root(r.id) for r in made.outputs if not r.grad}
    taken: dict[int, bool] = {}
    returning: dict[int, int] = {}
    for number, slot in found.items():
        output = made.outputs[slot]
        read, written = tensors[made.inputs[number]], tensors[output.id]
        plain = not output.grad and all(
            t.view_of is None and not t.pad and not t.register and not t.partial
            and not t.role.persistent
            for t in (read, written)
        )  # fmt: skip
        has_gradient = read.id in graded
        again = slot in taken and (read.id in views or (has_gradient and taken[slot]))
        fed = written.id in made.inputs
        if plain and not again and not fed and read.id not in shown:
            returning[number] = slot
            taken[slot] = taken.get(slot, False) or has_gradient
    return returning


def _in_rooms(
    program: Program,
    made: Written,
    returning: Mapping[int, int],
    rooms: Mapping[int, tuple[str, str]],
) -> Program:
    """The program with inputs and results in tensors of the session.

    Args:
        program: what runs.
        made: names inputs and results.
        returning: by number of an input the result that comes back there.
        rooms: by number of a result, where the input is read and where the result is written.
    """
    roots: dict[int, int] = {}
    changed = []
    for number, slot in returning.items():
        tensor = program.tensors[made.inputs[number]]
        root = roots.setdefault(slot, tensor.id)
        if root == tensor.id:
            changed.append(tensor.replace(role=Role.STATE, name=rooms[slot][0]))
        else:
            changed.append(tensor.replace(role=Role.STATE, view_of=root))
    for slot in roots:
        tensor = program.tensors[made.outputs[slot].id]
        changed.append(tensor.replace(role=Role.STATE, name=rooms[slot][1]))
    return program.with_tensors(program.tensors.update(changed))


def _profiled(bound: Bound, work: Work) -> Profile:
    work.send()
    work.require()
    return bound.profile()


def stored_tensor(kind: int) -> Tensor:
    """A tensor of the session for a value of a type."""
    found = TYPES[kind]
    return Tensor(0, f"value{next(_NUMBERS)}", found.shape, found.dtype, Role.STATE)
