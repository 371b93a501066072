"""Recorded runs: a folder for each training, beside the project.

``<name>.runs/<time>/`` holds ``settings.json`` (the project as trained), ``metrics.jsonl`` (one
object per epoch, only ever appended to), ``checkpoints/`` and ``summary.json``; docs/projects.md
lists all files. A training that is
killed leaves a readable folder: all files but the metrics are replaced in one step, and a torn last
line of the metrics is left out.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from studio.engine.core.errors import DataError, FormatError, StudioError, quoted
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import read_lines
from studio.engine.formats.checkpoint import CheckpointHead
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json, parse_json
from studio.engine.train.project.project import Project
from studio.engine.train.project.project_text import project_text
from studio.engine.train.settings import MAX_EPOCHS

LIMITS = Limits(file_bytes=256 * MIB, json_bytes=16 * MIB)
METRICS_LIMITS = Limits(file_bytes=64 * MIB, json_bytes=1 << 16)
"""Caps of the metrics: of the file, and of the line of one epoch."""
STALE_SECONDS = 3600.0

_CHECKPOINT = re.compile(r"(?:epoch-\d{4,7}|best|last|final)\Z")
_TO_USE = ("final", "last", "epoch", "best")
_TO_RESUME = ("last", "epoch", "best", "final")
_TEMPORARY = re.compile(r"\..{1,100}\.[0-9a-f]{12}\.tmp\Z")


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @classmethod
    def create(cls, project: Project, now: datetime | None = None) -> RunFolder:
        """Make the folder of a new run; DataError at once where it cannot be written."""
        stamp = (now or datetime.now(UTC)).strftime("%Y-%m-%d_%H-%M-%S")
        root = project.runs_path
        try:
            root.mkdir(exist_ok=True)
            path = _make_unique(root, stamp)
            (path / "checkpoints").mkdir()
        except OSError as error:
            raise DataError(
                f"runs cannot be recorded here: {error.strerror}",
                who=str(root),
                hint="copy the project to a writable folder",
            ) from error
        run = cls(path)
        run.write_json("settings.json", project.to_json())
        run.write_summary({"state": "running", "started": stamp})
        for other in list_runs(project):
            if other.path != path:
                other.sweep(STALE_SECONDS)
        return run

    @property
    def name(self) -> str:
        """The time it began, as the folder is called."""
        return self.path.name

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    def project(self) -> Project:
        """The project as it was trained; FormatError where the file is damaged."""
        found = Project.from_json(
            load_json(self.path / "settings.json", LIMITS), str(self.path / "settings.json")
        )
        found.path = self.path.parent.with_suffix(".glassbox")
        return found

    def write_json(self, name: str, document: Mapping[str, object]) -> None:
        """Replace a JSON file of the run in one step."""
        write_atomic(self.path / name, project_text(document).encode("utf-8"))

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Replace the summary."""
        self.write_json("summary.json", summary)

    def summary(self) -> dict[str, Plain]:
        """The summary; empty where there is none yet."""
        try:
            found = load_json(self.path / "summary.json", LIMITS)
        except FormatError:
            return {}
        return found if isinstance(found, dict) else {}

    def append_metrics(self, epoch: int, logs: Mapping[str, float]) -> None:
        """Add an epoch to the metrics; numbers that are not finite are written as null."""
        values = {name: v if math.isfinite(v) else None for name, v in logs.items()}
        line = json.dumps({"epoch": epoch, **values}, allow_nan=False) + "\n"
        path = self.path / "metrics.jsonl"
        try:
            with path.open("ab") as file:
                file.write(line.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror}", who=str(path)) from error

    def metrics(self) -> list[dict[str, float]]:
        """All epochs in order; a repeated one (after a resume) counts as last written.

        A torn last line is left out; FormatError for a damaged line elsewhere.
        """
        path = self.path / "metrics.jsonl"
        if not path.is_file():
            return []
        found: dict[int, dict[str, float]] = {}
        for number, (line, is_whole) in enumerate(read_lines(path, "metrics", METRICS_LIMITS), 1):
            if not line:
                continue
            try:
                record = _metrics_record(line, f"{path}:{number}")
            except FormatError:
                # What stands behind the last line break was being written when the run ended.
                if not is_whole:
                    continue
                raise
            found[int(record["epoch"])] = record
        return [found[epoch] for epoch in sorted(found)]

    def reopen(self) -> None:
        """Clear away what a killed training left, before another goes on in this folder."""
        self.sweep()
        self.mend_metrics()

    def mend_metrics(self) -> None:
        """Cut a torn last line off, so that a resumed run goes on at a line of its own."""
        path = self.path / "metrics.jsonl"
        if not path.is_file():
            return
        longest = METRICS_LIMITS.json_bytes
        try:
            with path.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                start = file.seek(max(0, size - longest))
                end = file.read(longest)
                whole = end.rfind(b"\n") + 1
                if whole < len(end) and (whole or not start):
                    file.truncate(start + whole)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror}", who=str(path)) from error

    def checkpoint_path(self, name: str) -> Path:
        """Where the checkpoint of that name lies; DataError for a name that is none."""
        if not _CHECKPOINT.match(name):
            raise DataError(f"there is no checkpoint {quoted(name)}", who=self.name)
        return self.checkpoints / f"{name}.safetensors"

    def remove_checkpoint(self, name: str) -> None:
        """Delete a checkpoint, if it is there."""
        with suppress(OSError):
            self.checkpoint_path(name).unlink()

    @property
    def has_result(self) -> bool:
        """Whether there is a checkpoint; reads none of them."""
        return bool(self._files())

    @property
    def has_best(self) -> bool:
        """Whether the checkpoint of the best epoch is there; does not read it."""
        return self.checkpoint_path("best").is_file()

    def heads(self) -> tuple[CheckpointHead, ...]:
        """What every checkpoint says about itself, the one to use first; damaged ones last."""
        found = (CheckpointHead.read(path) for path in self._files())
        # A training that is under way removes old ones.
        there = (head for head in found if head.problem is None or head.path.is_file())
        return _furthest_first(there, _TO_USE)

    def last_head(self) -> CheckpointHead | None:
        """The checkpoint a resumed training goes on from: the one trained furthest."""
        heads = [head for head in self.heads() if head.is_resumable or head.problem is not None]
        found = _furthest_first(heads, _TO_RESUME)
        return found[0] if found else None

    def last_checkpoint(self) -> Path | None:
        """The file of `last_head`."""
        found = self.last_head()
        return None if found is None else found.path

    def saved_epochs(self, finished: int) -> tuple[str, ...]:
        """Names of the epoch checkpoints, the first to remove first.

        Args:
            finished: epochs of the training that goes on. Checkpoints of later epochs belong to
                a training that it leaves behind, and come first.
        """
        names = sorted(path.stem for path in self._files() if path.stem.startswith("epoch-"))
        numbers = {name: int(name.partition("-")[2]) for name in names}
        return tuple(sorted(names, key=lambda name: (numbers[name] <= finished, numbers[name])))

    def best_result(self) -> Path | None:
        """The checkpoint to use: the one trained furthest, of equals the final weights."""
        found = self.heads()
        return found[0].path if found else None

    def sweep(self, older_than: float = 0.0) -> int:
        """Remove temporary files that a killed writer left; how many were removed."""
        removed = 0
        limit = time.time() - older_than
        for folder in (self.path, self.checkpoints):
            if not folder.is_dir():
                continue
            for entry in folder.iterdir():
                if _TEMPORARY.match(entry.name) and entry.lstat().st_mtime <= limit:
                    with suppress(OSError):
                        entry.unlink()
                        removed += 1
        return removed

    def _files(self) -> list[Path]:
        found: list[Path] = []
        with suppress(OSError):
            found = list(self.checkpoints.iterdir())
        return [
            entry
            for entry in found
            if entry.suffix == ".safetensors" and _CHECKPOINT.match(entry.stem)
        ]


def list_runs(project: Project) -> list[RunFolder]:
    """All runs of a project, the oldest first."""
    root = project.runs_path
    if not root.is_dir():
        return []
    return [RunFolder(p) for p in sorted(root.iterdir()) if (p / "settings.json").is_file()]


def latest_run(project: Project) -> RunFolder | None:
    """The newest run that has a checkpoint."""
    usable = [run for run in list_runs(project) if run.has_result]
    return usable[-1] if usable else None


def _make_unique(root: Path, stamp: str) -> Path:
    count = 1
    while True:
        path = root / (stamp if count == 1 else f"{stamp}_{count:03d}")
        try:
            path.mkdir()
        except FileExistsError:
            count += 1
        else:
            return path


def _furthest_first(
    heads: Iterable[CheckpointHead], order: tuple[str, ...]
) -> tuple[CheckpointHead, ...]:
    """Checkpoints by the epochs and steps they were trained for, whatever the times of the files.

    Of equals the kind named first in ``order`` comes first; damaged ones come last.
    """

    def key(head: CheckpointHead) -> tuple[bool, int, int, int, str]:
        position = head.position
        rank = order.index(head.path.stem.partition("-")[0])
        return head.problem is None, position.epoch, position.step, -rank, head.path.name

    return tuple(sorted(heads, key=key, reverse=True))


def _metrics_record(line: bytes, who: str) -> dict[str, float]:
    try:
        record = parse_json(line, who, METRICS_LIMITS)
    except StudioError as error:
        raise FormatError(error.message, who=who) from None
    epoch = record.get("epoch") if isinstance(record, dict) else None
    if (
        not isinstance(record, dict)
        or isinstance(epoch, bool)
        or not isinstance(epoch, int)
        or not 0 <= epoch < MAX_EPOCHS
    ):
        raise FormatError("expected the numbers of one epoch", who=who)
    values: dict[str, float] = {}
    for name, value in record.items():
        if value is None:
            values[name] = math.nan
        elif isinstance(value, int | float) and not isinstance(value, bool):
            values[name] = float(value)
        else:
            raise FormatError(f"{quoted(name)} must be a number", who=who)
    return values
