"""The samples behind a measurement, as cards: what each is, what it is taken for, how surely."""

from __future__ import annotations

from collections import OrderedDict

from PySide6.QtCore import QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from studio.engine.train.network.measures import (
    Array,
    Classification,
    PositionClassification,
    Regression,
)
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.evaluation.form import default_names
from studio.session.evaluation.results import Results
from studio.ui.panes.testing.pictures import sample_image, scaled
from studio.widgets import binding, icons, numbers, theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel
from studio.widgets.record_table.views import CellPainter, RecordList

_SIDE = 64
_CARD = QSize(84, 104)
_ROW = QSize(188, 62)
_KEPT = 2000
_FEATURES = 4
_NUMBERS = 6
"""Numbers of an input that a card shows where there are several inputs."""
_SAID = 12


class SamplesView(RecordList):
    """Cards of samples.

    Attributes:
        asked: the user wants to know more about a sample.

    Args:
        evaluation: what was measured.
        parent: the pane.
    """

    asked = Signal(int)

    def __init__(self, evaluation: EvaluationModel, parent: QWidget | None = None) -> None:
        self._evaluation = evaluation
        self.results: Results | None = None
        entries: RecordModel[int] = RecordModel((self._column(),))
        super().__init__(entries, "test_samples", "Samples", parent)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMovement(QListView.Movement.Static)
        self.setSpacing(2)
        self.setFont(theme.font("small"))
        self.clicked.connect(self._asked)
        self.activated.connect(self._asked)
        binding.connect(self, theme.changed, self.viewport().update)

    def refresh(self) -> None:
        """Show the samples chosen now."""
        found = self._evaluation.samples
        self.results = self._evaluation.results
        self.entries.take(() if found is None else found.tolist())

    def _column(self) -> Column[int]:
        def text(sample: int) -> str:
            return "" if self.results is None else sentence(self.results, sample)

        def tooltip(sample: int) -> str:
            lines = [] if self.results is None else features(self.results, sample, 24)
            return "\n".join([text(sample), *lines])

        return Column("sample", "Samples", text, tooltip=tooltip, painter=_CardPainter)

    def _asked(self, index: QModelIndex) -> None:
        sample = self.entries.record(index.row())
        if sample is not None:
            self.asked.emit(sample)


class _CardPainter(CellPainter[int]):
    """Paints a sample with what is said of it."""

    def __init__(self, view: QAbstractItemView, column: Column[int]) -> None:
        super().__init__(view, column)
        self._view = view
        self._images: OrderedDict[tuple[int, int, int], QImage] = OrderedDict()

    @property
    def _results(self) -> Results | None:
        return self._view.results if isinstance(self._view, SamplesView) else None

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        results = self._results
        if results is None or is_pictured(results):
            return _CARD
        line = QFontMetricsF(option.font).height()
        if len(results.inputs) > 1:
            pictures = pictured(results)
            lines = 1 + len(results.inputs) - len(pictures)
            wide = max(_ROW.width(), len(pictures) * (_SIDE + 4) + 16)
            return QSize(wide, round(lines * line) + 18 + (_SIDE + 2 if pictures else 0))
        shown = min(_FEATURES, results.inputs[0][0].size)
        high = line * (1 + -(-shown // 2))
        return QSize(_ROW.width(), round(high) + 18)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        results, sample = self._results, self.record(index)
        if results is None or sample is None:
            return
        rect: QRect = option.rect
        painter.save()
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.colour("accent") if chosen else Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("hover" if over or chosen else "field"))
        painter.drawRoundedRect(QRectF(rect).adjusted(2.5, 2.5, -2.5, -2.5), 4, 4)
        inside = rect.adjusted(6, 6, -6, -6)
        inside = self._paint_pictures(painter, inside, results, sample)
        if not is_pictured(results):
            inside = self._paint_features(painter, option, inside, results, sample)
        self._paint_words(painter, option, inside, results, sample)
        painter.restore()

    def _paint_pictures(
        self, painter: QPainter, inside: QRect, results: Results, sample: int
    ) -> QRect:
        """The pictures of a sample side by side; what room is left below."""
        places = pictured(results)
        if not places:
            return inside
        ratio = painter.device().devicePixelRatioF()
        left = inside.center().x() - (len(places) - 1) * (_SIDE + 4) / 2 + 0.5
        for number, place in enumerate(places):
            image = scaled(self._image(results, sample, place), _SIDE, ratio)
            wide = image.width() / ratio
            middle = left + number * (_SIDE + 4)
            painter.drawImage(
                QRectF(middle - wide / 2, inside.top(), wide, image.height() / ratio), image
            )
        inside.setTop(inside.top() + _SIDE + 2)
        return inside

    def _paint_features(
        self, painter: QPainter, option: QStyleOptionViewItem, inside: QRect, results: Results,
        sample: int,
    ) -> QRect:  # fmt: skip
        metrics = QFontMetricsF(option.font)
        painter.setPen(theme.colour("text2"))
        several = len(results.inputs) > 1
        found = features(results, sample, _NUMBERS if several else _FEATURES)
        beside = 1 if several else 2
        lines = ["   ".join(found[n : n + beside]) for n in range(0, len(found), beside)]
        for n, text in enumerate(lines):
            line = QRectF(inside.left(), inside.top() + n * metrics.height(), inside.width(),
                          metrics.height())  # fmt: skip
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, inside.width())
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, shown)
        inside.setTop(round(inside.top() + len(lines) * metrics.height() + 2))
        return inside

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, inside: QRect, results: Results,
        sample: int,
    ) -> None:  # fmt: skip
        outcome = results.outcome
        metrics = QFontMetricsF(option.font)
        if isinstance(outcome, PositionClassification):
            wrong = bool(outcome.wrong[sample])
            first, second = f"{numbers.share(float(outcome.right[sample]), 2)} right", ""
            role = "error" if wrong else "ok"
        elif isinstance(outcome, Classification):
            wrong = bool(outcome.wrong[sample])
            said = outcome.names[int(outcome.predicted[sample])]
            truth = outcome.names[int(outcome.truth[sample])]
            first = f"{said} {numbers.share(float(outcome.confidence[sample]), 2)}"
            second = f"is {truth}" if wrong else ""
            role = "error" if wrong else "ok"
        elif outcome is None:
            first, second, role, wrong = "no targets", "", "text2", False
        else:
            predicted = row_text(outcome.predicted[sample], _NUMBERS)
            truth = row_text(outcome.truth[sample], _NUMBERS)
            first, second, role, wrong = predicted, f"is {truth}", "text", False
        counts = outcome is None or bool(outcome.counts[sample].any())
        if not counts:
            first, second, role = "not counted", "", "text2"
        high = metrics.height()
        icon = 10 if counts and isinstance(outcome, Classification) else 0
        if icon:
            place = QRectF(inside.left(), inside.top() + (high - icon) / 2, icon, icon)
            icons.paint(painter, "close" if wrong else "check", place, theme.colour(role))
        painter.setPen(theme.colour(role))
        wide = inside.width() - icon - 2
        if is_pictured(results):
            line = QRectF(inside.left() + icon + 2, inside.top(), wide, high)
            painter.drawText(line, 0, metrics.elidedText(first, Qt.TextElideMode.ElideRight, wide))
            painter.setPen(theme.colour("text2"))
            line = QRectF(inside.left() + icon + 2, inside.top() + high - 1, wide, high)
            painter.drawText(line, 0, metrics.elidedText(second, Qt.TextElideMode.ElideRight, wide))
            return
        text = f"{first}   {second}"
        line = QRectF(inside.left() + icon + 4, inside.top(), wide, high)
        painter.drawText(line, 0, metrics.elidedText(text, Qt.TextElideMode.ElideRight, wide))

    def _image(self, results: Results, sample: int, place: int) -> QImage:
        rows, facts = results.inputs[place], results.facts[place]
        key = (id(rows), sample, place)
        found = self._images.get(key)
        if found is None:
            found = sample_image(rows[sample], facts.value_range)
            self._images[key] = found
            if len(self._images) > _KEPT:
                self._images.popitem(last=False)
        return found


def is_pictured(results: Results) -> bool:
    """Whether samples are pictures, and nothing else."""
    return len(results.inputs) == 1 and bool(pictured(results))


def pictured(results: Results) -> list[int]:
    """Places of the inputs that are shown as pictures."""
    return [place for place, rows in enumerate(results.inputs) if rows.ndim >= 3]


def features(results: Results, sample: int, most: int) -> list[str]:
    """Numbers of a sample that is no picture: ``petal length 1.4``.

    Of a sample of several inputs a line for each input of numbers: ``left: 0.3, 1.2``.
    """
    if is_pictured(results):
        return []
    if len(results.inputs) > 1:
        seen = pictured(results)
        return [
            f"{facts.name}: {row_text(rows[sample], most)}"
            for place, (rows, facts) in enumerate(zip(results.inputs, results.facts, strict=True))
            if place not in seen
        ]
    row = results.inputs[0][sample].reshape(-1)
    names = results.facts[0].feature_names or default_names(len(row))
    if len(names) != len(row):
        names = default_names(len(row))
    shown = [f"{name} {numbers.number(float(v), 3)}" for name, v in zip(names, row, strict=True)]
    return shown[:most]


def row_text(row: Array, most: int) -> str:
    """The first numbers of a row: ``0.3, 1.2, …``."""
    flat = row.reshape(-1)
    shown = ", ".join(numbers.number(float(v), 3) for v in flat[:most])
    return f"{shown}, …" if len(flat) > most else shown


def sentence(results: Results, sample: int) -> str:
    """What is said of a sample, in words."""
    outcome = results.outcome
    if outcome is None:
        return f"Sample {sample}: the output has no targets"
    if not outcome.counts[sample].any():
        return f"Sample {sample}: not counted, it is masked or has weight 0"
    loss = numbers.number(float(outcome.losses[sample]), 3)
    if isinstance(outcome, Regression):
        said = ", ".join(numbers.number(float(v)) for v in outcome.predicted[sample][:_SAID])
        truth = ", ".join(numbers.number(float(v)) for v in outcome.truth[sample][:_SAID])
        if len(outcome.truth[sample]) > _SAID:
            said, truth = f"{said}, …", f"{truth}, …"
        return f"Sample {sample}: predicted {said}, is {truth}, error {loss}"
    if isinstance(outcome, PositionClassification):
        right = numbers.share(float(outcome.right[sample]))
        return f"Sample {sample}: {right} of its positions recognised, loss {loss}"
    said = outcome.names[int(outcome.predicted[sample])]
    truth = outcome.names[int(outcome.truth[sample])]
    share = numbers.share(float(outcome.confidence[sample]))
    how = f"recognised as {said}" if said == truth else f"{truth} predicted as {said}"
    return f"Sample {sample}: {how} with {share}, loss {loss}"
