"""The sweeps of the document: planned, started, followed while their process trains, continued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.scale.sweep.planning import Wishes, require_packages
from studio.session.compile.compilation_result import OpenData
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import Handle, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.document.document import Document
from studio.session.sweeps.checking import SweepCheck, SweepChecking
from studio.session.sweeps.draft import SweepDraft
from studio.session.sweeps.process import Ending, SweepProcess, words_of, words_to_resume
from studio.session.sweeps.records import SweepRecord, read_sweeps

State: TypeAlias = Literal["idle", "starting", "running", "paused", "stopping"]

UNDER_WAY = "a sweep is running"
NOT_SAVED = "the project is not saved"
_LOOK_SECONDS, _IDLE_SECONDS = 1.0, 3.0
_STOP_SECONDS = 15.0


class SweepModel:
    """Follows the folder of the document's sweeps; used on the window's thread.

    The process of a sweep writes; this only reads. One that this window started takes its word and
    ends with it, others are only looked at.

    Attributes:
        changed: emitted when anything that can be seen here is another.
        checked: emitted with what came of a check.
        runs_changed: emitted when there are runs that were not there before.
        draft: what the next sweep varies.
        is_planning: whether the next sweep is being planned, and not one looked at.

    Args:
        preferences: ``backend`` says where to train.
        dataset: opens data sets, or has them open.
        failed: hears what goes wrong.
        said: hears sentences for the user, and whether they are warnings.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        scheduler: Scheduler,
        tasks: TaskList,
        preferences: Preferences,
        dataset: OpenData,
        failed: Callable[[StudioError], object],
        said: Callable[[str, bool], object],
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.checked: Signal[[SweepCheck]] = Signal()
        self.runs_changed: Signal[[]] = Signal()
        self.draft = SweepDraft()
        self.is_planning = False
        self.check = SweepCheck(Wishes())
        self.state: State = "idle"
        self._document = document
        self._scheduler = scheduler
        self._tasks = tasks
        self._preferences = preferences
        self._failed = failed
        self._said = said
        self._checking = SweepChecking(
            scheduler, tasks, lambda: self._document().project(), dataset, self._take_check
        )
        self._followed: Document | None = None
        self._records: tuple[SweepRecord, ...] = ()
        self._chosen = ""
        self._project: Path | None = None
        self._runs_stamp: object = None
        self._process: SweepProcess | None = None
        self._own = ""
        self._own_project: Path | None = None
        self._is_heard = False
        self._just_ended = ""
        self._killing: Handle | None = None
        self._watched = False
        self._reading: TaskHandle | None = None
        self._next_look: Handle | None = None
        self._varies = False
        self.draft.changed.connect(self._draft_changed)

    # -- looking --------------------------------------------------------------------------------

    @property
    def sweeps(self) -> tuple[SweepRecord, ...]:
        """All sweeps of the project, the newest first."""
        return self._records

    @property
    def chosen(self) -> SweepRecord | None:
        """The sweep looked at: the one chosen, or the newest."""
        found = (record for record in self._records if record.name == self._chosen)
        return next(found, self._records[0] if self._records else None)

    @property
    def is_busy(self) -> bool:
        """Whether this window's process trains, or is about to."""
        return self.state != "idle"

    def is_own(self, record: SweepRecord) -> bool:
        """Whether this window's process trains a sweep."""
        return self.is_busy and self._own == record.name and self._own_project == self._project

    @property
    def own(self) -> SweepRecord | None:
        """The sweep that this window's process trains, once it is listed."""
        return next((record for record in self._records if self.is_own(record)), None)

    def choose(self, name: str) -> None:
        """Look at a sweep."""
        self._chosen, self.is_planning = name, False
        self.changed.emit()

    def plan_next(self) -> None:
        """Plan the next sweep."""
        if not self.is_planning:
            self.is_planning = True
            self.changed.emit()

    def watch(self, on: bool) -> None:
        """Look at the folder again and again, while somebody looks at it here."""
        if on != self._watched:
            self._watched = on
            if on:
                self.look()

    # -- starting -------------------------------------------------------------------------------

    @property
    def needs_saving(self) -> bool:
        """Whether the project's file is missing, or another than the project."""
        document = self._document()
        return document.path is None or document.dirty

    def why_not_start(self) -> str:
        """Why no sweep can begin or go on now, whatever it is; empty when one can."""
        return UNDER_WAY if self.is_busy else ""

    def ask_check(self, wishes: Wishes, cluster: str = "") -> None:
        """Check what is asked for soon; `checked` tells what came of it."""
        self._checking.ask(wishes, cluster)

    @property
    def is_checked(self) -> bool:
        """Whether what was asked for last has been checked."""
        return not self._checking.is_pending

    def start(self, wishes: Wishes, hours: float | None = None, cluster: str = "") -> None:
        """Begin a sweep of the project as its file has it.

        Args:
            wishes: what is asked for.
            hours: after which no trial is begun.
            cluster: address of the cluster that trains; empty for this computer.

        Raises:
            StudioError: one is running, the project is not saved, or a package is missing.
        """
        path = self._require_startable()
        if self.needs_saving:
            raise DataError(
                f"{NOT_SAVED}: a sweep trains what its file has", who=path.name,
                hint="save the project first",
            )  # fmt: skip
        if wishes.backend is None:
            wishes = replace(wishes, backend=self._preferences.text("backend"))
        self._begin(words_of(path.absolute(), wishes, hours, cluster), path)

    def resume(
        self, record: SweepRecord, trials: int | None = None, cluster: str | None = None
    ) -> None:
        """Train what is left of a sweep, with more trials in all where some are asked for.

        Args:
            record: the sweep.
            trials: in all.
            cluster: where; empty for this computer, None for where it was trained last.

        Raises:
            StudioError: one is running, another process trains it, or a package is missing.
        """
        path = self._require_startable()
        if record.holder is not None:
            raise DataError(f"the sweep is trained by {record.holder.text}", who=record.title)
        place = record.cluster if cluster is None else cluster
        words = words_to_resume(path.absolute(), record.name, trials, place)
        self._begin(words, path, record.name)

    # -- while it runs --------------------------------------------------------------------------

    def pause(self) -> None:
        """Begin no trial; those under way are trained to their end."""
        if self._process is not None and self.state in ("starting", "running"):
            self._process.pause()
            self._enter("paused")

    def go_on(self) -> None:
        """Begin trials again."""
        if self._process is not None and self.state == "paused":
            self._process.resume()
            self._enter("running" if self._is_heard else "starting")

    def stop(self) -> None:
        """End now; trials under way are lost, and are trained again when it is resumed."""
        if self._process is None or self.state == "stopping":
            return
        self._process.stop()
        self._killing = self._scheduler.call_later(_STOP_SECONDS, self._process.kill)
        self._enter("stopping")

    # -- following ------------------------------------------------------------------------------

    def follow(self, document: Document) -> None:
        """Another document is open: list its sweeps; one under way of the last is stopped."""
        self.stop()
        if self._followed is not None:
            self._followed.saved.disconnect(self._document_saved)
        self._followed = document
        document.saved.connect(self._document_saved)
        self.draft.follow(document)
        self._checking.cancel()
        self._reading = None
        self._records, self._chosen, self.is_planning = (), "", False
        self._runs_stamp, self._varies, self._just_ended = None, False, ""
        self.check = SweepCheck(Wishes())
        self.changed.emit()
        self.look()

    def _document_saved(self) -> None:
        """The document may have another file now."""
        path = self._document().path
        if self._own_project not in (None, path) and self.is_busy:
            self._said("The sweep was stopped: the project has another file now", True)
            self.stop()
        # Whether it is saved can be seen.
        self.changed.emit()
        self.look()

    def look(self) -> None:
        """Read the folder again in the background; what has not changed is kept."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        path, known = self._document().path, self._records
        if path is None or self._reading is not None:
            return
        if path != self._project:
            self._project, known = path, ()

        def done(found: tuple[tuple[SweepRecord, ...], int]) -> None:
            self._reading = None
            if path == self._document().path:
                self._take(*found)
            self._look_later()

        def failed(error: StudioError) -> None:
            self._reading = None
            self._failed(error)
            self._look_later()

        self._reading = self._tasks.start(
            "Read the sweeps", lambda _: _read(path, known), done, failed, quiet=True
        )

    def close(self) -> None:
        """Stop following, and end this window's process; what it has trained is kept."""
        self._checking.cancel()
        for handle in (self._next_look, self._killing):
            if handle is not None:
                handle.cancel()
        self._next_look, self._watched = None, False
        process, self._process = self._process, None
        if process is not None:
            process.close()

    # -- inside ---------------------------------------------------------------------------------

    def _require_startable(self) -> Path:
        """The project's file; StudioError where no sweep can begin."""
        document = self._document()
        if self.is_busy:
            raise DataError(UNDER_WAY, who="sweep", hint="stop it, or wait until it ends")
        require_packages()
        if document.path is None:
            raise DataError(
                f"{NOT_SAVED}: sweeps lie beside its file", who=document.title,
                hint="save the project first",
            )  # fmt: skip
        return document.path

    def _begin(self, words: list[str], project: Path, name: str = "") -> None:
        post = self._scheduler.post

        def heard(line: str) -> None:
            post(lambda: self._heard(process, line))

        def ended(ending: Ending) -> None:
            post(lambda: self._ended(process, ending))

        process = self._process = SweepProcess(words, heard, ended)
        self._own, self._own_project, self._is_heard = name, project, False
        self.is_planning = False
        self._enter("starting")
        self.look()

    def _heard(self, process: SweepProcess, line: str) -> None:
        """The first line says where the sweep is."""
        if process is not self._process or self._is_heard or self.state == "stopping":
            return
        self._is_heard, self._own = True, Path(line).name
        self.choose(self._own)
        if self.state == "starting":
            self._enter("running")
        self.look()

    def _ended(self, process: SweepProcess, ending: Ending) -> None:
        if process is not self._process:
            return
        was_asked = self.state == "stopping"
        if self._killing is not None:
            self._killing.cancel()
        if ending.error is not None and not was_asked:
            self._failed(ending.error)
        elif not was_asked and self._own_project == self._project:
            self._just_ended = self._own
        self._process, self._own, self._own_project, self._killing = None, "", None, None
        self._enter("idle")
        self.look()

    def _enter(self, state: State) -> None:
        self.state = state
        self.changed.emit()

    def _take(self, records: tuple[SweepRecord, ...], runs: int) -> None:
        # What trials have left is another list of runs, and so are weights that were dropped.
        stamp = (runs, tuple((each.name, each.ended, _kept(each)) for each in records))
        is_new = stamp != self._runs_stamp and self._runs_stamp is not None
        self._runs_stamp = stamp
        if records != self._records:
            self._records = records
            self.changed.emit()
        if is_new:
            self.runs_changed.emit()
        self._tell_end()

    def _tell_end(self) -> None:
        """Say what came out of the sweep that this window's process has trained."""
        found = (each for each in self._records if each.name == self._just_ended)
        record = next((each for each in found if each.holder is None), None)
        if record is None:
            return
        self._just_ended, best, plan = "", record.best, record.plan
        if record.left:
            count = "1 trial is" if record.left == 1 else f"{record.left} trials are"
            self._said(f"The time of the sweep is over; {count} left to train", False)
        elif best is not None and plan is not None:
            value = f"{plan.objective} {best.value:.4g}"
            self._said(f"The sweep has finished: trial {best.number} is best, {value}", False)

    def _look_later(self) -> None:
        is_alive = self.is_busy or any(each.holder is not None for each in self._records)
        if (is_alive or self._watched) and self._next_look is None:
            seconds = _LOOK_SECONDS if is_alive else _IDLE_SECONDS
            self._next_look = self._scheduler.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._next_look = None
        self.look()

    def _take_check(self, found: SweepCheck) -> None:
        self.check = found
        self.checked.emit(found)

    def _draft_changed(self) -> None:
        """What is varied first is planned for."""
        had, self._varies = self._varies, bool(self.draft.axes)
        if self._varies and not had:
            self.plan_next()


def _read(project: Path, known: tuple[SweepRecord, ...]) -> tuple[tuple[SweepRecord, ...], int]:
    """The sweeps of a project, and when its folder of runs was last another."""
    try:
        stamp = project.with_suffix(".runs").stat().st_mtime_ns
    except OSError:
        stamp = 0
    return read_sweeps(project, known), stamp


def _kept(record: SweepRecord) -> int:
    return sum(row.has_weights for row in record.rows)
