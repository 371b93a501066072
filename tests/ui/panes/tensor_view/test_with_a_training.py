"""The tensor view over trainings that the studio itself starts, ends and abandons."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox

from studio.engine.core.app_dirs import AppDirs
from studio.engine.gl.live.live import GlSnapshot
from studio.session.compile.compilation_result import Compiled, Compiler
from studio.session.core import entities
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.layers import rename, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.state import Wire
from studio.session.studio import Studio
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.shell.docks.panes import PANES, action_tables
from studio.ui.shell.start.shared_context import provider_for
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

PROJECT = Path(__file__).resolve().parents[4] / "projects" / "digits-mlp"
TRAINED = ("LIVE · step", "AT REST · weights of run")
"""What a view says once something trains, and where that was over before it looked."""


def opened(qapp: QApplication, tmp_path: Path, backend: str, shared: str = "auto") -> Studio:
    scheduler = QtScheduler()
    made: list[Studio] = []
    studio = Studio(
        scheduler,
        AppDirs.below(tmp_path / "places"),
        lambda: provider_for(made[0].preferences.text("shared_views")),
    )
    made.append(studio)
    studio.actions.declare(*action_tables(PANES))
    studio.preferences.set("backend", backend)
    studio.preferences.set("shared_views", shared)
    theme.install(qapp, studio.theme)
    copy = tmp_path / "digits.glassbox"
    (project,) = PROJECT.glob("*.glassbox")
    copy.write_bytes(project.read_bytes())
    studio.open(copy)
    return studio


def kernel_of(studio: Studio) -> str:
    """The first dense kernel of the program shown."""
    shown = studio.compilation.shown
    assert shown is not None
    return next(t.name for t in shown.program.tensors.values() if t.name.endswith("/kernel"))


def test_weights_are_seen_before_while_and_after_a_training(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    pane = TensorViewPane(studio)
    qtbot.addWidget(pane)
    pane.show()
    name = kernel_of(studio)
    pane.show_tensor(entities.tensor(name))
    qtbot.waitUntil(lambda: pane.view.badge == "AT REST · initial weights")
    frame = pane.view.frame
    assert frame is not None
    first = frame.snapshot.array().copy()
    assert studio.training.why_not_start() == ""
    studio.training.start()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("LIVE · step"), timeout=60000)
    studio.training.stop()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("AT REST · weights of run"), timeout=60000)
    assert pane.view.frame is not None
    last = pane.view.frame.snapshot.array()
    assert not np.array_equal(first, last)
    trainer = studio.training.trainer
    assert trainer is not None
    np.testing.assert_array_equal(last, trainer.network.session.read(name).result())
    pane.close_view()
    studio.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "shared"), [("cpu", "auto"), pytest.param("gl", "always", marks=pytest.mark.gl)]
)
def test_the_window_may_close_in_the_middle_of_a_training(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, backend: str, shared: str
) -> None:
    studio = opened(qapp, tmp_path, backend, shared)
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    panes = []
    for key in (kernel_of(studio), f"{kernel_of(studio)}.grad"):
        pane = TensorViewPane(studio)
        qtbot.addWidget(pane)
        pane.show()
        pane.show_tensor(entities.Entity("tensor", key))
        panes.append(pane)
    studio.training.start()
    qtbot.waitUntil(
        lambda: all(pane.view.badge.startswith("LIVE · step") for pane in panes), timeout=60000
    )
    if backend == "gl":
        frame = panes[0].view.frame
        assert frame is not None
        assert isinstance(frame.snapshot, GlSnapshot)
        qtbot.waitUntil(lambda: panes[0].sheet.surface is not None)
    studio.close()
    for pane in panes:
        assert pane.view.frame is None
        surface = pane.sheet.surface
        assert surface is None or surface.snapshot is None
        pane.close()


def opened_pane(qtbot: QtBot, studio: Studio) -> TensorViewPane:
    pane = TensorViewPane(studio)
    qtbot.addWidget(pane)
    pane.resize(420, 620)
    pane.show()
    return pane


def layer_ids(studio: Studio, kind: str) -> list[str]:
    return [node.id for node in studio.document.state.layers() if node.type_name == kind]


def test_a_selected_layer_shows_its_weights_until_something_else_is_chosen(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    first, second = layer_ids(studio, "Dense")[:2]
    names = {node.id: node.name for node in studio.document.state.layers()}
    studio.bus.select((entities.node(first),), source="canvas")
    pane = opened_pane(qtbot, studio)
    assert pane.view.entity == entities.tensor(f"{names[first]}/kernel")
    chooser = pane.findChild(QComboBox, "tensor_chooser")
    assert chooser is not None
    chooser.setCurrentIndex(chooser.findText(f"{names[first]}/output"))
    chooser.activated.emit(chooser.currentIndex())
    studio.bus.select((entities.node(second),), source="canvas")
    assert pane.view.entity == entities.tensor(f"{names[second]}/output")
    pane.close_view()
    studio.close()


def test_a_name_half_typed_stays_while_programs_and_trainings_come_and_go(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    pane = opened_pane(qtbot, studio)
    name = kernel_of(studio)
    bias = name.replace("/kernel", "/bias")
    pane.show_tensor(entities.tensor(name))
    chooser = pane.findChild(QComboBox, "tensor_chooser")
    assert chooser is not None
    field = chooser.lineEdit()
    pane.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    field.selectAll()
    studio.live.expect(True)
    studio.live.expect(False)
    # What is about to be typed over stays selected.
    assert field.selectedText() == name
    qtbot.keyClicks(field, bias[:-1])
    studio.live.expect(True)
    studio.live.expect(False)
    layer = layer_ids(studio, "Dense")[-1]
    before = studio.compilation.result
    studio.document.apply("Rename", rename(studio.document.state, layer, "the_last"))
    qtbot.waitUntil(lambda: studio.compilation.result is not before)
    qtbot.waitUntil(lambda: chooser.findText("the_last/kernel") >= 0)
    assert field.text() == bias[:-1]
    qtbot.keyClicks(field, bias[-1])
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert pane.view.entity == entities.tensor(bias)
    field.selectAll()
    qtbot.keyClicks(field, "nothing of that name")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert pane.view.entity == entities.tensor(bias)
    assert field.text() == bias
    pane.close_view()
    studio.close()


@pytest.mark.slow
def test_a_renamed_layer_is_followed_and_another_project_forgets_it(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    pane = opened_pane(qtbot, studio)
    layer = layer_ids(studio, "Dense")[0]
    studio.bus.select((entities.node(layer),), source="canvas")
    state = studio.document.state
    studio.document.apply("Rename", rename(state, layer, "first_of_all"))
    wanted = entities.tensor("first_of_all/kernel")
    qtbot.waitUntil(lambda: pane.view.entity == wanted)
    studio.new()
    assert pane.view.entity is None
    qtbot.waitUntil(lambda: pane.is_empty)
    pane.close_view()
    studio.close()


def test_a_layer_selected_before_it_is_compiled_is_shown_when_it_is(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    pane = opened_pane(qtbot, studio)
    layer = layer_ids(studio, "Dense")[0]
    assert studio.compilation.result is None
    studio.bus.select((entities.node(layer),), source="canvas")
    assert pane.is_empty
    qtbot.waitUntil(lambda: pane.view.entity is not None)
    assert pane.view.entity is not None
    assert pane.view.entity.key.endswith("/kernel")
    pane.close_view()
    studio.close()


@pytest.mark.slow
def test_a_slice_over_the_past_is_typed_and_left_again(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    pane = opened_pane(qtbot, studio)
    name = kernel_of(studio).replace("/kernel", "/bias")
    pane.show_tensor(entities.tensor(name))
    studio.training.start()
    studio.training.pause()
    qtbot.waitUntil(lambda: studio.training.state == "paused", timeout=60000)
    qtbot.waitUntil(lambda: pane.view.frame is not None)
    field = pane.slices.field
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "t[-3:]")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    trainer = studio.training.trainer
    assert trainer is not None
    seen = []
    for count in (1, 2, 3, 4):
        studio.training.step_batch()
        qtbot.waitUntil(
            lambda n=count: (
                pane.view.frame is not None and pane.view.frame.snapshot.moment.step == n
            ),
        )
        seen.append(trainer.network.session.read(name).result().copy())
    frame = pane.view.frame
    assert frame is not None
    np.testing.assert_array_equal(frame.snapshot.array(), np.stack(seen[-3:]))
    assert pane.view.kind == "map"
    assert pane.view.badge == "LIVE · 3 snapshots up to step 4"
    assert not pane.view.set_slice("t[-3:, 0, 0]")
    assert "axes" in pane.view.slice_error
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "[2:5]")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: pane.view.badge == "LIVE · step 4")
    assert pane.view.shape == seen[-1].shape
    assert pane.view.slice_error == ""
    studio.training.stop()
    pane.close_view()
    studio.close()


def deleted_and_added(studio: Studio, layer: str) -> str:
    """The id of a new layer of the same name and options, in the place of a deleted one."""
    node = studio.document.state.nodes[layer]
    (follower,) = studio.document.state.wires_from(layer)
    studio.document.apply("Delete", delete(studio.document.state, [layer]))
    wire = Wire(node.sources[0], follower.target, follower.slot)
    state = add_on_wire(studio.document.state, "Dense", wire, config=node.config.plain())
    (made,) = set(state.nodes) - set(studio.document.state.nodes)
    studio.document.apply("Add", rename(state, made, node.name))
    assert studio.document.state.nodes[made].config == node.config
    return made


def test_a_new_layer_of_the_name_of_a_deleted_one_is_shown_once_compiled(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=60000)
    pane = opened_pane(qtbot, studio)
    layer = layer_ids(studio, "Dense")[0]
    name = studio.document.state.nodes[layer].name
    made = deleted_and_added(studio, layer)
    assert made != layer
    studio.bus.select((entities.node(made),), source="canvas")
    assert pane.is_empty
    # Both programs have tensors of the same names.
    qtbot.waitUntil(lambda: pane.view.entity == entities.tensor(f"{name}/kernel"), timeout=60000)
    pane.close_view()
    studio.close()


def test_a_tensor_revealed_after_a_layer_was_selected_stays_when_that_is_compiled(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=60000)
    pane = opened_pane(qtbot, studio)
    first, second = layer_ids(studio, "Dense")[:2]
    wanted = entities.tensor(f"{studio.document.state.nodes[second].name}/bias")
    before = studio.compilation.result
    studio.bus.select((entities.node(deleted_and_added(studio, first)),), source="canvas")
    studio.bus.reveal(wanted, "problems")
    assert pane.view.entity == wanted
    qtbot.waitUntil(lambda: studio.compilation.result is not before, timeout=60000)
    assert pane.view.entity == wanted
    pane.close_view()
    studio.close()


@pytest.mark.slow
def test_a_layer_selected_before_it_is_compiled_is_shown_where_a_training_was_faster(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    compile_now = Compiler.compile

    def compile_late(compiler: Compiler, *given: Any) -> Compiled:
        may_go_on.wait()
        return compile_now(compiler, *given)

    monkeypatch.setattr(Compiler, "compile", compile_late)
    studio = opened(qapp, tmp_path, "cpu")
    try:
        pane = opened_pane(qtbot, studio)
        studio.bus.select((entities.node(layer_ids(studio, "Dense")[0]),), source="canvas")
        studio.training.start()
        studio.training.pause()
        qtbot.waitUntil(lambda: studio.training.state == "paused", timeout=60000)
        assert studio.live.trainer is not None
        assert studio.compilation.result is None
        assert pane.is_empty
    finally:
        may_go_on.set()
    qtbot.waitUntil(lambda: pane.view.entity is not None, timeout=60000)
    studio.training.step_batch()
    qtbot.waitUntil(lambda: pane.view.badge == "LIVE · step 1", timeout=60000)
    studio.training.stop()
    qtbot.waitUntil(lambda: not studio.training.is_busy, timeout=60000)
    pane.close_view()
    studio.close()


@pytest.mark.slow
def test_nor_where_the_new_layer_has_the_id_of_the_deleted_one(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    layer = deleted_and_added(studio, layer_ids(studio, "Dense")[0])
    qtbot.waitUntil(lambda: not studio.compilation.is_stale, timeout=60000)
    pane = opened_pane(qtbot, studio)
    studio.bus.select((entities.node(layer),), source="canvas")
    studio.training.start()
    qtbot.waitUntil(lambda: pane.view.badge.startswith(TRAINED), timeout=60000)
    studio.training.stop()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("AT REST · weights of run"), timeout=60000)
    assert "previous" not in pane.view.badge
    # As networks the two are the same.
    assert deleted_and_added(studio, layer) == layer
    qtbot.waitUntil(lambda: not studio.compilation.is_stale, timeout=60000)
    studio.bus.select((entities.node(layer),), source="canvas")
    qtbot.waitUntil(lambda: pane.view.badge.endswith("of the previous program"), timeout=60000)
    assert pane.view.is_stale
    found = studio.training.difference
    assert found is not None
    assert found.replaced == (studio.document.state.nodes[layer].name,)
    pane.close_view()
    studio.close()


@pytest.mark.slow
def test_a_new_layer_does_not_show_the_weights_of_a_deleted_one_as_its_own(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=60000)
    pane = opened_pane(qtbot, studio)
    layer = layer_ids(studio, "Dense")[0]
    studio.bus.select((entities.node(layer),), source="canvas")
    studio.training.start()
    qtbot.waitUntil(lambda: pane.view.badge.startswith(TRAINED), timeout=60000)
    studio.training.stop()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("AT REST · weights of run"), timeout=60000)
    assert "previous" not in pane.view.badge
    options = studio.document.state.nodes[layer].config.plain()
    made = deleted_and_added(studio, layer)
    qtbot.waitUntil(lambda: not studio.compilation.is_stale, timeout=60000)
    studio.bus.select((entities.node(made),), source="canvas")
    words = "of the previous program"
    qtbot.waitUntil(lambda: pane.view.badge.endswith(words), timeout=60000)
    assert pane.view.is_stale
    assert studio.training.staleness
    while studio.document.history.position:
        studio.document.undo()
    qtbot.waitUntil(
        lambda: pane.view.badge.startswith("AT REST") and words not in pane.view.badge,
        timeout=60000,
    )
    units = 7 if options["units"] != 7 else 9
    studio.document.apply("Set", set_option(studio.document.state, layer, "units", units))
    qtbot.waitUntil(lambda: pane.view.badge.endswith(words), timeout=60000)
    pane.close_view()
    studio.close()
