"""From an empty canvas to an instruction file another process runs: by mouse and keyboard alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit

from studio.graph_editor.panes.outline import OutlinePane
from studio.session.evaluation.answers import Answer
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.ui.panes.data.pane import DataPane
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.profiler.pane import ProfilerPane
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.panes.testing.answer_view import AnswerView
from studio.ui.panes.testing.samples_view import SamplesView
from tests.ui.journeys.person import Person

CHAIN = ("input", "conv", "relu", "pool", "flatten", "dense 10")
EPOCHS = 5000
"""More than any machine trains while somebody looks around."""


def _build(person: Person) -> None:
    """The network, its data and its input; ready to be trained for a while."""
    studio = person.studio
    person.new_project()
    for word in CHAIN:
        person.add(word)
    kinds = [node.type_name for node in studio.document.state.nodes.values()]
    assert kinds == ["Input", "Conv2D", "ReLU", "MaxPooling2D", "Flatten", "Dense"]
    attach_digits(person)
    person.point_at_canvas()
    person.press("Escape")
    inspector = person.see(InspectorPane)
    epochs = person.see(QLineEdit, "field_epochs", inspector)
    person.fill(epochs, str(EPOCHS))
    assert studio.document.state.training["epochs"] == EPOCHS
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)


def attach_digits(person: Person) -> None:
    """In the Data pane: its tab, the first bundled set of its menu, and the input it offers."""
    studio = person.studio
    person.click(*person.until(lambda: person.tab("Data")))
    pane = person.until(lambda: person.sees(DataPane))
    person.click(person.button("Choose data", pane))
    menu = person.until(lambda: person.menu())
    digits = next(action for action in menu.actions() if action.text() == "Use digits")
    person.click(menu, menu.actionGeometry(digits).center())
    person.until(lambda: studio.data.status == "ready")
    assert studio.document.state.data is not None
    assert studio.document.state.data["source"] == "digits"
    offered = person.until(lambda: person.sees(QAbstractButton, "banner_action"))
    assert offered.text() == "Set the input to [8,8,1]"
    person.click(offered)
    person.until(lambda: studio.document.report.is_valid)


def _watch_weights(person: Person) -> TensorViewModel:
    """While it trains: the picture of the first weights is another one with later steps."""
    person.press("Ctrl+2")
    view = person.until(lambda: person.sees(TensorViewPane)).view
    person.click_layer("conv2d")
    person.until(lambda: view.entity and view.entity.key.startswith("conv2d/"))
    chooser = person.until(lambda: person.sees(QComboBox, "tensor_chooser"))
    person.fill(person.see(QLineEdit, inside=chooser), "conv2d/kernel")
    assert view.entity is not None
    assert view.entity.key == "conv2d/kernel"
    person.until(lambda: view.badge.startswith("LIVE · step") and view.picture())
    first, tile = _seen(view)
    person.until(lambda: _seen(view)[0] > first)
    assert not np.array_equal(_seen(view)[1], tile)
    assert person.studio.training.state == "running"
    return view


def _seen(view: TensorViewModel) -> tuple[int, np.ndarray]:
    """The step and the numbers of the picture."""
    assert view.frame is not None
    snapshot = view.frame.snapshot
    return snapshot.moment.step, np.array(snapshot.array())


def _weights_shown(person: Person, view: TensorViewModel) -> None:
    """While it stands still: the picture of the weights is the network's, in every cell."""
    trainer = person.studio.training.trainer
    assert trainer is not None
    weights = trainer.read_weights()["conv2d/kernel"]
    person.until(lambda: np.array_equal(_seen(view)[1], weights))

    def all_cells() -> bool:
        picture = view.picture()
        if picture is None or picture.tile.values is None:
            return False
        shown = picture.tile.values[np.isfinite(picture.tile.values)]
        return np.array_equal(np.sort(shown.ravel()), np.sort(weights.ravel()))

    person.until(all_cells)


def _slowest_kernel(person: Person) -> None:
    """A click on the first row of the kernel table selects its layer on the canvas."""
    person.press("Ctrl+3")
    table = person.until(lambda: person.sees(ProfilerPane)).table
    person.until(lambda: table.entries.rows)
    layer = person.slowest_layer(table)
    assert layer in person.studio.document.state.nodes


def _export(person: Person, file: Path) -> None:
    """The dialog writes the file and finds it to be the same model."""
    person.press("Ctrl+E")
    dialog = person.see(ExportDialog)
    person.fill(person.see(QLineEdit, "export_path", dialog), str(file))
    person.click(person.button("Export", dialog))
    # Another process is started for the check, which takes a busy machine a while.
    person.until(lambda: person.studio.exporting.result, 120_000)
    sentence = person.see(QLabel, "finding_sentence", dialog)
    person.until(lambda: sentence.text().startswith("Same model"))
    person.click(person.button("Close", dialog))
    assert not dialog.isVisible()


def _answers_apart(file: Path, image: np.ndarray, folder: Path) -> np.ndarray:
    """What a process of its own says about a raw picture."""
    np.save(folder / "test.npy", image)
    words = [sys.executable, "-m", "studio", "exec", str(file), "--input",
             str(folder / "test.npy"), "--output", str(folder / "out.npy"), "--backend",
             "cpu"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return np.asarray(np.load(folder / "out.npy"))


def _ask(person: Person) -> tuple[int, Answer]:
    """Click the first sample of the test page: which one it is, and what the window answers."""
    person.command("test the network")
    view = person.until(lambda: person.sees(SamplesView))
    person.until(lambda: view.entries.rowCount() > 0)
    sample = view.entries.record(0)
    person.click(view.viewport(), view.visualRect(view.entries.index(0, 0)).center())
    shown = person.until(lambda: person.sees(AnswerView))
    name = (f"test sample {sample}",)
    return sample, person.until(lambda: a if (a := shown.answer) and a.names == name else None)


def _plots_move(person: Person) -> None:
    """There are curves, and they grow while somebody looks."""
    plots = person.until(lambda: person.sees(PlotsPane))
    person.until(lambda: plots.plots and _points(plots) > 1)
    before = _points(plots)
    person.until(lambda: _points(plots) > before)


def _points(plots: PlotsPane) -> int:
    content = plots.plot("loss").content
    drawn = () if content is None else content.drawn
    return sum(len(stroke.line.x) for each in drawn for stroke in each.strokes)


@pytest.mark.slow
def test_a_network_is_built_trained_looked_into_and_taken_away(
    person: Person, tmp_path: Path
) -> None:
    studio = person.studio
    _build(person)
    person.press("F5")
    person.until(lambda: studio.training.status.steps > 20)
    _plots_move(person)
    _slowest_kernel(person)
    view = _watch_weights(person)
    person.press("F8")
    person.until(lambda: studio.training.state == "paused")
    stood = studio.training.status.steps
    _weights_shown(person, view)
    assert studio.training.status.steps == stood
    person.press("F8")
    person.until(lambda: studio.training.status.steps > stood)
    person.until(lambda: studio.training.status.metrics.get("accuracy", 0) > 0.9, 120_000)
    person.press("Shift+F5")
    person.until(lambda: studio.training.state == "stopped")
    sample, answer = _ask(person)
    file = tmp_path / "mine.gbi"
    _export(person, file)

    assert studio.data.summary is not None
    part = studio.data.summary.parts[-1]
    image = np.asarray(part.dataset.x[part.indices[sample : sample + 1]])
    apart = _answers_apart(file, image, tmp_path)
    assert apart.shape == (1, 10)
    raised = np.exp(apart.astype(np.float64) - apart.max())
    np.testing.assert_allclose(answer.values, raised / raised.sum(), rtol=1e-5, atol=1e-6)


def test_a_data_set_is_attached_by_commands_alone(person: Person) -> None:
    """The same as in the Data pane, from the command palette."""
    studio = person.studio
    person.new_project()
    for word in CHAIN:
        person.add(word)
    person.command("use digits")
    person.until(lambda: studio.data.status == "ready")
    assert not studio.document.report.is_valid
    person.command("fit the input")
    person.until(lambda: studio.document.report.is_valid)


def test_tabs_of_panes_bring_them_to_the_front(person: Person) -> None:
    """A pane behind another is shown by a click on its tab."""
    person.click(person.button("Blank"))
    person.until(lambda: person.canvas.isVisible())
    found = person.until(lambda: person.tab("Data"))
    person.click(*found)
    pane = person.until(lambda: person.sees(DataPane))
    assert person.window.docks["data"].isAncestorOf(pane)
    person.until(lambda: person.sees(OutlinePane) is None)
