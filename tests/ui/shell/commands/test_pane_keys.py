"""The keys of the plots and of the tensor view in the whole window: each does its one thing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QLineEdit
from pytestqt.qtbot import QtBot

from studio.session.core import entities
from studio.session.document.edits.sections import set_training
from studio.ui.panes.plots.actions import ACTIONS as PLOT_ACTIONS
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.tensor_view.actions import ACTIONS as TENSOR_ACTIONS
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

PLOT_KEYS = (
    ("A", "plots.follow"),
    ("Y", "plots.log_y"),
    ("O", "plots.outliers"),
    ("]", "plots.smoother"),
    ("[", "plots.rougher"),
    ("Ctrl+C", "plots.copy"),
)
TENSOR_KEYS = (
    ("W", "tensor.fit_range"),
    ("Left", "tensor.pick_left"),
    ("Right", "tensor.pick_right"),
    ("Up", "tensor.pick_up"),
    ("Down", "tensor.pick_down"),
    ("Ctrl+C", "tensor.copy_value"),
    ("Ctrl+G", "tensor.go_to"),
    ("PgDown", "tensor.next_slice"),
    ("PgUp", "tensor.previous_slice"),
    ("1", "tensor.channel_1"),
    ("2", "tensor.channel_2"),
    ("3", "tensor.channel_3"),
    ("0", "tensor.channel_all"),
    ("H", "tensor.hold"),
    ("V", "tensor.compare"),
)
LETTERS = "ayo[]wghv0123 c;nx"


@pytest.fixture
def heard(opened: MainWindow) -> Iterator[list[str]]:
    """The actions that were carried out, in order."""
    done: list[str] = []
    listener = done.append
    opened.studio.actions.triggered.connect(listener)
    yield done
    opened.studio.actions.triggered.disconnect(listener)


@pytest.fixture
def plots(qtbot: QtBot, opened: MainWindow) -> PlotsPane:
    """The plots of a short training."""
    studio = opened.studio
    studio.preferences.set("backend", "cpu")
    studio.preferences.set("profile_live", False)
    studio.document.apply("short", set_training(studio.document.state, {"epochs": 3}))
    qtbot.waitUntil(lambda: studio.actions.why_not("train.start") == "")
    studio.actions.trigger("train.start")
    qtbot.waitUntil(lambda: studio.training.state == "finished")
    opened.docks.switch("train")
    opened.docks.show("plots").ensure()
    pane = opened.findChild(PlotsPane)
    assert pane is not None
    qtbot.waitUntil(lambda: bool(pane.plots) and pane.plots[0].isVisible())
    return pane


@pytest.fixture
def tensor(qtbot: QtBot, opened: MainWindow) -> TensorViewPane:
    """The view of the first weights, as they are before any training."""
    studio = opened.studio
    opened.docks.switch("train")
    opened.docks.show("tensor_view").ensure()
    pane = opened.findChild(TensorViewPane)
    assert pane is not None
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    program = studio.compilation.provenance.program
    assert program is not None
    pane.set_pinned(True)
    pane.show_tensor(
        entities.tensor(
            next(t.name for t in program.tensors.values() if t.name.endswith("/kernel"))
        )
    )
    qtbot.waitUntil(lambda: pane.view.badge.startswith("AT REST"))
    pane.sheet.setFocus()
    qtbot.waitUntil(pane.sheet.hasFocus)
    return pane


def typed_into(field: QLineEdit) -> str:
    """What stands in a field after every letter that is a key somewhere."""
    field.setFocus()
    field.clear()
    QTest.keyClicks(field, LETTERS)
    return field.text()


def test_every_key_of_the_plots_does_its_one_thing(
    qtbot: QtBot, plots: PlotsPane, heard: list[str]
) -> None:
    plot = plots.plots[0]
    plot.setFocus()
    qtbot.waitUntil(plot.hasFocus)
    for keys, action_id in PLOT_KEYS:
        heard.clear()
        press(keys, plot)
        assert heard == [action_id], keys


def test_keys_of_the_plots_change_what_is_drawn(
    qtbot: QtBot, opened: MainWindow, plots: PlotsPane
) -> None:
    display, plot = opened.studio.plots, plots.plots[0]
    plot.setFocus()
    qtbot.waitUntil(plot.hasFocus)
    press("Y", plot)
    assert display.log == {plot.metric_name}
    weight = display.weight
    press("]", plot)
    assert display.weight > weight
    press("[", plot)
    assert display.weight == pytest.approx(weight)
    display.zoom((1.0, 2.0))
    assert not display.follows
    press("A", plot)
    assert display.follows
    QGuiApplication.clipboard().clear()
    press("Ctrl+C", plot)
    assert not QGuiApplication.clipboard().image().isNull()


def test_every_key_of_the_tensor_view_does_its_one_thing(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tensor: TensorViewPane, heard: list[str]
) -> None:
    monkeypatch.setattr(QInputDialog, "open", lambda _self: None)
    for keys, action_id in TENSOR_KEYS:
        heard.clear()
        # Nothing can be compared with what is held before it is.
        qtbot.waitUntil(lambda k=keys: k != "V" or not tensor.view.why_not_compare())
        press(keys, tensor.sheet)
        assert heard == [action_id], keys


def test_keys_of_the_tensor_view_lead_through_it(qtbot: QtBot, tensor: TensorViewPane) -> None:
    view, sheet = tensor.view, tensor.sheet
    press("Right", sheet)
    start = view.pointing.index
    assert start is not None
    press("Right", sheet)
    press("Down", sheet)
    now = view.pointing.index
    assert now is not None
    assert now != start
    press("Up", sheet)
    press("Left", sheet)
    assert view.pointing.index == start
    press("2", sheet)
    assert view.view_state.channel == 1
    press("0", sheet)
    assert view.view_state.channel is None
    press("H", sheet)
    qtbot.waitUntil(lambda: view.badge.startswith("HELD"))
    press("H", sheet)
    qtbot.waitUntil(lambda: view.badge.startswith("AT REST"))


def test_in_the_field_of_slices_letters_are_letters(
    tensor: TensorViewPane, heard: list[str]
) -> None:
    assert typed_into(tensor.slices.field) == LETTERS
    assert heard == []


def test_the_tables_of_keys_are_whole() -> None:
    for declared, tried in ((PLOT_ACTIONS, PLOT_KEYS), (TENSOR_ACTIONS, TENSOR_KEYS)):
        assert {(key, spec.id) for spec in declared for key in spec.keys} == set(tried)
