"""Exchange among processes, over MPI: one thread alone calls it, and watches the other workers."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from studio.engine.core.closing import Closing
from studio.engine.core.errors import DataError
from studio.engine.runtime.exchange import (
    FLAGS,
    Doubles,
    Exchange,
    Floats,
    Transfer,
)
from studio.engine.scale.parallel.joining import INSTALL, NO_MPI
from studio.engine.scale.parallel.messages import Messages, WorkerError
from studio.engine.scale.parallel.shared_memory import SharedMemory, WatchedSum
from studio.engine.scale.parallel.shared_sums import SharedSums, keeps_order, lanes_of

SILENT_SECONDS = 60.0
"""A worker that gives no sign for so long ends the training."""

_WORD = 64
_SPINS = 2000
"""How often a request is asked after without a pause: most are done by then."""
_PAUSE = 50e-6
_LOOK_SECONDS = 0.1
_IDLE_SECONDS = 0.2

_MAPS, _MPICH = "/proc/self/maps", "/dev/shm/mpich_shm_"

_Job: TypeAlias = "tuple[Callable[[], Any], Future[None] | WatchedSum]"

_STARTED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


class MpiExchange(Exchange, Closing):
    """This process as one of the workers that were started together; a context manager.

    Workers of one host add in memory that they share; MPI carries all else, and sums over hosts.

    Args:
        silent_seconds: how long another worker may give no sign.
        shared: whether workers of one host may add in shared memory.

    Attributes:
        adds_in_memory: whether they do.

    Raises:
        DataError: MPI is not installed, or this process was started alone.
    """

    def __init__(self, silent_seconds: float = SILENT_SECONDS, *, shared: bool = True) -> None:
        self._mpi = _load_mpi()
        self._silent_seconds = silent_seconds
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._failure: WorkerError | None = None
        self._ready: Future[tuple[int, int, int, int]] = Future()
        self._sums: SharedSums | None = None
        self._rooms: list[Floats] = []
        self._told = ""
        self._closed = False
        self._thread = threading.Thread(target=self._communicate, name="exchange", daemon=True)
        self._thread.start()
        rank, size, place, on_host = self._ready.result()
        super().__init__(rank, size)
        self.place_on_host = place
        if size == 1:
            _refuse_alone()
        self._drop_names()
        if shared and size > 1 and self.total(np.array([on_host == size], float))[0] == size:
            self._sums = self._shared_sums()
        self.adds_in_memory = self._sums is not None

    def begin_sum(self, given: Floats, out: Floats, scale: float = 1.0) -> Transfer:
        """Begin to put the sums of ``scale * given`` over all workers into ``out``."""
        if self._sums is not None:
            return self._sums.begin(given, out, scale)
        sent = self._room(given.size + len(FLAGS))
        numbers, flags = np.split(sent, [given.size])
        np.multiply(given, np.float32(scale), out=numbers)
        flags[:] = [bool(self.flags & flag) for flag in FLAGS]
        mpi = self._mpi
        done = self._submit(lambda: self._world.Iallreduce(mpi.IN_PLACE, sent))

        def take() -> None:
            done.result()
            np.copyto(out, numbers)
            # A sum of what was 0 or 1 on each worker.
            self.agree(sum(flag for flag, said in zip(FLAGS, flags, strict=True) if said > 0))
            self._rooms.append(sent)

        return _Pending(take)

    def total(self, values: Doubles) -> Doubles:
        """The sums over all workers, added in their order; for what is not part of a step."""
        sent = np.ascontiguousarray(values, np.float64)
        found = np.empty((self.size, *sent.shape), np.float64)
        self._submit(lambda: self._world.Iallgather(sent, found)).result()
        whole: Doubles = np.add.accumulate(found, axis=0)[-1]
        return whole

    def from_first(self, data: bytes) -> bytes:
        """What the first worker gives; what others give is not looked at."""
        length = int(self.total(np.array([len(data) if self.rank == 0 else 0], np.float64))[0])
        sent = bytearray(data if self.rank == 0 else length)
        self._submit(lambda: self._world.Ibcast([sent, self._mpi.BYTE], 0)).result()
        return bytes(sent)

    def all_words(self, word: str) -> list[str]:
        """The short ASCII word that each worker gives, by rank."""
        sent = np.frombuffer(word.encode("ascii").ljust(_WORD)[:_WORD], np.uint8)
        found = np.empty((self.size, _WORD), np.uint8)
        self._submit(lambda: self._world.Iallgather(sent, found)).result()
        return [row.tobytes().decode("ascii").rstrip() for row in found]

    def fail(self, text: str) -> None:
        """Tell the others that this worker failed; nothing can be exchanged after this."""
        self._told = text
        self._jobs.put(None)
        self._thread.join(self._silent_seconds)

    def close(self) -> None:
        """Wait for all workers, and end MPI; after a failure, nothing more is waited for."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            self._thread.join()
            if self._sums is not None:
                self._sums.close()

    def _room(self, length: int) -> Floats:
        """Memory for a sum, one that an earlier sum has left if there is one."""
        for number, room in enumerate(self._rooms):
            if room.size == length:
                return self._rooms.pop(number)
        return np.empty(length, np.float32)

    def _drop_names(self) -> None:
        """Take the name from what MPICH has mapped, which a killed worker would leave behind."""
        # All are here, so all have it mapped.
        self.all_words("here")
        if self.place_on_host == 0 and os.path.exists(_MAPS):
            with open(_MAPS, encoding="utf-8", errors="replace") as lines:
                paths = {line.rstrip().rpartition(" ")[2] for line in lines}
            for path in paths:
                if path.startswith(_MPICH):
                    with suppress(OSError):
                        os.unlink(path)

    def _shared_sums(self) -> SharedSums | None:
        """Sums in memory that the first worker makes; None unless all workers can have it."""
        cores = len(os.sched_getaffinity(0)) if keeps_order() else 0
        lanes = lanes_of(cores, self.size)
        memory, place = None, ""
        if self.rank == 0 and cores:
            with suppress(OSError, AttributeError):
                memory = SharedMemory(self.size, lanes)
                place = f"{lanes} /proc/{os.getpid()}/fd/{memory.file}"
        place = self.from_first(place.encode()).decode()
        if place and self.rank > 0 and cores:
            count, path = place.split(" ")
            with suppress(OSError):
                memory = SharedMemory(self.size, int(count), os.open(path, os.O_RDWR))
        words = self.all_words("no" if memory is None else "yes")
        if memory is not None:
            memory.close_file()
        return (
            SharedSums(self, memory, self._watch_sum)
            if memory is not None and "no" not in words
            else None
        )

    def _watch_sum(self, made: WatchedSum) -> None:
        """Have the communication thread see that the others take part in it."""
        self._jobs.put((lambda: made, made))

    # -- on the communication thread ------------------------------------------------------------

    def _communicate(self) -> None:
        try:
            mpi = self._mpi
            mpi.Init_thread(mpi.THREAD_FUNNELED)
            world = self._world = mpi.COMM_WORLD.Dup()
            host = world.Split_type(mpi.COMM_TYPE_SHARED)
            messages = self._messages = Messages(world.Dup(), mpi, world.rank, world.size)
            self._ready.set_result((world.rank, world.size, host.rank, host.size))
        except BaseException as error:
            self._ready.set_exception(error)
            return
        while True:
            job = self._next_job()
            if job is None:
                break
            begin, done = job
            try:
                self._require_others()
                self._await(begin())
            except BaseException as error:
                done.set_exception(error)
                if isinstance(error, WorkerError):
                    self._failure = error
            else:
                done.set_result(None)
        if self._told:
            messages.tell_failure(self._told)
        elif self._failure is None:
            self._end_together()

    def _next_job(self) -> _Job | None:
        """The next piece of work; messages are answered meanwhile."""
        while True:
            try:
                return self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                self._look()

    def _require_others(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _look(self) -> None:
        if self._failure is None:
            try:
                self._messages.look()
            except WorkerError as error:
                self._failure = error

    def _await(self, request: Any) -> None:
        """Wait for a request; WorkerError where another worker cannot take part any more."""
        if isinstance(request, WatchedSum):
            self._watch(lambda: request.is_over(_LOOK_SECONDS))
            return
        for _ in range(_SPINS):
            if request.Test():
                return

        def is_done() -> bool:
            if request.Test():
                return True
            time.sleep(_PAUSE)
            return False

        self._watch(is_done)

    def _watch(self, is_done: Callable[[], bool]) -> None:
        """Ask until it is done, and look after the other workers meanwhile."""
        begun = looked = time.monotonic()
        while not is_done():
            now = time.monotonic()
            if now - looked > _LOOK_SECONDS:
                looked = now
                self._messages.look()
            if now - begun > self._silent_seconds / 2:
                # All are there, and one of them is busy: it may compile, or write a checkpoint.
                self._messages.require_all(self._silent_seconds / 2, now - begun)
                begun = time.monotonic()

    def _end_together(self) -> None:
        try:
            self._await(self._world.Ibarrier())
        except WorkerError:
            # The others are gone already, and this worker has done its work.
            return
        self._mpi.Finalize()

    def _submit(self, begin: Callable[[], Any]) -> Future[None]:
        done: Future[None] = Future()
        self._jobs.put((begin, done))
        return done


class _Pending:
    """A sum that MPI makes."""

    def __init__(self, take: Callable[[], None]) -> None:
        self._take = take

    def wait(self) -> None:
        """Return when it is there; WorkerError where it never will be."""
        self._take()

    def abandon(self) -> None:
        """It is made in memory of its own."""


def _load_mpi() -> Any:
    try:
        settings = import_module("mpi4py").rc
        settings.initialize = settings.finalize = False
        return import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise DataError(
            f"{NO_MPI}, or cannot be loaded: {error}",
            who="workers",
            hint=INSTALL,
        ) from None


def _refuse_alone() -> None:
    """DataError where this process is the only one and was not started as one of several."""
    for name, who in (("OMPI_COMM_WORLD_SIZE", "--mpi"), ("PMI_SIZE", "workers")):
        others = os.environ.get(name, "1")
        if others != "1":
            raise DataError(
                f"{others} processes were started by another MPI than the one mpi4py has found",
                who=who,
                hint=f"{INSTALL}; its mpirun belongs to the MPI that mpi4py loads then",
            )
    if not any(name in os.environ for name in _STARTED):
        raise DataError(
            "this process was started alone",
            who="--mpi",
            hint="mpirun -n 2 glassbox train PROJECT --mpi, or on one host --workers 2",
        )
