"""A sweep on disk: what it was asked for, its lock, and the table of its trials.

``<project>.sweeps/<time>/`` holds ``sweep.json`` (the plan; only the number of trials and workers
ever changes), ``journal.log`` (Optuna's journal of every trial), ``trials.json`` (the table,
written from the journal after each trial) and, on a cluster, ``cluster.json`` (its address). The
runs themselves are ordinary runs of the project.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from studio.engine.core.closing import Closing
from studio.engine.core.errors import DataError, FormatError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.scale.sweep.search_space import MAX_POINTS, Axis, Raw, parse_axes
from studio.engine.scale.sweep.trial import Outcome, run_names
from studio.engine.train.project.project import Project
from studio.engine.train.project.project_text import project_text
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock, holder_of

Sampler: TypeAlias = Literal["tpe", "random", "grid"]
Pruner: TypeAlias = Literal["none", "asha"]

SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)
PRUNERS: tuple[Pruner, ...] = get_args(Pruner)

MAX_WORKERS, MAX_SEEDS, MAX_THREADS = 256, 100, 8
PLAN, JOURNAL, TABLE = "sweep.json", "journal.log", "trials.json"
CLUSTER = "cluster.json"
"""Where a sweep is trained, or was last, if that is not this machine."""
_LIMITS = Limits(file_bytes=256 * MIB, json_bytes=256 * MIB)
_FORMAT, _VERSION = "glassbox-sweep", 1


@dataclass(frozen=True)
class Plan:
    """What a sweep is asked for.

    Attributes:
        settings: the project that is varied, as its file says it.
        vary: the axes, as the user wrote them.
        objective: what trials are compared by.
        maximize: whether more of it is better.
        sampler: how values are chosen.
        prune: how hopeless trials are ended.
        trials: how many there are.
        seeds: trainings of each, with seeds that follow one another.
        workers: how many trials are trained at once.
        threads: of each on the CPU.
        synchronous: whether values of a round of ``workers`` trials are chosen together, from the
            rounds before.
        seed: of the choice of values.
        backend: where to train.
        keep: how many of the best trials keep their weights; 0 for all.
        data_hash: fingerprint of the data.
    """

    settings: Mapping[str, Plain]
    vary: tuple[str, ...]
    objective: str
    maximize: bool
    sampler: Sampler
    prune: Pruner
    trials: int
    seeds: int
    workers: int
    threads: int
    synchronous: bool
    seed: int
    backend: str
    keep: int
    data_hash: str

    def to_json(self) -> dict[str, Plain]:
        """The plan as its file has it."""
        return {"format": _FORMAT, "version": _VERSION, **asdict(self), "vary": list(self.vary)}

    @classmethod
    def from_json(cls, found: object, who: str) -> Plan:
        """The plan of a file; FormatError where it is none."""
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise FormatError("this is no plan of a sweep", who=who)
        if found.get("version") != _VERSION:
            raise FormatError(
                f"the sweep was written by version {found.get('version')} of the format, this "
                f"reads {_VERSION}",
                who=who,
                hint="update Glassbox",
            )
        fields = {key: value for key, value in found.items() if key not in ("format", "version")}
        kinds: dict[str, type] = {
            "settings": dict, "vary": list, "objective": str, "maximize": bool, "sampler": str,
            "prune": str, "trials": int, "seeds": int, "workers": int, "threads": int,
            "synchronous": bool, "seed": int, "backend": str, "keep": int, "data_hash": str,
        }  # fmt: skip
        ranges = {
            "trials": range(1, MAX_POINTS + 1), "seeds": range(1, MAX_SEEDS + 1),
            "workers": range(1, MAX_WORKERS + 1), "threads": range(1, MAX_THREADS + 1),
            "seed": range(1 << 63), "keep": range(MAX_POINTS + 1), "sampler": SAMPLERS,
            "prune": PRUNERS,
        }  # fmt: skip
        wrong = next((k for k, kind in kinds.items() if type(fields.get(k)) is not kind), "")
        wrong = wrong or next((k for k, known in ranges.items() if fields[k] not in known), "")
        if wrong or fields.keys() != kinds.keys():
            raise FormatError(f"the plan of the sweep is damaged at {wrong or 'its end'}", who=who)
        fields["vary"] = tuple(str(word) for word in fields["vary"])
        return cls(**fields)

    def project(self, path: Path | None) -> Project:
        """The project that is varied, beside its data."""
        return replace(Project.from_json(self.settings, "sweep"), path=path)

    def axes(self) -> tuple[Axis, ...]:
        """What varies."""
        return parse_axes(self.vary, self.project(None))

    @property
    def direction(self) -> str:
        """Which way is better, in a word."""
        return "highest" if self.maximize else "lowest"


@dataclass(frozen=True)
class TrialRow:
    """A trial, as the table has it.

    Attributes:
        number: of the trial, from 0.
        values: of the axes.
        outcome: how it ended; None while it has not.
        attempts: how often it was begun.
        has_weights: whether its runs keep their weights.
        is_training: whether it is under way.
        reached: epochs it has done while it is.
    """

    number: int
    values: Mapping[str, Raw]
    outcome: Outcome | None = None
    attempts: int = 0
    has_weights: bool = False
    is_training: bool = False
    reached: int = 0

    @property
    def value(self) -> float | None:
        """The objective it reached; None where it reached none."""
        return None if self.outcome is None else self.outcome.value

    @property
    def state(self) -> str:
        """How it ended, that it is trained, or that it waits for that."""
        if self.outcome is not None:
            return self.outcome.state
        return "training" if self.is_training else "waiting"

    @property
    def epochs(self) -> int:
        """Epochs of all its seeds; so far, while it is trained."""
        return self.reached if self.outcome is None else self.outcome.epochs

    def to_json(self, sweep: str, seeds: int) -> dict[str, Plain]:
        """The row as the file and ``--json`` have it."""
        outcome = self.outcome
        each: list[Plain] = [] if outcome is None else list(outcome.values)
        runs: list[Plain] = list(run_names(sweep, self.number, seeds))
        return {
            "trial": self.number,
            "state": self.state,
            "value": self.value,
            "by_seed": each,
            "values": dict(self.values),
            "reason": "" if outcome is None else outcome.reason,
            "epochs": self.epochs,
            "seconds": 0.0 if outcome is None else outcome.seconds,
            "device": "" if outcome is None else outcome.device,
            "attempts": self.attempts,
            "weights": self.has_weights,
            "runs": runs if outcome is not None else [],
        }

    @classmethod
    def from_json(cls, found: object, names: Sequence[str]) -> TrialRow:
        """The row of a table.

        Args:
            found: what the table has.
            names: of the axes.

        Raises:
            KeyError, TypeError, ValueError: this is no row of such a sweep.
        """
        if not isinstance(found, dict):
            raise TypeError("no row")
        number, state, values = found["trial"], found["state"], found["values"]
        counts = [number, found["attempts"], found["epochs"]]
        if not all(type(each) is int and each >= 0 for each in counts):
            raise ValueError("no counts")
        # A kill may have cut the choice of values short.
        if not isinstance(values, dict) or not values.keys() <= set(names):
            raise ValueError("no values of the axes")
        if not all(isinstance(each, bool | int | float | str | None) for each in values.values()):
            raise TypeError("no values of options")
        outcome = None
        if state not in ("waiting", "training"):
            outcome = Outcome.from_json({**found, "values": found["by_seed"]})
        return cls(
            number, values, outcome, found["attempts"], found["weights"] is True,
            state == "training", 0 if outcome is not None else found["epochs"],
        )  # fmt: skip


def ranked(rows: Sequence[TrialRow], *, maximize: bool) -> list[TrialRow]:
    """The trials with a value, the best first; of equals the earlier."""
    sign = -1.0 if maximize else 1.0
    valued = [(sign * row.value, row.number, row) for row in rows if row.value is not None]
    return [row for _, _, row in sorted(valued, key=lambda each: each[:2])]


class SweepFolder(Closing):
    """The folder of a sweep, held by this process until it is closed.

    Args:
        path: of the folder.
        project: path of the project's file.

    Raises:
        DataError: another process has the sweep.
        FormatError: its plan is damaged.
    """

    def __init__(self, path: Path, project: Path) -> None:
        self.path = path
        self.plan = read_plan(path)
        self._runs = project.with_suffix(".runs")
        self._lock = RunLock(path)
        try:
            self._lock.take()
        except DataError as error:
            holder = holder_of(path)
            by = f"by {holder.text}" if holder is not None else "by another process"
            raise DataError(
                f"the sweep is under way, {by}", who=str(path), hint=error.hint
            ) from None
        # Of a process that was killed.
        shutil.rmtree(self.work, ignore_errors=True)
        self._mend_journal()

    @classmethod
    def create(cls, project: Project, plan: Plan, now: datetime | None = None) -> SweepFolder:
        """Make the folder of a new sweep; DataError where it cannot be written."""
        if project.path is None:
            raise FormatError("a sweep is saved beside its project: save the project first",
                              who=project.name)  # fmt: skip
        stamp = (now or datetime.now(UTC)).strftime("%Y-%m-%d_%H-%M-%S")
        root = sweeps_path(project.path)
        try:
            root.mkdir(exist_ok=True)
            project.runs_path.mkdir(exist_ok=True)
            path, count = root / stamp, 1
            while _is_taken(path, project.runs_path):
                count += 1
                path = root / f"{stamp}_{count:03d}"
            path.mkdir()
        except OSError as error:
            raise DataError(
                f"sweeps cannot be recorded here: {error.strerror}",
                who=str(root),
                hint="copy the project to a writable folder",
            ) from error
        write_atomic(path / PLAN, project_text(plan.to_json()).encode("utf-8"))
        return cls(path, project.path)

    @property
    def name(self) -> str:
        """What the sweep and its runs are called by: when it began."""
        return self.path.name

    @property
    def journal(self) -> Path:
        """Optuna's journal."""
        return self.path / JOURNAL

    @property
    def work(self) -> Path:
        """Where workers make run folders, beside the place that these are moved to."""
        return self._runs / f".{self.name}"

    def run(self, name: str) -> RunFolder:
        """The run of that name, in its place."""
        return RunFolder(self._runs / name)

    def take_in(self, place: Path, names: Sequence[str]) -> None:
        """Move the run folders a worker made to the runs of the project, each as a whole.

        Raises:
            DataError: that cannot be done.
        """
        for name in names:
            made, target = place / name, self._runs / name
            if not made.is_dir():
                if name == names[0]:
                    raise DataError("a worker left no run", who=name)
                # Seeds behind one that failed or was pruned are not trained.
                continue
            try:
                if target.exists():
                    # An earlier attempt at the same trial, of which a kill left the half.
                    target.rename(place / f"{name}.old")
                made.rename(target)
            except OSError as error:
                raise DataError(
                    f"a run cannot be moved to its place: {error.strerror}", who=str(target)
                ) from error
        shutil.rmtree(place, ignore_errors=True)

    def write_table(self, rows: Sequence[TrialRow]) -> None:
        """Replace the table."""
        listed: list[Plain] = [row.to_json(self.name, self.plan.seeds) for row in rows]
        document: dict[str, Plain] = {
            "objective": self.plan.objective, "maximize": self.plan.maximize, "trials": listed,
        }  # fmt: skip
        write_atomic(self.path / TABLE, project_text(document).encode("utf-8"))

    def change(self, plan: Plan) -> None:
        """Replace the plan."""
        write_atomic(self.path / PLAN, project_text(plan.to_json()).encode("utf-8"))
        self.plan = plan

    def note_cluster(self, address: str) -> None:
        """Write down on which cluster it is trained from now on; empty for this machine."""
        place = self.path / CLUSTER
        if address:
            write_atomic(place, project_text({"address": address}).encode("utf-8"))
            return
        try:
            place.unlink(missing_ok=True)
        except OSError as error:
            raise DataError(f"cannot be removed: {error.strerror}", who=str(place)) from error

    def close(self) -> None:
        """Let other processes have the sweep."""
        shutil.rmtree(self.work, ignore_errors=True)
        self._lock.release()

    def _mend_journal(self) -> None:
        """Cut a torn last line off, and remove the lock of a writer that was killed."""
        with suppress(OSError):
            (self.path / f"{JOURNAL}.lock").unlink()
        try:
            with self.journal.open("r+b") as file:
                content = file.read()
                file.truncate(content.rfind(b"\n") + 1)
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(
                f"cannot be written: {error.strerror}", who=str(self.journal)
            ) from error


def cluster_of(path: Path) -> str:
    """Address of the cluster that a sweep was trained on last; empty for this machine."""
    try:
        found = load_json(path / CLUSTER, _LIMITS)
        address = found.get("address") if isinstance(found, dict) else None
        return address if isinstance(address, str) else ""
    except StudioError:
        return ""


def sweeps_path(project: Path) -> Path:
    """The folder of a project's sweeps, ``<name>.sweeps`` beside its file."""
    return project.with_suffix(".sweeps")


def list_sweeps(project: Path) -> list[Path]:
    """The folders of a project's sweeps, the newest first."""
    root = sweeps_path(project)
    found = sorted(root.glob(f"*/{PLAN}"), reverse=True) if root.is_dir() else []
    return [path.parent for path in found]


def find_sweep(project: Path, name: str | None = None) -> Path:
    """The folder of the sweep of that name, or of the newest; DataError where there is none."""
    found = list_sweeps(project)
    if not found:
        raise DataError(
            "there is no sweep to resume", who=str(project), hint="begin one with --vary"
        )
    if name is None:
        return found[0]
    named = next((path for path in found if path.name == name), None)
    if named is None:
        raise DataError(
            f"there is no sweep {quoted(name)}",
            who=str(project),
            hint=did_you_mean(name, [path.name for path in found]),
        )
    return named


def read_trials(path: Path, names: Sequence[str]) -> tuple[TrialRow, ...]:
    """The table of a sweep as it stands, by number; without one, no trials.

    Safe to call while another process writes.

    Args:
        path: of the sweep's folder.
        names: of the axes.

    Raises:
        FormatError: the table is damaged.
    """
    table = path / TABLE
    if not table.is_file():
        return ()
    found = load_json(table, _LIMITS)
    listed = found.get("trials") if isinstance(found, dict) else None
    rows: list[TrialRow] | None = None
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        if isinstance(listed, list):
            rows = [TrialRow.from_json(each, names) for each in listed]
    if rows is None:
        raise FormatError(
            "the table of the sweep is damaged",
            who=str(table),
            hint="it is written again when the sweep is continued",
        )
    return tuple(sorted(rows, key=lambda row: row.number))


def read_plan(path: Path) -> Plan:
    """The plan of a sweep; FormatError where it is damaged."""
    try:
        return Plan.from_json(load_json(path / PLAN, _LIMITS), str(path / PLAN))
    except StudioError as error:
        raise FormatError(error.message, who=str(path / PLAN), hint=error.hint) from None


def _is_taken(path: Path, runs: Path) -> bool:
    """Whether a sweep or a run has that name."""
    return path.exists() or any(runs.glob(f"{path.name}*"))
