from __future__ import annotations

import threading

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.fences import JUDGED, Fence, StepThrottle


class _SlowDevice:
    """Entry points of a device that passes a fence only when told to."""

    def __init__(self) -> None:
        self.made = 0
        self.deleted: list[int] = []
        self.passed = 0
        self.waits = 0
        self.pass_after_waits: int | None = None

    def fence_sync(self, _condition: int, _flags: int) -> int:
        self.made += 1
        return self.made

    def flush(self) -> None:
        pass

    def delete_sync(self, handle: int) -> None:
        self.deleted.append(handle)

    def client_wait_sync(self, handle: int, _flags: int, _nanoseconds: int) -> int:
        self.waits += 1
        if self.pass_after_waits is not None and self.waits > self.pass_after_waits:
            self.passed = self.made
        return const.CONDITION_SATISFIED if handle <= self.passed else const.TIMEOUT_EXPIRED


@pytest.mark.gl
def test_fence_passes_on_the_device_and_counts_as_done_ever_after(engine: EngineThread) -> None:
    def fence_and_wait() -> tuple[bool, bool]:
        fence = Fence(engine.gl)
        return fence.wait(timeout=30), fence.done

    assert engine.call(fence_and_wait) == (True, True)
    engine.call(engine.gl.check, "fencing")


def test_wait_hears_a_stop_within_a_slice() -> None:
    device = _SlowDevice()
    fence = Fence(device)  # type: ignore[arg-type]
    stopping = threading.Event()
    stopping.set()
    assert not fence.wait(stopping)
    assert device.waits == 1
    assert device.deleted == []


def test_wait_gives_up_at_its_timeout() -> None:
    fence = Fence(_SlowDevice())  # type: ignore[arg-type]
    assert not fence.wait(timeout=0.0)


def test_refused_wait_is_an_error() -> None:
    device = _SlowDevice()
    device.client_wait_sync = lambda *_: const.WAIT_FAILED  # type: ignore[method-assign]
    device.check = lambda _what: None  # type: ignore[attr-defined]
    with pytest.raises(BackendError, match="refused to wait"):
        Fence(device).wait()  # type: ignore[arg-type]


def test_throttle_keeps_at_most_the_given_steps_in_flight() -> None:
    device = _SlowDevice()
    throttle = StepThrottle(device, max_in_flight=2)  # type: ignore[arg-type]
    assert throttle.step_issued()
    assert throttle.step_issued()
    assert device.waits == 0
    device.pass_after_waits = 3
    assert throttle.step_issued()
    assert device.waits == 4
    assert throttle.in_flight == 2
    assert device.deleted == [1]


@pytest.mark.parametrize(
    ("seconds", "most"), [(0.00006, 64), (0.00045, 8), (0.003, 2), (0.5, 2), (0.0, 64)]
)
def test_throttle_queues_more_steps_where_they_are_short(seconds: float, most: int) -> None:
    device = _SlowDevice()
    device.pass_after_waits = 0
    now = iter(k * seconds for k in range(1000))
    throttle = StepThrottle(device, max_in_flight=2, clock=lambda: next(now))  # type: ignore[arg-type]
    for _ in range(2 + JUDGED):
        throttle.step_issued()
        assert throttle.in_flight <= 2
    for _ in range(120):
        throttle.step_issued()
    assert throttle.in_flight == throttle.most == most


def test_length_of_steps_is_known_beyond_a_break_that_does_not_count() -> None:
    device = _SlowDevice()
    device.pass_after_waits = 0
    passed = [0.0]

    def clock() -> float:
        passed.append(passed[-1] + 0.00045)
        return passed[-1]

    throttle = StepThrottle(device, clock=clock)  # type: ignore[arg-type]
    for _ in range(100):
        throttle.step_issued()
    assert throttle.drain()
    assert (throttle.in_flight, throttle.most) == (0, 8)
    passed.append(passed[-1] + 60.0)
    for _ in range(100):
        throttle.step_issued()
        assert throttle.most == 8


@pytest.mark.parametrize(("seconds", "shared"), [(0.0001, 20), (0.0005, 4), (0.003, 1)])
def test_short_steps_share_fences_while_more_follow(seconds: float, shared: int) -> None:
    device = _SlowDevice()
    device.pass_after_waits = 0
    steps = 0
    throttle = StepThrottle(device, clock=lambda: steps * seconds)  # type: ignore[arg-type]
    for _ in range(200):
        steps += 1
        assert throttle.step_issued(more=True)
        assert throttle.in_flight <= throttle.most + shared
    made = device.made
    for _ in range(40):
        steps += 1
        throttle.step_issued(more=True)
    assert 0.7 * shared <= 40 / (device.made - made) <= 1.4 * shared
    made = device.made
    throttle.step_issued()
    assert device.made == made + 1
    throttle.settle()
    assert device.made == made + 1


def test_steps_without_a_fence_are_waited_for() -> None:
    device = _SlowDevice()
    device.pass_after_waits = 0
    throttle = StepThrottle(device, max_in_flight=8)  # type: ignore[arg-type]
    assert throttle.step_issued(more=True)
    assert (device.made, throttle.in_flight) == (0, 1)
    assert throttle.drain()
    assert (device.made, throttle.in_flight) == (1, 0)
    throttle.step_issued(more=True)
    throttle.release()
    assert throttle.in_flight == 0
    assert device.made == 1


def test_throttle_gives_up_when_stopped_and_releases_every_fence() -> None:
    device = _SlowDevice()
    throttle = StepThrottle(device, max_in_flight=1)  # type: ignore[arg-type]
    stopping = threading.Event()
    stopping.set()
    assert throttle.step_issued(stopping)
    assert not throttle.step_issued(stopping)
    assert not throttle.drain(stopping)
    throttle.release()
    assert sorted(device.deleted) == [1, 2]
    assert throttle.in_flight == 0


@pytest.mark.gl
def test_throttle_drains_on_the_device(engine: EngineThread) -> None:
    def steps() -> int:
        throttle = StepThrottle(engine.gl, max_in_flight=3)
        assert all(throttle.step_issued() for _ in range(10))
        assert throttle.drain()
        return throttle.in_flight

    assert engine.call(steps) == 0
