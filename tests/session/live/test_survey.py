"""Tensors looked at in turn for their range, while a training goes on as it would."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.live.channel import PAUSE, TensorSurvey
from studio.session.live.sources import HeldWeights
from studio.session.live.tensors import LiveTensors
from tests.engine.train.small_tasks import DIGITS, cnn, task


class Desk:
    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.tasks = TaskList(self.scheduler)
        self.live = LiveTensors(self.scheduler, self.tasks)
        self.survey = TensorSurvey(self.live.scheduler)

    def until(self, wanted: Callable[[], object], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, "it did not come"
            self.scheduler.advance(0.01)
            time.sleep(0.001)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.survey.want(())
    made.live.close()
    made.tasks.close()


@pytest.mark.slow
def test_every_tensor_wanted_is_seen_and_one_is_looked_at_at_a_time(
    desk: Desk, rng: np.random.Generator
) -> None:
    arrays = {f"t{n}": rng.standard_normal((3, n + 1)).astype(np.float32) for n in range(6)}
    arrays["t2"][0, 0] = np.nan
    reads: list[float] = []

    class Noted(HeldWeights):
        def read(self, name: str, *, grad: bool = False) -> np.ndarray | None:
            reads.append(time.perf_counter())
            return super().read(name, grad=grad)

    desk.live.rest_on(Noted("a test", lambda: arrays))
    desk.survey.want([*arrays, "nothing"])
    desk.until(lambda: desk.survey.seen.keys() == arrays.keys())
    assert np.diff(reads).min() >= 0.9 * PAUSE
    for name, array in arrays.items():
        found = desk.survey.seen[name].statistics
        assert (found.low, found.high) == (np.nanmin(array), np.nanmax(array))
        assert found.nan == np.isnan(array).sum()
    desk.survey.want(())


@pytest.mark.slow
def test_looks_in_turn_share_one_thread_which_ends_with_them(
    desk: Desk, rng: np.random.Generator
) -> None:
    arrays = {f"t{n}": rng.standard_normal((3, n + 1)).astype(np.float32) for n in range(4)}
    desk.live.rest_on(HeldWeights("a test", lambda: arrays))
    before, made = set(threading.enumerate()), set[threading.Thread]()
    desk.survey.want([*arrays])

    def all_seen() -> bool:
        made.update(set(threading.enumerate()) - before)
        return desk.survey.seen.keys() == arrays.keys()

    desk.until(all_seen)
    assert len(made) == 1
    desk.survey.want(())
    desk.until(lambda: not any(thread.is_alive() for thread in made))
    # Whoever looks again later is served again.
    desk.survey.forget()
    desk.survey.want([*arrays])
    desk.until(all_seen)


@pytest.mark.slow
def test_what_only_a_fused_kernel_has_is_not_worth_another_program(
    desk: Desk, cpu: Backend
) -> None:
    with Trainer(task(cnn(), DIGITS, epochs=200), cpu) as trainer:
        future = trainer.start()
        desk.live.started(trainer)
        program = trainer.network.program("train")
        fused = [t.name for t in program.tensors.values() if t.register]
        assert fused
        desk.survey.want([*fused, "conv2d/kernel", "dense/kernel.grad"])
        desk.until(lambda: {"conv2d/kernel", "dense/kernel.grad"} <= desk.survey.seen.keys())
        assert desk.survey.seen.keys().isdisjoint(fused)
        assert trainer.network.programs.kept("train") == frozenset()
        desk.survey.want(())
        trainer.control.stop()
        future.result(60)
        desk.live.ended()
        assert not trainer.network.live.taps


@pytest.mark.slow
def test_nothing_is_looked_at_while_live_views_rest(desk: Desk) -> None:
    read = threading.Event()

    def weights() -> dict[str, np.ndarray]:
        read.set()
        return {"t": np.ones(3, np.float32)}

    desk.live.rest_on(HeldWeights("a test", weights))
    desk.live.budget.set_quiet(True)
    desk.survey.want(["t"])
    assert not read.wait(0.7)
    desk.live.budget.set_quiet(False)
    desk.until(lambda: "t" in desk.survey.seen)
    desk.survey.forget()
    assert not desk.survey.seen


@pytest.mark.slow
def test_other_weights_are_looked_at_instead(desk: Desk) -> None:
    asked, let_on = threading.Event(), threading.Event()

    def held(number: int, *, slow: bool = False) -> HeldWeights:
        def weights() -> dict[str, np.ndarray]:
            if slow:
                asked.set()
                assert let_on.wait(60)
            return {"t": np.full(3, number, np.float32)}

        return HeldWeights("a test", weights, step=10 * number)

    desk.live.rest_on(held(1))
    desk.survey.want(["t"])
    desk.until(lambda: "t" in desk.survey.seen)
    look = desk.survey.seen["t"]
    assert (look.statistics.high, look.step) == (1.0, 10)
    # It is not looked at for the moment, and still nothing is told that is not so any more.
    desk.survey.want(())
    desk.live.rest_on(held(2, slow=True))
    assert not desk.survey.seen
    desk.survey.want(["t"])
    assert asked.wait(60)
    # A look at these is under way as others take their place.
    desk.live.rest_on(held(0))
    let_on.set()
    desk.until(lambda: "t" in desk.survey.seen)
    look = desk.survey.seen["t"]
    assert (look.statistics.high, look.step) == (0.0, 0)


def test_what_was_forgotten_does_not_come_with_the_look_under_way(desk: Desk) -> None:
    asked, let_on = threading.Event(), threading.Event()

    def weights() -> dict[str, np.ndarray]:
        asked.set()
        assert let_on.wait(60)
        return {name: np.ones(3, np.float32) for name in "ab"}

    desk.live.rest_on(HeldWeights("a test", weights))
    desk.survey.want(["a"])
    assert asked.wait(60)
    desk.survey.forget()
    desk.survey.want(["b"])
    let_on.set()
    desk.until(lambda: "b" in desk.survey.seen)
    assert "a" not in desk.survey.seen
