"""Data sets kept open: each is read once, however many views and compiles ask for it."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from pathlib import Path
from threading import Lock

from studio.engine.core.errors import StudioError
from studio.engine.core.interruption import go_on
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.sources import paths_of
from studio.engine.train.project.trusted_data import TrustedData
from studio.session.core.tasks import CancelledError

KEPT = 3
"""Data sets kept; the one asked for longest ago is let go."""

_STAMPED = 64
_ASKED_EVERY = 0.1
"""Seconds between checks whether a caller that waits for another's reading was cancelled."""


class _Slot:
    """One data set, or why it cannot be had; the lock is held while it is read."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.dataset: Dataset | None = None
        self.error: StudioError | None = None


class DatasetCache:
    """Opens data sets by their reference; safe to ask from any thread.

    A set counts as the same while its reference, the folder relative paths start from, and size
    and time of its files are the same, so that a repaired file is read again.

    Args:
        trusted: what may be read outside of a project's folder; anything without.
    """

    def __init__(self, trusted: TrustedData | None = None) -> None:
        self.trusted = trusted
        self._lock = Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()

    def open(self, settings: DataSettings, folder: Path) -> Dataset:
        """The data set, read at the first time; raises what `DataSettings.open` raises.

        A caller that asks for a set that is being read waits until it is there.

        Raises:
            UntrustedDataError: it lies where the user has not agreed to read.
        """
        if self.trusted is not None:
            self.trusted.check(settings.reference, folder)
        slot = self._slot(_key(settings, folder))
        while not slot.lock.acquire(timeout=_ASKED_EVERY):
            go_on()
        try:
            if slot.error is not None:
                raise _again(slot.error)
            if slot.dataset is None:
                try:
                    slot.dataset = settings.open(folder)
                except CancelledError:
                    # That says nothing about the data: the next caller reads it.
                    raise
                except StudioError as error:
                    slot.error = _again(error)
                    raise
            return slot.dataset
        finally:
            slot.lock.release()

    def peek(self, settings: DataSettings, folder: Path) -> Dataset | None:
        """The data set, if it has been read."""
        with self._lock:
            slot = self._slots.get(_key(settings, folder))
        return None if slot is None else slot.dataset

    def forget(self) -> None:
        """Forget all sets; each is read again when it is next needed."""
        with self._lock:
            self._slots.clear()

    def _slot(self, key: str) -> _Slot:
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > KEPT:
                self._slots.popitem(last=False)
            return slot


def _again(error: StudioError) -> StudioError:
    """The same refusal without the frames it was raised in, which would keep arrays alive."""
    return type(error)(error.message, who=error.who, hint=error.hint, origin=error.origin)


def _key(settings: DataSettings, folder: Path) -> str:
    stamps = [_stamp(path) for path in paths_of(settings.reference, folder)]
    place = str(folder) if stamps else ""
    return json.dumps([settings.key, place, stamps], sort_keys=True, default=str)


def _stamp(path: Path) -> list[object]:
    """What changes when a file, or a folder or its sub-folders, change."""
    try:
        found: list[object] = [_times(path)]
        if path.is_dir():
            with os.scandir(path) as entries:
                inside = sorted((e for e in entries), key=lambda e: e.name)[:_STAMPED]
            found += [_times(Path(entry.path)) for entry in inside]
    except OSError as error:
        return [error.errno]
    return found


def _times(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_mtime_ns, status.st_size]
