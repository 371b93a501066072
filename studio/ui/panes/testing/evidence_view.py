"""The evidence: the confusion matrix or the errors, and the samples behind them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.ui.kit import icons, numbers, theme
from studio.ui.models.evaluation import EvaluationModel
from studio.ui.models.evaluation_evidence import ORDERS, Order
from studio.ui.models.evaluation_measures import Classification, Regression
from studio.ui.panes.testing.errors_view import ErrorsView
from studio.ui.panes.testing.matrix_view import Cell, MatrixView
from studio.ui.panes.testing.samples_view import SamplesView


class MatrixPanel(QWidget):
    """The matrix, or for numbers the errors.

    Args:
        evaluation: what was measured.
        parent: the pane.
    """

    def __init__(self, evaluation: EvaluationModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = evaluation
        self.matrix = MatrixView(self)
        self.errors = ErrorsView(self)
        self.errors.asked.connect(evaluation.ask_sample)
        self.matrix.chosen.connect(self._chosen)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.matrix)
        self._pages.addWidget(self.errors)
        self.shares = QToolButton(self)
        self.shares.setObjectName("matrix_shares")
        self.shares.setText("Show % of row")
        self.shares.setToolTip("Show the share of each row instead of counts")
        self.shares.setCheckable(True)
        self.shares.setFont(theme.font("small"))
        self.shares.toggled.connect(self.matrix.show_shares)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        self._title = QLabel(self)
        self._title.setFont(theme.font("ui"))
        head.addWidget(self._title)
        head.addStretch(1)
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
        is_numbers = isinstance(outcome, Regression)
        self.shares.setVisible(not is_numbers)
        self._title.setText("Errors" if is_numbers else "Confusion matrix")
        self._pages.setCurrentWidget(self.errors if is_numbers else self.matrix)
        self.errors.show_outcome(outcome if isinstance(outcome, Regression) else None)
        self.matrix.show_outcome(outcome if isinstance(outcome, Classification) else None)
        self.mark()

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
        self.samples.asked.connect(evaluation.ask_sample)
        self.order = QComboBox(self)
        self.order.setObjectName("sample_order")
        self.order.setAccessibleName("Order of samples")
        for order in ORDERS:
            self.order.addItem(order.capitalize(), order)
        self.order.activated.connect(self._ordered)
        self.wrong = QCheckBox("Wrong only", self)
        self.wrong.setObjectName("wrong_only")
        self.wrong.toggled.connect(self._wrong_only)
        self.cell = QToolButton(self)
        self.cell.setObjectName("cell_filter")
        self.cell.setFont(theme.font("small"))
        self.cell.setToolTip("Show all samples again")
        self.cell.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.cell.setIconSize(QSize(10, 10))
        icons.keep(self.cell, "close")
        self.cell.clicked.connect(self._all_cells)
        self._count = QLabel(self)
        self._count.setFont(theme.font("small"))
        self._count.setProperty("role", "faint")
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.setSpacing(6)
        for widget in (self.order, self.wrong, self.cell):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self._count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
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
            text = f"{truth} recognised" if truth == said else f"{truth} taken for {said}"
            self.cell.setText(text)
        found = evaluation.samples
        self._count.setText("" if found is None else numbers.counted(len(found), "sample"))

    def _ordered(self, row: int) -> None:
        order: Order = ORDERS[row]
        self._evaluation.choose(replace(self._evaluation.choice, order=order))

    def _wrong_only(self, on: bool) -> None:
        self._evaluation.choose(replace(self._evaluation.choice, wrong_only=on))

    def _all_cells(self) -> None:
        self._evaluation.choose(replace(self._evaluation.choice, truth=-1, predicted=-1))
