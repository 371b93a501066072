"""Widgets that follow models: threads, rates, and what happens once a widget is gone."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.engine.core.signal import Signal
from studio.widgets import binding


class Follower(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.heard: list[tuple[int, int]] = []

    def look(self) -> None:
        self.calls += 1

    def hear(self, value: int) -> None:
        self.heard.append((value, threading.get_ident()))


def emit_elsewhere(signal: Signal[[int]], count: int) -> None:
    def work() -> None:
        for number in range(count):
            signal.emit(number)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_each_emission_arrives_in_order_on_the_windows_thread(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    binding.connect(widget, signal, widget.hear)
    emit_elsewhere(signal, 200)
    assert widget.heard == []
    qtbot.waitUntil(lambda: len(widget.heard) == 200)
    assert widget.heard == [(n, threading.get_ident()) for n in range(200)]


def test_on_the_windows_thread_it_is_told_at_once(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    binding.connect(widget, signal, widget.hear)
    signal.emit(7)
    assert [value for value, _ in widget.heard] == [7]


def test_emissions_during_a_rest_call_for_no_attention_and_are_shown_behind_it(
    qtbot: QtBot,
) -> None:
    widget, signal = Follower(), Signal[[]]()
    qtbot.addWidget(widget)
    binding.refresh(widget, widget.look, signal, rate=10)
    signal.emit()
    qtbot.waitUntil(lambda: widget.calls == 1)
    called: list[object] = []
    carrier = binding._carrier()
    carrier.carried.connect(called.append)
    for _ in range(5):
        signal.emit()
    assert called == []
    qtbot.waitUntil(lambda: widget.calls == 2)
    carrier.carried.disconnect(called.append)


@pytest.mark.slow
def test_methods_of_qt_itself_are_called(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[]]()
    qtbot.addWidget(widget)
    binding.connect(widget, signal, widget.hide)
    widget.show()
    gc.collect()
    signal.emit()
    assert widget.isHidden()


def test_many_changes_make_few_refreshes_and_the_last_counts(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    state, seen = [0], []
    widget.look = lambda: seen.append(state[0])
    keeper = widget.look
    made = binding.refresh(widget, keeper, signal)
    for number in range(1000):
        state[0] = number
        signal.emit(number)
    qtbot.waitUntil(lambda: bool(seen) and not made.waiting)
    assert seen == [999]
    for number in range(1000, 2000):
        state[0] = number
        signal.emit(number)
    qtbot.waitUntil(lambda: not made.waiting)
    assert seen == [999, 1999]


def test_refreshes_keep_to_the_rate(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    made = binding.refresh(widget, widget.look, signal, rate=10)
    emissions = [0]

    def storm() -> bool:
        emissions[0] += 1
        signal.emit(1)
        return emissions[0] >= 30

    # waitUntil looks every 10 ms: 30 looks are 0.3 s, in which 10 Hz allows 4 refreshes.
    qtbot.waitUntil(storm)
    qtbot.waitUntil(lambda: not made.waiting)
    assert 1 <= widget.calls < emissions[0] / 2


@pytest.mark.slow
def test_a_hidden_widget_waits_until_it_is_seen(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    binding.refresh(widget, widget.look, signal, when_visible=True)
    signal.emit(1)
    QCoreApplication.processEvents()
    assert widget.calls == 0
    with qtbot.waitExposed(widget, timeout=60_000):
        widget.show()
    assert widget.calls == 1
    widget.hide()
    widget.show()
    assert widget.calls == 1


def test_a_destroyed_widget_hears_nothing(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    binding.connect(widget, signal, widget.hear)
    made = binding.refresh(widget, widget.look, signal)
    signal.emit(1)
    shiboken6.delete(widget)
    signal.emit(2)
    emit_elsewhere(signal, 3)
    QCoreApplication.processEvents()
    assert [value for value, _ in widget.heard] == [1]
    assert widget.calls == 0
    made.now()
    assert widget.calls == 0


@pytest.mark.slow
def test_following_does_not_keep_a_widget_alive(qtbot: QtBot) -> None:
    widget, signal = Follower(), Signal[[int]]()
    binding.connect(widget, signal, widget.hear)
    binding.refresh(widget, widget.look, signal, when_visible=True)
    gone = weakref.ref(widget)
    widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    del widget
    gc.collect()
    assert gone() is None
    emit_elsewhere(signal, 2)
    QCoreApplication.processEvents()


def kept_by(widget: QWidget) -> list[object]:
    return list(getattr(widget, binding._KEPT))


def test_what_is_stopped_hears_nothing_and_is_kept_no_longer(qtbot: QtBot) -> None:
    widget, first, second = Follower(), Signal[[int]](), Signal[[int]]()
    qtbot.addWidget(widget)
    stays = binding.connect(widget, second, widget.hear)
    stopped = binding.connect(widget, first, widget.hear)
    emit_elsewhere(first, 1)
    stopped.stop()
    stopped.stop()
    first.emit(2)
    second.emit(3)
    assert [value for value, _ in widget.heard] == [3]
    assert kept_by(widget) == [stays]
    gone = weakref.ref(stopped)
    del stopped
    QCoreApplication.processEvents()
    assert gone() is None
    # What was on its way from another thread arrives still.
    assert [value for value, _ in widget.heard] == [3, 0]


@pytest.mark.slow
def test_bindings_to_models_that_are_gone_do_not_gather(qtbot: QtBot) -> None:
    widget, lasting = Follower(), Signal[[]]()
    qtbot.addWidget(widget)
    refreshed = binding.refresh(widget, widget.look, lasting)
    for number in range(20):
        signal = Signal[[int]]()
        made = binding.connect(widget, signal, widget.hear)
        signal.emit(number)
    assert kept_by(widget) == [refreshed, made]
    assert [value for value, _ in widget.heard] == list(range(20))


@pytest.mark.slow
def test_calls_that_return_nothing_keep_the_count_of_none(qtbot: QtBot) -> None:
    # PySide6 6.12.0 on Python 3.11 loses one reference of None a call, until the process aborts.
    widget, signal = Follower(), Signal[[int]]()
    qtbot.addWidget(widget)
    binding.connect(widget, signal, widget.hear)
    before = sys.getrefcount(None)
    for _ in range(20_000):
        widget.update()
    for number in range(2_000):
        signal.emit(number)
    assert sys.getrefcount(None) > before - 1_000
