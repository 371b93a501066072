"""The profiler on real trainings: live, frozen, quiet, dry; its links, files and peaks."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.pooling import MaxPooling2D
from studio.engine.layers.shaping import Flatten
from studio.engine.profiler.events import Profile
from studio.engine.profiler.totals import Peaks
from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.step_sampling import InstrumentedStep, StepWindow
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer
from studio.ui.models import entities, profiling_dry_run
from studio.ui.models.preferences import Preferences
from studio.ui.models.profiling import SETTLE_SECONDS, ProfilingModel
from studio.ui.models.profiling_columns import BY_ID, COLUMNS, RowFilter, csv_text, in_order
from studio.ui.models.profiling_measurement import Measurement, Origin
from studio.ui.models.profiling_peaks import PeakStore
from studio.ui.models.provenance import Provenance
from studio.ui.models.scheduling import ManualScheduler
from studio.ui.models.selection import Selection
from studio.ui.models.tasks import TaskList
from tests.engine.train.small_tasks import DIGITS, task


def network() -> LayerGraph:
    graph = LayerGraph("net")
    x = graph.add(Conv2D(4, 3, name="conv1"), graph.add(Input((8, 8, 1), name="image")))
    x = graph.add(BatchNormalization(name="norm1"), x)
    x = graph.add(Activation("relu", name="relu1"), x)
    x = graph.add(Flatten(name="flat"), x)
    graph.outputs = (graph.add(Dense(10, "softmax", name="digit"), x),)
    return graph


class Bench:
    """A profiler with everything it stands on, its clock turned by the test."""

    def __init__(self, folder: Path) -> None:
        self.scheduler = ManualScheduler()
        self.errors: list[StudioError] = []
        self.tasks = TaskList(self.scheduler, self.errors.append)
        self.preferences = Preferences()
        self.preferences.set("backend", "cpu")
        self.task: Task | None = task(network(), DIGITS, epochs=100_000)
        self.model = ProfilingModel(
            self.scheduler, self.tasks, self.preferences, folder, lambda: self.task,
            self.errors.append,
        )  # fmt: skip
        self.changes = 0
        self.model.changed.connect(self._count)

    def _count(self) -> None:
        self.changes += 1

    def until(self, wanted: Callable[[], bool], seconds: float = 30.0) -> None:
        """Let the window's clock go on until something is so."""
        end = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.002)
            self.scheduler.advance(0.5)

    @property
    def samples(self) -> int:
        found = self.model.measurement
        return 0 if found is None else found.samples


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.model.close()
    made.tasks.close()
    assert made.errors == []


@pytest.fixture
def cpu() -> Iterator[Opened]:
    with open_backend("cpu") as opened:
        yield opened


@pytest.fixture
def trainer(bench: Bench, cpu: Opened) -> Iterator[Trainer]:
    assert bench.task is not None
    with Trainer(bench.task, cpu.backend) as made:
        made.start()
        yield made


def test_a_training_under_way_is_measured(bench: Bench, trainer: Trainer) -> None:
    assert bench.model.measurement is None
    assert bench.model.rows() == ()
    bench.model.follow(trainer)
    bench.until(lambda: bench.model.bar is not None and bench.samples >= 3)
    assert bench.model.is_live
    assert bench.changes >= 1
    found = bench.model.measurement
    assert found is not None
    assert found.subject.device == trainer.network.backend.device
    assert (found.subject.origin, found.clock) == ("training", "wall clock")
    rows = bench.model.rows()
    program = trainer.network.program("train")
    lines = {index: line for _, index, line in program.located()}
    assert all(index in lines for row in rows for index in row.indices)
    assert {"conv1", "digit", "optimizer", "data"} <= {o for row in rows for o in row.owners}
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    bar = bench.model.bar
    assert bar is not None
    assert sum(bar.parts.values()) == pytest.approx(bar.seconds)
    before = bench.samples
    bench.until(lambda: bench.samples > before)


def test_frozen_numbers_stand_still_while_the_training_is_still_measured(
    bench: Bench, trainer: Trainer
) -> None:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 1)
    bench.model.set_frozen(True)
    rows, changes = bench.model.rows(), bench.changes
    for _ in range(20):
        time.sleep(0.02)
        bench.scheduler.advance(0.5)
    assert bench.model.rows() == rows
    assert bench.changes == changes
    frozen = bench.samples
    bench.model.set_frozen(False)
    assert bench.samples > frozen


def test_quiet_measures_nothing_and_tells_the_other_views(bench: Bench, trainer: Trainer) -> None:
    heard: list[bool] = []
    listener = heard.append
    bench.model.quiet_changed.connect(listener)
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 1)
    bench.model.set_quiet(True)
    assert heard == [True]
    assert not bench.model.is_live
    before, changes = bench.samples, bench.changes
    for _ in range(10):
        time.sleep(0.01)
        bench.scheduler.advance(0.5)
    assert (bench.samples, bench.changes) == (before, changes)
    bench.model.set_quiet(False)
    assert heard == [True, False]
    # The same training goes on: what was measured before still counts.
    bench.until(lambda: bench.samples > before)


def test_the_preference_switches_measuring_off_and_on(bench: Bench, trainer: Trainer) -> None:
    bench.preferences.set("profile_live", False)
    bench.model.follow(trainer)
    bench.scheduler.advance(1.0)
    assert not bench.model.is_live
    bench.preferences.set("profile_live", True)
    bench.until(lambda: bench.samples >= 1)
    bench.preferences.set("profile_live", False)
    assert not bench.model.is_live


def test_what_was_measured_stays_when_the_training_ends(bench: Bench, trainer: Trainer) -> None:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 2)
    bench.model.unfollow()
    assert not bench.model.is_live
    assert bench.samples >= 2
    # Nobody looks, so the machine is left alone.
    assert not bench.model.is_busy
    assert bench.model.peaks is None
    bench.model.want_peaks()
    assert bench.model.is_busy
    bench.until(lambda: not bench.model.is_busy)
    assert bench.model.peaks is not None
    utilised = [row.utilisation for row in bench.model.rows() if row.utilisation is not None]
    assert utilised
    assert all(value > 0 for value in utilised)


def test_peaks_that_are_wanted_are_measured_when_the_device_is_free(
    bench: Bench, trainer: Trainer
) -> None:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 1)
    bench.model.want_peaks()
    assert not bench.model.is_busy
    assert bench.model.why_no_peaks() == "the device is busy with a training"
    trainer.control.stop()
    bench.model.unfollow()
    bench.until(lambda: not bench.model.is_busy)
    assert bench.model.peaks is not None


def test_a_dry_run_shows_a_step_and_leaves_nothing_behind(bench: Bench, tmp_path: Path) -> None:
    assert bench.task is not None
    settings = bench.task.settings.plain()
    assert bench.model.why_no_dry_run() == ""
    bench.model.start_dry_run()
    assert bench.model.is_busy
    assert bench.model.why_no_dry_run() != ""
    bench.until(lambda: not bench.model.is_busy)
    found = bench.model.measurement
    assert found is not None
    assert found.subject.origin == "dry run"
    assert found.samples >= 3
    assert bench.model.dry_run_seconds is not None
    assert bench.model.dry_run_seconds > 0
    assert bench.model.bar is not None
    assert bench.model.quiet_gain is None  # a dry run runs beside no view
    assert bench.model.peaks is not None
    assert bench.task.settings.plain() == settings
    assert [path.name for path in tmp_path.iterdir()] == ["peaks"]


def test_a_dry_run_can_be_cancelled(bench: Bench) -> None:
    bench.model.start_dry_run()
    bench.model.cancel_dry_run()
    assert not bench.model.is_busy
    bench.until(lambda: not bench.tasks.running)
    assert bench.model.measurement is None


def test_nothing_of_the_project_before_is_shown_as_if_it_were_of_this(bench: Bench) -> None:
    bench.model.start_dry_run()
    bench.until(lambda: not bench.model.is_busy)
    bench.model.set_frozen(True)
    bench.model.start_dry_run()
    heard: list[object] = []

    def hear() -> None:
        heard.append(bench.model.measurement)

    bench.model.changed.connect(hear)
    bench.model.forget()
    bench.until(lambda: not bench.tasks.running)
    assert heard == [None]
    assert bench.model.measurement is None
    assert bench.model.times_ms() == {}
    assert bench.model.dry_run_seconds is None
    assert not bench.model.frozen


def test_without_a_task_there_is_no_dry_run(bench: Bench) -> None:
    bench.task = None
    assert bench.model.why_no_dry_run() == "the graph has problems or no data"
    bench.model.start_dry_run()
    assert not bench.model.is_busy


@pytest.fixture
def measured(bench: Bench, trainer: Trainer) -> Measurement:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 2)
    bench.model.unfollow()
    found = bench.model.measurement
    assert found is not None
    return found


def test_the_step_bar_leaves_out_steps_during_which_panes_were_opened(
    measured: Measurement,
) -> None:
    assert measured.times is not None
    profile = Profile("a device", "wall clock", 1, 1e3, measured.times.events)

    def steps(studio: float, pace: float) -> list[StepWindow]:
        """200 plain steps and one instrumented; the training waits for the window in them."""
        own = (100 * pace * (1 - studio), 0.0, 100 * pace * studio)
        inside = (InstrumentedStep(0, 0.0, pace, profile),)
        took = {"steps": 100 * pace}
        return [
            StepWindow(100, {**took, "instrumented": pace}, *own, inside),
            StepWindow(100, took, *own),
        ]

    fresh = Measurement(measured.subject)
    fresh.add(steps(0.5, 10e-3), restless=True)
    # There is nothing else yet.
    assert fresh.bar is not None
    assert fresh.bar.share("studio") == pytest.approx(0.5)
    fresh.add(steps(0.05, 10e-3))
    assert fresh.bar.share("studio") == pytest.approx(0.05)
    calm = fresh.bar
    fresh.begin_anew()
    fresh.add(steps(0.5, 10e-3), restless=True)
    fresh.add(steps(0.1, 2e-3))
    assert fresh.bar is calm
    fresh.add(steps(0.1, 8e-3))
    assert fresh.bar.share("studio") == pytest.approx(0.1)
    assert fresh.bar.plain_steps == 400
    assert fresh.samples == 4


def test_opening_panes_keeps_the_bar_until_there_are_enough_steps_after_it(
    bench: Bench, trainer: Trainer
) -> None:
    bench.model.follow(trainer)
    bench.scheduler.advance(SETTLE_SECONDS)
    bench.until(lambda: bench.model.bar is not None and bench.model.bar.plain_steps > 100)
    before = bench.model.bar
    bench.model.unsettle()
    assert bench.model.bar is before
    seen = bench.samples
    bench.until(lambda: bench.samples > seen + 1)
    bench.scheduler.advance(SETTLE_SECONDS)
    bench.until(lambda: bench.model.bar is not before)
    found = bench.model.measurement
    assert found is not None
    assert found.bar is not None
    assert found.bar.seconds > 0


def test_the_first_step_runs_cold_and_counts_only_while_there_is_no_other(
    measured: Measurement,
) -> None:
    assert measured.times is not None
    events = measured.times.events
    fresh = Measurement(measured.subject)
    for number, slow in enumerate((30.0, 1.0, 2.0)):
        timed = tuple(replace(event, duration_us=slow) for event in events)
        step = InstrumentedStep(number, 0.0, 1e-3, Profile("d", "wall clock", 1, 1e3, timed))
        fresh.add([StepWindow(1, {"steps": 1e-3}, 0.0, 0.0, 0.0, (step,))])
        shown = fresh.rows("kernel and layer", None)
        kernel = min(shown, key=lambda row: len(row.indices))
        mean = (30.0, 1.0, 1.5)[number]
        assert kernel.mean_us == pytest.approx(mean * len(kernel.indices))


@pytest.mark.parametrize(
    ("origin", "device", "apart", "wanted"),
    [
        ("training", "a GPU", True, [10.0, 10.0, 10.0, 2.0, 3.0]),
        ("training", "llvmpipe (software)", True, [10.0, 10.0, 10.0, 22 / 3, 26 / 4]),
        ("training", "a CPU", False, [10.0, 10.0, 10.0, 22 / 3, 26 / 4]),
        ("dry run", "a GPU", True, [10.0, 10.0, 10.0, 22 / 3, 26 / 4]),
    ],
)
def test_steps_of_a_gpu_whose_clock_rises_do_not_count_among_later_ones(
    measured: Measurement, origin: Origin, device: str, apart: bool, wanted: list[float]
) -> None:
    """Three slow ones in the first 0.4 seconds, then two at full speed."""
    assert measured.times is not None
    events = measured.times.events
    subject = replace(measured.subject, origin=origin, device=device, runs_apart=apart)
    fresh = Measurement(subject)
    found = []
    for when, took in ((50.0, 10.0), (50.2, 10.0), (50.4, 10.0), (50.6, 2.0), (50.8, 4.0)):
        timed = tuple(replace(event, duration_us=took) for event in events)
        step = InstrumentedStep(0, when, 1e-3, Profile(device, "wall clock", 1, 1e3, timed))
        fresh.add([StepWindow(1, {"steps": 1e-3}, 0.0, 0.0, 0.0, (step,))])
        assert fresh.times is not None
        found.append(fresh.times.mean_us()[events[0].index])
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(("rises_in", "left_out"), [(0.0, 1), (0.5, 6)])
def test_a_dry_run_leaves_out_what_runs_while_the_clock_rises(
    monkeypatch: pytest.MonkeyPatch, rises_in: float, left_out: int
) -> None:
    """A window ends every tenth of a second; the first two begin the count."""
    now = [30.0]
    stopped: list[int] = []
    ended = 0
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(profiling_dry_run, "time", clock)
    control = SimpleNamespace(stop=lambda: stopped.append(ended))
    handle = SimpleNamespace(cancelled=False, progress=lambda *_: None)
    ending = profiling_dry_run._Ending(
        SimpleNamespace(control=control),  # type: ignore[arg-type]
        handle,  # type: ignore[arg-type]
        rises_in,
    )
    while not stopped:
        ended += 1
        now[0] += 0.1001
        ending.window_ended()
    assert ended - ending.windows == left_out
    assert ending.windows == 8


def test_selecting_a_layer_marks_every_kernel_that_works_for_it(measured: Measurement) -> None:
    chosen = entities.node("norm1")
    every, primary = measured.marked(Selection((chosen,), chosen))
    rows = measured.rows("kernel and layer", None)
    marked = [row for row in rows if set(row.indices) & every]
    assert {row.section for row in marked} >= {"forward", "backward"}
    assert all("norm1" in row.owners or row.section == "update" for row in marked)
    assert {r.id for r in rows if "norm1" in r.owners} <= {r.id for r in marked}
    assert primary == every


def test_an_instruction_inside_a_fused_group_marks_the_groups_time(measured: Measurement) -> None:
    program = measured.subject.program
    fused = [i for _, i, line in program.located() if line.mnemonic == "FUSE"]
    assert fused
    inside = entities.instruction(measured.provenance.key_of(fused[0] + 1))
    every, _ = measured.marked(Selection((inside,), inside))
    assert every == {fused[0]}


def test_a_row_selects_kernels_of_its_instructions(measured: Measurement) -> None:
    row = next(
        r for r in measured.rows("kernel and layer", None)
        if "conv1" in r.owners and r.section == "forward"
    )  # fmt: skip
    chosen = measured.entities_of(row)
    assert all(entity.kind == "kernel" for entity in chosen)
    nodes = {n.key for e in chosen for n in measured.provenance.related(e, "node")}
    assert "conv1" in nodes
    every, _ = measured.marked(Selection(chosen, chosen[0]))
    assert set(row.indices) == every


def test_times_reach_another_program_by_stable_keys(measured: Measurement) -> None:
    own = measured.times_ms()
    assert measured.times_ms(measured.provenance) == own
    # The same graph with other layers between: its conv stands elsewhere and keeps its time.
    graph = LayerGraph("other")
    x = graph.add(Conv2D(4, 3, name="conv1"), graph.add(Input((8, 8, 1), name="image")))
    x = graph.add(Flatten(name="flat"), graph.add(MaxPooling2D(2, name="pool"), x))
    graph.outputs = (graph.add(Dense(10, "softmax", name="digit"), x),)
    made = task(graph, DIGITS)
    with open_backend("cpu") as opened, Trainer(made, opened.backend) as other:
        shown = Provenance(other.network.program("train"))
    moved = measured.times_ms(shown)
    assert moved
    for index, spent in moved.items():
        key = shown.key_of(index)
        assert own[measured.provenance.index_of(key)] == spent
    # What is of another size there was not measured.
    used = {key for index in moved for key in shown.operands_of(index)}
    assert "conv1/kernel" in used
    assert "digit/kernel" not in used
    before = {key for index in own for key in measured.provenance.operands_of(index)}
    assert {"conv1/kernel", "digit/kernel"} <= before


def test_a_trace_holds_every_measured_kernel_on_one_clock(measured: Measurement) -> None:
    events = json.loads(measured.trace())["traceEvents"]
    kernels = [e for e in events if e["ph"] == "X" and e["cat"] != "step"]
    steps = [e for e in events if e["ph"] == "X" and e["cat"] == "step"]
    assert measured.times is not None
    assert len(kernels) == measured.samples * len(measured.times.events)
    assert len(steps) == measured.samples
    starts = [e["ts"] for e in kernels]
    assert starts == sorted(starts)
    ends = [e["ts"] + e["dur"] for e in steps]
    assert all(end <= later["ts"] for end, later in zip(ends, steps[1:], strict=False))


def test_a_trace_keeps_to_the_trace_event_format(measured: Measurement) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    trace = json.loads(measured.trace(), parse_constant=refuse)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    named = set()
    for event in trace["traceEvents"]:
        assert {"ph", "pid", "tid", "name", "args"} <= set(event)
        assert isinstance(event["name"], str)
        assert event["name"]
        assert isinstance(event["args"], dict)
        track = event["pid"], event["tid"]
        assert all(type(number) is int for number in track)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            named.add(track if event["name"] == "thread_name" else track[:1])
            continue
        assert event["ph"] == "X"
        assert event["cat"]
        assert math.isfinite(event["ts"])
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        tracks.setdefault(track, []).append((event["ts"], event["ts"] + event["dur"]))
    assert set(tracks) <= named
    # Complete events of one track lie beside each other or in each other, to the nanosecond.
    for spans in tracks.values():
        spans.sort(key=lambda span: (span[0], -span[1]))
        open_ends: list[float] = []
        for begin, end in spans:
            while open_ends and open_ends[-1] <= begin + 1e-3:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 1e-3
            open_ends.append(end)


def test_files_are_written_in_the_background(bench: Bench, measured: Measurement, tmp_path: Path):
    written: list[Path] = []
    bench.model.export_trace(tmp_path / "trace.json", written.append)
    bench.model.export_csv(tmp_path / "table.csv", "layer", written.append)
    bench.until(lambda: len(written) == 2)
    assert json.loads((tmp_path / "trace.json").read_text())["displayTimeUnit"] == "ms"
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + len(bench.model.rows("layer"))


def test_the_table_as_text_has_every_exact_number(measured: Measurement) -> None:
    rows = measured.rows("kernel and layer", Peaks(100.0, 10.0))
    table = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert len(table) == len(rows)
    for line, row in zip(table, rows, strict=True):
        assert set(line) == {column.id for column in COLUMNS if column.form != "line"}
        assert float(line["mean"]) == row.mean_us
        assert int(line["calls"]) == row.calls
        assert line["layer"] == row.layers
        assert line["peak"] == ("" if row.utilisation is None else str(row.utilisation))


@pytest.mark.parametrize("column", [column.id for column in COLUMNS])
@pytest.mark.parametrize("descending", [True, False])
def test_rows_sort_by_any_column_unknown_ones_last(column: str, descending: bool) -> None:
    value = BY_ID[column].value
    rows = in_order(_rows(), column, descending=descending)
    found = [value(row) for row in rows]
    known = [v for v in found if v is not None]
    assert found == [*known, *[None] * (len(found) - len(known))]
    lowered = [v.casefold() if isinstance(v, str) else v for v in known]
    assert lowered == sorted(lowered, reverse=descending)


def test_a_filter_takes_text_section_and_a_choice() -> None:
    rows = _rows()
    assert RowFilter().apply(rows) == rows
    assert RowFilter().is_open
    forward = RowFilter(section="forward").apply(rows)
    assert forward
    assert {row.section for row in forward} == {"forward"}
    assert {r.layers for r in RowFilter(text="conv1 grads").apply(rows)} == {"conv1"}
    chosen = RowFilter(chosen={rows[1].id}).apply(rows)
    assert chosen == (rows[1],)
    assert not RowFilter(chosen=set()).is_open


@pytest.mark.parametrize(("percentile", "kept"), [(0, 4), (1, 3), (40, 2), (80, 1), (100, 1)])
def test_a_percentile_hides_the_fast_kernels(percentile: int, kept: int) -> None:
    rows = _rows()
    found = RowFilter(percentile=percentile).apply(rows)
    slowest = sorted(rows, key=lambda row: -row.total_ms)[:kept]
    assert {row.id for row in found} == {row.id for row in slowest}
    assert RowFilter(percentile=percentile).is_open == (percentile == 0)
    # The others count for the percentile, whatever else is filtered.
    assert RowFilter(percentile=percentile, text="no such kernel").apply(rows) == ()
    assert RowFilter(percentile=percentile).apply(()) == ()


def _rows() -> tuple:
    from tests.ui.models.test_profiling_table import PEAKS, collected

    return collected([[80.0, 20.0, 30.0, 100.0, 5.0]]).rows(peaks=PEAKS)


def test_peaks_are_kept_by_device_and_damage_counts_as_unknown(tmp_path: Path) -> None:
    with open_backend("cpu") as opened:
        measured = PeakStore(tmp_path).measure(opened.backend)
        name = opened.backend.fingerprint
    assert measured.gflops > 0
    assert PeakStore(tmp_path).find(name) == measured
    assert PeakStore(tmp_path).find("another device") is None
    (file,) = tmp_path.iterdir()
    good = json.loads(file.read_text())
    for bad in ("{", json.dumps({**good, "gflops": -1}), json.dumps({**good, "fingerprint": "x"}),
                json.dumps({**good, "gbytes": "many"}), "[]",
                json.dumps({k: v for k, v in good.items() if k != "method"}),
                json.dumps({**good, "method": good["method"] - 1})):  # fmt: skip
        file.write_text(bad)
        assert PeakStore(tmp_path).find(name) is None
