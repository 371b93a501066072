"""What the user connects to what: counts that fade from start to start, for ranking."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

DECAY = 0.8
FORGOTTEN = 0.05
"""Weight below which a pair is dropped."""
MOST_PAIRS = 2000
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=4 * MOST_PAIRS)


class ConnectionHistory:
    """How often each type of layer was put behind each other type.

    Args:
        path: where it is kept between starts; None keeps it in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._weights: dict[tuple[str, str], float] = {}
        if path is not None and path.exists():
            self._weights = _read(path)
            self.decay()

    def note(self, before: str, after: str) -> None:
        """A layer of type ``after`` was connected to one of type ``before``."""
        key = (before, after)
        self._weights[key] = self._weights.get(key, 0.0) + 1.0

    def weight(self, before: str, after: str) -> float:
        """How often, recent starts counting more."""
        return self._weights.get((before, after), 0.0)

    def decay(self) -> None:
        """Let everything count less, as at each start."""
        faded = {key: weight * DECAY for key, weight in self._weights.items()}
        self._weights = {key: weight for key, weight in faded.items() if weight >= FORGOTTEN}

    def save(self) -> None:
        """Keep it for the next start; FormatError when the file cannot be written."""
        if self._path is None:
            return
        most = sorted(self._weights.items(), key=lambda item: (-item[1], item[0]))[:MOST_PAIRS]
        rows = [[before, after, round(weight, 4)] for (before, after), weight in most]
        write_atomic(self._path, json.dumps(rows, ensure_ascii=False).encode())


def _read(path: Path) -> dict[tuple[str, str], float]:
    """The pairs of a file; nothing when it is damaged, for it is only a convenience."""
    try:
        rows = load_json(path, _LIMITS)
    except StudioError:
        return {}
    found: dict[tuple[str, str], float] = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, list) or len(row) != 3:
            continue
        before, after, weight = row
        if isinstance(before, str) and isinstance(after, str) and _is_weight(weight):
            found[(before, after)] = float(weight)  # type: ignore[arg-type]
    return found


def _is_weight(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and value > 0  # type: ignore[arg-type,operator]
