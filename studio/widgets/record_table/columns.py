"""Columns of a table of records: text, appearance, sort order and editing of their cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtGui import QBrush, QColor, QIcon
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate

from studio.widgets.theme import FontKind

R = TypeVar("R")


@dataclass(frozen=True)
class Tick(Generic[R]):
    """A box to tick in front of a cell.

    Attributes:
        is_on: whether it is ticked.
        take: the user ticked it, or took the tick away.
        may_change: whether the user can.
        is_there: whether the record has a box.
    """

    is_on: Callable[[R], bool]
    take: Callable[[R, bool], object]
    may_change: Callable[[R], bool] = lambda _record: True
    is_there: Callable[[R], bool] = lambda _record: True


@dataclass(frozen=True)
class Edit(Generic[R]):
    """A cell whose text the user can change.

    Attributes:
        start: the text to begin with.
        take: called with the text the user has written.
    """

    start: Callable[[R], str]
    take: Callable[[R, str], object]


@dataclass(frozen=True)
class Column(Generic[R]):
    """One column of a table of records; a list has one.

    Attributes:
        key: its identity, in menus, orders and choices of the user.
        title: its heading.
        text: what stands in a cell.
        tip: what the column says, on its heading.
        name: what it is called where there is no heading; the title where this is empty.
        tooltip: what a cell says when the pointer rests on it.
        spoken: what screen readers say of a cell, where that is not its text.
        exact: a cell in copies, with every digit; its text where this is None.
        order: what rows are sorted by; rows for which it is None come last.
        is_number: its cells are right-aligned.
        is_shown: it is there until the user hides it.
        is_fixed: the user cannot hide it.
        is_copied: copies contain it.
        colour: the theme's colour for the text of a cell; None for the usual one.
        ground: what lies under a cell; None for nothing.
        icon: what stands in front of the text: an icon, or a colour.
        font: which font its cells have; None for that of the view.
        tick: a box in front of its cells.
        edit: how its cells are changed.
        painter: makes what paints its cells, for a view; None where the style does.
    """

    key: str
    title: str
    text: Callable[[R], str]
    tip: str = ""
    name: str = ""
    tooltip: Callable[[R], str | None] | None = None
    spoken: Callable[[R], str] | None = None
    exact: Callable[[R], str] | None = None
    order: Callable[[R], Any] | None = None
    is_number: bool = False
    is_shown: bool = True
    is_fixed: bool = False
    is_copied: bool = True
    colour: Callable[[R], str | None] | None = None
    ground: Callable[[R], QBrush | None] | None = None
    icon: Callable[[R], QIcon | QColor] | None = None
    font: FontKind | None = None
    tick: Tick[R] | None = None
    edit: Edit[R] | None = None
    painter: Callable[[QAbstractItemView, Column[R]], QStyledItemDelegate] | None = None

    @property
    def words(self) -> str:
        """What it is called."""
        return self.name or self.title
