"""Decides how the dispatches of a step follow each other: scratch ranges, levels and barriers.

It works on plain data, so recordings on a device and listings without one share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from studio.engine.core.tensor import Ref
from studio.engine.gl.plan.hazards import (
    Hazards,
    Levels,
    Span,
    Touches,
    with_slack,
    without_seam,
)
from studio.engine.gl.plan.scratch import (
    ROOM,
    ScratchPlan,
    place_scratch,
    scratch_sizes,
    scratch_users,
)
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.planned import (
    ArenaBinding,
    Binding,
    PlannedDispatch,
    ScratchBinding,
    StorageBinding,
)

SpanOf = Callable[[Ref], Span]
"""The byte range an operand's storage lies in."""


@dataclass(frozen=True)
class IssueOrder:
    """How the dispatches of a step follow each other; they are numbered as the program has them.

    Attributes:
        scratch: where the scratch storage of each dispatch lies.
        levels: the level of each dispatch; those of one level may run at the same time.
        numbers: the dispatches in the order they are issued.
        barriers: whether a barrier stands before each dispatch when they are issued so.
        waits: whether one stands before each when all are issued in the program's own order.
        seamless: whether the step may follow itself without the barrier before its first dispatch.
    """

    scratch: ScratchPlan
    levels: tuple[int, ...]
    numbers: tuple[int, ...]
    barriers: tuple[bool, ...]
    waits: tuple[bool, ...]
    seamless: bool


def order_dispatches(
    planned: Sequence[PlannedDispatch],
    span_of: SpanOf,
    alignment: int,
    *,
    in_order: bool = False,
    spare: int = ROOM,
) -> IssueOrder:
    """The order in which dispatches are issued, and where one has to wait for others.

    Args:
        planned: the dispatches, in the program's order.
        span_of: where storages lie.
        alignment: bytes a range of scratch storage begins at a multiple of.
        in_order: issue them in the program's order; a level is then a run without a barrier.
        spare: bytes of scratch storage that may be in use only because its readers are patient.
    """
    bindings = [_scratch_of(one) for one in planned]
    users = scratch_users(bindings)
    apart: list[Span | None] = [None] * len(planned)
    for place, numbers in enumerate(users):
        for number in numbers:
            apart[number] = (f"scratch {place}", 0, 1)
    slack = [one.slack for one in planned]
    found = _levels(planned, span_of, apart, slack)
    sizes = scratch_sizes(bindings, users, alignment)
    # Every round removes slack from some dispatch, so this ends.
    while hurried := _hurried(found, slack, sizes, users, spare):
        slack = [0 if number in hurried else own for number, own in enumerate(slack)]
        found = _levels(planned, span_of, apart, slack)
    scratch = place_scratch(bindings, users, alignment, found.settled, seamless=found.seamless)
    least = place_scratch(bindings, users, alignment)
    if in_order or scratch.nbytes > max(ROOM, least.nbytes):
        scratch = least
    shared = [None if own is None else ("scratch", own[0], sum(own)) for own in scratch.ranges]
    hazards = Hazards()
    touches = [
        _touches(one.bindings, span_of, own) for one, own in zip(planned, shared, strict=True)
    ]
    waits = tuple(hazards.needs_barrier(*own) or k == 0 for k, own in enumerate(touches))
    if in_order:
        levels = tuple(count - 1 for count in accumulate(waits))
        return IssueOrder(scratch, levels, tuple(range(len(planned))), waits, waits, False)
    if scratch is least:
        found = _levels(planned, span_of, shared, slack)
    settled = found.settled
    numbers = side_by_side(settled, found.last)
    begins = {numbers[k] for k in range(len(numbers)) if k == 0 or _differs(settled, numbers, k)}
    return IssueOrder(
        scratch,
        settled,
        tuple(numbers),
        tuple(number in begins for number in range(len(planned))),
        waits,
        found.seamless,
    )


@dataclass(frozen=True)
class _Levels:
    """Levels of dispatches.

    Attributes:
        soonest: the first level each could have.
        settled: the level of each.
        last: whether each had better come behind the others of its level.
        seamless: whether the first level need not wait for the last one of the step before.
    """

    soonest: tuple[int, ...]
    settled: tuple[int, ...]
    last: tuple[bool, ...]
    seamless: bool


def _levels(
    planned: Sequence[PlannedDispatch],
    span_of: SpanOf,
    scratch: Sequence[Span | None],
    slack: Sequence[int],
) -> _Levels:
    touches = [
        _touches(one.bindings, span_of, own) for one, own in zip(planned, scratch, strict=True)
    ]
    placing = Levels()
    soonest = [placing.place(*own) for own in touches]
    settled = with_slack(soonest, touches, slack)
    joined = without_seam(settled, touches, slack)
    settled = joined or settled
    last = (
        level > first or one.groups == (1, 1, 1)
        for level, first, one in zip(settled, soonest, planned, strict=True)
    )
    return _Levels(tuple(soonest), tuple(settled), tuple(last), joined is not None)


def _hurried(
    found: _Levels,
    slack: Sequence[int],
    sizes: Sequence[int],
    users: Sequence[Sequence[int]],
    spare: int,
) -> set[int]:
    """Dispatches that used their slack although scratch storage is short there."""
    most = max(_in_use(found.soonest, sizes, users), default=0) + spare
    in_use = _in_use(found.settled, sizes, users)
    hurried: set[int] = set()
    for numbers in users:
        levels = [found.settled[k] for k in numbers]
        if max(in_use[min(levels) : max(levels) + 1]) > most:
            late = (k for k in numbers if found.settled[k] > found.soonest[k])
            hurried.update(k for k in late if slack[k])
    return hurried


def _in_use(
    levels: Sequence[int], sizes: Sequence[int], users: Sequence[Sequence[int]]
) -> list[int]:
    """Bytes of scratch storage in use in each level."""
    change = [0] * (max(levels, default=0) + 2)
    for size, numbers in zip(sizes, users, strict=True):
        change[min(levels[k] for k in numbers)] += size
        change[max(levels[k] for k in numbers) + 1] -= size
    return list(accumulate(change))


def side_by_side(levels: Sequence[int], last: Sequence[bool]) -> list[int]:
    """Numbers of dispatches by level; in each level, delayed and single-group ones come last.

    Large dispatches start first and fill the device; small ones fit in beside their end.

    Args:
        levels: level of each dispatch.
        last: whether it comes behind the others of its level.
    """
    return sorted(range(len(levels)), key=lambda number: (levels[number], last[number]))


def _differs(levels: Sequence[int], numbers: Sequence[int], place: int) -> bool:
    return levels[numbers[place]] != levels[numbers[place - 1]]


def _scratch_of(planned: PlannedDispatch) -> ScratchBinding | None:
    return next((b for b in planned.bindings if isinstance(b, ScratchBinding)), None)


def _touches(bindings: Sequence[Binding], span_of: SpanOf, scratch: Span | None) -> Touches:
    """The ranges a dispatch reads, and those it writes."""
    reads: list[Span] = []
    writes: list[Span] = []
    for binding in bindings:
        for span, use in _ranges(binding, span_of, scratch):
            if use is not Use.WRITE:
                reads.append(span)
            if use is not Use.READ:
                writes.append(span)
    return reads, writes


def _ranges(binding: Binding, span_of: SpanOf, scratch: Span | None) -> Iterator[tuple[Span, Use]]:
    if isinstance(binding, StorageBinding):
        yield span_of(binding.ref), binding.use
    elif isinstance(binding, ArenaBinding):
        # A kernel that addresses storages by a table may read what it writes.
        use = Use.READ if binding.use is Use.READ else Use.BOTH
        for ref in binding.refs:
            yield span_of(ref), use
    elif isinstance(binding, ScratchBinding) and scratch is not None:
        # Several dispatches may fill parts of one range; they stay in order.
        yield scratch, binding.use
