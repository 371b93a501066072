"""The activation of a plugin: wherever activations are offered, trained, and where it is absent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from studio.graph_editor.panes.palette import PalettePane
from studio.session.document.document import Document
from studio.ui.panes.inspector.node_view import NodeView
from tests.graph_editor.hands import Hands
from tests.ui.journeys.person import Person, in_sight
from tests.ui.journeys.plugins.conftest import carried

PLUGIN = '''
__version__ = "1.5"

from studio.engine.isa.families import Unary
from studio.engine.isa.meaning import Activation


class Wavy(Unary, code=988, mnemonic="WAVY", category="activation"):
    """x + sin x."""

    synopsis = "{y} = wavy({x})"
    formula = "x + sin(x)"
    slopes = {"x": "dy * (1 + cos(x))"}
    functions = {"wavy_step": Activation("x + sin x.", aliases=("wavy",))}
'''

MAKE = """
from pathlib import Path
import sys
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
states = load_plugins(AppDirs.of_user().config)
assert not any(s.problem for s in states), states
from studio.engine import Dense, Input, Project
from studio.engine.layers.symbol import graph_of
x = Input((2,))
y = Dense(2)(Dense(8, activation="wavy_step", name="mine")(x))
Project.new("waves", graph_of([x], [y], "waves"), {"source": "circles"}).save(Path(sys.argv[1]))
"""

WAVES = {"waves": {"version": "1.5", "classes": {"activation": ["wavy_step"]}}}


def plugins(path: Path) -> object:
    return json.loads(path.read_text()).get("plugins", {})


def activation_box(person: Person, node_id: str) -> QComboBox:
    """The box of a layer's activation, in the inspector."""
    person.click_layer(node_id)
    view = person.until(lambda: person.sees(NodeView), 60_000)

    def found() -> QComboBox | None:
        box = view.findChild(QComboBox, "field_activation")
        return box if box is not None and in_sight(box) else None

    return person.until(found, 60_000)


def activations(document: Document) -> dict[str, object]:
    nodes = document.state.nodes.values()
    return {n.name: n.config["activation"] for n in nodes if "activation" in n.config}


def test_it_is_chosen_trained_with_saved_and_opened_again(
    start: Callable[..., Person], put: Callable[..., Path], tmp_path: Path, qtbot: QtBot
) -> None:
    put("waves", PLUGIN)
    person = start()
    studio = person.studio
    document = person.new_project()
    for word in ("input", "dense 8", "wavy", "dense 4 wavy_step", "dense 2"):
        person.add(word)
    types = [node.type_name for node in document().state.nodes.values()]
    assert types == ["Input", "Dense", "Activation", "Dense", "Dense"]
    wanted = {"activation": "wavy_step", "dense_1": "wavy_step"}
    assert {n: a for n, a in activations(document()).items() if a != "linear"} == wanted

    dense = next(n.id for n in document().state.nodes.values() if n.name == "dense")
    person.pick(activation_box(person, dense), "wavy step")
    person.until(lambda: activations(document()).get("dense") == "wavy_step", 60_000)
    person.point_at_canvas()

    person.command("use circles")
    person.until(lambda: studio.data.status == "ready", 60_000)
    if not document().report.is_valid:
        person.command("fit the input")
    person.until(lambda: document().report.is_valid, 60_000)
    person.press("F5")
    person.until(lambda: studio.training.status.steps > 5, 120_000)
    person.press("Shift+F5")
    person.until(lambda: studio.training.state in ("stopped", "finished"), 120_000)
    trainer = studio.training.trainer
    assert trainer is not None
    assert np.isfinite(trainer.read_weights()["dense/kernel"]).all()

    saved = tmp_path / "waves.glassbox"
    document().save(saved)
    assert plugins(saved) == WAVES
    person = start(project=saved)
    again = person.studio.document
    assert again.warnings == ()
    assert again.report.is_valid
    assert activation_box(person, dense).currentText() == "wavy step"


def test_the_palette_finds_it_and_it_is_dropped_on_the_canvas(
    start: Callable[..., Person], put: Callable[..., Path], qtbot: QtBot
) -> None:
    put("waves", PLUGIN)
    person = start()
    document = person.new_project()
    person.add("input")
    palette = person.until(lambda: person.sees(PalettePane), 60_000)
    person.click(palette.field)
    person.type("wavy")
    hands = Hands(qtbot, person.canvas, person.studio)
    carried(person, "Activation wavy_step").drop(hands.nowhere() + QPointF(0, 40))
    assert activations(document()) == {"activation": "wavy_step"}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project made where the plugin is."""
    config = tmp_path_factory.mktemp("config")
    (config / "plugins").mkdir()
    (config / "plugins" / "waves.py").write_text(PLUGIN)
    path = tmp_path_factory.mktemp("project") / "waves.glassbox"
    environment = {**os.environ, "GLASSBOX_PLUGINS": "waves", "GLASSBOX_CONFIG_DIR": str(config)}
    subprocess.run([sys.executable, "-c", MAKE, str(path)], env=environment, check=True)
    return path


def test_where_it_is_absent_it_is_shown_kept_and_not_trained(
    start: Callable[..., Person], original: Path, tmp_path: Path
) -> None:
    project = tmp_path / "waves.glassbox"
    project.write_text(original.read_text())
    assert plugins(project) == WAVES
    person = start(project=project)
    studio, document = person.studio, person.studio.document
    assert (document.read_only, document.warnings) == ("", ())
    (problem,) = document.report.errors
    assert problem.id == "layer.plugin"
    assert problem.message == (
        "the plugin waves 1.5 is not loaded; the activation wavy_step is part of it"
    )
    person.until(lambda: problem.node in person.canvas.graph.nodes, 60_000)
    person.press("F5")
    assert not studio.training.is_busy

    box = activation_box(person, problem.node)
    assert box.placeholderText() == "wavy step (not loaded)"
    assert box.currentIndex() == -1
    assert box.findText("wavy step") == -1
    person.point_at_canvas()
    before = document.state
    person.click_layer(problem.node)
    person.press("Ctrl+D")
    assert len(document.state.nodes) == 4
    document.save()
    assert plugins(project) == WAVES
    assert list(activations(Document.open(project)).values()).count("wavy_step") == 2
    person.press("Ctrl+Z")
    assert document.state == before
    document.save()
    graph = json.loads(original.read_text())["graph"]
    assert json.loads(project.read_text())["graph"] == graph

    person.pick(activation_box(person, problem.node), "relu")
    person.until(lambda: activations(document)["mine"] == "relu", 60_000)
    person.until(lambda: document.report.is_valid, 60_000)
    document.save()
    assert plugins(project) == {}
    assert {notice.severity for notice in studio.notices.all} <= {"info", "ok"}
