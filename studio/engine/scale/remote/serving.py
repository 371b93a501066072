"""What runs in a Dask worker: it keeps the process of a training and its folder, and hands both on.

A training runs to its end even when no client is connected. Its folder is kept until a client has
fetched it or the worker ends. The latest of its messages are kept for clients that connect again.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from distributed import get_worker

from studio.engine.core.errors import StudioError, in_one_line
from studio.engine.core.options import Plain
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.scale.remote.messages import Ended, Failed, Line, Lost, Order, line_of
from studio.engine.scale.remote.mirror import Known, Part, Piece, pieces_of
from studio.engine.scale.remote.training_process import MODULE
from studio.engine.scale.sweep.bundle import place_of, unpacked
from studio.engine.scale.sweep.worker_process import WorkerProcess

RunFiles: TypeAlias = "Mapping[str, tuple[bytes, int]]"
"""Files of a run that goes on, each with the time it was written, in microseconds."""

MOST_LINES = 4000
_POLL = 0.5
_LAST = (Ended.__name__, Failed.__name__, Lost.__name__)


@dataclass(frozen=True)
class Fetched:
    """What a training has given since it was asked last.

    Attributes:
        lines: what it said.
        next: number of the line to come.
        pieces: of its run's files.
        names: of all of them.
        is_whole: whether that is all.
        is_over: whether nothing more will come.
    """

    lines: list[Line]
    next: int
    pieces: list[Piece]
    names: list[str]
    is_whole: bool
    is_over: bool


@dataclass(eq=False)
class ServedTraining:
    """A training of this worker.

    Attributes:
        folder: private folder.
        run: the run's folder in it.
        process: what trains.
        is_over: whether that has ended.
    """

    folder: Path
    run: Path
    process: WorkerProcess | None = None
    is_over: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _telling: threading.Lock = field(default_factory=threading.Lock)
    _early: list[tuple[str, float | None]] = field(default_factory=list)
    _lines: deque[tuple[int, Line]] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    _count: int = 0
    _has_last: bool = False

    def begin(self, process: WorkerProcess, **order: Plain) -> None:
        """Hand the process its order, and what was asked of it before it was there."""
        with self._telling:
            process.send(**order)
            for do, value in self._early:
                process.send(do=do, value=value)
            self.process = process

    def tell(self, do: str, value: float | None) -> None:
        """Hand the process a command; until it is there, the command waits."""
        with self._telling:
            if self.process is None:
                self._early.append((do, value))
            else:
                self.process.send(do=do, value=value)

    def add(self, line: Line | None) -> None:
        """Keep what the process said; None at its end."""
        if line is None:
            self.ended.set()
            return
        with self._lock:
            self._lines.append((self._count, line))
            self._count += 1
            self._has_last |= any(kind in line for kind in _LAST)

    def end(self, why: str) -> None:
        """Nothing more comes; say why where the process did not."""
        if not self._has_last:
            self.add(line_of(Lost(f"the training there has ended: {why}", goes_on=False)))
        self.is_over = True

    def since(self, first: int) -> tuple[list[Line], int]:
        """The lines from a number on, as far as they are kept, and the number to come."""
        with self._lock:
            return [line for number, line in self._lines if number >= first], self._count


# In a Dask worker: its trainings.
trainings: dict[str, ServedTraining] = {}


class _Quiet(logging.Filter):
    """Leaves out of a worker's log that it was asked for more, some times a second."""

    def filter(self, record: logging.LogRecord) -> bool:
        return fetch.__name__ not in record.getMessage()


_QUIET = _Quiet()


def has_files(digest: str, dask_worker: Any) -> bool:
    """Whether the files of a bundle are here already."""
    return (Path(dask_worker.local_directory) / f"glassbox-{digest}").is_dir()


def is_known(ident: str, dask_scheduler: Any) -> bool:
    """Whether a training is yet to end; run in the scheduler, as what was lost is not told of."""
    return ident in dask_scheduler.tasks


def train_here(
    ident: str, process: ProcessIdentity, fields: Mapping[str, Plain], files: Mapping[str, bytes],
    digest: str, run_files: RunFiles,
) -> None:  # fmt: skip
    """Train in a process of its own, to its end; a task of the cluster.

    Args:
        ident: of the training.
        process: the worker it was sent to. Another begins it not again: what it had is gone.
        fields: of the order.
        files: of the data.
        digest: their hash.
        run_files: of the run, where one goes on.
    """
    if own_identity() != process or ident in trainings:
        return
    logging.getLogger("distributed.worker").addFilter(_QUIET)
    worker, order = get_worker(), Order.from_json(fields)
    root = Path(worker.local_directory)
    folder = Path(tempfile.mkdtemp(prefix="training-", dir=root))
    training = trainings[ident] = ServedTraining(folder, folder / "project.runs" / order.run)
    threads = worker.state.nthreads
    try:
        base = unpacked(files, digest, root) / "project.glassbox"
        _write_run(run_files, training.run)
        with WorkerProcess(threads, folder, training.add, MODULE) as trains:
            training.begin(
                trains, order=order.to_json(), base=str(base), run=str(training.run),
                threads=threads,
            )  # fmt: skip
            while not training.ended.wait(_POLL):
                pass
            training.end(trains.end())
    except StudioError as error:
        training.add(line_of(Failed(error)))
    except OSError as error:
        training.end(in_one_line(error))
    finally:
        training.is_over = True


def fetch(ident: str, first: int, known: Mapping[str, Known], part: Part | None) -> Fetched | None:
    """What a training has given; None where it is not known here.

    Args:
        first: number of the first line that is wanted.
        known: what the one who asks has of its files.
        part: a file that has begun to arrive there.
    """
    training = trainings.get(ident)
    if training is None:
        return None
    # Before lines and files are read, so that those of the end are among them.
    is_over = training.is_over
    lines, count = training.since(first)
    pieces, names, has_more = pieces_of(training.run, known, part)
    return Fetched(lines, count, pieces, names, not has_more, is_over)


def command(ident: str, do: str, value: float | None) -> bool:
    """Tell a training what to do; whether it is known here."""
    training = trainings.get(ident)
    if training is None:
        return False
    training.tell(do, value)
    return True


def discard(ident: str) -> None:
    """Forget a training that is over and was fetched."""
    training = trainings.get(ident)
    if training is not None and training.is_over:
        del trainings[ident]
        shutil.rmtree(training.folder, ignore_errors=True)


def _write_run(files: RunFiles, folder: Path) -> None:
    for path, (content, stamp) in [(place_of(name, folder), each) for name, each in files.items()]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        with suppress(OSError):
            os.utime(path, ns=(stamp * 1000, stamp * 1000))
