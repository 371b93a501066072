"""Keeps the drawing in step with the document that is open, its checks, theme and preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.graph_editor.canvas import accessible
from studio.graph_editor.items.colours import CanvasColours
from studio.session.compile.selection import Selection
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.widgets import binding, theme

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


class Following:
    """Hears the models for a canvas.

    Args:
        canvas: what shows them.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas
        self._heard: list[binding.Delivery] = []
        studio = canvas.studio
        binding.connect(canvas, studio.document_replaced, self._replaced)
        binding.connect(canvas, studio.compilation.changed, self._compiled)
        binding.connect(canvas, studio.culprit.changed, self._culprit_changed)
        binding.connect(canvas, studio.preferences.changed, self._preferred)
        binding.connect(canvas, theme.changed, self._themed)
        binding.connect(canvas, studio.bus.selected, self._selected)
        canvas.graph.set_wire_style(studio.preferences.text("wire_style"))
        self._replaced(studio.document)

    def _replaced(self, document: Document) -> None:
        canvas = self._canvas
        canvas.cancel_gesture()
        # What is asked or written is about the document before.
        canvas.searches.popup.close_search()
        canvas.writing.field.close_field(keep=False)
        canvas.sliding.finish()
        for heard in self._heard:
            heard.stop()
        self._heard = [
            binding.connect(canvas, document.changed, self._changed),
            binding.connect(canvas, document.report_changed, self._reported),
        ]
        canvas.graph.show_state(document.state, canvas.studio.culprit.report)
        accessible.changed(canvas)
        canvas.linking.refresh()
        canvas.fixes.ask()
        canvas.show_beginning()

    def _changed(self, change: Change) -> None:
        canvas = self._canvas
        canvas.sliding.finish()
        canvas.graph.apply(change)
        accessible.changed(canvas)
        canvas.fixes.place()
        if change.added or change.removed:
            canvas.writing.forget(change.removed)
            canvas.linking.refresh()
        canvas.studio.actions.refresh("edit.undo", "edit.redo")

    def _reported(self) -> None:
        canvas = self._canvas
        canvas.graph.show_report(canvas.studio.culprit.report)
        canvas.fixes.ask()

    def _culprit_changed(self) -> None:
        self._canvas.graph.show_report(self._canvas.studio.culprit.report)

    def _selected(self, _selection: Selection, _source: str) -> None:
        accessible.primary_changed(self._canvas)

    def _compiled(self) -> None:
        self._canvas.linking.refresh()

    def _preferred(self, name: str) -> None:
        if name == "wire_style":
            self._canvas.graph.set_wire_style(self._canvas.studio.preferences.text(name))

    def _themed(self) -> None:
        canvas = self._canvas
        colours = CanvasColours(theme.current())
        canvas.graph.show_colours(colours)
        canvas.overlay.show_colours(colours)
        canvas.fixes.show_colours()
        canvas.viewport().update()
