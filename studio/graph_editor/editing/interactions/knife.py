"""Cutting wires by drawing a line across them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt

from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.items.wire_paths import crosses
from studio.session.document.edits.wires import cut_wires
from studio.session.document.state import Wire

_STEP = 4.0


class Knife(Interaction):
    """A free line; the wires it crosses are marked, and cut when the button is released.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, gestures: Gestures, at: Pointer) -> None:
        super().__init__(gestures)
        self._line: list[QPointF] = [at.scene]
        self._crossed: dict[Wire, str] = {}

    def move(self, at: Pointer) -> None:
        away = at.scene - self._line[-1]
        if abs(away.x()) + abs(away.y()) < _STEP / self.context.navigation.zoom:
            return
        stretch = [self._line[-1], at.scene]
        self._line.append(at.scene)
        area = QRectF(*stretch).normalized().adjusted(-1, -1, 1, 1)
        for item in self.context.graph.wires_near(area):
            if item.wire not in self._crossed and crosses(item.points(), stretch):
                self._crossed[item.wire] = "cut"
        self.context.overlay.show_cut(self._line)
        self.context.marks.show_wires(dict(self._crossed))

    def release(self, at: Pointer) -> None:
        self.move(at)
        crossed = tuple(self._crossed)
        self.gestures.end()
        if crossed:
            count = len(crossed)
            text = f"Cut {count} wire{'' if count == 1 else 's'}"
            self.context.apply(text, lambda state: cut_wires(state, crossed))
