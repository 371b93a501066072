"""Control: states and steps as seen from other threads."""

from __future__ import annotations

import threading
import time

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.train.loop.control import Control


class Worker:
    """Counts the steps a control lets through."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.steps = 0
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        self.control.begin()
        while self.control.gate():
            self.steps += 1
            self.control.spend(1)
            time.sleep(0.0005)
        self.control.end()

    def __enter__(self) -> Worker:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.control.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()


def test_a_pause_holds_and_resume_goes_on() -> None:
    control = Control()
    with Worker(control) as worker:
        assert control.wait(["running"], 5)
        control.pause()
        assert control.wait(["paused"], 5)
        held = worker.steps
        time.sleep(0.03)
        assert worker.steps == held
        control.resume()
        assert control.wait(["running"], 5)
        while worker.steps == held:
            time.sleep(0.001)


def test_steps_run_one_by_one_from_a_pause() -> None:
    control = Control()
    control.pause()
    with Worker(control) as worker:
        assert control.wait(["paused"], 5)
        assert worker.steps == 0
        for expected in (1, 4):
            control.step(expected - worker.steps)
            deadline = time.monotonic() + 5
            while worker.steps < expected and time.monotonic() < deadline:
                time.sleep(0.001)
            assert control.wait(["paused"], 5)
            assert worker.steps == expected


def test_stop_ends_a_paused_training() -> None:
    control = Control()
    control.pause()
    with Worker(control):
        assert control.wait(["paused"], 5)
        control.stop()
        assert control.wait(["finished"], 5)


def test_calls_run_on_the_training_thread_even_while_paused() -> None:
    control = Control()
    control.pause()
    with Worker(control) as worker:
        assert control.wait(["paused"], 5)
        assert control.call(threading.get_ident).result(5) == worker.thread.ident
        failing = control.call(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failing.result(5)
    assert control.call(threading.get_ident).result(5) == threading.get_ident()


def test_every_state_is_told() -> None:
    control, seen = Control(), []
    told = seen.append
    control.changed.connect(keep := lambda state: told(state))
    control.pause()
    with Worker(control):
        assert control.wait(["paused"], 5)
        control.resume()
        assert control.wait(["running"], 5)
        control.stop()
        assert control.wait(["finished"], 5)
    del keep
    assert seen == ["running", "paused", "running", "stopping", "finished"]


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), 1e39])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="from 0 to 3e"):
        Control().set_learning_rate(rate)
