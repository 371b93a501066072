"""Work in the background: what runs, how far it is, how to stop it; the window never waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.core.interruption import interrupted_by
from studio.engine.core.signal import Signal
from studio.ui.models.scheduling import Scheduler, Throttle

_LOG = logging.getLogger(__name__)
WORKERS = 3
_REPORT_SECONDS = 1 / 15

T = TypeVar("T")


class CancelledError(StudioError):
    """The user stopped the task; nobody needs to be told."""

    code = "cancelled"


class TaskHandle:
    """One task, seen from its own thread and from the window.

    Attributes:
        title: what it does, with a verb.
        quiet: not worth showing to the user (short, and repeated all the time).
        share: part that is done, 0 to 1, or None while unknown.
        text: what it does at the moment.
    """

    def __init__(self, title: str, quiet: bool, told: Callable[[], None]) -> None:
        self.title = title
        self.quiet = quiet
        self.share: float | None = None
        self.text = ""
        self._told = told
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the user wants it to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask it to stop; its result is dropped."""
        self._cancelled.set()

    def progress(self, share: float | None, text: str = "") -> None:
        """Say how far it is (from the task's thread); CancelledError when it should stop."""
        self.share, self.text = share, text
        self._told()
        self.check()

    def check(self) -> None:
        """CancelledError when the task should stop."""
        if self.cancelled:
            raise CancelledError(f"{self.title} was stopped", who="task")


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
        scheduler: the window's thread.
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
    ) -> TaskHandle:
        """Run ``work`` on another thread (call this on the window's thread).

        Args:
            title: what it does, with a verb: "Compile digits".
            work: gets the handle, to report progress and to see whether it should stop.
            done: called with the result on the window's thread, unless it was cancelled.
            failed: called with the error there; other exceptions than StudioError are logged with
                their traceback and come as a StudioError of one sentence.
            quiet: leave it out of the list of tasks shown.
        """
        handle = TaskHandle(title, quiet, lambda: self._scheduler.post(self._report.ask))
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
        try:
            job.handle.check()
            with interrupted_by(lambda: self._check(job.handle)):
                result = job.work(job.handle)
        except StudioError as error:
            end = _bound(job.failed, error)
        except Exception as error:
            wrong = InternalError(f"{job.handle.title} failed", error, who="studio")
            _LOG.error("%s", wrong.message, exc_info=error)
            end = _bound(job.failed, wrong)
        else:
            end = _bound(job.done, result)
        self._scheduler.post(lambda: self._ended(job, end))

    def _check(self, handle: TaskHandle) -> None:
        # Who follows a quiet task wants the same files: what was read of them is not thrown away.
        if self._closed or not handle.quiet:
            handle.check()

    def _ended(self, job: _Job[T], end: Callable[[], object]) -> None:
        self.running = tuple(task for task in self.running if task is not job.handle)
        if not self._closed:
            self._report.ask()
            if not job.handle.cancelled:
                end()


def _bound(listener: Callable[[T], object], value: T) -> Callable[[], object]:
    # An exception must not live on in a closure's cell under the name of an except clause.
    return lambda: listener(value)


def _log_failure(error: StudioError) -> None:
    if not isinstance(error, CancelledError):
        _LOG.error("%s", error)
