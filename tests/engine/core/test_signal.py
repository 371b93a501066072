"""Change signals: order, weak holding, blocking, errors and changes while emitting."""

from __future__ import annotations

import gc

import pytest

from studio.engine.core.signal import Signal


class Listener:
    def __init__(self, log: list[object], name: str = "") -> None:
        self.log, self.name = log, name

    def hear(self, value: int) -> None:
        self.log.append((self.name, value))


def test_listeners_are_called_once_each_in_order() -> None:
    signal: Signal[[int]] = Signal()
    log: list[object] = []
    a, b = Listener(log, "a"), Listener(log, "b")
    signal.connect(a.hear)
    signal.connect(b.hear)
    signal.connect(a.hear)
    signal.emit(1)
    signal.disconnect(a.hear)
    signal.disconnect(a.hear)
    signal.emit(value=2)
    assert log == [("a", 1), ("b", 1), ("b", 2)]


@pytest.mark.slow
def test_a_dead_listener_drops_out() -> None:
    signal: Signal[[int]] = Signal()
    log: list[object] = []
    dying = Listener(log)
    signal.connect(dying.hear)
    signal.connect(lambda value: log.append(value))
    del dying
    gc.collect()
    signal.emit(1)
    assert log == []


def test_blocked_signals_are_dropped_until_the_outermost_block_ends() -> None:
    signal: Signal[[int]] = Signal()
    log: list[object] = []
    listener = Listener(log)
    signal.connect(listener.hear)
    with signal.block():
        with signal.block():
            signal.emit(1)
        signal.emit(2)
    signal.emit(3)
    with pytest.raises(ZeroDivisionError), signal.block():
        raise ZeroDivisionError
    signal.emit(4)
    assert log == [("", 3), ("", 4)]


def test_an_error_reaches_the_emitter_after_all_were_called() -> None:
    signal: Signal[[int]] = Signal()
    log: list[object] = []

    def fails(value: int) -> None:
        raise ValueError(value)

    listener = Listener(log)
    signal.connect(fails)
    signal.connect(listener.hear)
    with pytest.raises(ValueError, match="5"):
        signal.emit(5)
    assert log == [("", 5)]


def test_listeners_may_connect_and_disconnect_while_called() -> None:
    signal: Signal[[int]] = Signal()
    log: list[object] = []
    second, third = Listener(log, "second"), Listener(log, "third")

    def first(value: int) -> None:
        signal.disconnect(second.hear)
        signal.connect(third.hear)

    signal.connect(first)
    signal.connect(second.hear)
    signal.emit(1)
    assert log == []
    signal.emit(2)
    assert log == [("third", 2)]
