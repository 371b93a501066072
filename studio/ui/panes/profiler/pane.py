"""The profiler: one step divided, the kernel table, the roofline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSlider,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.profiler.totals import Peaks
from studio.session.actions.profiling import NOTHING_MEASURED
from studio.session.compile.selection import Selection
from studio.session.profiling.columns import RowFilter
from studio.session.profiling.kernel_rows import GROUPINGS, Grouping, KernelRow
from studio.session.profiling.profiling import ProfilingModel
from studio.session.profiling.step_bar import StepBar
from studio.session.studio import Studio
from studio.session.training.training import TrainingModel
from studio.ui.panes.profiler.actions import ACTIONS
from studio.ui.panes.profiler.kernel_card import KernelCard
from studio.ui.panes.profiler.kernel_table import KernelTable
from studio.ui.panes.profiler.roofline_view import RooflineView
from studio.ui.panes.profiler.step_bar_view import StepBarView
from studio.widgets import binding, icons, menus, numbers, theme
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

VIEW = "profiler"
"""How this pane names itself on the selection bus."""

Button = TypeVar("Button", QPushButton, QToolButton)

_SLIDER = 64
_LOW = 430
"""Height below which a pane is low."""

_ENOUGH = 5
_FEW = " Few samples: a single delay by another program distorts the result."
"""What to know of kernel times from fewer steps than are enough."""

_ALL_SECTIONS = "All sections"
_SECTIONS = ("data", "forward", "loss", "backward", "update", "metrics")


class ProfilerPane(PaneFrame):
    """What was measured last, live while a training runs."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("profiler_pane")
        self._profiling = studio.profiling
        self._training = studio.training
        self._actions = studio.actions
        self._bus = studio.bus
        self._notify = studio.notify
        self._filter = RowFilter()
        self._grouping: Grouping = "kernel and layer"
        self._head = QLabel(self)
        self._device = ElidedLabel(self)
        self._steps = ElidedLabel(self)
        self._bar = StepBarView(self)
        self._table = KernelTable(self)
        self._card = KernelCard(self)
        self._roofline = RooflineView(self)
        self._nothing = EmptyState("profiler", "No step measured", parent=self)
        self._build()
        studio.actions.attach(ACTIONS, self)
        binding.refresh(
            self, self._refresh, self._profiling.changed, self._profiling.state_changed,
            studio.compilation.changed, studio.training.staleness_changed, rate=10,
            when_visible=True, live="fact",
        )  # fmt: skip
        binding.connect(self, self._bus.selected, self._selected)
        self._show_choice()
        self._refresh()
        self._selected(self._bus.selection, "")

    # -- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        shown = QWidget(self)
        column = QVBoxLayout(shown)
        column.setContentsMargins(8, 8, 8, 4)
        column.setSpacing(8)
        column.addLayout(self._head_row())
        column.addWidget(self._bar)
        column.addWidget(self._tabs(), 1)
        self.set_body(shown)
        for tool in self._tool_buttons():
            self.add_tool(tool)

    def _head_row(self) -> QHBoxLayout:
        self._head.setObjectName("step_time")
        self._head.setFont(theme.font("large"))
        self._device.setObjectName("profiled_device")
        self._steps.setObjectName("profiled_steps")
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._head)
        for label in (self._device, self._steps):
            label.setProperty("role", "soft")
            label.setFont(theme.font("small"))
            texts.addWidget(label)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addLayout(texts, 1)
        self._quiet = self._prepared(QPushButton(self), "quiet", "eye-off", checkable=True)
        row.addWidget(self._quiet, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _tool_buttons(self) -> tuple[QToolButton, ...]:
        """What stands in the header."""
        self._freeze = self._prepared(QToolButton(self), "freeze", "frozen", checkable=True)
        self._dry = self._prepared(QToolButton(self), "dry_run", "refresh")
        more = tool_button("more", "profiler.more", "Export, columns, peaks", self, "More")
        more.clicked.connect(lambda: self._menu().popup(more.mapToGlobal(more.rect().bottomLeft())))
        tools = (self._dry, self._freeze, more)
        for button in tools:
            button.setFixedSize(theme.HIT, theme.HIT)
        return tools

    def _prepared(self, button: Button, name: str, icon: str, *, checkable: bool = False) -> Button:
        """A button made ready for an action of the table."""
        action_id = f"profiler.{name}"
        button.setObjectName(action_id)
        button.setAccessibleName(self._actions[action_id].text)
        button.setCheckable(checkable)
        icons.keep(button, icon)
        button.clicked.connect(lambda: self._trigger(action_id))
        return button

    def _tabs(self) -> QTabWidget:
        tabs = QTabWidget(self)
        tabs.setObjectName("profiler_tabs")
        tabs.setDocumentMode(True)
        tabs.addTab(self._kernels(), "Kernels")
        tabs.addTab(self._roofline, "Roofline")
        self._table.picked.connect(self._picked)
        self._table.opened.connect(self._open)
        self._roofline.chosen.connect(self._chosen)
        self._roofline.clicked.connect(self._dot_clicked)
        return tabs

    def _kernels(self) -> QWidget:
        self._words = QLineEdit(self)
        self._words.setObjectName("kernel_filter")
        self._words.setAccessibleName("Filter kernels")
        self._words.setPlaceholderText("Filter")
        self._words.setClearButtonEnabled(True)
        self._words.textChanged.connect(self._filter_changed)
        self._section = self._choice("kernel_section", (_ALL_SECTIONS, *_SECTIONS), "Section")
        self._slowest = self._percentile_slider()
        self._open_filter = QPushButton(self)
        self._open_filter.setObjectName("clear_roofline_choice")
        self._open_filter.setProperty("flat", "true")
        self._open_filter.clicked.connect(self._roofline_given_up)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self._words, 1)
        row.addWidget(self._slowest)
        row.addWidget(self._section)
        made = QWidget(self)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self._open_filter, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._table, 1)
        column.addWidget(self._card)
        return made

    def _percentile_slider(self) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal, self)
        slider.setObjectName("kernel_percentile")
        slider.setAccessibleName("Hide fast kernels")
        slider.setToolTip("Hide kernels below this percentage of the total time: 0")
        slider.setRange(0, 100)
        slider.setPageStep(10)
        slider.setFixedSize(_SLIDER, theme.HIT)
        slider.valueChanged.connect(self._filter_changed)
        return slider

    def _choice(self, name: str, entries: tuple[str, ...], tip: str) -> QComboBox:
        box = QComboBox(self)
        box.setObjectName(name)
        box.setAccessibleName(tip)
        box.setToolTip(tip)
        box.addItems(list(entries))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(8)
        box.currentTextChanged.connect(self._filter_changed)
        return box

    def _menu(self) -> QMenu:
        menu = menus.menu_of(
            self._actions,
            (
                "profiler.live", "profiler.measure_peaks", None,
                "profiler.export_trace", "profiler.export_csv", None,
            ),
            self,
        )  # fmt: skip
        menu.addMenu(self._grouping_menu(menu))
        menu.addMenu(self._table.sort_menu(menu))
        columns = self._table.column_menu(menu)
        columns.setTitle("Columns")
        menu.addMenu(columns)
        return menu

    def _grouping_menu(self, parent: QMenu) -> QMenu:
        menu = menus.own_keys(QMenu("One row for each", parent))
        for grouping in GROUPINGS:
            action = menu.addAction(grouping)
            action.setObjectName(f"grouping.{grouping}")
            action.setCheckable(True)
            action.setChecked(grouping == self._grouping)
            action.triggered.connect(lambda _=False, chosen=grouping: self.group_by(chosen))
        return menu

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low pane the table has the room of the legend and of the card."""
        super().resizeEvent(event)
        is_low = self.height() < _LOW
        self._bar.set_compact(is_low)
        self._card.set_room(not is_low)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._profiling.want_peaks()

    # -- showing --------------------------------------------------------------------------------

    @property
    def table(self) -> KernelTable:
        return self._table

    @property
    def roofline(self) -> RooflineView:
        return self._roofline

    @property
    def step_bar(self) -> StepBarView:
        return self._bar

    def _refresh(self) -> None:
        model = self._profiling
        self._show_buttons()
        found = model.measurement
        if found is None:
            self._show_empty()
            self.show_empty(self._nothing)
            self.set_note("")
            return
        self.show_empty(None)
        bar = model.bar
        self._bar.set_bar(bar)
        # Until a step can be divided, how long its kernels take is all that is known.
        rows = model.rows(self._grouping)
        self._head.setText(
            f"{numbers.duration(bar.seconds)} per step" if bar is not None else "measuring…"
        )
        self._head.setToolTip(
            "Mean of steps with full batches, without ends of epochs" if bar is not None else ""
        )
        self._show_subject()
        self._table.set_rows(self._filter.apply(rows))
        self._card.take(rows)
        self._roofline.show_rows(replace(self._filter, chosen=None).apply(rows), model.peaks)
        if not self.pinned:
            self._mark(follow=False)

    def _show_subject(self) -> None:
        found = self._profiling.measurement
        if found is None:
            return
        self.set_note(_origin(self._profiling, self._training, found.subject.origin))
        self._device.set_text(found.subject.device)
        self._device.setToolTip(_doubt(self._profiling.peaks))
        bar, times = found.bar, found.times
        every = 0 if bar is None else bar.plain_steps + bar.instrumented_steps
        steps = numbers.counted(found.samples, "step")
        mean = f"mean of {numbers.counted(every, 'step')}; " if every else ""
        together = 0.0 if times is None else times.together_us() * 1e-6
        said = numbers.duration(together)
        self._steps.set_text(f"{mean}kernels {said} ({steps}, {found.clock})")
        few = _FEW if found.samples < _ENOUGH else ""
        self._steps.setToolTip(_steps_tip(found.subject.origin, together, bar) + few)

    def _show_buttons(self) -> None:
        model = self._profiling
        for button in (self._freeze, self._quiet, self._dry):
            action_id = button.objectName()
            reason = self._actions.why_not(action_id)
            button.setEnabled(not reason)
            button.setChecked(self._actions.is_checked(action_id))
            tip = self._actions[action_id].tip
            button.setToolTip(f"{tip}\nNot now: {reason}." if reason else tip)
        self._quiet.setText(self._quiet_text())
        gain = model.quiet_gain
        if gain is not None and not model.quiet:
            self._quiet.setToolTip(
                f"{self._quiet.toolTip()}\nLive views and measuring take "
                f"{numbers.share(gain, 2)} of a step."
            )

    def _quiet_text(self) -> str:
        gain = self._profiling.quiet_gain
        if self._profiling.quiet:
            return "Pause views"
        return (
            "Pause views"
            if gain is None
            else f"Pause views {numbers.MINUS}{gain * 100:.1f}{numbers.THIN}%"
        )

    def _show_empty(self) -> None:
        model = self._profiling
        if model.is_busy:
            self._nothing.say(
                "Measuring", "A few steps run on the project's data; their weights "
                             "are discarded.",
                ("Cancel", model.cancel_dry_run),
            )  # fmt: skip
            return
        if model.is_live:
            self._nothing.say("No step measured yet", "Training has started.")
            return
        if model.is_elsewhere:
            self._nothing.say(
                "No step measured", "The training is on a cluster, where steps are not measured."
            )
            return
        reason = self._actions.why_not("profiler.dry_run")
        if reason:
            self._nothing.say("No step measured", f"Dry run unavailable: {reason}.")
            return
        last = model.dry_run_seconds
        took = f" The last one took {numbers.duration(last)}." if last is not None else ""
        self._nothing.say(
            "No step measured",
            f"A dry run runs a few steps on the project's data and keeps no weights.{took}",
            ("Dry run", lambda: self._trigger("profiler.dry_run")),
        )

    def _trigger(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        self._refresh()

    # -- filtering ------------------------------------------------------------------------------

    def _filter_changed(self) -> None:
        section = self._section.currentText()
        self._filter.text = self._words.text()
        self._filter.section = "" if section == _ALL_SECTIONS else section
        self._filter.percentile = self._slowest.value()
        self._slowest.setToolTip(
            f"Hide kernels below this percentage of the total time: {self._slowest.value()}"
        )
        self._refresh()

    def group_by(self, grouping: Grouping) -> None:
        """Make one row for each of these."""
        self._grouping = grouping
        self._roofline_given_up()

    def _chosen(self, ids: frozenset[str] | None) -> None:
        self._filter.chosen = ids
        self._show_choice()
        self._refresh()

    def _roofline_given_up(self) -> None:
        self._roofline.clear_choice()
        self._chosen(None)

    def _show_choice(self) -> None:
        chosen = self._filter.chosen
        self._open_filter.setVisible(chosen is not None)
        if chosen is not None:
            self._open_filter.setText(f"{len(chosen)} chosen on the roofline: show all")

    # -- selection ------------------------------------------------------------------------------

    def _picked(self, rows: tuple[KernelRow, ...]) -> None:
        found = self._profiling.measurement
        if found is None or not rows:
            return
        self._card.pin(rows[0])
        chosen = [entity for row in rows for entity in found.entities_of(row)]
        self._bus.select(chosen, found.entities_of(rows[0])[0], VIEW)

    def _open(self, row: KernelRow) -> None:
        found = self._profiling.measurement
        if found is not None:
            self._bus.reveal(found.entities_of(row)[0], VIEW)

    def _dot_clicked(self, row_id: str) -> None:
        row = next(r for r in self._profiling.rows(self._grouping) if r.id == row_id)
        self._picked((row,))
        self._mark(follow=True)

    def _selected(self, _: Selection, source: str) -> None:
        if not self.pinned:
            self._mark(follow=source != VIEW)

    def _mark(self, *, follow: bool) -> None:
        found = self._profiling.measurement
        if found is None:
            return
        every, primary = found.marked(self._bus.selection)
        self._table.mark(every, primary, follow=follow)
        self._roofline.mark(every)

    # -- export ---------------------------------------------------------------------------------

    def why_nothing_measured(self) -> str:
        """Why there is nothing to export; empty when there is."""
        return "" if self._profiling.measurement is not None else NOTHING_MEASURED

    def export_trace(self) -> None:
        self._ask_where(
            "Export trace", "trace.json", "Chrome trace (*.json)",
            lambda path: self._profiling.export_trace(path, self._written),
        )  # fmt: skip

    def export_csv(self) -> None:
        self._ask_where(
            "Export kernel table", "kernels.csv", "Comma-separated values (*.csv)",
            lambda path: self._profiling.export_csv(path, self._grouping, self._written),
        )  # fmt: skip

    def _ask_where(
        self, title: str, name: str, kinds: str, write: Callable[[Path], object]
    ) -> None:
        """Ask for a file without stopping the window."""
        dialog = file_dialog(self, "export_dialog", title, "export")
        dialog.setNameFilter(kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(Path(name).suffix.removeprefix("."))
        dialog.selectFile(name)
        dialog.fileSelected.connect(lambda chosen: write(Path(chosen)))
        dialog.open()

    def _written(self, path: Path) -> None:
        self._notify(f"Wrote {path.name}", "ok", details=str(path))


def _doubt(peaks: Peaks | None) -> str:
    """The tip of a device whose peaks may be wrong."""
    if peaks is None or not peaks.doubt:
        return ""
    return f"Its peaks may be wrong: {peaks.doubt}.\n“Measure the device's peaks” measures again."


def _origin(profiling: ProfilingModel, training: TrainingModel, origin: str) -> str:
    """Where the times are from, in a few words."""
    if profiling.frozen:
        return "frozen"
    if profiling.is_unwatched:
        return "earlier measurement"
    words = "live" if profiling.is_live else origin
    # Where the canvas was changed since, it is not what the times are of.
    is_older = bool(training.staleness) and words in ("live", "training")
    return f"{words}, older graph" if is_older else words


def _steps_tip(origin: str, together: float, bar: StepBar | None) -> str:
    """Which steps were measured, and why kernels timed one by one may take longer than one."""
    told = (
        f"Kernels are timed in some steps of a {origin}, with plain steps in between. The step bar "
        "shows the cost of measuring. It leaves out steps during which a pane was opened."
    )
    if bar is None or together <= bar.seconds:
        return told
    return (
        f"{told} Timed one by one, the kernels take {numbers.duration(together)}, "
        f"longer than the whole step of {numbers.duration(bar.seconds)} without "
        "timing. The bar excludes this overhead."
    )
