"""From an empty canvas to an instruction file another process runs: by mouse and keyboard alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit

from studio.graph_editor.view.outline_pane import OutlinePane
from studio.ui.panes.data.pane import DataPane
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.profiler.pane import ProfilerPane
from studio.ui.panes.tensor_view.pane import TensorViewPane
from tests.ui.journeys.person import Person

CHAIN = ("input", "conv", "relu", "pool", "flatten", "dense")


def _build(person: Person) -> None:
    """The network, its data and its input; ready to be trained for a while."""
    studio = person.studio
    person.new_project()
    for word in CHAIN:
        person.add(word)
    kinds = [node.type_name for node in studio.document.state.nodes.values()]
    assert kinds == ["Input", "Conv2D", "ReLU", "MaxPooling2D", "Flatten", "Dense"]
    person.command("use digits")
    person.until(lambda: studio.data.status == "ready")
    person.command("fit the input")
    person.until(lambda: studio.document.report.is_valid)
    person.point_at_canvas()
    person.press("Escape")
    inspector = person.see(InspectorPane)
    epochs = person.see(QLineEdit, "field_epochs", inspector)
    person.fill(epochs, "30")
    assert studio.document.state.training["epochs"] == 30
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)


def _look_at_weights(person: Person) -> None:
    """While it stands still: the picture of the first weights is the network's."""
    studio = person.studio
    person.press("Ctrl+2")
    view = person.until(lambda: person.sees(TensorViewPane)).view
    person.click_layer("conv2d")
    person.until(lambda: view.entity and view.entity.key.startswith("conv2d/"))
    chooser = person.until(lambda: person.sees(QComboBox, "tensor_chooser"))
    person.fill(person.see(QLineEdit, inside=chooser), "conv2d/kernel")
    trainer = studio.training.trainer
    assert trainer is not None
    weights = trainer.read_weights()["conv2d/kernel"]
    person.until(lambda: view.frame is not None and view.picture() is not None)
    assert view.entity is not None
    assert view.entity.key == "conv2d/kernel"
    assert view.frame is not None
    assert np.array_equal(view.frame.snapshot.array(), weights)
    picture = view.picture()
    assert picture is not None
    assert picture.tile.values is not None
    shown = picture.tile.values[np.isfinite(picture.tile.values)]
    assert np.array_equal(np.sort(shown.ravel()), np.sort(weights.ravel()))


def _slowest_kernel(person: Person) -> None:
    """A click on the first row of the kernel table selects its layer on the canvas."""
    person.press("Ctrl+3")
    table = person.until(lambda: person.sees(ProfilerPane)).table
    person.until(lambda: table.kernels.rows)
    layer = person.slowest_layer(table)
    assert layer in person.studio.document.state.nodes


def _export(person: Person, file: Path) -> None:
    """The dialog writes the file and finds it to be the same model."""
    person.press("Ctrl+E")
    dialog = person.see(ExportDialog)
    person.fill(person.see(QLineEdit, "export_path", dialog), str(file))
    person.click(person.button("Export", dialog))
    person.until(lambda: person.studio.exporting.result)
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


@pytest.mark.slow
def test_a_network_is_built_trained_looked_into_and_taken_away(
    person: Person, tmp_path: Path
) -> None:
    studio = person.studio
    _build(person)
    person.press("F5")
    person.until(lambda: studio.training.standing.steps > 20)
    person.press("F8")
    person.until(lambda: studio.training.state == "paused")
    assert studio.training.standing.steps < 30 * 45
    plots = person.until(lambda: person.sees(PlotsPane))
    person.until(lambda: plots.plots and plots.plot("loss").content)
    content = plots.plot("loss").content
    assert content is not None
    assert any(len(s.line.x) > 1 for d in content.drawn for s in d.strokes)
    _look_at_weights(person)
    person.press("F8")
    person.until(lambda: studio.training.state == "finished")
    assert studio.training.standing.metrics["accuracy"] > 0.8
    _slowest_kernel(person)
    file = tmp_path / "mine.gbi"
    _export(person, file)

    test = studio.data.summary
    assert test is not None
    part = test.parts[-1]
    image = np.asarray(part.dataset.x[part.indices[:1]])
    network = studio.training.network
    assert network is not None
    own = network.use(lambda trained: trained.predict(image))
    apart = _answers_apart(file, image, tmp_path)
    assert apart.shape == own.shape
    np.testing.assert_allclose(apart, own, rtol=1e-5, atol=1e-5)


def test_tabs_of_panes_bring_them_to_the_front(person: Person) -> None:
    """A pane behind another is shown by a click on its tab."""
    person.click(person.button("Blank"))
    person.until(lambda: person.canvas.isVisible())
    found = person.until(lambda: person.tab("Data"))
    person.click(*found)
    pane = person.until(lambda: person.sees(DataPane))
    assert person.window.docks["data"].isAncestorOf(pane)
    person.until(lambda: person.sees(OutlinePane) is None)
