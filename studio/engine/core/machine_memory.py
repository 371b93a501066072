"""How much memory the machine has, and how much of it this process may take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_UNKNOWN = 2**32
GROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows its control groups."""

OWN_GROUPS = Path("/proc/self/cgroup")
"""The file that names those of this process."""


def host_memory() -> int:
    """The machine's physical memory in bytes; 4 GiB where the system does not tell."""
    if sys.platform == "win32":
        return _windows_memory()
    try:
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return _UNKNOWN
    return pages * page if pages > 0 and page > 0 else _UNKNOWN


def usable_memory() -> int:
    """`host_memory`, or less where a container or a limit of the process allows only that."""
    return min(host_memory(), *_limits())


def _limits() -> Iterator[int]:
    yield sys.maxsize
    if sys.platform == "win32":
        return
    import resource

    for kind in ("RLIMIT_AS", "RLIMIT_DATA"):
        limit = resource.getrlimit(getattr(resource, kind))[0] if hasattr(resource, kind) else -1
        if 0 < limit != resource.RLIM_INFINITY:
            yield limit
    yield from _group_limits()


def _group_limits() -> Iterator[int]:
    """What control groups of Linux, as containers use them, allow."""
    places = [GROUPS / "memory.max", GROUPS / "memory" / "memory.limit_in_bytes"]
    with suppress(OSError):
        for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if not kinds:
                places.append(GROUPS / path.lstrip("/") / "memory.max")
    for place in places:
        with suppress(OSError, ValueError):
            yield max(1, int(place.read_text(encoding="ascii")))


def _windows_memory() -> int:
    import ctypes

    kibibytes = ctypes.c_ulonglong()
    kernel = ctypes.CDLL("kernel32")
    if kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(kibibytes)):
        return int(kibibytes.value) * 1024
    return _UNKNOWN
