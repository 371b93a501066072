"""Curves of a run as it grows, and as its folder keeps them: the same picture again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.train.runs.marks import Mark, append_mark, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import (
    NAME,
    RATE,
    EpochSize,
    StepChunk,
    StepLog,
    StepsHeader,
    read_steps,
)
from studio.session.plots.curves import RunCurves, load_curves
from tests.engine.train.small_tasks import project

SIZE = EpochSize(10, 32, 310)
METRICS = ("loss", "accuracy", RATE)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    found = project()
    found.save(tmp_path / "small.glassbox")
    return RunFolder.create(found)


def numbers(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, 3)).astype(np.float32)


class Recorded:
    """A run recorded twice: in memory and in a folder."""

    def __init__(self, folder: Path, most: int = 1 << 21) -> None:
        self.curves = RunCurves(folder.name)
        self.writer = StepLog(folder, StepsHeader(METRICS, SIZE, 1000.0), most)
        self.folder = folder

    def begin(self, step: int, wall: float) -> None:
        self.curves.begin_part(SIZE, METRICS, step, wall)
        append_mark(self.folder, self.curves.marks[-1])

    def add(self, first: int, values: np.ndarray, wall: tuple[float, float]) -> None:
        elapsed = self.curves.elapsed
        chunk = StepChunk(first, values, wall, (elapsed, elapsed + wall[1] - wall[0]))
        self.curves.add(chunk)
        self.writer.add([chunk])

    def close(self) -> None:
        self.writer.close()


def same_curves(one: RunCurves, other: RunCurves) -> None:
    assert one.metrics == other.metrics
    assert one.size == other.size
    assert len(one.segments) == len(other.segments)
    for mine, theirs in zip(one.segments, other.segments, strict=True):
        assert mine.first == theirs.first
        for name in METRICS:
            np.testing.assert_array_equal(mine.steps[name].values, theirs.steps[name].values)
            every = np.arange(len(mine.steps[name]))
            steps = mine.steps[name].steps.at(every)
            np.testing.assert_array_equal(steps, theirs.steps[name].steps.at(every))
            for axis in ("relative", "wall"):
                np.testing.assert_allclose(
                    mine.clock.at(steps, axis), theirs.clock.at(steps, axis), rtol=1e-5
                )


def test_a_run_is_read_as_it_was_recorded(run: RunFolder) -> None:
    made = Recorded(run.path)
    made.begin(0, 1000.0)
    made.add(0, numbers(10), (1000.0, 1002.0))
    made.add(10, numbers(20, 1), (1003.0, 1005.0))
    made.close()
    same_curves(made.curves, load_curves(run))


def test_a_restart_from_an_earlier_step_begins_a_segment_of_its_own(run: RunFolder) -> None:
    made = Recorded(run.path)
    made.begin(0, 1000.0)
    made.add(0, numbers(30), (1000.0, 1003.0))
    made.begin(20, 5000.0)
    made.add(20, numbers(40, 1), (5000.0, 5004.0))
    made.close()
    assert [s.first for s in made.curves.segments] == [0, 20]
    assert [m.kind for m in made.curves.marks] == ["start", "restart"]
    found = load_curves(run)
    same_curves(made.curves, found)
    # Between the parts the training stood still: its own time does not count that.
    last = found.segments[-1]
    assert last.clock.at(np.array([60.0]), "relative")[0] == pytest.approx(7.0, abs=1e-3)
    assert last.clock.at(np.array([60.0]), "wall")[0] == pytest.approx(5004.0, abs=1e-3)


def test_going_on_where_it_stopped_continues_the_line(run: RunFolder) -> None:
    made = Recorded(run.path)
    made.begin(0, 1000.0)
    made.add(0, numbers(30), (1000.0, 1003.0))
    made.begin(30, 9000.0)
    made.add(30, numbers(10, 1), (9000.0, 9001.0))
    made.close()
    assert len(made.curves.segments) == 1
    same_curves(made.curves, load_curves(run))


def test_a_long_recording_joins_neighbours_and_keeps_every_extreme(run: RunFolder) -> None:
    values = numbers(1000)
    values[617, 0] = 50.0
    writer = StepLog(run.path, StepsHeader(METRICS, SIZE, 1000.0), most=64)
    for begin in range(0, 1000, 37):
        part = values[begin : begin + 37]
        wall = (1000.0 + begin, 1000.0 + begin + len(part))
        writer.add([StepChunk(begin, part, wall, (begin, begin + 37.0))])
    writer.close()
    content = read_steps(run.path)
    assert content is not None
    stride = content.header.stride
    assert stride == 16
    steps = content.records["step"].astype(int)
    assert np.all(np.diff(steps) == stride)
    for record in content.records:
        part = values[record["step"] - stride : record["step"], 0]
        np.testing.assert_allclose(
            record["values"][:, 0], [part.mean(), part.min(), part.max()], rtol=1e-5
        )
    found = load_curves(run)
    series = found.segments[0].steps["loss"]
    assert series.stride == stride
    assert series.curve.highest(np.array([0]), np.array([len(series)]))[0] == 50.0


def test_joining_does_not_mix_two_parts_of_a_training(run: RunFolder) -> None:
    writer = StepLog(run.path, StepsHeader(METRICS, SIZE, 1000.0), most=32)
    ones, twos = np.full((21, 3), 1.0, np.float32), np.full((40, 3), 2.0, np.float32)
    writer.add([StepChunk(0, ones, (1000.0, 1001.0), (0.0, 1.0))])
    writer.add([StepChunk(5, twos, (1002.0, 1003.0), (1.0, 2.0))])
    writer.close()
    found = load_curves(run)
    assert [s.first for s in found.segments] == [0, 5]
    assert set(found.segments[0].steps["loss"].values.tolist()) == {1.0}
    assert set(found.segments[1].steps["loss"].values.tolist()) == {2.0}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "JSON|not a file"),
        (b"nonsense\n", "JSON|invalid|expected"),
        (b'{"format": "other"}\n', "not a file of steps"),
        (b'{"format": "glassbox-steps", "version": 9}\n', "version 9"),
        (b'{"format": "glassbox-steps", "version": 1, "metrics": []}\n', "damaged"),
    ],
    ids=["empty", "no-json", "other", "newer", "no-metrics"],
)
def test_a_file_that_is_none_is_refused(run: RunFolder, data: bytes, message: str) -> None:
    (run.path / NAME).write_bytes(data)
    with pytest.raises(FormatError, match=message):
        load_curves(run)


def test_marks_are_read_back_and_damaged_ones_left_out(run: RunFolder) -> None:
    marks = [Mark("start", 0, 1000.0), Mark("learning_rate", 17, 1001.5, 3e-4)]
    for mark in marks:
        append_mark(run.path, mark)
    with (run.path / "marks.jsonl").open("ab") as file:
        file.write(b'{"kind": "party", "step": 3, "wall": 1.0}\n{"kind"')
    found = read_marks(run.path)
    assert [(m.kind, m.step, m.wall) for m in found] == [(m.kind, m.step, m.wall) for m in marks]
    assert found[1].value == 3e-4


@pytest.mark.slow
def test_many_damaged_marks_fill_no_log(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    (run.path / "marks.jsonl").write_bytes(b"{}\n" * 50_000)
    append_mark(run.path, Mark("start", 0, 1000.0))
    assert [mark.kind for mark in read_marks(run.path)] == ["start"]
    assert len(caplog.records) == 2
    assert "50000" in caplog.text


def test_rate_marks_stand_on_every_axis(run: RunFolder) -> None:
    made = Recorded(run.path)
    made.begin(0, 1000.0)
    made.add(0, numbers(20), (1000.0, 1004.0))
    made.curves.mark(Mark("learning_rate", 10, 1002.0, 0.5))
    made.close()
    places = {
        axis: made.curves.rate_marks(axis)
        for axis in ("step", "epoch", "items", "relative", "wall")
    }
    assert {axis: place for axis, ((place, _),) in places.items()} == {
        "step": 10.0, "epoch": 1.0, "items": 310.0, "relative": 2.0, "wall": 1002.0,
    }  # fmt: skip


def test_epochs_recorded_by_the_command_line_are_curves_over_epochs(run: RunFolder) -> None:
    for epoch, loss in enumerate((3.0, 2.0, 1.0)):
        run.append_metrics(epoch, {"loss": loss, "val_loss": loss + 0.5, RATE: 0.1})
    found = load_curves(run)
    assert found.plots == ("loss", RATE)
    assert found.parts("loss") == ("training", "validation")
    assert not found.has_axis("step")
    assert found.has_axis("epoch")
    ((segment, series),) = found.series("loss", "validation")
    every = np.arange(len(series))
    places = found.horizontal(segment, "epoch").of_steps(series.steps.at(every))
    assert places.tolist() == [1.0, 2.0, 3.0]
    assert series.values.tolist() == [3.5, 2.5, 1.5]
    assert found.best("loss", "validation", highest=False) == 1.5
    run.write_summary({"state": "finished", "steps": 30, "epochs": 3})
    assert load_curves(run).has_axis("step")


def test_a_run_of_the_command_line_that_goes_on_here_counts_steps(run: RunFolder) -> None:
    run.append_metrics(0, {"loss": 3.0})
    run.append_metrics(1, {"loss": 2.0})
    found = load_curves(run)
    found.begin_part(SIZE, METRICS, 20, 1000.0)
    found.add(StepChunk(20, numbers(10), (1000.0, 1001.0), (0.0, 1.0)))
    assert len(found.segments) == 1
    epochs = found.segments[0].epochs["loss"]
    assert epochs.steps.at(np.arange(2)).tolist() == [10.0, 20.0]


def test_plots_are_loss_then_metrics_then_rate() -> None:
    curves = RunCurves("r")
    curves.begin_part(SIZE, ("loss", "accuracy", "top2", RATE), 0, 0.0)
    curves.add_epoch(10, {"val_mae": 1.0})
    assert curves.plots == ("loss", "accuracy", "top2", "mae", RATE)
