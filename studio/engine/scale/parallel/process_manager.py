"""Starts workers on this host and wires them up, as an MPI library asks its process manager to.

The wire protocol is PMI-1, which MPICH and its descendants speak: one line of text for each
question. Being the manager ourselves, a worker that ends is seen at once and named to the others,
which the managers that come with MPI would end without a word.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

LIFELINE = "GLASSBOX_LIFELINE"
"""Variable that names the file descriptor on which a worker reads which others have ended."""

_GRACE_SECONDS = 2.0
"""A worker that fails has so long to say why before the others are told that it ended."""
_PATIENCE_SECONDS = 15.0
"""Workers have so long to end by themselves once one of them has failed."""
_TICK = 0.05


class ProcessManager:
    """Runs a command in several processes; a context manager that leaves none behind.

    Args:
        command: what each worker runs.
        count: how many.
    """

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._stack = ExitStack()
        self._count = count
        self._kvs_name = f"glassbox_{os.getpid()}_{secrets.token_hex(4)}"
        self._values = {"PMI_process_mapping": f"(vector,(0,1,{count}))"}
        self._lock = threading.Lock()
        self._waiting: list[socket.socket] = []
        self._lifelines: list[int] = []
        self._workers: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(count):
                self._start(command, rank)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ProcessManager:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process numbers by rank."""
        return tuple(worker.pid for worker in self._workers)

    def wait(self) -> int:
        """Wait until all workers have ended; the code to end with.

        Once one ends otherwise than well, the others hear of it, and are ended if they do not do so
        by themselves.
        """
        told: set[int] = set()
        failed: dict[int, float] = {}
        while any(worker.poll() is None for worker in self._workers):
            now = time.monotonic()
            for rank, worker in enumerate(self._workers):
                if worker.poll() not in (None, 0):
                    failed.setdefault(rank, now)
            for rank, since in failed.items():
                if rank not in told and now - since > _GRACE_SECONDS:
                    told.add(rank)
                    self._tell(rank)
            if failed and now - min(failed.values()) > _PATIENCE_SECONDS:
                self._end_all()
            time.sleep(_TICK)
        codes = [worker.wait() for worker in self._workers]
        # A worker that was killed has said nothing; those that named it have.
        return max((code for code in codes if code > 0), default=1 if any(codes) else 0)

    def interrupt(self) -> None:
        """Ask all workers to stop behind the step that runs now."""
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGINT)

    def close(self) -> None:
        """End workers that are left, and release everything."""
        self._end_all()
        for worker in self._workers:
            worker.wait()
        self._stack.close()

    def _start(self, command: Sequence[str], rank: int) -> None:
        ours, theirs = socket.socketpair()
        heard, told = os.pipe()
        self._stack.callback(ours.close)
        self._stack.callback(os.close, told)
        self._lifelines.append(told)
        own = {"PMI_FD": theirs.fileno(), "PMI_RANK": rank, "PMI_SIZE": self._count}
        variables = {name: str(value) for name, value in own.items()} | {LIFELINE: str(heard)}
        with theirs:
            try:
                worker = subprocess.Popen(
                    command,
                    env={**os.environ, **variables},
                    pass_fds=[theirs.fileno(), heard],
                    # Ctrl-C reaches the workers through `interrupt`, once.
                    start_new_session=True,
                )
            finally:
                os.close(heard)
        self._workers.append(worker)
        threading.Thread(
            target=self._serve, args=(ours,), name=f"worker {rank} wiring", daemon=True
        ).start()

    def _tell(self, rank: int) -> None:
        """Tell all workers that one has ended, and how."""
        code = self._workers[rank].wait()
        how = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
        line = f"{rank} {how}\n".encode("ascii")
        for lifeline in self._lifelines:
            with suppress(OSError):
                os.write(lifeline, line)

    def _end_all(self) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                worker.kill()

    def _serve(self, connection: socket.socket) -> None:
        """Answer one worker until it ends."""
        with suppress(OSError, ValueError), connection.makefile("rb") as lines:
            for line in lines:
                self._answer(connection, line.decode("utf-8", "replace").rstrip("\n"))

    def _answer(self, connection: socket.socket, line: str) -> None:
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        match fields.get("cmd"):
            case "put":
                with self._lock:
                    self._values[fields["key"]] = line.partition("value=")[2]
                _say(connection, "put_result", rc=0, msg="success")
            case "get":
                with self._lock:
                    value = self._values.get(fields["key"])
                if value is None:
                    _say(connection, "get_result", rc=-1, msg="key_not_found", value="unknown")
                else:
                    _say(connection, "get_result", rc=0, msg="success", value=value)
            case "barrier_in":
                self._meet(connection)
            case name:
                _say(connection, *self._plain_answer(name or ""))

    def _plain_answer(self, name: str) -> tuple[str, Mapping[str, object]]:
        answers: dict[str, tuple[str, Mapping[str, object]]] = {
            "init": ("response_to_init", {"pmi_version": 1, "pmi_subversion": 1}),
            "get_maxes": ("maxes", {"kvsname_max": 256, "keylen_max": 64, "vallen_max": 1024}),
            "get_appnum": ("appnum", {"appnum": 0}),
            "get_universe_size": ("universe_size", {"size": self._count}),
            "get_my_kvsname": ("my_kvsname", {"kvsname": self._kvs_name}),
            "finalize": ("finalize_ack", {}),
        }
        answer, more = answers.get(name, (f"{name}_result", {}))
        return answer, {"rc": 0 if name in answers else -1, **more}

    def _meet(self, connection: socket.socket) -> None:
        with self._lock:
            self._waiting.append(connection)
            if len(self._waiting) < self._count:
                return
            waiting, self._waiting = self._waiting, []
        for each in waiting:
            with suppress(OSError):
                _say(each, "barrier_out", rc=0, msg="success")


def _say(
    connection: socket.socket, name: str, fields: Mapping[str, object] | None = None, **more: object
) -> None:
    words = (f"{key}={value}" for key, value in {"cmd": name, **(fields or {}), **more}.items())
    connection.sendall((" ".join(words) + "\n").encode("utf-8"))
