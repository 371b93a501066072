"""Selecting in any view marks in the others, and scrolls none where the target is in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.graph_editor.editing.adding import add_after_selection
from studio.graph_editor.panes.outline import OutlinePane
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.path_bar.bar import PathBar
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.document.edits.chains import NewLayer
from studio.session.studio import Studio
from tests.instruction_view.listing_hands import place_of
from tests.ui.fixtures import shown

Open = Callable[[str], Document]


@dataclass
class Views:
    """The canvas and all views of the program over one selection."""

    studio: Studio
    canvas: CanvasView
    listing: ListingPane
    tensors: TensorMapPane
    path: PathBar

    def scrolls(self) -> tuple[float, ...]:
        """Where every view is scrolled to."""
        axes = self.tensors.picture.axes
        return (
            self.listing.view.verticalScrollBar().value(),
            self.tensors.table.verticalScrollBar().value(),
            axes.left,
            axes.bottom,
            self.canvas.navigation.centre.x(),
            self.canvas.navigation.centre.y(),
        )

    def in_sight(self) -> None:
        """Scroll every view to what is selected, so that it need not move again."""
        self.listing.view.show_place(
            self.listing.listing.arrangement.place_of(self.listing.links.primary_row)
        )
        self.tensors.table.mark(may_scroll=True)
        self.tensors.picture.show_register(self.tensors.links.primary)
        node = self.studio.bus.path.node
        if node is not None and node.key in self.canvas.graph.nodes:
            self.canvas.navigation.reveal(self.canvas.graph.area_of([node.key]))


@pytest.fixture
def views(studio: Studio, opened: Open, qtbot: QtBot) -> Views:
    opened("digits-resnet")
    panes = ListingPane(studio), TensorMapPane(studio), PathBar(studio)
    made = Views(studio, CanvasView(studio), *panes)
    for widget in (made.canvas, *panes):
        qtbot.addWidget(widget)
        widget.resize(900, 500)
        shown(qtbot, widget, active=False)
    return made


def things(studio: Studio) -> list[Entity]:
    """One of every kind, spread over the program."""
    provenance = studio.compilation.provenance
    found = [entities.node("block1_conv2"), entities.node("block2_silu2")]
    for index in range(0, len(provenance), 7):
        line = entities.instruction(provenance.key_of(index))
        found += [line, *provenance.related(line, "kernel"), *provenance.related(line, "tensor")]
    return list(dict.fromkeys(found))


@pytest.mark.slow
def test_a_selection_is_marked_everywhere(views: Views) -> None:
    studio = views.studio
    provenance = studio.compilation.provenance
    for entity in things(studio):
        studio.bus.select([entity], source="canvas")
        lines = provenance.related(entity, "instruction")
        rows = {provenance.index_of(line.key) for line in lines}
        assert rows <= set(views.listing.links.marked_rows)
        assert views.listing.links.primary_row >= 0
        path = studio.bus.path
        if path.tensor is not None:
            assert views.tensors.links.primary is not None
            assert views.tensors.links.marks
        drawn = {node.key for node in provenance.related(entity, "node")}
        for key in drawn & set(studio.document.state.nodes):
            assert views.canvas.marks.of(key).selected
        assert views.path.texts
        for kind in ("node", "instruction", "tensor", "kernel"):
            part = views.path.part(kind)  # type: ignore[arg-type]
            assert part.isEnabled() == (path.at(kind) is not None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_nothing_scrolls_where_the_target_is_in_sight(views: Views) -> None:
    for entity in things(views.studio):
        views.studio.bus.select([], source="canvas")
        views.studio.bus.select([entity], source="canvas")
        views.in_sight()
        before = views.scrolls()
        views.studio.bus.select([], source="canvas")
        views.studio.bus.select([entity], source="inspector")
        assert views.scrolls() == before


@pytest.mark.slow
@pytest.mark.parametrize("source", ["listing", "tensor_map", "canvas"])
def test_the_view_that_selects_stays_where_it_is(views: Views, source: str) -> None:
    for entity in things(views.studio):
        before = views.scrolls()
        views.studio.bus.select([entity], source=source)
        after = views.scrolls()
        if source == "canvas":
            assert after[4:] == before[4:]
        if source == "listing":
            assert after[0] == before[0]
        if source == "tensor_map":
            assert after[1:4] == before[1:4]


@pytest.mark.slow
def test_hovering_anything_scrolls_and_selects_nothing(views: Views) -> None:
    before = views.scrolls()
    for entity in things(views.studio):
        views.studio.bus.hover(entity, "canvas")
        assert views.scrolls() == before
        assert views.studio.bus.selection.entities == ()
    views.studio.bus.hover(None, "canvas")
    assert views.listing.links.light.rows == {}
    assert views.tensors.links.glow == {}


ON_A_LAYER = (
    "graph.freeze", "graph.bypass", "graph.duplicate", "graph.delete", "graph.delete_only",
    "graph.rename", "graph.switch_type", "graph.collapse", "graph.pin", "graph.mark_output",
    "graph.frame", "graph.drop_wires", "edit.copy", "edit.cut", "canvas.frame_selection",
)  # fmt: skip


def walk_to(views: Views, qtbot: QtBot, mnemonic: str) -> str:
    """Take the caret of the listing to an instruction by keys; the layer it is of."""
    view = views.listing.view
    views.listing.activateWindow()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus, timeout=60_000)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    wanted = place_of(views.listing, mnemonic)
    while views.listing.listing.caret < wanted:
        before = views.listing.listing.caret
        qtbot.keyClick(view, Qt.Key.Key_Down)
        assert views.listing.listing.caret > before
    primary = views.studio.bus.selection.primary
    assert primary is not None
    assert primary.kind == "instruction"
    node = views.studio.bus.path.node
    assert node is not None
    return node.key


def test_the_caret_of_the_listing_selects_for_every_action(views: Views, qtbot: QtBot) -> None:
    actions, document = views.studio.actions, views.studio.document
    node = walk_to(views, qtbot, "CONV2D")
    assert views.canvas.marks.of(node).selected == "primary"
    assert {i: actions.why_not(i) for i in ON_A_LAYER} == dict.fromkeys(ON_A_LAYER, "")
    assert views.canvas.context.selected_ids() == [node]
    assert actions.trigger("graph.freeze")
    assert document.state.nodes[node].frozen
    assert document.history.undo_text == f"Freeze {document.state.nodes[node].name}"
    document.undo()
    assert actions.trigger("graph.delete")
    assert node not in document.state.nodes


def test_the_outline_and_what_comes_next_go_by_the_caret_too(views: Views, qtbot: QtBot) -> None:
    outline = OutlinePane(views.studio)
    qtbot.addWidget(outline)
    outline.resize(400, 500)
    shown(qtbot, outline, active=False)
    node = walk_to(views, qtbot, "CONV2D")
    chosen = [item.text(0) for item in outline.tree.selectedItems()]
    assert chosen == [views.studio.document.state.nodes[node].name]
    made = add_after_selection(views.studio, NewLayer("ReLU", {}), "palette")
    assert node in views.studio.document.state.nodes[made].sources
