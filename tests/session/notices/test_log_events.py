"""What compiler and training tell the log, from a real document and a real training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.engine.core.app_dirs import AppDirs
from studio.samples import open_copy
from studio.session.core.scheduling import ManualScheduler
from studio.session.document.edits.layers import set_option
from studio.session.listing.kernels import Kernels
from studio.session.studio import Studio


class Desk:
    """A studio whose clock the test turns."""

    def __init__(self, folder: Path) -> None:
        self.scheduler = ManualScheduler()
        self.studio = Studio(self.scheduler, AppDirs.below(folder / "places"))
        self.studio.preferences.set("backend", "cpu")

    def until(self, wanted: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not wanted():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.002)
            self.scheduler.advance(0.1)

    def texts(self, source: str) -> list[str]:
        return [line.text for line in self.studio.log.lines if line.source == source]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    made.studio.open(open_copy("iris", tmp_path / "project"))
    yield made
    made.studio.close()


def settled(desk: Desk) -> bool:
    found = desk.studio.compilation
    return found.result is not None and not found.is_compiling and not desk.studio.tasks.running


def test_every_new_program_is_a_line(desk: Desk) -> None:
    desk.until(lambda: settled(desk) and bool(desk.texts("compiler")))
    shown = desk.studio.compilation.shown
    assert shown is not None
    before = desk.texts("compiler")
    assert before[-1].startswith("Compiled iris: ")
    assert f"{len(shown.provenance)} instructions to train" in before[-1]
    state = desk.studio.document.state
    hidden = next(n for n in state.nodes.values() if n.type_name == "Dense")
    activation = set_option(state, hidden.id, "activation", "gelu")
    desk.studio.document.apply("Activation", activation)
    desk.until(lambda: settled(desk) and desk.studio.compilation.shown is not shown)
    desk.until(lambda: len(desk.studio.log.lines) > 0 and desk.studio.log.lines[-1].times >= 1)
    lines = [line for line in desk.studio.log.lines if line.source == "compiler"]
    assert sum(line.times for line in lines) > len(before)


@pytest.mark.slow
def test_kernels_taken_over_from_a_device_are_no_compile(desk: Desk) -> None:
    desk.until(lambda: settled(desk) and bool(desk.texts("compiler")))
    compilation = desk.studio.compilation
    result = compilation.result
    assert result is not None
    # As on a device whose kernels are known only once it runs.
    unknown = result.main.with_kernels(Kernels({}, ""))
    compilation.result = result.with_program("train", unknown)
    before = [line.times for line in desk.studio.log.lines if line.source == "compiler"]
    desk.studio.training.start()
    desk.until(lambda: bool(compilation.result.main.kernels.counts()))
    desk.studio.training.stop()
    desk.until(lambda: not desk.studio.training.is_busy and settled(desk))
    after = [line.times for line in desk.studio.log.lines if line.source == "compiler"]
    assert after == before
    assert compilation.result.ended == result.ended


def test_a_training_begins_and_ends_in_the_log(desk: Desk) -> None:
    desk.until(lambda: desk.studio.compilation.result is not None)
    desk.studio.training.start()
    desk.until(lambda: bool(desk.texts("training")))
    run = desk.studio.training.run
    assert run is not None
    assert desk.texts("training") == [f"Training started as run {run.name}"]
    desk.studio.training.stop()
    desk.until(lambda: len(desk.texts("training")) == 2)
    assert desk.texts("training")[1].startswith(("Training stopped after", "Training finished"))
