"""Trials on a Dask cluster of the user's: each in a process of its own, in a private folder.

A worker gets the files of the project's data once, known by their hash, and nothing else of the
user's. What a trial made comes back as files and is put down in this machine's private folder;
from there it goes the way of a trial trained here. Dask tries the trial of a lost worker again
elsewhere.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from distributed import get_worker, secede

from studio.engine.core.closing import Closing
from studio.engine.core.errors import StudioError, in_one_line
from studio.engine.core.options import Plain
from studio.engine.scale.sweep.bundle import Bundle, read_files, unpacked, write_files
from studio.engine.scale.sweep.connection import (
    checked_address,
    lost_cluster,
    open_client,
    require_sendable,
    require_tls_files,
    require_workers,
)
from studio.engine.scale.sweep.trial import Job, Outcome
from studio.engine.scale.sweep.worker_process import Line, WorkerProcess
from studio.engine.scale.sweep.workers import Event
from studio.engine.train.project.project import Project

Finished: TypeAlias = "tuple[Mapping[str, object], Mapping[str, bytes]]"
"""Outcome and files of a trial, or how its process ended and nothing."""

_POLL = 0.5
# In a Dask worker: the processes that train there now, by trial.
_processes: dict[str, WorkerProcess] = {}


class ClusterPool(Closing):
    """Trials on a Dask cluster.

    Attributes:
        address: of its scheduler, with the protocol.
        where: what is trained on, in a few words.

    Args:
        address: of its scheduler.
        project: what is trained, beside its data.

    Raises:
        ParameterError: the address is none, or leads over a network without encryption.
        BackendError: there is no such cluster, it has no workers, or they cannot train.
        DataError: the data cannot be sent.
    """

    def __init__(self, address: str, project: Project) -> None:
        self.address = checked_address(address)
        require_sendable(project)
        require_tls_files(self.address)
        self._bundle = Bundle.of_project(project)
        self._topic = f"glassbox-{secrets.token_hex(8)}"
        self._jobs: dict[int, tuple[Job, Any]] = {}
        self._places: dict[int, str] = {}
        self._events: SimpleQueue[tuple[int, int, Line | None]] = SimpleQueue()
        self._client = open_client(self.address)
        try:
            workers = len(require_workers(self._client, self.address))
            self._digest = self._bundle.digest
            self._files = self._send_files()
            self._client.subscribe_topic(self._topic, self._hear)
        except BaseException:
            self._client.close()
            raise
        count = "1 worker" if workers == 1 else f"{workers} workers"
        self.where = f"on {count} of the cluster at {self.address}"

    def submit(self, job: Job) -> None:
        """Begin a trial somewhere on the cluster; BackendError where that is lost."""
        sent = replace(job, base="", place="", data=self._bundle.data)
        try:
            future = self._client.submit(
                _train_there, sent.to_json(), self._files, self._digest, self._topic,
                key=f"{self._topic}-{job.number}-{job.attempt}", pure=False, retries=0,
            )  # fmt: skip
        except Exception as error:
            raise lost_cluster(self.address, error) from error
        self._jobs[job.number] = (job, future)
        events, number, attempt = self._events, job.number, job.attempt
        future.add_done_callback(lambda _: events.put((number, attempt, None)))

    def answer(self, number: int, go_on: bool) -> None:
        """Tell a trial that asked whether it goes on."""
        job, _ = self._jobs[number]
        place = self._places.get(number)
        if place is not None:
            # A worker that is gone needs no answer: its trial asks again elsewhere.
            # A cluster that is gone is found by the next event.
            with suppress(Exception):
                self._client.run(
                    _answer_there, _mark(self._topic, number, job.attempt), go_on, workers=[place]
                )

    def next(self, timeout: float) -> Event | None:
        """The next event; None where none came in that many seconds.

        Raises:
            BackendError: the cluster cannot be reached any more.
        """
        try:
            number, attempt, line = self._events.get(timeout=timeout)
        except Empty:
            return None
        job, future = self._jobs.get(number, (None, None))
        if job is None or job.attempt != attempt:
            return None
        if line is not None:
            self._places[number] = str(line.get("at"))
            return Event.of_line(number, line)
        del self._jobs[number]
        self._places.pop(number, None)
        return self._ending(job, future)

    def close(self) -> None:
        """End all trials that are still under way, and leave the cluster."""
        # Of a cluster that is gone there is nothing left to end.
        with suppress(Exception):
            self._client.cancel([future for _, future in self._jobs.values()], force=True)
            marks = [_mark(self._topic, job.number, job.attempt) for job, _ in self._jobs.values()]
            if marks:
                self._client.run(_end_there, marks)
        self._jobs = {}
        with suppress(Exception):
            self._client.unsubscribe_topic(self._topic)
        with suppress(Exception):
            self._client.close()

    def _ending(self, job: Job, future: Any) -> Event:
        """What became of a trial whose task has ended."""
        try:
            outcome, files = future.result()
        except Exception as error:
            # The files may have been on the worker that is gone alone.
            try:
                self._files = self._send_files()
            except Exception as why:
                raise lost_cluster(self.address, why) from why
            return Event("lost", job.number, why=in_one_line(error))
        if "lost" in outcome:
            return Event("lost", job.number, why=str(outcome["lost"]))
        place = Path(job.place)
        names = job.run_names()
        wanted = {name: content for name, content in files.items() if name.split("/")[0] in names}
        try:
            write_files(wanted, place)
            for name in names:
                if (place / name).is_dir():
                    (place / name / "checkpoints").mkdir(exist_ok=True)
            return Event("done", job.number, outcome=Outcome.from_json(outcome))
        except (KeyError, TypeError, ValueError, OSError, StudioError) as error:
            return Event("lost", job.number, why=in_one_line(error))

    def _hear(self, event: tuple[float, Any]) -> None:
        """A report of a worker; called on a thread of the client's."""
        found = event[1]
        if isinstance(found, Mapping):
            number, attempt = found.get("number"), found.get("attempt")
            if isinstance(number, int) and isinstance(attempt, int) and "report" in found:
                self._events.put((number, attempt, found))

    def _send_files(self) -> Any:
        """The files of the data, on every worker; known by their hash, so sent once."""
        key = f"glassbox-{self._digest}"
        return self._client.scatter({key: dict(self._bundle.files)}, broadcast=True)[key]


def _mark(topic: str, number: int, attempt: int) -> str:
    return f"{topic}/{number}/{attempt}"


# -- in a worker of the cluster -------------------------------------------------------------------


def _answer_there(mark: str, go_on: bool) -> None:
    """Hand an answer to the process that trains a trial."""
    process = _processes.get(mark)
    if process is not None:
        process.send(go_on=go_on)


def _end_there(marks: list[str]) -> None:
    """End the processes that train trials."""
    for mark in marks:
        process = _processes.get(mark)
        if process is not None:
            process.kill()


def _train_there(
    fields: Mapping[str, Plain], files: Mapping[str, bytes], digest: str, topic: str
) -> Finished:
    """Train a trial in a process of its own; a task of the cluster."""
    worker, job = get_worker(), Job.from_json(fields)
    root = Path(worker.local_directory)
    base = unpacked(files, digest, root)
    place = Path(tempfile.mkdtemp(prefix="trial-", dir=root))
    lines: SimpleQueue[Line | None] = SimpleQueue()
    mark = _mark(topic, job.number, job.attempt)
    try:
        with WorkerProcess(job.threads, place, lines.put) as process:
            _processes[mark] = process
            here = replace(job, base=str(base / "project.glassbox"), place=str(place / "runs"))
            process.send(job=here.to_json())
            while True:
                try:
                    line = lines.get(timeout=_POLL)
                except Empty:
                    if _is_unwanted(worker):
                        return {"lost": "the sweep was ended"}, {}
                    continue
                if line is None:
                    return {"lost": process.end()}, {}
                done = line.get("done")
                if isinstance(done, Mapping):
                    return done, read_files(place / "runs")
                _pass_on(worker, topic, job, line)
    finally:
        _processes.pop(mark, None)
        shutil.rmtree(place, ignore_errors=True)


def _pass_on(worker: Any, topic: str, job: Job, line: Line) -> None:
    """Send a report to the coordinator; while a trial waits for an answer, another may begin."""
    said = {"number": job.number, "attempt": job.attempt, "at": worker.address, **line}
    worker.log_event(topic, said)
    report = line.get("report")
    if isinstance(report, list) and report[-1] is True:
        _step_aside()


def _step_aside() -> None:
    """Give the thread's place among the worker's tasks free, once."""
    here = threading.current_thread()
    if not getattr(here, "glassbox_stepped_aside", False):
        here.glassbox_stepped_aside = True  # type: ignore[attr-defined]
        secede()


def _is_unwanted(worker: Any) -> bool:
    """Whether no one waits for this task any more: its sweep was ended or killed."""
    with suppress(Exception):
        task = worker.state.tasks.get(worker.get_current_task())
        return task is None or task.state in ("cancelled", "released", "forgotten")
    return False
