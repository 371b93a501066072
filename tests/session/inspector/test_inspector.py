"""The inspector's model: options of one layer or several, refusals, costs that add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.core.configured import Configured
from studio.engine.core.errors import StudioError
from studio.engine.core.options import choice, flag, integer
from studio.engine.layers.initializers import initializer
from studio.engine.layers.regularizers import regularizer
from studio.engine.train.settings import TrainingSettings
from studio.session.compile.compilation import Compilation
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.core.option_rows import row_of
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.wires import connect
from studio.session.inspector.facts import costs_of
from studio.session.inspector.inspector import InspectorModel
from studio.session.inspector.sections import layer_sections, training_sections
from tests.session.desk import Desk

PROJECTS = Path(__file__).resolve().parents[3] / "projects"


class InspectorDesk(Desk):
    """A desk with a compiled sample project."""

    def __init__(self) -> None:
        super().__init__(Document.open(PROJECTS / "digits-cnn" / "digits-cnn.glassbox"))
        self.bus = SelectionBus()
        self.compilation = Compilation(self.scheduler, self.tasks)
        self.inspector = InspectorModel(self.current, self.bus, self.compilation)
        self.compilation.follow(self.document)
        self.settle(lambda: self.compilation.result is not None)
        self.bus.use(self.compilation.provenance)

    def select(self, *names: str) -> None:
        ids = {node.name: node.id for node in self.document.state.layers()}
        self.bus.select(entities.node(ids[name]) for name in names)

    def row(self, name: str) -> object:
        return next(row.value for row in self.inspector.rows() if row.option.name == name)


@pytest.fixture
def desk() -> Iterator[InspectorDesk]:
    made = InspectorDesk()
    yield made
    made.compilation.follow(None)
    made.tasks.close()


def names(desk: InspectorDesk, kind: str) -> list[str]:
    return [n.name for n in desk.document.state.layers() if n.type_name == kind]


def test_every_declared_option_is_there_with_its_value(desk: InspectorDesk) -> None:
    conv = names(desk, "Conv2D")[0]
    desk.select(conv)
    node = desk.inspector.nodes[0]
    rows = {row.option.name: row for row in desk.inspector.rows()}
    assert rows["filters"].value == node.config["filters"]
    assert rows["strides"].value == [1, 1]
    assert rows["strides"].is_default
    assert not rows["filters"].is_default


def test_a_change_is_one_step_and_dragging_merges(desk: InspectorDesk) -> None:
    desk.select(names(desk, "Conv2D")[0])
    for filters in (17, 18, 19):
        desk.inspector.set_value("filters", filters, "drag")
    assert desk.row("filters") == 19
    assert desk.document.history.texts == ("Change filters",)
    desk.inspector.set_value("strides", [2, 2])
    desk.inspector.reset("strides")
    assert desk.row("strides") == [1, 1]
    assert desk.document.history.texts[1:] == ("Change strides", "Reset strides")


def test_a_wrong_value_is_refused_in_the_layers_own_words(desk: InspectorDesk) -> None:
    desk.select(names(desk, "Conv2D")[0])
    before = desk.document.state
    with pytest.raises(StudioError, match=r"filters: expected a whole number from 1 .*, got 0"):
        desk.inspector.set_value("filters", 0)
    assert desk.document.state is before


def test_several_layers_are_changed_together_or_not_at_all(desk: InspectorDesk) -> None:
    convs, denses = names(desk, "Conv2D"), names(desk, "Dense")
    desk.select(*convs, *denses)
    rows = {row.option.name: row for row in desk.inspector.rows()}
    assert "filters" not in rows
    assert rows["activation"].is_mixed
    desk.inspector.set_value("activation", "tanh")
    assert {n.config.get("activation") for n in desk.inspector.nodes} == {"tanh"}
    assert desk.document.history.position == 1
    before = desk.document.state
    with pytest.raises(StudioError):
        desk.inspector.set_value("activation", "wiggle")
    assert desk.document.state is before


def test_names_are_checked_and_layers_frozen_and_bypassed(desk: InspectorDesk) -> None:
    first, *others = names(desk, "Conv2D")
    desk.select(first)
    desk.inspector.rename("stem")
    assert desk.inspector.nodes[0].name == "stem"
    with pytest.raises(StudioError, match="taken"):
        desk.inspector.rename(others[0] if others else names(desk, "Dense")[0])
    desk.inspector.set_frozen(True)
    assert desk.inspector.nodes[0].frozen
    facts = desk.inspector.facts()
    assert facts is not None
    assert facts.trained == 0
    desk.inspector.set_frozen(False)
    facts = desk.inspector.facts()
    assert facts is not None
    assert facts.trained == facts.parameters
    desk.inspector.set_preview("full")
    assert desk.inspector.nodes[0].preview == "full"


def test_costs_of_layers_and_housekeeping_add_up_to_the_program(desk: InspectorDesk) -> None:
    result = desk.compilation.result
    assert result is not None
    program = result.main
    total = desk.inspector.graph_facts()
    owners = program.rows.all_owners
    flops = sum(cost.flops for o in owners for cost in costs_of(program, o).values())
    expected = sum(
        line.flops(program.program.bound(program.batch, program.data_rows))
        for line in program.program
        if line.mnemonic not in ("FUSE", "END")
    )
    assert flops == pytest.approx(total.flops)
    assert total.flops == pytest.approx(expected, rel=0.02)
    assert total.parameters == desk.document.report.parameters
    assert total.peak_bytes == program.plan.peak_bytes


def test_facts_name_what_feeds_a_layer_and_what_is_wrong(desk: InspectorDesk) -> None:
    state = add_layer(desk.document.state, "Dense", config={"units": 3})
    picture = names(desk, "Conv2D")[0]
    node = next(n for n in state.layers() if n.name == picture)
    state = connect(state, node.id, "dense", check_shapes=False)
    desk.document.apply("Add", state)
    desk.bus.select([entities.node("dense")])
    facts = desk.inspector.facts()
    assert facts is not None
    assert facts.inputs[0][0] == picture
    assert facts.is_stale or facts.condition in ("ok", "error", "unreached", "waiting")
    assert facts.about.startswith("Fully connected: each output is a weighted sum")


def test_instructions_and_tensors_show_their_layer_and_a_pin_keeps_it(desk: InspectorDesk) -> None:
    dense = names(desk, "Dense")[0]
    node = next(n for n in desk.document.state.layers() if n.name == dense)
    index = desk.compilation.provenance.instructions_of(node.id)[0]
    desk.bus.select([entities.instruction(desk.compilation.provenance.key_of(index))])
    assert node.id in [each.id for each in desk.inspector.nodes]
    desk.inspector.set_pinned(True)
    desk.bus.clear()
    assert node.id in [each.id for each in desk.inspector.nodes]
    desk.inspector.set_pinned(False)
    assert desk.inspector.nodes == ()


def test_training_settings_are_rows_too(desk: InspectorDesk) -> None:
    rows = {row.option.name: row for row in desk.inspector.training_rows()}
    assert set(rows) == {
        "epochs", "batch_size", "seed", "shuffle", "optimizer", "loss", "metrics",
        "weighted_metrics", "validation",
        "validation_fraction", "class_weights", "early_stopping", "callbacks", "checkpoints",
        "level", "data_budget", "stop_on_nan", "begin_with",
    }  # fmt: skip
    desk.inspector.set_training("epochs", 3)
    desk.inspector.set_training("epochs", 4, "drag")
    desk.inspector.set_training("epochs", 5, "drag")
    assert desk.document.state.training["epochs"] == 5
    assert desk.document.history.position == 2
    with pytest.raises(StudioError, match="epochs: expected a whole number from 1"):
        desk.inspector.set_training("epochs", 0)
    desk.inspector.set_training("loss", "mse")
    desk.inspector.set_training("loss", None)
    assert "loss" not in desk.document.state.training
    desk.inspector.reset_training("epochs")
    assert desk.document.state.training["epochs"] == 10
    desk.inspector.set_notes("first")
    desk.inspector.set_notes("first thoughts")
    assert desk.document.state.notes == "first thoughts"
    assert desk.document.history.texts[-1] == "Edit notes"


class Spray(Configured, family="spray"):
    """Options under headings, and one that has a single choice."""

    width = integer("Width.", 3, low=1)
    colour = choice("Colour.", "black")
    start = initializer("How it begins.", "zeros")
    fee = regularizer("What it costs.")
    smell = flag("Whether it smells.", group="Air")


def test_options_stand_under_the_headings_they_declare() -> None:
    rows = [row_of(option, option.plain_default) for option in Spray.form_options()]
    sections = layer_sections(rows)
    assert [(s.title, [row.option.name for row in s.rows], s.is_open) for s in sections] == [
        ("Options", ["width"], True),
        ("Initial values", ["start"], False),
        ("Regularisation", ["fee"], False),
        ("Read-only", ["colour"], False),
        ("Air", ["smell"], False),
    ]


def test_every_training_setting_has_a_heading() -> None:
    rows = [row_of(option, option.plain_default) for option in TrainingSettings.form_options()]
    sections = training_sections(rows)
    titles = [section.title for section in sections]
    assert titles == [
        "Training", "Optimiser", "Loss and metrics", "Validation", "Stopping", "Checkpoints",
        "Program",
    ]  # fmt: skip
    shown = {row.option.name for section in sections for row in section.rows}
    # A share is asked for only where one is taken.
    assert {option.name for option in TrainingSettings.options} - shown == {"validation_fraction"}
    tail = [replace(r, value="tail") if r.option.name == "validation" else r for r in rows]
    assert [row.option.name for row in training_sections(tail)[3].rows] == [
        "validation", "validation_fraction",
    ]  # fmt: skip
