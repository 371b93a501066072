"""Checks what is asked of a sweep before it begins, in the background."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep.connection import (
    checked_address,
    require_dask,
    require_sendable,
)
from studio.engine.scale.sweep.folder import Plan
from studio.engine.scale.sweep.planning import (
    Wishes,
    default_workers,
    make_plan,
    objectives_of,
)
from studio.engine.train.project.project import Project
from studio.session.compile.compilation_result import OpenData
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import CancelledError, TaskHandle, TaskList

FIELDS: Mapping[str, str] = {
    "--vary": "Varied", "--objective": "Objective", "--sampler": "Sampler", "--prune": "Pruning",
    "--trials": "Trials", "--seeds": "Seeds", "--workers": "Workers", "--threads": "Threads",
    "--cluster": "Cluster", "--keep": "Keep weights", "--seed": "Seed of choice",
    "--synchronous": "Synchronous",
}  # fmt: skip
"""What the window calls the options of the command."""

_REST_SECONDS = 0.25


@dataclass(frozen=True)
class SweepCheck:
    """What came of a check.

    Attributes:
        wishes: what was asked for.
        plan: what that means; None where it cannot be done.
        remark: what to know of it, or empty.
        problem: why it cannot be done, as a sentence; or empty.
        field: the option it is about, such as ``--trials``; empty for none.
        objectives: what trials can be compared by, where known.
    """

    wishes: Wishes
    plan: Plan | None = None
    remark: str = ""
    problem: str = ""
    field: str = ""
    objectives: tuple[str, ...] = ()


class SweepChecking:
    """Checks the newest wishes once they rest.

    Args:
        project: the project as it is now; StudioError where there is none to train.
        dataset: opens the data, or has it open.
        told: hears what came of it.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        tasks: TaskList,
        project: Callable[[], Project],
        dataset: OpenData,
        told: Callable[[SweepCheck], object],
    ) -> None:
        self._tasks = tasks
        self._project = project
        self._dataset = dataset
        self._told = told
        self._wishes, self._cluster = Wishes(), ""
        self._running: TaskHandle | None = None
        self._soon = Debounce(scheduler, _REST_SECONDS, self._check)

    @property
    def is_pending(self) -> bool:
        """Whether what was asked for last has not been checked yet."""
        return self._soon.pending or self._running is not None

    def ask(self, wishes: Wishes, cluster: str = "") -> None:
        """Check these wishes soon, in place of any asked for before.

        Args:
            wishes: what is asked for.
            cluster: address of the cluster that is to train; empty for this computer.
        """
        self.cancel()
        self._wishes, self._cluster = wishes, cluster
        self._soon.ask()

    def cancel(self) -> None:
        """Check nothing."""
        self._soon.cancel()
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def _check(self) -> None:
        wishes, cluster = self._wishes, self._cluster
        try:
            project = self._project()
        except StudioError as error:
            self._told(_refused(wishes, error))
            return

        def done(found: SweepCheck) -> None:
            self._running = None
            self._told(found)

        def failed(error: StudioError) -> None:
            self._running = None
            if not isinstance(error, CancelledError):
                self._told(_refused(wishes, error))

        self._running = self._tasks.start(
            "Check the sweep", lambda _: _checked(project, wishes, cluster, self._dataset), done,
            failed, quiet=True,
        )  # fmt: skip


def _checked(project: Project, wishes: Wishes, cluster: str, dataset: OpenData) -> SweepCheck:
    known: tuple[str, ...] = ()
    try:
        known = tuple(objectives_of(project, dataset))
        plan, remark = make_plan(project, wishes, default_workers(wishes.threads), dataset)
        if cluster:
            checked_address(cluster)
            require_dask()
            require_sendable(project)
    except CancelledError:
        raise
    except StudioError as error:
        return _refused(wishes, error, known)
    return SweepCheck(wishes, plan, f"{remark[:1].upper()}{remark[1:]}", objectives=known)


def _refused(wishes: Wishes, error: StudioError, known: tuple[str, ...] = ()) -> SweepCheck:
    field = error.who.partition(" ")[0] if error.who.startswith("--") else ""
    who = "" if field or not error.who else f"{error.who}: "
    text = in_window_words(f"{who}{error.message}")
    hint = in_window_words(error.hint)
    text = f"{text[:1].upper()}{text[1:]}" + (f". {hint[:1].upper()}{hint[1:]}" if hint else "")
    return SweepCheck(wishes, problem=text, field=field, objectives=known)


def in_window_words(text: str) -> str:
    """A sentence of the command with its options called as the window calls them."""
    return re.sub(r"--[a-z-]+", lambda found: FIELDS.get(found[0], found[0]), text)
