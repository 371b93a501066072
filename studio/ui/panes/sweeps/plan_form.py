"""The plan of the next sweep: what is varied, how values are chosen, and the button that starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.cpu.machine.threads import usable_threads
from studio.engine.scale.sweep.folder import MAX_SEEDS, MAX_THREADS, MAX_WORKERS
from studio.engine.scale.sweep.planning import DEFAULT_TRIALS, Wishes, default_workers
from studio.engine.scale.sweep.search_space import MAX_POINTS
from studio.session.studio import Studio
from studio.session.sweeps.checking import SweepCheck
from studio.session.sweeps.sweeps import SweepModel
from studio.ui.panes.sweeps.axes_form import AxesForm, error_label, say
from studio.widgets import binding, numbers, theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.fields.stepping import Stepping
from studio.widgets.forms.section import Section
from studio.widgets.frames.frame import separator
from studio.widgets.in_sight import bring_into_sight_soon
from studio.widgets.labels.elided_label import ElidedLabel

_LABEL = 104
_SAMPLERS = (
    ("TPE", "tpe", "Tree-structured Parzen estimator: ten trials at random, then near the good"),
    ("Random", "random", "Each trial is drawn at random, whatever came out of others"),
    ("Grid", "grid", "All combinations; ranges need a number of points, such as 0.1..0.5/5"),
)
_PRUNERS = (
    ("None", "none", "Every trial is trained to its end"),
    ("Successive halving", "asha", "A trial goes on only among the best third at epochs 1, 3, 9…"),
)
_WAYS = (
    ("As its metric has it", "", "Less of a loss is better, more of an accuracy"),
    ("Lowest", "lowest", "The trial with the lowest value is the best"),
    ("Highest", "highest", "The trial with the highest value is the best"),
)
_KEPT = (
    ("The best", "best", "So many of the best trials keep their weights"),
    ("All", "all", "All trials keep their weights, also those that were pruned"),
)
_SYNCHRONOUS_TIP = (
    "Choose values in rounds of as many trials as there are workers, so that TPE and pruning give "
    "the same table again"
)
_CLUSTER_TIP = (
    "Address of the Dask scheduler to train on, such as tls://host:8786; empty for this computer. "
    "Workers is then how many trials the cluster trains at once."
)
_HOURS, _SEEDS = 1e5, 1 << 53
_BESIDE = 600
"""Width from which both parts stand beside each other."""
_IN_MORE = ("--keep", "--synchronous", "--seed", "--cluster")
_Row: TypeAlias = "tuple[str, str, QWidget, QHBoxLayout | None]"
"""Name, option, field, and what it stands in where that is a line of several."""


class PlanForm(QWidget):
    """A form for `Wishes`; what is wrong is said below the field it is about.

    Where there is room, what varies stands beside how it is searched.

    Args:
        studio: the models.
        parent: the pane.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep_plan")
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._sweeps: SweepModel = studio.sweeps
        self._actions = studio.actions
        self._fail = studio.fail
        self._studio = studio
        self._errors: dict[str, tuple[QLabel, QWidget]] = {}
        self._place = studio.training.place
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        body.setAutoFillBackground(True)
        self.axes = AxesForm(studio.sweeps.draft, body)
        self._make_fields(body)
        self.more = self._make_more(body)
        self._make_end(body)
        self._sides = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._lay_out(body)
        self._frame(body)
        self.setFocusProxy(self.axes.field)
        binding.connect(self, self._sweeps.checked, self._take_check)
        binding.connect(self, self._sweeps.draft.changed, self.ask)
        binding.connect(self, self._place.changed, self._show_place)
        binding.refresh(self, self._show_state, self._sweeps.changed, rate=10, when_visible=True)
        self.ask()
        self._show_state()

    # -- making ---------------------------------------------------------------------------------

    def _make_fields(self, body: QWidget) -> None:
        self.objective = self._choice("objective", "Objective", body)
        self.objective.addItem("val_loss", "val_loss")
        self.way = self._choice("way", "Better", body, _WAYS)
        self.sampler = self._choice("sampler", "Sampler", body, _SAMPLERS)
        self.prune = self._choice("prune", "Pruning", body, _PRUNERS)
        self.trials = self._number("trials", DEFAULT_TRIALS, MAX_POINTS, body)
        self.trials.set_hint("How many trials in all. A grid has as many as it has points.")
        self.seeds = self._number("seeds", 1, MAX_SEEDS, body)
        self.seeds.set_hint("Each trial is trained with so many seeds, and their mean counts.")
        self.workers = self._number("workers", default_workers(1), MAX_WORKERS, body)
        self.workers.set_hint(
            f"Trials trained at once, each in a process of its own. This machine has "
            f"{numbers.counted(usable_threads(), 'usable thread')}."
        )
        self.threads = self._number("threads", 1, MAX_THREADS, body)
        self.threads.set_hint("Threads of each trial on the CPU; recorded, since sums depend on it")
        self.hours = self._field("hours", Stepping("linear", 0.0, _HOURS), 0.0, body)
        self.hours.set_hint("No trial is begun after so many hours; 0 for no limit.")

    def _make_more(self, parent: QWidget) -> Section:
        """What is seldom asked for, folded."""
        body = QWidget(parent)
        self.keep = self._choice("keep", "Keep weights", body, _KEPT)
        self.kept = self._number("kept", 1, MAX_POINTS, body)
        self.kept.setAccessibleName("How many trials keep their weights")
        self.kept.set_hint("How many of the best trials keep their weights.")
        keep = QHBoxLayout()
        keep.setContentsMargins(0, 0, 0, 0)
        keep.setSpacing(6)
        keep.addWidget(self.keep, 1)
        keep.addWidget(self.kept, 1)
        self.synchronous = QCheckBox("In rounds", body)
        self.synchronous.setObjectName("sweep.synchronous")
        self.synchronous.setAccessibleName("Synchronous")
        self.synchronous.setToolTip(_SYNCHRONOUS_TIP)
        self.synchronous.toggled.connect(self.ask)
        self.seed = self._field("seed", Stepping("linear", 0, _SEEDS, integer=True), 0, body)
        self.seed.setAccessibleName("Seed of choice")
        self.seed.set_hint("Seed of the choice of values; not of the trainings.")
        self.cluster = QLineEdit(self._place.address, body)
        self.cluster.setObjectName("sweep.cluster")
        self.cluster.setAccessibleName("Cluster")
        self.cluster.setPlaceholderText("This computer")
        self.cluster.setToolTip(_CLUSTER_TIP)
        self.cluster.textChanged.connect(self.ask)
        rows: tuple[_Row, ...] = (
            ("Keep weights", "--keep", self.keep, keep),
            ("Synchronous", "--synchronous", self.synchronous, None),
            ("Seed of choice", "--seed", self.seed, None),
            ("Cluster", "--cluster", self.cluster, None),
        )
        body.setLayout(self._grid(rows, body))
        made = Section("More", body, is_open=False, parent=parent)
        made.setObjectName("sweep.more")
        made.folded.connect(self._folded)
        return made

    def _make_end(self, body: QWidget) -> None:
        self.summary = QLabel(body)
        self.summary.setObjectName("sweep_summary")
        self.summary.setProperty("role", "soft")
        self.summary.setTextFormat(Qt.TextFormat.PlainText)
        self.summary.setWordWrap(True)
        self.problem = error_label("sweep_problem", body)
        self.saving = ElidedLabel(self)
        self.saving.setObjectName("sweep_saving")
        self.saving.setProperty("role", "soft")
        self.start = QPushButton("Start", self)
        self.start.setObjectName("start_sweep")
        self.start.setProperty("primary", True)
        self.start.clicked.connect(self._start)

    def _lay_out(self, body: QWidget) -> None:
        rows: tuple[_Row, ...] = (
            ("Objective", "--objective", self.objective, None),
            ("Better", "", self.way, None),
            ("Sampler", "--sampler", self.sampler, None),
            ("Pruning", "--prune", self.prune, None),
            ("Trials", "--trials", self.trials, None),
            ("Seeds", "--seeds", self.seeds, None),
            ("Workers", "--workers", self.workers, None),
            ("Threads each", "--threads", self.threads, None),
            ("Hours at most", "", self.hours, None),
        )
        grid = self._grid(rows, body)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(_heading("Varied", body))
        left.addWidget(self.axes)
        for widget in (self.summary, self.problem):
            left.addWidget(widget)
        right.setSpacing(8)
        right.addWidget(_heading("Search", body))
        right.addLayout(grid)
        right.addWidget(self.more)
        for side in (left, right):
            side.addStretch(1)
        self._sides.setSpacing(16)
        self._sides.addLayout(left, 1)
        self._sides.addLayout(right, 1)
        column = QVBoxLayout(body)
        column.setContentsMargins(12, 10, 12, 12)
        column.addLayout(self._sides)
        column.addStretch(1)

    def _grid(self, rows: Sequence[_Row], parent: QWidget) -> QGridLayout:
        """Fields behind their names, each over what is wrong with it."""
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for place, (title, option, field, line) in enumerate(rows):
            label = ElidedLabel(parent)
            label.set_text(title)
            label.setProperty("role", "soft")
            label.setFixedWidth(_LABEL)
            label.setBuddy(field)
            grid.addWidget(label, 2 * place, 0)
            if line is None:
                grid.addWidget(field, 2 * place, 1)
            else:
                grid.addLayout(line, 2 * place, 1)
            if option:
                error = error_label(f"error.{option[2:]}", parent)
                grid.addWidget(error, 2 * place + 1, 0, 1, 2)
                self._errors[option] = (error, field)
        return grid

    def _frame(self, body: QWidget) -> None:
        """The fields, which scroll, over the button, which stays in sight."""
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        # Fields bring themselves into sight.
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(body)
        end = QHBoxLayout()
        end.setContentsMargins(12, 6, 12, 8)
        end.setSpacing(8)
        end.addWidget(self.start)
        end.addWidget(self.saving, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(area, 1)
        column.addWidget(separator(self))
        column.addLayout(end)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        way = QBoxLayout.Direction
        self._sides.setDirection(way.LeftToRight if self.width() >= _BESIDE else way.TopToBottom)

    def _choice(
        self, name: str, title: str, parent: QWidget, entries: Sequence[tuple[str, str, str]] = ()
    ) -> QComboBox:
        box = QComboBox(parent)
        box.setObjectName(f"sweep.{name}")
        box.setAccessibleName(title)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(6)
        for place, (text, value, tip) in enumerate(entries):
            box.addItem(text, value)
            box.setItemData(place, tip, Qt.ItemDataRole.ToolTipRole)
        box.activated.connect(self.ask)
        return box

    def _number(self, name: str, value: int, most: int, parent: QWidget) -> ScrubField:
        return self._field(name, Stepping("linear", 1, most, integer=True), value, parent)

    def _field(self, name: str, stepping: Stepping, value: float, parent: QWidget) -> ScrubField:
        field = ScrubField(stepping, value, parent)
        field.setObjectName(f"sweep.{name}")
        field.setAccessibleName(name.capitalize())
        for signal in (field.committed, field.scrubbed):
            signal.connect(self.ask)
        return field

    # -- asking ---------------------------------------------------------------------------------

    def wishes(self) -> Wishes:
        """What the form asks for."""
        is_grid = self.sampler.currentData() == "grid"
        way = str(self.way.currentData())
        return Wishes(
            self._sweeps.draft.words(),
            objective=str(self.objective.currentData()),
            maximize=None if not way else way == "highest",
            sampler=str(self.sampler.currentData()),
            prune=str(self.prune.currentData()),
            trials=None if is_grid else int(self.trials.value),
            seeds=int(self.seeds.value),
            workers=int(self.workers.value),
            threads=int(self.threads.value),
            synchronous=self.synchronous.isChecked(),
            seed=int(self.seed.value),
            keep=0 if self.keep.currentData() == "all" else int(self.kept.value),
        )

    @property
    def address(self) -> str:
        """Of the cluster that is to train; empty for this computer."""
        return self.cluster.text().strip()

    def ask(self, *_: object) -> None:
        """Have it checked; until then nothing can be started."""
        self._sweeps.ask_check(self.wishes(), self.address)
        self._show_state()

    def begin(self) -> None:
        """Let something to vary be named."""
        self.axes.begin()

    # -- showing --------------------------------------------------------------------------------

    def _take_check(self, found: SweepCheck) -> None:
        self._offer(found.objectives)
        for option, (label, field) in self._errors.items():
            say(label, found.problem if option == found.field else "", field)
        if found.problem and found.field in _IN_MORE:
            self.more.set_open(True)
        has_own = found.field in self._errors
        # Each row of what is varied says itself what is wrong with it.
        is_said = has_own or (found.field == "--vary" and self._axes_complain())
        say(self.problem, "" if is_said or not self._sweeps.draft.axes else found.problem)
        is_grid = found.wishes.sampler == "grid"
        self.trials.setEnabled(not is_grid)
        if is_grid and found.plan is not None:
            self.trials.set_value(found.plan.trials)
        self.summary.setText(_summary(found))
        self._show_state()

    def _axes_complain(self) -> bool:
        draft = self._sweeps.draft
        return any(draft.problem_of(name) for name, _ in draft.axes)

    def _offer(self, objectives: Sequence[str]) -> None:
        if not objectives:
            return
        chosen = self.objective.currentData()
        known = [self.objective.itemData(n) for n in range(self.objective.count())]
        if known == list(objectives):
            return
        self.objective.clear()
        for name in objectives:
            self.objective.addItem(name, name)
        self.objective.setCurrentIndex(max(0, self.objective.findData(chosen)))
        if self.objective.currentData() != chosen:
            self.ask()

    def _show_place(self) -> None:
        """Where trainings go has been chosen: the next sweep goes there, too."""
        self.cluster.setText(self._place.address)

    def _show_state(self) -> None:
        """Whether it can be started, and why not."""
        self.kept.setEnabled(self.keep.currentData() != "all")
        self.more.set_note(self._unusual())
        sweeps, path = self._sweeps, self._studio.document.path
        why = sweeps.why_not_start()
        is_unsaved = sweeps.needs_saving
        said = ""
        if why:
            said = "A sweep is running"
        elif is_unsaved:
            said = (
                "A sweep needs a saved project"
                if path is None
                else "A sweep trains the project as it is saved"
            )
        self.saving.set_text(said)
        text = "Save project…" if path is None else "Save and start" if is_unsaved else "Start"
        self.start.setText(text)
        can = sweeps.is_checked and sweeps.check.plan is not None
        self.start.setEnabled(not why and can)
        self.start.setToolTip(why or ("" if can else "Something above is wrong or missing"))

    def _folded(self) -> None:
        self._show_state()
        if self.more.is_open:
            bring_into_sight_soon(self.more)

    def _unusual(self) -> str:
        """What of the folded part is not as it was, in a few words."""
        if self.more.is_open:
            return ""
        keeps = "" if self.kept.value == 1 else f"keep {self.kept.text()}"
        if self.keep.currentData() == "all":
            keeps = "keep all"
        rounds = "in rounds" if self.synchronous.isChecked() else ""
        seed = f"seed {self.seed.text()}" if self.seed.value else ""
        return ", ".join(filter(None, (self.address, keeps, rounds, seed)))

    def _start(self) -> None:
        had_file = self._studio.document.path is not None
        if self._sweeps.needs_saving:
            self._actions.trigger("file.save")
        # Where to save may be asked; then it is started by another click.
        if not had_file or self._sweeps.needs_saving:
            return
        try:
            self._sweeps.start(self.wishes(), self.hours.value or None, self.address)
        except StudioError as error:
            self._fail(error)


def _heading(text: str, parent: QWidget) -> QLabel:
    made = QLabel(text, parent)
    made.setFont(theme.font("title"))
    return made


def _summary(found: SweepCheck) -> str:
    """What the sweep will be, in a sentence or two."""
    plan = found.plan
    if plan is None:
        return ""
    trials = numbers.counted(plan.trials, "trial")
    seeds = "" if plan.seeds == 1 else f" with {plan.seeds} seeds each"
    said = f"{trials}{seeds}, compared by the {plan.direction} {plan.objective}."
    return f"{said} {found.remark}." if found.remark else said
