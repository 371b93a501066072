"""The transport bar with real trainings and real clicks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from studio.engine.cpu.run.executable import CpuExecutable
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data
from studio.session.training import session_base as training_session
from studio.session.training.state import STATES
from studio.ui.panes.transport.bar import TransportBar
from studio.ui.panes.transport.progress import STATE_ICONS, rounded_time
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings
from tests.ui.stand_ins import shows


@pytest.fixture
def trainings(sample: Callable[..., Trainings]) -> Trainings:
    return sample("spirals", epochs=100_000, early_stopping=None)


@pytest.fixture
def bar(trainings: Trainings, stage: Stage) -> TransportBar:
    return stage.show(TransportBar(trainings.studio), 900, 32)


def train_button(bar: TransportBar) -> QPushButton:
    found = bar.findChild(QPushButton, "transport.train")
    assert isinstance(found, QPushButton)
    return found


def step_button(bar: TransportBar, action: str) -> QToolButton:
    found = bar.findChild(QToolButton, f"transport.train.{action}")
    assert isinstance(found, QToolButton)
    return found


def click(qtbot: QtBot, button: QPushButton | QToolButton) -> None:
    qtbot.waitUntil(button.isEnabled)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def type_rate(qtbot: QtBot, bar: TransportBar, typed: str) -> None:
    bar.activateWindow()
    field = bar.learning_rate
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, typed)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_every_state_has_an_icon_and_a_word(bar: TransportBar) -> None:
    assert set(STATE_ICONS) == set(STATES)
    assert bar.progress.accessibleDescription() == "Not training"


@pytest.mark.slow
def test_a_training_is_started_paused_stepped_continued_and_stopped(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    training = trainings.studio.training
    assert not step_button(bar, "stop").isEnabled()
    click(qtbot, train_button(bar))
    trainings.until_state("running")
    trainings.until(lambda: not train_button(bar).isEnabled())
    click(qtbot, step_button(bar, "pause"))
    trainings.until_state("paused")
    trainings.until(lambda: train_button(bar).text() == "Continue")
    assert step_button(bar, "pause").isChecked()
    steps = training.status.steps
    click(qtbot, step_button(bar, "step_batch"))
    trainings.until(lambda: training.status.steps == steps + 1)
    click(qtbot, step_button(bar, "step_epoch"))
    trainings.until(lambda: training.status.steps % training.status.batches == 0
                    and training.state == "paused")  # fmt: skip
    click(qtbot, train_button(bar))
    trainings.until_state("running")
    click(qtbot, step_button(bar, "stop"))
    trainings.until_state("stopped")
    trainings.until(lambda: train_button(bar).text() == "Train")
    trainings.until(lambda: "Stopped" in bar.progress.accessibleDescription())


@pytest.fixture
def epochs_fly(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the sample's epochs are too short to count batches."""
    monkeypatch.setattr(training_session, "FLYING_SECONDS", 3600.0)


@pytest.fixture
def steps_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast the machine is, an epoch of the sample takes some hundredths of a second."""
    run = CpuExecutable.run

    def slowly(*given: Any) -> int:
        time.sleep(0.01)
        return run(*given)

    monkeypatch.setattr(CpuExecutable, "run", slowly)


@pytest.fixture
def epochs_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample's epochs take a few milliseconds; here that is long enough to count batches."""
    monkeypatch.setattr(training_session, "FLYING_SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("epochs_fly")
def test_batches_are_left_out_while_epochs_fly_by_and_told_when_it_stands_still(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    training = trainings.studio.training
    click(qtbot, train_button(bar))
    trainings.until(lambda: bar.progress.time and ", batch" not in bar.progress.text)
    seen: set[str] = set()

    def several() -> bool:
        seen.add(bar.progress.text)
        return len(seen) >= 4

    trainings.until(several)
    assert all(re.fullmatch(r"epoch [\d\u202f]+ of 100\u202f000", text) for text in seen)
    click(qtbot, step_button(bar, "pause"))
    trainings.until_state("paused")
    click(qtbot, step_button(bar, "step_batch"))
    trainings.until(lambda: training.state == "paused" and training.status.batch > 0)
    status = training.status
    batch = f", batch {status.batch} of {status.batches}"
    trainings.until(lambda: bar.progress.text.endswith(batch))


@pytest.mark.usefixtures("epochs_take_long")
def test_progress_names_epoch_batch_and_time_left(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    click(qtbot, train_button(bar))
    trainings.until(lambda: bar.progress.time)
    told = re.fullmatch(r"epoch (\d+) of 100\u202f000, batch \d+ of \d+", bar.progress.text)
    assert told is not None
    assert 1 <= int(told[1]) <= trainings.studio.training.status.epoch
    assert bar.progress.time.endswith("left")
    share = bar.progress.share
    assert share is not None
    assert 0.0 <= share < 1.0


@pytest.mark.slow
def test_the_learning_rate_is_typed_while_it_trains(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    training, field = trainings.studio.training, bar.learning_rate
    assert not field.isEnabled()
    assert field.value == pytest.approx(0.01)
    click(qtbot, train_button(bar))
    trainings.until(field.isEnabled)
    bar.activateWindow()
    qtbot.waitUntil(bar.isActiveWindow)
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    for letter in "0.002":
        # A person types slowly: the training tells of itself between any two keys.
        seen = training.status.steps
        trainings.until(lambda seen=seen: training.status.steps > seen)
        bar.show_possible()
        qtbot.keyClicks(field, letter)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    trainings.until(lambda: training.status.learning_rate == pytest.approx(0.002))
    curves = training.curves
    assert curves is not None
    assert [value for _, value in curves.rate_marks("step")] == [pytest.approx(0.002)]


def test_the_keyboard_falls_on_no_button_when_the_rate_can_be_changed_no_longer(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    click(qtbot, train_button(bar))
    trainings.until(bar.learning_rate.isEnabled)
    bar.activateWindow()
    qtbot.waitUntil(bar.isActiveWindow)
    qtbot.mouseClick(bar.learning_rate, Qt.MouseButton.LeftButton)
    assert bar.learning_rate.hasFocus()
    trainings.studio.training.stop()
    trainings.until_state("stopped")
    trainings.until(lambda: not bar.learning_rate.isEnabled())
    assert bar.focusWidget() is None or not bar.focusWidget().hasFocus()


@pytest.mark.slow
def test_a_rate_set_while_it_stands_still_is_the_one_shown(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    training, field = trainings.studio.training, bar.learning_rate
    click(qtbot, train_button(bar))
    trainings.until(lambda: training.status.steps > 0)
    click(qtbot, step_button(bar, "pause"))
    trainings.until_state("paused")
    for typed in ("0.002", "0"):
        type_rate(qtbot, bar, typed)
        bar.setFocus()
        trainings.until(lambda t=typed: training.status.learning_rate == pytest.approx(float(t)))
        bar.show_possible()
        assert field.value == pytest.approx(float(typed))
    click(qtbot, step_button(bar, "step_batch"))
    trainings.until_state("paused")
    assert training.status.learning_rate == 0.0
    bar.show_possible()
    assert field.value == 0.0


def test_a_rate_is_taken_as_typed_or_refused_with_the_reason(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    training, field = trainings.studio.training, bar.learning_rate
    click(qtbot, train_button(bar))
    trainings.until(lambda: training.status.steps > 0)
    click(qtbot, step_button(bar, "pause"))
    trainings.until_state("paused")
    type_rate(qtbot, bar, "5000")
    trainings.until(lambda: training.status.learning_rate == 5000.0)
    assert not trainings.studio.notices.all
    for count, (typed, got) in enumerate((("-1", "-1"), ("1e39", "1e+39")), 1):
        type_rate(qtbot, bar, typed)
        said = [notice.text for notice in trainings.studio.notices.all]
        assert len(said) == count
        assert said[-1] == f"learning rate: expected a number from 0 to 3e+38, got {got}"
        assert field.value == 5000.0
        assert field.text() == "5000"
    assert training.status.learning_rate == 5000.0


def test_pace_and_elapsed_time_are_told(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    click(qtbot, train_button(bar))
    trainings.until(lambda: "samples/s" in bar.progress.pace and "·" in bar.progress.pace)
    click(qtbot, step_button(bar, "pause"))
    trainings.until_state("paused")
    assert "samples" not in bar.progress.pace
    assert bar.progress.pace.endswith("s")
    click(qtbot, step_button(bar, "stop"))
    trainings.until_state("stopped")
    assert bar.progress.pace == ""


def test_an_invalid_graph_greys_the_button_with_the_reason_and_a_click_shows_problems(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, shown = trainings.studio, []
    studio.actions.attach(shows("pane.problems", shown), None)
    first = next(node.id for node in studio.document.state.layers())
    studio.document.apply("delete", delete(studio.document.state, [first], heal=False))
    button = train_button(bar)
    trainings.until(lambda: "problem" in button.toolTip())
    assert button.property("primary") is False
    click(qtbot, button)
    assert shown == ["pane.problems"]
    assert studio.training.state == "idle"


def test_a_click_without_data_leads_to_the_data(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, shown = trainings.studio, []
    studio.actions.attach(shows("pane.data", shown), None)
    studio.document.apply("No data", set_data(studio.document.state, None))
    button = train_button(bar)
    trainings.until(lambda: "No data is chosen. Click to choose data." in button.toolTip())
    click(qtbot, button)
    assert shown == ["pane.data"]


@pytest.mark.slow
@pytest.mark.usefixtures("epochs_take_long", "steps_take_long")
def test_epoch_and_batch_are_told_whole_in_narrow_windows(
    bar: TransportBar, trainings: Trainings, qtbot: QtBot
) -> None:
    trainings.settings(epochs=1000)
    click(qtbot, train_button(bar))
    trainings.until(lambda: bar.progress.time and trainings.studio.training.status.epoch > 10)
    stopped = r"Stopped epoch \d+(/| of )1\u202f000.*"
    counts = r"epoch \d+(/| of )1\u202f000, batch \d+(/| of )\d+"
    # As wide as it is in windows of 1024, 1152, 1280 and 1600 pixels.
    for wide, wanted in ((560, counts), (690, f"{counts} .* left"),
                         (820, f"Training {counts} .* left"),
                         (1000, f"Training {counts} .*samples/s.* left")):  # fmt: skip
        bar.resize(wide, 32)
        trainings.until(lambda w=wanted: re.fullmatch(w, bar.progress.shown))
        assert bar.learning_rate.isVisible()
    click(qtbot, step_button(bar, "stop"))
    trainings.until_state("stopped")
    bar.resize(560, 32)
    trainings.until(lambda: re.fullmatch(stopped, bar.progress.shown))


@pytest.mark.slow
def test_the_steps_lose_their_words_where_there_is_no_room(bar: TransportBar) -> None:
    button = step_button(bar, "stop")
    assert button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    bar.resize(520, 32)
    assert button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
    assert bar.learning_rate.isVisible()
    bar.resize(370, 32)
    assert not bar.learning_rate.isVisible()
    assert button.accessibleName() == "Stop"


def test_a_failed_training_says_why(bar: TransportBar, trainings: Trainings) -> None:
    trainings.settings(epochs=5, optimizer={"type": "SGD", "config": {"learning_rate": 3e38}})
    trainings.studio.training.start()
    trainings.until_state("failed")
    error = trainings.studio.training.error
    assert error is not None
    trainings.until(lambda: error.message in bar.progress.accessibleDescription())
    assert error.message in bar.progress.toolTip()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "<\u202f1\u202fs"), (4.6, "5\u202fs"), (125.2, "2\u202fmin 5\u202fs")],
)
def test_times_are_told_to_the_second(seconds: float, text: str) -> None:
    assert rounded_time(seconds) == text


@pytest.mark.slow
@pytest.mark.parametrize(("validation", "part"), [("random", "test"), ("held-out", "held-out")])
def test_who_has_gone_elsewhere_is_told_what_was_reached(
    trainings: Trainings,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
    validation: str,
    part: str,
) -> None:
    bar = TransportBar(trainings.studio)
    qtbot.addWidget(bar)
    monkeypatch.setattr(QGuiApplication, "focusWindow", lambda: None)
    trainings.settings(epochs=3, validation=validation)
    trainings.studio.training.start()
    trainings.until(lambda: any("finished" in n.text for n in trainings.studio.notices.all))
    results = trainings.studio.evaluation.results
    assert results is not None
    text = next(n.text for n in trainings.studio.notices.all if "finished" in n.text)
    accuracy = f"{100 * results.metrics['accuracy']:.3g}\u202f%"
    assert text.startswith(f"Training finished: {part} accuracy {accuracy}")


def test_who_looks_at_the_window_is_not_told(
    trainings: Trainings, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    bar = TransportBar(trainings.studio)
    qtbot.addWidget(bar)
    monkeypatch.setattr(QGuiApplication, "focusWindow", lambda: bar.windowHandle() or bar)
    trainings.settings(epochs=3)
    trainings.studio.training.start()
    trainings.until(lambda: trainings.studio.evaluation.status == "ready")
    assert not any("finished" in n.text for n in trainings.studio.notices.all)
