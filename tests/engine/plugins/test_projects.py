"""Projects that use plugins: what is written, and what is left where one is absent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Model
from studio.engine.core.errors import StudioError
from studio.engine.layers.missing import MissingLayer
from studio.engine.plugins.finding import FOLDER
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.document.document import Document
from studio.session.safety.journal import state_to_json

PLUGIN = '''
"""Layers, a loss and an optimiser from outside Glassbox."""

__version__ = "2.0"

from studio.engine.core.options import integers, number
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.isa.ops import loss
from studio.engine.layers.layer import Layer
from studio.engine.optim.losses import Loss
from studio.engine.optim.optimizers import SGD


class Tripling(Layer):
    """Multiplies by a number."""

    category = "core"
    factor = number("Factor.", 3.0)
    spread = integers("Nothing.", (1, 2))

    def lower(self, context, *inputs):
        """SCALE."""
        return context.emit(Scale, x=inputs[0], alpha=self.factor)


class TripledError(Loss):
    """Squared error."""

    instruction = loss.LossMSE


class SlowSGD(SGD):
    """Descends slowly."""
'''

MAKE = """
from pathlib import Path
import sys
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
states = load_plugins(AppDirs.of_user().config)
assert not any(s.problem for s in states), states
from studio.engine import Dense, Input, Project
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer
from studio.engine.layers.symbol import graph_of
x = Input((2,))
y = Dense(1)(Layer.members["Tripling"](factor=4.0, spread=(3, 4), name="mine")(x))
graph = graph_of([x], [y], "three")
slow = {"type": "SlowSGD", "config": {"learning_rate": 0.01}}
training = {"loss": "TripledError", "optimizer": slow}
Project.new("three", graph, {"source": "circles"}, training).save(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project made where the plugin is, and the configuration that has it."""
    config = tmp_path_factory.mktemp("config")
    (config / FOLDER).mkdir()
    (config / FOLDER / "threes.py").write_text(PLUGIN)
    path = tmp_path_factory.mktemp("project") / "three.glassbox"
    run(config, "-c", MAKE, str(path))
    return path, config


def run(config: Path, *words: str, plugins: str = "threes") -> str:
    environment = {**os.environ, "GLASSBOX_PLUGINS": plugins, "GLASSBOX_CONFIG_DIR": str(config)}
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 2), done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_file_names_plugin_version_and_classes(saved: tuple[Path, Path]) -> None:
    assert json.loads(saved[0].read_text())["plugins"] == {
        "threes": {
            "version": "2.0",
            "classes": {
                "layer": ["Tripling"], "loss": ["TripledError"], "optimizer": ["SlowSGD"],
            },
        }
    }  # fmt: skip


def test_without_the_plugin_the_project_saves_unharmed(saved: tuple[Path, Path]) -> None:
    project = Project.load(saved[0])
    assert isinstance(project.graph.layer("mine"), MissingLayer)
    assert project.text() == saved[0].read_text()


def test_without_the_plugin_it_does_not_train(saved: tuple[Path, Path]) -> None:
    with pytest.raises(StudioError, match=r"from the plugin threes 2\.0, which is not loaded"):
        Task.of_project(Project.load(saved[0]))


def test_the_document_keeps_the_unknown_node(saved: tuple[Path, Path], tmp_path: Path) -> None:
    document = Document.open(saved[0])
    node = next(n for n in document.state.nodes.values() if n.type_name == "Tripling")
    assert node.config.plain() == {"name": "mine", "factor": 4.0, "spread": [3, 4]}
    copy = tmp_path / "copy.glassbox"
    document.save(copy)
    assert json.loads(copy.read_text())["graph"] == json.loads(saved[0].read_text())["graph"]
    assert json.loads(copy.read_text())["plugins"] == json.loads(saved[0].read_text())["plugins"]


@pytest.mark.slow
def test_the_command_line_trains_and_exports_with_it_alone(
    saved: tuple[Path, Path], tmp_path: Path
) -> None:
    path, config = saved
    refused = run(config, "-m", "studio", "compile", str(path), plugins="")
    assert "from the plugin threes 2.0, which is not loaded" in refused
    assert "Traceback" not in refused
    run(config, "-m", "studio", "train", str(path), "--epochs", "1", "--backend", "cpu")
    out = tmp_path / "out.gbi"
    run(config, "-m", "studio", "export", str(path), "-o", str(out))
    assert out.exists()


ACTIVATION = '''
__version__ = "1.5"

from studio.engine.isa.families import Unary
from studio.engine.isa.meaning import Activation


class Swing(Unary, code=987, mnemonic="SWING", category="activation"):
    """x + sin x."""

    synopsis = "{y} = swing({x})"
    formula = "x + sin(x)"
    slopes = {"x": "dy * (1 + cos(x))"}
    functions = {"swing": Activation("x + sin x.")}
'''

SWING = """
from pathlib import Path
import sys
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
states = load_plugins(AppDirs.of_user().config)
assert not any(s.problem for s in states), states
from studio.engine import Dense, Input, Project
from studio.engine.layers.symbol import graph_of
x = Input((2,))
y = Dense(2)(Dense(8, activation="swing")(x))
Project.new("swings", graph_of([x], [y], "swings"), {"source": "circles"}).save(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def swings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project with the activation of a plugin, and the configuration that has it."""
    config = tmp_path_factory.mktemp("config")
    (config / FOLDER).mkdir()
    (config / FOLDER / "swings.py").write_text(ACTIVATION)
    path = tmp_path_factory.mktemp("project") / "swings.glassbox"
    run(config, "-c", SWING, str(path), plugins="swings")
    return path, config


@pytest.mark.slow
def test_an_activation_is_recorded_and_kept_where_it_is_absent(
    swings: tuple[Path, Path], tmp_path: Path
) -> None:
    path, config = swings
    recorded = {"swings": {"version": "1.5", "classes": {"activation": ["swing"]}}}
    assert json.loads(path.read_text())["plugins"] == recorded
    assert Project.load(path).text() == path.read_text()
    document = Document.open(path)
    # A layer that leads nowhere is recorded too.
    last = next(n for n in document.state.nodes.values() if n.name == "dense_1")
    cut = document.state.with_nodes([replace(last, inputs=())])
    document.apply("Cut", cut)
    copy = tmp_path / "copy.glassbox"
    document.save(copy)
    assert json.loads(copy.read_text())["plugins"] == recorded
    with pytest.raises(StudioError, match=r"swing comes from the plugin swings 1\.5, which is not"):
        Task.of_project(Project.load(path))
    refused = run(config, "-m", "studio", "compile", str(path), plugins="")
    assert "the activation swing comes from the plugin swings 1.5" in refused
    assert "Traceback" not in refused
    model = Model.of_graph(Project.load(path).graph, backend="cpu")
    with pytest.raises(StudioError, match="swing comes from the plugin swings"):
        model.predict(np.zeros((1, 2), np.float32))
    run(config, "-m", "studio", "train", str(path), "--epochs", "1", plugins="swings")


@pytest.mark.slow
def test_names_of_activations_are_checked(swings: tuple[Path, Path]) -> None:
    told = json.loads(swings[0].read_text())
    for names in ("swing", [3], ["a b"], ["x" * 65]):
        told["plugins"]["swings"]["classes"]["activation"] = names
        with pytest.raises(StudioError, match="plugins"):
            Project.load(json.dumps(told).encode())


def test_a_journal_records_an_activation(swings: tuple[Path, Path]) -> None:
    state = Document.open(swings[0]).state
    assert state_to_json(state)["plugins"]["swings"]["classes"] == {"activation": ["swing"]}
