"""The root of the studio's models: makes them, joins them, opens and closes documents.

Everything a view shows hangs here; no view is known here, and nothing of Qt.
"""

from __future__ import annotations

from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.task import Task
from studio.graph_editor.model.document import Change, Document
from studio.ui.models import entities
from studio.ui.models.actions import ActionRegistry, ActionSpec
from studio.ui.models.compilation import Compilation
from studio.ui.models.logbook import Logbook
from studio.ui.models.notices import Notice, NoticeAction, Notices, Severity
from studio.ui.models.places import Places
from studio.ui.models.preferences import Preferences
from studio.ui.models.problems import ProblemList
from studio.ui.models.profiling import ProfilingModel
from studio.ui.models.scheduling import Scheduler
from studio.ui.models.selection import SelectionBus
from studio.ui.models.tasks import TaskList
from studio.ui.models.theme import Theme

DECLARED: tuple[tuple[ActionSpec, ...], ...] = ()
"""The action tables of all parts, in menu order."""


class Studio:
    """Everything one window works on.

    Args:
        scheduler: the window's thread.
        places: the user's folders.
    """

    def __init__(self, scheduler: Scheduler, places: Places) -> None:
        self.document_replaced: Signal[[Document]] = Signal()
        self.scheduler = scheduler
        self.places = places
        self.notices = Notices()
        self.log = Logbook(scheduler)
        self.preferences = Preferences(places.config / "preferences.json")
        self.theme = Theme()
        self.tasks = TaskList(scheduler, self.fail)
        self.actions = ActionRegistry(self.fail)
        for table in DECLARED:
            self.actions.declare(table)
        self.bus = SelectionBus()
        self.document = Document.new()
        self.compilation = Compilation(scheduler, self.tasks)
        self.problems = ProblemList(self.bus)
        self.profiling = ProfilingModel(
            scheduler, self.tasks, self.preferences, places.cache, self._task, self.fail
        )
        self.compilation.changed.connect(self._compiled)
        self._follow(self.document)

    # -- telling the user -----------------------------------------------------------------------

    def notify(
        self,
        text: str,
        severity: Severity = "info",
        action: NoticeAction | None = None,
        details: str = "",
    ) -> Notice:
        """Tell the user something, without standing in the way."""
        return self.notices.add(text, severity, action, details)

    def fail(self, error: StudioError) -> None:
        """Tell the user what went wrong."""
        if error.code != "cancelled":
            self.notices.add_error(error)

    # -- documents ------------------------------------------------------------------------------

    def open(self, path: Path | str) -> Document:
        """Open a project in place of the one open now; StudioError when it cannot be read."""
        document = Document.open(path)
        self.replace(document)
        return document

    def new(self) -> Document:
        """Begin an empty project in place of the one open now."""
        document = Document.new()
        self.replace(document)
        return document

    def replace(self, document: Document) -> None:
        """Work on another document from now on; who asks about unsaved work has done so."""
        self.bus.hover(None, "")
        self.bus.clear()
        self.document.changed.disconnect(self._document_changed)
        self.document = document
        self._follow(document)
        self.document_replaced.emit(document)
        for warning in document.warnings:
            self.notify(warning, "warning")

    def close(self) -> None:
        """End everything that runs; the models are void after this."""
        self.profiling.close()
        self.compilation.follow(None)
        self.tasks.close()

    # -- joints ---------------------------------------------------------------------------------

    def _follow(self, document: Document) -> None:
        document.changed.connect(self._document_changed)
        self.problems.follow(document)
        self.compilation.follow(document)

    def _document_changed(self, change: Change) -> None:
        self.bus.forget(entities.node(gone) for gone in change.removed)

    def _compiled(self) -> None:
        self.bus.use(self.compilation.provenance)

    def _task(self) -> Task | None:
        result = self.compilation.result
        return None if result is None else result.task
