"""The way of one picture of a tensor: from the wish, over the step, to its colours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.runtime.live_board import TapBoard
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.core import entities
from studio.session.tensor_view.tensor_view import TensorViewModel
from tests.called_files import CalledFiles, called_files
from tests.engine.train.small_tasks import task
from tests.session.live.bench import Running, Studio

MOST = 36
"""Each file more is one more to read for whoever follows the way.

A third of them only say where in the program that runs already the tensor can be read.
"""
WAY = {
    "session/tensor_view/tensor_view.py",
    "session/live/tensors.py",
    "session/live/scheduler.py",
    "session/live/channel.py",
    "engine/train/network/live.py",
    "engine/runtime/live_board.py",
    "engine/cpu/run/live.py",
    "engine/runtime/live.py",
    "session/tensor_view/picture.py",
}
"""Some of those that must be among them, lest nothing was seen."""
WINDOW = ("MainThread", "glassbox-live")


@pytest.fixture
def called() -> Iterator[CalledFiles]:
    with called_files() as found:
        yield found


@pytest.mark.slow
def test_a_picture_passes_so_many_files(
    called: CalledFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = Studio()
    plain = TapBoard._look

    def look(board: TapBoard, one: object) -> None:
        # What else a step does is not on the way.
        called.threads = (*WINDOW, "training")
        plain(board, one)
        called.threads = WINDOW

    monkeypatch.setattr(TapBoard, "_look", look)
    called.threads = WINDOW
    with open_backend("cpu") as device, Trainer(task(epochs=2000), device.backend) as trainer:
        running = Running(studio, trainer)
        # What the first steps make ready is not on the way.
        running.step(2)
        trainer.control.resume()
        # A training that stands yet is read between two steps, which is another way.
        assert trainer.control.wait(["running"], 30)
        view = TensorViewModel(studio.live, studio.tasks)
        view.set_size(200, 200)
        called.is_on = True
        view.show(entities.tensor("dense/kernel"))
        view.set_active(True)
        studio.until(lambda: view.picture() is not None)
        called.is_on = False
        frame = view.frame
        assert frame is not None
        assert frame.state == "live"
        trainer.control.stop()
        running.future.result(60)
        studio.live.ended()
        view.close()
    studio.close()
    assert set(called.names) >= WAY
    assert len(called.names) <= MOST, sorted(called.names)
