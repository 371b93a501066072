"""Traces and tables that are written, against their formats."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

from studio.engine.profiler.totals import Peaks
from studio.session.profiling.columns import COLUMNS, csv_text
from studio.session.profiling.measurement import Measurement
from tests.session.profiling.bench import ProfilingBench


@pytest.mark.slow
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


def test_files_are_written_in_the_background(
    profiler: ProfilingBench, measured: Measurement, tmp_path: Path
):
    written: list[Path] = []
    profiler.model.export_trace(tmp_path / "trace.json", written.append)
    profiler.model.export_csv(tmp_path / "table.csv", "layer", written.append)
    profiler.until(lambda: len(written) == 2)
    assert json.loads((tmp_path / "trace.json").read_text())["displayTimeUnit"] == "ms"
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + len(profiler.model.rows("layer"))


@pytest.mark.slow
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
