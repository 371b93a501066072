"""Peak arithmetic rate and bandwidth of each device, measured once and kept."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.profiler.totals import Peaks
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.peaks import measure_peaks

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=1 << 16, json_bytes=1 << 16, json_depth=4, json_values=64)
_METHOD = 3
"""Grows when peaks come out otherwise than before; those kept from before are measured again."""
_SOFTWARE_SIDE = 128
_SOFTWARE_ROWS = 512
_DOUBT = 200
"""Characters of a doubt that are read."""


class PeakStore:
    """Peaks by device and driver, one small file each.

    Args:
        folder: where the files lie; made when the first is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Peaks] = {}

    def find(self, fingerprint: str) -> Peaks | None:
        """What was measured on a device; None when nothing was, or the file is damaged."""
        if fingerprint not in self._known:
            found = self._read(fingerprint)
            if found is None:
                return None
            self._known[fingerprint] = found
        return self._known[fingerprint]

    def measure(self, backend: Backend) -> Peaks:
        """Measure a device and keep the result; takes about a second, with nothing else running.

        Raises:
            BackendError: the device refuses.
        """
        if "(software)" in backend.device:
            peaks = measure_peaks(backend, _SOFTWARE_SIDE, _SOFTWARE_ROWS)
        else:
            peaks = measure_peaks(backend)
        self.keep(backend.fingerprint, backend.device, peaks)
        return peaks

    def keep(self, fingerprint: str, device: str, peaks: Peaks) -> None:
        """Remember the peaks of a device: measured ones, or ones that kernels have raised."""
        self._known[fingerprint] = peaks
        self._write(fingerprint, device, peaks)

    def _path(self, fingerprint: str) -> Path:
        return self._folder / f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:24]}.json"

    def _read(self, fingerprint: str) -> Peaks | None:
        path = self._path(fingerprint)
        if not path.is_file():
            return None
        try:
            found = load_json(path, _LIMITS)
        except StudioError as error:
            _LOG.info("measured peaks are left aside: %s", error)
            return None
        if not isinstance(found, Mapping) or found.get("fingerprint") != fingerprint:
            return None
        if found.get("method") != _METHOD:
            return None
        numbers = [found.get(name) for name in ("gflops", "gbytes")]
        good = all(type(n) in (int, float) and 0 < n < 1e12 for n in numbers)  # type: ignore[operator]
        doubt = found.get("doubt")
        if not good or not isinstance(doubt, str):
            return None
        gflops, gbytes = (float(n) for n in numbers)  # type: ignore[arg-type]
        return Peaks(gflops, gbytes, doubt[:_DOUBT])

    def _write(self, fingerprint: str, device: str, peaks: Peaks) -> None:
        facts = {"fingerprint": fingerprint, "device": device, "method": _METHOD}
        text = json.dumps({**facts, **asdict(peaks)}, indent=2)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(fingerprint), text.encode("utf-8"))
        except (OSError, StudioError) as error:
            # Without the file they are measured again at the next start, which is all it costs.
            _LOG.info("measured peaks are not kept: %s", error)
