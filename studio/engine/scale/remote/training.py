"""A training on a Dask cluster, seen from here: begun, followed, and found again.

The run's folder says where it trains until all of it has arrived, so that whoever opens it can
connect again. Whatever happens to the connection, the training goes on; whatever happens to the
worker, the last checkpoint that arrived is here.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distributed import Future, fire_and_forget

from studio.engine.core.closing import Closing
from studio.engine.core.errors import BackendError, DataError, StudioError, in_one_line
from studio.engine.scale.remote.messages import (
    Compiled,
    Ended,
    Entered,
    Failed,
    Lost,
    Order,
    RemoteEvent,
    Said,
    event_of,
)
from studio.engine.scale.remote.mirror import Mirror, is_sent, stamp_of
from studio.engine.scale.remote.serving import (
    Fetched,
    RunFiles,
    command,
    discard,
    fetch,
    has_files,
    is_known,
    train_here,
)
from studio.engine.scale.remote.tickets import Ticket, remove_ticket, ticket_of, write_ticket
from studio.engine.scale.sweep.bundle import Bundle, file_names
from studio.engine.scale.sweep.connection import (
    WorkerFacts,
    checked_address,
    open_client,
    own_facts,
    require_sendable,
    require_tls_files,
    require_workers,
)
from studio.engine.train.loop.progress import Progress
from studio.engine.train.loop.trainer import TrainingResult
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock

if TYPE_CHECKING:
    from distributed import Client

_LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.25
_TRIES = 3
_PATIENCE = 8
_CLOSE_SECONDS = 2.0


class ClusterTraining(Closing):
    """One training on a Dask cluster.

    Args:
        address: of its scheduler.

    Raises:
        ParameterError: the address is none, or leads over a network without encryption.
        BackendError: there is no such cluster.
    """

    def __init__(self, address: str) -> None:
        self.address = checked_address(address)
        require_tls_files(self.address)
        self._client: Client = open_client(self.address)
        self._run: RunFolder | None = None
        self._lock: RunLock | None = None
        self._mirror: Mirror | None = None
        self._ticket: Ticket | None = None
        self._future: Any = None
        self._next = 0
        self._waits = 0
        self._early: list[tuple[str, float | None]] = []
        self._end: RemoteEvent | None = None
        self._replays = False
        self.is_over = False
        """Whether nothing more will come."""
        self.is_level = False
        """Whether all that was there when it was asked last is here."""

    # -- beginning ------------------------------------------------------------------------------

    def require_workers(self, project: Project) -> None:
        """BackendError or ParameterError where a new training of a project cannot begin there."""
        require_sendable(project)
        require_workers(self._client, self.address)

    def begin(self, project: Project, run: RunFolder, order: Order) -> None:
        """Send a project and have it trained by the worker that has least to do.

        Args:
            project: what is trained; its data is sent.
            run: gets everything; a new one, which says so where this fails, or one that goes on.
            order: what else is wanted; says itself nothing of the data.

        Raises:
            BackendError: the cluster has no workers, or they cannot train.
            ParameterError: the project begins with weights that are not sent.
            DataError: the data cannot be sent, or another process trains the run.
        """
        try:
            self._begin(project, run, order)
        except StudioError as error:
            if not order.resumes:
                run.write_summary({"state": "failed", "reason": error.message, "started": run.name})
            raise

    def again(self, run: RunFolder) -> None:
        """Follow a run that was begun before.

        Raises:
            DataError: it trains nowhere else, or another process follows it.
        """
        ticket = ticket_of(run)
        if ticket is None:
            raise DataError("all of it is here: it trains on no cluster", who=run.name)
        self._take(run)
        self._ticket = ticket
        self._future = Future(ticket.training, client=self._client)
        self._replays = True

    def _begin(self, project: Project, run: RunFolder, order: Order) -> None:
        if not order.resumes:
            require_sendable(project)
        self._take(run)
        bundle = Bundle.of_project(project)
        workers = require_workers(self._client, self.address)
        files = _files_of(run) if order.resumes else {}
        try:
            self._submit(replace(order, run=run.name, data=bundle.data), bundle, workers, files)
        except StudioError:
            raise
        except Exception as error:
            remove_ticket(run.path)
            raise BackendError(
                f"the connection was lost before the training began: {in_one_line(error)}",
                who=self.address,
            ) from error

    def _take(self, run: RunFolder) -> None:
        lock = RunLock(run.path)
        lock.take()
        self._lock, self._run = lock, run
        run.reopen()
        self._mirror = Mirror(run.path)

    def _submit(
        self, order: Order, bundle: Bundle, workers: Mapping[str, WorkerFacts], files: RunFiles
    ) -> None:
        """Send everything to the worker that has least to do, and note in the run which it is."""
        client, digest = self._client, bundle.digest
        busy = client.processing()
        place = min(workers, key=lambda each: len(busy.get(each, ())))
        ident, process = f"glassbox-{secrets.token_hex(8)}", workers[place].process
        has_them = client.run(has_files, digest, workers=[place])[place]
        data = {} if has_them else self._send(f"glassbox-{digest}", dict(bundle.files), place)
        run_files = self._send(f"{ident}-run", files, place) if files else {}
        if self._run is not None:
            ticket = Ticket(self.address, ident, place, process.pid, process.started)
            write_ticket(self._run, ticket)
            self._ticket = ticket
        self._future = client.submit(
            train_here, ident, process, order.to_json(), data, digest, run_files,
            key=ident, pure=False, retries=0, workers=[place],
        )  # fmt: skip
        # Whoever asked for it may be gone before it ends.
        fire_and_forget(self._future)

    def _send(self, key: str, content: Mapping[str, object], place: str) -> Any:
        return self._client.scatter({key: content}, workers=[place])[key]

    # -- following ------------------------------------------------------------------------------

    def follow(self) -> Iterator[RemoteEvent | None]:
        """What it says, to its end, and None after each look; the folder is filled meanwhile.

        The last event is of its end, or that it is lost: then `Lost.goes_on` says whether one can
        connect again.

        Raises:
            DataError: what arrives cannot be written.
        """
        while not self.is_over:
            events = self.look()
            yield from events
            yield None
            if self.is_level and not self.is_over:
                time.sleep(POLL_SECONDS)

    def look(self) -> list[RemoteEvent]:
        """Fetch what is new, a chunk at most."""
        fetched = self._ask()
        if isinstance(fetched, Lost):
            return [self._lose(fetched)]
        if fetched is None:
            return self._look_for_begin()
        early, self._early = self._early, []
        for do, value in early:
            self.tell(do, value)
        if self._mirror is not None:
            self._mirror.take(fetched.pieces, fetched.names, is_whole=fetched.is_whole)
        # Not before: what is interrupted here, by Ctrl-C or a full disk, is asked for again.
        self._next, self.is_level = fetched.next, fetched.is_whole
        found = [event for event in map(event_of, fetched.lines) if event is not None]
        for event in found:
            if isinstance(event, Ended | Failed | Lost):
                self._end = event
        if self._replays and found:
            # What was heard before is not told of twice.
            self._replays = False
            found = _of_use_late(found)
        # The end is told of once the last file is here.
        found = [event for event in found if event is not self._end]
        return [*found, self._finish()] if fetched.is_over and fetched.is_whole else found

    def tell(self, do: str, value: float | None = None) -> None:
        """Tell it to ``stop``, ``pause``, ``resume``, ``step_batch``, ``step_epoch``, or a rate.

        One that waits for its worker is stopped at once; anything else waits with it.
        """
        ticket = self._ticket
        if ticket is None:
            return
        # A connection that is lost is found, and told of, by the next look.
        with suppress(Exception):
            if self._on_worker(command, ticket.training, do, value):
                return
            if do != "stop":
                self._early.append((do, value))
                return
            self._client.cancel([self._future], force=True)
            if not self._on_worker(command, ticket.training, do, value):
                self._end = Ended(TrainingResult("stopped", "", {}, (), 0, 0.0), {})

    def close(self) -> None:
        """Leave the cluster; a training under way goes on there."""
        if self._lock is not None:
            self._lock.release()
        with suppress(Exception):
            self._client.close(timeout=_CLOSE_SECONDS)

    def _ask(self) -> Fetched | Lost | None:
        """What is new; `Lost` where the worker or the cluster cannot be reached."""
        ticket, mirror = self._ticket, self._mirror
        if ticket is None or mirror is None:
            raise DataError("it was not begun", who="training")
        why = ""
        for _ in range(_TRIES):
            try:
                return self._fetch(ticket.training, mirror)
            except Exception as error:
                why = in_one_line(error)
            try:
                workers = self._client.nthreads()
            except Exception:
                break
            if ticket.worker not in workers:
                return Lost(f"the worker at {ticket.worker} has ended", goes_on=False)
        _LOG.info("the connection to %s was lost: %s", self.address, why)
        text = f"the connection to {self.address} was lost; the training goes on there"
        return Lost(text, goes_on=True)

    def _fetch(self, training: str, mirror: Mirror) -> Fetched | None:
        found: Fetched | None = self._on_worker(
            fetch, training, self._next, mirror.known, mirror.part
        )
        return found

    def _look_for_begin(self) -> list[RemoteEvent]:
        """Whether a training that the worker does not know yet will still begin."""
        ticket, self.is_level = self._ticket, True
        if ticket is None or isinstance(self._end, Ended):
            if self._run is not None:
                summary = self._run.summary()
                self._run.write_summary({**summary, "state": "stopped", "started": self._run.name})
            return [self._finish()]
        why = ""
        try:
            if self._on_worker(own_facts).process != ticket.process:
                why = f"the worker at {ticket.worker} was started again"
            elif self._future.status in ("error", "cancelled", "lost"):
                why = "the cluster has not begun it"
            elif not self._client.run_on_scheduler(is_known, ticket.training):
                why = "the cluster does not know it any more"
        except Exception:
            # The next look finds out what became of the worker.
            return []
        if why:
            return [self._lose(Lost(why, goes_on=False))]
        self._waits += 1
        return [Entered("waiting")] if self._waits == _PATIENCE else []

    def _finish(self) -> RemoteEvent:
        """All of it is here: nothing of it stays elsewhere."""
        self.is_over = True
        if self._run is not None and self._ticket is not None:
            with suppress(Exception):
                self._on_worker(discard, self._ticket.training)
            remove_ticket(self._run.path)
        return self._end or Lost("the training there has ended", goes_on=False)

    def _lose(self, lost: Lost) -> Lost:
        self.is_over = True
        if self._run is not None and not lost.goes_on:
            remove_ticket(self._run.path)
        return lost

    def _on_worker(self, function: Callable[..., Any], *values: object) -> Any:
        place = "" if self._ticket is None else self._ticket.worker
        return self._client.run(function, *values, workers=[place])[place]


def _of_use_late(events: list[RemoteEvent]) -> list[RemoteEvent]:
    """Without what mattered only when it was said: of reports of progress the last is enough."""
    progress = [event for event in events if isinstance(event, Progress)][-1:]
    useful = [
        event
        for event in events
        if not isinstance(event, Progress | Compiled)
        and not (isinstance(event, Said) and not event.is_warning)
    ]
    return [*useful, *progress]


def _files_of(run: RunFolder) -> RunFiles:
    """What of a run goes to the worker where it goes on."""
    found = {}
    for name in filter(is_sent, file_names(run.path)):
        path = run.path / name
        try:
            found[name] = (path.read_bytes(), stamp_of(path.stat()))
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", who=str(path)) from error
    return found
