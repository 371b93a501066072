"""Which files of the package run while a test looks."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import studio

ROOT = Path(studio.__file__).resolve().parent


class CalledFiles:
    """Remembers the files of functions that are called while it is on.

    Threads are seen that start after it was made.

    Attributes:
        names: paths below ``studio/``, in the order they were first called.
        is_on: whether calls are remembered.
        threads: beginnings of the names of the threads that are looked at; all of them if empty.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.is_on = False
        self.threads: tuple[str, ...] = ()
        self._known: dict[str, str] = {}

    def _trace(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.is_on and event == "call":
            file = frame.f_code.co_filename
            name = self._known.get(file)
            if name is None:
                path = Path(file)
                inside = path.is_relative_to(ROOT)
                name = self._known[file] = path.relative_to(ROOT).as_posix() if inside else ""
            if name and threading.current_thread().name.startswith(self.threads or ("",)):
                self.names.setdefault(name)


@contextmanager
def called_files() -> Iterator[CalledFiles]:
    """See all calls of this thread, and of those that start inside.

    Garbage of earlier tests is collected before, and none meanwhile: finalizers are calls too.
    """
    found, before = CalledFiles(), sys.gettrace()
    gc.collect()
    gc.disable()
    sys.settrace(found._trace)
    threading.settrace(found._trace)
    try:
        yield found
    finally:
        gc.enable()
        found.is_on = False
        threading.settrace(None)  # type: ignore[arg-type]
        sys.settrace(before)
