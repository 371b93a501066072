"""The runs of the document: listed, noted about, drawn, put away, deleted and brought back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import holder_of
from studio.session.core.run_notes import RunNotes, write_notes
from studio.session.core.scheduling import Debounce, Handle, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.core.theme import SERIES
from studio.session.plots.curves import RunCurves, load_curves
from studio.session.runs.bin import KEPT_SECONDS, Binned, empty, put_away, take_back
from studio.session.runs.records import RunRecord, read_record, stamp_of
from studio.session.training.state import State, TrainingOutcome
from studio.session.training.training import TrainingModel

_LIVE_SECONDS = 0.5
_REFRESH_SECONDS = 0.1
_SHOWN_AT_ONCE = 24


DASHES = 4
"""Patterns of lines: whole, dashed, dotted, dash and dot."""


@dataclass(frozen=True)
class Style:
    """How a run is drawn.

    Attributes:
        series: number of its colour among ``series.0`` to ``series.7``.
        dash: number of its pattern, 0 for a whole line.
    """

    series: int
    dash: int


class Overlay:
    """The runs drawn besides the one that trains, in the order they were chosen."""

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self._chosen: dict[str, None] = {}
        self._slots: dict[str, int] = {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(self._chosen)

    def __contains__(self, name: object) -> bool:
        return name in self._chosen

    def style(self, name: str) -> Style:
        """How a run is drawn; the same for as long as the window is open."""
        if name not in self._slots:
            taken = set(self._slots.values())
            self._slots[name] = next(n for n in range(len(taken) + 1) if n not in taken)
        slot = self._slots[name]
        return Style(slot % SERIES, (slot + slot // SERIES) % DASHES)

    def choose(self, name: str, on: bool = True) -> None:
        """Draw a run, or not any more."""
        if on == (name in self._chosen):
            return
        if on:
            self._chosen[name] = None
            self.style(name)
        else:
            del self._chosen[name]
        self.changed.emit()

    def only(self, *names: str) -> None:
        """Draw these runs and no others."""
        wanted = dict.fromkeys(names)
        if list(wanted) != list(self._chosen):
            self._chosen = wanted
            for name in names:
                self.style(name)
            self.changed.emit()

    def forget(self, name: str) -> None:
        """The run is gone."""
        self._slots.pop(name, None)
        self.choose(name, on=False)


class RunList:
    """Follows the folder of the document's runs; used on the window's thread.

    Args:
        training: trains, and knows where runs are kept.
        tasks: reads and moves files in the background.
    """

    def __init__(
        self,
        training: TrainingModel,
        scheduler: Scheduler,
        tasks: TaskList,
        failed: Callable[[StudioError], object],
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.curves_loaded: Signal[[str]] = Signal()
        self.deleted: Signal[[Binned, str]] = Signal()
        self.overlay = Overlay()
        self.training = training
        self.is_loading = False
        self._scheduler = scheduler
        self._tasks = tasks
        self._failed = failed
        self._records: dict[str, RunRecord] = {}
        self._folder: Path | None = None
        self._move_from: Path | None = None
        self._curves: dict[str, RunCurves] = {}
        self._wanted_curves: set[str] = set()
        self._bin: dict[str, Binned] = {}
        self._reading: TaskHandle | None = None
        self._emptying: list[Handle] = []
        self._live: Handle | None = None
        self._soon = Debounce(scheduler, _REFRESH_SECONDS, self.refresh)
        training.state_changed.connect(self._state_changed)
        training.ended.connect(self._ended)
        training.changed.connect(self._training_changed)

    # -- looking --------------------------------------------------------------------------------

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """All runs, the newest first."""
        return tuple(self._records[name] for name in sorted(self._records, reverse=True))

    def imported(self) -> tuple[RunFolder, ...]:
        """The runs whose weights were imported, the newest first."""
        return tuple(each.folder for each in self.runs if each.state == "imported")

    def run(self, name: str) -> RunRecord | None:
        """The run of a name."""
        return self._records.get(name)

    @property
    def active(self) -> str:
        """Name of the run that trains, or trained last; empty without one."""
        run = self.training.run
        return "" if run is None else run.name

    def word(self, record: RunRecord) -> str:
        """How a run stands or how it ended, as users read it; of the one that trains as it does."""
        trains = record.name == self.active and self.training.is_busy
        return self.training.word if trains else record.word

    @property
    def drawn(self) -> tuple[str, ...]:
        """Names of the runs drawn: the one that trains or trained last, then those chosen.

        Where nothing was trained since the document was opened and nothing is chosen, it is what
        the document gave last.
        """
        names = [self.active] if self.active else []
        names += [name for name in self.overlay.chosen if name not in names]
        return tuple(names) or tuple(run.name for run in self.runs if not run.notes.archived)[:1]

    def may_choose(self, name: str) -> bool:
        """Whether drawing a run is the user's choice; what would be drawn anyway is not."""
        return name != self.active and (bool(self.overlay.chosen) or name not in self.drawn)

    def draw(self, name: str, on: bool = True) -> None:
        """Draw a run beside those that are drawn, or not any more."""
        if not self.may_choose(name):
            return
        if on and not self.active:
            # What was drawn because nothing was chosen stays.
            for other in self.drawn:
                self.overlay.choose(other)
        self.overlay.choose(name, on)

    def curves(self, name: str) -> RunCurves | None:
        """The curves of a run; None until they are read, which this begins (`curves_loaded`)."""
        if name == self.active and self.training.curves is not None:
            return self.training.curves
        found = self._curves.get(name)
        record = self._records.get(name)
        if found is None and record is not None and name not in self._wanted_curves:
            self._wanted_curves.add(name)
            self._tasks.start(
                f"Read the run {record.title}",
                lambda _: load_curves(record.folder, record.outputs),
                lambda made: self._take_curves(name, made), quiet=True,
                failed=self._failed,
            )  # fmt: skip
        return found

    # -- following ------------------------------------------------------------------------------

    def follow(self) -> None:
        """Another document is open: list its runs."""
        self._reading, self.is_loading, self._move_from = None, False, None
        self._records, self._curves, self._wanted_curves = {}, {}, set()
        self._folder = None
        self.overlay.only()
        self.changed.emit()
        self.refresh()

    def refresh(self) -> None:
        """Read the folder again in the background; what has not changed is kept."""
        if self._reading is not None:
            self._soon.ask()
            return
        folder = self._folder = self.training.runs_path
        active = self.active if self.training.is_busy else ""
        known = dict(self._records)
        self.is_loading = True

        def work(handle: TaskHandle) -> list[RunRecord]:
            found: list[RunRecord] = []
            for record in _read_all(folder, active, known):
                handle.check()
                found.append(record)
                if len(found) % _SHOWN_AT_ONCE == 0:
                    handle.tell(partial(self._take, folder, tuple(found)))
            return found

        self._reading = self._tasks.start(
            "Read the list of runs", work, lambda found: self._read(folder, found, known),
            self._not_read, quiet=True,
        )  # fmt: skip

    def document_saved(self) -> None:
        """The document has a file now: its runs move beside it."""
        before, now = self._move_from or self._folder, self.training.runs_path
        self._move_from = before if self.training.is_busy else None
        if before is None or before == now or not before.is_dir() or self.training.is_busy:
            self._soon.ask()
            return

        def done(moved: tuple[RunFolder, ...]) -> None:
            for run in moved:
                if run.name == self.active:
                    self.training.run_moved(run)
            self.refresh()

        self._tasks.start(
            "Move the runs next to the project", lambda _: _move_runs(before, now), done,
            self._failed, quiet=True, if_left="finish",
        )  # fmt: skip

    def close(self) -> None:
        """Stop following the project's runs."""
        self._soon.cancel()
        for handle in (*self._emptying, *((self._live,) if self._live else ())):
            handle.cancel()

    # -- changing -------------------------------------------------------------------------------

    def set_star(self, name: str, on: bool) -> None:
        """Mark a run, or not any more."""
        self._note(name, star=on)

    def rename(self, name: str, title: str) -> None:
        """Call a run something; nothing calls it by its time again."""
        self._note(name, title=title)

    def set_text(self, name: str, text: str) -> None:
        """Write notes about a run."""
        self._note(name, text=text)

    def set_tags(self, name: str, tags: tuple[str, ...]) -> None:
        """Give a run words to find it by."""
        self._note(name, tags=tags)

    def set_archived(self, name: str, on: bool) -> None:
        """Put a run away, or back into the list."""
        self._note(name, archived=on)

    def set_test(self, name: str, test: dict[str, float]) -> None:
        """Keep what a run reached on the test part."""
        self._note(name, test=test)

    def why_not_delete(self, name: str) -> str:
        """Why a run cannot be deleted, in a few words; empty when it can."""
        if name not in self._records:
            return "the run does not exist"
        if name == self.active and self.training.is_busy:
            return "it is being trained"
        holder = holder_of(self._records[name].folder.path)
        return "" if holder is None else f"it is being trained by {holder.text}"

    def delete(self, name: str) -> Binned | None:
        """Move a run into the bin; `restore` brings it back for ten minutes.

        Raises:
            DataError: it cannot be moved.
        """
        record = self._records.get(name)
        if record is None or self.why_not_delete(name):
            return None
        binned = put_away(record.folder)
        self._bin[name] = binned
        runs = record.folder.path.parent
        self._emptying.append(
            self._scheduler.call_later(KEPT_SECONDS + 1, lambda: self._empty(runs))
        )
        del self._records[name]
        self._curves.pop(name, None)
        self._wanted_curves.discard(name)
        self.overlay.choose(name, on=False)
        self.changed.emit()
        self.deleted.emit(binned, record.title)
        return binned

    @property
    def binned(self) -> tuple[Binned, ...]:
        """Deleted runs that can still be brought back, the newest last."""
        return tuple(each for each in self._bin.values() if each.path.is_dir())

    def restore(self, binned: Binned) -> None:
        """Bring a deleted run back; DataError when it is gone."""
        run = take_back(binned)
        self._bin.pop(run.name, None)
        self._records[run.name] = read_record(run)
        self.changed.emit()

    # -- inside ---------------------------------------------------------------------------------

    def _note(self, name: str, **changes: object) -> None:
        record = self._records.get(name)
        if record is None:
            raise DataError("the run no longer exists", who=name)
        notes: RunNotes = replace(record.notes, **changes).checked()  # type: ignore[arg-type]
        write_notes(record.folder, notes)
        test = notes.test if "test" in changes else record.test
        self._records[name] = replace(record, notes=notes, test=test)
        self.changed.emit()

    def _take(self, folder: Path, found: Sequence[RunRecord]) -> None:
        if folder == self._folder:
            self._records = {**self._records, **{record.name: record for record in found}}
            self._follow_active()
            self.changed.emit()

    def _read(
        self, folder: Path, found: Sequence[RunRecord], known: Mapping[str, RunRecord]
    ) -> None:
        self._reading, self.is_loading = None, False
        if folder != self._folder:
            self.refresh()
            return
        noted, self._records = self._records, {}
        self._take(folder, [_with_newer_notes(record, noted, known) for record in found])

    def _not_read(self, error: StudioError) -> None:
        self._reading, self.is_loading = None, False
        self._failed(error)

    def _take_curves(self, name: str, made: RunCurves) -> None:
        self._wanted_curves.discard(name)
        if name in self._records:
            self._curves[name] = made
            self.curves_loaded.emit(name)

    def _empty(self, runs: Path) -> None:
        self._tasks.start(
            "Delete old runs", lambda _: empty(runs), self._emptied, quiet=True,
            if_left="finish",
        )  # fmt: skip

    def _emptied(self, removed: int) -> None:
        if removed:
            self.changed.emit()

    def _state_changed(self, state: State) -> None:
        if state == "preparing":
            # What it gave before is kept by the run from now on.
            self._curves.pop(self.active, None)
        self._soon.ask()

    def _ended(self, _ending: TrainingOutcome) -> None:
        self._curves.pop(self.active, None)
        if self._move_from is not None:
            self.document_saved()
        self.refresh()

    def _training_changed(self) -> None:
        if self._live is None and self.training.is_busy:
            self._live = self._scheduler.call_later(_LIVE_SECONDS, self._show_living)

    def _show_living(self) -> None:
        self._live = None
        if self._follow_active():
            self.changed.emit()

    def _follow_active(self) -> bool:
        """Let the run under way stand in the list as it does now; whether there is one."""
        record, curves = self._records.get(self.active), self.training.curves
        status = self.training.status
        # Before the first report nothing is known of it that its files do not say.
        if record is None or curves is None or not self.training.is_busy or not status.batches:
            return False
        self._records[record.name] = record.living(status, curves)
        return True


def _with_newer_notes(
    record: RunRecord, noted: Mapping[str, RunRecord], known: Mapping[str, RunRecord]
) -> RunRecord:
    """A record that was read, with the notes that were written while it was."""
    now, before = noted.get(record.name), known.get(record.name)
    if now is None or before is None or now.notes == before.notes:
        return record
    return replace(record, notes=now.notes, test=now.test)


def _read_all(folder: Path, active: str, known: Mapping[str, RunRecord]) -> Iterator[RunRecord]:
    """The runs of a folder, the newest first; those that have not changed as they are known."""
    empty(folder)
    paths = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
    for path in paths:
        if not (path / "settings.json").is_file():
            continue
        run, record = RunFolder(path), known.get(path.name)
        is_active = path.name == active
        if (
            record is None
            or is_active
            or record.state == "running"
            or record.folder != run
            or record.stamp != stamp_of(run)
        ):
            record = read_record(run, active=is_active)
        yield record


def _move_runs(before: Path, now: Path) -> tuple[RunFolder, ...]:
    """Move every run to another folder; names that are taken there stay where they are."""
    moved = []
    try:
        now.mkdir(parents=True, exist_ok=True)
        for path in sorted(before.iterdir()):
            target = now / path.name
            is_run = (path / "settings.json").is_file() and not target.exists()
            # Another process may train it there.
            if is_run and holder_of(path) is None:
                shutil.move(path, target)
                moved.append(RunFolder(target))
    except OSError as error:
        raise DataError(
            f"the runs could not be moved: {error.strerror}", who=str(before)
        ) from error
    return tuple(moved)
