"""The list of runs: real trainings, noted about, put away, deleted, brought back and compared."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from studio.engine.core.errors import DataError, ParameterError, StudioError
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock
from studio.session.core.held_out import SHARED_PART
from studio.session.core.run_notes import NOTES, RunNotes, read_notes
from studio.session.core.theme import SERIES
from studio.session.document.document import Document
from studio.session.plots.curves import load_curves
from studio.session.runs import runs
from studio.session.runs.bin import FOLDER, empty, put_away
from studio.session.runs.columns import RunArrangement, columns_of
from studio.session.runs.differences import differences
from studio.session.runs.records import RunRecord, read_record
from studio.session.runs.runs import DASHES, Overlay, RunList
from tests.engine.train.small_tasks import mlp, project
from tests.session.training.bench import TrainingBench
from tests.session.two_outputs import save_two_outputs

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class RunBench(TrainingBench):
    def __init__(self, folder: Path, **options: object) -> None:
        super().__init__(folder, **options)  # type: ignore[arg-type]
        self.runs = RunList(self.model, self.scheduler, self.tasks, self.errors.append)

    def listed(self, count: int) -> None:
        self.until(lambda: not self.runs.is_loading and len(self.runs.runs) == count)

    def close(self) -> None:
        self.runs.close()
        super().close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RunBench]:
    made = RunBench(tmp_path, epochs=2)
    yield made
    made.close()


def written(folder: Path, number: int, **training: object) -> RunFolder:
    """A finished run as the command line leaves it."""
    folder.mkdir(exist_ok=True)
    found = project(mlp(units=4 + number), **training)
    found.path = folder / "small.glassbox"
    run = RunFolder.create(found, START + timedelta(hours=number))
    for epoch in range(2):
        run.append_metrics(epoch, {"loss": 1.0 / (number + epoch + 1), "learning_rate": 0.1})
    summary = {"state": "finished", "device": "test", "epochs": 2, "steps": 10}
    run.write_summary({**summary, "seconds": 3.0 * number, "metrics": {"loss": 1 / (number + 2)}})
    return run


def test_every_training_is_listed_the_newest_first(bench: RunBench) -> None:
    bench.runs.follow()
    bench.train()
    bench.listed(1)
    bench.train()
    bench.listed(2)
    first, second = bench.runs.runs
    assert first.name > second.name
    assert first.state == "finished"
    assert first.has_weights
    assert first.epochs == 2
    assert first.parameters == bench.document.project().graph.parameter_count()
    assert set(first.metrics) >= {"loss", "val_loss", "accuracy"}
    assert bench.runs.active == first.name


def test_the_run_under_way_is_shown_as_it_stands(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, epochs=100_000)
    bench.model.start()
    bench.until(lambda: bool(bench.runs.runs) and bench.runs.runs[0].steps > 10)
    record = bench.runs.runs[0]
    assert record.word == "Training"
    bench.until(lambda: "val_loss" in bench.runs.runs[0].metrics)
    assert {"loss", "accuracy", "val_accuracy"} <= set(bench.runs.runs[0].metrics)
    assert bench.runs.why_not_delete(record.name) == "it is being trained"
    # While it stands still, reading the folder takes nothing away.
    bench.model.pause()
    bench.until_state("paused")
    bench.runs.refresh()
    bench.until(lambda: not bench.runs.is_loading)
    status, still = bench.model.status, bench.runs.runs[0]
    assert (still.steps, still.epochs) == (status.steps, status.done)
    assert still.seconds == status.elapsed
    assert {"loss", "val_loss"} <= set(still.metrics)
    assert {**still.metrics, **status.metrics} == still.metrics
    bench.model.start()
    assert bench.runs.delete(record.name) is None
    bench.model.stop()
    bench.until_state("stopped")
    bench.until(lambda: bench.runs.runs[0].state == "stopped")
    bench.close()


def test_curves_are_read_when_they_are_asked_for(bench: RunBench, tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    bench.runs.follow()
    bench.listed(1)
    heard: list[str] = []

    def hear(name: str) -> None:
        heard.append(name)

    bench.runs.curves_loaded.connect(hear)
    assert bench.runs.curves(run.name) is None
    bench.until(lambda: bool(heard))
    found = bench.runs.curves(run.name)
    assert found is not None
    assert found.plots == ("loss", "learning_rate")


def test_the_active_run_has_the_curves_of_the_training(bench: RunBench) -> None:
    bench.train()
    bench.listed(1)
    assert bench.runs.curves(bench.runs.active) is bench.model.curves


def test_a_run_that_was_killed_is_not_called_running(bench: RunBench, tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    run.write_summary({"state": "running"})
    record = read_record(run)
    assert record.state == "unfinished"
    assert record.epochs == 2
    assert record.metrics["loss"] == pytest.approx(1 / 3)


def test_a_damaged_run_is_listed_with_what_is_wrong(bench: RunBench, tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    (run.path / "settings.json").write_text("{")
    record = read_record(run)
    assert record.project is None
    assert "settings.json" in record.problem


# -- notes --------------------------------------------------------------------------------------


def test_notes_are_kept_in_the_runs_folder(bench: RunBench, tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    bench.runs.follow()
    bench.listed(1)
    name = run.name
    bench.runs.rename(name, "  wide   net ")
    bench.runs.set_star(name, True)
    bench.runs.set_text(name, "better\nthan before")
    bench.runs.set_tags(name, ("wide", " ", "wide", "best"))
    bench.runs.set_test(name, {"accuracy": 0.5})
    assert read_notes(run) == RunNotes(
        "wide net", True, False, ("wide", "best"), "better\nthan before", {"accuracy": 0.5}
    )
    record = bench.runs.run(name)
    assert record is not None
    assert record.title == "wide net"
    bench.runs.rename(name, "")
    record = bench.runs.run(name)
    assert record is not None
    assert record.title != ""
    with pytest.raises(ParameterError, match="at most"):
        bench.runs.rename(name, "x" * 300)
    with pytest.raises(DataError, match="no longer exists"):
        bench.runs.set_star("other", True)


def test_notes_written_while_the_list_is_read_stay(
    bench: RunBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = written(tmp_path, 1)
    bench.runs.follow()
    bench.listed(1)
    read, is_read = runs._read_all, threading.Event()

    def noticed(*args: Any) -> Iterator[RunRecord]:
        yield from read(*args)
        is_read.set()

    monkeypatch.setattr(runs, "_read_all", noticed)
    bench.runs.refresh()
    assert is_read.wait(10)
    bench.runs.set_test(run.name, {"accuracy": 0.5})
    bench.listed(1)
    assert bench.runs.runs[0].test == {"accuracy": 0.5}


@pytest.mark.parametrize("text", ["", "[]", '{"star": 3}', '{"tags": "x"}', "{"])
def test_damaged_notes_count_as_none(tmp_path: Path, text: str) -> None:
    run = written(tmp_path, 1)
    (run.path / NOTES).write_text(text)
    assert read_notes(run) == RunNotes()


# -- the bin ------------------------------------------------------------------------------------


def test_a_deleted_run_can_be_had_back_for_ten_minutes(bench: RunBench, tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    before = sorted(p.relative_to(run.path) for p in run.path.rglob("*"))
    bench.runs.follow()
    bench.listed(1)
    binned = bench.runs.delete(run.name)
    assert binned is not None
    assert bench.runs.runs == ()
    assert not run.path.exists()
    bench.runs.refresh()
    bench.listed(0)
    assert bench.runs.binned == (binned,)
    bench.runs.restore(binned)
    assert [r.name for r in bench.runs.runs] == [run.name]
    assert sorted(p.relative_to(run.path) for p in run.path.rglob("*")) == before
    with pytest.raises(StudioError):
        bench.runs.restore(binned)


def test_the_bin_is_emptied_of_what_is_old(tmp_path: Path) -> None:
    old, young = written(tmp_path, 1), written(tmp_path, 2)
    runs = old.path.parent
    binned = put_away(old)
    binned.path.rename(binned.path.with_name(f"{int(time.time()) - 700}.{old.name}"))
    put_away(young)
    (runs / FOLDER / "not-a-run").mkdir()
    assert empty(runs) == 1
    left = sorted(path.name for path in (runs / FOLDER).iterdir())
    assert len(left) == 2
    assert left[0].endswith(young.name)


def test_a_link_in_the_bin_is_not_followed(tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    folder = run.path.parent / FOLDER
    folder.mkdir()
    os.symlink(precious, folder / "1000000000.link")
    assert empty(run.path.parent) == 0
    assert (precious / "file").is_file()


# -- arranging and comparing --------------------------------------------------------------------


def records(folder: Path) -> tuple[RunRecord, ...]:
    runs = [written(folder, n, seed=n, batch_size=16 * (1 + n % 2)) for n in range(4)]
    return tuple(read_record(run) for run in runs)


def test_columns_follow_what_the_runs_measured(tmp_path: Path) -> None:
    found = {column.id: column for column in columns_of(records(tmp_path))}
    assert "metric.loss" in found
    assert "metric.val_loss" not in found
    assert found["seconds"].value(records(tmp_path / "other")[2]) == 6.0
    assert len(found) == len(set(found))


def test_columns_are_named_by_the_outputs_of_the_network_that_was_trained(tmp_path: Path) -> None:
    def titles(made: Project, *names: str) -> dict[str, str]:
        made.path = tmp_path / f"{made.name}.glassbox"
        run = RunFolder.create(made, START)
        run.write_summary({"state": "finished", "epochs": 1, "metrics": dict.fromkeys(names, 0.5)})
        record = read_record(run)
        columns = {column.id: column.title for column in columns_of([record])}
        assert load_curves(run, record.outputs).outputs == record.outputs
        return {name: columns[f"metric.{name}"] for name in names}

    # Metrics of a plugin may end like the losses of outputs.
    plain = project(mlp())
    found = titles(plain, "loss", "near_loss", "far_loss", "val_near_loss")
    assert found["near_loss"] == "Near loss"
    assert found["val_near_loss"] == "Val. near loss"
    # Where one output is trained there is no loss of each.
    both = Project.load(save_two_outputs(tmp_path, {"loss": {"age": None}}))
    found = titles(both, "loss", "kind_accuracy", "val_kind_accuracy", "age_mean_squared_error")
    assert found["val_kind_accuracy"] == "kind: val. acc."
    assert found["age_mean_squared_error"] == "age: mean squared error"


def measured(folder: Path, validation: str, tested: float) -> RunRecord:
    run = written(folder, 0, validation=validation)
    metrics = {"loss": 0.5, "accuracy": 0.8, "val_loss": 0.4, "val_accuracy": 0.9}
    summary = {"state": "finished", "epochs": 2, "steps": 10, "metrics": metrics}
    run.write_summary({**summary, "test": {"accuracy": tested, "loss": 0.4}})
    return read_record(run)


def test_a_column_means_the_same_whatever_runs_there_are(tmp_path: Path) -> None:
    shared = measured(tmp_path / "shared", "held-out", 0.9)
    apart = measured(tmp_path / "apart", "tail", 0.9)
    untested = written(tmp_path / "untested", 3)
    for runs_there in ([shared], [apart], [apart, shared, read_record(untested)]):
        found = {column.id: column for column in columns_of(runs_there)}
        assert found["metric.val_accuracy"].title == "Val. acc."
        assert found["test.accuracy"].title == "Test acc."
        # What a run that trains has too comes first.
        assert list(found)[2:4] == ["metric.val_accuracy", "test.accuracy"]
        for column in (found["test.accuracy"], found["metric.val_accuracy"]):
            assert column.shown
            assert (column.note(shared), column.note(apart)) == (SHARED_PART, "")


def test_what_the_command_line_measured_is_listed(bench: RunBench, tmp_path: Path) -> None:
    record = measured(tmp_path, "held-out", 0.95)
    assert dict(record.test) == {"accuracy": 0.95, "loss": 0.4}
    column = next(c for c in columns_of([record]) if c.id == "test.accuracy")
    assert column.value(record) == 0.95
    # A run that goes on has other weights than those that were measured.
    record.folder.write_summary({**record.folder.summary(), "state": "running", "test": {}})
    assert dict(read_record(record.folder).test) == {}


def test_a_run_that_goes_on_forgets_what_it_reached(bench: RunBench) -> None:
    bench.runs.follow()
    bench.train()
    bench.listed(1)
    name = bench.runs.runs[0].name
    bench.runs.set_test(name, {"accuracy": 0.5})
    assert dict(bench.runs.runs[0].test) == {"accuracy": 0.5}
    bench.until(lambda: not bench.runs.is_loading)
    bench.runs.refresh()
    bench.until(lambda: not bench.runs.is_loading)
    assert dict(bench.runs.runs[0].test) == {"accuracy": 0.5}
    bench.model.go_on()
    bench.until_state("finished")
    bench.until(lambda: bench.runs.runs[0].epochs == 4 and not bench.runs.is_loading)
    assert dict(bench.runs.runs[0].test) == {}
    assert [mark.kind for mark in bench.runs.runs[0].marks] == [
        "start", "finished", "restart", "finished",
    ]  # fmt: skip


def test_a_killed_run_that_had_gone_on_is_not_shown_as_it_was_before(tmp_path: Path) -> None:
    run = written(tmp_path, 1)
    run.append_metrics(2, {"loss": 0.125, "learning_rate": 0.1})
    run.write_summary({**run.summary(), "state": "running"})
    record = read_record(run)
    assert record.state == "unfinished"
    assert (record.epochs, record.metrics["loss"]) == (3, 0.125)


@pytest.mark.parametrize(
    ("column", "descending", "order"),
    [
        ("metric.loss", False, [3, 2, 1, 0]),
        ("parameters", True, [3, 2, 1, 0]),
        ("started", True, [3, 2, 1, 0]),
        ("batch_size", False, [0, 2, 1, 3]),
    ],
)
def test_runs_are_sorted_by_any_column(
    tmp_path: Path, column: str, descending: bool, order: list[int]
) -> None:
    found = records(tmp_path)
    arrangement = RunArrangement(column=column, descending=descending)
    sorted_runs = arrangement.arrange(found, columns_of(found))
    assert [found.index(run) for run in sorted_runs] == order


def test_runs_are_filtered_by_words_stars_and_archive(tmp_path: Path) -> None:
    found = list(records(tmp_path))
    for index, notes in {0: RunNotes("Wide net", star=True), 1: RunNotes(archived=True)}.items():
        found[index] = RunRecord(found[index].folder, found[index].project, notes=notes)
    columns = columns_of(found)
    assert RunArrangement("wide NET").arrange(found, columns) == (found[0],)
    assert RunArrangement("wide deep").arrange(found, columns) == ()
    assert RunArrangement(starred=True).arrange(found, columns) == (found[0],)
    assert len(RunArrangement().arrange(found, columns)) == 3
    assert len(RunArrangement(archived=True).arrange(found, columns)) == 4


def test_differences_hold_only_what_differs(tmp_path: Path) -> None:
    found = records(tmp_path)[:3]
    rows = {(row.group, row.name): row.values for row in differences(found)}
    assert rows["Training", "batch size"] == (16, 32, 16)
    assert rows["Training", "seed"] == (0, 1, 2)
    assert rows["Network", "layers"][0] == "compared with"
    assert "changed" in str(rows["Network", "layers"][1])
    assert ("Training", "epochs") not in rows
    assert ("Data", "source") not in rows
    assert all(len(set(values)) > 1 for values in rows.values())
    assert differences(found[:1]) == ()
    assert differences((found[0], found[0])) == ()


def test_an_optimizer_differs_by_name_and_by_option(tmp_path: Path) -> None:
    one = read_record(written(tmp_path, 1, optimizer={"type": "SGD", "config": {"momentum": 0.9}}))
    two = read_record(written(tmp_path / "b", 1, optimizer="Adam"))
    rows = {row.name: row.values for row in differences((one, two))}
    assert rows["optimiser"] == ("SGD", "Adam")
    assert rows["optimiser momentum"] == (0.9, None)


# -- overlay ------------------------------------------------------------------------------------


def test_overlaid_runs_keep_their_style_and_differ_in_it() -> None:
    overlay = Overlay()
    names = [f"run{n}" for n in range(SERIES * DASHES)]
    styles = [overlay.style(name) for name in names]
    assert len(set(styles)) == len(names)
    overlay.choose("run3")
    overlay.choose("run1")
    assert overlay.chosen == ("run3", "run1")
    overlay.choose("run3", on=False)
    assert overlay.style("run3") == styles[3]
    overlay.only("run5", "run1")
    assert overlay.chosen == ("run5", "run1")
    assert "run5" in overlay


def test_the_first_eight_runs_differ_in_colour() -> None:
    overlay = Overlay()
    assert len({overlay.style(str(n)).series for n in range(SERIES)}) == SERIES


# -- documents ----------------------------------------------------------------------------------


def test_runs_of_a_project_without_a_file_move_beside_it_when_it_is_saved(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, saved=False, epochs=1)
    bench.runs.follow()
    bench.train()
    bench.listed(1)
    bench.document.save(tmp_path / "named.glassbox")
    bench.runs.document_saved()
    moved = tmp_path / "named.runs"
    bench.until(lambda: [run.folder.path.parent for run in bench.runs.runs] == [moved])
    assert bench.model.run == bench.runs.runs[0].folder
    bench.model.go_on(2)
    bench.until(lambda: len(bench.endings) == 2)
    assert bench.model.state == "finished"
    bench.close()


def test_another_document_shows_its_own_runs(bench: RunBench, tmp_path: Path) -> None:
    written(tmp_path, 1)
    bench.runs.follow()
    bench.listed(1)
    other = project()
    (tmp_path / "elsewhere").mkdir()
    other.save(tmp_path / "elsewhere" / "other.glassbox")
    bench.document = Document.of_project(other)
    bench.runs.follow()
    bench.listed(0)


def test_a_folder_that_went_away_lists_nothing(bench: RunBench, tmp_path: Path) -> None:
    written(tmp_path, 1)
    bench.runs.follow()
    bench.listed(1)
    shutil.rmtree(tmp_path / "small.runs")
    bench.runs.refresh()
    bench.listed(0)


@pytest.mark.slow
def test_many_runs_are_read_once(bench: RunBench, tmp_path: Path) -> None:
    for number in range(30):
        written(tmp_path, number)
    bench.runs.follow()
    bench.listed(30)
    before = bench.runs.runs
    bench.runs.refresh()
    bench.until(lambda: not bench.runs.is_loading)
    assert all(a is b for a, b in zip(before, bench.runs.runs, strict=True))


def test_a_run_in_training_elsewhere_is_shown_so_and_not_deleted(
    bench: RunBench, tmp_path: Path
) -> None:
    bench.train()
    bench.listed(1)
    (run,) = bench.runs.runs
    lock = RunLock(run.folder.path)
    lock.take()
    assert read_record(run.folder).state == "running"
    assert "it is being trained by this process" in bench.runs.why_not_delete(run.name)
    assert bench.runs.delete(run.name) is None
    assert run.folder.path.is_dir()
    lock.release()
    assert read_record(run.folder).state == "finished"
    assert bench.runs.why_not_delete(run.name) == ""


def test_imported_weights_are_called_so_and_cannot_go_on(bench: RunBench, tmp_path: Path) -> None:
    bench.train()
    first = bench.model.run
    assert first is not None
    source = first.checkpoint_path("final")
    record = read_record(import_weights(source, tmp_path / "small.glassbox"))
    assert (record.state, record.word, record.can_go_on) == ("imported", "Imported", False)
    assert record.has_weights
    assert read_record(first).can_go_on
