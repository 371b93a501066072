"""Work in the background: what runs, how far it is, how to stop it; the window never waits.

A task belongs to the document that is open when it starts. When that document is left
(`TaskList.leave_document`) its answer is dropped, so that nothing of one project shows in another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Literal, TypeAlias, TypeVar

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.core.interruption import interrupted_by
from studio.engine.core.signal import Signal
from studio.session.core.scheduling import Scheduler, Throttle

_LOG = logging.getLogger(__name__)
WORKERS = 3
_REPORT_SECONDS = 1 / 15

T = TypeVar("T")

IfLeft: TypeAlias = Literal["stop", "finish", "answer"]
"""What a task does when its document is left before it has ended.

``stop``: it is cancelled and its answer dropped. ``finish``: the work is done to its end and the
answer dropped; only an error is still told to the user. ``answer``: it belongs to no document; its
answer comes whatever is open, and must not change the document or what is shown of it.
"""


class CancelledError(StudioError):
    """The user stopped the task; there is nothing to report."""

    code = "cancelled"


class TaskHandle:
    """One task, seen from its own thread and from the window.

    Attributes:
        title: what it does, with a verb.
        quiet: not worth showing to the user (short, and repeated all the time).
        share: part that is done, 0 to 1, or None while unknown.
        text: what it does at the moment.
        left: whether the document it belongs to is open no more.
    """

    def __init__(
        self,
        title: str,
        quiet: bool,
        told: Callable[[], None],
        if_left: IfLeft = "stop",
        post: Callable[[Callable[[], object]], None] | None = None,
    ) -> None:
        self.title = title
        self.quiet = quiet
        self.share: float | None = None
        self.text = ""
        self.left = False
        self._told = told
        self._if_left = if_left
        self._post = post
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the user wants it to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask it to stop; its result is dropped."""
        self._cancelled.set()

    def leave(self) -> None:
        """The document it belongs to is left; on the window's thread."""
        if self._if_left == "answer":
            return
        self.left = True
        if self._if_left == "stop":
            self.cancel()

    def tell(self, update: Callable[[], object]) -> None:
        """Run this on the window's thread, unless the task is cancelled or its document left.

        For what is known before the work has ended; from the task's thread.
        """

        def heard() -> None:
            if not (self.cancelled or self.left):
                update()

        if self._post is not None:
            self._post(heard)

    def progress(self, share: float | None, text: str = "") -> None:
        """Say how far it is (from the task's thread); CancelledError when it should stop."""
        self.share, self.text = share, text
        self._told()
        self.check()

    def check(self) -> None:
        """CancelledError when the task should stop."""
        if self.cancelled:
            raise CancelledError(f"{self.title}: cancelled", who="task")


class _Job(Generic[T]):
    """What a task does and who hears of its end."""

    def __init__(
        self,
        handle: TaskHandle,
        work: Callable[[TaskHandle], T],
        done: Callable[[T], object],
        failed: Callable[[StudioError], object],
    ) -> None:
        self.handle = handle
        self.work = work
        self.done = done
        self.failed = failed


class TaskList:
    """Runs tasks on a few threads and tells the window's thread how they ended.

    Args:
        failed: hears errors of tasks that gave no handler of their own.
    """

    def __init__(
        self, scheduler: Scheduler, failed: Callable[[StudioError], object] | None = None
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.running: tuple[TaskHandle, ...] = ()
        self._scheduler = scheduler
        self._failed = failed or _log_failure
        self._report = Throttle(scheduler, _REPORT_SECONDS, self.changed.emit)
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def start(
        self,
        title: str,
        work: Callable[[TaskHandle], T],
        done: Callable[[T], object],
        failed: Callable[[StudioError], object] | None = None,
        *,
        quiet: bool = False,
        if_left: IfLeft = "stop",
    ) -> TaskHandle:
        """Run ``work`` on another thread (call this on the window's thread).

        Args:
            title: what it does, with a verb: "Compile digits".
            work: gets the handle, to report progress and to see whether it should stop.
            done: called with the result on the window's thread, unless it was cancelled or the
                document was left meanwhile.
            failed: called with the error there; other exceptions than StudioError are logged with
                their traceback and come as a StudioError of one sentence.
            quiet: leave it out of the list of tasks shown.
            if_left: what happens when another document takes the place of the one open now.
        """
        post = self._scheduler.post
        handle = TaskHandle(title, quiet, lambda: post(self._report.ask), if_left, post)
        job = _Job(handle, work, done, failed or self._failed)
        if self._closed:
            return handle
        if self._pool is None:
            self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="glassbox-task")
        self.running = (*self.running, handle)
        self._pool.submit(self._run, job)
        self._report.ask()
        return handle

    @property
    def shown(self) -> tuple[TaskHandle, ...]:
        """The tasks worth showing, oldest first."""
        return tuple(task for task in self.running if not task.quiet)

    def leave_document(self) -> None:
        """Another document is about to be opened: no task of this one may answer any more."""
        for handle in self.running:
            handle.leave()

    def close(self) -> None:
        """Ask all tasks to stop and wait for their threads."""
        self._closed = True
        for handle in self.running:
            handle.cancel()
        self._report.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _run(self, job: _Job[T]) -> None:
        end: Callable[[], object]
        late: Callable[[], object] = _nothing
        try:
            job.handle.check()
            with interrupted_by(lambda: self._check(job.handle)):
                result = job.work(job.handle)
        except StudioError as error:
            end, late = _bound(job.failed, error), _bound(self._failed, error)
        except Exception as error:
            wrong = InternalError(f"{job.handle.title} failed", error, who="studio")
            _LOG.error("%s", wrong.message, exc_info=error)
            end, late = _bound(job.failed, wrong), _bound(self._failed, wrong)
        else:
            end = _bound(job.done, result)
        self._scheduler.post(lambda: self._ended(job.handle, end, late))

    def _check(self, handle: TaskHandle) -> None:
        # Who follows a quiet task wants the same files: what was read of them is not thrown away.
        if self._closed or not handle.quiet:
            handle.check()

    def _ended(
        self, handle: TaskHandle, end: Callable[[], object], late: Callable[[], object]
    ) -> None:
        self.running = tuple(task for task in self.running if task is not handle)
        if self._closed:
            return
        self._report.ask()
        if not handle.cancelled:
            (late if handle.left else end)()


def _nothing() -> None:
    """An answer that nothing waits for any more."""


def _bound(listener: Callable[[T], object], value: T) -> Callable[[], object]:
    # An exception must not live on in a closure's cell under the name of an except clause.
    return lambda: listener(value)


def _log_failure(error: StudioError) -> None:
    if not isinstance(error, CancelledError):
        _LOG.error("%s", error)
