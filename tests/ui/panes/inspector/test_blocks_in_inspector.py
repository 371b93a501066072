"""The inspector of blocks beside a canvas: real clicks on its buttons, typing in its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QPushButton
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.session.core import entities
from studio.session.document.edits.blocks import add_port, group
from studio.session.document.edits.copies import duplicate_mapped, share_block
from studio.session.document.edits.removal import delete
from studio.session.document.state import DocumentState
from studio.session.studio import Studio
from studio.ui.panes.inspector.pane import InspectorPane
from tests.session.document.networks import nested_blocks, residual
from tests.ui.fixtures import shown

LONG = 60_000


class Side:
    """The inspector beside a canvas."""

    def __init__(self, qtbot: QtBot, studio: Studio) -> None:
        self.window = QMainWindow()
        self.canvas = CanvasView(studio)
        self.pane = InspectorPane(studio)
        self.pane.setFixedWidth(280)
        self.view = self.pane.block_view
        self.window.setCentralWidget(self.canvas)
        self.window.resize(1200, 800)
        shown(qtbot, self.window)
        self.pane.resize(280, 700)
        shown(qtbot, self.pane)
        self._qtbot, self.studio = qtbot, studio

    @property
    def state(self) -> DocumentState:
        return self.studio.document.state

    def show(self, state: DocumentState, *ids: str) -> None:
        """Put a network into the document and select some of it."""
        self.studio.document.apply("Network", state)
        self.select(*ids)

    def select(self, *ids: str) -> None:
        self.studio.bus.select([entities.node(i) for i in ids], source="canvas")
        self._qtbot.waitUntil(self.view.isVisible, timeout=LONG)

    def click(self, button: QPushButton) -> None:
        assert button.isVisible()
        assert button.isEnabled()
        self._qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def type_name(self, text: str) -> None:
        line = self.view.head.name
        self._qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
        line.selectAll()
        self._qtbot.keyClicks(line, text)
        self._qtbot.keyClick(line, Qt.Key.Key_Return)


@pytest.fixture
def side(qtbot: QtBot, studio: Studio) -> Iterator[Side]:
    made = Side(qtbot, studio)
    yield made
    for widget in (made.pane, made.window):
        widget.close()
        widget.deleteLater()


def test_a_block_shows_its_name_contents_and_ports_with_shapes(side: Side, qtbot: QtBot) -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    side.show(add_port(state, "block", "out", "spare").state, "block")
    view = side.view
    qtbot.waitUntil(lambda: view.head.name.text() == "stem", timeout=LONG)
    report = side.studio.document.report
    parameters = sum(report.status(i).parameters or 0 for i in ("conv2d", "conv2d_1"))
    assert view.facts.texts == (("layers", "2"), ("parameters", str(parameters)))
    shape = report.status("conv2d_1").shape
    incoming = report.status("input").shape
    assert shape is not None
    assert incoming is not None
    written = [f"[{','.join(str(n) for n in each)}]" for each in (incoming, shape)]
    assert view.ports.texts == (
        ("in 1", f"conv2d  {written[0]}"),
        ("out 1", f"conv2d_1  {written[1]}"),
        ("out 2", "spare  \N{EN DASH}"),
    )
    assert not view.unlink.isVisible()
    assert not view.copies.isVisible()
    assert view.head.name.accessibleName() == "Name of the block"
    assert view.enter.accessibleName() == "Open the block"


def test_a_block_is_renamed_and_a_wrong_name_is_refused_in_place(side: Side, qtbot: QtBot) -> None:
    side.show(nested_blocks(), "block")
    qtbot.waitUntil(lambda: side.view.head.name.text() == "stem", timeout=LONG)
    side.type_name("trunk")
    assert side.state.nodes["block"].name == "trunk"
    assert side.studio.document.history.undo_text == "Rename stem to trunk"
    side.type_name("a/b")
    assert side.state.nodes["block"].name == "trunk"
    refusal = side.view.head.findChild(type(side.view.copies), "name_refusal")
    assert refusal is not None
    assert "slash" in refusal.text()
    assert refusal.isVisible()


@pytest.mark.slow
def test_a_block_is_opened_and_dissolved(side: Side, qtbot: QtBot) -> None:
    side.show(nested_blocks(), "block")
    side.click(side.view.enter)
    qtbot.waitUntil(lambda: side.canvas.graph.level == "block", timeout=LONG)
    side.select("block")
    side.click(side.view.dissolve)
    assert "block" not in side.state.nodes
    qtbot.waitUntil(lambda: not side.view.isVisible(), timeout=LONG)


@pytest.mark.slow
def test_linked_copies_are_counted_and_unlinked(side: Side, qtbot: QtBot) -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    side.show(duplicate_mapped(state, ["block"], linked=True).state, "block")
    view = side.view
    qtbot.waitUntil(view.copies.isVisible, timeout=LONG)
    assert view.copies.text().startswith("One of 2 linked copies")
    assert "shared" not in view.copies.text()
    side.click(view.unlink)
    assert side.state.nodes["block"].definition == ""
    qtbot.waitUntil(lambda: not view.copies.isVisible(), timeout=LONG)
    assert not view.unlink.isVisible()


def test_a_shared_block_counts_its_layers_once(side: Side, qtbot: QtBot) -> None:
    copied = share_block(group(residual(), ["conv2d", "conv2d_1"], "stem"), "block")
    other = copied.ids["block"]
    side.show(copied.state, other)
    view = side.view
    qtbot.waitUntil(view.copies.isVisible, timeout=LONG)
    assert "Its weights are shared" in view.copies.text()
    one = view.facts.texts
    assert one[0] == ("layers", "2")
    side.select("block", other)
    qtbot.waitUntil(lambda: view.head.name.text() == "2 blocks", timeout=LONG)
    assert view.facts.texts == (("layers", "2 (used 4 times)"), one[1])
    assert not view.enter.isEnabled()
    assert view.head.name.isReadOnly()


@pytest.mark.slow
def test_buttons_act_on_the_block_shown_where_it_is_pinned(side: Side, qtbot: QtBot) -> None:
    side.show(nested_blocks(), "block")
    side.pane.inspector.set_pinned(True)
    side.studio.bus.select([entities.node("input")], source="canvas")
    side.click(side.view.enter)
    qtbot.waitUntil(lambda: side.canvas.graph.level == "block", timeout=LONG)


def test_layers_and_blocks_selected_together_are_named(side: Side, qtbot: QtBot) -> None:
    side.show(group(residual(), ["conv2d", "conv2d_1"], "stem"), "block")
    side.studio.bus.select([entities.node(i) for i in ("block", "add")], source="canvas")
    qtbot.waitUntil(side.pane.node_view.isVisible, timeout=LONG)
    assert side.pane.note == "1 layer, 1 block"


def test_parameters_that_are_not_known_are_not_called_none(side: Side, qtbot: QtBot) -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    side.show(delete(state, ["input"]), "block")
    dash = "\N{EN DASH}"
    qtbot.waitUntil(lambda: side.view.facts.texts[1:] == (("parameters", dash),), timeout=LONG)
    assert side.view.ports.texts == (("in 1", f"conv2d  {dash}"), ("out 1", f"conv2d_1  {dash}"))
