"""Pictures of what layers make of a sample, as the canvas paints them."""

from __future__ import annotations

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from studio.engine.core.signal import Signal
from studio.engine.layers.graph import Port
from studio.graph_editor.items.node_paint import FINE
from studio.graph_editor.items.node_picture import NodePicture
from studio.graph_editor.scene.navigation import Navigation
from studio.graph_editor.scene.scene import GraphScene
from studio.session.compile.selection import SelectionBus
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
        bus: which output of a layer is shown.
        graph: the drawing.
        navigation: what is in sight.
        canvas: whose life counts.
    """

    def __init__(
        self,
        previews: NodePreviews,
        preferences: Preferences,
        bus: SelectionBus,
        graph: GraphScene,
        navigation: Navigation,
        canvas: QWidget,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._previews = previews
        self._preferences = preferences
        self._bus = bus
        self._graph = graph
        self._navigation = navigation
        self._also: Port | None = None
        self._images: dict[Port, tuple[Pixels, QImage]] = {}
        binding.connect(canvas, previews.changed, self._changed)
        binding.connect(canvas, bus.output_chosen, self._output_chosen)
        self._refresh = binding.refresh(
            canvas, self._want, navigation.moved, navigation.zoomed, graph.redrawn,
            preferences.changed, rate=_RATE,
        )  # fmt: skip

    def output_of(self, node_id: str) -> Port:
        """The output of a layer that its card shows: the one chosen last."""
        item, chosen = self._graph.nodes.get(node_id), self._bus.output_of(node_id)
        return Port(node_id, chosen if item is not None and chosen < item.card.outputs else 0)

    def picture(self, node_id: str) -> NodePicture | None:
        """The picture of the output that a layer's card shows; None before there is one."""
        return self.picture_at(self.output_of(node_id))

    def picture_at(self, port: Port) -> NodePicture | None:
        """The picture of an output of a layer; None before there is one."""
        found = self._previews.picture(port)
        if found is None:
            return None
        kept = self._images.get(port)
        if kept is None or kept[0] is not found.rgba:
            kept = self._images[port] = (found.rgba, _image(found.rgba))
        item = self._graph.nodes.get(port.node)
        several = item is not None and item.card.outputs > 1
        return NodePicture(
            kept[1], found.stale, found.text, f"output {port.output}" if several else ""
        )

    def look_at(self, port: Port | None) -> None:
        """Ask for one more output, as the lens does; None for no more."""
        self._also = port
        self._want()

    def _output_chosen(self, node_id: str) -> None:
        self._want()
        self._graph.refresh_pictures((node_id,))
        self.changed.emit()

    def _want(self) -> None:
        wanted = [] if self._also is None else [self._also]
        if self._preferences.flag("previews") and self._navigation.zoom >= FINE:
            seen = self._navigation.visible
            wanted += [
                self.output_of(node_id)
                for node_id, item in self._graph.nodes.items()
                if item.node.preview in _SHOWN
                and not item.node.collapsed
                and seen.intersects(item.scene_area)
            ]
        self._previews.want(wanted)

    def _changed(self, node_ids: tuple[str, ...]) -> None:
        for gone in [each for each in self._images if each.node not in self._graph.nodes]:
            del self._images[gone]
        self._graph.refresh_pictures(node_ids)
        self.changed.emit()


def _image(rgba: Pixels) -> QImage:
    rows, columns = rgba.shape[:2]
    image = QImage(rgba.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
