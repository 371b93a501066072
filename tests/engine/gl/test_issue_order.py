"""Dispatches in the order they are issued, with the scratch storage they share in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.tensor import Ref
from studio.engine.gl.plan.hazards import Span
from studio.engine.gl.plan.issue_order import IssueOrder, order_dispatches
from studio.engine.gl.plan.scratch import ScratchPlan, place_scratch, scratch_users
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.planned import Binding, PlannedDispatch, ScratchBinding, StorageBinding
from studio.engine.gl.shader.source import KernelSource

WRITE, READ, BOTH = (ScratchBinding(64, use) for use in (Use.WRITE, Use.READ, Use.BOTH))
NO_TEXT = cast("KernelSource", None)


def dispatch(*bindings: Binding, slack: int = 0) -> PlannedDispatch:
    return PlannedDispatch(NO_TEXT, bindings, (2, 1, 1), slack=slack)


def scratch_of(*bindings: ScratchBinding | None, levels: Sequence[int] = ()) -> ScratchPlan:
    return place_scratch(bindings, scratch_users(bindings), 256, levels)


def test_what_is_filled_and_read_together_shares_scratch_storage() -> None:
    bindings = [WRITE, READ, None, WRITE, WRITE, READ, WRITE, BOTH, READ]
    assert scratch_users(bindings) == [[0, 1], [3, 4, 5], [6, 7, 8]]
    plan = scratch_of(*bindings)
    assert plan.ranges == (*[(0, 256)] * 2, None, *[(0, 256)] * 6)
    assert plan.nbytes == 256
    assert scratch_of(None, None).nbytes == 0


def test_scratch_storage_is_shared_by_what_is_apart_level_by_level() -> None:
    # The second pair stands beside the first one's end, the third behind both.
    bindings = [WRITE, READ, WRITE, READ, WRITE, READ]
    plan = scratch_of(*bindings, levels=[0, 1, 1, 2, 3, 4])
    assert plan.ranges[0] == plan.ranges[4] != plan.ranges[2]
    assert plan.nbytes == 512
    # Later in the program, but issued earlier.
    assert scratch_of(*bindings, levels=[4, 5, 2, 3, 0, 1]).nbytes == 768
    users = scratch_users(bindings)
    ends = place_scratch(bindings, users, 256, [0, 1, 2, 3, 4, 5], seamless=True)
    assert ends.ranges[0] != ends.ranges[4]


ranges = st.tuples(st.integers(0, 60), st.integers(1, 3)).map(lambda r: (r[0], r[0] + r[1]))


@st.composite
def steps(draw: st.DrawFn) -> tuple[list[PlannedDispatch], dict[Ref, Span]]:
    """Some dispatches over storages that share bytes; some fill scratch storage and read it."""
    spans: dict[Ref, Span] = {
        Ref(i): ("arena", *draw(ranges)) for i in range(draw(st.integers(4, 14)))
    }
    refs = st.sampled_from(sorted(spans, key=lambda ref: ref.id))
    found: list[PlannedDispatch] = []

    def storages() -> list[Binding]:
        some = draw(st.lists(refs, min_size=1, max_size=2, unique=True))
        return [StorageBinding(ref, draw(st.sampled_from(list(Use)))) for ref in some]

    for _ in range(draw(st.integers(1, 14))):
        slack = draw(st.integers(0, 2))
        floats = draw(st.sampled_from([0, 64, 128]))
        if not floats:
            found.append(dispatch(*storages(), slack=slack))
            continue
        alone = draw(st.booleans())
        found.append(dispatch(*storages(), ScratchBinding(floats, Use.WRITE, alone)))
        if not alone:
            last = ScratchBinding(floats, draw(st.sampled_from([Use.READ, Use.BOTH])))
            found.append(dispatch(*storages(), last, slack=slack))
    return found, spans


class Memory:
    """Which dispatch of which step wrote each cell last; scratch storage by itself or as placed."""

    def __init__(self, planned: Sequence[PlannedDispatch], spans: dict[Ref, Span]) -> None:
        self.planned = planned
        self.spans = spans
        self.cells: dict[tuple[object, int], object] = {}
        users = scratch_users([self._scratch(number) for number in range(len(planned))])
        self.user = {k: place for place, numbers in enumerate(users) for k in numbers}

    def _scratch(self, number: int) -> ScratchBinding | None:
        found = [b for b in self.planned[number].bindings if isinstance(b, ScratchBinding)]
        return found[0] if found else None

    def _cells(
        self, number: int, plan: ScratchPlan | None
    ) -> Iterator[tuple[tuple[object, int], Use]]:
        for binding in self.planned[number].bindings:
            if isinstance(binding, StorageBinding):
                name, begin, end = self.spans[binding.ref]
                yield from (((name, at), binding.use) for at in range(begin, end))
            elif isinstance(binding, ScratchBinding):
                own = None if plan is None else plan.ranges[number]
                if own is None:
                    yield ((self.user[number], 0), binding.use)
                else:
                    yield from (
                        (("scratch", at), binding.use) for at in range(own[0], sum(own), 256)
                    )

    def run(self, step: int, number: int, plan: ScratchPlan | None = None) -> set[object]:
        """Run a dispatch; what it found in the cells it reads."""
        cells = list(self._cells(number, plan))
        seen = {self.cells.get(cell) for cell, use in cells if use is not Use.WRITE}
        for cell, use in cells:
            if use is not Use.READ:
                self.cells[cell] = (step, number)
        return seen


def issued(order: IssueOrder, draw: random.Random, steps: int) -> list[tuple[int, int]]:
    """Steps and numbers in an order the barriers allow: those between two barriers run anyhow."""
    levels: list[list[tuple[int, int]]] = []
    for step in range(steps):
        for place, number in enumerate(order.numbers):
            joined = step > 0 and place == 0 and order.seamless
            if order.barriers[number] and not joined:
                levels.append([])
            levels[-1].append((step, number))
    for level in levels:
        draw.shuffle(level)
    return [one for level in levels for one in level]


@pytest.mark.slow
@given(steps(), st.booleans(), st.randoms(use_true_random=False))
def test_every_dispatch_finds_what_it_finds_in_the_programs_order(
    step: tuple[list[PlannedDispatch], dict[Ref, Span]], in_order: bool, draw: random.Random
) -> None:
    planned, spans = step
    spare = draw.choice((0, 256, 1 << 20))
    order = order_dispatches(planned, spans.__getitem__, 256, in_order=in_order, spare=spare)
    assert sorted(order.numbers) == list(range(len(planned)))
    plain, real = Memory(planned, spans), Memory(planned, spans)
    wanted = {(n, k): plain.run(n, k) for n in range(3) for k in range(len(planned))}
    found = {(n, k): real.run(n, k, order.scratch) for n, k in issued(order, draw, 3)}
    assert found == wanted
    # In the program's own order, too, which is what profiles and live tensors go through.
    watched = Memory(planned, spans)
    assert wanted == {(n, k): watched.run(n, k, order.scratch) for n, k in wanted}


@pytest.mark.slow
@given(steps())
def test_scratch_storage_takes_no_level(
    step: tuple[list[PlannedDispatch], dict[Ref, Span]],
) -> None:
    planned, spans = step
    order = order_dispatches(planned, spans.__getitem__, 256)
    # As many levels as if every range of scratch storage were a tensor of its own.
    users = scratch_users([next((b for b in p.bindings if isinstance(b, ScratchBinding)), None)
                           for p in planned])  # fmt: skip
    own = {k: Ref(100 + place) for place, numbers in enumerate(users) for k in numbers}
    apart = [dispatch(*(StorageBinding(own[k], b.use) if isinstance(b, ScratchBinding) else b
                        for b in p.bindings), slack=p.slack)
             for k, p in enumerate(planned)]  # fmt: skip
    wide = {**spans, **{ref: (f"own {ref.id}", 0, 1) for ref in own.values()}}
    assert order.levels == order_dispatches(apart, wide.__getitem__, 256).levels


def test_scratch_storage_that_would_take_too_much_room_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("studio.engine.gl.plan.issue_order.ROOM", 1024)
    planned = [one for k in range(6) for one in (
        dispatch(StorageBinding(Ref(k), Use.READ), WRITE),
        dispatch(StorageBinding(Ref(k), Use.WRITE), READ))]  # fmt: skip
    spans: dict[Ref, Span] = {Ref(k): (f"own {k}", 0, 1) for k in range(6)}
    few = order_dispatches(planned[:8], spans.__getitem__, 256)
    assert (few.scratch.nbytes, max(few.levels)) == (1024, 1)
    many = order_dispatches(planned, spans.__getitem__, 256)
    assert many.scratch.nbytes <= 1024
    assert max(many.levels) > 1


def test_sums_wait_only_where_scratch_storage_is_spare() -> None:
    # A chain of products; the parts of each are summed up while the next one runs, or before.
    planned = [dispatch(StorageBinding(Ref(0), Use.WRITE))]
    for k in range(4):
        planned += [
            dispatch(StorageBinding(Ref(k), Use.READ), WRITE),
            dispatch(StorageBinding(Ref(10 + k), Use.WRITE), READ, slack=1),
            dispatch(StorageBinding(Ref(k), Use.READ), StorageBinding(Ref(20 + k), Use.WRITE)),
            dispatch(StorageBinding(Ref(20 + k), Use.READ), StorageBinding(Ref(k + 1), Use.WRITE)),
        ]
    planned.append(dispatch(*(StorageBinding(Ref(10 + k), Use.READ) for k in range(4))))
    spans: dict[Ref, Span] = {Ref(k): (f"own {k}", 0, 1) for k in range(30)}
    waiting = order_dispatches(planned, spans.__getitem__, 256, spare=256)
    assert [waiting.levels[k] for k in (1, 2, 5, 6)] == [1, 3, 3, 5]
    assert waiting.scratch.nbytes == 512
    at_once = order_dispatches(planned, spans.__getitem__, 256, spare=255)
    assert [at_once.levels[k] for k in (1, 2, 5, 6)] == [1, 2, 3, 4]
    assert at_once.scratch.nbytes == 256
    assert max(waiting.levels) == max(at_once.levels)


def test_what_the_seam_puts_off_is_no_patience_to_be_taken_back() -> None:
    alone = ScratchBinding(64, Use.WRITE, alone=True)
    x, a, b, c = (Ref(k) for k in range(4))
    planned = [
        dispatch(StorageBinding(a, Use.WRITE)),
        # What the last dispatch of the step before writes: a level later, beside the next one.
        dispatch(StorageBinding(x, Use.READ), alone),
        dispatch(StorageBinding(a, Use.READ), StorageBinding(b, Use.WRITE), alone),
        dispatch(StorageBinding(b, Use.READ), StorageBinding(c, Use.WRITE)),
        dispatch(StorageBinding(c, Use.READ), StorageBinding(x, Use.WRITE)),
    ]
    spans: dict[Ref, Span] = {Ref(k): (f"own {k}", 0, 1) for k in range(4)}
    order = order_dispatches(planned, spans.__getitem__, 256, spare=0)
    assert order.seamless
    assert order.levels == (0, 1, 1, 2, 3)
    assert order.scratch.nbytes == 512
