"""Hands for tests of the listing: where things are, and how a person points at them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.pane import ListingPane


def place_of(pane: ListingPane, mnemonic: str, start: int = 0) -> int:
    rows = pane.listing.rows
    assert rows is not None
    found = (
        place
        for place, line in enumerate(pane.view.lines)
        if place >= start and line.kind == "instruction" and rows.mnemonic(line.row) == mnemonic
    )
    return next(found)


def move_to(pane: ListingPane, at: QPoint) -> None:
    """Move the pointer as the window system would tell of it."""
    spot = QPointF(at)
    screen = QPointF(pane.view.viewport().mapToGlobal(at))
    none = Qt.MouseButton.NoButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, spot, screen, none, none, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(pane.view.viewport(), event)


def leave(pane: ListingPane) -> None:
    QApplication.sendEvent(pane.view, QEvent(QEvent.Type.Leave))


def click(pane: ListingPane, at: QPoint, held: Qt.KeyboardModifier | None = None) -> None:
    modifiers = held or Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, modifiers, at)


def click_line(pane: ListingPane, place: int) -> None:
    """Click on the number of a line."""
    click(pane, QPoint(48, pane.view.spot_rect(place).center().y()))


def operand_place(pane: ListingPane, place: int, operand: int) -> QPoint:
    return pane.view.spot_rect(place, operand).center()


def tensor_of(pane: ListingPane, name: str, *, grad: bool = False) -> Ref:
    rows = pane.listing.rows
    assert rows is not None
    return Ref(rows.program.tensors.named(name).id, grad)


def answer_of(pane: ListingPane) -> str:
    label = pane.search.findChild(QLabel, "listing.search.answer")
    assert label is not None
    return label.text()


def age_of(pane: ListingPane) -> str:
    label = pane.findChild(QLabel, "listing.age")
    assert label is not None
    return label.text()
