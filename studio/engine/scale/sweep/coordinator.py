"""Runs a sweep: begins trials, hears workers, moves runs to their place, writes the journal."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.core.signal import Signal
from studio.engine.scale.sweep.control import SweepControl
from studio.engine.scale.sweep.folder import SweepFolder, TrialRow, ranked
from studio.engine.scale.sweep.journal import TrialJournal, rungs_of
from studio.engine.scale.sweep.search_space import varied
from studio.engine.scale.sweep.trial import (
    Job,
    Outcome,
    drop_weights,
    failed_runs,
    outcome_of_run,
    run_names,
)
from studio.engine.scale.sweep.workers import Event, Pool

ATTEMPTS = 3
"""How often a trial is begun whose workers are lost."""
_TICK = 0.2
_TABLE_SECONDS = 1.0


@dataclass
class _Running:
    """A trial under way.

    Attributes:
        row: its values.
        job: what a worker was handed.
    """

    row: TrialRow
    job: Job


class Coordinator:
    """The one that writes: journal, table and runs of a sweep; on one thread.

    Attributes:
        ended: emitted with each trial that has ended.
        reported: emitted with number of trial, epochs done and objective.
        noted: emitted with a sentence for the user.

    Args:
        folder: of the sweep, held by this process.
        project: the project's file, beside which its data lies.
        seconds: after which no trial is begun; None for no limit.
        clock: seconds since some moment.
        control: what is asked of it meanwhile.
    """

    def __init__(
        self,
        folder: SweepFolder,
        project: Path,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        control: SweepControl | None = None,
    ) -> None:
        self.ended: Signal[[TrialRow]] = Signal()
        self.reported: Signal[[int, int, float]] = Signal()
        self.noted: Signal[[str]] = Signal()
        self._folder = folder
        self._plan = folder.plan
        self._file = project
        self._project = folder.plan.project(project)
        self._axes = folder.plan.axes()
        self._journal = TrialJournal(folder.journal, folder.plan, self._axes)
        self._seconds = seconds
        self._clock = clock
        self._began = clock()
        self._control = control or SweepControl()
        self._rows = {row.number: self._with_weights(row) for row in self._journal.rows()}
        self._waiting: deque[TrialRow] = deque()
        self._running: dict[int, _Running] = {}
        self._asking: dict[int, tuple[int, float]] = {}
        self._results: dict[int, Outcome] = {}
        self._attempts: dict[int, int] = {}
        self._reached: dict[int, int] = {}
        self._written: tuple[float, object] = (-math.inf, None)

    @property
    def rows(self) -> list[TrialRow]:
        """All trials so far, by number."""
        return [self._rows[number] for number in sorted(self._rows)]

    @property
    def best(self) -> TrialRow | None:
        """The best trial so far."""
        found = ranked(self.rows, maximize=self._plan.maximize)
        return found[0] if found else None

    @property
    def left(self) -> int:
        """Trials that have not ended, those not begun included."""
        done = sum(row.outcome is not None for row in self._rows.values())
        return max(0, self._plan.trials - done)

    def run(self, pool: Pool) -> None:
        """Train until every trial has ended, the time is over, or it is told to stop.

        Raises:
            StudioError: the record cannot be written, or no worker can be had.
        """
        self._take_up()
        self._folder.write_table(self.rows)
        try:
            while not self._control.is_stopped:
                self._begin(pool)
                if not self._running and not self._stands_still():
                    break
                self._write_progress()
                event = pool.next(_TICK)
                if event is not None and event.number in self._running:
                    self._hear(event, pool)
                self._settle(pool)
        finally:
            # What was under way waits to be trained again.
            self._folder.write_table(self.rows)

    # -- which trials are begun --------------------------------------------------------------------

    def _take_up(self) -> None:
        """Find trials that a kill left: those whose runs are whole have ended, others wait."""
        for row in self.rows:
            if row.outcome is not None:
                continue
            whole = self._journal.complete(row)
            names = run_names(self._folder.name, row.number, self._plan.seeds)
            found = [
                outcome_of_run(self._folder.run(name), self._folder.name, row.number)
                for name in names
            ]
            first = found[0]
            trained = 1 if first is None else min(len(first.values) + 1, len(names))
            self._rows[row.number] = whole
            if first is not None and all(each == first for each in found[:trained]):
                self._results[row.number] = first
            else:
                self._waiting.append(whole)
        if self._plan.synchronous and (self._waiting or self._results):
            self._ask_round()
        self._write_down()

    def _may_ask(self) -> bool:
        return len(self._rows) < self._plan.trials and self._may_begin()

    def _may_begin(self) -> bool:
        return not self._is_over() and not self._control.is_paused

    def _stands_still(self) -> bool:
        """Whether only a pause keeps trials from being begun."""
        left = bool(self._waiting) or len(self._rows) < self._plan.trials
        return left and self._control.is_paused and not self._is_over()

    def _write_progress(self) -> None:
        """Write the table with the trials under way, now and then."""
        now = self._clock()
        under_way = {n: self._reached.get(n, 0) for n in self._running}
        if now - self._written[0] < _TABLE_SECONDS or self._written[1] == under_way:
            return
        self._written = (now, under_way)
        self._folder.write_table(
            [
                replace(row, is_training=True, reached=under_way[row.number])
                if row.number in under_way
                else row
                for row in self.rows
            ]
        )

    def _is_over(self) -> bool:
        return self._seconds is not None and self._clock() - self._began >= self._seconds

    def _ask(self) -> None:
        row = self._journal.ask()
        self._rows[row.number] = row
        self._waiting.append(row)

    def _ask_round(self) -> None:
        """The rest of the round that the next trial belongs to."""
        while len(self._rows) < self._plan.trials and len(self._rows) % self._plan.workers:
            self._ask()

    def _begin(self, pool: Pool) -> None:
        """Begin as many trials as there are workers for."""
        plan = self._plan
        if plan.synchronous:
            if not (self._running or self._waiting or self._results) and self._may_ask():
                self._ask()
                self._ask_round()
        else:
            while len(self._running) + len(self._waiting) < plan.workers and self._may_ask():
                self._ask()
        # A round that has begun is trained to its end.
        goes_on = plan.synchronous or self._may_begin()
        while goes_on and self._waiting and len(self._running) < plan.workers:
            self._start(self._waiting.popleft(), pool)

    def _start(self, row: TrialRow, pool: Pool) -> None:
        number, plan = row.number, self._plan
        self._reached.pop(number, None)
        attempt = self._attempts[number] = self._attempts.get(number, 0) + 1
        settings: tuple[Mapping[str, Plain], ...] = (self._project.to_json(),)
        problem = ""
        try:
            project = varied(self._project, self._axes, row.values)
            seed = project.training.seed
            settings = tuple(
                project.with_training(seed=seed + index).to_json() for index in range(plan.seeds)
            )
        except StudioError as error:
            problem = " ".join(str(error).split())
        # Workers have a current folder of their own.
        place = (self._folder.work / f"{number}-{attempt}").resolve()
        job = Job(
            number, attempt, self._folder.name, str(self._file.resolve()), str(place), settings,
            None, plan.data_hash, dict(row.values), plan.objective, plan.maximize, self._rungs(),
            plan.backend, plan.threads, plan.keep == 0, self._worth(),
        )  # fmt: skip
        self._running[number] = _Running(row, job)
        if problem:
            self._end(number, failed_runs(job, problem))
        else:
            pool.submit(job)

    def _rungs(self) -> tuple[int, ...]:
        none = self._plan.prune == "none"
        return () if none else rungs_of(self._project.training.epochs)

    def _worth(self) -> float | None:
        """What a trial must reach to keep its weights; None while any may."""
        keep = self._plan.keep
        best = ranked(self.rows, maximize=self._plan.maximize)
        return best[keep - 1].value if 0 < keep <= len(best) else None

    # -- what is heard of them ---------------------------------------------------------------------

    def _hear(self, event: Event, pool: Pool) -> None:
        number = event.number
        if event.kind == "report":
            self._count_epoch(number)
            self.reported.emit(number, event.epochs, event.value)
            if event.asks:
                self._asking[number] = (event.epochs, event.value)
        elif event.outcome is not None:
            self._end(number, event.outcome)
        else:
            self._lose(number, event.why)

    def _count_epoch(self, number: int) -> None:
        # Each seed counts its own epochs from one.
        self._reached[number] = self._reached.get(number, 0) + 1

    def _lose(self, number: int, why: str) -> None:
        """A trial's worker is gone: it is tried again, with other workers if there are any."""
        running = self._running.pop(number)
        self._asking.pop(number, None)
        attempt = self._attempts[number]
        if attempt < ATTEMPTS:
            self.noted.emit(f"trial {number} is tried again: {why}")
            self._waiting.appendleft(running.row)
            return
        self._running[number] = running
        reason = f"its worker was lost {attempt} times: {why}"
        self._end(number, failed_runs(running.job, reason))

    def _settle(self, pool: Pool) -> None:
        """Answer trials that ask whether to go on.

        In a synchronous sweep all of a round ask first; then the one that is least far is answered
        first, and of equals the one of the lowest number.
        """
        if self._plan.synchronous and (
            self._waiting or self._asking.keys() != self._running.keys()
        ):
            return
        least = min((epochs for epochs, _ in self._asking.values()), default=0)
        for number in sorted(self._asking):
            epochs, value = self._asking[number]
            if not self._plan.synchronous or epochs == least:
                del self._asking[number]
                pool.answer(number, self._journal.decide(number, epochs, value))

    def _end(self, number: int, outcome: Outcome) -> None:
        """Move a trial's runs to their place, and write down how it ended."""
        running = self._running.pop(number)
        self._asking.pop(number, None)
        self._folder.take_in(Path(running.job.place), running.job.run_names())
        self._results[number] = outcome
        if not self._plan.synchronous or not (self._running or self._waiting):
            self._write_down()

    def _write_down(self) -> None:
        """Tell the journal what came out, in the order of the trials."""
        for number in sorted(self._results):
            outcome = self._results[number]
            attempts = self._attempts.get(number, 1)
            self._journal.tell(number, outcome, attempts)
            row = replace(self._rows[number], outcome=outcome, attempts=attempts)
            self._rows[number] = self._with_weights(row)
        ended, self._results = sorted(self._results), {}
        if not ended:
            return
        self._keep_best()
        self._written = (-math.inf, None)
        self._write_progress()
        for number in ended:
            self.ended.emit(self._rows[number])

    def _keep_best(self) -> None:
        """Drop the weights of all but the best trials."""
        plan = self._plan
        if not plan.keep:
            return
        kept = {row.number for row in ranked(self.rows, maximize=plan.maximize)[: plan.keep]}
        for row in self.rows:
            if row.has_weights and row.number not in kept:
                for name in run_names(self._folder.name, row.number, plan.seeds):
                    drop_weights(self._folder.run(name))
                self._rows[row.number] = replace(row, has_weights=False)

    def _with_weights(self, row: TrialRow) -> TrialRow:
        if row.outcome is None:
            return row
        names = run_names(self._folder.name, row.number, self._plan.seeds)
        return replace(row, has_weights=any(self._folder.run(name).has_result for name in names))
