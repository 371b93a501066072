"""Worker processes of this machine, and what a sweep hears from wherever its trials are trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, Protocol

from studio.engine.core.closing import Closing
from studio.engine.scale.sweep.trial import Job, Outcome
from studio.engine.scale.sweep.worker_process import Line, WorkerProcess


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
