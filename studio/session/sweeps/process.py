"""The process of a sweep, seen from the window that started it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import studio
from studio.engine.core.errors import BackendError, StudioError
from studio.engine.scale.sweep.control import PAUSE, RESUME, STOP
from studio.engine.scale.sweep.planning import Wishes
from studio.session.sweeps.checking import in_window_words

_COMPLAINT, _HINT = "glassbox: ", "  hint: "
_WHO = re.compile(r"(?:\[(.+?)\] )?(.*)")
_STOP_SECONDS = 10.0
_MOST_SAID = 1 << 20
_CHECK_FAILED = 1
_INTERRUPTED = 130


@dataclass(frozen=True)
class Ending:
    """How the process ended.

    Attributes:
        code: its exit code; below 0 for a signal.
        said: what it wrote on standard error.
    """

    code: int
    said: str

    @property
    def error(self) -> StudioError | None:
        """What went wrong, in a sentence; None where nothing did."""
        if self.code in (0, _INTERRUPTED):
            return None
        if self.code == _CHECK_FAILED:
            return StudioError(
                "No trial of the sweep reached a value", hint="Its table says why each failed"
            )
        lines = self.said.splitlines()
        place = next((n for n, line in enumerate(lines) if line.startswith(_COMPLAINT)), None)
        if place is None:
            last = f": {lines[-1]}" if lines else ""
            how = f"by signal {-self.code}" if self.code < 0 else f"with code {self.code}"
            return BackendError(
                f"The process of the sweep ended {how}{last}",
                hint="Its trials that have ended are kept; resume the sweep to train the rest",
            )
        hint = next((line for line in lines[place + 1 :] if line.startswith(_HINT)), "")
        found = _WHO.match(lines[place].removeprefix(_COMPLAINT))
        who, message = ("", "") if found is None else (found[1] or "", found[2])
        return StudioError(
            in_window_words(message), who=in_window_words(who),
            hint=in_window_words(hint.removeprefix(_HINT)),
        )  # fmt: skip


class SweepProcess:
    """A process that trains the trials of a sweep; it ends with its owner.

    Args:
        words: what the command ``glassbox sweep`` is called with.
        heard: called with each line it says.
        ended: called once, when it is gone. Both are called on a thread of its own.

    Raises:
        BackendError: it cannot be started.
    """

    def __init__(
        self,
        words: Sequence[str],
        heard: Callable[[str], object],
        ended: Callable[[Ending], object],
    ) -> None:
        root = str(Path(studio.__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8",
            "NO_COLOR": "1",
        }  # fmt: skip
        # A file: a pipe that nothing reads would stop it.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "studio", "sweep", *words, "--owned"],
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                text=True, encoding="utf-8", errors="replace",
                # Ctrl-C in the terminal is for the window, which asks first.
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
        except OSError as error:
            self._said.close()
            raise BackendError(
                f"The process of the sweep could not be started: {error.strerror}", who="sweep"
            ) from error
        self._heard, self._ended = heard, ended
        self._reader = threading.Thread(target=self._read, name="glassbox-sweep", daemon=True)
        self._reader.start()

    def pause(self) -> None:
        """Begin no trial; those under way go on."""
        self._send(PAUSE)

    def resume(self) -> None:
        """Begin trials again."""
        self._send(RESUME)

    def stop(self) -> None:
        """End at once, as far as it can; what has ended is kept."""
        self._send(STOP)

    def kill(self) -> None:
        """End it, whatever it does; its workers end with it."""
        self._process.kill()

    def close(self) -> None:
        """Stop it, and wait until it is gone."""
        self.stop()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join()

    def _send(self, word: str) -> None:
        stdin = self._process.stdin
        if stdin is not None:
            # One that has ended hears nothing.
            with suppress(OSError, ValueError):
                stdin.write(f"{word}\n")
                stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._heard(line.rstrip("\n"))
        code = self._process.wait()
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - _MOST_SAID))
        said = self._said.read().decode("utf-8", "replace")
        self._said.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._ended(Ending(code, said))


def words_of(project: Path, wishes: Wishes, hours: float | None, cluster: str = "") -> list[str]:
    """What the command is called with for a new sweep; on a cluster where one is named."""
    words = [str(project)]
    for axis in wishes.vary:
        words += ["--vary", axis]
    options = {
        "--objective": wishes.objective, "--sampler": wishes.sampler, "--prune": wishes.prune,
        "--trials": wishes.trials, "--seeds": wishes.seeds, "--workers": wishes.workers,
        "--threads": wishes.threads, "--seed": wishes.seed, "--backend": wishes.backend,
        "--max-hours": hours, "--cluster": cluster or None,
    }  # fmt: skip
    for name, value in options.items():
        if value is not None:
            words += [name, str(value)]
    if wishes.keep is not None:
        words += ["--keep", str(wishes.keep or "all")]
    if wishes.maximize is not None:
        words.append("--maximize" if wishes.maximize else "--minimize")
    if wishes.synchronous:
        words.append("--synchronous")
    return words


def words_to_resume(project: Path, name: str, trials: int | None, cluster: str = "") -> list[str]:
    """What the command is called with for a sweep that goes on; on a cluster where one is named."""
    more = [] if trials is None else ["--trials", str(trials)]
    there = ["--cluster", cluster] if cluster else []
    return [str(project), "--resume", "--name", name, *more, *there]
