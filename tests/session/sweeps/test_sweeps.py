"""The model of sweeps with real processes: started, paused, stopped, continued, looked at."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep.folder import TABLE, SweepFolder
from studio.engine.scale.sweep.planning import Wishes, make_plan
from studio.session.document.document import Document
from studio.session.sweeps.checking import in_window_words
from studio.session.sweeps.process import Ending
from tests.session.sweeps.sweep_bench import SweepBench, iris

UNITS = Wishes(("hidden.units=4,8,16",), sampler="grid", workers=1)
LONG = Wishes(("hidden.units=4,8", "epochs=100000,100001"), sampler="grid", workers=1)


@pytest.fixture
def benches() -> Iterator[list[SweepBench]]:
    made: list[SweepBench] = []
    yield made
    for bench in made:
        bench.close()


@pytest.fixture
def bench(tmp_path: Path, benches: list[SweepBench]) -> SweepBench:
    benches.append(SweepBench(Document.open(iris(tmp_path))))
    return benches[0]


def test_a_check_says_what_a_sweep_will_be(bench: SweepBench) -> None:
    bench.model.ask_check(UNITS)
    assert not bench.model.is_checked
    bench.until(lambda: bench.checks)
    found = bench.checks[0]
    assert (found.problem, found.field) == ("", "")
    assert found.plan is not None
    assert (found.plan.trials, found.plan.objective) == (3, "val_loss")
    assert "random 10% of the training part" in found.remark
    assert found.objectives[:2] == ("val_loss", "val_accuracy")
    assert bench.model.is_checked


@pytest.mark.parametrize(
    ("wishes", "field", "said"),
    [
        (Wishes(), "--vary", "Expected 1 to 32 things to vary, got 0"),
        (Wishes(("hiden.units=1,2",)), "--vary", "Did you mean hidden.units"),
        (Wishes(UNITS.vary, objective="test_loss"), "--objective", "The test part is no objective"),
        (Wishes(UNITS.vary, sampler="grid", trials=2), "--trials", "Leave Trials out"),
        (Wishes(("seed=1,2",), seeds=2), "--seeds", "The seed is varied already"),
        (Wishes(UNITS.vary, workers=1000), "--workers", "whole number from 1 to 256, got 1000"),
    ],
)
def test_a_check_says_which_field_is_wrong(
    bench: SweepBench, wishes: Wishes, field: str, said: str
) -> None:
    bench.model.ask_check(UNITS)
    bench.model.ask_check(wishes)
    bench.until(lambda: bench.checks)
    found = bench.checks[0]
    assert found.plan is None
    assert found.field == field
    assert said in found.problem
    assert len(bench.checks) == 1


def test_options_of_the_command_are_called_as_in_the_window() -> None:
    assert in_window_words("leave --trials out, or take --sampler random, --other") == (
        "leave Trials out, or take Sampler random, --other"
    )


@pytest.mark.slow
def test_a_sweep_is_followed_from_its_start_to_its_end(bench: SweepBench) -> None:
    model = bench.model
    bench.until(lambda: not bench.tasks.running)
    assert model.chosen is None
    model.plan_next()
    model.start(UNITS)
    assert model.state == "starting"
    assert not model.is_planning
    with pytest.raises(StudioError, match="a sweep is running"):
        model.start(UNITS)
    bench.until(lambda: model.own is not None and model.own.holder is not None)
    assert model.state == "running"
    bench.until(lambda: not model.is_busy and bench.said)
    record = model.chosen
    assert record is not None
    assert (record.ended, record.left, record.holder) == (3, 0, None)
    assert bench.states() == ["finished"] * 3
    best = record.best
    assert best is not None
    assert best.value == min(row.value or 0.0 for row in record.rows)
    assert bench.said == [
        f"The sweep has finished: trial {best.number} is best, val_loss {best.value:.4g}"
    ]
    assert bench.errors == []
    runs = [record.runs_of(row) for row in record.rows]
    assert runs == [(f"{record.name}-{n:04d}",) for n in range(3)]
    folder = bench.project().runs_path
    assert sorted(path.name for path in folder.iterdir()) == [name for (name,) in runs]
    assert bench.runs_changes


@pytest.mark.slow
def test_a_sweep_pauses_stops_and_goes_on(bench: SweepBench) -> None:
    model = bench.model
    model.start(Wishes(("epochs=2,3000",), sampler="grid", workers=1))
    model.pause()
    assert model.state == "paused"
    bench.until(lambda: model.own is not None)
    # Nothing is begun: the table stays empty however long it is looked at.
    for _ in range(200):
        bench.scheduler.advance(0.05)
    bench.until(lambda: not bench.tasks.running)
    assert bench.states() == []
    model.go_on()
    bench.until(lambda: bench.states() == ["finished", "training"])
    record = model.own
    assert record is not None
    assert (record.training, record.left) == (1, 1)
    model.stop()
    assert model.state == "stopping"
    bench.until(lambda: not model.is_busy and bench.states() == ["finished", "waiting"])
    record = model.chosen
    assert record is not None
    assert (record.holder, record.left, record.training) == (None, 1, 0)
    assert (bench.errors, bench.said) == ([], [])
    model.resume(record)
    assert model.is_own(record)
    bench.until(lambda: model.chosen is not None and model.chosen.training == 1)
    model.stop()
    bench.until(lambda: not model.is_busy)


@pytest.mark.slow
def test_a_process_that_is_killed_is_said_and_loses_nothing(bench: SweepBench) -> None:
    model = bench.model
    model.start(LONG)
    bench.until(lambda: model.own is not None and model.own.training)
    record = model.own
    assert record is not None
    assert record.holder is not None
    os.kill(record.holder.process.pid, signal.SIGTERM)
    bench.until(lambda: not model.is_busy)
    assert len(bench.errors) == 1
    assert "The process of the sweep ended by signal 15" in bench.errors[0].message
    bench.until(lambda: model.chosen is not None and model.chosen.holder is None)
    assert model.chosen is not None
    # The table of a killed process still says so; nothing trains.
    assert model.chosen.training == 0


@pytest.mark.slow
def test_closing_ends_the_process(bench: SweepBench) -> None:
    model = bench.model
    model.start(LONG)
    bench.until(lambda: model.own is not None and model.own.training)
    record = model.own
    assert record is not None
    assert record.holder is not None
    model.close()
    assert not record.holder.process.is_running


@pytest.mark.slow
def test_what_the_command_refuses_is_said(bench: SweepBench) -> None:
    bench.model.start(Wishes(("hiden.units=1,2",)))
    bench.until(lambda: not bench.model.is_busy)
    (error,) = bench.errors
    assert (error.who, error.message) == ("Varied", "there is no layer 'hiden'")
    assert error.hint.startswith("did you mean hidden.units")


def test_a_sweep_needs_a_saved_project(bench: SweepBench) -> None:
    bench.document = Document.new()
    bench.model.follow(bench.document)
    assert bench.model.needs_saving
    with pytest.raises(StudioError, match="the project is not saved"):
        bench.model.start(UNITS)
    assert bench.model.state == "idle"


def test_a_missing_package_is_named(bench: SweepBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(StudioError, match="sweeps need the package optuna") as found:
        bench.model.start(UNITS)
    assert "glassbox-studio[scale]" in found.value.hint


def test_a_sweep_of_another_process_is_only_looked_at(bench: SweepBench) -> None:
    project = bench.project()
    plan, _ = make_plan(project, UNITS, 1)
    bench.model.watch(True)
    with SweepFolder.create(project, plan) as folder:
        bench.until(lambda: bench.model.chosen, 1.0)
        record = bench.model.chosen
        assert record is not None
        assert record.path.name == folder.name
        assert record.holder is not None
        assert not bench.model.is_own(record)
        with pytest.raises(StudioError, match="the sweep is trained by"):
            bench.model.resume(record)
    bench.until(lambda: bench.model.chosen is not None and bench.model.chosen.holder is None, 1.0)


def test_damage_is_said_and_mends(bench: SweepBench) -> None:
    project = bench.project()
    plan, _ = make_plan(project, UNITS, 1)
    with SweepFolder.create(project, plan) as folder:
        folder.write_table([])
    table = folder.path / TABLE
    whole = table.read_bytes()
    bench.model.watch(True)
    bench.until(lambda: bench.model.chosen, 1.0)
    table.write_bytes(whole[:9])
    bench.until(lambda: bench.model.chosen and bench.model.chosen.problem, 1.0)
    table.write_bytes(whole)
    bench.until(lambda: bench.model.chosen and not bench.model.chosen.problem, 1.0)
    (folder.path / "sweep.json").write_text("[]", encoding="utf-8")
    bench.until(lambda: bench.model.chosen and bench.model.chosen.problem, 1.0)
    assert bench.model.chosen is not None
    assert bench.model.chosen.problem == "this is no plan of a sweep"
    assert bench.errors == []


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending(0, ""), ""),
        (Ending(130, "glassbox: interrupted"), ""),
        (Ending(1, ""), "No trial of the sweep reached a value"),
        (Ending(2, "note\nglassbox: [x] wrong\n  hint: mend it"), "[x] wrong mend it"),
        (Ending(2, "glassbox: no [x] here"), "no [x] here"),
        (
            Ending(2, "glassbox: [--trials] too many\n  hint: leave --seeds out"),
            "[Trials] too many leave Seeds out",
        ),
        (Ending(-9, ""), "The process of the sweep ended by signal 9"),
        (Ending(3, "Traceback\nValueError: odd"), "ended with code 3: ValueError: odd"),
    ],
)
def test_endings_are_a_sentence(ending: Ending, said: str) -> None:
    error = ending.error
    who = f"[{error.who}] " if error is not None and error.who else ""
    assert said in ("" if error is None else f"{who}{error.message} {error.hint}")
    assert (error is None) == (not said)


def test_what_the_command_says_of_an_option_is_said_of_a_field() -> None:
    said = "glassbox: [--cluster] gone, as --workers says\n  hint: leave --cluster out"
    error = Ending(2, said).error
    assert error is not None
    assert (error.who, error.message) == ("Cluster", "gone, as Workers says")
    assert error.hint == "leave Cluster out"


def test_what_is_varied_first_is_planned_for(bench: SweepBench) -> None:
    assert not bench.model.is_planning
    bench.model.draft.add("batch_size")
    assert bench.model.is_planning
    bench.until(lambda: not bench.tasks.running)
