"""A pane that is opened late shows what was selected before it was there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.graph_editor.panes.outline import OutlinePane
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.core import entities
from studio.ui.shell.window import MainWindow

MARKED: dict[str, Callable[..., object]] = {
    "listing": lambda pane: isinstance(pane, ListingPane) and pane.links.marked_rows,
    "tensor_map": lambda pane: isinstance(pane, TensorMapPane) and pane.links.marks,
    "outline": lambda pane: isinstance(pane, OutlinePane) and pane.tree.selectedItems(),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_pane_opened_late_knows_the_selection(
    qtbot: QtBot, opened: MainWindow, name: str
) -> None:
    studio = opened.studio
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    dense = next(n for n in studio.document.state.layers() if n.type_name == "Dense")
    studio.bus.select((entities.node(dense.id),), source="")
    spec = opened.docks[name].spec
    late = spec.make(studio)
    qtbot.addWidget(late)
    late.show()
    qtbot.waitUntil(lambda: bool(MARKED[name](late)))
