"""A network with two inputs, two outputs, a shared layer and a block: built by mouse alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu

from studio.engine.isa.ops.linear import Linear
from studio.engine.layers.graph_json import graph_to_json
from studio.graph_editor.editing.fix_chips import FixChip
from studio.graph_editor.panes.palette import PalettePane
from studio.instruction_view.listing.pane import ListingPane
from studio.session.document.levels import wires_at
from studio.session.document.resolve import layer_graph
from studio.ui.panes.data.pane import DataPane
from tests.graph_editor.hands import RIGHT, Carrier, Hands
from tests.ui.journeys.person import Person, in_sight

WAIT = 60_000
ROWS = 96


def write_archive(file: Path) -> None:
    """Two descriptions of each thing, its kind (of three) and its size."""
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(2, ROWS, 6)).astype(np.float32)
    kind = np.argmax(left[:, :3] + right[:, :3], axis=1).astype(np.int32)
    size = (left[:, :1] - right[:, 1:2]).astype(np.float32)
    np.savez(file, left=left, right=right, kind=kind, size=size)


class Drawn(NamedTuple):
    """Ids of what was drawn."""

    left: str
    right: str
    inside: tuple[str, str, str]
    kind: str
    size: str


class Builder:
    """Drags layers and wires, and takes what the window offers, with the mouse."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.hands = Hands(person.qtbot, person.canvas, person.studio)

    def layer(self, title: str, at: tuple[float, float]) -> str:
        """Drop a layer from the palette; gives its id."""
        palette = self.person.until(lambda: self.person.sees(PalettePane), WAIT)
        match = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
        item = self.person.until(lambda: palette.tree.findItems(title, match), WAIT)[-1]
        palette.tree.scrollToItem(item)
        before = set(self.hands.state.nodes)
        Carrier(self.hands, palette.tree.mimeData([item])).drop(QPointF(*at))
        (made,) = set(self.hands.state.nodes) - before
        return made

    def wire(self, source: str, target: str, slot: int = 0) -> None:
        before = len(self.hands.state.nodes[target].inputs)
        self.hands.drag(self.hands.port(source), self.hands.input(target, slot))
        assert len(self.hands.state.nodes[target].inputs) == before + 1, (source, target)

    def menu(self, at: QPointF, text: str) -> None:
        """Click an entry of the context menu of the canvas."""
        self.hands.click(at, button=RIGHT)
        self.entry(self.person.until(self.person.menu, WAIT), text)

    def entry(self, menu: QMenu, text: str) -> None:
        action = next(each for each in menu.actions() if each.text().startswith(text))
        assert action.isEnabled(), action.toolTip()
        self.person.click(menu, menu.actionGeometry(action).center())

    def drop_file(self, file: Path) -> None:
        """From a file manager onto the window."""
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(file))])
        window = self.person.window
        at = window.rect().center()
        copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        none = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(window, QDragEnterEvent(at, copy, data, left, none))
        QApplication.sendEvent(window, QDropEvent(QPointF(at), copy, data, left, none))


def chip(person: Person, words: str) -> FixChip | None:
    """A repair on the canvas by what it says."""
    return next((each for each in person.canvas.fixes.chips if words in each.fix.text), None)


def named(person: Person, text: str) -> QAbstractButton | None:
    """A button in sight by what it says."""
    found = person.window.findChildren(QAbstractButton)
    return next(
        (each for each in found if text in (each.text(), each.accessibleName()) and in_sight(each)),
        None,
    )


def draw(build: Builder) -> Drawn:
    """Layers and wires: the same layer behind both inputs, and two ends."""
    hands = build.hands
    left, right = build.layer("Input", (0, 0)), build.layer("Input", (0, 160))
    tower = build.layer("Dense", (220, 0))
    joined = build.layer("Concatenate", (440, 80))
    hidden, bent = build.layer("Dense", (660, 80)), build.layer("ReLU", (880, 80))
    kind, size = build.layer("Dense", (1100, 0)), build.layer("Dense", (1100, 160))
    hands.canvas.show_all()

    build.wire(left, tower)
    build.menu(hands.body(tower), "Place again")
    hands.click(hands.body(right))
    (again,) = (node.id for node in hands.state.layers() if node.shares)
    build.wire(tower, joined)
    build.wire(again, joined, 1)
    for source, target in ((joined, hidden), (hidden, bent), (bent, kind), (bent, size)):
        build.wire(source, target)
    state = hands.state
    fed = {i: [str(port) for port in layer_graph(state).nodes[i].inputs] for i in (again, joined)}
    assert [len(fed[again]), len(fed[joined])] == [1, 2]
    return Drawn(left, right, (joined, hidden, bent), kind, size)


def group(build: Builder, inside: tuple[str, ...]) -> str:
    """A block of some layers by a box around them; the network stays the same. Gives its id."""
    hands = build.hands
    network = graph_to_json(layer_graph(hands.state))
    areas = [hands.canvas.graph.nodes[each].scene_area for each in inside]
    around = areas[0].united(areas[1]).united(areas[2]).adjusted(-12, -12, 12, 12)
    hands.drag(around.topLeft(), around.bottomRight())
    build.menu(hands.body(inside[1]), "Group into a block")
    (block,) = (node.id for node in hands.state.nodes.values() if node.is_block)
    assert set(hands.canvas.graph.nodes).isdisjoint(inside)
    wires = set(hands.canvas.graph.wires)
    assert wires == set(wires_at(hands.state))
    assert graph_to_json(layer_graph(hands.state)) == network
    return block


def attach(build: Builder, drawn: Drawn, file: Path) -> None:
    """Data by name, and what the window offers to make the network fit them."""
    person, hands, studio = build.person, build.hands, build.person.studio
    kind, size = drawn.kind, drawn.size
    for each in (kind, size):
        build.menu(hands.body(each), "Mark as output")
    build.drop_file(file)
    person.until(lambda: studio.document.state.data, WAIT)
    person.click(*person.until(lambda: person.tab("Data"), WAIT))
    ends = {"left": f"input {drawn.left}", "right": f"input {drawn.right}",
            "kind": f"output {kind}", "size": f"output {size}"}  # fmt: skip
    for part, end in ends.items():
        person.click(person.reach(QAbstractButton, f"goes_to_{part}"))
        build.entry(person.until(person.menu, WAIT), end)
    person.until(lambda: studio.data.status == "ready", WAIT)
    # Another offer may be there until the data are read.
    offer = "Set the inputs to their data"
    pane = person.see(DataPane)
    person.until(
        lambda: person.reach(QAbstractButton, "banner_action", pane).accessibleName() == offer, WAIT
    )
    person.click(person.reach(QAbstractButton, "banner_action", pane))
    words = f"Set units of {size} to 1"
    person.click_chip(person.until(lambda: chip(person, words), WAIT))
    person.until(lambda: not studio.problems.errors, WAIT)
    hands.click(hands.body(kind))
    fix = person.until(lambda: named(person, f"Set units of {kind} to 3"), WAIT)
    person.click(fix)
    person.until(lambda: not studio.problems.items, WAIT)


def train(person: Person, kind: str, size: str) -> None:
    """The loss is the sum of those of both outputs, which are told by name."""
    studio = person.studio
    button = person.see(QAbstractButton, "transport.train")
    person.until(button.isEnabled, WAIT)
    person.click(button)
    person.until(lambda: studio.training.state == "finished", WAIT)
    told = {"loss", f"{kind}_loss", f"{size}_loss", f"{kind}_accuracy", f"val_{kind}_accuracy"}
    person.until(lambda: any(told <= run.metrics.keys() for run in studio.runs.runs), WAIT)
    losses = studio.training.status.metrics
    assert losses["loss"] == pytest.approx(
        losses[f"{kind}_loss"] + losses[f"{size}_loss"], rel=1e-5
    )


@pytest.mark.slow
def test_it_is_built_trained_and_read_by_mouse_alone(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    write_archive(tmp_path / "pairs.npz")
    person.new_project()
    # Until all panes are made the canvas has another size, and what is on it other places.
    person.until(lambda: person.window.is_ready, WAIT)
    build = Builder(person)
    drawn = draw(build)
    block = group(build, drawn.inside)
    attach(build, drawn, tmp_path / "pairs.npz")
    train(person, drawn.kind, drawn.size)

    # One set of weights is read by two lines; a line of a layer in the block opens the block.
    hands, (_, hidden, _) = build.hands, drawn.inside
    person.until(lambda: person.sees(ListingPane), WAIT)
    program = studio.compilation.result.program
    kernels = [line.w for line in program if isinstance(line, Linear)]
    assert kernels[0] == kernels[1] != kernels[2]
    person.click_instruction(hidden)
    person.until(lambda: hidden in hands.canvas.graph.nodes, WAIT)
    assert studio.document.open_block == block
    assert hands.canvas.marks.of(hidden).selected
