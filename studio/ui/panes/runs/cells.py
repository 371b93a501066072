"""Columns of the table of runs: the texts of its cells, and how they are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem

from studio.session.runs.columns import Cell, Kind, RunColumn
from studio.session.runs.records import RunRecord
from studio.session.runs.runs import RunList
from studio.widgets import icons, numbers, theme
from studio.widgets.record_table.columns import Column, Edit, Tick
from studio.widgets.record_table.model import Index
from studio.widgets.record_table.views import CellPainter

SWATCH = 10
_STATE_ROLES = {"failed": "error", "running": "ok", "unfinished": "warning"}


def cells_of(
    runs: RunList, columns: Sequence[RunColumn], rename: Callable[[str, str], object]
) -> tuple[Column[RunRecord], ...]:
    """The columns of the table.

    Args:
        runs: the list of runs.
        columns: what can be shown of them.
        rename: the user gave a run another name: its name and what to call it.
    """
    return tuple(_cells(runs, column, rename) for column in columns)


def _cells(
    runs: RunList, column: RunColumn, rename: Callable[[str, str], object]
) -> Column[RunRecord]:
    is_title, is_star, is_state = (column.id == each for each in ("title", "star", "state"))

    def text(run: RunRecord) -> str:
        return runs.word(run) if is_state else shown_text(column.kind, column.value(run))

    def take(run: RunRecord, text: str) -> None:
        if text.strip() != run.title:
            rename(run.name, text)

    return Column(
        column.id, column.title, text, tip=column.tip, name="Star" if is_star else "",
        tooltip=lambda run: _tip(run, column, runs.word(run)),
        spoken=(lambda run: "starred" if run.notes.star else "not starred") if is_star else None,
        exact=lambda run: exact_text(column.kind, column.value(run)),
        is_number=column.kind not in ("text", "date", "star"), is_shown=column.shown,
        is_fixed=is_title, colour=lambda run: _colour(runs, run, column),
        tick=Tick(
            lambda run: run.name in runs.drawn, lambda run, on: runs.draw(run.name, on),
            lambda run: runs.may_choose(run.name),
        ) if is_title else None,
        edit=Edit(lambda run: run.notes.title or run.title, take) if is_title else None,
        painter=_StarPainter if is_star else
        (lambda view, cells: _TitlePainter(view, cells, runs)) if is_title else _CellPainter,
    )  # fmt: skip


def face_of(runs: RunList, run: RunRecord) -> object:
    """All that decides how a run's row looks, beside its columns."""
    # A record is replaced when anything about the run changes.
    drawn, name = runs.drawn, run.name
    ticked = (name in drawn, len(drawn) > 1, runs.may_choose(name))
    return (id(run), runs.word(run), name == runs.active, *ticked)


def _colour(runs: RunList, run: RunRecord, column: RunColumn) -> str | None:
    if run.notes.archived:
        return "text3"
    if column.id == "state":
        return "warning" if run.verdict[0] else _STATE_ROLES.get(run.state, "text2")
    return "accent" if column.id == "title" and run.name == runs.active else None


def _tip(run: RunRecord, column: RunColumn, word: str) -> str:
    if column.id in ("title", "state"):
        lines = [run.title, f"{word}. {run.reason}".strip(), run.verdict[1], run.problem]
        lines.append(run.notes.text)
        return "\n".join(line for line in lines if line)
    text = exact_text(column.kind, column.value(run))
    note = column.note(run) if text else ""
    return "\n".join(line for line in (column.tip, text, note.capitalize()) if line)


class _CellPainter(CellPainter[RunRecord]):
    """Paints a cell without a frame of its own."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        # A rectangle around one cell would say that it is chosen apart from its row.
        option.state &= ~QStyle.StateFlag.State_HasFocus
        super().paint(painter, option, index)
        run = self.record(index)
        if run is not None:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.paint_mark(painter, option.rect, run)
            painter.restore()

    def paint_mark(self, painter: QPainter, rect: QRect, run: RunRecord) -> None:
        """Paint what stands over the text."""


class _StarPainter(_CellPainter):
    """Paints the star of a run."""

    def paint_mark(self, painter: QPainter, rect: QRect, run: RunRecord) -> None:
        side = 14.0
        place = QRectF(rect.center().x() - side / 2 + 1, rect.center().y() - side / 2 + 1,
                       side, side)  # fmt: skip
        name, role = ("star-full", "warning") if run.notes.star else ("star", "hairline")
        icons.paint(painter, name, place, theme.colour(role))


class _TitlePainter(_CellPainter):
    """Paints the colour a run's curves have, at the right of its name."""

    def __init__(self, view: QAbstractItemView, column: Column[RunRecord], runs: RunList) -> None:
        super().__init__(view, column)
        self._runs = runs

    def paint_mark(self, painter: QPainter, rect: QRect, run: RunRecord) -> None:
        drawn = self._runs.drawn
        if len(drawn) > 1 and run.name in drawn:
            style = self._runs.overlay.style(run.name)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(f"series.{style.series}"))
            middle = QPointF(rect.right() - SWATCH, rect.center().y() + 0.5)
            painter.drawEllipse(middle, SWATCH / 2 - 1, SWATCH / 2 - 1)


def shown_text(kind: Kind, value: Cell) -> str:
    """A value as its column writes it; nothing for none."""
    if value is None or kind == "star":
        return ""
    if isinstance(value, str):
        return value
    if kind == "share":
        return numbers.share(float(value))
    if kind == "count":
        return numbers.count(int(value))
    if kind == "duration":
        return numbers.duration(float(value))
    if kind == "date":
        return datetime.fromtimestamp(float(value)).astimezone().strftime("%d %b %H:%M")
    return numbers.number(float(value))


def exact_text(kind: Kind, value: Cell) -> str:
    """A value with every digit, for copies."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if kind == "date" and not isinstance(value, str):
        return datetime.fromtimestamp(float(value)).astimezone().isoformat(timespec="seconds")
    return value if isinstance(value, str) else repr(value)
