"""The device of the window: opened once, its context lent and given back; trainings on OpenGL."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from studio.engine.gl.device.context import DeviceContext, StandaloneProvider
from studio.session.core.scheduling import ManualScheduler
from studio.session.training.device import Device
from tests.session.training.bench import TrainingBench


class Lent:
    """A context of its own that notes who made and closed it."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.closed: list[str] = []

    def create(self) -> DeviceContext:
        self.made.append(threading.current_thread().name)
        return StandaloneProvider().create()

    def close(self) -> None:
        self.closed.append(threading.current_thread().name)


def test_the_processor_needs_no_context_and_gives_it_back() -> None:
    scheduler, lent = ManualScheduler(), Lent()
    device = Device(scheduler)
    opened = device.open("cpu", lent)
    assert device.is_open("cpu")
    assert device.open("cpu", None) is opened
    scheduler.advance()
    assert lent.made == []
    assert lent.closed == ["MainThread"]
    device.close()
    assert not device.is_open("cpu")


@pytest.mark.gl
def test_the_context_lives_as_long_as_the_device() -> None:
    scheduler, lent, spare = ManualScheduler(), Lent(), Lent()
    device = Device(scheduler)
    opened = device.open("gl", lent)
    assert opened.backend.name == "gl"
    assert len(lent.made) == 1
    assert lent.made[0] != "MainThread"
    # One that is open already wants no other.
    assert device.open("gl", spare) is opened
    scheduler.advance()
    assert (spare.made, spare.closed, lent.closed) == ([], ["MainThread"], [])
    device.open("cpu", None)
    scheduler.advance()
    assert lent.closed == ["MainThread"]
    device.close_for_good()


@pytest.mark.slow
@pytest.mark.gl
def test_a_training_on_opengl_gives_the_curves_of_one_on_the_processor(tmp_path: Path) -> None:
    lent = Lent()
    found = {}
    for choice in ("cpu", "gl"):
        folder = tmp_path / choice
        bench = TrainingBench(folder, saved=False, contexts=lambda: lent, epochs=2)
        bench.preferences.set("backend", choice)
        bench.train()
        assert bench.model.state == "finished"
        curves = bench.model.curves
        assert curves is not None
        found[choice] = curves.segments[0].steps["loss"].values.copy()
        trainer = bench.model.trainer
        assert trainer is not None
        assert trainer.network.backend.name == choice
        if choice == "gl":
            assert trainer.network.backend.device in bench.model.device
        network = bench.model.network
        assert network is not None
        assert set(network.use(lambda trained: trained.evaluate())) == {"loss", "accuracy"}
        bench.close()
    np.testing.assert_allclose(found["cpu"], found["gl"], rtol=1e-3)
    assert len(lent.made) == len(lent.closed) == 1
