"""The one thread that owns the OpenGL context; everybody else posts work to it."""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, Self, TypeVar

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.context import ContextProvider, DeviceContext, StandaloneProvider
from studio.engine.gl.device.device import DeviceInfo, read_device_info
from studio.engine.gl.device.entry_points import ContextLostError, EntryPoints

_LOG = logging.getLogger(__name__)
# A kernel that never ends cannot be stopped from here; the interpreter then leaves without it.
_JOIN_SECONDS = 30.0

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple[Callable[[], object], "Future[object]"]


class _Worker:
    """What the thread needs to live; has no reference to the EngineThread itself."""

    def __init__(self, provider: ContextProvider) -> None:
        self.provider = provider
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.started: Future[tuple[EntryPoints, DeviceInfo]] = Future()
        self.closers: list[Callable[[], None]] = []
        self.failure: ContextLostError | None = None
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def run(self) -> None:
        """The thread's life: open the context, serve jobs, give everything back."""
        context: DeviceContext | None = None
        try:
            context = self.provider.create()
            gl = EntryPoints(context.load)
            self.started.set_result((gl, read_device_info(gl, context.origin)))
        except BaseException as error:
            if context is not None:
                context.release()
            self.started.set_exception(error)
            return
        try:
            self._serve()
        finally:
            self._close(gl, context)

    def _serve(self) -> None:
        while True:
            job = self.jobs.get()
            if job is None:
                return
            self._run_job(*job)
            # Keep no reference to the last job while waiting for the next.
            del job

    def _run_job(self, work: Callable[[], object], future: Future[object]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        if self.stopping.is_set() or self.failure is not None:
            future.set_exception(self.refusal())
            return
        try:
            result = work()
        except ContextLostError as error:
            self.failure = error
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def refusal(self) -> BackendError:
        """The error for work posted to an engine that no longer runs."""
        if self.failure is not None:
            return ContextLostError(
                self.failure.message, who=self.failure.who, hint=self.failure.hint
            )
        return BackendError(
            "the OpenGL engine has been closed",
            who="gl",
            hint="open the backend again before running anything on it",
        )

    def _close(self, gl: EntryPoints, context: DeviceContext) -> None:
        with self.lock:
            self.stopping.set()
        while not self.jobs.empty():
            job = self.jobs.get()
            if job is not None and job[1].set_running_or_notify_cancel():
                job[1].set_exception(self.refusal())
        if self.failure is None:
            gl.finish()
        for closer in reversed(self.closers):
            try:
                closer()
            except Exception:
                _LOG.exception("an OpenGL object could not be released")
        self.closers.clear()
        context.release()


def _stop(worker: _Worker) -> None:
    """Ask the thread to end and wait for it; also runs at interpreter exit and on collection."""
    with worker.lock:
        worker.stopping.set()
        worker.jobs.put(None)
    thread = worker.thread
    if thread is not None and thread is not threading.current_thread():
        thread.join(_JOIN_SECONDS)
        if thread.is_alive():
            _LOG.warning("the OpenGL thread still waits for the driver and is left behind")


class EngineThread:
    """Owns the context and makes every OpenGL call of the engine.

    Use as a context manager, or call ``start`` and ``close``. A forgotten engine is closed when it
    is collected or when the interpreter ends.

    Args:
        provider: who opens the context; a standalone one by default.
        name: of the thread, as debuggers show it.
    """

    def __init__(
        self, provider: ContextProvider | None = None, *, name: str = "glassbox-gl"
    ) -> None:
        self._worker = _Worker(provider or StandaloneProvider())
        self._name = name
        self._finalizer: weakref.finalize[[_Worker], EngineThread] | None = None
        self._gl: EntryPoints | None = None
        self._info: DeviceInfo | None = None

    def start(self) -> Self:
        """Start the thread and open the context.

        Raises:
            BackendError: there is no usable OpenGL here; the sentence says why.
        """
        worker = self._worker
        if worker.thread is not None:
            raise RuntimeError("an engine thread starts once")
        # A daemon, because the interpreter would otherwise wait for it before it asks it to end.
        worker.thread = threading.Thread(target=worker.run, name=self._name, daemon=True)
        self._finalizer = weakref.finalize(self, _stop, worker)
        worker.thread.start()
        try:
            self._gl, self._info = worker.started.result()
        except BaseException:
            self.close()
            raise
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def gl(self) -> EntryPoints:
        """The entry points; only to be called by work running on the engine thread."""
        if self._gl is None:
            raise RuntimeError("the engine thread has not been started")
        return self._gl

    @property
    def info(self) -> DeviceInfo:
        """What the device is and allows."""
        if self._info is None:
            raise RuntimeError("the engine thread has not been started")
        return self._info

    @property
    def stopping(self) -> threading.Event:
        """Set once the engine is asked to end; long work looks at it between its parts."""
        return self._worker.stopping

    @property
    def is_alive(self) -> bool:
        """Whether work posted now would run."""
        worker = self._worker
        running = worker.thread is not None and worker.thread.is_alive()
        return running and not worker.stopping.is_set() and worker.failure is None

    def on_thread(self) -> bool:
        """Whether the caller is the engine thread itself."""
        return threading.current_thread() is self._worker.thread

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Post work to the engine thread; the future carries its result or its error.

        Work runs in the order it was posted. An engine that is closed or has lost its context
        answers with a future holding a BackendError.
        """
        future: Future[T] = Future()
        worker = self._worker
        with worker.lock:
            refused = worker.thread is None or worker.stopping.is_set() or worker.failure
            if not refused:
                worker.jobs.put((lambda: work(*args, **kwargs), future))  # type: ignore[arg-type]
        if refused:
            future.set_exception(worker.refusal())
        return future

    def call(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work on the engine thread and wait for its result; direct when already there.

        Raises:
            BackendError: the engine is closed or has lost its context.
            Exception: whatever the work raised.
        """
        if self.on_thread():
            return work(*args, **kwargs)
        return self.submit(work, *args, **kwargs).result()

    def on_close(self, closer: Callable[[], None]) -> None:
        """Register what releases OpenGL objects; runs on the thread, last registered first.

        The closer must not hold this object, or a forgotten engine is never collected.
        """
        self._worker.closers.append(closer)

    def close(self) -> None:
        """End running work at its next look at ``stopping``, release everything, join the thread.

        May be called from any thread, more than once.
        """
        if self._finalizer is not None:
            self._finalizer()
