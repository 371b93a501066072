"""Reads tensors on the scheduler's thread: one at the rate of its view, or many in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter, thread_time
from typing import NamedTuple

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.runtime.live import After, Array, ArraySnapshot, Moment, Snapshot, Tap
from studio.engine.runtime.live_places import NotStoredError
from studio.engine.runtime.live_statistics import Statistics
from studio.engine.train.loop.trainer import Trainer
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.live.frames import ELSEWHERE, Frame, State, Status, Wish
from studio.session.live.scheduler import RETRY_SECONDS, LiveScheduler, Pace, Request
from studio.session.live.sources import Resting, Source, is_replaced, read_between_steps

MOST_BYTES = 16 << 20
"""What all pictures of one tensor may take; with larger ones there are fewer."""
PAUSE = 0.25
"""Seconds between two readings at many tensors in turn."""
PATIENCE = 1.0
"""Seconds after which a tensor that does not come is passed over."""


class Past:
    """Pictures of one tensor in the order they were taken, on the host.

    Args:
        most: pictures kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: deque[tuple[int, Array]] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, found: Snapshot) -> ArraySnapshot:
        """Lay a picture behind the others, and let it go; all of them as one tensor.

        A picture of an earlier step than the last clears the others: another training has begun.
        """
        try:
            array = np.array(found.array())
        finally:
            found.release()
        step = found.moment.step
        if self._kept and (self._kept[-1][0] > step or self._kept[-1][1].shape != array.shape):
            self._kept.clear()
        if self._kept and self._kept[-1][0] == step:
            self._kept.pop()
        self._kept.append((step, array))
        most = max(1, min(self._most, MOST_BYTES // max(1, array.nbytes)))
        while len(self._kept) > most:
            self._kept.popleft()
        stacked = np.stack([each for _, each in self._kept])
        return ArraySnapshot(found.name, stacked, found.grad, found.moment)


class Channel(Request):
    """One watched tensor: asks its tap for snapshots and makes pictures of them.

    Args:
        grad: its gradient.
        after: the instruction to look behind.
        label: what the picture's corner says of a place, given the index of its instruction.
        told: hears a frame or a status, on the scheduler's thread.
        past: pictures to lay behind one another, 0 for the newest by itself.
    """

    def __init__(
        self,
        scheduler: LiveScheduler,
        name: str,
        grad: bool,
        after: After,
        label: Callable[[Moment], str],
        told: Callable[[Frame | Status], None],
        past: int = 0,
    ) -> None:
        self.name = name
        self.grad = grad
        self.after = after
        self.wish = Wish()
        self.busy = False
        """Whether the last frame is still on its way to the window."""
        self.hurry = False
        """Whether to try at once what was refused before."""
        self.again = False
        """Whether to repeat the last report."""
        self._scheduler = scheduler
        self._pace = Pace(scheduler.budget)
        self._label = label
        self._told = told
        self._past = Past(past) if past else None
        self._source: Source | None = None
        self._tap: Tap | None = None
        self._snapshot: Snapshot | None = None
        self._text = ""
        self._done: Wish | None = None
        self._asked = False
        self._spent = 0.0
        self._status: Status | None = None
        self._looked = -1
        self._offered: deque[Frame] = deque()
        self._last: Frame | None = None

    def offer(self, last: Frame) -> None:
        """Draw on from this, on the host, where there is nothing newer; from any thread."""
        last.snapshot.retain()
        self._offered.append(last)

    def drop(self) -> None:
        """Release all snapshots."""
        self._take_offered()
        self._forget_last()
        self._leave()

    def _leave(self) -> None:
        """Let go of what comes from the source."""
        source = self._source
        if self._tap is not None and source is not None and source.trainer is not None:
            source.trainer.network.live.unwatch(self._tap)
        if self._snapshot is not None:
            self._snapshot.release()
        self._tap = self._snapshot = self._source = self._done = self._status = None
        self._asked, self._spent, self._looked = False, 0.0, -1
        self._pace.hurry()

    def serve(self, source: Source) -> float:
        """Do what is due; seconds until something may be due again."""
        wish = self.wish
        if source is not self._source:
            self._leave()
            self._source = source
        self._take_offered()
        if not wish.active or self.busy:
            return RETRY_SECONDS
        if self.again:
            self.again, self._done, self._status = False, None, None
        if wish.held is not None:
            if wish is not self._done:
                self._render(wish.held.snapshot, wish)
            return RETRY_SECONDS
        if self.hurry and self._tap is None:
            self._pace.hurry()
        self.hurry = False
        rest = self._pace.left
        if rest and wish is self._done and not _paused(source.trainer):
            return rest
        if source.trainer is not None:
            found = self._from_training(source.trainer, wish)
        else:
            found = self._from_rest(source.resting)
        if found is not None:
            self._replace(found if self._past is None else self._behind(found, self._past))
        if wish is not self._done:
            if self._snapshot is not None:
                self._render(self._snapshot, wish)
            elif source.trainer is None and self._last is not None:
                self._render(self._last.snapshot, wish)
        return self._pace.left or RETRY_SECONDS

    def _from_training(self, trainer: Trainer, wish: Wish) -> Snapshot | None:
        """The newest snapshot of the tap, if there is one; asks for the next."""
        if self._tap is None and not self._watch(trainer):
            return None
        tap = self._tap
        if tap is None:
            return None
        snapshot, failure = tap.take(), tap.failure()
        if failure is not None:
            self._asked = False
            self._pace.retry()
            self._say(Status("missing", failure.message, failure.hint))
        if snapshot is not None:
            self._asked = False
            self._pace.rest(wish.interval, tap.seconds - self._spent)
            self._spent = tap.seconds
            self._text = self._label(snapshot.moment)
            return snapshot
        paused = _paused(trainer)
        # Steps by hand come one at a time: every one of them is looked at, however soon.
        if not self._asked and (paused or not self._pace.left):
            self._asked = True
            tap.request()
        if paused and self.after is None:
            return self._look(trainer)
        if self._snapshot is None:
            self._say(Status("waiting", "Appears with the next step"))
        return None

    def _watch(self, trainer: Trainer) -> bool:
        """Put a tap on the training, or say why that cannot be."""
        if self._pace.left:
            return False
        try:
            self._tap = trainer.network.live.watch(
                self.name, grad=self.grad, after=self.after, ready=self._scheduler.wake
            )
        except NotStoredError as error:
            self._pace.retry()
            text = f"{self.name} {error.message.removeprefix('it ')}"
            if not self.wish.keep:
                self._say(Status("missing", text))
                return False
            text = f"{text}: recompiling to keep it"
            self._say(Status("compiling", text, "Training continues"))
            self._scheduler.keep(self.name, trainer)
            return False
        except StudioError as error:
            self._pace.retry()
            self._say(Status("missing", error.message, error.hint))
            return False
        return True

    def _look(self, trainer: Trainer) -> Snapshot | None:
        """The tensor as a paused training left it, where it is still there; once a pause."""
        loop = trainer.loop_or_none()
        step = 0 if loop is None else loop.total_step
        if step == self._looked:
            self._tell_older_than(step)
            return None
        self._looked = step
        if self._snapshot is not None and self._snapshot.moment.step == step:
            return None
        try:
            # A step may have been made since the training stood.
            step, found = read_between_steps(trainer, [self.name], grad=self.grad)
        except (StudioError, TimeoutError):
            if self._snapshot is None:
                self._say(Status("waiting", "Appears with the next step", "Run a step to see it"))
            self._tell_older_than(step)
            return None
        self._looked = step
        moment = Moment(step, -1)
        self._text = self._label(moment)
        return ArraySnapshot(self.name, found[self.name], self.grad, moment)

    def _tell_older_than(self, step: int) -> None:
        """Say so where what is shown is of a step before the one the training stands at."""
        if self._snapshot is not None and self._snapshot.moment.step < step:
            text = "It was not read in the last step and has been overwritten"
            self._say(Status("waiting", text, "Run a step to see it"))

    def _from_rest(self, resting: Resting | None) -> Snapshot | None:
        if self._snapshot is not None:
            return None
        try:
            array = None if resting is None else resting.read(self.name, grad=self.grad)
        except StudioError as error:
            self._say(Status("missing", error.message, error.hint))
            return None
        if resting is None or array is None:
            self._say(self._absent())
            return None
        self._text = resting.label_of(self.name)
        return ArraySnapshot(
            self.name, np.asarray(array, order="C"), self.grad, Moment(resting.step, -1)
        )

    def _behind(self, found: Snapshot, past: Past) -> Snapshot:
        """The pictures so far with this one behind them."""
        began = thread_time()
        made = past.add(found)
        self._pace.spend(thread_time() - began)
        noun = "snapshot" if len(past) == 1 else "snapshots"
        self._text = f"{len(past)} {noun} up to {self._text}"
        return made

    def _absent(self) -> Status:
        """What is to be said of a tensor that there is only in a training."""
        what = "Gradients appear" if self.grad else "Appears"
        if self._source is not None and self._source.elsewhere:
            return ELSEWHERE
        if self._source is not None and self._source.expected:
            return Status("waiting", f"{what} with the first step")
        return Status("waiting", f"{what} when the training runs", "Start a training")

    def _take_offered(self) -> None:
        """What was offered last is drawn on from."""
        while self._offered:
            self._forget_last()
            self._last = self._offered.popleft()
            self._done = self._last.wish

    def _forget_last(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.snapshot.release()

    def _replace(self, found: Snapshot) -> None:
        self._forget_last()
        if self._snapshot is not None:
            self._snapshot.release()
        self._snapshot, self._done, self._status = found, None, None

    def _render(self, snapshot: Snapshot, wish: Wish) -> None:
        shown, made = snapshot.retain(), False
        try:
            if wish.minus is not None and wish.minus.shape == snapshot.shape:
                shown.release()
                shown = difference(snapshot, wish.minus)
            on_device = wish.from_device and not isinstance(shown, ArraySnapshot)
            sheets = () if on_device else wish.sheets(shown.shape)
            rendered = shown.render(sheets, statistics=wish.statistics)
            place = wish.element if _inside(wish.element, shown.shape) else None
            value = None if place is None else shown.element(place)
            began, painted = thread_time(), None
            if wish.paint is not None and rendered.tiles:
                painted = wish.paint(shown.shape, rendered.statistics, rendered.tiles)
            seconds = rendered.seconds + thread_time() - began
            made = True
        except StudioError as error:
            self._say(Status("missing", error.message, error.hint))
            return
        finally:
            self._done = wish
            if not made:
                shown.release()
        state, text = self._origin(wish)
        self._pace.spend(seconds, postpones=state in ("live", "after"))
        self.busy = True
        # The picture takes the place of what was said: that may have to be said again behind it.
        self._status = None
        self._told(
            Frame(shown, rendered.statistics, rendered.tiles, wish, value, place, text,
                  state, painted)
        )  # fmt: skip

    def _origin(self, wish: Wish) -> tuple[State, str]:
        """Where the numbers shown come from, in a word and for the corner of the picture."""
        if wish.held is not None:
            return "held", wish.held.label
        if self._source is None or self._source.trainer is None:
            last = self._last
            return ("resting", self._text) if last is None else (last.state, last.label)
        return ("live" if self.after is None else "after"), self._text

    def _say(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self._told(status)


class SurveyReading(NamedTuple):
    """What was seen of a tensor at one look.

    Attributes:
        statistics: of its numbers.
        step: the training step at which they were so; 0 for before the first.
    """

    statistics: Statistics
    step: int


class _Seen:
    """What was seen of the tensors of one source; replaced as a whole where that changes."""

    def __init__(self, of: Trainer | Resting | None = None) -> None:
        self.of = of
        self.readings: Mapping[str, SurveyReading] = {}
        self.looked: dict[str, int] = {}


class TensorSurvey(Request):
    """Looks at many tensors in turn, for their range; one at a time, so that it costs little.

    Args:
        scheduler: decides when the next is looked at.
    """

    def __init__(self, scheduler: LiveScheduler) -> None:
        self._scheduler = scheduler
        self._pace = Pace(scheduler.budget)
        self.wanted: tuple[str, ...] = ()
        self._seen = _Seen()
        self._looking: _Looking | None = None
        self._round = 0

    @property
    def seen(self) -> Mapping[str, SurveyReading]:
        """The last readings by key of the tensor; none of another training or other weights."""
        seen = self._seen
        return seen.readings if seen.of is self._scheduler.source.of else {}

    def want(self, keys: Sequence[str]) -> None:
        """Look at these in turn; at nothing, with none."""
        before, self.wanted = self.wanted, tuple(keys)
        if self.wanted and not before:
            self._scheduler.add(self)
        elif before and not self.wanted:
            self._scheduler.remove(self)

    def forget(self) -> None:
        """What was seen says nothing any more."""
        self._seen = _Seen()

    def serve(self, source: Source) -> float:
        """Go on with the look under way, or begin the next one that is due."""
        if self._seen.of is not source.of:
            self._seen = _Seen(source.of)
        seen = self._seen
        if self._looking is not None and self._looking.seen is not seen:
            self.drop()
        if self._looking is None:
            if not self._pace.left and self._scheduler.budget.is_spent:
                self._pace.rest(PAUSE)
            rest = self._pace.left
            if rest or not self.wanted:
                return rest or RETRY_SECONDS
            key = min(self.wanted, key=lambda each: seen.looked.get(each, -1))
            self._round += 1
            seen.looked[key] = self._round
            self._looking = _Looking(self._scheduler, key, seen)
        wait = self._looking.serve(source)
        if not self._looking.is_over:
            return wait
        self.drop()
        self._pace.rest(PAUSE)
        return self._pace.left

    def drop(self) -> None:
        """Leave the look under way."""
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.channel.drop()


class _Looking:
    """One look at one of many tensors."""

    def __init__(self, scheduler: LiveScheduler, key: str, seen: _Seen) -> None:
        self.seen = seen
        self.is_over = False
        name, grad = entities.tensor_name(Entity("tensor", key))
        self.channel = Channel(scheduler, name, grad, None, lambda _: "", self._hear)
        self.channel.wish = Wish(active=True, keep=False)
        self._key = key
        self._found: SurveyReading | None = None
        self._missing = False
        self._end = perf_counter() + PATIENCE

    def serve(self, source: Source) -> float:
        """SurveyReading; seconds until something may be due again."""
        wait, at_rest = 0.0, source.trainer is None
        if at_rest and is_replaced(source.resting, self.channel.name):
            self._missing = True
        else:
            wait = self.channel.serve(source)
        if self._found is not None:
            self.seen.readings = {**self.seen.readings, self._key: self._found}
        elif self._missing or at_rest:
            self.seen.readings = {
                k: look for k, look in self.seen.readings.items() if k != self._key
            }
        left = self._end - perf_counter()
        self.is_over = self._found is not None or self._missing or at_rest or left <= 0
        return min(wait, max(0.0, left))

    def _hear(self, update: Frame | Status) -> None:
        if isinstance(update, Status):
            self._missing = update.state == "missing"
            return
        if update.statistics is not None:
            self._found = SurveyReading(update.statistics, update.snapshot.moment.step)
        update.snapshot.release()


def difference(snapshot: Snapshot, minus: Snapshot) -> ArraySnapshot:
    """One tensor less another of the same shape, as float32."""
    with np.errstate(all="ignore"):
        array = snapshot.array().astype(np.float32) - minus.array().astype(np.float32)
    return ArraySnapshot(snapshot.name, array, snapshot.grad, snapshot.moment)


def _paused(trainer: Trainer | None) -> bool:
    return trainer is not None and trainer.control.state == "paused"


def _inside(index: tuple[int, ...] | None, shape: tuple[int, ...]) -> bool:
    return (
        index is not None
        and len(index) == len(shape)
        and all(0 <= at < size for at, size in zip(index, shape, strict=True))
    )
