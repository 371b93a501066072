"""One worker of a training: joins the others, agrees with them, and ends with them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from studio import __version__
from studio.engine.core.errors import DataError, ParameterError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.runtime.exchange import Exchange
from studio.engine.scale.parallel.messages import WorkerError
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

MOST_WORKERS = 1024
NO_MPI = "several workers need MPI, which is not installed"
INSTALL = "pip install 'glassbox-studio[scale]'"


def require_mpi() -> None:
    """DataError where MPI is not installed; whether it works shows when it is loaded."""
    if sys.modules.get("mpi4py", find_spec) is None or find_spec("mpi4py") is None:
        raise DataError(NO_MPI, who="workers", hint=INSTALL)


def require_workers(workers: int, batch: int) -> None:
    """ParameterError unless so many workers can share batches of so many rows."""
    if not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(
            f"expected 1 to {MOST_WORKERS} workers, got {workers}", who="--workers"
        )
    if batch % workers:
        fitting = [n for n in range(1, min(batch, MOST_WORKERS) + 1) if batch % n == 0]
        near = min(fitting, key=lambda n: (abs(n - workers), n))
        raise ParameterError(
            f"the workers must divide the batch: {workers} do not divide {batch} rows",
            who="workers",
            hint=f"{near} worker{'' if near == 1 else 's'}, or --batch "
            f"{(batch // workers + 1) * workers}",
        )


def require_agreement(exchange: Exchange, task: Task, project: Project) -> None:
    """DataError naming the first worker that has another version, project or data set."""
    facts = {
        "version of Glassbox": __version__,
        "project": json.dumps(project.to_json(), sort_keys=True, default=str),
        "data set": task.data_hash,
    }
    for what, text in facts.items():
        words = exchange.all_words(
            hashlib.blake2s(text.encode("utf-8"), digest_size=16).hexdigest()
        )
        for rank, word in enumerate(words):
            if word != words[0]:
                raise DataError(
                    f"its {what} is another than that of worker 0",
                    who=f"worker {rank} of {exchange.size}",
                    hint="all workers read the same files: start them in the same folder",
                )


def join_workers(exchange: Exchange, task: Task, project: Project) -> None:
    """Make sure that all workers can do a task together, and take this one's cores.

    Raises:
        ParameterError: they do not divide the batch.
        DataError: one of them has another version, project or data set.
    """
    require_workers(exchange.size, project.training.batch_size)
    require_agreement(exchange, task, project)
    take_cores(exchange)


def shared_checkpoint(exchange: Exchange, found: Checkpoint | None, path: str) -> Checkpoint | None:
    """The checkpoint that the first worker goes on from, on every worker.

    Args:
        exchange: of this worker.
        found: what the first worker has read, None where nothing is resumed.
        path: of its file, on the first worker.
    """
    data = b""
    if exchange.rank == 0 and found is not None:
        with open(path, "rb") as file:
            data = file.read()
    data = exchange.from_first(data)
    if not data:
        return None
    return found if found is not None else Checkpoint.load(data)


def take_cores(exchange: Exchange) -> None:
    """Keep to this worker's part of the cores that the workers of this host have together."""
    if not hasattr(os, "sched_getaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    host = hashlib.blake2s(f"{os.uname().nodename} {cores}".encode(), digest_size=16).hexdigest()
    together = exchange.all_words(host)
    mine = [rank for rank, word in enumerate(together) if word == host]
    count, place = len(mine), mine.index(exchange.rank)
    own = cores[len(cores) * place // count : len(cores) * (place + 1) // count]
    # More workers than cores take turns on all of them.
    os.sched_setaffinity(0, own or cores)


def speaks(error: BaseException, exchange: Exchange) -> bool:
    """Whether this worker is the one that tells the user of an error: the first that is left."""
    if not isinstance(error, WorkerError):
        return exchange.rank == 0
    if error.rank == 0:
        return exchange.rank == 1 and not error.has_told
    return exchange.rank == 0


def worker_command(words: Sequence[str], python: str) -> list[str]:
    """What a worker of a command runs.

    Args:
        words: what stands behind ``glassbox`` for each of them.
        python: the interpreter.
    """
    return [python, "-m", "studio", *words, "--mpi"]
