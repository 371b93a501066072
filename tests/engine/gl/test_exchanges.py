"""What a step of several workers does between its dispatches: copies, sums, and when it waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from studio.engine.compiler.passes import bucket_gradients
from studio.engine.core.errors import BackendError
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.entry_points import EntryPoints
from studio.engine.gl.device.fences import Fence
from studio.engine.gl.record import step_issue
from studio.engine.gl.record.recorder import Dispatch
from studio.engine.gl.record.step_issue import StepIssue
from studio.engine.gl.run import exchanges, executable
from studio.engine.gl.run.exchanges import Bucket
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.runtime.exchange import Doubles, Exchange, Floats, Transfer
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from tests.engine.scale.parallel.trained import CLOSE, train
from tests.engine.train.small_tasks import DIGITS, equal_bytes, mlp, task

pytestmark = [pytest.mark.gl, pytest.mark.slow]


class _Sum:
    def __init__(self, echo: Echo, given: Floats, out: Floats, scale: float) -> None:
        self._echo, self._given, self._out, self._scale = echo, given, out, scale

    def wait(self) -> None:
        self._echo.events.append("wait")
        if self._echo.fails:
            raise BackendError("the other worker is gone", who="workers")
        np.multiply(self._given, np.float32(2 * self._scale), out=self._out)

    def abandon(self) -> None:
        self._echo.events.append("abandon")


class Echo(Exchange):
    """As if another worker had the same rows and found the same."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        self.events: list[str] = []
        self.fails = False

    def part_of(self, rows: int) -> tuple[int, int]:
        return 0, rows

    def place(self, rows: int) -> tuple[int, int]:
        self.share = 0.5
        return 0, rows

    def begin_sum(self, given: Floats, out: Floats, scale: float = 1.0) -> Transfer:
        self.events.append("begin")
        return _Sum(self, given, out, scale)

    def total(self, values: Doubles) -> Doubles:
        return values * 2

    def from_first(self, data: bytes) -> bytes:
        return data

    def all_words(self, word: str) -> list[str]:
        return [word, word]


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Echo:
    monkeypatch.setattr(bucket_gradients, "BUCKET_BYTES", 40)
    return Echo()


def made() -> Task:
    return task(mlp(), epochs=2, batch_size=12, metrics=[])


def test_means_of_the_same_twice_train_as_one_worker(echo: Echo) -> None:
    alone = train(made(), device="gl")
    found = train(made(), echo, device="gl")
    for name, values in alone.weights.items():
        np.testing.assert_allclose(found.weights[name], values, **CLOSE, err_msg=name)


@pytest.mark.parametrize("busy", [False, True])
def test_a_step_is_sent_to_the_device_before_anything_is_waited_for(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    class Watched(Fence):
        @property
        def done(self) -> bool:
            """A busy device has passed no fence until it is waited for, an idle one all."""
            return not busy and super().wait()

        def wait(self, *given: object) -> bool:
            echo.events.append("fence")
            return super().wait(*given)  # type: ignore[arg-type]

    plain = Bucket.collect

    def collected(bucket: Bucket) -> None:
        plain(bucket)
        echo.events.append("collect")

    monkeypatch.setattr(exchanges, "Fence", Watched)
    monkeypatch.setattr(Bucket, "collect", collected)
    train(made(), echo, device="gl")
    # Three buckets of gradients, and the loss; of the validation part the loss alone.
    at_once, later = "collect " + "collect fence begin " * 3, "collect " * 4 + "fence begin " * 3
    # While the last is computed, the others are taken.
    step = (later if busy else at_once) + "wait " * 3 + "fence begin wait "
    found = "".join(f"{event} " for event in echo.events).replace(step, "S")
    assert set(found.replace("collect fence begin wait ", "V")) == {"S", "V"}
    assert found.count("S") >= 10


def test_parts_of_a_step_that_the_compiled_loop_sends_do_the_same(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = train(made(), echo, device="gl")
    parts: list[StepIssue] = []

    def hurried(
        gl: EntryPoints, dispatches: Sequence[Dispatch], *, fast: bool, seamless: bool = False
    ) -> StepIssue:
        parts.append(StepIssue(gl, dispatches, fast=True, seamless=seamless))
        return parts[-1]

    monkeypatch.setattr(step_issue, "WORTHWHILE", 1)
    monkeypatch.setattr(executable, "StepIssue", hurried)
    found = train(made(), echo, device="gl")
    assert sum(part.compiled for part in parts) > 4
    assert equal_bytes(found.weights, plain.weights)


def test_tensors_of_a_bucket_are_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[tuple[int, int]] = []
    plain = Bucket.__init__

    def looked_at(bucket: Bucket, *given: object) -> None:
        plain(bucket, *given)  # type: ignore[arg-type]
        copies.append((len(bucket.refs), bucket.copies))

    monkeypatch.setattr(Bucket, "__init__", looked_at)
    graph = LayerGraph("normalised")
    x = graph.add(Input((8, 8, 1)))
    for _ in range(2):
        x = graph.add(BatchNormalization(), graph.add(Conv2D(4, 3), x))
    graph.outputs = (graph.add(Dense(10, "softmax"), graph.add(Flatten(), x)),)
    train(task(graph, DIGITS, epochs=1, batch_size=60), Echo(), device="gl")
    # Running statistics, gradients, and the loss with a metric.
    assert {tensors for tensors, _ in copies} >= {4, 10}
    assert all(count == 1 for _, count in copies)


def test_a_step_that_is_broken_off_leaves_the_memory_alone(echo: Echo) -> None:
    backend = GlBackend(exchange=echo)
    try:
        with Trainer(made(), backend) as trainer:
            echo.fails = True
            with pytest.raises(BackendError, match="is gone"):
                trainer.run()
        assert "abandon" in echo.events
    finally:
        backend.close()
