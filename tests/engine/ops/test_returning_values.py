"""Loops whose results come back: nothing is copied, and every number that somebody has stays."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import BackendError
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.ops import recording
from studio.engine.ops.runner import Runner

pytestmark = pytest.mark.slow

STEPS = 8


class Momentum:
    """A loop with two variables, beside the same in NumPy."""

    def __init__(self, seed: int = 0) -> None:
        draws = np.random.default_rng(seed)
        self.x = draws.normal(size=(6, 5)).astype(np.float32)
        self.start = draws.normal(size=(5, 4)).astype(np.float32)
        self.w, self.v = self.start.astype(np.float64), np.zeros((5, 4))
        self.given = ops.tensor(self.x)
        self.weight = ops.variable(self.start)
        self.speed = ops.variable(np.zeros((5, 4), np.float32))

    def step(self, rate: float = 0.1) -> Any:
        """One step of both; returns the gradient of ours."""
        x = self.x.astype(np.float64)
        value = x @ self.w
        self.v = 0.9 * self.v - rate * (x.T @ (2 * value / value.size))
        self.w = self.w + self.v
        loss, slope = ops.value_and_grad(lambda w: ops.mean((self.given @ w) ** 2))(self.weight)
        self.speed.assign(self.speed * 0.9 - slope * rate)
        self.weight.assign(self.weight + self.speed)
        assert loss.item() == pytest.approx(np.mean(value**2), rel=1e-4)
        return slope

    def compare(self) -> None:
        """Both have the same numbers."""
        np.testing.assert_allclose(self.weight.numpy(), self.w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(self.speed.numpy(), self.v, rtol=1e-4, atol=1e-5)


def test_weights_of_a_loop_are_not_copied(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Momentum()
    for _ in range(5):
        loop.step()
    copied: list[str] = []
    for cls in (CpuExecutable, GlExecutable):
        for name in ("feed_from", "feed_held", "store"):
            monkeypatch.setattr(cls, name, lambda *_, name=name: copied.append(name))
    for _ in range(STEPS):
        loop.step()
    monkeypatch.undo()
    assert copied == []
    loop.compare()


def test_numbers_that_somebody_kept_outlive_the_loop(device: str) -> None:
    loop = Momentum()
    kept, expected, slopes = [], [], []
    for _ in range(STEPS):
        slopes.append(loop.step())
        kept.append(loop.weight + 0)
        expected.append(loop.w.copy())
        # What was typed before an assignment has the numbers of then.
    for made, right in zip(kept, expected, strict=True):
        np.testing.assert_allclose(made.numpy(), right, rtol=1e-4, atol=1e-5)
    assert len({slope.numpy().tobytes() for slope in slopes}) == STEPS


def test_values_themselves_are_kept_while_the_rooms_change_hands(device: str) -> None:
    x, step = ops.tensor(np.zeros((3, 3), np.float32)), ops.tensor(np.ones((3, 3), np.float32))
    seen = []
    for _ in range(STEPS):
        x = x * 2 + step
        recording.flush()
        seen.append(x)
    found = [made.numpy()[0, 0] for made in seen]
    assert found == [2**n - 1 for n in range(1, STEPS + 1)]
    # Back to one in the middle, whose room was written to since.
    again = seen[2]
    for number in range(3):
        again = again * 2 + step
        recording.flush()
        assert again.numpy()[0, 0] == 2 ** (number + 4) - 1
    assert [made.numpy()[0, 0] for made in seen] == found


def test_two_that_change_places_keep_their_numbers(device: str) -> None:
    a, b = ops.tensor([1.0, 1.0]), ops.tensor([10.0, 10.0])
    left, right = 1.0, 10.0
    for number in range(3 * STEPS):
        a, b = a * 0.5, b + 1.0
        left, right = left * 0.5, right + 1
        recording.flush()
        if number % 5 == 4:
            a, b, left, right = b, a, right, left
    assert a.numpy().tolist() == pytest.approx([left, left])
    assert b.numpy().tolist() == pytest.approx([right, right])


def test_one_leaf_may_come_from_elsewhere(device: str) -> None:
    loop = Momentum()
    for number in range(3 * STEPS):
        if number % 6 == 5:
            loop.w = np.full((5, 4), 0.25)
            loop.weight.assign(np.full((5, 4), 0.25, np.float32))
        if number % 7 == 6:
            loop.v = loop.v * 0
            loop.speed.assign(ops.zeros((5, 4)))
        loop.step()
    loop.compare()


def test_threads_share_a_program(device: str) -> None:
    loops = [Momentum(seed) for seed in range(2)]
    errors: list[BaseException] = []

    def run(loop: Momentum) -> None:
        try:
            for _ in range(3 * STEPS):
                loop.step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for loop in loops:
        loop.compare()


def test_a_run_without_room_leaves_what_was_there(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ops.tensor([1.0, 2.0])

    def step() -> Any:
        made = (x + 1.0, x * 3.0, x - 1.0)
        recording.flush()
        return made

    kept = [step() for _ in range(3)]

    def full(*_: Any) -> Any:
        raise BackendError("no room", who="test")

    monkeypatch.setattr(Runner, "room", full)
    monkeypatch.setattr("studio.engine.ops.values.Value.on_host", full)
    with pytest.raises(BackendError, match="no room"):
        step()
    monkeypatch.undo()
    for a, b, c in kept:
        assert [t.numpy().tolist() for t in (a, b, c)] == [[2, 3], [3, 6], [0, 1]]
    assert step()[1].numpy().tolist() == [3, 6]


@pytest.mark.gl
def test_a_failed_run_is_told_to_who_reads_it(gl: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.tensor([1.0, 2.0])
    before = x * 2.0
    recording.flush()
    run = GlExecutable.run

    def fails(self: GlExecutable, *given: Any) -> int:
        raise BackendError("out of memory", who="test")

    monkeypatch.setattr(GlExecutable, "run", fails)
    made = x * 3.0
    recording.flush()
    monkeypatch.setattr(GlExecutable, "run", run)
    follows = made + 1.0
    for _ in range(2):
        for lost in (made, follows):
            with pytest.raises(BackendError, match="out of memory"):
                lost.numpy()
    assert before.numpy().tolist() == [2, 4]
    assert (x * 3.0).numpy().tolist() == [3, 6]


@pytest.mark.gl
def test_a_loop_goes_on_from_the_numbers_before_a_failed_run(
    gl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ops.tensor([1.0, 2.0])

    def step(given: Any) -> Any:
        made = given * 0.5 + x
        recording.flush()
        return made

    value = ops.tensor([4.0, 8.0])
    for _ in range(STEPS):
        value = step(value)
    expected = value.numpy().tolist()

    def fails(self: GlExecutable, *given: Any) -> int:
        raise BackendError("out of memory", who="test")

    # Twice, so that the run before failed with the value in the place where this one reads it.
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(GlExecutable, "run", fails)
            lost = step(value)
            with pytest.raises(BackendError, match="out of memory"):
                lost.numpy()
        assert value.numpy().tolist() == expected
        wanted = np.add(np.multiply(expected, 0.5), x.numpy())
        np.testing.assert_array_equal(step(value).numpy(), wanted)


def test_a_result_that_lies_where_an_input_does_outlives_the_next_feed(device: str) -> None:
    kept = []
    for number in range(STEPS):
        x = ops.tensor(np.full((2, 3), float(number), np.float32))
        kept.append((ops.reshape(x, shape=(6,)), x + 1.0))
        recording.flush()
    for number, (same, more) in enumerate(kept):
        assert same.numpy().tolist() == [number] * 6
        assert more.numpy()[0, 0] == number + 1


def test_another_shape_of_what_returns_keeps_its_numbers(device: str) -> None:
    x, kept = ops.tensor(np.zeros((2, 3), np.float32)), []
    for _ in range(STEPS):
        kept.append(ops.reshape(x, shape=(6,)))
        x = x * 2.0 + 1.0
        recording.flush()
    assert [same.numpy()[0] for same in kept] == [2**n - 1 for n in range(STEPS)]
