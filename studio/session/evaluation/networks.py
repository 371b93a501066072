"""Networks that can be asked: the one trained last, and those of recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Protocol, TypeVar

from studio.engine.core.errors import DataError
from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.runs import RunFolder
from studio.engine.train.task import Task
from studio.engine.train.trained import Trained
from studio.session.compile.compilation_result import OpenData

T = TypeVar("T")


class Network(Protocol):
    """A network with weights that several may ask, one after another."""

    def use(self, work: Callable[[Trained], T]) -> T:
        """What ``work`` makes of it; waits, so not on the window's thread."""
        ...


class RecordedNetwork:
    """The network of a recorded run, opened when it is first asked, on a device of its own.

    Args:
        run: which one.
        choice: the device: ``auto``, ``gl`` or ``cpu``.
        dataset: opens data sets, or has them open.
    """

    def __init__(self, run: RunFolder, choice: str, dataset: OpenData) -> None:
        self._run = run
        self._choice = choice
        self._dataset = dataset
        self._lock = Lock()
        self._opened: Opened | None = None
        self._trained: Trained | None = None
        self._closed = False

    def use(self, work: Callable[[Trained], T]) -> T:
        """What ``work`` makes of it.

        Raises:
            StudioError: its files, data or the device refuse.
        """
        with self._lock:
            if self._closed:
                raise DataError("another run was chosen", who=self._run.name)
            if self._trained is None:
                self._trained = self._open()
            return work(self._trained)

    def close(self) -> None:
        """Give it back; waits for whoever asks it."""
        with self._lock:
            self._closed = True
            if self._trained is not None:
                self._trained.close()
                self._trained = None
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> Trained:
        project = self._run.project()
        if project.data is None:
            raise DataError("the run names no data", who=self._run.name)
        task = Task.of_project(project, self._dataset(project.data, project.folder))
        if self._opened is None:
            self._opened = open_backend(self._choice)
        return Trained.of_run(self._run, self._opened.backend, task)
