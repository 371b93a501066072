"""Keeps unsaved work safe: a journal per document, autosaves, and copies where saving failed."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.train.project.project import SUFFIX as PROJECT_SUFFIX
from studio.session.core.scheduling import Handle, Scheduler, Throttle
from studio.session.core.tasks import TaskList
from studio.session.data.data import DataModel
from studio.session.document.document import Change, Document
from studio.session.document.files.project_file import project_of_state
from studio.session.document.state import DocumentState
from studio.session.safety.journal import SUFFIX, Journal, JournalOwner
from studio.session.safety.recovery_sessions import (
    RecoverableSession,
    find_sessions,
    sweep_journals,
)

FLUSH_SECONDS = 0.8
"""Longest time until what was written is on the disk itself."""

MERGED_SECONDS = 0.1
"""Shortest time between two records of one step that goes on, such as a number being dragged."""

AUTOSAVE_SECONDS = 300.0
JOURNAL_BYTES = 8 << 20
"""Size from which a journal is replaced by a new one that begins with the whole state."""

KEPT = 20
"""Copies kept of each document; the oldest go first."""

UNTITLED_DAYS = 30
_UNTITLED = "untitled-"
_DAY = 86_400.0

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=100)


@dataclass(frozen=True)
class Holder:
    """A window that has a project open.

    Attributes:
        process: the process it belongs to.
        since: when it opened the project, seconds since the epoch.
    """

    process: ProcessIdentity
    since: float


class DocumentLocks:
    """The notices of all windows, one small file each."""

    def __init__(self, folder: Path, owner: ProcessIdentity | None = None) -> None:
        self._folder = folder
        self._owner = owner or own_identity()

    def take(self, path: Path, uuid: str) -> tuple[Holder, ...]:
        """Say that a document has a file open; which other windows have it open too.

        Where the notice cannot be written the log says so: nothing depends on it.
        """
        others = self.others(path)
        content = {
            "path": str(path.resolve()), "pid": self._owner.pid, "started": self._owner.started,
            "since": time.time(),
        }  # fmt: skip
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file(path, uuid), json.dumps(content).encode("utf-8"))
        except (OSError, FormatError) as error:
            _LOG.warning("other windows are not told that %s is open: %s", path, error)
        return others

    def release(self, path: Path, uuid: str) -> None:
        """Say that the document is not open any more."""
        with suppress(OSError):
            self._file(path, uuid).unlink()

    def others(self, path: Path) -> tuple[Holder, ...]:
        """Windows of other processes that have a file open; notices of dead ones are removed."""
        found = []
        for entry, holder in self._notices(path):
            if not holder.process.is_running:
                with suppress(OSError):
                    entry.unlink()
            elif holder.process != self._owner:
                found.append(holder)
        return tuple(sorted(found, key=lambda holder: holder.since))

    def _notices(self, path: Path) -> Iterator[tuple[Path, Holder]]:
        if not self._folder.is_dir():
            return
        for entry in sorted(self._folder.glob(f"{_mark(path)}-*.json")):
            try:
                content = load_json(entry, _LIMITS)
            except FormatError:
                continue
            if not isinstance(content, dict):
                continue
            pid, started, since = (content.get(k) for k in ("pid", "started", "since"))
            if isinstance(pid, int) and isinstance(started, str) and isinstance(since, float):
                yield entry, Holder(ProcessIdentity(pid, started), since)

    def _file(self, path: Path, uuid: str) -> Path:
        return self._folder / f"{_mark(path)}-{self._owner.pid}-{uuid}.json"


def _mark(path: Path) -> str:
    return sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]


class Recovery:
    """Follows the document that is open and writes down what would be lost.

    Args:
        folder: the user's folder for state; everything is kept below it.
        told: hears, once, that the journal cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        scheduler: Scheduler,
        tasks: TaskList,
        told: Callable[[StudioError], object] | None = None,
    ) -> None:
        self.sessions: tuple[RecoverableSession, ...] = ()
        self.changed: Signal[[]] = Signal()
        self.holders: tuple[Holder, ...] = ()
        self._journals = folder / "journals"
        self._copies = folder / "autosaves"
        self._locks = DocumentLocks(folder / "open")
        self._scheduler = scheduler
        self._tasks = tasks
        self._told = told or (lambda error: _LOG.error("%s", error))
        self._document: Document | None = None
        self._locked: tuple[Path, str] | None = None
        self._journal: Journal | None = None
        self._begun: list[Path] = []
        self._written: tuple[int, int] = (-1, -1)
        self._has_failed = False
        self._autosaved: DocumentState | None = None
        self._flusher = _Flusher()
        self._later = Throttle(scheduler, MERGED_SECONDS, self._write)
        self._autosave: Handle | None = None
        self._restored: tuple[Document, RecoverableSession] | None = None

    # -- sessions of windows that crashed -------------------------------------------------------

    def look(self) -> None:
        """Find what crashed windows left, in the background; `changed` is sent where it differs."""
        own, copies = own_identity(), self._copies

        def work(_: object) -> tuple[RecoverableSession, ...]:
            found = tuple(find_sessions(self._journals, own))
            sweep_journals(self._journals, own)
            sweep_copies(copies)
            return found

        self._tasks.start("Look for unsaved work", work, self._found, self._told, quiet=True,
                          if_left="answer")  # fmt: skip

    def _found(self, sessions: tuple[RecoverableSession, ...]) -> None:
        # The welcome page replaces its buttons on `changed`; a click under way would be lost.
        if sessions != self.sessions:
            self.sessions = sessions
            self.changed.emit()

    def restore(self, session: RecoverableSession) -> Document:
        """A document with the work of a session.

        The session's journal stays until the document that has its work is followed, or the
        session is discarded.
        """
        document = session.document()
        self._restored = (document, session)
        return document

    def discard(self, session: RecoverableSession) -> None:
        """Delete what a session left."""
        session.discard()
        self._drop(session)

    def _drop(self, session: RecoverableSession) -> None:
        self.sessions = tuple(each for each in self.sessions if each is not session)
        self.changed.emit()

    # -- following the document -----------------------------------------------------------------

    def follow(self, document: Document | None) -> tuple[Holder, ...]:
        """Write down another document from now on; other windows that have its file open.

        What was followed before is closed: it was saved, or its user gave it up, and then a copy
        is kept among the autosaves.
        """
        self._leave()
        self._document = document
        self._autosaved = None
        if document is None:
            return ()
        document.changed.connect(self._document_changed)
        document.saved.connect(self._document_saved)
        document.history.changed.connect(self._history_changed)
        self.holders = self._lock(document)
        if document.dirty:
            self._write()
        taken, self._restored = self._restored, None
        if taken is not None and taken[0] is document and self._journal is not None:
            taken[1].discard()
            self._drop(taken[1])
        return self.holders

    def close(self) -> None:
        """End following, the document having been saved or given up."""
        self.follow(None)
        self._flusher.close()

    def _leave(self) -> None:
        before = self._document
        if before is not None:
            if before.dirty:
                # Given up on purpose or not: what was not saved can still be found.
                with suppress(StudioError):
                    self.keep_copy(before)
            before.changed.disconnect(self._document_changed)
            before.saved.disconnect(self._document_saved)
            before.history.changed.disconnect(self._history_changed)
        self._later.cancel()
        if self._autosave is not None:
            self._autosave.cancel()
            self._autosave = None
        self._remove_journals()
        self._written = (-1, -1)
        if self._locked is not None:
            self._locks.release(*self._locked)
            self._locked = None
        self.holders = ()

    def _lock(self, document: Document) -> tuple[Holder, ...]:
        if document.path is None:
            return ()
        self._locked = (document.path, document.uuid)
        return self._locks.take(document.path, document.uuid)

    def _document_changed(self, change: Change) -> None:
        self._note()

    def _history_changed(self) -> None:
        # The end of a gesture changes the history and not the state.
        if self._document is not None and not self._document.history.is_gesture_open:
            self._note()

    def _note(self) -> None:
        document = self._document
        if document is None:
            return
        if self._journal is None and not document.dirty:
            # Such as a network laid out for the window it is opened in: nothing would be lost.
            return
        place = (document.history.position, len(document.history.steps))
        if place != self._written and not document.history.is_gesture_open:
            # Every step of its own is written at once: at most the last one can be lost.
            self._write()
        else:
            self._later.ask()
        if self._autosave is None:
            self._autosave = self._scheduler.call_later(AUTOSAVE_SECONDS, self._autosave_now)

    def _write(self) -> None:
        document = self._document
        if document is None:
            return
        history = document.history
        try:
            if self._journal is None or self._journal.nbytes > JOURNAL_BYTES:
                self._begin_journal(document)
            if self._journal is not None:
                self._journal.append(document.state, history.undo_text)
                self._flusher.ask(self._journal)
        except OSError as error:
            self._failed(error)
            return
        self._has_failed = False
        self._written = (history.position, len(history.steps))

    def _begin_journal(self, document: Document) -> None:
        """A new file; the one before goes when the new one holds the state."""
        old = self._journal
        owner = JournalOwner(document.uuid, document.path, own_identity())
        self._begun.append(self._free_place(document.uuid))
        self._journal = made = Journal(self._begun[-1], owner)
        if old is not None:
            made.append(document.state, document.history.undo_text)
            self._flusher.forget(old)
            old.remove()

    def _free_place(self, uuid: str) -> Path:
        """Behind the journals there are of the document, of a window that crashed too."""
        ends = [path.stem[len(uuid) + 1 :] for path in self._journals.glob(f"{uuid}-*{SUFFIX}")]
        last = max((int(end) for end in ends if end.isdecimal()), default=0)
        return self._journals / f"{uuid}-{last + 1:04d}{SUFFIX}"

    def _remove_journals(self) -> None:
        """Delete what was written of the document, older files that could not go on too."""
        if self._journal is not None:
            self._flusher.forget(self._journal)
            self._journal.remove()
            self._journal = None
        for path in self._begun:
            with suppress(OSError):
                path.unlink()
        self._begun.clear()

    def _failed(self, error: OSError) -> None:
        if self._journal is not None:
            self._flusher.forget(self._journal)
            self._journal.close()
            self._journal = None
        if not self._has_failed:
            self._has_failed = True
            reason = error.strerror or str(error)
            self._told(
                StudioError(
                    f"unsaved work cannot be backed up: {reason}",
                    who="recovery",
                    hint=f"save the project; backups are kept in {self._journals}",
                )
            )

    def _document_saved(self) -> None:
        """Everything is saved: delete the journal; the next change starts a new one."""
        document = self._document
        self._later.cancel()
        self._remove_journals()
        if document is not None:
            history = document.history
            self._written = (history.position, len(history.steps))
            if self._locked is not None and self._locked[0] != document.path:
                self._locks.release(*self._locked)
                self._locked = None
            if self._locked is None:
                self.holders = self._lock(document)

    # -- copies ---------------------------------------------------------------------------------

    def keep_copy(self, document: Document) -> Path:
        """Write the document aside at once, because saving it failed; where it is.

        Raises:
            StudioError: this cannot be written either.
        """
        return write_copy(self._copies, document.path, document.uuid, document.state)

    def save(
        self, document: Document, data: DataModel | None = None, path: Path | None = None
    ) -> Path:
        """Save a document, to where it came from unless told; where that is.

        Args:
            data: keeps the data within reach when the folder changes.
            path: another place.

        Raises:
            StudioError: it cannot be saved. The document stays unsaved; a copy is kept in the
                user's own folder, and the hint says where.
        """
        try:
            if data is not None and path is not None:
                data.before_save(path)
            return document.save() if path is None else document.save_as(path)
        except StudioError as error:
            error.hint = "; ".join(
                part for part in (error.hint, self._saved_copy(document)) if part
            )
            raise

    def _saved_copy(self, document: Document) -> str:
        try:
            return f"a copy was saved to {self.keep_copy(document)}"
        except StudioError as error:
            return f"no copy could be saved either: {error.message}"

    def copies(self, document: Document) -> tuple[Path, ...]:
        """Autosaves of a document, the newest first."""
        return copies_of(self._copies, document.path, document.uuid)

    def _autosave_now(self) -> None:
        self._autosave = None
        document = self._document
        if document is None or not document.dirty or document.state is self._autosaved:
            return
        state, path, uuid = document.state, document.path, document.uuid
        self._autosaved = state
        self._tasks.start(
            "Autosave",
            lambda _: write_copy(self._copies, path, uuid, state),
            lambda _: None,
            self._told,
            quiet=True,
            if_left="finish",
        )


class _Flusher:
    """A thread that brings journals to the disk, so that the window never waits for it."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: Journal | None = None
        self._busy: Journal | None = None
        self._thread: threading.Thread | None = None
        self._ends = False

    def ask(self, journal: Journal) -> None:
        """Flush a journal soon."""
        with self._wake:
            self._waiting = journal
            if self._thread is None and not self._ends:
                self._thread = threading.Thread(
                    target=self._run, name="glassbox-journal", daemon=True
                )
                self._thread.start()
            self._wake.notify_all()

    def forget(self, journal: Journal) -> None:
        """Touch a journal no more; returns when it is not being flushed."""
        with self._wake:
            if self._waiting is journal:
                self._waiting = None
            self._wake.wait_for(lambda: self._busy is not journal)

    def close(self) -> None:
        """End the thread."""
        with self._wake:
            self._ends = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting is not None or self._ends)
                if self._ends:
                    return
                # Several records that come shortly after one another share one flush.
                self._wake.wait_for(lambda: self._ends, timeout=FLUSH_SECONDS / 2)
                journal, self._waiting = self._waiting, None
                self._busy = journal
            if journal is not None:
                journal.flush()
            with self._wake:
                self._busy = None
                self._wake.notify_all()


def write_copy(folder: Path, path: Path | None, uuid: str, state: DocumentState) -> Path:
    """Write a state as a project file of its own; where it is.

    Args:
        folder: where copies of all documents are kept.
        path: the document's file, by which its copies stay together from window to window.
        uuid: of the document, for one without a file.

    Raises:
        StudioError: it cannot be written.
    """
    into = _folder_of(folder, path, uuid)
    with suppress(OSError):
        # Where the folder cannot be made, the write below says why.
        into.mkdir(parents=True, exist_ok=True)
    target = into / f"{_stamp()}{PROJECT_SUFFIX}"
    write_atomic(target, project_of_state(state).text().encode("utf-8"))
    for old in sorted(into.glob(f"*{PROJECT_SUFFIX}"), reverse=True)[KEPT:]:
        with suppress(OSError):
            old.unlink()
    return target


def copies_of(folder: Path, path: Path | None, uuid: str) -> tuple[Path, ...]:
    """The copies of a document, the newest first."""
    into = _folder_of(folder, path, uuid)
    return tuple(sorted(into.glob(f"*{PROJECT_SUFFIX}"), reverse=True)) if into.is_dir() else ()


def sweep_copies(folder: Path) -> None:
    """Delete copies of documents that never had a file, after a month."""
    limit = time.time() - UNTITLED_DAYS * _DAY
    for into in folder.glob(f"{_UNTITLED}*") if folder.is_dir() else ():
        with suppress(OSError):
            for copy in into.glob(f"*{PROJECT_SUFFIX}"):
                if copy.stat().st_mtime < limit:
                    copy.unlink()
            if not any(into.iterdir()):
                into.rmdir()


def _folder_of(folder: Path, path: Path | None, uuid: str) -> Path:
    if path is None:
        return folder / f"{_UNTITLED}{uuid}"
    mark = sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"{path.stem[:40]}-{mark}"


def _stamp() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%d_%H-%M-%S', time.gmtime(now))}-{int(now * 1e6) % 10**6:06d}"
