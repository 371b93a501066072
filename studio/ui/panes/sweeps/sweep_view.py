"""A sweep as it goes: how far it is, the best so far, its trials, and what stops it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import MAX_POINTS, shown
from studio.session.studio import Studio
from studio.session.sweeps.records import SweepRecord
from studio.ui.panes.sweeps.importance_view import ImportanceView
from studio.ui.panes.sweeps.parallel_view import ParallelView
from studio.ui.panes.sweeps.trial_menu import TrialActions
from studio.ui.panes.sweeps.trial_table import TrialTable
from studio.widgets import numbers
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_STATES = {
    "starting": "Starting", "running": "Running", "paused": "Paused", "stopping": "Stopping",
}  # fmt: skip


class SweepView(QWidget):
    """The page of one sweep.

    Args:
        studio: the models.
        parent: the pane.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep_view")
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._sweeps = studio.sweeps
        self._fail = studio.fail
        self._record: SweepRecord | None = None
        self.actions_of_trials = TrialActions(studio, self)
        self.status = ElidedLabel(self)
        self.status.setObjectName("sweep_status")
        self.pause = self._button("Pause", "pause_sweep", self._toggle_pause)
        self.stop = self._button("Stop", "stop_sweep", studio.sweeps.stop)
        self.resume = self._button("Resume", "resume_sweep", self._resume)
        self.more = self._button("More trials…", "more_trials", self._ask_more)
        self.place = QComboBox(self)
        self.place.setObjectName("sweep_place")
        self.place.setAccessibleName("Train on")
        self.place.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.place.setMinimumContentsLength(12)
        self.bar = QProgressBar(self)
        self.bar.setObjectName("sweep_progress")
        self.bar.setAccessibleName("Trials that have ended")
        self.bar.setTextVisible(False)
        self.bar.setMinimumWidth(40)
        self.best = ElidedLabel(self)
        self.best.setObjectName("best_trial")
        self.open_best = tool_button("runs", "open_best", "Open the run of the best trial", self)
        self.open_best.clicked.connect(self._open_best)
        self.problem = QLabel(self)
        self.problem.setObjectName("sweep_damage")
        self.problem.setProperty("role", "error")
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setWordWrap(True)
        self.table = TrialTable(self)
        self.table.opened.connect(self._open)
        self.table.wants_menu.connect(self._menu)
        self.tabs = QTabWidget(self)
        self.tabs.setObjectName("sweep_tabs")
        self.tabs.setDocumentMode(True)
        self.parallel = ParallelView(self)
        self.importance = ImportanceView(self)
        for view, title in (
            (self.table, "Trials"), (self.parallel, "Parallel coordinates"),
            (_scrolled(self.importance), "Importance"),
        ):  # fmt: skip
            self.tabs.addTab(view, title)
        self.tabs.setMinimumWidth(1)
        self.table.picked.connect(self._picked)
        self.parallel.chosen.connect(self._choose)
        self._lay_out()
        self.setFocusProxy(self.table)

    def _button(self, text: str, name: str, work: Callable[[], object]) -> QPushButton:
        made = QPushButton(text, self)
        made.setObjectName(name)
        made.clicked.connect(lambda: self._do(work))
        made.hide()
        return made

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(4)
        head.addWidget(self.bar, 1)
        for widget in (self.place, self.pause, self.stop, self.resume, self.more):
            head.addWidget(widget)
        best = QHBoxLayout()
        best.setSpacing(4)
        best.addWidget(self.best, 1)
        best.addWidget(self.open_best)
        top = QVBoxLayout()
        top.setContentsMargins(8, 6, 8, 4)
        top.setSpacing(4)
        top.addWidget(self.status)
        top.addLayout(head)
        top.addLayout(best)
        top.addWidget(self.problem)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self.tabs, 1)

    # -- showing --------------------------------------------------------------------------------

    @property
    def record(self) -> SweepRecord | None:
        """The sweep shown."""
        return self._record

    def show_sweep(self, record: SweepRecord) -> None:
        """Show a sweep as it stands."""
        is_new, self._record = record is not self._record, record
        own = self._sweeps.is_own(record)
        is_paused = self._sweeps.state == "paused"
        can_ask = own and self._sweeps.state in ("starting", "running", "paused")
        is_free = record.holder is None and not own and record.plan is not None
        grid = record.plan is not None and record.plan.sampler == "grid"
        self.status.set_text(self._status(record, own=own))
        self.pause.setText("Resume" if is_paused else "Pause")
        tip = "Begin trials again." if is_paused else "Begin no trial; those under way are trained."
        self.pause.setToolTip(tip)
        self.stop.setToolTip("End now; trials under way are trained again when it is resumed.")
        self.pause.setVisible(can_ask)
        self.stop.setVisible(can_ask)
        self.resume.setVisible(is_free and record.left > 0)
        self.more.setVisible(is_free and not record.left and not grid)
        self._offer_places(record)
        self.place.setVisible(is_free and bool(record.cluster))
        busy = self._sweeps.why_not_start()
        for button in (self.resume, self.more):
            button.setEnabled(not busy)
            button.setToolTip(f"{busy[:1].upper()}{busy[1:]}." if busy else "")
        if not is_new:
            return
        self.bar.setMaximum(max(1, record.ended + record.left))
        self.bar.setValue(record.ended)
        self.problem.setText(record.problem)
        self.problem.setVisible(bool(record.problem))
        self._show_best(record)
        self.table.show_sweep(record)
        plan = record.plan
        if plan is not None:
            self.parallel.show_trials(record.rows, record.axes, plan.maximize, plan.objective)
            self.importance.show_trials(record.rows, record.axes)

    def _offer_places(self, record: SweepRecord) -> None:
        """One that was trained on a cluster goes on there, or on this computer."""
        if record.cluster and self.place.itemData(0) != record.cluster:
            self.place.clear()
            self.place.addItem("The cluster", record.cluster)
            self.place.setItemData(0, record.cluster, Qt.ItemDataRole.ToolTipRole)
            self.place.setToolTip(f"What is left is trained on {record.cluster}, or here")
            self.place.addItem("This computer", "")

    def _where(self, record: SweepRecord) -> str:
        """The cluster that what is left is trained on; empty for this computer."""
        return str(self.place.currentData()) if record.cluster else ""

    def _status(self, record: SweepRecord, *, own: bool) -> str:
        state = self._sweeps.state
        trials = numbers.counted(record.ended + record.left, "trial")
        count = f"{numbers.count(record.ended)} of {trials}"
        if own:
            word = _STATES.get(state, "Running")
            if state == "paused" and record.training:
                word = "Pausing"
            word += f" on {record.cluster}" if record.cluster else ""
        elif record.holder is not None:
            return f"{count}, trained by {record.holder.text}"
        else:
            word = "Stopped" if record.left else "Finished"
        under_way = f", {record.training} training" if record.training else ""
        return f"{word}: {count}{under_way}"

    def _show_best(self, record: SweepRecord) -> None:
        best, plan = record.best, record.plan
        self.open_best.setEnabled(best is not None)
        if best is None or plan is None:
            self.best.set_text("No trial has reached a value yet")
            return
        names = [axis.name for axis in record.axes if axis.name in best.values]
        values = ", ".join(f"{name} {shown(best.values[name])}" for name in names)
        value = numbers.number(best.value)
        self.best.set_text(f"Best: {plan.objective} {value}, trial {best.number}: {values}")

    def _picked(self) -> None:
        """The trial chosen in the table is drawn above the others."""
        chosen = self.table.chosen()
        self.parallel.select(chosen[0].number if len(chosen) == 1 else None)

    def _choose(self, number: int) -> None:
        """The trial chosen among the lines is chosen in the table, too."""
        row = self.table.entries.row_of(number)
        if row >= 0:
            self.table.selectRow(row)

    # -- doing ----------------------------------------------------------------------------------

    def _toggle_pause(self) -> None:
        if self._sweeps.state == "paused":
            self._sweeps.go_on()
        else:
            self._sweeps.pause()

    def _resume(self) -> None:
        if self._record is not None:
            self._sweeps.resume(self._record, cluster=self._where(self._record))

    def _ask_more(self) -> None:
        record = self._record
        plan = None if record is None else record.plan
        if record is None or plan is None:
            return
        dialog = QInputDialog(self)
        dialog.setObjectName("more_trials_dialog")
        dialog.setWindowTitle("More trials")
        dialog.setLabelText(f"{numbers.counted(plan.trials, 'trial')} done. Trials in all:")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(plan.trials + 1, MAX_POINTS)
        dialog.setIntValue(min(MAX_POINTS, 2 * plan.trials))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.intValueSelected.connect(
            lambda trials: self._do(
                lambda: self._sweeps.resume(record, trials, self._where(record))
            )
        )
        dialog.open()

    def _open(self, row: TrialRow) -> None:
        if self._record is not None:
            self.actions_of_trials.open_runs(self._record, [row])

    def _open_best(self) -> None:
        if self._record is not None and self._record.best is not None:
            self._open(self._record.best)

    def _menu(self, place: QPoint) -> None:
        rows = self.table.chosen()
        if self._record is not None and rows:
            self.actions_of_trials.menu(self._record, rows).popup(place)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except StudioError as error:
            self._fail(error)


def _scrolled(view: QWidget) -> QScrollArea:
    """A view that is as high as it needs, however low the pane is."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    body = QWidget()
    body.setBackgroundRole(QPalette.ColorRole.Base)
    body.setAutoFillBackground(True)
    column = QVBoxLayout(body)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(view)
    column.addStretch(1)
    area.setWidget(body)
    return area
