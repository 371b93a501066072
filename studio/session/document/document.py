"""The open document: its state, its history, what checks say of it, and its file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.project.project import Project
from studio.engine.train.settings import TrainingSettings
from studio.session.document.arrange.wrapping import Room
from studio.session.document.change import Change
from studio.session.document.checks.validation import validate
from studio.session.document.edits.linked_copies import sync_copies
from studio.session.document.edits.places import settled
from studio.session.document.edits.sections import set_name
from studio.session.document.errors import ReadOnlyError
from studio.session.document.files.project_file import (
    laid_out_for,
    project_of_state,
    state_of_project,
)
from studio.session.document.files.rescue import rescue
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.history import History
from studio.session.document.levels import TOP
from studio.session.document.repairs.search import with_fixes
from studio.session.document.report import DataFacts, Report
from studio.session.document.state import UNTITLED, DocumentState

__all__ = ["Change", "Document"]


class Document:
    """One project being edited.

    Attributes:
        open_block: the block the canvas shows the inside of, where new layers go; not saved.

    Args:
        state: where it begins.
        path: the file it was read from, if any.
        read_only: why it may not be changed; empty when it may.
        warnings: what else opening the file found, one sentence each.
        history: the undo to use, where it is to keep more or fewer steps than usual.
        has_places: whether someone said where things stand; see `lay_out_for`.
    """

    def __init__(
        self,
        state: DocumentState,
        path: Path | None = None,
        *,
        read_only: str = "",
        warnings: tuple[str, ...] = (),
        history: History | None = None,
        has_places: bool = True,
    ) -> None:
        self.changed: Signal[[Change]] = Signal()
        self.saved: Signal[[]] = Signal()
        self.report_changed: Signal[[]] = Signal()
        self.history = history or History(state)
        self.path = path
        self.uuid = uuid4().hex
        self.open_block = TOP
        self.read_only = read_only
        self.warnings = warnings
        self._has_places = has_places
        self._facts: DataFacts | None = None
        self._shown = state
        self._report: Report | None = None

    @classmethod
    def new(cls, name: str = UNTITLED) -> Document:
        """An empty document."""
        training = FrozenConfig(TrainingSettings().plain())
        return cls(DocumentState(name=name, training=training))

    @classmethod
    def open(cls, path: Path | str) -> Document:
        """The document in a file.

        A file of a newer version, or with layers that are unknown here, is opened for looking only,
        as far as it is understood.

        Raises:
            StudioError: the file cannot be read, is damaged or holds a wrong value.
        """
        target = Path(path)
        try:
            return cls.of_project(Project.load(target))
        except StudioError as error:
            found = rescue(target)
            if found is None:
                error.origin = error.origin or str(target)
                raise
            return cls(
                found.state,
                target,
                read_only=found.reason,
                warnings=found.warnings,
            )

    @classmethod
    def of_project(cls, project: Project) -> Document:
        """The document of a project."""
        opened = state_of_project(project)
        return cls(
            opened.state, project.path, warnings=opened.warnings, has_places=opened.has_places
        )

    @property
    def state(self) -> DocumentState:
        """The document as it is now."""
        return self.history.state

    @property
    def dirty(self) -> bool:
        """Whether it differs from the file."""
        return not self.history.is_clean

    @property
    def title(self) -> str:
        """The project's name; its file's where it was given none."""
        if self.path is None or self.state.name != UNTITLED:
            return self.state.name
        return self.path.stem

    @property
    def folder(self) -> Path:
        """The folder that relative data paths start from."""
        return Path.cwd() if self.path is None else self.path.resolve().parent

    @property
    def report(self) -> Report:
        """What checks say of the state now."""
        if self._report is None:
            found = validate(self.state, self._facts)
            self._report = with_fixes(found, self.state, self._facts)
        return self._report

    @property
    def data_facts(self) -> DataFacts | None:
        """What is known of the data set, for checks."""
        return self._facts

    def set_data_facts(self, facts: DataFacts | None) -> None:
        """Tell the checks about the data set; None while nothing is known."""
        if facts != self._facts:
            self._facts = facts
            self._report = None
            self.report_changed.emit()

    def apply(self, text: str, state: DocumentState, merge_key: str = "") -> Change:
        """Make ``state`` the state now, as one step of the history.

        Steps that follow each other with the same ``merge_key``, and all steps of an open gesture,
        become one. Linked copies follow each other. Layers that grow get room, and frames hold what
        they held. Returns what differs; nothing happens when nothing does.

        Raises:
            ReadOnlyError: the document may not be changed.
        """
        if self.read_only:
            raise ReadOnlyError(self.read_only, who=self.state.name)
        state = sync_copies(self.state, state)
        if not self.history.is_gesture_open:
            state = sync_copies(self.state, settled(self.state, state))
        self.history.push(text, state, merge_key)
        return self._announce(text)

    @property
    def is_laid_out_freely(self) -> bool:
        """Whether the places of things follow from what they are seen in: no one chose them yet."""
        history = self.history
        return not (self._has_places or history.steps or history.is_gesture_open)

    def lay_out_for(self, room: Room) -> bool:
        """Lay out a network whose file says no places, so that it is seen large; whether it moved.

        This belongs to opening it: it is no step, and nothing has to be saved. Places that a file
        has, and those of a network that was edited or saved, stay.
        """
        if not self.is_laid_out_freely:
            return False
        moved = self.history.restart(laid_out_for(self.state, room))
        return moved and not self._announce("Lay out").is_empty

    def begin_gesture(self, text: str) -> None:
        """From now on steps become one, until `commit_gesture` or `cancel_gesture`."""
        self.history.begin_gesture(text)

    def commit_gesture(self, text: str = "") -> bool:
        """End the gesture; whether it became a step."""
        return self.history.commit(text)

    def cancel_gesture(self) -> bool:
        """Go back to where the gesture began; whether one was open."""
        text = f"Cancel {self.history.gesture_text}"
        found = self.history.cancel()
        self._announce(text)
        return found

    def undo(self) -> bool:
        """Cancel the open gesture or take back one step; whether there was anything."""
        verb = "Cancel" if self.history.is_gesture_open else "Undo"
        text = f"{verb} {self.history.undo_text}"
        found = self.history.undo()
        self._announce(text)
        return found

    def redo(self) -> bool:
        """Do the step again that was taken back last; whether there was one."""
        if self.history.is_gesture_open:
            return self.cancel_gesture()
        text = f"Redo {self.history.redo_text}"
        found = self.history.redo()
        self._announce(text)
        return found

    def jump(self, position: int) -> bool:
        """Go to where ``position`` steps of the history are done; whether there is such a place."""
        found = self.history.jump(position)
        self._announce("History")
        return found

    def project(self) -> Project:
        """What runs, as a project of its own; places that no one chose are not in it."""
        return self._project_of(self.state)

    def _project_of(self, state: DocumentState) -> Project:
        project = project_of_state(state)
        if self.is_laid_out_freely and project.canvas is None:
            project.layout = {}
        project.path = self.path
        return project

    def save(self, path: Path | str | None = None) -> Path:
        """Write the file in one atomic step, to where it came from unless told.

        Raises:
            FormatError: no file name is known, or the file cannot be written.
            ReadOnlyError: the document may not be changed.
        """
        return self._save(path, self.state.name)

    def save_as(self, path: Path | str) -> Path:
        """Write it to another file and name it after that, unless it has a name of its own.

        Raises what `save` raises.
        """
        name = self.state.name
        follows = name == UNTITLED or (self.path is not None and name == self.path.stem)
        if follows:
            # A file may be called what no project can be.
            with suppress(StudioError):
                name = set_name(self.state, Path(path).stem).name
        return self._save(path, name)

    def _save(self, path: Path | str | None, name: str) -> Path:
        if self.read_only:
            raise ReadOnlyError(self.read_only, who=self.state.name)
        before = self.state.name
        project = self._project_of(self.state.replaced(name=name))
        self._has_places = self._has_places or bool(project.layout)
        self.path = project.save(path)
        self.history.rename(before, name)
        self.history.mark_clean()
        self._announce(f"Name the project {name}")
        self.saved.emit()
        return self.path

    def _announce(self, text: str) -> Change:
        change = Change.between(self._shown, self.state, text)
        if change.is_empty:
            return change
        self._shown = self.state
        if change.only_places and self._report is not None:
            # Places change no finding; repairs are looked for in the state as it is now.
            self._report = with_fixes(self._report, self.state, self._facts)
            self.changed.emit(change)
            return change
        self._report = None
        self.changed.emit(change)
        if not change.only_places:
            self.report_changed.emit()
        return change
