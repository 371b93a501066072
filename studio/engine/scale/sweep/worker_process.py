"""A process that trains trials, one after another: what runs in it, and its owner's side.

Started as ``python -m studio.engine.scale.sweep.worker_process``. Messages are lines of JSON: jobs
and answers go in on standard input, reports and outcomes come out on standard output. When the
input ends, its owner is gone, and so is it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO, TypeAlias

import studio
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.closing import Closing
from studio.engine.core.errors import BackendError
from studio.engine.core.options import Plain
from studio.engine.plugins.loading import load_plugins
from studio.engine.scale.sweep.trial import Job, run_trial

Line: TypeAlias = Mapping[str, object]

MODULE = "studio.engine.scale.sweep.worker_process"
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "LP_NUM_THREADS",
)  # fmt: skip
_END_SECONDS = 10.0
_OWNER_GONE = 3


class WorkerProcess(Closing):
    """A process that trains, seen from its owner.

    Args:
        threads: of its libraries.
        folder: its current folder, with the file it writes complaints to.
        heard: called on a thread of its own with each message, and with None at the end.
        module: what runs in it; speaks as this module does.
    """

    def __init__(
        self, threads: int, folder: Path, heard: Callable[[Line | None], object],
        module: str = MODULE,
    ) -> None:  # fmt: skip
        root = str(Path(studio.__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self._log = folder / "worker.log"
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", module], env=environment, cwd=folder,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                    # Ctrl-C in the terminal is for the sweep, which ends its workers itself.
                    encoding="utf-8", start_new_session=os.name == "posix",
                )  # fmt: skip
        except OSError as error:
            raise BackendError(
                f"a worker process could not be started: {error.strerror}", who="sweep"
            ) from error
        self._heard = heard
        self._reader = threading.Thread(target=self._read, name="sweep worker", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def send(self, **fields: Plain) -> None:
        """Hand it a message; one that has ended hears nothing."""
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(OSError, ValueError):
                stdin.write(json.dumps(fields) + "\n")
                stdin.flush()

    def kill(self) -> None:
        """End it at once; its owner hears that its output has ended."""
        self._process.kill()

    def end(self) -> str:
        """Wait for a process whose output has ended; how it ended, in a few words."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code < 0:
            with suppress(ValueError):
                return f"it was ended by signal {-code} ({signal.Signals(-code).name})"
        said = ""
        with suppress(OSError):
            said = self._log.read_text(encoding="utf-8", errors="replace").strip()
        last = said.splitlines()[-1][:200] if said else ""
        return f"it ended with code {code}" + (f": {last}" if last else "")

    def close(self) -> None:
        """Kill it, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                self._heard(found)
        self._heard(None)


def main() -> None:
    """Serve until the input ends."""
    out = message_output()
    jobs: SimpleQueue[Mapping[str, object]] = SimpleQueue()
    answers: SimpleQueue[bool] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, jobs, answers), daemon=True).start()
    load_plugins(AppDirs.of_user().config)
    while True:
        job = Job.from_json(jobs.get())

        def report(epochs: int, value: float, asks: bool) -> bool:
            send_message(out, report=[epochs, value, asks])
            return answers.get() if asks else True

        outcome = run_trial(job, report)
        send_message(out, done=outcome.to_json())


def message_output() -> TextIO:
    """Standard output, for messages alone: what a library prints must not be taken for one."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _listen(
    lines: TextIO, jobs: SimpleQueue[Mapping[str, object]], answers: SimpleQueue[bool]
) -> None:
    for line in lines:
        found = json.loads(line)
        if "job" in found:
            jobs.put(found["job"])
        else:
            answers.put(bool(found["go_on"]))
    # Not at the next step or epoch: what it makes from now on has no owner.
    os._exit(_OWNER_GONE)


def send_message(out: TextIO, **fields: object) -> None:
    """Write a message; ends the process where its owner is gone."""
    try:
        out.write(json.dumps(fields) + "\n")
        out.flush()
    except OSError:
        os._exit(_OWNER_GONE)


if __name__ == "__main__":
    main()
