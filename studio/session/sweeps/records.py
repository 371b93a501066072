"""The sweeps of a project as their folders say: plan, trials, and who trains them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep.folder import (
    PLAN,
    TABLE,
    Plan,
    TrialRow,
    cluster_of,
    list_sweeps,
    ranked,
    read_plan,
    read_trials,
)
from studio.engine.scale.sweep.search_space import Axis
from studio.engine.scale.sweep.trial import run_names
from studio.engine.train.runs.run_lock import Holder, holder_of
from studio.session.core.run_notes import RunNotes, title_of


@dataclass(frozen=True, eq=False)
class SweepRecord:
    """A sweep.

    Attributes:
        path: of its folder.
        plan: what it was asked for; None where that cannot be read.
        axes: what varies.
        rows: its trials, by number.
        problem: what of it cannot be read, and why; or empty.
        holder: the process that trains it now.
        cluster: address of the cluster it was trained on last; empty for this machine.
        stamps: change when its files do: of the plan, and of the table.
    """

    path: Path
    plan: Plan | None = None
    axes: tuple[Axis, ...] = ()
    rows: tuple[TrialRow, ...] = ()
    problem: str = ""
    holder: Holder | None = None
    cluster: str = ""
    stamps: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """What it and its runs are called by."""
        return self.path.name

    @property
    def title(self) -> str:
        """When it began, as users read it."""
        return title_of(self.name, RunNotes())

    @property
    def best(self) -> TrialRow | None:
        """The best trial so far."""
        if self.plan is None:
            return None
        return next(iter(ranked(self.rows, maximize=self.plan.maximize)), None)

    @property
    def ended(self) -> int:
        """Trials that have ended."""
        return sum(row.outcome is not None for row in self.rows)

    @property
    def training(self) -> int:
        """Trials that are trained now; none where the process of the sweep is gone."""
        return 0 if self.holder is None else sum(row.is_training for row in self.rows)

    @property
    def left(self) -> int:
        """Trials that have not ended, those not begun included."""
        return 0 if self.plan is None else max(0, self.plan.trials - self.ended)

    def runs_of(self, row: TrialRow) -> tuple[str, ...]:
        """Names of the runs of a trial that has ended, those of each seed that was trained."""
        if self.plan is None or row.outcome is None:
            return ()
        names = run_names(self.name, row.number, self.plan.seeds)
        # A seed that failed or was pruned has a run, too; those after it have none.
        trained = len(row.outcome.values) + (row.outcome.state != "finished")
        return names[: max(1, trained)]


def read_sweeps(project: Path, known: Iterable[SweepRecord]) -> tuple[SweepRecord, ...]:
    """The sweeps of a project, the newest first; those that have not changed as they are known."""
    before = {record.path: record for record in known}
    return tuple(_read(path, before) for path in list_sweeps(project))


def _read(path: Path, before: Mapping[Path, SweepRecord]) -> SweepRecord:
    """What a sweep's folder says; damage is said in ``problem``, never raised."""
    known = before.get(path, SweepRecord(path))
    # Before the files are read: what is written meanwhile is read the next time.
    stamps = _stamp(path / PLAN), _stamp(path / TABLE)
    holder = holder_of(path)
    if stamps == known.stamps and holder == known.holder:
        return known
    if stamps == known.stamps:
        return replace(known, holder=holder, cluster=cluster_of(path))
    found = SweepRecord(path, holder=holder, cluster=cluster_of(path), stamps=stamps)
    try:
        if stamps[0] == known.stamps[0] and known.plan is not None:
            found = replace(found, plan=known.plan, axes=known.axes)
        else:
            plan = read_plan(path)
            found = replace(found, plan=plan, axes=plan.axes())
        return replace(found, rows=read_trials(path, [axis.name for axis in found.axes]))
    except StudioError as error:
        return replace(found, problem=f"{error.message}; {error.hint}" if error.hint
                       else error.message)  # fmt: skip


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
