"""The sweep pane: a chooser of sweeps, the plan of the next one, and the page of the one chosen."""

from __future__ import annotations

from PySide6.QtGui import QHideEvent, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.session.studio import Studio
from studio.session.sweeps.records import SweepRecord
from studio.ui.panes.sweeps.plan_form import PlanForm
from studio.ui.panes.sweeps.sweep_view import SweepView
from studio.widgets import binding, numbers
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame, separator
from studio.widgets.labels.tool_button import tool_button

_NEW = "New sweep"


class SweepsPane(PaneFrame):
    """Plans a sweep, or shows one."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("sweeps_pane")
        self._sweeps = studio.sweeps
        self._listed: tuple[tuple[str, str], ...] = ()
        self._was_planning = False
        self.form = PlanForm(studio, self)
        self.view = SweepView(studio, self)
        self.chooser = QComboBox(self)
        self.chooser.setObjectName("sweep_chooser")
        self.chooser.setAccessibleName("Sweep")
        self.chooser.setToolTip("The sweeps of the project, the newest first")
        self.chooser.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.chooser.setMinimumContentsLength(8)
        self.chooser.activated.connect(self._chosen)
        self.new = tool_button("plus", "new_sweep", "Plan a new sweep", self)
        self.new.clicked.connect(self._plan)
        self._nothing = EmptyState(
            "sweep", "No sweeps yet",
            "A sweep trains the project many times with other settings and compares what comes "
            "out. Each trial is a run of the project.",
            ("New sweep…", self._plan), self,
        )  # fmt: skip
        self._lay_out()
        binding.refresh(self, self.refresh, self._sweeps.changed, rate=10, when_visible=True)
        self.refresh()

    def _lay_out(self) -> None:
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        body.setAutoFillBackground(True)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 4, 4)
        head.setSpacing(4)
        head.addWidget(self.chooser, 1)
        head.addWidget(self.new)
        self._pages = QStackedWidget(body)
        self._pages.addWidget(self.form)
        self._pages.addWidget(self.view)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(separator(body))
        column.addWidget(self._pages, 1)
        self.set_body(body)

    # -- showing --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the plan, or the sweep that is chosen."""
        sweeps, record = self._sweeps, self._sweeps.chosen
        is_starting = sweeps.is_busy and sweeps.own is None
        plans = sweeps.is_planning or is_starting
        self.show_empty(None if plans or record is not None else self._nothing)
        self._list(record, plans=plans)
        self._pages.setCurrentWidget(self.form if plans or record is None else self.view)
        if record is not None and not plans:
            self.view.show_sweep(record)
        shown = None if plans else record
        done = "" if shown is None else f"{numbers.count(shown.ended)} of "
        self.set_note("" if shown is None else f"{done}{numbers.count(shown.ended + shown.left)}")
        if not self.is_empty:
            self.setFocusProxy(self.form.axes.field if plans else self.view.table)
        if plans and not self._was_planning and self.isVisible():
            self.form.begin()
        self._was_planning = plans

    def _list(self, record: SweepRecord | None, *, plans: bool) -> None:
        entries = [(each.name, _titled(each)) for each in self._sweeps.sweeps]
        if plans:
            entries.insert(0, ("", _NEW))
        if tuple(entries) != self._listed:
            self._listed = tuple(entries)
            self.chooser.clear()
            for name, title in entries:
                self.chooser.addItem(title, name)
        wanted = "" if plans or record is None else record.name
        self.chooser.setCurrentIndex(self.chooser.findData(wanted))

    def _chosen(self, place: int) -> None:
        name = str(self.chooser.itemData(place))
        if name:
            self._sweeps.choose(name)
        else:
            self._sweeps.plan_next()

    def _plan(self) -> None:
        self._sweeps.plan_next()
        self.refresh()
        self.form.begin()

    # -- being seen -----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._sweeps.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._sweeps.watch(False)


def _titled(record: SweepRecord) -> str:
    """A sweep in the list: when it began, and what it varies."""
    names = ", ".join(axis.name for axis in record.axes)
    return f"{record.title}: {names}" if names else record.title
