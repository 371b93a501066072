"""The test page: measures, evidence, and questions of your own."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from studio.session.core.held_out import SHARED_PART
from studio.session.core.metric_names import metric_title
from studio.session.evaluation.results import PARTS
from studio.session.runs.columns import is_share
from studio.session.studio import Studio
from studio.ui.panes.testing.ask_view import AskView
from studio.ui.panes.testing.evidence_view import MatrixPanel, SamplesPanel
from studio.ui.panes.testing.stale_band import StaleBand
from studio.widgets import binding, numbers, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame, separator
from studio.widgets.keys import shown_keys
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_ROOM = (520, 860)
"""Widths from which two things stand side by side, and all three."""

_NOTE = 96
"""Pixels for gaps and the remark beside the measures."""

_PART_TIP = "Part of the data to test on"


class TestingPane(PaneFrame):
    """Tests the network trained last, or one of a recorded run."""

    __test__ = False

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("testing_pane")
        self._evaluation = studio.evaluation
        self._training = studio.training
        self._actions = studio.actions
        self._matrix = MatrixPanel(studio.evaluation, self)
        self._samples = SamplesPanel(studio.evaluation, self)
        self._ask = AskView(studio.evaluation, self)
        self._asking = _scrolled(self._ask)
        self._head = MeasuresHead(studio, self)
        self._stale = StaleBand(studio, self)
        self._lay_out()
        for view in (self._samples.samples, self._matrix.errors):
            view.asked.connect(self._show_answer)
        self._nothing = EmptyState("testing", "Nothing to test yet", parent=self)
        binding.refresh(
            self, self.refresh, self._evaluation.changed, studio.training.state_changed,
            studio.runs.changed, rate=15, when_visible=True,
        )  # fmt: skip
        binding.refresh(self, self._show_chosen, self._evaluation.chosen_changed, when_visible=True)
        binding.refresh(self, self._head.show_age, studio.training.changed, rate=2)
        self.refresh()

    # -- for others -----------------------------------------------------------------------------

    @property
    def matrix(self) -> MatrixPanel:
        return self._matrix

    @property
    def samples(self) -> SamplesPanel:
        return self._samples

    @property
    def ask(self) -> AskView:
        return self._ask

    @property
    def head(self) -> MeasuresHead:
        return self._head

    @property
    def stale(self) -> StaleBand:
        """The band that says that the weights belong to an older graph."""
        return self._stale

    # -- showing --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show what was measured last, or why there is nothing."""
        evaluation = self._evaluation
        self._head.refresh()
        if evaluation.results is None and evaluation.status != "measuring":
            self._say_why()
            self.show_empty(self._nothing)
        else:
            self.show_empty(None)
        self.set_note(evaluation.label if evaluation.results is not None else "")
        self._matrix.refresh()
        self._samples.refresh()
        self._ask.show_subject()

    def _say_why(self) -> None:
        """Say why there is nothing, and offer what there is to do about it."""
        evaluation, say = self._evaluation, self._nothing.say
        recorded = evaluation.newest
        if evaluation.status == "failed" and evaluation.error is not None:
            say("Test failed", evaluation.error.message, ("Try again", evaluation.measure))
        elif self._training.is_busy and not evaluation.why_not():
            is_paused = self._training.state == "paused"
            say(
                "Training is paused" if is_paused else "Training is running",
                "The network is tested when training ends. You can also test it now.",
                ("Test now", evaluation.measure),
            )
        elif recorded is not None:
            name, title = recorded
            say(
                "No run chosen",
                f"You can test the run of {title}.",
                ("Test it", lambda: evaluation.test_run(name)),
            )
        else:
            keys = shown_keys(self._actions["train.start"].keys[0])
            say(
                "Nothing to test yet",
                "After training, correct and wrong predictions are shown here.",
                (f"Train ({keys})", self._train),
            )

    def _show_chosen(self) -> None:
        self._matrix.mark()
        self._samples.refresh()

    def _train(self) -> None:
        self._actions.trigger("train.start")

    # -- layout ---------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        body.setAutoFillBackground(True)
        self._tabs = QTabWidget(body)
        self._tabs.setObjectName("testing_tabs")
        self._tabs.setDocumentMode(True)
        self._split = QSplitter(Qt.Orientation.Horizontal, body)
        self._split.setObjectName("testing_split")
        self._split.setChildrenCollapsible(False)
        # What stands side by side must not keep the pane too wide to be put one behind another.
        self._split.setMinimumWidth(1)
        self._tabs.setMinimumWidth(1)
        column = self._column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._stale)
        column.addWidget(separator(body))
        column.addWidget(self._tabs, 1)
        column.addWidget(self._split, 1)
        self.set_body(body)
        self._columns = 0
        self._arrange()

    def _arrange(self) -> None:
        """Side by side what there is room for, the rest one behind another."""
        columns = sum(self.width() >= least for least in _ROOM) + 1
        if columns == self._columns:
            return
        self._columns = columns
        panels = ((self._matrix, "Matrix"), (self._samples, "Samples"), (self._asking, "Predict"))
        beside = panels if columns == 3 else panels[:2] if columns == 2 else ()
        for panel, _ in beside:
            self._split.addWidget(panel)
            panel.show()
        for number, share in enumerate((3, 4, 4)[: len(beside)]):
            self._split.setStretchFactor(number, share)
        # Which of the tabs is in sight is the tabs' affair.
        while self._tabs.count():
            self._tabs.removeTab(0)
        if columns == 3:
            self._column.addWidget(self._split, 1)
            self._split.show()
        elif columns == 2:
            self._tabs.addTab(self._split, "Results")
            self._tabs.addTab(self._asking, "Predict")
        else:
            self._split.hide()
            for panel, title in panels:
                self._tabs.addTab(panel, title)
        self._tabs.setVisible(columns < 3)

    def _show_answer(self, _sample: int) -> None:
        """Bring what the network says of a sample in sight; an arrow key leads back."""
        if self._columns < len(_ROOM) + 1:
            self._tabs.setCurrentWidget(self._asking)
            self._tabs.tabBar().setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()


def _scrolled(view: QWidget) -> QScrollArea:
    """A view that is never smaller than can be used, however low the pane is."""
    view.setBackgroundRole(QPalette.ColorRole.Base)
    area = QScrollArea()
    area.setWidget(view)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    return area


class MeasuresHead(QWidget):
    """What is tested, on which part, and what came out."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = studio.evaluation
        self._network = QComboBox(self)
        self._network.setObjectName("test_network")
        self._network.setAccessibleName("Network")
        self._network.setToolTip("Network to test")
        self._network.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._network.setMinimumContentsLength(12)
        self._network.activated.connect(self._network_chosen)
        self._part = QComboBox(self)
        self._part.setObjectName("test_part")
        self._part.setAccessibleName("Part of the data")
        self._part.setToolTip(_PART_TIP)
        self._part.activated.connect(self._chosen)
        self._output = QComboBox(self)
        self._output.setObjectName("test_output")
        self._output.setAccessibleName("Output")
        self._output.setToolTip("Output to look at")
        self._output.activated.connect(self._evaluation.choose_output)
        self._again = tool_button(
            "refresh", "test_again", "Test the current network", self, "Test again"
        )
        self._again.clicked.connect(self._evaluation.measure)
        self._measures = QHBoxLayout()
        self._measures.setSpacing(12)
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._note = ElidedLabel(self)
        self._note.setFont(theme.font("small"))
        self._note.setProperty("role", "faint")
        self._note.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._choices = QHBoxLayout()
        self._choices.setSpacing(8)
        self._choices.addWidget(self._network)
        self._choices.addWidget(self._part)
        self._choices.addWidget(self._output)
        self._results = QWidget(self)
        results = QHBoxLayout(self._results)
        results.setContentsMargins(0, 0, 0, 0)
        results.setSpacing(8)
        results.addLayout(self._measures)
        results.addWidget(self._note, 1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 4, 4, 4)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.addLayout(self._choices, 0, 0)
        self._grid.addWidget(self._results, 0, 1)
        self._is_beside = True
        self._grid.addWidget(self._again, 0, 2)
        self._grid.setColumnStretch(1, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        # Layouts know of new words only now.
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    def _fit(self) -> None:
        """Measures that have no room beside what is chosen stand below: a number is seen whole."""
        wanted = self._choices.sizeHint().width() + self._measures.sizeHint().width()
        beside = self.width() >= wanted + theme.HIT + _NOTE
        if beside != self._is_beside:
            self._is_beside = beside
            self._grid.removeWidget(self._results)
            place = (0, 1, 1, 1) if beside else (1, 0, 1, 3)
            self._grid.addWidget(self._results, *place)

    @property
    def text(self) -> str:
        """The measures in words."""
        return ", ".join(f"{n.text()} {v.text()}" for n, v in self._labels if v.isVisibleTo(self))

    @property
    def note(self) -> str:
        """The remark beside them."""
        return self._note.whole

    def _show_networks(self) -> None:
        wanted = self._evaluation.testable
        listed = [(self._network.itemData(n), self._network.itemText(n))
                  for n in range(self._network.count())]  # fmt: skip
        if listed != list(wanted):
            self._network.clear()
            for name, title in wanted:
                self._network.addItem(title, name)
        names = [name for name, _ in wanted]
        if self._evaluation.tested in names:
            self._network.setCurrentIndex(names.index(self._evaluation.tested))
        self._network.setVisible(len(wanted) > 1)

    def _network_chosen(self, row: int) -> None:
        self._evaluation.test_run(str(self._network.itemData(row)))

    def refresh(self) -> None:
        """Show what was measured last."""
        self._show_networks()
        subject, results = self._evaluation.subject, self._evaluation.results
        parts = () if subject is None else subject.parts
        titles = [] if subject is None else [f"{subject.part_title(p)} part" for p in parts]
        wanted = [title.capitalize() for title in titles]
        if [self._part.itemText(n) for n in range(self._part.count())] != wanted:
            self._part.clear()
            for part, title in zip(parts, wanted, strict=True):
                self._part.addItem(title, part)
        shared = subject is not None and subject.is_shared
        self._part.setToolTip(f"{_PART_TIP}\nTest: {SHARED_PART}" if shared else _PART_TIP)
        if self._evaluation.part in parts:
            self._part.setCurrentIndex(parts.index(self._evaluation.part))
        self._part.setVisible(bool(parts))
        self._show_outputs()
        metrics = {} if results is None else results.shown_metrics
        order = sorted(metrics, key=lambda name: (name == "total_loss", name == "loss", name))
        while len(self._labels) < len(order):
            self._labels.append(self._measure())
        for number, (name, value) in enumerate(self._labels):
            shown = number < len(order)
            name.setVisible(shown)
            value.setVisible(shown)
            if shown:
                metric = order[number]
                name.setText(metric_title(metric))
                found = metrics[metric]
                text = numbers.share(found) if is_share(metric) else numbers.number(found)
                value.setText(text)
                value.setToolTip(numbers.exact(found))
        self._fit()
        self.show_age()

    def _show_outputs(self) -> None:
        """Offer the outputs, where there are several."""
        results = self._evaluation.results
        names = [] if results is None else list(results.outputs)
        if [self._output.itemText(n) for n in range(self._output.count())] != names:
            self._output.clear()
            self._output.addItems(names)
        self._output.setCurrentIndex(self._evaluation.output if names else -1)
        self._output.setVisible(len(names) > 1)

    def show_age(self) -> None:
        """Say of which step the measures are, where the training has gone on."""
        evaluation, results = self._evaluation, self._evaluation.results
        if evaluation.status == "measuring":
            self._note.set_text("Measuring…")
        elif results is None:
            self._note.set_text("")
        elif evaluation.is_stale:
            self._note.set_text(f"as of step {numbers.count(results.steps)}; it has trained on")
        else:
            words = [numbers.counted(len(results), "sample")]
            words += [] if results.origin is None else [results.origin.brief]
            words += [results.note] if results.note else []
            self._note.set_text("; ".join(words))

    def _measure(self) -> tuple[QLabel, QLabel]:
        name, value = QLabel(self), QLabel(self)
        name.setFont(theme.font("small"))
        name.setProperty("role", "faint")
        value.setFont(theme.font("title"))
        pair = QHBoxLayout()
        pair.setSpacing(5)
        pair.addWidget(name)
        pair.addWidget(value)
        self._measures.addLayout(pair)
        return name, value

    def _chosen(self, row: int) -> None:
        part = self._part.itemData(row)
        if part in PARTS:
            self._evaluation.choose_part(part)
