"""The test page: measures, evidence, and questions of your own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QScrollArea,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from studio.session.studio import Studio
from studio.ui.panes.testing.ask_view import AskView
from studio.ui.panes.testing.evidence_view import MatrixPanel, SamplesPanel
from studio.ui.panes.testing.measures_head import MeasuresHead
from studio.ui.panes.testing.stale_band import StaleBand
from studio.widgets import binding
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame, separator
from studio.widgets.keys import with_keys

_ROOM = (520, 860)
"""Widths from which two things stand side by side, and all three."""


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
            train = with_keys("Train", self._actions["train.start"].keys[:1])
            say(
                "Nothing to test yet",
                "After training, correct and wrong predictions are shown here.",
                (train, self._train),
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
        panels = ((self._matrix, "Results"), (self._samples, "Samples"), (self._asking, "Predict"))
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
            self._asking.ensureWidgetVisible(self._ask.answer)

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
