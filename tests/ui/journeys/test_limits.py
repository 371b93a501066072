"""Jobs that have to be done in so many actions, by somebody who reads nothing first."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from PySide6.QtWidgets import QLabel, QLineEdit

from studio.engine.core.tensor import Role
from studio.engine.isa.program import Program
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.profiler.pane import ProfilerPane
from tests.ui.journeys.person import Person

SIZES = ("filters", "units")


class Moved(NamedTuple):
    """What the difference to the baseline says of the bytes that are moved."""

    fewer: bool


def _moved(difference: QLabel) -> Moved | None:
    """Reads the heading of the difference, once it says anything of bytes."""
    found = re.search(r"baseline.* (\S+ [KMG]?i?B) → (\S+ [KMG]?i?B) moved", difference.text())
    if found is None or not difference.isVisible():
        return None
    before, after = (_bytes(text) for text in found.groups())
    return Moved(after < before)


def _bytes(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * 1024 ** ("", "K", "M", "G").index(unit.rstrip("iB"))


def _parameters(program: Program) -> int:
    """How many numbers the training changes."""
    return sum(
        math.prod(int(axis) for axis in tensor.shape)
        for tensor in program.tensors.values()
        if tensor.role is Role.PARAM
    )


def test_an_example_is_trained_in_two_actions(person: Person) -> None:
    studio = person.studio
    person.click(person.card("digits-mlp"))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    person.press("F5")
    plots = person.until(lambda: person.sees(PlotsPane))
    person.until(lambda: [each.accessibleName() for each in plots.plots][:1] == ["Plot of Loss"])
    person.until(lambda: studio.training.state == "finished")
    assert studio.training.status.metrics["val_accuracy"] > 0.9
    assert person.sees(PlotsPane) is plots
    assert person.actions <= 2


@pytest.mark.slow
def test_a_typed_network_is_trained_in_eight_actions(person: Person) -> None:
    studio = person.studio
    document = person.new_project()
    begun = person.actions
    person.command("use digits")
    person.until(lambda: studio.data.status == "ready")
    person.add("input 8x8x1 > conv 16 3x3 > relu > pool 2 > flatten > dense 10 softmax")
    person.until(lambda: len(document().state.nodes) == 6 and document().report.is_valid)
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    person.press("F5")
    person.until(lambda: studio.training.state == "finished")
    assert studio.training.status.metrics["val_accuracy"] > 0.9
    assert person.actions - begun <= 8


def test_a_shape_error_made_by_keys_is_repaired_by_one_chip(person: Person) -> None:
    studio = person.studio
    document = person.new_project()
    person.command("use digits")
    person.until(lambda: studio.data.status == "ready")
    person.point_at_canvas()
    person.add("input")
    person.command("fit the input")
    person.point_at_canvas()
    person.click_layer("input")
    begun = person.actions
    for word in ("conv", "pool", "dense"):
        person.add(word)
    wires = [f"{wire.source}>{wire.target}" for wire in document().state.wires()]
    assert wires == ["input>conv2d", "conv2d>max_pooling2d", "max_pooling2d>dense"]
    (error,) = person.until(lambda: document().report.errors)
    assert error.node == "dense"
    assert "classes" in error.message
    chip = person.until(person.first_chip)
    assert chip.node_id == "dense"
    broken, steps = document().state, document().history.position
    person.click_chip(chip)
    person.until(lambda: document().report.is_valid)
    assert document().history.position == steps + 1
    assert document().history.undo_text == chip.fix.text
    assert person.actions - begun <= 10
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    person.point_at_canvas()
    person.press("Ctrl+Z")
    assert document().state == broken


@pytest.mark.slow
def test_the_slowest_layer_is_found_and_changed_in_five_actions(person: Person) -> None:
    studio = person.studio
    person.click(person.card("digits-cnn"))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    before = studio.compilation.provenance.program
    assert before is not None
    opened = person.actions
    person.press("F5")
    person.press("Ctrl+3")
    table = person.until(lambda: person.sees(ProfilerPane)).table
    person.until(lambda: studio.profiling.measurement and len(table.entries.rows) > 3)
    nodes = studio.document.state.nodes
    sized = [key for key, node in nodes.items() if set(SIZES) & set(node.config)]
    chosen = person.slowest_layer(table, sized)
    name = next(n for n in SIZES if n in studio.document.state.nodes[chosen].config)
    person.press("Ctrl+B")
    difference = person.until(lambda: person.sees(QLabel, "passes.title"))
    person.until(lambda: "no difference" in difference.text())
    inspector = person.until(lambda: person.sees(InspectorPane))
    field = person.see(QLineEdit, f"field_{name}", inspector)
    wide = int(field.text())
    person.fill(field, str(wide // 2))
    assert studio.document.state.nodes[chosen].config[name] == wide // 2
    person.until(lambda: studio.compilation.provenance.program is not before)
    now = studio.compilation.provenance.program
    assert now is not None
    assert _parameters(now) < _parameters(before)
    assert person.until(lambda: _moved(difference)).fewer
    assert person.actions - opened <= 5


@pytest.mark.slow
def test_an_export_is_proven_and_opened_by_another_process_in_three_actions(
    person: Person, tmp_path: Path
) -> None:
    studio = person.studio
    person.click(person.card("digits-mlp"))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    person.press("F5")
    person.until(lambda: studio.training.state == "finished")
    trained = person.actions
    person.press("Ctrl+E")
    dialog = person.see(ExportDialog)
    file = Path(person.see(QLineEdit, "export_path", dialog).text())
    assert file.suffix == ".gbi"
    person.click(person.button("Export", dialog))
    result = person.until(lambda: studio.exporting.result)
    assert result.is_proven
    assert result.path == file
    assert person.see(QLabel, "finding_sentence", dialog).text().startswith("Same model")
    person.actions += 1  # the line typed into a terminal
    words = [sys.executable, "-m", "studio", "dis", str(file), str(tmp_path / "out.gbasm")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.gbasm").read_text("utf-8").strip()
    assert person.actions - trained <= 3
    person.click(person.button("Close", dialog))
