"""The thread that asks taps for snapshots and makes pictures of them; the window never waits."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.runtime.live import After, Array, ArraySnapshot, Moment, Snapshot, Tap
from studio.engine.runtime.live_places import NotStoredError
from studio.engine.train.trainer import Trainer
from studio.ui.models.live_frames import SHARE, Frame, State, Status, TimeSpent, Wish
from studio.ui.models.live_past import Past
from studio.ui.models.live_resting import Resting

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 0.5
_READ_SECONDS = 10.0
_LINGER_SECONDS = 1.0
"""How long the thread waits for the next view: who looks at one tensor after another needs it."""


class Source:
    """Where tensors come from at the moment; a new one whenever that changes.

    Args:
        trainer: the training under way, None without.
        resting: the weights there are without a training.
        expected: a training is being prepared.
    """

    def __init__(
        self,
        trainer: Trainer | None = None,
        resting: Resting | None = None,
        expected: bool = False,
    ) -> None:
        self.trainer = trainer
        self.resting = resting
        self.expected = expected


class Channel:
    """One watched tensor, as the worker sees it.

    Args:
        name: of the tensor.
        grad: its gradient.
        after: the instruction to look behind.
        label: what the picture's corner says of a place, given the index of its instruction.
        told: hears a frame or a status, on the worker's thread.
        past: pictures to lay behind one another, 0 for the newest by itself.
    """

    def __init__(
        self,
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
        """Whether to tell anew what was told before."""
        self._label = label
        self._told = told
        self._past = Past(past) if past else None
        self._source: Source | None = None
        self._tap: Tap | None = None
        self._snapshot: Snapshot | None = None
        self._text = ""
        self._done: Wish | None = None
        self._asked = False
        self._due = 0.0
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
        """Let everything go."""
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
        self._asked, self._due, self._spent, self._looked = False, 0.0, 0.0, -1

    def tick(self, source: Source, worker: LiveWorker) -> float:
        """Do what is due; seconds until something may be due again."""
        wish = self.wish
        if source is not self._source:
            self._leave()
            self._source = source
        self._take_offered()
        if not wish.active or self.busy:
            return _RETRY_SECONDS
        if self.again:
            self.again, self._done, self._status = False, None, None
        if wish.held is not None:
            if wish is not self._done:
                self._render(wish.held.snapshot, wish, worker)
            return _RETRY_SECONDS
        if self.hurry and self._tap is None:
            self._due = 0.0
        self.hurry = False
        now = time.perf_counter()
        if now < self._due and wish is self._done and not _paused(source.trainer):
            return self._due - now
        if source.trainer is not None:
            found = self._from_training(source.trainer, wish, now, worker)
        else:
            found = self._from_rest(source.resting)
        if found is not None:
            self._replace(found if self._past is None else self._behind(found, self._past, worker))
        if wish is not self._done:
            if self._snapshot is not None:
                self._render(self._snapshot, wish, worker)
            elif source.trainer is None and self._last is not None:
                self._render(self._last.snapshot, wish, worker)
        return max(0.0, self._due - time.perf_counter()) if self._due > now else _RETRY_SECONDS

    def _from_training(
        self, trainer: Trainer, wish: Wish, now: float, worker: LiveWorker
    ) -> Snapshot | None:
        """The newest snapshot of the tap, if there is one; asks for the next."""
        if self._tap is None and not self._watch(trainer, now, worker):
            return None
        tap = self._tap
        if tap is None:
            return None
        snapshot, failure = tap.take(), tap.failure()
        if failure is not None:
            self._asked, self._due = False, now + _RETRY_SECONDS
            self._say(Status("missing", failure.message, failure.hint))
        if snapshot is not None:
            self._asked = False
            took = tap.seconds - self._spent
            self._spent = tap.seconds
            worker.spent.add(took)
            self._pace(wish, took, now)
            self._text = self._label(snapshot.moment)
            return snapshot
        paused = _paused(trainer)
        # Steps by hand come one at a time: every one of them is looked at, however soon.
        if not self._asked and (paused or now >= self._due):
            self._asked = True
            tap.request()
        if paused and self.after is None:
            return self._look(trainer)
        if self._snapshot is None:
            self._say(Status("waiting", "Appears with the next step"))
        return None

    def _watch(self, trainer: Trainer, now: float, worker: LiveWorker) -> bool:
        """Put a tap on the training, or say why that cannot be."""
        if now < self._due:
            return False
        try:
            self._tap = trainer.network.live.watch(
                self.name, grad=self.grad, after=self.after, ready=worker.wake
            )
        except NotStoredError:
            self._due = now + _RETRY_SECONDS
            if not self.wish.keep:
                self._say(Status("missing", f"{self.name} lives only inside a fused kernel"))
                return False
            text = f"{self.name} lives only inside a fused kernel: recompiling to keep it"
            self._say(Status("compiling", text, "The training goes on meanwhile"))
            worker.keep(self.name, trainer)
            return False
        except StudioError as error:
            self._due = now + _RETRY_SECONDS
            self._say(Status("missing", error.message, error.hint))
            return False
        self._due = 0.0
        return True

    def _look(self, trainer: Trainer) -> Snapshot | None:
        """The tensor as a paused training left it, where it is still there; once a pause."""
        loop, live = trainer.loop_or_none(), trainer.network.live
        name, grad = self.name, self.grad
        step = 0 if loop is None else loop.total_step
        if step == self._looked:
            self._tell_older_than(step)
            return None
        self._looked = step
        if self._snapshot is not None and self._snapshot.moment.step == step:
            return None

        def read() -> tuple[int, Future[Array]]:
            # Asked for here, between two steps: one may have been made since the training stood.
            return 0 if loop is None else loop.total_step, live.read(name, grad=grad)

        try:
            step, future = trainer.control.call(read).result(_READ_SECONDS)
            array = np.asarray(future.result(_READ_SECONDS), order="C")
        except (StudioError, TimeoutError):
            if self._snapshot is None:
                self._say(Status("waiting", "Appears with the next step", "Run a step to see it"))
            self._tell_older_than(step)
            return None
        self._looked = step
        moment = Moment(step, -1)
        self._text = self._label(moment)
        return ArraySnapshot(self.name, array, self.grad, moment)

    def _tell_older_than(self, step: int) -> None:
        """Say so where what is shown is of a step before the one the training stands at."""
        if self._snapshot is not None and self._snapshot.moment.step < step:
            text = "It was not looked at in the last step, and is no longer there"
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
        self._text = resting.label
        return ArraySnapshot(
            self.name, np.asarray(array, order="C"), self.grad, Moment(resting.step, -1)
        )

    def _behind(self, found: Snapshot, past: Past, worker: LiveWorker) -> Snapshot:
        """The pictures so far with this one behind them."""
        began = time.thread_time()
        made = past.add(found)
        seconds = time.thread_time() - began
        worker.spent.add(seconds)
        self._due += seconds / worker.share
        noun = "picture" if len(past) == 1 else "pictures"
        self._text = f"{len(past)} {noun} to {self._text}"
        return made

    def _absent(self) -> Status:
        """What is to be said of a tensor that there is only in a training."""
        what = "Gradients appear" if self.grad else "Appears"
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

    def _render(self, snapshot: Snapshot, wish: Wish, worker: LiveWorker) -> None:
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
            began, painted = time.thread_time(), None
            if wish.paint is not None and rendered.tiles:
                painted = wish.paint(shown.shape, rendered.statistics, rendered.tiles)
            seconds = rendered.seconds + time.thread_time() - began
            made = True
        except StudioError as error:
            self._say(Status("missing", error.message, error.hint))
            return
        finally:
            self._done = wish
            if not made:
                shown.release()
        worker.spent.add(seconds)
        state, text = self._origin(wish)
        if state in ("live", "after"):
            self._due += seconds / worker.share
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

    def _pace(self, wish: Wish, took: float, now: float) -> None:
        """When the next picture is due, so that pictures keep to their share of the time."""
        self._due = now + max(wish.interval, took / SHARE)

    def _say(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self._told(status)


class LiveWorker:
    """Serves all channels from one thread, which lives while there are any, and a little longer.

    Args:
        keep: asked, on the worker's thread, that a fused tensor of a training be kept by a
            recompile.
    """

    def __init__(self, keep: Callable[[str, Trainer], None]) -> None:
        self.keep = keep
        self.spent = TimeSpent()
        self.share = SHARE
        self._condition = threading.Condition()
        self._channels: tuple[Channel, ...] = ()
        self._gone: tuple[Channel, ...] = ()
        self._source = Source()
        self._woken = False
        self._quiet = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def add(self, channel: Channel) -> None:
        """Serve a channel from now on."""
        with self._condition:
            self._channels = (*self._channels, channel)
            self._closing = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="glassbox-live", daemon=True)
                self._thread.start()
        self.wake()

    def remove(self, channel: Channel) -> None:
        """Serve it no longer; what it holds is let go on the worker's thread."""
        with self._condition:
            self._channels = tuple(each for each in self._channels if each is not channel)
            self._gone = (*self._gone, channel)
        self.wake()

    def use(self, source: Source) -> None:
        """Take tensors from somewhere else."""
        self._source = source
        self.wake()

    def set_quiet(self, quiet: bool) -> None:
        """Capture and draw nothing, or go on."""
        self._quiet = quiet
        for channel in self._channels:
            channel.again = True
        self.wake()

    def retry(self) -> None:
        """Try at once what was refused before: the program has changed."""
        for channel in self._channels:
            channel.hurry = True
        self.wake()

    def wake(self) -> None:
        """Something has changed; from any thread."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def close(self) -> None:
        """Let everything go and end the thread."""
        with self._condition:
            self._gone, self._channels = (*self._gone, *self._channels), ()
            self._closing = True
        self.wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        delay = 0.0
        while True:
            with self._condition:
                if not self._woken and not self._waited(delay):
                    self._thread = None
                    return
                self._woken = False
                gone, self._gone = self._gone, ()
                channels, source = self._channels, self._source
            for channel in gone:
                channel.drop()
            delay = _RETRY_SECONDS
            for channel in () if self._quiet else channels:
                delay = min(delay, self._served(channel, source))

    def _waited(self, delay: float) -> bool:
        """Wait until something is due, the lock held; whether anybody needs the thread any more."""
        if self._channels:
            if delay > 0:
                self._condition.wait(delay)
            return True
        if not self._closing and not self._gone:
            self._condition.wait(_LINGER_SECONDS)
        # What came while the lock was not held counts, also where the wait was over just before.
        return self._woken or bool(self._channels or self._gone)

    def _served(self, channel: Channel, source: Source) -> float:
        try:
            return channel.tick(source, self)
        except Exception:
            # A picture that fails must not take the others with it.
            _LOG.exception("the picture of %s failed", channel.name)
            return _RETRY_SECONDS


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
