"""A person before the whole window: clicks, keys and eyes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QMenu,
    QScrollArea,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.graph_editor.editing.fix_chips import FixChip
from studio.instruction_view.listing.pane import ListingPane
from studio.session.document.document import Document
from studio.session.studio import Studio
from studio.ui.panes.profiler.kernel_table import KernelTable
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.window import MainWindow

T = TypeVar("T")
W = TypeVar("W", bound=QWidget)
LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
WAIT_MS = 30_000


def in_sight(widget: QWidget) -> bool:
    """Whether any of it can be seen: a pane behind another tab counts as visible for Qt.

    What is covered by opaque parts of its own is seen by them.
    """
    if not widget.isVisible():
        return False
    parts = [widget, *widget.findChildren(QWidget)]
    return any(part.isVisible() and not part.visibleRegion().isEmpty() for part in parts)


def _named(place: QWidget, kind: type[W], name: str) -> list[W]:
    """What stands inside, by kind and, where one is given, by name."""
    return place.findChildren(kind, name) if name else place.findChildren(kind)


class Person:
    """Works with the window by events; counts what a stop-watch would call an action.

    Args:
        qtbot: waits.
        window: what is before the person.
    """

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot = qtbot
        self.window = window
        self.actions = 0

    @property
    def studio(self) -> Studio:
        """For looking at what came of it, never for doing."""
        return self.window.studio

    @property
    def canvas(self) -> CanvasView:
        found = self.window.canvas
        assert isinstance(found, CanvasView)
        return found

    # -- eyes -------------------------------------------------------------------------------------

    def see(self, kind: type[W], name: str = "", inside: QWidget | None = None) -> W:
        """A visible widget of a kind and name."""
        place = inside or self.window
        found = [w for w in _named(place, kind, name) if in_sight(w)]
        assert found, f"no {kind.__name__} {name!r} is in sight"
        return found[0]

    def reach(self, kind: type[W], name: str, inside: QWidget | None = None) -> W:
        """A widget of a kind and name, scrolled into sight."""

        def look() -> W | None:
            widget = area = (inside or self.window).findChild(kind, name)
            if widget is None:
                return None
            while area is not None and not isinstance(area, QScrollArea):
                area = area.parentWidget()
            if area is not None:
                area.ensureWidgetVisible(widget)
            return widget if in_sight(widget) else None

        return self.until(look, 2 * WAIT_MS)

    def button(self, text: str, inside: QWidget | None = None) -> QAbstractButton:
        """A visible button by what is written on it, or by its name for screen readers."""
        places = [inside] if inside else [self.window, *QApplication.topLevelWidgets()]
        for place in places:
            for each in place.findChildren(QAbstractButton):
                words = (each.text().replace("&", ""), each.accessibleName())
                if each.isVisible() and text in words:
                    return each
        raise AssertionError(f"no button {text!r} is in sight")

    def sees(self, kind: type[W], name: str = "") -> W | None:
        """A visible widget of a kind and name, if there is one."""
        found = _named(self.window, kind, name)
        return next((w for w in found if in_sight(w)), None)

    def card(self, name: str) -> QAbstractButton:
        """The card of a sample project on the welcome page."""
        return self.see(QAbstractButton, f"sample.{name}")

    def first_chip(self) -> FixChip | None:
        """The first repair offered on the canvas."""
        return next(iter(self.canvas.fixes.chips), None)

    def slowest_layer(self, table: KernelTable, among: Collection[str] = ()) -> str:
        """Click the slowest kernel that works for a layer; gives the one marked on the canvas."""
        layers = set(among or self.studio.document.state.nodes)
        for _ in range(10):
            rows = table.entries.rows
            row = next(place for place, row in enumerate(rows) if layers & set(row.owners))
            shares = [row.share for row in rows]
            assert shares == sorted(shares, reverse=True)
            at = QPoint(20, table.rowViewportPosition(row) + table.rowHeight(row) // 2)
            self.click(table.viewport(), at)
            (chosen,) = table.chosen()
            if chosen.id == rows[row].id:
                break
            # It was measured anew and sorted between the look and the click, which is made again.
            self.actions -= 1
        marked = {name: self.canvas.marks.of(name).selected for name in layers}
        assert {name for name, mark in marked.items() if mark} <= set(chosen.owners)
        (primary,) = (name for name, mark in marked.items() if mark == "primary")
        return primary

    def tab(self, text: str) -> tuple[QTabBar, QPoint] | None:
        """A tab by what is written on it, and where to click it."""
        for bar in self.window.findChildren(QTabBar):
            for place in range(bar.count()):
                if bar.isVisible() and bar.tabText(place) == text:
                    return bar, bar.tabRect(place).center()
        return None

    def menu(self) -> QMenu | None:
        """The menu that is open."""
        popup = QApplication.activePopupWidget()
        return popup if isinstance(popup, QMenu) else None

    def until(self, wanted: Callable[[], T | None], timeout: int = WAIT_MS) -> T:
        """Wait until there is something other than nothing; gives it back."""
        found: list[T] = []

        def look() -> bool:
            seen = wanted()
            if seen:
                found.append(seen)
            return bool(seen)

        self.qtbot.waitUntil(look, timeout=timeout)
        return found[-1]

    # -- hands ------------------------------------------------------------------------------------

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        self.actions += 1
        place = widget.rect().center() if at is None else at
        QTest.mouseMove(widget, place)
        QTest.mouseClick(widget, LEFT, NONE, place)

    def double_click(self, widget: QWidget, at: QPoint) -> None:
        self.actions += 1
        QTest.mouseClick(widget, LEFT, NONE, at)
        QTest.mouseDClick(widget, LEFT, NONE, at)

    def press(self, *keys: str) -> None:
        """Key presses, such as ``Ctrl+Shift+P``, where the focus is."""
        for key in keys:
            self.actions += 1
            QTest.keySequence(self._focus(), key)
            QApplication.processEvents()

    def type(self, text: str) -> None:
        """Letters, where the focus is; one action."""
        self.actions += 1
        QTest.keyClicks(self._focus(), text)
        QApplication.processEvents()

    def fill(self, field: QLineEdit, text: str) -> None:
        """Put a text into a field in place of what is there, and settle on it; one action."""
        before = self.actions
        # A dialog that was just opened is not the active window yet; keys would go elsewhere.
        self.until(field.window().isActiveWindow)
        QTest.mouseClick(field, LEFT, NONE, field.rect().center())
        self.until(field.hasFocus)
        self.press("Ctrl+A")
        self.type(text)
        self.press("Return" if field.window() is self.window else "Tab")
        self.actions = before + 1

    def pick(self, box: QComboBox, text: str) -> None:
        """Open a box and click an entry of it."""
        self.click(box)
        popup = self.until(lambda: box.view() if box.view().isVisible() else None)
        place = box.findText(text)
        assert place >= 0, f"there is no {text!r}"
        entry = box.model().index(place, 0)

        def pointed_at() -> QPoint | None:
            popup.scrollTo(entry)
            area = popup.visualRect(entry)
            at = QPoint(area.left() + 8, area.center().y())
            QTest.mouseMove(popup.viewport(), at)
            # A popup that is still taking its size has other entries there a moment later.
            QApplication.processEvents()
            return at if popup.indexAt(at) == entry and popup.currentIndex() == entry else None

        self.click(popup.viewport(), self.until(pointed_at))
        # A popup that still closes would take the next click.
        self.until(lambda: not popup.isVisible())

    def point_at_canvas(self) -> None:
        """Put the focus on the empty canvas by a click, and the pointer with it."""
        view = self.canvas
        self.click(view.viewport(), QPoint(view.viewport().width() // 2, 24))

    def new_project(self) -> Callable[[], Document]:
        """Begin with an empty canvas; gives what looks at the document."""
        self.click(self.button("Blank"))
        self.until(lambda: self.window.canvas is not None and self.canvas.isVisible())
        self.point_at_canvas()
        return lambda: self.studio.document

    def click_chip(self, chip: FixChip) -> None:
        """Take a repair; chips keep their size on the screen at any zoom."""
        at = self.canvas.view_point(chip.scenePos()) + chip.boundingRect().center()
        self.click(self.canvas.viewport(), at.toPoint())

    def click_layer(self, node_id: str) -> None:
        """Click the head of a card, which selects its layer."""
        before = self.actions

        def selected() -> bool:
            area = self.canvas.graph.nodes[node_id].scene_area
            at = self.canvas.view_point(QPointF(area.center().x(), area.top() + 12)).toPoint()
            self.click(self.canvas.viewport(), at)
            # A card that still moves to its place may be missed; it is clicked again.
            return self.canvas.marks.of(node_id).selected == "primary"

        self.until(selected)
        self.actions = before + 1

    def click_instruction(self, node_id: str) -> None:
        """Click the number of a line in sight of the listing that works for a layer."""
        view = self.see(ListingPane).view
        area = view.viewport().rect()
        made_by = self.studio.compilation.provenance.nodes_of
        at = next(
            spot
            for place, line in enumerate(view.lines)
            if line.kind == "instruction" and node_id in {owner for owner, _ in made_by(line.row)}
            if area.contains(spot := QPoint(48, view.spot_rect(place).center().y()))
        )
        self.click(view.viewport(), at)

    def command(self, words: str) -> None:
        """A command out of the palette: open it, type, Enter."""
        self.press("Ctrl+Shift+P")
        self.until(lambda: isinstance(QApplication.activePopupWidget(), Finder))
        self.type(words)
        self.press("Return")

    def add(self, word: str) -> None:
        """A layer out of the search field of the canvas: Tab, type, Enter."""
        self.press("Tab")
        self.until(lambda: self.canvas.searches.popup.is_open)
        self.type(word)
        self.press("Return")

    def _focus(self) -> QWidget:
        popup = QApplication.activePopupWidget()
        if popup is not None:
            return popup.focusWidget() or popup
        return QApplication.focusWidget() or QApplication.activeWindow() or self.window
