"""Dry runs: what they show, leave behind and leave out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.session.profiling import dry_run as profiling_dry_run
from tests.session.profiling.bench import ProfilingBench


@pytest.mark.slow
def test_a_dry_run_shows_a_step_and_leaves_nothing_behind(
    profiler: ProfilingBench, tmp_path: Path
) -> None:
    assert profiler.task is not None
    settings = profiler.task.settings.plain()
    assert profiler.model.why_no_dry_run() == ""
    profiler.model.start_dry_run()
    assert profiler.model.is_busy
    assert profiler.model.why_no_dry_run() != ""
    profiler.until(lambda: not profiler.model.is_busy)
    found = profiler.model.measurement
    assert found is not None
    assert found.subject.origin == "dry run"
    assert found.samples >= 3
    assert profiler.model.dry_run_seconds is not None
    assert profiler.model.dry_run_seconds > 0
    assert profiler.model.bar is not None
    assert profiler.model.quiet_gain is None  # a dry run runs beside no view
    assert profiler.model.peaks is not None
    assert profiler.task.settings.plain() == settings
    assert [path.name for path in tmp_path.iterdir()] == ["peaks"]


def test_a_dry_run_can_be_cancelled(profiler: ProfilingBench) -> None:
    profiler.model.start_dry_run()
    profiler.model.cancel_dry_run()
    assert not profiler.model.is_busy
    profiler.until(lambda: not profiler.tasks.running)
    assert profiler.model.measurement is None


def test_without_a_task_there_is_no_dry_run(profiler: ProfilingBench) -> None:
    profiler.task = None
    assert profiler.model.why_no_dry_run() == "the graph has problems or no data"
    profiler.model.start_dry_run()
    assert not profiler.model.is_busy


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
    ending = profiling_dry_run._StopWhenMeasured(
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
