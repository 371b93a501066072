"""The evidence: the confusion matrix or the errors, and the samples behind them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.train.network.measures import Classification, Labels, Regression
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.evaluation.results import ORDERS, Order
from studio.ui.panes.testing.classes_view import ClassesView
from studio.ui.panes.testing.errors_view import ErrorsView
from studio.ui.panes.testing.matrix_view import Cell, MatrixView
from studio.ui.panes.testing.samples_view import SamplesView
from studio.widgets import icons, numbers, theme
from studio.widgets.labels.elided_label import ElidedLabel

_AROUND = 34
"""Pixels of the filter's button that its words do not have."""


_LEFT_OUT = (
    "What is masked or has weight 0 is left out here. As in Keras, metrics leave out what is "
    "masked; weights count in losses and weighted metrics."
)


class MatrixPanel(QWidget):
    """The matrix and the scores of each class; for numbers the errors, for labels their scores.

    Args:
        evaluation: what was measured.
        parent: the pane.
    """

    def __init__(self, evaluation: EvaluationModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = evaluation
        self.matrix = MatrixView(self)
        self.errors = ErrorsView(self)
        self.errors.asked.connect(evaluation.questions.ask_sample)
        self.matrix.chosen.connect(self._chosen)
        self.classes = ClassesView(self)
        self._pages = QStackedWidget(self)
        for page in (self.matrix, self.errors, self.classes):
            self._pages.addWidget(page)
        self.tabs = QTabBar(self)
        self.tabs.setObjectName("evidence_tabs")
        self.tabs.setAccessibleName("Evidence")
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        for title in ("Matrix", "Classes"):
            self.tabs.addTab(title)
        self.tabs.currentChanged.connect(self._show_page)
        self.shares = QToolButton(self)
        self.shares.setObjectName("matrix_shares")
        self.shares.setText("% of row")
        self.shares.setToolTip("Show percentages of each row instead of counts")
        self.shares.setCheckable(True)
        self.shares.setFont(theme.font("small"))
        self.shares.toggled.connect(self.matrix.show_shares)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.addWidget(self.tabs)
        self._title = QLabel(self)
        self._title.setFont(theme.font("ui"))
        self._left_out = ElidedLabel(self)
        self._left_out.setObjectName("left_out")
        self._left_out.setFont(theme.font("small"))
        self._left_out.setProperty("role", "faint")
        head.addWidget(self._title)
        head.addWidget(self._left_out, 1)
        head.addWidget(self.shares)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self._pages, 1)

    def refresh(self) -> None:
        """Show what was measured last."""
        results = self._evaluation.results
        outcome = None if results is None else results.outcome
        is_classes = isinstance(outcome, Classification)
        # Before there is anything, too: they must not move the matrix when they come.
        self.tabs.setVisible(is_classes or results is None)
        title = "Labels" if isinstance(outcome, Labels) else "Errors"
        self._title.setText("No targets to compare with" if outcome is None else title)
        self._title.setVisible(results is not None and not is_classes)
        left = 0 if outcome is None else int((~outcome.counts).sum())
        self._left_out.set_text(f"{numbers.count(left)} left out" if left else "")
        self._left_out.setToolTip(_LEFT_OUT if left else "")
        is_scored = isinstance(outcome, Classification | Labels)
        self.errors.show_outcome(
            outcome if isinstance(outcome, Regression) and not is_scored else None
        )
        self.classes.show_outcome(outcome if isinstance(outcome, Classification | Labels) else None)
        self.matrix.show_outcome(outcome if isinstance(outcome, Classification) else None)
        self._show_page()
        self.mark()

    def _show_page(self) -> None:
        """Show what applies to the outcome: of classes that which was chosen."""
        results = self._evaluation.results
        outcome = None if results is None else results.outcome
        page: QWidget = self.matrix
        if isinstance(outcome, Labels):
            page = self.classes
        elif isinstance(outcome, Regression):
            page = self.errors
        elif outcome is not None and self.tabs.currentIndex() == 1:
            page = self.classes
        self._pages.setCurrentWidget(page)
        self.shares.setVisible(page is self.matrix and outcome is not None)

    def mark(self) -> None:
        """Mark the cell whose samples are shown."""
        choice = self._evaluation.choice
        self.matrix.mark((choice.truth, choice.predicted) if choice.is_cell else None)

    def _chosen(self, cell: Cell | None) -> None:
        truth, predicted = cell if cell is not None else (-1, -1)
        choice = self._evaluation.choice
        self._evaluation.choose(
            replace(choice, truth=truth, predicted=predicted, wrong_only=False)
            if cell is not None
            else replace(choice, truth=-1, predicted=-1)
        )
        self.mark()


class CellFilter(QToolButton):
    """Names the cell whose samples are shown, and shows all again; long names are cut."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setObjectName("cell_filter")
        self.setFont(theme.font("small"))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(10, 10))
        # What it says asks for no room: the matrix beside it would give way.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        icons.keep(self, "close")

    def show_text(self, text: str) -> None:
        """Name another cell."""
        self._whole = text
        self.setAccessibleName(text)
        self.setToolTip(f"{text}\nShow all samples again")
        self.setMaximumWidth(self.fontMetrics().horizontalAdvance(text) + _AROUND)
        self._cut()

    def minimumSizeHint(self) -> QSize:
        return QSize(theme.HIT, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        room = max(0, self.width() - _AROUND)
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        # Ampersands are shown, not taken for the mark of a key.
        self.setText(shown.replace("&", "&&"))


class SamplesPanel(QWidget):
    """The samples chosen, with what chooses and orders them.

    Args:
        evaluation: what was measured.
        parent: the pane.
    """

    def __init__(self, evaluation: EvaluationModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = evaluation
        self.samples = SamplesView(evaluation, self)
        self.samples.asked.connect(evaluation.questions.ask_sample)
        self.order = QComboBox(self)
        self.order.setObjectName("sample_order")
        self.order.setAccessibleName("Order of samples")
        for order in ORDERS:
            self.order.addItem(order.capitalize(), order)
        self.order.activated.connect(self._ordered)
        self.wrong = QCheckBox("Wrong only", self)
        self.wrong.setObjectName("wrong_only")
        self.wrong.toggled.connect(self._wrong_only)
        self.cell = CellFilter(self)
        self.cell.clicked.connect(self._all_cells)
        self._count = QLabel(self)
        self._count.setFont(theme.font("small"))
        self._count.setProperty("role", "faint")
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.setSpacing(6)
        for widget in (self.order, self.wrong):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self._count)
        # In a line of its own, so that a click on a cell moves no cell from under the pointer.
        below = QHBoxLayout()
        below.setContentsMargins(8, 0, 8, 0)
        below.addWidget(self.cell, 1)
        below.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addLayout(below)
        column.addWidget(self.samples, 1)

    def refresh(self) -> None:
        """Show the samples chosen now."""
        evaluation = self._evaluation
        self.samples.refresh()
        results, choice = evaluation.results, evaluation.choice
        classes = results is not None and isinstance(results.outcome, Classification)
        self.wrong.setVisible(classes)
        self.wrong.blockSignals(True)
        self.wrong.setChecked(choice.wrong_only)
        self.wrong.blockSignals(False)
        self.order.setCurrentIndex(ORDERS.index(choice.order))
        self.cell.setVisible(choice.is_cell)
        if choice.is_cell and results is not None and isinstance(results.outcome, Classification):
            names = results.outcome.names
            truth, said = names[choice.truth], names[choice.predicted]
            text = f"{truth} recognised" if truth == said else f"{truth} predicted as {said}"
            self.cell.show_text(text)
        found = evaluation.samples
        self._count.setText("" if found is None else numbers.counted(len(found), "sample"))

    def _ordered(self, row: int) -> None:
        order: Order = ORDERS[row]
        self._evaluation.choose(replace(self._evaluation.choice, order=order))

    def _wrong_only(self, on: bool) -> None:
        self._evaluation.choose(replace(self._evaluation.choice, wrong_only=on))

    def _all_cells(self) -> None:
        self._evaluation.choose(replace(self._evaluation.choice, truth=-1, predicted=-1))
