"""Which process is meant by a number, although the system gives numbers again."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PS_SECONDS = 5.0
_LARGEST_PID = 0xFFFFFFFF
_NOT_RUNNING = ("Z", "X")
_PROC = Path("/proc/self/stat")


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of this machine, ever.

    Attributes:
        pid: its number.
        started: when it began, in a form only to be compared; empty where that cannot be found out.
    """

    pid: int
    started: str

    @property
    def is_running(self) -> bool:
        """Whether this very process still runs."""
        found = start_of(self.pid)
        return found is not None and (found == self.started or not (found and self.started))


@cache
def own_identity() -> ProcessIdentity:
    """This process."""
    return ProcessIdentity(os.getpid(), start_of(os.getpid()) or "")


def start_of(pid: int) -> str | None:
    """When the process of that number began; None when none runs, empty when it is not known."""
    if not 0 < pid <= _LARGEST_PID:
        return None
    if os.name == "nt":
        return _windows_start(pid)
    return _linux_start(pid) if _PROC.exists() else _unix_start(pid)


def _linux_start(pid: int) -> str | None:
    """Clock ticks since the machine was started, and which start of the machine that was."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold anything.
    fields = text[text.rfind(")") + 2 :].split()
    if len(fields) < 20 or fields[0] in _NOT_RUNNING:
        return None
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{fields[19]}@{boot}"


def _unix_start(pid: int) -> str | None:
    try:
        found = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True, text=True, timeout=_PS_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip() or None


def _windows_start(pid: int) -> str | None:
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        limited, still_active = 0x1000, 259
        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(limited, False, pid)
        if not handle:
            return None
        try:
            code = wintypes.DWORD()
            kernel.GetExitCodeProcess(handle, ctypes.byref(code))
            if code.value != still_active:
                return None
            times = [wintypes.FILETIME() for _ in range(4)]
            if not kernel.GetProcessTimes(handle, *(ctypes.byref(each) for each in times)):
                return ""
            return f"{times[0].dwHighDateTime}.{times[0].dwLowDateTime}"
        finally:
            kernel.CloseHandle(handle)
    return ""
