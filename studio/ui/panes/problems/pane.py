"""Everything that stands in the way of a training: walk through it, put it right."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget

from studio.engine.core.errors import StudioError
from studio.session.compile.problems import ProblemItem, Repair
from studio.session.data.problems import Problems
from studio.session.studio import Studio
from studio.ui.panes.problems.row import Lead, ProblemRow
from studio.widgets import binding, contexts, menus, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame


class ProblemsPane(PaneFrame):
    """The list of problems; repairs of the one in hand stand under it."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("problems_pane")
        self._problems = studio.problems
        self._data = studio.data
        self._listed_with: Problems | None = None
        self._actions = studio.actions
        self._fail = studio.fail
        self._list = QListWidget(self)
        self._list.setObjectName("problem_list")
        self._list.setAccessibleName("Problems")
        self._list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        # A row draws its own margins; what the style would keep around it cuts its text.
        self._list.setStyleSheet("QListWidget::item { padding: 0; margin: 0; border: 0; }")
        self._list.setSpacing(0)
        self._list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._list.customContextMenuRequested.connect(self._menu)
        self._list.itemDoubleClicked.connect(self._go_to)
        self._list.currentItemChanged.connect(self._unfold)
        self._list.installEventFilter(self)
        self._list.viewport().installEventFilter(self)
        contexts.register("table", self._list)
        self.set_body(self._list)
        self._nothing = EmptyState(
            "ok", "No problems", "Errors and warnings of the network and its data are listed here."
        )
        binding.refresh(self, self._show, self._problems.changed, theme.changed)
        binding.refresh(self, self._show_current, self._problems.current_changed)
        binding.connect(self, self._data.changed, self._data_changed)
        self._show()

    @property
    def list(self) -> QListWidget:
        return self._list

    # -- showing --------------------------------------------------------------------------------

    def _data_changed(self) -> None:
        if self._data.problems is not self._listed_with and self._leads:
            self._show()

    @property
    def _leads(self) -> bool:
        return any(problem.source == "data" for problem in self._problems.items)

    def _show(self) -> None:
        kept = self._chosen()
        self._listed_with = self._data.problems
        self._list.clear()
        for problem in self._problems.items:
            self._add(problem)
        errors, warnings = self._problems.errors, self._problems.warnings
        counts = (_counted(errors, "error"), _counted(warnings, "warning"))
        self.set_note(", ".join(text for text in counts if text))
        self.show_empty(None if self._problems.items else self._nothing)
        self._show_current()
        if self._list.currentRow() < 0 and kept is not None:
            self._choose(kept.id)
        self._take_first()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._take_first()

    def _take_first(self) -> None:
        """In a list that is seen, the first problem is in hand until the user takes another."""
        if self.isVisible() and self._list.count() and self._list.currentRow() < 0:
            self._list.setCurrentRow(0)

    def _add(self, problem: ProblemItem) -> None:
        item = QListWidgetItem()
        item.setData(Qt.ItemDataRole.UserRole, problem)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, problem.plain())
        self._list.addItem(item)
        row = ProblemRow(problem, self._repair, self._list, self._lead_of(problem))
        self._list.setItemWidget(item, row)
        self._give_room(item, row)

    def _lead_of(self, problem: ProblemItem) -> Lead | None:
        """Where more is listed: plugins in the preferences, all problems of the data in its pane.

        The loader of the data stops at the first problem.
        """
        if problem.id.startswith(("graph:layer.plugin:", "graph:training.plugin.")):
            tip = "Turn plugins on or off there."
            return Lead("Open the preferences", tip, self._show_preferences)
        found = self._data.problems
        if problem.source != "data" or len(found.rows) < 2:
            return None
        which = "all" if found.is_complete else "the first"
        text = f"Show {which} {len(found.rows)} problems in the Data pane"
        return Lead(text, "The Data pane lists them by file and row.", self._show_data)

    def _show_preferences(self) -> None:
        self._actions.trigger("file.preferences")

    def _show_data(self) -> None:
        if not self._actions.is_checked("pane.data"):
            self._actions.trigger("pane.data")

    def _show_current(self) -> None:
        current = self._problems.current
        if current is not None:
            self._choose(current.id)

    def _choose(self, problem_id: str) -> None:
        for place in range(self._list.count()):
            if self.problem_at(place).id == problem_id:
                self._list.setCurrentRow(place)
                self._list.scrollToItem(self._list.item(place))
                return

    def problem_at(self, place: int) -> ProblemItem:
        """The problem in a row of the list."""
        found = self._list.item(place).data(Qt.ItemDataRole.UserRole)
        assert isinstance(found, ProblemItem)
        return found

    def row_at(self, place: int) -> ProblemRow:
        """The widget of a row of the list."""
        found = self._list.itemWidget(self._list.item(place))
        assert isinstance(found, ProblemRow)
        return found

    def _chosen(self) -> ProblemItem | None:
        place = self._list.currentRow()
        return self.problem_at(place) if place >= 0 else None

    def _unfold(self, now: QListWidgetItem | None, before: QListWidgetItem | None) -> None:
        """Offer repairs for the problem in hand: to look for them takes time."""
        for item, unfolded in ((before, False), (now, True)):
            row = None if item is None else self._list.itemWidget(item)
            if item is not None and isinstance(row, ProblemRow):
                row.unfold(unfolded)
                self._give_room(item, row)

    def _give_room(self, item: QListWidgetItem, row: ProblemRow) -> None:
        wide = self._list.viewport().width() - 2 * self._list.spacing()
        item.setSizeHint(QSize(1, row.height_for(wide)))

    # -- doing ----------------------------------------------------------------------------------

    def _go_to(self, item: QListWidgetItem) -> None:
        problem = item.data(Qt.ItemDataRole.UserRole)
        self._problems.go_to(problem)
        lead = self._lead_of(problem)
        if lead is not None:
            lead.follow()

    def _repair(self, repair: Repair) -> None:
        try:
            repair.apply()
        except StudioError as error:
            self._fail(error)

    def _menu(self, point: QPoint) -> None:
        menu = menus.menu_of(self._actions, ("problems.next", "problems.previous"), self._list)
        copy = menu.addAction("Copy")
        copy.setObjectName("copy")
        copy.triggered.connect(self.copy)
        menu.popup(self._list.viewport().mapToGlobal(point))

    def copy(self) -> None:
        """Copy the problem in hand, or all of them."""
        chosen = self._chosen()
        found = self._problems.items if chosen is None else (chosen,)
        QGuiApplication.clipboard().setText("\n".join(each.plain() for each in found))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.matches(QKeySequence.StandardKey.Copy):
                self.copy()
                return True
            # Not Qt's own signal for this, which comes with a double click a second time.
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._list.currentItem():
                self._go_to(self._list.currentItem())
                return True
        elif event.type() == QEvent.Type.Resize and watched is self._list.viewport():
            # The list hears of its size before its viewport has the new one.
            for place in range(self._list.count()):
                item = self._list.item(place)
                row = self._list.itemWidget(item)
                # A scroll bar that appears while the list is filled comes before the last widget.
                if isinstance(row, ProblemRow):
                    self._give_room(item, row)
        return super().eventFilter(watched, event)


def _counted(number: int, what: str) -> str:
    if not number:
        return ""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
