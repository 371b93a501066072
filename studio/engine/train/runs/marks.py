"""Events of a run: started, continued, learning rate changed, paused, ended.

Each is a line of JSON in ``marks.jsonl`` of the run's folder, which is only appended to.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from studio.engine.core.errors import DataError, FormatError, StudioError
from studio.engine.formats.byte_source import read_lines
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import parse_json

_LOG = logging.getLogger(__name__)
MARKS = "marks.jsonl"
_LIMITS = Limits(file_bytes=16 * MIB, json_bytes=1 << 14)

MarkKind: TypeAlias = Literal[
    "start", "restart", "learning_rate", "paused", "resumed",
    "finished", "early", "stopped", "failed",
]  # fmt: skip

MARK_KINDS: tuple[MarkKind, ...] = get_args(MarkKind)

BEGINNINGS: frozenset[MarkKind] = frozenset({"start", "restart"})
ENDINGS: frozenset[MarkKind] = frozenset({"finished", "early", "stopped", "failed"})


@dataclass(frozen=True)
class Mark:
    """Something that happened between two steps.

    Attributes:
        kind: which event.
        step: steps done before it.
        wall: when, seconds since the system's epoch.
        value: the new learning rate; NaN for the optimiser's own rate and for other events.
    """

    kind: MarkKind
    step: int
    wall: float
    value: float = math.nan


def append_mark(folder: Path, mark: Mark) -> None:
    """Add a mark to those of a run; DataError where that fails."""
    fields = {"kind": mark.kind, "step": mark.step, "wall": mark.wall}
    if math.isfinite(mark.value):
        fields["value"] = mark.value
    try:
        with (folder / MARKS).open("ab") as file:
            file.write(json.dumps(fields).encode() + b"\n")
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", who=str(folder / MARKS)) from error


def read_marks(folder: Path) -> list[Mark]:
    """The marks of a run; damaged lines are left out, and the first of them is logged."""
    path = folder / MARKS
    if not path.is_file():
        return []
    found: list[Mark] = []
    damaged = 0
    try:
        for number, (line, _) in enumerate(read_lines(path, "marks", _LIMITS), 1):
            if not line:
                continue
            try:
                found.append(_mark(line, f"{path}:{number}"))
            except StudioError as error:
                damaged += 1
                if damaged == 1:
                    _LOG.warning("a mark is left out: %s", error)
    except FormatError as error:
        _LOG.warning("marks are left out: %s", error)
    if damaged > 1:
        _LOG.warning("%d damaged marks are left out of %s", damaged, path)
    return found


def _mark(line: bytes, who: str) -> Mark:
    fields = parse_json(line, who, _LIMITS)
    if not isinstance(fields, dict):
        raise FormatError("expected an object", who=who)
    kind, step, wall = (fields.get(name) for name in ("kind", "step", "wall"))
    value = fields.get("value", math.nan)
    if (
        kind not in MARK_KINDS
        or not isinstance(step, int)
        or isinstance(step, bool)
        or step < 0
        or not isinstance(wall, float)
        or not math.isfinite(wall)
        or not isinstance(value, int | float)
    ):
        raise FormatError("expected kind, step and time", who=who)
    return Mark(next(k for k in MARK_KINDS if k == kind), step, wall, float(value))
