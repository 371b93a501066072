"""What crashed windows left behind: unsaved work found in journals, and what it differs in."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.process_identity import ProcessIdentity
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.state import CanvasNode, DocumentState
from studio.session.safety.journal import SUFFIX, JournalContent, read_journal

_LOG = logging.getLogger(__name__)
_MINUS = "\N{MINUS SIGN}"
_SECTION_WORDS = {
    "name": "name", "graph_name": "name of the network", "outputs": "outputs", "data": "data",
    "training": "training settings", "notes": "notes", "annotations": "names and comments",
    "samples": "what is known of samples",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecoverableSession:
    """Unsaved work of a window that did not end as it should.

    Attributes:
        journals: the files it is in, the newest last.
        uuid: of the document.
        title: what to call it.
        path: the project's file; None where it was never saved.
        when: when it was changed last, seconds since the epoch.
        state: the work.
        original: the file as it is now; None where there is none or it cannot be read.
        last_step: name of the last step.
    """

    journals: tuple[Path, ...]
    uuid: str
    title: str
    path: Path | None
    when: float
    state: DocumentState
    original: DocumentState | None
    last_step: str

    @property
    def changes(self) -> tuple[str, ...]:
        """How the work differs from the file, or from an empty document."""
        return described(Change.between(self._base, self.state))

    @property
    def size_text(self) -> str:
        """The size of the difference in a few words."""
        return ", ".join(self.changes) or "no difference"

    @property
    def details(self) -> tuple[str, ...]:
        """The differences by the names of layers, one line each, for a comparison."""
        change = Change.between(self._base, self.state)
        before, after = change.before.nodes, change.after.nodes
        lines = [f"added {after[i].name}" for i in change.added]
        lines += [f"removed {before[i].name}" for i in change.removed]
        moved = set(change.moved)
        lines += [f"changed {after[i].name}" for i in change.modified if i not in moved]
        lines += [f"moved {after[i].name}" for i in change.moved]
        return (*lines, *(_SECTION_WORDS[n] for n in _SECTION_WORDS if n in change.sections))

    @property
    def _base(self) -> DocumentState:
        return self.original if self.original is not None else Document.new().state

    def document(self) -> Document:
        """A document with the work as one step over the file, which is left as it is."""
        made = Document(self._base, self.path)
        if self.path is None:
            # What has no file is known by this: its runs, and what was saved of it by itself.
            made.uuid = self.uuid
        made.apply("Recover unsaved work", self.state)
        return made

    def discard(self) -> None:
        """Delete the journals; the project's file is left as it is."""
        for journal in self.journals:
            with suppress(OSError):
                journal.unlink()


def described(change: Change) -> tuple[str, ...]:
    """A difference of states in words: ``+2 layers``, ``1 layer moved``, ``training settings``."""
    before, after = change.before.nodes, change.after.nodes
    found = []
    for sign, ids, nodes in (("+", change.added, after), (_MINUS, change.removed, before)):
        found += [f"{sign}{counted}" for counted in _counted(ids, nodes)]
    moved = set(change.moved)
    edited = [i for i in change.modified if i not in moved]
    for ids, done in ((tuple(edited), "changed"), (change.moved, "moved")):
        found += [f"{counted} {done}" for counted in _counted(ids, after)]
    found += [_SECTION_WORDS[name] for name in _SECTION_WORDS if name in change.sections]
    return tuple(found)


def find_sessions(folder: Path, own: ProcessIdentity) -> list[RecoverableSession]:
    """Unsaved work of windows that run no more, the newest first; damaged journals are logged.

    Journals without anything unsaved, and those of windows that still run, are left out.
    """
    if not folder.is_dir():
        return []
    by_document: dict[str, list[tuple[Path, JournalContent]]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            content = read_journal(path)
        except StudioError as error:
            _LOG.warning("a journal is left out: %s", error)
            continue
        process = content.owner.process
        if process == own or process.is_running:
            continue
        by_document.setdefault(content.owner.uuid, []).append((path, content))
    found = [_session(entries) for entries in by_document.values()]
    kept = [session for session in found if session is not None and session.changes]
    return sorted(kept, key=lambda session: -session.when)


def sweep_journals(folder: Path, own: ProcessIdentity) -> int:
    """Delete journals of dead windows that hold no unsaved work; how many there were."""
    kept = {path for session in find_sessions(folder, own) for path in session.journals}
    removed = 0
    for path in folder.glob(f"*{SUFFIX}") if folder.is_dir() else ():
        try:
            process = read_journal(path).owner.process
        except StudioError:
            continue
        if path not in kept and process != own and not process.is_running:
            with suppress(OSError):
                path.unlink()
                removed += 1
    return removed


def _session(entries: list[tuple[Path, JournalContent]]) -> RecoverableSession | None:
    """The work of one document, from the newest of its journals that holds any."""
    entries.sort(key=lambda entry: (entry[1].when, entry[0].name))
    usable = [content for _, content in entries if content.state is not None]
    if not usable:
        return None
    newest = usable[-1]
    if newest.state is None:
        return None
    path = newest.owner.path
    original = None
    if path is not None:
        with suppress(StudioError):
            original = Document.open(path).state
    return RecoverableSession(
        tuple(path for path, _ in entries),
        newest.owner.uuid,
        newest.state.name,
        path,
        newest.when,
        newest.state,
        original,
        newest.text,
    )


def _counted(ids: Collection[str], nodes: Mapping[str, CanvasNode]) -> list[str]:
    layers = sum(nodes[i].is_layer for i in ids)
    counts = ((layers, "layer"), (len(ids) - layers, "other change"))
    return [_count(number, noun) for number, noun in counts if number]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
