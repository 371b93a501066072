"""A project whose plugin is not loaded: it opens, is edited, saved and recovered without loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.engine.train.project.project import Project
from studio.session.document.cards.lines import TIMES
from studio.session.document.document import Document
from studio.session.document.edits.link_offers import offers_to_move
from studio.session.safety.journal import PlainState, difference_to_json, state_to_json
from studio.ui.panes.inspector.node_view import NodeView
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.shell.dialogs.preferences import PreferencesDialog
from tests.graph_editor.hands import Hands
from tests.session.document.networks import wires
from tests.ui.journeys.person import Person, in_sight
from tests.ui.journeys.plugins.conftest import carried

PLUGIN = '''
__version__ = "2.0"

from studio.engine.core.options import integers, number
from studio.engine.isa.ops import loss
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.layers.layer import Layer
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import SGD
from studio.engine.train.callbacks.callback import ProjectCallback


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


class Closeness(Metric):
    """Share of the numbers that are near."""

    share = number("How near.", 0.5)

    def emit(self, builder, p, t, name):
        """LOSS_MAE."""
        return builder.emit("metrics", loss.LossMAE, name=name, port="value", p=p, t=t)[0]


class SlowSGD(SGD):
    """Descends slowly."""


class Patience(ProjectCallback):
    """Waits."""

    polls = number("How often.", 2.0)
'''

MAKE = """
from pathlib import Path
import sys
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
states = load_plugins(AppDirs.of_user().config)
assert not any(s.problem for s in states), states
from studio.engine import Dense, Input, Patience, Project, SlowSGD, Tripling
from studio.engine.layers.symbol import graph_of
x = Input((2,))
y = Dense(1)(Tripling(factor=4.0, spread=(3, 4), name="mine")(x))
training = {"loss": "TripledError",
            "metrics": ["mse", {"type": "Closeness", "config": {"share": 0.25}}],
            "optimizer": {"type": "SlowSGD", "config": {"learning_rate": 0.01}},
            "callbacks": [{"type": "Patience", "config": {"polls": 3.0}}]}
project = Project.new("three", graph_of([x], [y], "three"), {"source": "circles"}, training)
project.save(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project made where the plugin is."""
    folder = tmp_path_factory.mktemp("original")
    config, path = folder / "config", folder / "three.glassbox"
    (config / "plugins").mkdir(parents=True)
    (config / "plugins" / "threes.py").write_text(PLUGIN)
    environment = {**os.environ, "GLASSBOX_PLUGINS": "threes", "GLASSBOX_CONFIG_DIR": str(config)}
    subprocess.run([sys.executable, "-c", MAKE, str(path)], env=environment, check=True)
    return path


@pytest.fixture
def project(original: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "three.glassbox"
    copy.write_text(original.read_text())
    return copy


def mine(document: Document, name: str = "mine") -> str:
    return next(node.id for node in document.state.nodes.values() if node.name == name)


def plugins(path: Path) -> object:
    return json.loads(path.read_text())["plugins"]


def test_it_is_edited_saved_and_nothing_is_lost(
    start: Callable[..., Person], project: Path, original: Path
) -> None:
    person = start(project=project)
    studio, document = person.studio, person.studio.document
    assert document.read_only == ""
    node_id = mine(document)
    person.until(lambda: node_id in person.canvas.graph.nodes, 60_000)
    card = person.canvas.graph.nodes[node_id].card
    assert (card.family, card.subtitle) == ("missing", "Tripling")
    assert [line.value for line in card.lines] == ["4", f"3 {TIMES} 4"]
    assert "the plugin threes 2.0 is not loaded" in card.message

    person.click_layer(node_id)
    view = person.until(lambda: person.sees(NodeView), 60_000)
    person.until(lambda: view.kept.texts == (("factor", "4"), ("spread", f"3 {TIMES} 4")), 60_000)
    about = person.see(QLabel, "layer_about", view)
    assert about.text().startswith("Comes from the plugin threes 2.0, which is not loaded")

    before = document.state
    person.press("Ctrl+C", "Ctrl+V")
    person.until(lambda: len(document.state.nodes) == 4, 60_000)
    person.press("Delete")
    assert len(document.state.nodes) == 3
    person.press("Ctrl+Z", "Ctrl+Z")
    assert document.state == before
    person.click_layer(node_id)
    person.press("Ctrl+D")
    copy = next(iter(document.state.nodes.keys() - before.nodes.keys()))
    document.save()
    kept = json.loads(project.read_text())
    assert plugins(project) == plugins(original)
    assert kept["training"] == json.loads(original.read_text())["training"]

    again = Document.open(project)
    assert again.warnings == ()
    assert again.state.nodes[copy].config.plain()["factor"] == 4.0
    person.press("Ctrl+Z")
    assert document.state == before
    assert {notice.severity for notice in studio.notices.all} <= {"info", "ok"}


def test_it_does_not_train_and_says_what_helps(start: Callable[..., Person], project: Path) -> None:
    person = start(project=project)
    studio = person.studio
    ids = {problem.id for problem in studio.document.report.errors}
    assert {"layer.plugin", "training.plugin.0"} <= ids
    assert len(ids) == 2
    person.press("F5")
    assert not studio.training.is_busy
    person.click(*person.until(lambda: person.tab("Problems")))
    person.until(lambda: studio.problems.items, 60_000)

    def lead() -> QPushButton | None:
        for each in person.window.docks["problems"].findChildren(QPushButton):
            if each.isVisible() and "Open the preferences" in each.accessibleName() + each.text():
                return each
        return None

    person.until(lambda: person.window.docks["problems"].pane, 60_000)
    pane = person.window.docks["problems"].pane
    pane.list.setCurrentRow(0)
    person.click(person.until(lead, 60_000))
    person.until(lambda: person.sees(PreferencesDialog), 60_000)


def test_settings_of_a_plugin_are_shown_and_kept_until_they_are_changed(
    start: Callable[..., Person], project: Path, original: Path
) -> None:
    person = start(project=project)
    studio, document = person.studio, person.studio.document
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), 60_000)
    assert setting(person, pane, "optimizer").placeholderText() == "Slow SGD (not loaded)"
    section = pane.findChild(QWidget, "section_loss_and_metrics")
    fold = section.findChild(QWidget, "fold")
    scroll_to(fold)
    person.click(fold)
    box = setting(person, pane, "loss")
    assert box.placeholderText() == "Tripled error (not loaded)"
    assert box.currentIndex() == -1
    before = json.loads(original.read_text())["training"]
    document.save()
    assert json.loads(project.read_text())["training"] == before
    person.pick(box, "Mean squared error")
    person.until(lambda: document.state.training["loss"] == "MeanSquaredError", 60_000)
    document.save()
    kept = json.loads(project.read_text())
    assert kept["training"]["optimizer"] == before["optimizer"]
    assert kept["training"]["callbacks"] == before["callbacks"]
    assert "loss" not in kept["plugins"]["threes"]["classes"]
    assert {notice.severity for notice in studio.notices.all} <= {"info", "ok"}


CHECK = """
import sys
from pathlib import Path
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
load_plugins(AppDirs.of_user().config)
from studio.engine import Project
from studio.engine.train.project.task import Task
project = Project.load(Path(sys.argv[1]))
task = Task.of_project(project)
layer = project.graph.layer("ours")
print(type(layer).__module__, layer.factor, layer.spread)
print([type(each).__name__ for each in project.training.metrics])
"""


def test_an_absent_layer_is_linked_and_renamed_by_hand(
    start: Callable[..., Person], project: Path, original: Path, qtbot: QtBot
) -> None:
    person = start(project=project)
    document = person.studio.document
    tripling = mine(document)
    person.until(lambda: tripling in person.canvas.graph.nodes, 60_000)
    hands = Hands(qtbot, person.canvas, person.studio)
    hands.canvas.show_all()
    first, last = (next(w for w in wires(document.state).split() if tripling in w.split(">")[end])
                   for end in (1, 0))  # fmt: skip
    source, target = first.split(">")[0], last.split(">")[1]

    hands.click(hands.body(tripling))
    person.press("F2")
    person.until(lambda: person.canvas.inline_editor.is_open, 60_000)
    person.type("ours")
    person.press("Return")
    assert document.state.nodes[tripling].name == "ours"

    # A layer in between, wired by its ports: from the input, and to the layer that is absent.
    carried(person, "ReLU").drop(hands.nowhere())
    (relu,) = (node.id for node in document.state.nodes.values() if node.type_name == "ReLU")
    hands.drag(hands.port(source), hands.input(relu))
    hands.drag(hands.port(relu), hands.input(tripling))
    assert set(wires(document.state).split()) == {
        f"{source}>{relu}", f"{relu}>{tripling}", f"{tripling}>{target}",
    }  # fmt: skip
    # Others are dropped into the wires in front of it and behind it.
    for wire in ((relu, tripling), (tripling, target)):
        carried(person, "Dropout").drop(hands.middle(*wire))
    before, behind = (n.id for n in document.state.nodes.values() if n.type_name == "Dropout")
    assert set(wires(document.state).split()) == {
        f"{source}>{relu}", f"{relu}>{before}", f"{before}>{tripling}",
        f"{tripling}>{behind}", f"{behind}>{target}",
    }  # fmt: skip
    assert offers_to_move(document.state, before)[relu].reason == ""
    assert {notice.severity for notice in person.studio.notices.all} <= {"info", "ok"}

    document.save()
    assert plugins(project) == plugins(original)
    kept = Document.open(project)
    assert wires(kept.state) == wires(document.state)
    config = kept.state.nodes[mine(kept, "ours")].config.plain()
    assert (config["factor"], config["spread"]) == (4.0, [3, 4])
    # Where the plugin is, it is the plugin's layer again.
    config_folder = original.parent / "config"
    environment = {
        **os.environ, "GLASSBOX_PLUGINS": "threes", "GLASSBOX_CONFIG_DIR": str(config_folder),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(project)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "glassbox_plugins.threes 4.0 (3, 4)", "['MeanSquaredError', 'Closeness']",
    ]  # fmt: skip


def test_an_absent_metric_is_shown_kept_and_removed_by_hand(
    start: Callable[..., Person], project: Path, original: Path
) -> None:
    person = start(project=project)
    document = person.studio.document
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), 60_000)
    section = pane.findChild(QWidget, "section_loss_and_metrics")
    fold = section.findChild(QWidget, "fold")
    scroll_to(fold)
    person.click(fold)
    adder = person.until(lambda: pane.findChild(QComboBox, "add_metrics"), 60_000)
    scroll_to(adder)
    person.until(lambda: in_sight(adder), 60_000)
    shown = [label for label in section.findChildren(QLabel) if label.isVisible()]
    assert "Closeness (not loaded)" in [label.text() for label in shown]
    assert adder.findText("Closeness", Qt.MatchFlag.MatchContains) == -1

    # Another metric is added beside it, and taken away.
    before = json.loads(original.read_text())["training"]["metrics"]
    person.pick(adder, "Mean absolute error")
    person.until(lambda: len(document.state.training["metrics"]) == 3, 60_000)
    document.save()
    after = json.loads(project.read_text())
    assert after["training"]["metrics"][:2] == before
    assert plugins(project) == plugins(original)

    remove = person.until(lambda: pane.findChild(QAbstractButton, "remove_metrics_1"), 60_000)
    scroll_to(remove)
    person.until(lambda: in_sight(remove), 60_000)
    person.click(remove)
    person.until(lambda: len(document.state.training["metrics"]) == 2, 60_000)
    document.save()
    assert "metric" not in plugins(project)["threes"]["classes"]
    person.press("Ctrl+Z", "Ctrl+Z")
    document.save()
    assert json.loads(project.read_text())["training"]["metrics"] == before
    assert plugins(project) == plugins(original)


def scroll_to(widget: QWidget) -> None:
    area = widget
    while not isinstance(area, QScrollArea):
        area = area.parentWidget()
    area.ensureWidgetVisible(widget)


def setting(person: Person, pane: InspectorPane, name: str) -> QComboBox:
    """The box of a training setting, scrolled into sight."""

    def found() -> QComboBox | None:
        box = pane.findChild(QComboBox, f"field_{name}")
        return box if box is not None and not box.isHidden() else None

    box = person.until(found, 60_000)
    scroll_to(box)
    person.until(lambda: in_sight(box), 60_000)
    return box


RECOVER = """
import json, sys
from studio.session.safety.journal import PlainState
whole, change = json.loads(sys.stdin.read())
plain = PlainState(whole)
plain.apply(change)
state = plain.state()
node = next(n for n in state.nodes.values() if n.name == "mine")
print(json.dumps([node.type_name, node.config.plain(), node.x, state.training.plain()]))
"""


@pytest.mark.slow
def test_a_journal_is_read_where_the_plugin_is_not(registries: None, project: Path) -> None:
    state = Document.open(project).state
    node = next(n for n in state.nodes.values() if n.name == "mine")
    moved = state.with_nodes([replace(node, x=777.0)])
    asked = json.dumps([state_to_json(state), difference_to_json(state, moved)])
    done = subprocess.run(
        [sys.executable, "-c", RECOVER], input=asked, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    type_name, config, x, training = json.loads(done.stdout)
    assert (type_name, x) == ("Tripling", 777.0)
    assert config == {"name": "mine", "factor": 4.0, "spread": [3, 4]}
    assert training == state.training.plain()
    assert PlainState(state_to_json(state)).state() == state


@pytest.mark.slow
def test_a_layer_that_leads_nowhere_is_kept_too(
    registries: None, project: Path, tmp_path: Path
) -> None:
    document = Document.open(project)
    node = next(n for n in document.state.nodes.values() if n.name == "mine")
    target = next(n for n in document.state.nodes.values() if mine(document) in n.sources)
    document.apply("Cut", document.state.with_nodes([replace(target, inputs=node.inputs)]))
    copy = tmp_path / "cut.glassbox"
    document.save(copy)
    assert plugins(copy)["threes"]["classes"]["layer"] == ["Tripling"]
    code = """
import sys
from studio.session.document.cards.lines import TIMES
from studio.session.document.document import Document
document = Document.open(sys.argv[1])
assert document.warnings == (), document.warnings
assert document.read_only == "", document.read_only
print([n.config.plain() for n in document.state.nodes.values() if n.name == "mine"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(copy)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "'factor': 4.0" in done.stdout


@pytest.mark.slow
def test_two_projects_with_plugins_of_one_class_name_keep_their_own(
    registries: None, project: Path, tmp_path: Path, dirs: AppDirs
) -> None:
    other = tmp_path / "other.glassbox"
    text = json.loads(project.read_text())
    text["plugins"] = {"fours": {**text["plugins"]["threes"], "version": "9"}}
    other.write_text(json.dumps(text))
    for path, name in ((project, "threes"), (other, "fours"), (project, "threes")):
        found = Project.load(path)
        assert list(found.to_json()["plugins"]) == [name]
        document = Document.open(path)
        assert any(name in problem.message for problem in document.report.errors)
        document.save(tmp_path / "again.glassbox")
        assert list(plugins(tmp_path / "again.glassbox")) == [name]
