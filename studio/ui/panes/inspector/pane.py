"""The inspector pane: layers or blocks that are selected, or the project."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.session.document.document import Document
from studio.session.inspector.inspector import InspectorModel
from studio.session.studio import Studio
from studio.session.sweeps.variation import Path, Variation, layer_names, training_names
from studio.ui.panes.inspector.actions import ACTIONS
from studio.ui.panes.inspector.block_view import BlockView
from studio.ui.panes.inspector.graph_view import GraphView
from studio.ui.panes.inspector.node_head import TroubleBand
from studio.ui.panes.inspector.node_view import NodeView
from studio.ui.panes.inspector.sections_view import scrolled, show_sweep
from studio.widgets import binding
from studio.widgets.frames.frame import PaneFrame

VIEW = "inspector"
"""How this pane names itself on the selection bus."""


class InspectorPane(PaneFrame):
    """Options of the selected layers, or the selected blocks.

    With neither selected it shows totals and training settings.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("inspector_pane")
        self._data = studio.data
        self.inspector = InspectorModel(lambda: studio.document, studio.bus, studio.compilation)
        draft = studio.sweeps.draft

        def varying(names: Callable[[Path], tuple[str, ...]]) -> Variation:
            return Variation(draft, names, lambda: show_sweep(studio))

        layers = layer_names(lambda: tuple(node.name for node in self.inspector.nodes))
        self.node_view = NodeView(self.inspector, varying=varying(layers))
        self.graph_view = GraphView(self.inspector, varying=varying(training_names))
        self.block_view = BlockView(self.inspector, self._act_on_blocks)
        self._areas = QStackedWidget(self)
        self._areas.addWidget(scrolled(self.graph_view))
        area = scrolled(self.node_view)
        TroubleBand(self.node_view.head.trouble, area)
        self._areas.addWidget(area)
        self._areas.addWidget(scrolled(self.block_view))
        self.set_body(self._areas)
        self.pin_changed.connect(self.inspector.set_pinned)
        self._refresh_later = binding.refresh(
            self, self.refresh, studio.compilation.changed, studio.compilation.stale_changed,
            studio.data.changed, when_visible=True,
        )  # fmt: skip
        binding.refresh(self, self._show_varied, draft.changed, when_visible=True)
        binding.connect(self, self.inspector.selection_changed, self.refresh)
        binding.connect(self, studio.document_replaced, self._replace)
        self._actions = studio.actions
        studio.actions.attach(ACTIONS, self)
        self._follow(studio.document)
        self.refresh()

    def refresh(self) -> None:
        """Show what is selected as it is now."""
        nodes, blocks = self.inspector.nodes, self.inspector.blocks
        if nodes:
            self.node_view.refresh()
        elif blocks:
            self.block_view.refresh()
        else:
            dataset = self._data.dataset
            self.graph_view.refresh(() if dataset is None else dataset.class_names)
        self._areas.setCurrentIndex(1 if nodes else 2 if blocks else 0)
        self.set_note(_selected(len(nodes), len(blocks)))

    def _show_varied(self) -> None:
        for view in (self.node_view.options, self.graph_view.settings):
            view.show_varied()

    def focus_first_field(self) -> None:
        """Give the keyboard to the first option of the layer shown."""
        forms = self.node_view.options.forms if self.inspector.nodes else (
            self.graph_view.settings.forms
        )  # fmt: skip
        rows = [row for form in forms for row in form.rows]
        if rows:
            rows[0].editor.setFocus(Qt.FocusReason.TabFocusReason)

    def edit_options(self) -> None:
        """Come into view and give the keyboard to the first option of the selected layer."""
        if not self.isVisible() and "pane.inspector" in self._actions:
            self._actions.trigger("pane.inspector")
        self.refresh()
        self.focus_first_field()

    def why_no_options(self) -> str:
        """Why there are no options to edit; empty when there are."""
        return "" if self.inspector.nodes else "no layer is selected"

    def _act_on_blocks(self, action: str) -> None:
        """Do an action of the canvas to the blocks shown."""
        self.inspector.select_blocks()
        self._actions.trigger(action)

    def _follow(self, document: Document) -> None:
        document.changed.connect(self._refresh_later.hear)
        document.report_changed.connect(self._refresh_later.hear)

    def _replace(self, document: Document) -> None:
        self.graph_view.clear_error()
        self._follow(document)
        self.inspector.show(())
        self.refresh()


def _selected(layers: int, blocks: int) -> str:
    """How much is selected, unless it is a single thing or nothing."""
    if layers + blocks < 2:
        return ""
    parts = ((layers, "layer"), (blocks, "block"))
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n)
