"""Trainings by several workers: starts them, or runs one that mpirun has started."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from studio.cli import console
from studio.cli.app import USER_MISTAKE
from studio.cli.options import find_project
from studio.engine.core.errors import ParameterError, StudioError, in_one_line
from studio.engine.scale.parallel.joining import (
    require_mpi,
    require_workers,
    speaks,
    worker_command,
)
from studio.engine.scale.parallel.messages import WorkerError
from studio.engine.scale.parallel.process_manager import ProcessManager

if TYPE_CHECKING:
    from studio.engine.runtime.exchange import Exchange
    from studio.engine.scale.parallel.mpi_exchange import MpiExchange
    from studio.engine.train.project.project import Project


class SharedOrder(Protocol):
    """What a command was asked for that several workers can do."""

    @property
    def project(self) -> str:
        """The project as it was named."""
        ...

    @property
    def words(self) -> list[str]:
        """The command of each worker."""
        ...

    def at(self, path: Path) -> SharedOrder:
        """The same for the project file at a path."""
        ...

    def opened(self, path: Path) -> Project:
        """The project with the settings given."""
        ...

    def run(self, exchange: Exchange | None = None) -> int:
        """Do it, or one worker's part of it; the code to end with."""
        ...


def run_shared(order: SharedOrder, workers: int | None, *, mpi: bool) -> int:
    """Do what is asked for: alone, with so many workers, or as one of those that mpirun started.

    Raises:
        ParameterError: both were asked for, or so many do not divide the batch.
        DataError: MPI is not installed, or this process was started alone.
    """
    if workers is None:
        return run_worker(order.run) if mpi else order.run()
    if mpi:
        raise ParameterError(
            "expected one of both: mpirun says how many workers there are", who="--workers, --mpi"
        )
    path = find_project(order.project)
    order = order.at(path)
    require_workers(workers, order.opened(path).training.batch_size)
    return start_workers(order.words, workers) if workers > 1 else order.run()


def start_workers(words: Sequence[str], count: int) -> int:
    """Run a command in several workers on this host; the code to end with. Ctrl-C stops them.

    Raises:
        DataError: MPI is not installed.
    """
    require_mpi()
    with ProcessManager(worker_command(words, sys.executable), count) as manager:
        while True:
            try:
                return manager.wait()
            except KeyboardInterrupt:
                manager.interrupt()


def run_worker(work: Callable[[MpiExchange], int]) -> int:
    """Do one worker's part; the code to end with.

    Where a worker fails, all end, and the first that is left says why.

    Raises:
        DataError: MPI is not installed, or this process was started alone.
    """
    from studio.engine.scale.parallel.mpi_exchange import MpiExchange

    exchange = MpiExchange()
    try:
        code = work(exchange)
    except BaseException as error:
        _leave(exchange, error)
    exchange.close()
    return code if exchange.rank == 0 else 0


def _leave(exchange: MpiExchange, error: BaseException) -> NoReturn:
    """Tell the others and the user, and end this process.

    MPI cannot be ended in order any more: that waits for all workers.
    """
    is_known = isinstance(error, StudioError | KeyboardInterrupt | MemoryError)
    text = str(error) if isinstance(error, StudioError) else in_one_line(error)
    if not is_known:
        traceback.print_exception(error)
    if not isinstance(error, WorkerError):
        exchange.fail(text)
    if speaks(error, exchange):
        console.complain(text)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(USER_MISTAKE)
