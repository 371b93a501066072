"""Changes the application's style sheet under open windows: what is seen first, then the rest.

Qt styles each widget as often as there are widgets around it where one sheet takes the place of
another, ten times in a pane, and styles twice all that there are where the first is taken away
before. Of a window with all its panes a quarter is seen. So the sheet is changed while Qt takes no
widget for styled, the visible ones are styled here, and hidden parts one by one behind that, or
when they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

_STYLED = (QEvent.Type.StyleChange, QEvent.Type.PaletteChange)
_IS_POLISHED = Qt.WidgetAttribute.WA_WState_Polished
_HAS_OWN_STYLE = Qt.WidgetAttribute.WA_SetStyle

_BETWEEN_MS = 5
"""Between two hidden parts, for what the user does meanwhile."""


def change_style_sheet(app: QApplication, palette: QPalette, sheet: str) -> None:
    """Give another palette and another sheet, of other colours, to all windows.

    Sizes must be those of the sheet before: hidden widgets are arranged by it until they are shown.

    Args:
        app: the application; it has a sheet already.
        palette: colours of what the sheet does not name.
        sheet: the style sheet.
    """
    seen: list[QWidget] = []
    hidden: list[QWidget] = []
    for window in app.topLevelWidgets():
        _sort(window, seen, hidden)
    polished = [widget for widget in app.allWidgets() if widget.testAttribute(_IS_POLISHED)]
    # What Qt knows of styled widgets, such as their palettes before, goes with the last sheet.
    last = QWidget()
    last.setStyleSheet("QWidget {}")
    app.setPalette(palette)
    with _unheard(app):
        for widget in seen:
            app.style().unpolish(widget)
        for widget in polished:
            widget.setAttribute(_IS_POLISHED, on=False)
        app.setStyleSheet("")
        app.setStyleSheet(sheet)
        for widget in polished:
            widget.setAttribute(_IS_POLISHED, on=True)
    _polish(app, seen)
    _rest.add(hidden)


def is_complete() -> bool:
    """Whether all widgets are styled, those that are hidden included."""
    return not any(isValid(part) for part in _rest.parts)


def _sort(widget: QWidget, seen: list[QWidget], hidden: list[QWidget]) -> None:
    """Divide what is in a widget: what is seen, and the outermost of what is not."""
    if not widget.isVisible():
        hidden.append(widget)
        return
    seen.append(widget)
    for child in widget.children():
        if isinstance(child, QWidget):
            _sort(child, seen, hidden)


def _polish(app: QApplication, widgets: Iterable[QWidget]) -> None:
    """Style widgets by the sheet, in the order in which Qt does; those inside others come later."""
    styled = list(widgets)
    for widget in styled:
        if not widget.testAttribute(_HAS_OWN_STYLE):
            app.style().polish(widget)
    for widget in styled:
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
        widget.update()


class _Unstyled(QObject):
    """A hidden widget that is still to be styled with all in it, at the latest when it is shown."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self.style()
        return False

    def style(self) -> None:
        """Style it by the sheet of the application."""
        app = QApplication.instance()
        if self in _rest.parts and isinstance(app, QApplication):
            _rest.parts.remove(self)
            self._widget.removeEventFilter(self)
            inside = (self._widget, *self._widget.findChildren(QWidget))
            styled = [widget for widget in inside if widget.testAttribute(_IS_POLISHED)]
            for widget in styled:
                app.style().unpolish(widget)
            _polish(app, styled)
            self.setParent(None)
            self.deleteLater()


class _Rest:
    """What is still to be styled."""

    def __init__(self) -> None:
        self.parts: list[_Unstyled] = []
        self._is_under_way = False

    def add(self, widgets: Iterable[QWidget]) -> None:
        """Style hidden widgets one by one, soon."""
        self.parts = [part for part in self.parts if isValid(part)]
        known = {part.parent() for part in self.parts}
        self.parts.extend(_Unstyled(widget) for widget in widgets if widget not in known)
        if not self._is_under_way:
            self._is_under_way = True
            self._wait()

    def _wait(self) -> None:
        QTimer.singleShot(_BETWEEN_MS, self._style_one)

    def _style_one(self) -> None:
        self.parts = [part for part in self.parts if isValid(part)]
        self._is_under_way = bool(self.parts)
        if self.parts:
            self.parts[0].style()
            self._wait()


_rest = _Rest()


class _Silence(QObject):
    """Keeps from all widgets that their style has changed."""

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        return event.type() in _STYLED


@contextmanager
def _unheard(app: QApplication) -> Iterator[None]:
    """Change the style for a moment: widgets hear of what follows, and need not arrange twice."""
    silence = _Silence()
    app.installEventFilter(silence)
    try:
        yield
    finally:
        app.removeEventFilter(silence)
