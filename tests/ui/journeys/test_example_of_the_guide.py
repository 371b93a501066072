"""The example of the user's guide with two inputs and two outputs, followed word by word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF

from studio.graph_editor.editing.fix_chips import FixChip
from tests.graph_editor.hands import SHIFT, Hands
from tests.ui.journeys.person import Person
from tests.ui.journeys.test_two_inputs_two_outputs import Builder

WAIT = 60_000
GUIDE = Path(__file__).parents[3] / "docs" / "guide.md"


class Reader:
    """Does what the steps say; what is typed has to stand in them."""

    def __init__(self, person: Person) -> None:
        guide = GUIDE.read_text(encoding="utf-8")
        self.text = guide[guide.index("## Several inputs and outputs") : guide.index("## Blocks")]
        self.person = person
        self.hands = Hands(person.qtbot, person.canvas, person.studio)

    def code(self) -> str:
        """The program of the section."""
        (found,) = re.findall(r"```python\n(.*?)```", self.text, re.DOTALL)
        return str(found)

    def ids(self, name: str) -> list[str]:
        return [n.id for n in self.hands.state.layers() if n.name == name]

    def body(self, node_id: str) -> QPointF:
        """A layer's body, in sight."""
        self.person.press("Home")
        self.person.until(lambda: self.person.canvas.graph.nodes.get(node_id), WAIT)
        return self.hands.body(node_id)

    def select(self, name: str) -> str:
        (node_id, *_) = self.ids(name)
        self.hands.click(self.body(node_id))
        assert self.hands.selected == [node_id]
        return node_id

    def add(self, typed: str, name: str) -> None:
        assert f"`{typed}`" in self.text
        assert f"`{name}`" in self.text
        self.person.add(typed)
        (made,) = self.hands.selected
        self.person.press("F2")
        self.person.type(name)
        self.person.press("Return")
        assert self.hands.state.nodes[made].name == name

    def fix(self, words: str) -> FixChip | None:
        assert f"`{words}`" in self.text
        return next((c for c in self.person.canvas.fixes.chips if c.fix.text == words), None)


@pytest.mark.slow
def test_the_steps_lead_to_a_trained_network(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.new_project()
    # Until all panes are made the canvas has another size, and what is on it other places.
    person.until(lambda: person.window.is_ready, WAIT)
    studio, reader = person.studio, Reader(person)
    hands = reader.hands
    monkeypatch.chdir(tmp_path)
    exec(reader.code(), {})

    reader.add("input 6", "left")
    reader.add("dense 16 relu", "tower")
    reader.add("input 6", "right")
    first = reader.select("tower")
    person.press("Alt+D")
    hands.click(reader.body(*reader.ids("right")))
    (again,) = hands.selected
    assert reader.ids("tower") == [first, again]
    reader.select("tower")
    hands.click(reader.body(again), SHIFT)
    reader.add("concatenate", "both")
    (both,) = reader.ids("both")
    assert hands.state.nodes[both].sources == (first, again)
    reader.select("both")
    reader.add("dense 16 relu", "hidden")
    reader.add("dense 3 softmax", "kind")
    reader.select("hidden")
    reader.add("dense 1", "size")
    person.press("Home")
    wanted = "Mark kind and size as outputs"
    person.click_chip(person.until(lambda: reader.fix(wanted), WAIT))
    person.until(lambda: not studio.problems.items, WAIT)
    person.press("Shift+L")

    Builder(person).drop_file(tmp_path / "pairs.npz")
    person.until(lambda: studio.data.status == "ready", WAIT)
    person.until(lambda: not studio.problems.items, WAIT)
    assert studio.document.state.data["targets"] == {"kind": "kind", "size": "size"}
    person.press("F5")
    person.until(lambda: studio.training.state == "finished", WAIT)
    metrics = studio.training.status.metrics
    assert metrics["kind_accuracy"] > 1 / 3
    assert metrics["loss"] == pytest.approx(metrics["kind_loss"] + metrics["size_loss"], rel=1e-5)
