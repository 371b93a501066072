"""Views of tensors while a network trains: what each wants, and where it is read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.isa.program import Program
from studio.engine.runtime.live import ArraySnapshot, Moment
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.live import Replacement
from studio.session.compile.provenance import Provenance
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.core.scheduling import Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.live.channel import Channel
from studio.session.live.frames import ELSEWHERE, Frame, Status, Wish
from studio.session.live.scheduler import LiveBudget, LiveScheduler
from studio.session.live.sources import Resting, Source

WAITING = Status("waiting", "Updated while training runs", "Start a training")
FIRST_STEP = Status("waiting", "Appears with the first step")
NEXT_STEP = Status("waiting", "Appears with the next step")
QUIET = Status("quiet", "Live views are off", "Turn them on to see tensors change")


class LiveView:
    """The subscription of one view to one tensor; used on the window's thread.

    Made by `LiveTensors.open`. Nothing is captured until the view is active.
    """

    def __init__(self, owner: LiveTensors, entity: Entity, after: str, past: int) -> None:
        self.entity = entity
        self.after = after
        self.past = past
        self.changed: Signal[[]] = Signal()
        self.frame: Frame | None = None
        self.status: Status = owner.waiting
        self._owner = owner
        self._closed = False
        self._offered: ArraySnapshot | None = None
        name, grad = entities.tensor_name(entity)
        locate = owner.locate(after) if after else None
        self._channel = Channel(
            owner.scheduler, name, grad, locate, self._corner, self._told, past
        )  # fmt: skip
        owner.scheduler.add(self._channel)

    @property
    def wish(self) -> Wish:
        """What the view wants at the moment."""
        return self._channel.wish

    def want(self, **changes: Any) -> None:
        """Want something else, by the fields of `Wish`."""
        self._channel.wish = replace(self._channel.wish, **changes)
        self._owner.scheduler.wake()

    def close(self) -> None:
        """End the subscription and release its snapshot."""
        if self._closed:
            return
        self._closed = True
        self._owner.forget(self)
        self._owner.scheduler.remove(self._channel)
        self._set_frame(None)

    def settle(self) -> None:
        """Copy the image and its numbers to the host: the device may be about to close.

        Other slices of it are drawn from there as long as nothing newer takes its place; that needs
        no memory but the picture's own.
        """
        self._copy_to_host()
        if self.frame is not None:
            self._offer(self.frame)

    def _offer(self, frame: Frame) -> None:
        """Let other slices be drawn from a picture; a difference is not the tensor itself."""
        if (
            frame.state in ("live", "after")
            and frame.wish.minus is None
            and isinstance(frame.snapshot, ArraySnapshot)
            and frame.snapshot is not self._offered
        ):
            self._offered = frame.snapshot
            self._channel.offer(frame)

    def _copy_to_host(self) -> None:
        frame = self.frame
        if frame is None or isinstance(frame.snapshot, ArraySnapshot):
            return
        old = frame.snapshot
        try:
            made = ArraySnapshot(old.name, old.array(), old.grad, old.moment)
            # What the device has drawn has no tiles, and the device may be about to close.
            sheets = () if frame.tiles else self.wish.sheets(made.shape)
            tiles = frame.tiles or made.render(sheets, statistics=False).tiles
        except StudioError:
            self._set_frame(None)
            return
        self._set_frame(replace(frame, snapshot=made, tiles=tiles))
        self.changed.emit()

    def hurry(self) -> None:
        """Try at once what was refused before: the program has changed."""
        self._channel.hurry = True
        self._owner.scheduler.wake()

    def quiet_changed(self) -> None:
        """Say why there is no picture, and later what there is."""
        self._channel.again = True
        self.show_status(self._owner.waiting)

    def show_status(self, status: Status) -> None:
        """Say why there is no new picture."""
        self.status = status
        self.changed.emit()

    def _corner(self, moment: Moment) -> str:
        step = f"step {moment.step:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        return f"{step} · after #{moment.index}" if self.after else step

    def _told(self, update: Frame | Status) -> None:
        """Post an update from the scheduler's thread to the window's."""
        self._owner.scheduler.post(lambda: self._take(update))

    def _take(self, update: Frame | Status) -> None:
        if isinstance(update, Frame):
            self._channel.busy = False
            self._owner.scheduler.wake()
            if self._closed:
                update.snapshot.release()
                return
            self._set_frame(update)
            if self._owner.trainer is None:
                # It was still on its way when the training ended.
                self._offer(update)
            self.status = Status(update.state, update.label)
        elif not self._closed:
            self.status = update
        if not self._closed:
            self.changed.emit()

    def _set_frame(self, frame: Frame | None) -> None:
        old, self.frame = self.frame, frame
        if frame is None or frame.snapshot is not self._offered:
            self._offered = None
        if old is not None:
            old.snapshot.release()


class LiveTensors:
    """The tensors the studio looks at; follows one training after another.

    The owner of a training calls `started` with the trainer once it exists, and `ended` when it is
    over, before its network or device is closed.

    Args:
        budget: the interval between images; a new one if None.
    """

    def __init__(
        self, window: Scheduler, tasks: TaskList, budget: LiveBudget | None = None
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.kept_changed: Signal[[frozenset[str]]] = Signal()
        self.budget = budget or LiveBudget()
        self.scheduler = LiveScheduler(window, self.budget, self._keep_later)
        self._tasks = tasks
        self.trainer: Trainer | None = None
        self.resting: Resting | None = None
        """The weights shown while nothing trains."""
        self.views: tuple[LiveView, ...] = ()
        self._asked: set[str] = set()
        self._tried: set[str] = set()
        self._recompiling: TaskHandle | None = None
        self._expected = self._elsewhere = False
        self._provenance: Provenance | None = None
        self.budget.quiet_changed.connect(self._quiet_changed)

    # -- for the owner of trainings ---------------------------------------------------------------

    def expect(self, expected: bool) -> None:
        """A training is being prepared, or is not any more."""
        if expected != self._expected:
            self._expected = expected
            self._apply()

    def train_elsewhere(self, is_elsewhere: bool) -> None:
        """A training on another machine is under way, or is over; its tensors stay there."""
        if is_elsewhere != self._elsewhere:
            self._elsewhere = is_elsewhere
            self._apply()

    def started(self, trainer: Trainer) -> None:
        """A training is there: look at its tensors."""
        self.trainer, self._expected = trainer, False
        self._asked, self._tried, self._recompiling = set(), set(), None
        self._apply()

    def ended(self, resting: Resting | None = None) -> None:
        """The training is over; from now on tensors are read from `resting`, if given."""
        for view in self.views:
            view.settle()
        self.trainer = None
        if resting is not None:
            self.resting = resting
        self._apply()

    def leave_document(self) -> None:
        """Another document is about to be opened: no view shows anything of this one."""
        for view in self.views:
            view.close()
            view.changed.emit()

    def rest_on(self, resting: Resting | None) -> None:
        """Show these weights while nothing trains: the initial ones, or a run's."""
        self.resting = resting
        self._apply()

    # -- for views ------------------------------------------------------------------------------

    def open(self, entity: Entity, *, after: str = "", past: int = 0) -> LiveView:
        """Look at a tensor.

        Args:
            entity: a tensor, or its gradient.
            after: stable key of the instruction to look behind; the last that writes it without.
            past: pictures to lay behind one another, 0 for the newest by itself.
        """
        view = LiveView(self, entity, after, past)
        self.views = (*self.views, view)
        return view

    @property
    def waiting(self) -> Status:
        """Why a view that was just opened shows nothing."""
        if self.budget.quiet:
            return QUIET
        if self.trainer is not None:
            return NEXT_STEP
        if self._elsewhere:
            return ELSEWHERE
        return FIRST_STEP if self._expected else WAITING

    def forget(self, view: LiveView) -> None:
        """A view was closed."""
        self.views = tuple(each for each in self.views if each is not view)

    def close(self) -> None:
        """Release everything; views that are left show nothing."""
        views = self.views
        for view in views:
            view.close()
        self.scheduler.close()
        for view in views:
            view.changed.emit()

    # -- inside ---------------------------------------------------------------------------------

    def _quiet_changed(self, _quiet: bool) -> None:
        for view in self.views:
            view.quiet_changed()
        self.scheduler.wake()
        self.changed.emit()

    def locate(self, key: str) -> Callable[[Program], int | None]:
        """Finds the instruction of a stable key in whatever program runs."""

        def find(program: Program) -> int | None:
            found = self._provenance
            if found is None or found.program is not program:
                found = self._provenance = Provenance(program)
            return found.index_of(key)

        return find

    def _apply(self) -> None:
        self.scheduler.use(
            Source(
                self.trainer,
                None if self._elsewhere else self.resting,
                self._expected,
                self._elsewhere,
            )
        )
        self.changed.emit()

    def _keep_later(self, name: str, trainer: Trainer) -> None:
        self.scheduler.post(lambda: self._keep(name, trainer))

    def _keep(self, name: str, trainer: Trainer) -> None:
        """Recompile the running program so that it stores a tensor; several at a time."""
        if trainer is not self.trainer or name in self._tried:
            return
        self._tried.add(name)
        self._asked.add(name)
        if self._recompiling is None or self._recompiling.cancelled:
            self._recompile(trainer)

    def _recompile(self, trainer: Trainer) -> None:
        names, self._asked = frozenset(self._asked), set()
        live = trainer.network.live

        def work(handle: TaskHandle) -> Replacement:
            def progress(done: int, total: int) -> None:
                handle.progress(done / max(1, total), "compiling kernels")

            made = live.recompile(names, progress)
            trainer.control.call(lambda: live.replace(made)).result()
            return made

        def done(made: Replacement) -> None:
            if trainer is self.trainer:
                self._recompiling = None
                self.kept_changed.emit(made.kept)
                for view in self.views:
                    view.hurry()
                if self._asked:
                    self._recompile(trainer)

        def failed(error: StudioError) -> None:
            if trainer is not self.trainer:
                return
            self._recompiling = None
            for view in self.views:
                if view.status.state == "compiling":
                    view.show_status(Status("missing", error.message, error.hint))

        title = f"Keep {', '.join(sorted(names))} in the program"
        self._recompiling = self._tasks.start(title, work, done, failed)
