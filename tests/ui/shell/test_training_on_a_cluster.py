"""Train on a cluster from the window: the address, a training there, a connection that is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from studio.engine.scale.remote.mirror import TICKET
from studio.session.document.edits.sections import set_training
from studio.session.notices.connecting import CONNECT
from studio.session.training.cluster_session import FOLLOWER
from studio.session.training.place import TrainingPlace
from studio.ui.shell.dialogs.cluster_address import ClusterAddress
from tests.cli.test_processes import posix
from tests.cli.test_sweeping import children, cluster
from tests.ui.shell.driving import answer, choose, press, question

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot

    from studio.ui.shell.window import MainWindow

LONG = 300_000
PROCESS = "studio.engine.scale.remote.training_process"


def asked(qtbot: QtBot, window: MainWindow, entry: str = "Cluster…") -> ClusterAddress:
    """The dialog that the menu opens."""
    choose(qtbot, window, "Train", "Train on", entry)

    def dialog() -> ClusterAddress | None:
        found = window.findChildren(ClusterAddress)
        return next((each for each in found if each.isActiveWindow()), None)

    qtbot.waitUntil(lambda: dialog() is not None, timeout=LONG)
    made = dialog()
    assert made is not None
    return made


def send_to(qtbot: QtBot, window: MainWindow, address: str) -> None:
    dialog = asked(qtbot, window)
    QTest.keyClicks(dialog.field, address)
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert window.studio.training.place.address == address
    qtbot.waitUntil(window.isActiveWindow, timeout=LONG)
    qtbot.waitUntil(lambda: not window.studio.actions.why_not("train.start"), timeout=LONG)


def set_epochs(window: MainWindow, epochs: int) -> None:
    document = window.studio.document
    document.apply("Epochs", set_training(document.state, {"epochs": epochs}))


def click_notice(qtbot: QtBot, window: MainWindow, text: str) -> None:
    """Click the button of the notice that is shown."""

    def button() -> QPushButton | None:
        found = window.notice_line.findChildren(QPushButton)
        return next((b for b in found if b.text() == text and b.isVisible()), None)

    qtbot.waitUntil(lambda: button() is not None, timeout=LONG)
    found = button()
    assert found is not None
    QTest.mouseClick(found, Qt.MouseButton.LeftButton)


def test_an_address_is_asked_for_until_it_is_one_and_is_remembered(
    qtbot: QtBot, opened: MainWindow
) -> None:
    place, actions = opened.studio.training.place, opened.studio.actions
    assert actions.is_checked("train.on_computer")
    dialog = asked(qtbot, opened)
    refusal = dialog.findChild(QLabel, "refusal")
    assert refusal is not None
    assert not refusal.isVisible()
    for wrong, said in (("", "Expected an address such as"), ("10.0.0.1:8786", "without TLS")):
        dialog.field.selectAll()
        QTest.keyClick(dialog.field, Qt.Key.Key_Delete)
        QTest.keyClicks(dialog.field, wrong)
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
        assert dialog.isVisible()
        assert said in refusal.text()
        assert dialog.field.property("wrong")
        assert place.address == ""
    dialog.field.selectAll()
    QTest.keyClicks(dialog.field, "127.0.0.1:8786")
    assert not refusal.isVisible()
    assert not dialog.field.property("wrong")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert place.address == "tcp://127.0.0.1:8786"
    assert actions.is_checked("train.on_cluster")
    choose(qtbot, opened, "Train", "Train on", "This computer")
    assert place.address == ""
    choose(qtbot, opened, "Train", "Train on", "Cluster at tcp://127.0.0.1:8786")
    assert place.address == "tcp://127.0.0.1:8786"
    kept = TrainingPlace(opened.studio.dirs.state / "cluster.json")
    assert (kept.remembered, kept.address) == ("tcp://127.0.0.1:8786", "")
    again = asked(qtbot, opened, "Cluster at tcp://127.0.0.1:8786")
    assert again.field.text() == "tcp://127.0.0.1:8786"
    QTest.keyClick(again, Qt.Key.Key_Escape)
    assert place.address == "tcp://127.0.0.1:8786"


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_sentence(qtbot: QtBot, opened: MainWindow) -> None:
    training = opened.studio.training
    send_to(qtbot, opened, "tcp://127.0.0.1:9")
    press("F5", opened)
    assert training.is_busy
    assert training.doing == "connecting to tcp://127.0.0.1:9"
    qtbot.waitUntil(lambda: not training.is_busy, timeout=LONG)
    assert training.state == "failed"
    (notice,) = (n for n in opened.studio.notices.all if "there is no Dask cluster" in n.text)
    assert "--" not in f"{notice.text} {notice.details}"
    assert not list(training.runs_path.glob("*"))
    choose(qtbot, opened, "Train", "Train on", "This computer")
    press("F5", opened)
    qtbot.waitUntil(lambda: training.state == "finished", timeout=LONG)
    assert training.has_weights


@pytest.mark.slow
def test_a_training_that_was_not_sent_yet_is_not_left_without_a_question(
    qtbot: QtBot, opened: MainWindow
) -> None:
    training = opened.studio.training
    # Nothing answers there; that is found after a while.
    send_to(qtbot, opened, "tcp://127.0.0.1:9")
    press("F5", opened)
    assert training.is_busy
    opened.close()
    assert question(qtbot, opened).text() == "Training is running"
    answer(qtbot, opened, "keep")
    assert opened.isVisible()
    qtbot.waitUntil(lambda: training.state == "failed", timeout=LONG)


@pytest.mark.slow
@posix
def test_a_training_there_is_drawn_paused_lost_found_and_stopped(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    studio, training = opened.studio, opened.studio.training
    set_epochs(opened, 100_000)
    with cluster(tmp_path / "cluster", 1) as (address, workers):
        send_to(qtbot, opened, address)
        press("F5", opened)
        qtbot.waitUntil(lambda: training.status.done >= 3, timeout=LONG)
        curves = training.curves
        assert curves is not None
        assert len(curves.series("loss", "training")[0][1]) > 0
        assert curves.series("loss", "validation")
        assert studio.runs.active in studio.runs.drawn
        assert studio.live.waiting.text.startswith("Not shown for a training on a cluster")
        assert "cluster" in studio.evaluation.why_not()
        press("F8", opened)
        qtbot.waitUntil(lambda: training.state == "paused", timeout=LONG)
        press("F8", opened)
        qtbot.waitUntil(lambda: training.state == "running", timeout=LONG)
        # The process that follows it is killed: the connection is gone, the training is not.
        for follower in children(os.getpid(), FOLLOWER):
            follower.kill()
        qtbot.waitUntil(lambda: training.word == "Connection lost", timeout=LONG)
        run, done = training.run, training.status.done
        assert run is not None
        assert (run.path / TICKET).exists()
        assert children(workers[0].pid, PROCESS)
        click_notice(qtbot, opened, CONNECT)
        qtbot.waitUntil(lambda: training.status.done > done + 3, timeout=LONG)
        press("Shift+F5", opened)
        qtbot.waitUntil(lambda: training.state == "stopped", timeout=LONG)
        assert not (run.path / TICKET).exists()
        found = training.curves
        assert found is not None
        steps = [len(series) for _, series in found.series("loss", "training")]
        assert steps == [training.status.steps]
        assert (run.path / "checkpoints/last.safetensors").exists()
        qtbot.waitUntil(lambda: studio.evaluation.results is not None, timeout=LONG)


@pytest.mark.slow
@posix
def test_a_window_that_is_closed_finds_its_training_again(
    qtbot: QtBot, opened: MainWindow, project: Path, tmp_path: Path,
    another: Callable[..., MainWindow],
) -> None:  # fmt: skip
    training = opened.studio.training
    set_epochs(opened, 100_000)
    opened.studio.document.save()
    with cluster(tmp_path / "cluster", 1) as (address, workers):
        send_to(qtbot, opened, address)
        press("F5", opened)
        qtbot.waitUntil(lambda: training.status.done >= 2, timeout=LONG)
        run = training.run
        assert run is not None
        opened.close()
        # Nobody asks: it goes on.
        qtbot.waitUntil(lambda: not opened.isVisible(), timeout=LONG)
        training.follow()
        (process,) = children(workers[0].pid, PROCESS)
        second = another()
        second.documents.open_path(project)
        click_notice(qtbot, second, CONNECT)
        again = second.studio.training
        qtbot.waitUntil(lambda: again.state == "running", timeout=LONG)
        assert again.run is not None
        assert again.run.path == run.path
        # Its worker dies: what has arrived can be continued.
        psutil.Process(process.pid).kill()
        qtbot.waitUntil(lambda: again.state == "failed", timeout=LONG)
        assert not (run.path / TICKET).exists()
        assert run.last_checkpoint() is not None
