"""The table of trials: one row each, as they are trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent
from PySide6.QtWidgets import QWidget

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import shown
from studio.session.core.record_order import sortable
from studio.session.sweeps.records import SweepRecord
from studio.widgets import binding, numbers, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

STATE_WORDS = {
    "waiting": "Waiting", "training": "Training", "finished": "Finished", "pruned": "Pruned",
    "failed": "Failed",
}  # fmt: skip
_STATE_ROLES = {"failed": "error", "training": "ok", "waiting": "text3", "pruned": "text2"}
_PAD = 18
_WIDEST = 180
_RIGHT = ("trial", "value", "spread", "epochs", "seconds")


@dataclass(frozen=True)
class ListedTrial:
    """A trial as the table shows it.

    Attributes:
        row: the trial.
        is_best: whether it is the best so far.
        is_alive: whether its sweep's process runs; trials that it left are not under way.
    """

    row: TrialRow
    is_best: bool
    is_alive: bool

    @property
    def state(self) -> str:
        """How it stands, as users read it."""
        if self.row.state == "training" and not self.is_alive:
            return STATE_WORDS["waiting"]
        return STATE_WORDS.get(self.row.state, self.row.state)


class TrialTable(RecordTable):
    """The trials of a sweep.

    Attributes:
        opened: Enter was pressed, or a trial was clicked twice.
        picked: trials were chosen.
    """

    opened = Signal(object)
    picked = Signal()
    copies_rows = True

    def __init__(self, parent: QWidget | None = None) -> None:
        entries: RecordModel[ListedTrial] = RecordModel(
            _columns(None), key=lambda each: each.row.number, says_order=True, heading="small"
        )
        super().__init__(entries, "trial_table", "Trials", parent, font="small")
        self._look: object = None
        self._sized = 0
        self.setSortingEnabled(True)
        self.offer_columns()
        self.offer_menu()
        header = self.horizontalHeader()
        header.setSortIndicatorShown(False)
        header.setMinimumSectionSize(36)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.selectionModel().selectionChanged.connect(lambda *_: self.picked.emit())
        self.fades = SideFades(self)
        binding.connect(self, theme.changed, self.viewport().update)

    def show_sweep(self, record: SweepRecord) -> None:
        """Show the trials of a sweep as they are now; those chosen stay chosen."""
        best, alive = record.best, record.holder is not None
        number = None if best is None else best.number
        rows = tuple(ListedTrial(row, row.number == number, alive) for row in record.rows)
        plan = record.plan
        look = (
            record.path, plan and plan.objective, plan and plan.seeds,
            tuple(axis.name for axis in record.axes),
        )  # fmt: skip
        if look == self._look:
            self.entries.take(rows)
            if self._sized != record.ended:
                self._sized = record.ended
                self.fit()
            return
        self._look, self._sized = look, record.ended
        self.entries.take(rows, _columns(record))
        self.fit()
        self.entries.sort(0, Qt.SortOrder.AscendingOrder)

    def chosen(self) -> tuple[TrialRow, ...]:
        """The trials chosen, from above."""
        return tuple(self.entries.rows[row].row for row in self.chosen_rows())

    def fit_columns(self) -> None:
        """Each column is as wide as what it holds, unless the user drew its width."""
        words = QFontMetrics(theme.font("small"))
        for place, column in enumerate(self.entries.columns):
            if column.key in self._drawn:
                continue
            widest = self.measured(place, self.entries.rows[:200])
            least = words.horizontalAdvance(f"{column.title} ▴")
            self.setColumnWidth(place, min(max(widest, least) + _PAD, _WIDEST))

    def enter(self, index: QModelIndex) -> bool:
        found = self.entries.record(index.row())
        if found is not None:
            self.opened.emit(found.row)
        return True

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            self.enter(index)


def _columns(record: SweepRecord | None) -> tuple[Column[ListedTrial], ...]:
    plan = None if record is None else record.plan
    objective = "Value" if plan is None else plan.objective
    columns = [
        _column("trial", "Trial", lambda row: row.number, "Its number, in the order of beginning."),
        Column[ListedTrial](
            "state", "State", lambda each: each.state, tip="How it stands, or how it ended.",
            tooltip=_reason, order=lambda each: sortable(each.state),
            colour=lambda each: _STATE_ROLES.get(each.row.state),
        ),
        _column("value", objective, lambda row: row.value,
                "What trials are compared by; the best is marked.", _value),
    ]  # fmt: skip
    if plan is not None and plan.seeds > 1:
        columns.append(
            _column("spread", "± seeds", spread_of,
                    "Half the distance between the best and the worst seed.", _value)
        )  # fmt: skip
    axes = () if record is None else record.axes
    columns += [
        *(_axis_column(axis.name) for axis in axes),
        _column("epochs", "Epochs", lambda row: row.epochs, "Completed epochs of all seeds."),
        _column("seconds", "Time", lambda row: None if row.outcome is None else row.outcome.seconds,
                "Training time of all seeds, compiling included.",
                lambda value: "" if value is None else numbers.duration(value)),
        Column[ListedTrial](
            "device", "Device", lambda each: device_of(each.row), tip="Where it was trained.",
            order=lambda each: sortable(device_of(each.row) or None),
        ),
    ]  # fmt: skip
    return tuple(columns)


def _column(
    key: str,
    title: str,
    value: Callable[[TrialRow], float | None],
    tip: str,
    text: Callable[[float | None], str] = lambda value: "" if value is None else f"{value:,}",
) -> Column[ListedTrial]:
    return Column(
        key, title, lambda each: text(value(each.row)), tip=tip, tooltip=_reason,
        exact=lambda each: "" if value(each.row) is None else repr(value(each.row)),
        order=lambda each: value(each.row), is_number=key in _RIGHT,
        colour=lambda each: "ok" if each.is_best and key in ("trial", "value") else None,
    )  # fmt: skip


def _axis_column(name: str) -> Column[ListedTrial]:
    def value(each: ListedTrial) -> str | float | int | None:
        return each.row.values.get(name)

    def text(each: ListedTrial) -> str:
        # A kill may have cut the choice of values short.
        return shown(value(each)) if name in each.row.values else ""

    return Column(
        f"axis.{name}", name, text, tip=f"Its value of {name}.", tooltip=_reason,
        exact=lambda each: "" if value(each) is None else str(value(each)),
        order=lambda each: sortable(value(each)), is_number=True,
    )  # fmt: skip


def _value(value: float | None) -> str:
    return "" if value is None else numbers.number(value)


def _reason(each: ListedTrial) -> str | None:
    outcome = each.row.outcome
    if outcome is None:
        return None
    lines = [f"Trial {each.row.number}: {each.state.lower()}", outcome.reason]
    if each.is_best:
        lines.append("The best so far")
    if each.row.has_weights:
        lines.append("Its weights are kept")
    return "\n".join(line for line in lines if line)


def spread_of(row: TrialRow) -> float | None:
    """Half the distance between the best and the worst seed of a trial; None for one without."""
    values = () if row.outcome is None else row.outcome.values
    return (max(values) - min(values)) / 2 if values else None


def device_of(row: TrialRow) -> str:
    """Where a trial was trained; empty while it is not known."""
    return "" if row.outcome is None else row.outcome.device
