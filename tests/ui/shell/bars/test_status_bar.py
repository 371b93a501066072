"""The facts of the status bar: what they say is so, and each leads to where there is more."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.compiler.target import GL
from studio.session.compile.compilation_result import CompiledProgram
from studio.session.core.tasks import TaskHandle
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import set_training
from studio.session.inspector.facts import graph_facts
from studio.session.listing.kernels import Kernels
from studio.session.training import session_base as training_session
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.transport.progress import ProgressView
from studio.ui.shell.bars.popups import NoticesPopup, TasksPopup
from studio.ui.shell.bars.status_facts import Fact, ago_text, device_fact
from studio.ui.shell.window import MainWindow
from studio.widgets import numbers


def text(window: MainWindow, name: str) -> str:
    return window.status.button(name).text().strip()


@pytest.fixture
def compiled(qtbot: QtBot, opened: MainWindow) -> MainWindow:
    # The same on every machine: a GPU has kernels of its own.
    opened.studio.preferences.set("backend", "cpu")
    qtbot.waitUntil(lambda: text(opened, "compile").startswith("Compiled"))
    return opened


def test_a_valid_compiled_project_says_so(qtbot: QtBot, compiled: MainWindow) -> None:
    assert text(compiled, "state") == "Not training"
    assert text(compiled, "validity") == "Graph valid"
    needed = compiled.studio.compilation.result.plan.peak_bytes
    assert f"{needed / 1024:.3g}" in text(compiled, "device")


def test_an_edit_makes_the_program_stale_until_it_is_compiled_again(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document = compiled.studio.document
    dense = next(n for n in document.state.layers() if n.type_name == "Dense")
    seen: list[str] = []
    button, first = compiled.status.button("compile"), compiled.studio.compilation.result
    document.apply("Set units", set_option(document.state, dense.id, "units", 23))

    def compiled_again() -> bool:
        seen.append(button.text().strip())
        said = button.text().strip().startswith("Compiled")
        return said and compiled.studio.compilation.result is not first

    qtbot.waitUntil(lambda: not text(compiled, "compile").startswith("Compiled"))
    qtbot.waitUntil(compiled_again)
    assert {"Stale", "Compiling"} & set(seen)


def test_kernels_taken_over_do_not_make_a_program_newer(qtbot: QtBot, compiled: MainWindow) -> None:
    compilation, training = compiled.studio.compilation, compiled.studio.training
    result = compilation.result
    # As on a device whose kernels are known only once it runs; and some minutes have passed.
    unknown = result.with_program("train", result.main.with_kernels(Kernels({}, "")))
    compilation.result = replace(unknown, ended=result.ended - 200)
    compilation.changed.emit()
    qtbot.waitUntil(lambda: text(compiled, "compile") == f"Compiled {ago_text(200)}")
    training.start()
    qtbot.waitUntil(lambda: bool(compilation.result.main.kernels.counts()))
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy)
    assert text(compiled, "compile") == f"Compiled {ago_text(200)}"


def test_a_fact_that_loses_a_digit_moves_none_of_the_others(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    step, after = compiled.status.button("step"), compiled.status.button("progress")
    places: list[int] = []
    for fact in ("Step 100 µs", "Step 99 µs", "Step 10240 µs", "Step 1 µs", ""):
        step.show_fact(Fact(fact))
        after.show_fact(Fact("Epoch 3"))
        qtbot.wait(1)
        places.append(after.x())
    assert places[0] == places[1] < places[2]
    # What became much shorter leaves no hole.
    assert places[4] < places[3] < places[0]


def test_a_broken_graph_counts_its_problems_and_leads_to_them(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document = compiled.studio.document
    layer = next(n for n in document.state.layers() if n.type_name == "Input")
    from studio.session.document.edits.removal import delete

    document.apply("Delete", delete(document.state, [layer.id], heal=False))
    count = compiled.studio.problems.errors
    assert count
    expected = "1 problem" if count == 1 else f"{count} problems"
    qtbot.waitUntil(lambda: text(compiled, "validity") == expected)
    stops = "prevents" if count == 1 else "prevent"
    tip = f"{expected} {stops} training"
    assert compiled.status.button("validity").toolTip() == tip
    qtbot.mouseClick(compiled.status.button("validity"), Qt.MouseButton.LeftButton)
    assert compiled.docks.is_in_front(compiled.docks["problems"])


def test_a_training_that_failed_is_a_problem_that_keeps_nothing_from_running(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    compiled.studio.preferences.set("backend", "cpu")
    too_much = {"type": "SGD", "config": {"learning_rate": 3e38}}
    document.apply("Too much", set_training(document.state, {"optimizer": too_much}))
    training.start()
    qtbot.waitUntil(lambda: training.state == "failed")
    qtbot.waitUntil(lambda: text(compiled, "validity") == "1 problem")
    tip = "1 problem: see Problems"
    assert compiled.status.button("validity").toolTip() == tip


def test_the_memory_of_a_step_says_which_network_it_is_of(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    compiled.studio.preferences.set("backend", "cpu")
    training.start()
    qtbot.waitUntil(lambda: training.status.steps > 0)
    device = compiled.status.button("device")
    qtbot.waitUntil(lambda: "A step needs" in device.toolTip())
    dense = next(n for n in document.state.layers() if n.type_name == "Dense")
    document.apply("Set units", set_option(document.state, dense.id, "units", 23))
    said = "A step of the network on the canvas needs"
    qtbot.waitUntil(lambda: said in device.toolTip())
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy)


def test_the_memory_of_a_step_is_the_peak_that_other_panes_show(compiled: MainWindow) -> None:
    result = compiled.studio.compilation.result
    assert result is not None
    plan = result.plan
    assert plan.total_bytes > plan.peak_bytes
    assert text(compiled, "device").endswith(f" {numbers.memory(plan.peak_bytes)}")
    facts = graph_facts(compiled.studio.document, compiled.studio.compilation)
    assert facts.peak_bytes == plan.peak_bytes
    tip = compiled.status.button("device").toolTip()
    assert f", {numbers.memory(plan.total_bytes)} with gaps" in tip
    # On a CPU kernels run in program order anyway.
    assert "in parallel" not in tip


def test_what_running_side_by_side_takes_is_said(
    compiled: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = compiled.studio.compilation.result
    assert result is not None
    main = CompiledProgram(result.program, result.main.sizes._replace(target=GL, batch=512))
    assert main.arena_in_order < main.plan.total_bytes
    changed = result.with_program("train", main)
    monkeypatch.setattr(compiled.studio.compilation, "result", changed)
    tip = device_fact(compiled.studio).tip
    assert f"Kernels in parallel: {numbers.memory(main.plan.total_bytes)}." in tip
    assert f"{numbers.memory(main.arena_in_order)} (glassbox train --in-order)" in tip


def test_a_training_shows_its_state_progress_and_loss(qtbot: QtBot, compiled: MainWindow) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    compiled.studio.preferences.set("backend", "cpu")
    training.start()
    qtbot.waitUntil(lambda: text(compiled, "state") == "Training")
    qtbot.waitUntil(lambda: text(compiled, "progress").startswith("Epoch "))
    qtbot.waitUntil(lambda: text(compiled, "loss").startswith("Loss "))
    qtbot.waitUntil(lambda: text(compiled, "step").endswith("/step"))
    training.stop()
    qtbot.waitUntil(lambda: text(compiled, "state") == "Stopped")
    assert text(compiled, "progress") == ""
    latest = training.curves.latest("loss", "training")

    def shown() -> float:
        return float(text(compiled, "loss").removeprefix("Loss "))

    qtbot.waitUntil(lambda: abs(shown() - latest) <= 1e-3 * abs(latest))


def test_the_bars_above_and_below_tell_of_the_same_pace(qtbot: QtBot, compiled: MainWindow) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    compiled.studio.preferences.set("backend", "cpu")
    above, below = compiled.findChild(ProgressView), compiled.status.button("step")
    training.start()
    seen = set()
    while len(seen) < 4:
        qtbot.waitUntil(lambda: "/s" in above.pace and above.pace not in seen, timeout=60_000)
        seen.add(above.pace)
        status = training.status
        assert status.items_per_second
        assert status.step_seconds
        pace = above.pace.partition(" samples/s")[0]
        assert pace in below.toolTip()
        items = training.curves.size.items / training.curves.size.steps
        assert status.items_per_second * status.step_seconds == pytest.approx(items)
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy, timeout=60_000)


def test_the_time_of_a_step_is_that_of_the_clock_while_it_trains(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    profiling, step = compiled.studio.profiling, compiled.status.button("step")
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    compiled.studio.preferences.set("backend", "cpu")

    def says(what: str, *, also: bool) -> None:
        qtbot.waitUntil(lambda: step.text().endswith("/step"), timeout=60_000)
        qtbot.waitUntil(lambda: "over the last seconds" in step.toolTip(), timeout=60_000)
        qtbot.waitUntil(lambda: (what in step.toolTip()) is also, timeout=60_000)

    training.start()
    says("Step only", also=True)
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy, timeout=60_000)
    assert profiling.bar is not None
    qtbot.waitUntil(lambda: step.toolTip().startswith("Step only"), timeout=60_000)
    profiling.set_quiet(True)
    training.start()
    says("Step only", also=False)
    profiling.set_quiet(False)
    says("Step only", also=True)
    training.pause()
    qtbot.waitUntil(lambda: training.state == "paused", timeout=60_000)
    profiling.set_frozen(True)
    says("Step only", also=False)
    profiling.set_frozen(False)
    says("Step only", also=True)
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy, timeout=60_000)


def test_the_bars_above_and_below_tell_of_the_same_batch(
    qtbot: QtBot, compiled: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However short an epoch is, its batches are counted.
    monkeypatch.setattr(training_session, "FLYING_SECONDS", 0.0)
    document, training = compiled.studio.document, compiled.studio.training
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    compiled.studio.preferences.set("backend", "cpu")
    above = compiled.findChild(ProgressView)
    training.start()
    qtbot.waitUntil(lambda: text(compiled, "progress").startswith("Epoch "))
    seen = set()
    while len(seen) < 6:
        qtbot.waitUntil(lambda: ", batch " in above.text and above.text not in seen)
        seen.add(above.text)
        epoch, batch = above.text.removeprefix("epoch ").split(", batch ")
        below = compiled.status.button("progress")
        said, _, left = below.text().removeprefix("Epoch ").partition(", ")
        assert (said, left) == (epoch.replace(" of ", "/"), above.time)
        assert below.toolTip() == f"Epoch {said}\nBatch {batch} in this epoch"
    # A window without room for both has the epoch above and the time that is left below.
    compiled.resize(1024, 700)
    qtbot.waitUntil(lambda: above.shown.startswith("epoch "))
    assert "left" not in above.shown
    qtbot.waitUntil(lambda: text(compiled, "progress") == above.time != "")
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy)


def test_tasks_are_counted_shown_and_stopped(qtbot: QtBot, opened: MainWindow) -> None:
    ends = threading.Event()

    def work(handle: TaskHandle) -> None:
        handle.progress(0.25, "first part")
        while not ends.wait(0.005):
            handle.check()

    handle = opened.studio.tasks.start("Count the stars", work, lambda _: None)
    qtbot.waitUntil(lambda: "Count the stars" in text(opened, "tasks"))
    qtbot.waitUntil(lambda: "25" in text(opened, "tasks"))
    qtbot.mouseClick(opened.status.button("tasks"), Qt.MouseButton.LeftButton)
    popup = opened.findChild(TasksPopup)
    assert "Count the stars" in _labels(popup)
    settled = {"Running tasks", "No background tasks."}
    qtbot.mouseClick(popup.findChild(QPushButton), Qt.MouseButton.LeftButton)
    assert handle.cancelled
    qtbot.waitUntil(lambda: text(opened, "tasks") == "")
    # The list is shown anew at most ten times a second, and the display server has its say too.
    qtbot.waitUntil(lambda: _labels(popup) == settled)
    qtbot.waitUntil(lambda: popup.height() == popup.sizeHint().height() < 100)
    popup.close()


def _labels(popup: TasksPopup | NoticesPopup) -> set[str]:
    return {label.text() for label in popup.findChildren(QLabel)}


def _buttons(popup: NoticesPopup) -> list[str]:
    return [button.text() for button in popup.findChildren(QPushButton)]


def test_the_bell_counts_what_was_not_seen_and_opening_it_is_seeing(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.studio.notices.see()
    opened.studio.notify("First thing")
    opened.studio.notify("Second thing", "error", details="and what to do")
    qtbot.waitUntil(lambda: text(opened, "bell") == "2")
    qtbot.mouseClick(opened.status.button("bell"), Qt.MouseButton.LeftButton)
    popup = opened.findChild(NoticesPopup)
    assert {"First thing", "Second thing", "and what to do"} <= _labels(popup)
    qtbot.waitUntil(lambda: text(opened, "bell") == "")
    for _ in range(2):
        opened.studio.notify("Third thing", "error", ("Undo", lambda: None), about="document.undo")
    # Said while the list is open, it is seen there.
    assert "Third thing" in _labels(popup)
    assert opened.studio.notices.unseen == 0
    assert _buttons(popup).count("Undo") == 2
    opened.studio.notices.settle("document.undo")
    assert "Undo" not in _buttons(popup)
    popup.close()
    opened.studio.notify("Fourth thing", "error")
    assert opened.studio.notices.unseen == 1


def test_zoom_follows_the_canvas(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.actions.trigger("canvas.zoom_100")
    qtbot.waitUntil(lambda: text(opened, "zoom").startswith("100"))


def test_facts_of_a_document_are_left_out_while_none_is_open(window: MainWindow) -> None:
    for name in ("state", "validity", "compile", "zoom"):
        assert not window.status.button(name).isVisible()
    assert window.status.button("bell").isVisible()


def test_every_fact_has_a_name_for_a_screen_reader(qtbot: QtBot, compiled: MainWindow) -> None:
    for name in ("state", "validity", "compile", "device", "tasks", "zoom", "bell"):
        button = compiled.status.button(name)
        assert button.accessibleName()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_edits_of_notes_do_not_make_the_program_stale(qtbot: QtBot, compiled: MainWindow) -> None:
    document = compiled.studio.document
    document.apply("Add a note", add_note(document.state, 0, 0, "x"))
    assert not compiled.studio.compilation.is_stale
    assert text(compiled, "compile").startswith("Compiled")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "just now"), (15, "10\u202fs ago"), (70, "1\u202fmin ago"), (7300, "2\u202fh ago")],
)
def test_ages_are_told_coarsely(seconds: float, expected: str) -> None:
    assert ago_text(seconds) == expected


def test_a_run_that_goes_on_with_its_own_graph_says_so_wherever_it_is_shown(
    qtbot: QtBot, compiled: MainWindow
) -> None:
    document, training = compiled.studio.document, compiled.studio.training
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    # Where there is little room the toolbar leaves the words to its tip.
    compiled.resize(2400, 1000)
    compiled.docks.show("plots")
    qtbot.waitUntil(lambda: compiled.findChild(PlotsPane) is not None, timeout=60_000)
    above, plots = compiled.findChild(ProgressView), compiled.findChild(PlotsPane)
    training.start()
    qtbot.waitUntil(lambda: text(compiled, "state") == "Training", timeout=60_000)
    qtbot.waitUntil(lambda: training.status.epoch > 1, timeout=60_000)
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy, timeout=60_000)
    dense = next(n for n in document.state.layers() if n.type_name == "Dense")
    document.apply("Set units", set_option(document.state, dense.id, "units", 23))
    assert compiled.studio.actions.trigger("train.continue")
    said = "Training · another graph"
    qtbot.waitUntil(lambda: text(compiled, "state") == said, timeout=60_000)
    tip = f"graph in training differs from the canvas: {dense.name} changed"
    qtbot.waitUntil(lambda: tip in above.toolTip(), timeout=60_000)
    assert tip.lower() in compiled.status.button("state").toolTip().lower()
    qtbot.waitUntil(lambda: above.shown.startswith(said), timeout=60_000)
    qtbot.waitUntil(lambda: plots.note == "another graph trains", timeout=60_000)
    document.undo()
    qtbot.waitUntil(lambda: text(compiled, "state") == "Training", timeout=60_000)
    qtbot.waitUntil(lambda: plots.note == "", timeout=60_000)
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy, timeout=60_000)
