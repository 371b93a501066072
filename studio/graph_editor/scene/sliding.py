"""Layers slide to their new places after an arrangement, so that the eye can follow them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEasingCurve, QObject, QPointF, QVariantAnimation

from studio.graph_editor.scene.overview import OVERVIEW_ZOOM
from studio.graph_editor.scene.scene import GraphScene
from studio.widgets import theme

SLIDE_MS = 150
_MOST = 400
"""Above this many layers the pictures on the way would come too slowly to explain anything."""


class Sliding:
    """Moves what is drawn from where it was to where the document has it.

    Only the drawing is between the places: the document is at its end from the start.

    Args:
        graph: the drawing.
        zoom: how large it is seen; from very far away nothing slides.
        parent: whose life counts.
    """

    def __init__(self, graph: GraphScene, zoom: Callable[[], float], parent: QObject) -> None:
        self._graph = graph
        self._zoom = zoom
        self._parent = parent
        self._run: QVariantAnimation | None = None
        self._ways: dict[str, tuple[QPointF, QPointF]] = {}

    @property
    def is_under_way(self) -> bool:
        return self._run is not None

    def begin(self, before: Mapping[str, tuple[float, float]]) -> None:
        """Slide things from where they were; what is drawn has arrived already."""
        self.finish()
        state = self._graph.state
        ways = {
            i: (QPointF(*was), QPointF(state.nodes[i].x, state.nodes[i].y))
            for i, was in before.items()
            if i in self._graph.nodes and was != (state.nodes[i].x, state.nodes[i].y)
        }
        length = theme.duration(SLIDE_MS)
        if not ways or not length or len(ways) > _MOST or self._zoom() < OVERVIEW_ZOOM:
            return
        self._ways = ways
        run = self._run = QVariantAnimation(self._parent)
        run.setDuration(length)
        run.setStartValue(0.0)
        run.setEndValue(1.0)
        run.setEasingCurve(QEasingCurve.Type.OutCubic)
        run.valueChanged.connect(self._put)
        run.finished.connect(self.finish)
        self._put(0.0)
        run.start()

    def finish(self) -> None:
        """Put everything where the document has it, at once."""
        run, self._run = self._run, None
        if run is None:
            return
        run.stop()
        run.deleteLater()
        self._put(1.0)
        self._ways = {}

    def _put(self, share: object) -> None:
        at = float(share)  # type: ignore[arg-type]
        places = {
            i: end if at == 1.0 else start + (end - start) * at
            for i, (start, end) in self._ways.items()
        }
        self._graph.place(places, is_final=at == 1.0)
