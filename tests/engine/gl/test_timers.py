from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio.engine.gl.device.timers import TimestampTimer, WallTimer, step_timer

if TYPE_CHECKING:
    from studio.engine.gl.device.engine_thread import EngineThread
    from studio.engine.gl.device.timers import Sample, StepTimer

pytestmark = pytest.mark.gl


def sample(timer: StepTimer, step: int, labels: list[str]) -> bool:
    if not timer.begin(step):
        return False
    for label in labels:
        timer.mark(label)
    timer.end()
    return True


def test_software_renderers_are_timed_by_the_clock(engine: EngineThread) -> None:
    timer = engine.call(step_timer, engine.gl, engine.info)
    assert (timer.source == "wall clock") == engine.info.is_software
    engine.call(timer.release)


@pytest.mark.parametrize("kind", [TimestampTimer, WallTimer])
def test_each_part_of_a_step_gets_a_time(
    engine: EngineThread, kind: type[TimestampTimer] | type[WallTimer]
) -> None:
    def measure() -> list[Sample]:
        timer = kind(engine.gl)
        labels = [f"part {i}" for i in range(70)]
        assert sample(timer, 17, labels)
        engine.gl.finish()
        found = timer.collect()
        assert timer.collect() == []
        timer.release()
        engine.gl.check("timing")
        return found

    (found,) = engine.call(measure)
    assert found.step == 17
    assert len(found.labels) == len(found.seconds) == 70
    assert found.labels[69] == "part 69"
    assert all(0.0 <= seconds < 60.0 for seconds in found.seconds)
    assert found.source == ("wall clock" if kind is WallTimer else "gpu timestamps")


def test_ring_takes_as_many_samples_as_it_has_slots_and_then_again(engine: EngineThread) -> None:
    def measure() -> list[int]:
        timer = TimestampTimer(engine.gl, slots=2)
        assert sample(timer, 0, ["a"])
        assert sample(timer, 1, ["a", "b"])
        assert not sample(timer, 2, ["a"])
        engine.gl.finish()
        steps = [found.step for found in timer.collect()]
        assert sample(timer, 3, ["a", "b", "c"])
        engine.gl.finish()
        (last,) = timer.collect()
        assert last.labels == ("a", "b", "c")
        timer.release()
        return [*steps, last.step]

    assert engine.call(measure) == [0, 1, 3]


@pytest.mark.parametrize("kind", [TimestampTimer, WallTimer])
def test_mark_outside_a_sample_is_a_fault(
    engine: EngineThread, kind: type[TimestampTimer] | type[WallTimer]
) -> None:
    with pytest.raises(RuntimeError, match="outside a sample"):
        engine.call(kind(engine.gl).mark, "part")
