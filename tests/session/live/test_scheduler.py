"""The one scheduler of pictures: its thread, what it serves, and that there is no other."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import studio
from studio.engine.runtime.live import Moment
from studio.session.core import entities
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.live.channel import Channel, TensorSurvey
from studio.session.live.frames import Frame, Status, Wish
from studio.session.live.scheduler import LiveBudget, LiveScheduler, Repeated
from studio.session.live.sources import HeldWeights
from studio.session.live.tensors import LiveTensors


def scheduler() -> LiveScheduler:
    return LiveScheduler(ManualScheduler(), LiveBudget(), lambda _name, _trainer: None)


def channel(worker: LiveScheduler, told: list[str], stop: threading.Event | None = None) -> Channel:
    """A channel that says what it was told, and then waits to be let on."""

    def label(moment: Moment) -> str:
        return f"step {moment.step}"

    def hear(news: Frame | Status) -> None:
        assert isinstance(news, Status)
        told.append(news.state)
        if stop is not None:
            assert stop.wait(10)

    made = Channel(worker, "t", False, None, label, hear)
    made.wish = Wish(active=True)
    return made


def test_a_view_that_comes_as_the_thread_has_waited_long_enough_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker, told, served = scheduler(), list[str](), threading.Event()
    first, late = channel(worker, []), channel(worker, told, served)
    wait, came = worker._condition.wait, threading.Event()

    def waited(timeout: float | None = None) -> bool:
        if worker._requests or came.is_set():
            return wait(timeout)
        # It is added before the lock is had again behind a wait that has timed out.
        came.set()
        worker.add(late)
        return False

    monkeypatch.setattr(worker._condition, "wait", waited)
    worker.add(first)
    worker.remove(first)
    assert came.wait(10)
    served.set()
    thread = worker._thread
    assert thread is not None
    for _ in range(500):
        if told:
            break
        thread.join(0.01)
    assert told == ["waiting"]
    worker.close()
    assert not thread.is_alive()


def test_what_is_served_while_all_is_closed_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, told, closing = scheduler(), list[str](), threading.Event()
    served = channel(worker, told, closing)
    dropped: list[bool] = []
    drop = served.drop

    def let_go() -> None:
        dropped.append(closing.is_set())
        drop()

    monkeypatch.setattr(served, "drop", let_go)
    worker.add(served)
    thread = worker._thread
    assert thread is not None
    for _ in range(500):
        if told:
            break
        thread.join(0.01)
    worker._woken = False
    wake = worker.wake

    def woken_late() -> None:
        closing.set()
        thread.join(2)
        wake()

    monkeypatch.setattr(worker, "wake", woken_late)
    worker.close()
    assert dropped[-1:] == [True]
    assert not thread.is_alive()


@pytest.mark.slow
def test_everything_is_served_by_one_thread_and_by_none_under_quiet() -> None:
    window, budget = ManualScheduler(), LiveBudget()
    tasks = TaskList(window)
    live = LiveTensors(window, tasks, budget)
    reads: list[str] = []

    def weights() -> dict[str, np.ndarray]:
        reads.append(threading.current_thread().name)
        return {"t": np.ones(3, np.float32)}

    def until(wanted: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not wanted():
            assert time.monotonic() < deadline
            window.advance(0.01)
            time.sleep(0.001)

    before = set(threading.enumerate())
    budget.set_quiet(True)
    live.rest_on(HeldWeights("a test", weights))
    view, survey = live.open(entities.tensor("t")), TensorSurvey(live.scheduler)
    repeated = Repeated(live.scheduler, 0.01)
    told: list[str] = []

    def hear() -> None:
        told.append(threading.current_thread().name)

    repeated.due.connect(hear)
    repeated.set_on(True)
    view.want(active=True)
    survey.want(["t"])
    time.sleep(0.7)
    window.advance()
    assert (reads, told, view.frame, survey.seen) == ([], [], None, {})
    budget.set_quiet(False)
    until(lambda: view.frame is not None and "t" in survey.seen and len(told) > 3)
    assert set(reads) == {"glassbox-live"}
    assert set(told) == {threading.current_thread().name}
    assert [thread.name for thread in set(threading.enumerate()) - before] == ["glassbox-live"]
    repeated.set_on(False)
    survey.want(())
    live.close()
    tasks.close()


STACK = (
    "studio.session.live.", "studio.session.tensor_view.tensor_view",
    "studio.session.preview.preview",
    "studio.engine.runtime.live", "studio.engine.train.network.live",
)  # fmt: skip
"""What pictures of tensors are made of: whoever imports one of these may want some."""
CLOCKS = {
    "QTimer", "singleShot", "startTimer", "call_later", "Debounce", "Throttle", "Thread", "Timer",
    "sleep", "Pace",
}  # fmt: skip
"""What lets something happen later, or again and again."""
KNOWN = {
    "session/live/channel.py": {"Pace"},
    # It also measures what the window's thread takes.
    "session/live/scheduler.py": {"Thread", "Pace", "call_later"},
    "session/preview/preview.py": {"Debounce"},  # waits until an edit has ended
    "widgets/binding.py": {"QTimer"},  # lets repaints rest as long as the budget says
    "widgets/event_loop/collector.py": {"QTimer"},  # garbage
}


@pytest.mark.slow
def test_nothing_but_the_scheduler_has_a_clock_for_pictures_of_tensors() -> None:
    root, found = Path(studio.__file__).resolve().parent, {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        module = "studio." + name.removesuffix(".py").replace("/", ".")
        imported = {
            each.module or "" for each in nodes if isinstance(each, ast.ImportFrom)
        }  # fmt: skip
        if not any(each.startswith(STACK) for each in (module, *imported)):
            continue
        called = [each.func for each in nodes if isinstance(each, ast.Call)]
        names = {
            each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
            for each in called
        }
        if names & CLOCKS:
            found[name] = names & CLOCKS
    assert found == KNOWN
