"""The studio's icons: drawn by us, coloured by role, sharp at every scale, following the theme."""

from __future__ import annotations

import weakref
from functools import cache
from typing import Protocol

import shiboken6
from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QColor, QIcon, QPainter
from PySide6.QtSvg import QSvgRenderer

from studio.widgets import theme
from studio.widgets.icon_files import path_of, shapes, svg


class _HasIcon(Protocol):
    def setIcon(self, icon: QIcon, /) -> None: ...


def names() -> tuple[str, ...]:
    """Every icon there is."""
    return tuple(shapes())


def icon(name: str, role: str = "text2", on: str = "accent") -> QIcon:
    """An icon as it looks in this theme; see `keep` for one that follows the theme.

    Args:
        name: an icon's name, or the icon itself as `icon_files.svg` takes it; KeyError for another
            name.
        role: its colour.
        on: its colour where the button or action is checked.
    """
    colour = theme.current().colour
    return _icon(name, colour(role), colour(on), colour("hairline"))


def keep(target: _HasIcon, name: str, role: str = "text2", on: str = "accent") -> None:
    """Give a button or an action an icon that follows the theme; a later one replaces it."""
    target.setIcon(icon(name, role, on))
    _kept[target] = (name, role, on)


def paint(painter: QPainter, name: str, rect: QRectF, colour: QColor) -> None:
    """Draw an icon where a view paints itself."""
    _renderer(name, colour.name()).render(painter, rect)


_kept: weakref.WeakKeyDictionary[_HasIcon, tuple[str, str, str]] = weakref.WeakKeyDictionary()


def _recolour() -> None:
    for target, (name, role, on) in list(_kept.items()):
        if shiboken6.isValid(target):
            target.setIcon(icon(name, role, on))


theme.changed.connect(_recolour)


@cache
def _icon(shape: str, off: str, on: str, disabled: str) -> QIcon:
    found = QIcon()
    found.addFile(path_of(shape, off))
    found.addFile(path_of(shape, on), state=QIcon.State.On)
    found.addFile(path_of(shape, disabled), mode=QIcon.Mode.Disabled)
    return found


@cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg(name, colour).encode()))
