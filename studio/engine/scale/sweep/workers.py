"""Worker processes of this machine, and what a sweep hears from wherever its trials are trained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, Protocol, TypeAlias

import studio
from studio.engine.core.closing import Closing
from studio.engine.core.errors import BackendError
from studio.engine.core.options import Plain
from studio.engine.scale.sweep.trial import Job, Outcome

Line: TypeAlias = Mapping[str, object]

MODULE = "studio.engine.scale.sweep.process"
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "LP_NUM_THREADS",
)  # fmt: skip
_END_SECONDS = 10.0


@dataclass(frozen=True)
class Event:
    """Something that happened to a trial.

    Attributes:
        kind: an epoch was reported, the trial ended, or its worker is gone.
        number: of the trial.
        epochs: epochs done, of a report.
        value: the objective, of a report.
        asks: whether the worker waits for an answer.
        outcome: of a trial that ended.
        why: what happened to the worker.
    """

    kind: Literal["report", "done", "lost"]
    number: int
    epochs: int = 0
    value: float = 0.0
    asks: bool = False
    outcome: Outcome | None = None
    why: str = ""

    @classmethod
    def of_line(cls, number: int, line: Line) -> Event:
        """What a message of a worker says; ValueError, TypeError or KeyError for no message."""
        done = line.get("done")
        if isinstance(done, dict):
            return cls("done", number, outcome=Outcome.from_json(done))
        epochs, value, asks = line["report"]  # type: ignore[misc]
        return cls("report", number, int(epochs), float(value), bool(asks))  # type: ignore[has-type]


class Pool(Protocol):
    """Where trials are trained; called on one thread.

    Attributes:
        where: a few words for the user.
    """

    where: str

    def submit(self, job: Job) -> None:
        """Begin a trial. At most as many are begun as the sweep has workers."""
        ...

    def answer(self, number: int, go_on: bool) -> None:
        """Tell a trial that asked whether it goes on."""
        ...

    def next(self, timeout: float) -> Event | None:
        """The next event; None where none came in that many seconds."""
        ...

    def close(self) -> None:
        """End all trials that are still under way."""
        ...


class WorkerProcess(Closing):
    """A process that trains trials, seen from its owner.

    Args:
        threads: of its libraries.
        folder: its current folder, with the file it writes complaints to.
        heard: called on a thread of its own with each message, and with None at the end.
    """

    def __init__(self, threads: int, folder: Path, heard: Callable[[Line | None], object]) -> None:
        root = str(Path(studio.__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self._log = folder / "worker.log"
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", MODULE], env=environment, cwd=folder,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                    # Ctrl-C in the terminal is for the sweep, which ends its workers itself.
                    encoding="utf-8", start_new_session=os.name == "posix",
                )  # fmt: skip
        except OSError as error:
            raise BackendError(
                f"a worker process could not be started: {error.strerror}", who="sweep"
            ) from error
        self._heard = heard
        self._reader = threading.Thread(target=self._read, name="sweep worker", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def send(self, **fields: Plain) -> None:
        """Hand it a message; one that has ended hears nothing."""
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError, ValueError):
                stdin.write(json.dumps(fields) + "\n")
                stdin.flush()

    def kill(self) -> None:
        """End it at once; its owner hears that its output has ended."""
        self._process.kill()

    def end(self) -> str:
        """Wait for a process whose output has ended; how it ended, in a few words."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code < 0:
            with suppress(ValueError):
                return f"it was ended by signal {-code} ({signal.Signals(-code).name})"
        said = ""
        with suppress(OSError):
            said = self._log.read_text(encoding="utf-8", errors="replace").strip()
        last = said.splitlines()[-1][:200] if said else ""
        return f"it ended with code {code}" + (f": {last}" if last else "")

    def close(self) -> None:
        """Kill it, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                self._heard(found)
        self._heard(None)


@dataclass
class _Slot:
    """A place for a worker process.

    Attributes:
        process: the one there now, if any.
        life: number of that process among those the place has had.
        trial: what it trains; None while it waits.
    """

    process: WorkerProcess | None = None
    life: int = 0
    trial: int | None = None


class LocalPool(Closing):
    """Worker processes of this machine; each is started when it is first needed.

    Args:
        size: how many trials are trained at once.
        threads: of each.
        folder: private folder that they run in.
    """

    def __init__(self, size: int, threads: int, folder: Path) -> None:
        processes = "1 process" if size == 1 else f"{size} processes"
        self.where = f"in {processes} of {threads} thread{'' if threads == 1 else 's'}"
        self._threads = threads
        self._folder = folder
        self._slots = [_Slot() for _ in range(size)]
        self._lines: SimpleQueue[tuple[int, int, Line | None]] = SimpleQueue()

    def submit(self, job: Job) -> None:
        """Hand a trial to a worker that waits, or to a new one."""
        index, slot = next((i, s) for i, s in enumerate(self._slots) if s.trial is None)
        if slot.process is None:
            slot.life += 1
            life, put = slot.life, self._lines.put
            folder = self._folder / f"worker-{index + 1}"
            folder.mkdir(parents=True, exist_ok=True)
            slot.process = WorkerProcess(
                self._threads, folder, lambda line: put((index, life, line))
            )
        slot.trial = job.number
        slot.process.send(job=job.to_json())

    def answer(self, number: int, go_on: bool) -> None:
        """Tell a trial that asked whether it goes on."""
        for slot in self._slots:
            if slot.trial == number and slot.process is not None:
                slot.process.send(go_on=go_on)

    def next(self, timeout: float) -> Event | None:
        """The next event; None where none came in that many seconds."""
        try:
            index, life, line = self._lines.get(timeout=timeout)
        except Empty:
            return None
        slot = self._slots[index]
        if life != slot.life or slot.process is None:
            return None
        number = slot.trial
        if line is None:
            why = slot.process.end()
            slot.process.close()
            slot.process, slot.trial = None, None
            return None if number is None else Event("lost", number, why=why)
        if number is None:
            return None
        event = Event.of_line(number, line)
        if event.kind == "done":
            slot.trial = None
        return event

    def pids(self) -> tuple[int, ...]:
        """Numbers of the processes that train now."""
        return tuple(
            slot.process.pid
            for slot in self._slots
            if slot.process is not None and slot.trial is not None
        )

    def close(self) -> None:
        """End all trials that are still under way."""
        for slot in self._slots:
            if slot.process is not None:
                slot.process.close()
                slot.process = None
