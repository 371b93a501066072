"""Pictures of what layers make of a sample, as the canvas paints them."""

from __future__ import annotations

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from studio.engine.core.signal import Signal
from studio.graph_editor.items.node_paint import NEAR
from studio.graph_editor.items.node_picture import NodePicture
from studio.graph_editor.scene.navigation import Navigation
from studio.graph_editor.scene.scene import GraphScene
from studio.session.core.preferences import Preferences
from studio.session.preview.preview import NodePreviews, Pixels
from studio.widgets import binding

_RATE = 5.0
_SHOWN = ("thumbnail", "full")


class NodePictures:
    """Asks for the previews of layers in sight and has them painted when they change.

    Args:
        previews: makes them.
        preferences: whether they are wanted at all.
        graph: the drawing.
        navigation: what is in sight.
        canvas: whose life counts.
    """

    def __init__(
        self,
        previews: NodePreviews,
        preferences: Preferences,
        graph: GraphScene,
        navigation: Navigation,
        canvas: QWidget,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._previews = previews
        self._preferences = preferences
        self._graph = graph
        self._navigation = navigation
        self._also = ""
        self._images: dict[str, tuple[Pixels, QImage]] = {}
        binding.connect(canvas, previews.changed, self._changed)
        self._refresh = binding.refresh(
            canvas, self._want, navigation.moved, navigation.zoomed, graph.redrawn,
            preferences.changed, rate=_RATE,
        )  # fmt: skip

    def picture(self, node_id: str) -> NodePicture | None:
        """The picture of a layer's output; None before there is one."""
        found = self._previews.picture(node_id)
        if found is None:
            return None
        kept = self._images.get(node_id)
        if kept is None or kept[0] is not found.rgba:
            kept = self._images[node_id] = (found.rgba, _image(found.rgba))
        return NodePicture(kept[1], found.stale, found.text)

    def look_at(self, node_id: str) -> None:
        """Ask for one more layer, as the lens does; none with an empty id."""
        self._also = node_id
        self._want()

    def _want(self) -> None:
        wanted = [self._also] if self._also else []
        if self._preferences.flag("previews") and self._navigation.zoom >= NEAR:
            seen = self._navigation.visible
            wanted += [
                node_id
                for node_id, item in self._graph.nodes.items()
                if item.node.preview in _SHOWN
                and not item.node.collapsed
                and seen.intersects(item.scene_area)
            ]
        self._previews.want(wanted)

    def _changed(self, node_ids: tuple[str, ...]) -> None:
        for gone in [each for each in self._images if each not in self._graph.nodes]:
            del self._images[gone]
        self._graph.refresh_pictures(node_ids)
        self.changed.emit()


def _image(rgba: Pixels) -> QImage:
    rows, columns = rgba.shape[:2]
    image = QImage(rgba.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
