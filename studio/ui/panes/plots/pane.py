"""The plots of trainings: loss, metrics, learning rate, with one axis and one pointer for all."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeyEvent, QPalette, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.engine.formats.atomic import write_atomic
from studio.session.core.tasks import TaskHandle
from studio.session.plots.curves import csv_text
from studio.session.runs.curves_display import CurvesDisplay, View
from studio.session.studio import Studio
from studio.session.training.staleness import foreign_graph
from studio.ui.panes.plots.actions import ACTIONS
from studio.ui.panes.plots.box import Gestures
from studio.ui.panes.plots.controls import PlotControls
from studio.ui.panes.plots.legend import Legend
from studio.ui.panes.plots.metric_plot import MetricPlot
from studio.widgets import binding, contexts, menus, theme
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.keys import with_keys

RATE = 10.0
"""Refreshes a second at most."""

_BESIDE = 1.7
_TALL, _LEAST = 110, 96
_NARROWEST = 240
_EMPTY, _HIDDEN = 0.35, 1.0
_ONE_ROW = 700
_APART = 1
_LINES = 3
_MENU = ("plots.follow", "plots.log_y", "plots.outliers", "plots.seeds", "plots.pin", None,
         "plots.copy", "plots.export_csv")  # fmt: skip


class PlotsPane(PaneFrame):
    """The curves of the training under way and of the runs chosen."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("plots_pane")
        self._display = studio.plots
        self._training = studio.training
        self._runs = studio.runs
        self._actions = studio.actions
        self._tasks = studio.tasks
        self._notify = studio.notify
        self._fail = studio.fail
        self._plots: dict[str, MetricPlot] = {}
        self._placed: tuple[tuple[MetricPlot, ...], int, int] = ((), 0, 0)
        self._current = ""
        self._space = False
        self._legend = Legend(self._display, self)
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        body.setAutoFillBackground(True)
        studio.actions.attach(ACTIONS, self)
        self._controls = PlotControls(self._display, self._actions, body)
        self._head = QGridLayout()
        self._head.setContentsMargins(8, 4, 8, 2)
        self._head.setSpacing(4)
        self._area = QWidget(self)
        self._area.setBackgroundRole(QPalette.ColorRole.Base)
        self._grid = QGridLayout(self._area)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(_APART)
        self._scroll = QScrollArea(body)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._area)
        self._scroll.viewport().installEventFilter(self)
        self._replaced = QTimer(self, singleShot=True, interval=0)
        self._replaced.timeout.connect(self._place_again)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head)
        column.addWidget(self._scroll, 1)
        self.set_body(body)
        contexts.register("plot", self)
        self._nothing = EmptyState("plots", "", parent=self)
        self._said: tuple[bool, bool, bool] | None = None
        self._place_head()
        binding.refresh(
            self, self.draw, self._display.changed, studio.training.changed,
            studio.training.state_changed, studio.training.staleness_changed,
            studio.runs.changed, studio.runs.curves_loaded,
            studio.runs.overlay.changed, rate=RATE, when_visible=True, live="picture",
        )  # fmt: skip
        binding.refresh(self, self._show_cursor, self._display.cursor_moved, when_visible=True)
        binding.connect(self, theme.changed, self._apply_theme)
        self.draw()

    # -- for others -----------------------------------------------------------------------------

    @property
    def plots(self) -> tuple[MetricPlot, ...]:
        """The plots shown, in order."""
        return tuple(self._plots[m] for m in self._display.plots if m in self._plots)

    def plot(self, metric: str) -> MetricPlot:
        """The plot of a metric; KeyError when it is not shown."""
        return self._plots[metric]

    @property
    def legend(self) -> Legend:
        return self._legend

    @property
    def controls(self) -> PlotControls:
        return self._controls

    # -- showing --------------------------------------------------------------------------------

    def draw(self) -> None:
        """Show the curves as they are now."""
        if self._display.is_empty:
            self._say_nothing(self._training.is_busy)
            self.show_empty(self._nothing)
            self.set_note("")
            return
        self.show_empty(None)
        self._arrange()
        self._legend.refresh()
        self._controls.refresh()
        live = self._training.state in ("running", "pausing", "stopping")
        plots = self.plots
        for plot in plots:
            plot.draw(live=live)
        left = max((plot.left_needed for plot in plots), default=0)
        right = max((plot.right_needed for plot in plots), default=0)
        for plot in plots:
            plot.set_left_width(left)
            plot.set_right_width(right)
        count = len(self._display.runs)
        training = self._training
        foreign = foreign_graph(is_busy=training.is_busy, is_stale=training.is_stale)
        notes = [f"{count} runs" if count > 1 else "", f"{foreign} trains" if foreign else ""]
        self.set_note(", ".join(note for note in notes if note))

    def _say_nothing(self, busy: bool) -> None:
        """Why there are no curves: nothing trained, or what did or does has not run a step."""
        shown = {name for name, _ in self._display.runs}
        is_imported = shown <= {run.name for run in self._runs.imported()}
        saying = (busy, bool(shown), is_imported)
        if saying == self._said:
            return
        self._said = saying
        if busy:
            self._nothing.say("No data yet", "Plots appear with the first steps of training.")
            return
        train = (with_keys("Train", self._actions["train.start"].keys[:1]), self._train)
        if shown:
            told = "The run ended before its first step."
            if is_imported:
                told = "Its weights were imported: there are no curves before a training."
            self._nothing.say("No data", told, train)
            return
        told = "Loss and metrics are plotted here during training."
        self._nothing.say("No run yet", told, train)

    def _arrange(self) -> None:
        """As many plots as there are metrics, beside each other where the pane is wide."""
        wanted = self._display.plots
        if set(wanted) != set(self._plots):
            for metric in [m for m in self._plots if m not in wanted]:
                plot = self._plots.pop(metric)
                self._grid.removeWidget(plot)
                plot.close()
                plot.deleteLater()
            for metric in wanted:
                if metric not in self._plots:
                    self._plots[metric] = self._make(metric)
        self._place()

    def _make(self, metric: str) -> MetricPlot:
        def zoom(view: View, height: View | None) -> None:
            self._display.zoom(view, metric, height)

        def menu(place: Any) -> None:
            self._current = metric
            self._menu(QPoint(round(place.x()), round(place.y())))

        gestures = Gestures(
            zoom, self._display.follow, menu, lambda: self._space, lambda: self._display.extent
        )
        plot = MetricPlot(metric, self._display, gestures, self._area)
        plot.installEventFilter(self)
        plot.viewport().installEventFilter(self)
        return plot

    def _place(self) -> None:
        plots = self.plots
        wide, high = self._scroll.viewport().width(), self._scroll.viewport().height()
        columns = best_columns(len(plots), wide, high)
        rows = -(-len(plots) // columns)
        tall = row_height(rows, high)
        if (plots, columns, tall) == self._placed:
            return
        self._placed = (plots, columns, tall)
        for number, plot in enumerate(plots):
            self._grid.addWidget(plot, *divmod(number, columns))
            plot.show()
        for number in range(max(self._grid.rowCount(), rows)):
            self._grid.setRowStretch(number, 1 if number < rows else 0)
        for number in range(max(self._grid.columnCount(), columns)):
            self._grid.setColumnStretch(number, 1 if number < columns else 0)
        self._area.setMinimumHeight(rows * (tall + _APART) - _APART if tall else 0)
        # A notch of the wheel goes to the next row.
        self._scroll.verticalScrollBar().setSingleStep(max(1, round((tall + _APART) / _LINES)))

    def _place_again(self) -> None:
        if not self._display.is_empty:
            self._place()

    def _place_head(self) -> None:
        """Legend and controls on one line, or on two where that is too narrow."""
        for widget in (self._legend, self._controls):
            self._head.removeWidget(widget)
        self._controls.fit(self.width() - 16)
        if self.width() >= _ONE_ROW:
            self._head.addWidget(self._legend, 0, 0)
            self._head.addWidget(self._controls, 0, 1, Qt.AlignmentFlag.AlignTop)
        else:
            self._head.addWidget(self._controls, 0, 0, Qt.AlignmentFlag.AlignLeft)
            self._head.addWidget(self._legend, 1, 0)
        self._head.setColumnStretch(0, 1)
        self._legend.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def _show_cursor(self) -> None:
        for plot in self.plots:
            plot.show_cursor()

    def _apply_theme(self) -> None:
        for plot in self._plots.values():
            plot.apply_theme()
        self.draw()

    # -- doing ----------------------------------------------------------------------------------

    @property
    def display(self) -> CurvesDisplay:
        return self._display

    def why_no_run(self) -> str:
        """Why there is no run to act on; empty when there is one."""
        return "" if not self._display.is_empty else "there is no run yet"

    def why_no_seeds(self) -> str:
        """Why there are no seeds to join; empty when there are."""
        return "" if self._display.has_seeds else "no two seeds of a trial are drawn"

    def metric_in_hand(self) -> str:
        """The plot that keys act on: the one with the focus, or the one last used."""
        focused = next((m for m, plot in self._plots.items() if plot.hasFocus()), "")
        if focused:
            self._current = focused
        return self._current if self._current in self._plots else "loss"

    def toggle_log(self) -> None:
        """Show the plot in hand on a logarithmic axis, or not any more."""
        metric = self.metric_in_hand()
        self._display.set_log(metric, metric not in self._display.log)

    def toggle_pin(self) -> None:
        """Keep the plot in hand above the others, or not any more."""
        metric = self.metric_in_hand()
        self._display.pin(metric, metric not in self._display.pinned)

    def copy(self) -> None:
        """Copy the picture of the plot in hand, or of all."""
        plot = self._plots.get(self.metric_in_hand()) if self._current else None
        picture: QPixmap = plot.picture() if plot is not None else self._area.grab()
        QGuiApplication.clipboard().setPixmap(picture)
        self._notify("Plot copied", "ok")

    def ask_for_file(self) -> None:
        """Ask where the numbers are to be written."""
        dialog = file_dialog(self, "export_csv", "Export data", "export")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("Tables (*.csv)")
        dialog.setDefaultSuffix("csv")
        dialog.selectFile("curves.csv")
        dialog.fileSelected.connect(lambda name: self.export(Path(name)))
        dialog.open()

    def export(self, path: Path) -> None:
        """Write every point of the curves to a file, in the background."""
        named = []
        for name, curves in self._display.runs:
            run = self._runs.run(name)
            named.append((name if run is None else run.title, curves))
        metrics = self._display.plots

        def work(handle: TaskHandle) -> Path:
            handle.progress(None, "writing")
            write_atomic(path, csv_text(named, metrics).encode("utf-8"))
            return path

        self._tasks.start(
            f"Write {path.name}", work,
            lambda made: self._notify(f"Wrote {made.name}", "ok"),
            self._fail, if_left="answer",
        )  # fmt: skip

    def _menu(self, place: QPoint) -> None:
        menus.menu_of(self._actions, _MENU, self).popup(place)

    def _train(self) -> None:
        self._actions.trigger("train.start")

    # -- events ---------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._scroll.viewport():
            # The legend has got another line, or a bar for scrolling stands beside the plots. What
            # is being laid out is not to be changed meanwhile.
            self._replaced.start()
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self._space = event.type() == QEvent.Type.KeyPress
            return True
        if event.type() == QEvent.Type.FocusOut:
            # Who goes elsewhere with the bar held down lets it go there.
            self._space = False
        if event.type() in (QEvent.Type.Enter, QEvent.Type.FocusIn):
            found = next((m for m, plot in self._plots.items() if plot is watched), "")
            self._current = found or self._current
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_head()
        if not self._display.is_empty:
            self.draw()


def row_height(rows: int, high: int) -> int:
    """How high a row of plots is where not all are in sight; 0 where they share what there is.

    Those in sight fill the place, so that none is cut.
    """
    if rows * (_TALL + _APART) - _APART <= high or rows == 1:
        return 0
    seen = max(1, (high + _APART) // (_TALL + _APART))
    return max(_LEAST, (high + _APART) // seen - _APART)


def best_columns(count: int, wide: int, high: int) -> int:
    """How many plots stand side by side: well shaped, all in sight, and no place left empty."""
    best, least = 1, float("inf")
    for columns in range(1, max(1, count) + 1):
        rows = -(-count // columns)
        each, tall = wide / columns, max(_TALL, high / rows)
        if columns > 1 and each < _NARROWEST:
            break
        badness = abs(math.log(each / (tall * _BESIDE)))
        badness += _EMPTY * (rows * columns - count) + _HIDDEN * (rows * _TALL > high)
        if badness < least:
            best, least = columns, badness
    return best
