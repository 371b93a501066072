"""The processes that read HDF5 for this one: started, asked, watched, ended.

One process reads many files, and is replaced when it dies. None is left behind when this process
ends: a process whose input ends goes away by itself.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import studio
from studio.engine.core.errors import FormatError
from studio.engine.core.progress import Progress, unheard
from studio.engine.formats.limits import MIB

MODULE = "studio.engine.formats.hdf5_process"
_KEPT = ("SYSTEMROOT", "WINDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""Variables without which Python itself may not start."""
_POLL = 0.05
_CLOSING_SECONDS = 10.0
OWN_BYTES = 128 * MIB
"""More than Python and its libraries take in the process, as far as that is in memory."""


@dataclass(frozen=True)
class ChildLimits:
    """What the process may take for one file.

    Fields:
        cpu_seconds: processor time, besides that for the file's length.
        seconds: time until it is given up, besides that for the file's length; some of it passes
            while the process starts.
        megabyte_seconds: more of both for each MiB of the file.
        memory: bytes above what it has after its start.
    """

    cpu_seconds: float = 20.0
    seconds: float = 120.0
    megabyte_seconds: float = 0.05
    memory: int = 256 * MIB

    def for_length(self, length: int) -> ChildLimits:
        """The limits for a file of so many bytes, none of them besides that any more."""
        more = self.megabyte_seconds * length / MIB
        return ChildLimits(self.cpu_seconds + more, self.seconds + more, 0.0, self.memory)


DEFAULT_CHILD_LIMITS = ChildLimits()


class _EndedError(Exception):
    """The process ended by itself before it took the request."""


class _Child:
    """One process; asked by one thread at a time."""

    def __init__(self) -> None:
        root = str(Path(studio.__file__).resolve().parent.parent)
        self._is_used = False
        # Where this process found its packages; never the folder it happens to stand in.
        paths = [root, *(path for path in sys.path if path and Path(path).is_absolute())]
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # No plugins: code of a filter that a file names would be loaded from a folder.
        # One thread: each further one of a mathematics library reserves memory.
        env = {**kept, "PYTHONPATH": os.pathsep.join(paths), "HDF5_PLUGIN_PRELOAD": "::",
               "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # fmt: skip
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE], env=env, cwd=root, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise FormatError(
                f"a second Python process, which HDF5 files need, could not be started: "
                f"{error.strerror or error}"
            ) from error

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def ask(
        self, request: Mapping[str, object], most: int, limits: ChildLimits, progress: Progress
    ) -> bytes:
        """Its answer, at most ``most`` bytes.

        Raises:
            FormatError: it died, took too long or too much memory; it has ended then.
            _EndedError: it had ended before.
        """
        answer: list[bytes] = []
        thread = threading.Thread(
            target=self._exchange, args=(json.dumps(request).encode("utf-8"), most, answer),
            name="hdf5 answer", daemon=True,
        )  # fmt: skip
        thread.start()
        try:
            self._watch(thread, limits, progress)
        except BaseException:
            self._process.kill()
            thread.join()
            self.close()
            raise
        if answer and answer[0].endswith(b"\n"):
            self._is_used = True
            return answer[0]
        code = self._process.poll() if answer else self._process.wait()
        self.close()
        raise self._fault(code, limits, bool(answer))

    def _exchange(self, request: bytes, most: int, answer: list[bytes]) -> None:
        """Send a request and keep the line that comes back; nothing where the process is gone."""
        sender, receiver = self._process.stdin, self._process.stdout
        assert sender is not None
        assert receiver is not None
        with suppress(OSError):
            sender.write(request + b"\n")
            line = bytearray()
            while len(line) <= most and not line.endswith(b"\n"):
                piece = receiver.read(1 << 20)
                if not piece:
                    break
                line += piece
            if line:
                answer.append(bytes(line))

    def _watch(self, thread: threading.Thread, limits: ChildLimits, progress: Progress) -> None:
        """Wait for an answer; FormatError where it takes too long or too much memory."""
        deadline = time.monotonic() + limits.seconds
        while True:
            thread.join(_POLL)
            if not thread.is_alive():
                return
            progress(None, "reading the HDF5 data in another process")
            if time.monotonic() > deadline:
                raise FormatError(
                    f"reading the HDF5 data took longer than {limits.seconds:.3g} s: it is "
                    "damaged, or the machine is very busy"
                )
            if resident_bytes(self._process) > limits.memory + OWN_BYTES:
                raise FormatError(
                    f"reading the HDF5 data takes more than {limits.memory >> 20} MiB of memory"
                )

    def _fault(self, code: int | None, limits: ChildLimits, is_long: bool) -> Exception:
        if is_long:
            return FormatError("the HDF5 data is described at too great length")
        if code == 1:
            # What a file holds never ends it in this way.
            return FormatError(
                "HDF5 files cannot be read here: the process that reads them does not start",
                hint="pip install h5py",
            )
        if sys.platform != "win32":
            import signal

            # Ended from outside, while it was without work as far as is known.
            ended = (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
            if self._is_used and code in (0, *(-each for each in ended)):
                return _EndedError()
            if code in (-signal.SIGXCPU, -signal.SIGPROF):
                return FormatError(
                    f"reading the HDF5 data took more than {limits.cpu_seconds:.3g} s of the "
                    "processor's time: it is damaged"
                )
        return FormatError("the HDF5 data is damaged: the HDF5 library failed on it")

    def close(self) -> None:
        """End it; waits until it has."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Children:
    """Processes without work; at most one is kept for the next file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    @property
    def idle(self) -> tuple[int, ...]:
        """Numbers of those without work."""
        with self._lock:
            return tuple(child.pid for child in self._idle)

    def take(self) -> _Child:
        """A process for one thread: the idle one, or a new one."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                child = self._idle.pop()
            if child.is_alive:
                return child
            child.close()
        return _Child()

    def give_back(self, child: _Child) -> None:
        """Keep a process for the next file, or end it where one is kept."""
        with self._lock:
            if not self._idle and child.is_alive:
                self._idle.append(child)
                return
        child.close()

    def close(self) -> None:
        """End those without work."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.close()


CHILDREN = Children()
atexit.register(CHILDREN.close)


def ask_child(
    request: Mapping[str, object],
    most: int,
    limits: ChildLimits = DEFAULT_CHILD_LIMITS,
    progress: Progress | None = None,
) -> bytes:
    """What the process answers to a request: one line of JSON, not to be trusted.

    Args:
        request: see `hdf5_process`.
        most: bytes of the answer.
        limits: what the process may take; the request tells it, and it is watched.
        progress: called again and again meanwhile; what it raises ends the process and is raised.

    Raises:
        FormatError: the process died, took too long, too much memory or answered at too great
            length, or it cannot be started.
    """
    tell = progress or unheard
    while True:
        child = CHILDREN.take()
        try:
            return child.ask(request, most, limits, tell)
        except _EndedError:
            continue
        finally:
            CHILDREN.give_back(child)


def resident_bytes(process: subprocess.Popen[bytes]) -> int:
    """Memory a process has; 0 where the system does not say, or it has ended."""
    try:
        if sys.platform == "win32":
            return _windows_bytes(int(process._handle))  # type: ignore[attr-defined,unused-ignore]
        if sys.platform == "darwin":
            return _darwin_bytes(process.pid)
        pages = Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _windows_bytes(handle: int) -> int:
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        class Counters(ctypes.Structure):
            _fields_ = [
                ("size", wintypes.DWORD), ("faults", wintypes.DWORD),
                *((name, ctypes.c_size_t) for name in (
                    "most", "now", "most_paged", "paged", "most_other", "other", "pages",
                    "most_pages")),
            ]  # fmt: skip

        counters = Counters(size=ctypes.sizeof(Counters))
        kernel = ctypes.windll.kernel32
        kernel.K32GetProcessMemoryInfo.argtypes = [
            wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD
        ]  # fmt: skip
        found = kernel.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), counters.size)
        return int(counters.now) if found else 0
    return 0


def _darwin_bytes(pid: int) -> int:
    """From ``proc_pidinfo`` with PROC_PIDTASKINFO: its second number is the resident size."""
    import ctypes

    task_info, size = 4, 96
    buffer = (ctypes.c_uint64 * (size // 8))()
    library = ctypes.CDLL("/usr/lib/libproc.dylib")
    library.proc_pidinfo.argtypes = [
        ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int
    ]  # fmt: skip
    found = library.proc_pidinfo(pid, task_info, 0, buffer, size)
    return int(buffer[1]) if found == size else 0
