"""The file in a run's folder that says on which cluster it trains, until all of it has arrived."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from studio.engine.core.errors import DataError, FormatError, ParameterError, StudioError
from studio.engine.core.process_identity import ProcessIdentity
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.scale.remote.mirror import TICKET
from studio.engine.scale.sweep.connection import checked_address
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder, list_runs

_LIMITS = Limits(file_bytes=1 << 16, json_bytes=1 << 16, json_depth=4, json_values=100)


@dataclass(frozen=True)
class Ticket:
    """Where a run trains.

    Attributes:
        address: of the cluster.
        training: what it is called there.
        worker: address of the worker.
        pid: number of the worker's process.
        started: when that process began.
    """

    address: str
    training: str
    worker: str
    pid: int
    started: str

    @property
    def process(self) -> ProcessIdentity:
        """The worker's process."""
        return ProcessIdentity(self.pid, self.started)


def ticket_of(run: RunFolder) -> Ticket | None:
    """Where a run trains; None where all of it is here, or the file is damaged."""
    try:
        found = load_json(run.path / TICKET, _LIMITS)
    except FormatError:
        return None
    if not isinstance(found, dict):
        return None
    address, training, worker, started = (
        found.get(name) for name in ("address", "training", "worker", "started")
    )
    pid = found.get("pid")
    if not (
        isinstance(address, str) and isinstance(training, str) and isinstance(worker, str)
        and isinstance(started, str) and isinstance(pid, int)
    ):  # fmt: skip
        return None
    try:
        checked_address(address)
    except ParameterError:
        return None
    return Ticket(address, training, worker, pid, started)


def run_elsewhere(project: Project, address: str) -> RunFolder | None:
    """The newest run of a project that trains on that cluster, as far as is known here."""
    for run in reversed(list_runs(project)):
        ticket = ticket_of(run)
        if ticket is not None and ticket.address == address:
            return run
    return None


def write_ticket(run: RunFolder, ticket: Ticket) -> None:
    """Note where a run trains; DataError where that cannot be written."""
    try:
        write_atomic(run.path / TICKET, json.dumps(asdict(ticket)).encode())
    except StudioError as error:
        raise DataError(error.message, who=run.name, hint=error.hint) from error


def remove_ticket(folder: Path) -> None:
    """Nothing of a run is elsewhere any more."""
    with suppress(OSError):
        (folder / TICKET).unlink()
