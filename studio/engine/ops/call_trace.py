"""The trace: calls recorded on one thread that have not run yet."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from studio.engine.core.errors import StudioError
from studio.engine.ops.patterns import Pattern
from studio.engine.ops.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from studio.engine.ops.handle import Tensor

LONGEST = 256
"""Calls recorded before they run, unless somebody reads sooner."""


class Custom:
    """A stretch of calls whose gradient the user wrote.

    Attributes:
        first: index of its first call.
        last: index behind its last.
        inputs: places of the operands that get gradients.
        result: place of the one result.
        gradient: calls that make the gradients of ``inputs``, with places like those of the trace.
        made: places of these gradients.
    """

    def __init__(self, first: int, inputs: tuple[int, ...]) -> None:
        self.first = first
        self.last = first
        self.inputs = inputs
        self.result = 0
        self.rule: tuple[int, int] = (0, 0)
        self.made: tuple[int, ...] = ()
        self.seed = 0

    def key(self) -> tuple[Any, ...]:
        """What tells it from another."""
        return (self.first, self.last, self.inputs, self.result, self.rule, self.made, self.seed)


class Trace:
    """Calls in order, as patterns over places.

    Results are numbered from 0; values from outside have places below 0: ``~0``, ``~1`` ….

    Attributes:
        patterns: one for each call.
        operands: places read by all calls, one after another.
        handles: for every result the tensor that shows it, while somebody has it.
        also: variables that show a result besides: place and variable.
        leaves: values from outside.
        leaf_kinds: numbers of their types.
        alone: numbers of those that have a place of their own.
        sources: where in the user's code each call stands: code and place in it.
        limit: how many calls are recorded before `recording.ended` looks at them.
        tape: whether a gradient is being recorded, so that nothing may be forgotten.
        gradient: index of the call that asks for gradients; -1 without one.
        customs: stretches with gradients of the user's.
        variables: variables read while a gradient is recorded, by place.
    """

    __slots__ = (
        "alone", "also", "customs", "gradient", "handles", "leaf_kinds", "leaf_of", "leaves",
        "limit", "operands", "patterns", "sources", "tape", "variables",
    )  # fmt: skip

    def __init__(self, limit: int = LONGEST) -> None:
        self.limit = limit
        self.patterns: list[Pattern] = []
        self.operands: list[int] = []
        self.handles: list[Callable[[], Tensor | None]] = []
        self.also: list[tuple[int, ref[Tensor]]] = []
        self.leaves: list[Value] = []
        self.leaf_kinds: list[int] = []
        self.alone: list[int] = []
        self.leaf_of: dict[Any, int] = {}
        self.sources: list[tuple[CodeType, int]] = []
        self.tape = False
        self.gradient = -1
        self.customs: list[Custom] = []
        self.variables: dict[int, Tensor] = {}

    def leaf(self, tensor: Tensor) -> int:
        """The place of a tensor that was computed before, or on another thread.

        Raises:
            StudioError: it was disposed of, or waits on another thread.
        """
        value = tensor._value
        if value is None:
            raise _not_there(tensor)
        place = self.place_of(value)
        if self.tape and tensor.trainable:
            self.variables[place] = tensor
        return place

    def place_of(self, value: Value) -> int:
        """The place of a value from outside."""
        place = self.leaf_of.get(value)
        if place is None:
            place = self.leaf_of[value] = self.new_place(value)
        return place

    def new_place(self, value: Value) -> int:
        """A place of its own for a value from outside."""
        self.leaves.append(value)
        self.leaf_kinds.append(value.kind)
        return -len(self.leaves)

    def kind_at(self, place: int) -> int:
        """The number of the type at a place."""
        if place < 0:
            return self.leaf_kinds[~place]
        for pattern in self.patterns:
            if place < len(pattern.kinds):
                return pattern.kinds[place]
            place -= len(pattern.kinds)
        raise IndexError(place)

    def live(self) -> tuple[int, ...]:
        """Places somebody may still ask for."""
        found = [i for i, handle in enumerate(self.handles) if handle() is not None]
        if self.also:
            more = {place for place, handle in self.also if handle() is not None}
            found = sorted(more.union(found))
        return tuple(found)

    def waiting(self) -> list[tuple[int, Tensor]]:
        """The tensors that wait for the numbers of a place, with it."""
        found = [
            (tensor._place, tensor)
            for handle in self.handles
            if (tensor := handle()) is not None and tensor._trace is self
        ]
        for place, also in self.also:
            tensor = also()
            if tensor is not None and tensor._trace is self and tensor._place == place:
                found.append((place, tensor))
        return found

    def shown(self) -> Iterator[Tensor]:
        """The tensors that show a result, or did before they were assigned to."""
        for handle in self.handles:
            tensor = handle()
            if tensor is not None:
                yield tensor
        for _, variable in self.also:
            tensor = variable()
            if tensor is not None:
                yield tensor

    def key(self, live: tuple[int, ...]) -> tuple[Any, ...]:
        """What tells this trace from another that needs another program."""
        return (
            tuple(self.patterns),
            tuple(self.operands),
            tuple(self.leaf_kinds),
            live,
            tuple([custom.key() for custom in self.customs]),
            self._same(),
        )

    def _same(self) -> tuple[int, ...]:
        """For every place of its own the first place with the same value."""
        if not self.alone:
            return ()
        first = {id(value): n for n, value in reversed(tuple(enumerate(self.leaves)))}
        return tuple([first[id(self.leaves[n])] for n in self.alone])

    def taken(self) -> list[Value]:
        """The values from outside, which the trace forgets unless more is to be recorded."""
        found = self.leaves
        if self.tape:
            return list(found)
        self.leaves = []
        self.leaf_of.clear()
        return found

    def needed(self, live: tuple[int, ...]) -> tuple[Trace, tuple[int, ...]]:
        """The trace without calls that lead to nothing anybody has, and the live places in it.

        Itself where all are needed, and where a gradient is among them.
        """
        if self.tape or self.gradient >= 0 or self.customs:
            return self, live
        if len(live) == len(self.handles):
            return self, live
        used = set(self.operands)
        used.update(live)
        if sum([place >= 0 for place in used]) == len(self.handles):
            return self, live
        return _Pruning(self, live).finish()

    def source(self, index: int) -> str:
        """File and line of a call."""
        return line_of(*self.sources[index]) if index < len(self.sources) else ""


class _Pruning:
    """Copies the calls of a trace that lead to some places."""

    def __init__(self, trace: Trace, live: tuple[int, ...]) -> None:
        self._trace = trace
        self._live = live
        self._places: dict[int, int] = {}
        self._made = Trace()

    def finish(self) -> tuple[Trace, tuple[int, ...]]:
        """The copy, and the live places in it."""
        trace, made = self._trace, self._made
        ends = (len(trace.operands), len(trace.handles))
        calls = []
        wanted = set(self._live)
        for index in reversed(range(len(trace.patterns))):
            pattern = trace.patterns[index]
            at, place = ends[0] - pattern.reads, ends[1] - len(pattern.kinds)
            ends = (at, place)
            if not wanted.isdisjoint(range(place, place + len(pattern.kinds))):
                read = trace.operands[at : at + pattern.reads]
                wanted.update(read)
                calls.append((index, read, place))
        for index, read, place in reversed(calls):
            pattern = trace.patterns[index]
            made.operands += [self._place(given) for given in read]
            for number in range(len(pattern.kinds)):
                self._places[place + number] = len(made.handles)
                made.handles.append(trace.handles[place + number])
            made.patterns.append(pattern)
            made.sources.append(trace.sources[index])
        return made, tuple(self._places[place] for place in self._live)

    def _place(self, given: int) -> int:
        if given >= 0:
            return self._places[given]
        return self._made.place_of(self._trace.leaves[~given])


def line_of(code: CodeType, place: int) -> str:
    """File and line of a place in the user's code."""
    found = code.co_firstlineno
    for begin, end, line in code.co_lines():
        if begin <= place < end and line is not None:
            found = line
    return f"{code.co_filename}:{found}"


def _not_there(tensor: Tensor) -> StudioError:
    if tensor._trace is None:
        return StudioError("the tensor was disposed of", who="tensor", hint="keep() it")
    return StudioError(
        "the tensor was recorded on another thread and has no numbers yet",
        who="tensor",
        hint="read it there first, as with numpy()",
    )
