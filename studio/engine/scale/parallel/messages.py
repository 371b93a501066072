"""What workers tell each other beside the exchange: who has failed, who is still there."""

from __future__ import annotations

import os
import time
from typing import Any

from studio.engine.core.errors import StudioError
from studio.engine.scale.parallel.process_manager import LIFELINE

_CALL, _ANSWER, _FAILED = 1, 2, 3
_LONGEST = 4000
_PAUSE = 0.01


class WorkerError(StudioError):
    """Another worker of the training is gone, silent, or has failed.

    Attributes:
        rank: its number; -1 for what started the workers.
        has_told: whether it says itself what went wrong.
    """

    code = "worker"

    def __init__(self, message: str, rank: int, *, has_told: bool = False, hint: str = "") -> None:
        super().__init__(message, who="workers", hint=hint)
        self.rank = rank
        self.has_told = has_told


class Messages:
    """Sends and hears messages; used by the one thread that calls MPI.

    Args:
        mailbox: an MPI communicator of its own.
        mpi: the module ``mpi4py.MPI``.
        rank: number of this worker.
        size: how many there are.
    """

    def __init__(self, mailbox: Any, mpi: Any, rank: int, size: int) -> None:
        self._mailbox = mailbox
        self._mpi = mpi
        self._rank = rank
        self._size = size
        self._answered: set[int] = set()
        self._sent: list[tuple[Any, bytearray]] = []
        self._lifeline = _open_lifeline()
        self._heard = b""

    def look(self) -> None:
        """Hear what has come, and answer; WorkerError where another has ended or failed."""
        self._look_at_lifeline()
        self._sent = [(request, text) for request, text in self._sent if not request.Test()]
        status = self._mpi.Status()
        while self._mailbox.Iprobe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status):
            text = bytearray(status.Get_count(self._mpi.BYTE))
            source, tag = status.Get_source(), status.Get_tag()
            self._mailbox.Recv([text, self._mpi.BYTE], source, tag, status)
            if tag == _CALL:
                self._send(source, _ANSWER)
            elif tag == _ANSWER:
                self._answered.add(source)
            elif tag == _FAILED:
                raise WorkerError(
                    f"worker {source} of {self._size} failed: {text.decode('utf-8', 'replace')}",
                    source, has_told=True,
                )  # fmt: skip

    def require_all(self, seconds: float, waited: float) -> None:
        """Call all others; WorkerError naming the first that does not answer.

        Args:
            seconds: how long they have.
            waited: seconds without a sign of them before.
        """
        self._answered = {self._rank}
        for rank in range(self._size):
            if rank != self._rank:
                self._send(rank, _CALL)
        end = time.monotonic() + seconds
        while len(self._answered) < self._size:
            self.look()
            if time.monotonic() > end:
                missing = min(set(range(self._size)) - self._answered)
                raise WorkerError(
                    f"worker {missing} of {self._size} has been silent for "
                    f"{waited + seconds:.0f} s",
                    missing,
                    hint="go on from the last checkpoint with --resume",
                )
            time.sleep(_PAUSE)

    def tell_failure(self, text: str, seconds: float = 1.0) -> None:
        """Tell all others that this worker failed, and give them the time to hear it."""
        for rank in range(self._size):
            if rank != self._rank:
                self._send(rank, _FAILED, text.encode("utf-8")[:_LONGEST])
        end = time.monotonic() + seconds
        while self._sent and time.monotonic() < end:
            self._sent = [each for each in self._sent if not each[0].Test()]
            time.sleep(_PAUSE)

    def _send(self, rank: int, tag: int, text: bytes = b"") -> None:
        kept = bytearray(text)
        self._sent.append((self._mailbox.Isend([kept, self._mpi.BYTE], rank, tag), kept))

    def _look_at_lifeline(self) -> None:
        if self._lifeline is None:
            return
        try:
            new = os.read(self._lifeline, _LONGEST)
        except BlockingIOError:
            return
        if not new:
            raise WorkerError("the command that started the workers has ended", -1)
        self._heard += new
        line, _, self._heard = self._heard.partition(b"\n")
        rank, _, how = line.decode("ascii").partition(" ")
        raise WorkerError(
            f"worker {rank} of {self._size} {how}",
            int(rank),
            hint="go on from the last checkpoint with --resume",
        )


def _open_lifeline() -> int | None:
    given = os.environ.get(LIFELINE, "")
    if not given.isdecimal():
        return None
    found = int(given)
    os.set_blocking(found, False)
    return found
