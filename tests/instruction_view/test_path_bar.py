"""The path bar: one thing at four levels, each of which leads back to the same path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.instruction_view.path_bar.bar import LEVELS, PathBar
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.document.edits.blocks import group, rename_block
from studio.session.document.edits.layers import add_layer, rename, set_option
from studio.session.document.levels import all_blocks, ports_in
from studio.session.studio import Studio
from tests.ui.fixtures import shown

Open = Callable[[str], Document]


@pytest.fixture
def document(opened: Open) -> Document:
    return opened("digits-cnn")


@pytest.fixture
def bar(studio: Studio, document: Document, qtbot: QtBot) -> PathBar:
    made = PathBar(studio)
    qtbot.addWidget(made)
    made.resize(1000, 28)
    shown(qtbot, made)
    return made


def test_a_layer_is_spelled_at_every_level(studio: Studio, bar: PathBar) -> None:
    assert bar.texts == ()
    studio.bus.select([entities.node("conv1")], source="canvas")
    provenance = studio.compilation.provenance
    row = next(
        i for i in provenance.instructions_of("conv1")
        if provenance.instruction_at(i).mnemonic == "CONV2D"
    )  # fmt: skip
    ref = provenance.program.tensors.named("conv1/linear").ref
    assert bar.texts == ("conv1", f"#{row} CONV2D", f"{ref} [N,8,8,16]", "conv2d + relu")


def test_what_does_not_exist_is_said(studio: Studio, bar: PathBar) -> None:
    studio.bus.select([entities.node("flatten")], source="canvas")
    ref = studio.compilation.provenance.program.tensors.named("flatten/output").ref
    assert bar.texts == ("flatten", "no instruction", f"{ref} [N,512]", "no kernel")
    assert not bar.part("kernel").isEnabled()
    assert studio.actions.why_not("go.kernel") == "the selection has none"


def test_what_the_program_shown_does_not_have_is_not_asked_for(
    studio: Studio, bar: PathBar, qtbot: QtBot
) -> None:
    prompt = bar.findChild(QLabel, "path_bar.prompt")
    assert isinstance(prompt, QLabel)
    assert prompt.isVisible()
    assert prompt.text().startswith("Select a layer")
    studio.bus.select([entities.tensor("conv1/kernel", grad=True)], source="listing")
    assert not prompt.isVisible()
    studio.compilation.show("infer")
    qtbot.waitUntil(prompt.isVisible)
    assert prompt.text() == "The selection is not part of this program"
    studio.compilation.show("train")
    qtbot.waitUntil(lambda: not prompt.isVisible())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, _, _ in LEVELS])
def test_every_part_selects_its_level_and_keeps_the_others(
    studio: Studio, bar: PathBar, kind: str
) -> None:
    studio.bus.select([entities.tensor("conv2/output", grad=True)], source="listing")
    texts, path = bar.texts, studio.bus.path
    QTest.mouseClick(bar.part(kind), Qt.MouseButton.LeftButton)  # type: ignore[arg-type]
    assert studio.bus.selection.primary == path.at(kind)  # type: ignore[arg-type]
    assert studio.bus.path == path
    assert bar.texts == texts


def test_pointing_at_a_part_lights_it(studio: Studio, bar: PathBar) -> None:
    studio.bus.select([entities.node("conv2")], source="canvas")
    at = QPointF(4, 4)
    QApplication.sendEvent(bar.part("tensor"), QEnterEvent(at, at, at))
    assert studio.bus.hover_entity == studio.bus.path.tensor
    QApplication.sendEvent(bar.part("tensor"), QEvent(QEvent.Type.Leave))
    assert studio.bus.hover_entity is None


def test_actions_jump_to_a_level(studio: Studio, bar: PathBar) -> None:
    revealed: list[Entity] = []
    listener = lambda entity, _source: revealed.append(entity)  # noqa: E731
    studio.bus.revealed.connect(listener)
    assert studio.actions.why_not("go.layer") == "nothing is selected"
    studio.bus.select([entities.tensor("pool/output")], source="tensor_map")
    path = studio.bus.path
    for kind, word, _ in LEVELS:
        assert studio.actions.trigger(f"go.{word}")
        assert studio.bus.selection.primary == path.at(kind)
        assert studio.bus.path == path
    assert revealed == [path.at(kind) for kind, _, _ in LEVELS]


def test_layers_are_called_as_the_user_calls_them(
    studio: Studio, document: Document, bar: PathBar, settled: Callable[[], None]
) -> None:
    studio.bus.select([entities.node("conv1")], source="canvas")
    document.apply("Rename", rename(document.state, "conv1", "edges"))
    settled()
    assert bar.texts[0] == "edges"
    assert studio.bus.selection.primary == entities.node("conv1")


@pytest.mark.slow
def test_a_path_through_a_program_that_is_no_longer_the_graphs_says_so(
    studio: Studio, document: Document, bar: PathBar, settled: Callable[[], None]
) -> None:
    note = bar.findChild(QLabel, "path_bar.note")
    assert isinstance(note, QLabel)
    studio.bus.select([entities.node("conv2")], source="canvas")
    assert not note.isVisible()
    document.apply("Pool", set_option(document.state, "pool", "pool_size", [90, 90]))
    settled()
    assert note.isVisible()
    assert note.text() == "of the previous program"
    document.undo()
    settled()
    assert not note.isVisible()


def test_where_nothing_was_compiled_yet_no_program_was_before(
    studio: Studio, document: Document, bar: PathBar, settled: Callable[[], None]
) -> None:
    note = bar.findChild(QLabel, "path_bar.note")
    assert isinstance(note, QLabel)
    fresh = studio.new()
    fresh.apply("Add", add_layer(fresh.state, "Input"))
    settled()
    assert studio.compilation.stop is not None
    (name,) = fresh.state.nodes
    studio.bus.select([entities.node(name)], source="canvas")
    assert bar.texts
    assert not note.isVisible()


def test_a_path_outlives_an_edit_elsewhere(
    studio: Studio, document: Document, bar: PathBar, settled: Callable[[], None]
) -> None:
    studio.bus.select([entities.node("conv2")], source="canvas")
    before = bar.texts
    document.apply("Rename", rename(document.state, "digit", "answer"))
    settled()
    assert bar.texts == before


def test_a_measured_time_changes_the_time_and_nothing_else(
    studio: Studio, bar: PathBar, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.bus.select([entities.node("conv1")], source="canvas")
    before, shown, line = bar.texts, studio.compilation.shown, studio.bus.path.instruction
    assert shown is not None
    assert line is not None
    index = studio.compilation.provenance.index_of(line.key)
    assert index is not None
    row = shown.rows.group(index).first
    monkeypatch.setattr(studio.profiling, "times_ms", lambda _shown: {row: 1.5})
    refreshed: list[str] = []
    listener = refreshed.append
    studio.actions.changed.connect(listener)
    changed: list[QEvent.Type] = []

    class Watch(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
            changed.append(event.type())
            return False

    watch = Watch(bar)
    for kind, _, _ in LEVELS:
        bar.part(kind).installEventFilter(watch)
    studio.profiling.changed.emit()
    qtbot.waitUntil(lambda: bar.texts != before)
    assert bar.texts == (*before, "1.500 ms")
    assert refreshed == []
    assert QEvent.Type.ToolTipChange not in changed
    assert QEvent.Type.EnabledChange not in changed


@pytest.mark.slow
def test_a_path_gives_way_and_keeps_its_whole_text_in_the_tip(
    studio: Studio, bar: PathBar, qtbot: QtBot
) -> None:
    studio.bus.select([entities.node("conv1")], source="canvas")
    whole = bar.texts
    part = bar.part("instruction")
    assert part.text() == whole[1]
    assert bar.minimumSizeHint().width() < 400
    bar.resize(400, 28)
    qtbot.waitUntil(lambda: part.text().endswith("…"), timeout=60_000)
    assert bar.texts == whole
    assert whole[1] in part.toolTip()
    assert all(bar.rect().contains(bar.part(kind).geometry()) for kind, _, _ in LEVELS)
    for wide in range(400, 1000, 3):
        bar.resize(wide, 28)
        QApplication.processEvents()
    bar.resize(1000, 28)
    qtbot.waitUntil(lambda: part.text() == whole[1], timeout=60_000)
    assert tuple(bar.part(kind).text() for kind, _, _ in LEVELS) == whole[:4]
    assert part.toolTip() == "Select the instruction"


def test_a_layer_is_named_with_the_blocks_around_it(
    studio: Studio, document: Document, bar: PathBar
) -> None:
    state = group(document.state, ["conv1", "conv2", "pool"], "features")
    state = group(state, ["conv1"], "first")
    document.apply("Group", state)
    studio.bus.select([entities.node("conv1")], source="canvas")
    assert bar.texts[0] == "features \u203a first \u203a conv1"
    assert bar.part("node").accessibleName() == "layer: features \u203a first \u203a conv1"
    studio.bus.select([entities.node("flatten")], source="canvas")
    assert bar.texts[0] == "flatten"
    block = next(all_blocks(document.state))
    studio.bus.select([entities.node(block.id)], source="canvas")
    assert bar.texts == ("features", "no instruction", "no tensor", "no kernel")
    port = ports_in(document.state, block.id)[0]
    document.apply("Rename", rename_block(document.state, port.id, "image"))
    studio.bus.select([entities.node(port.id)], source="canvas")
    assert bar.texts[0] == "features \u203a image"
    # What the program does not tell is followed too.
    document.apply("Rename", rename_block(document.state, block.id, "eyes"))
    assert bar.texts[0] == "eyes \u203a image"
    document.undo()
    assert bar.texts[0] == "features \u203a image"
