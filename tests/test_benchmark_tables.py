"""What the benchmarks print and leave behind: every row, every case that ended, the step's time."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from benchmarks import busy_neighbour, slowest, timing, training_steps
from benchmarks.timing import Row, Timing
from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Peaks

SYSTEMS = ("Glassbox gl", "PyTorch eager", "PyTorch fused", "PyTorch CUDA graph", "JAX")


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The cases measured, five systems each, by numbers of our own; W3 is cut off."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    done: list[tuple[str, int]] = []

    def measured(work, batch, steps, options, facts) -> list[Row]:
        if work.id == "W3":
            raise KeyboardInterrupt
        done.append((work.id, batch))
        facts[f"kernels of {work.id} batch {batch}"] = "shipped"
        return [
            Row(work.id, batch, system, Timing(number, number, number))
            for number, system in enumerate(SYSTEMS, 1)
        ]

    monkeypatch.setattr(training_steps, "_measure", measured)
    return done


def test_all_rows_of_a_case_are_told_as_it_ends(
    cases: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert training_steps.main(["--backend", "gl", "--works", "W2"]) == 0
    said = capsys.readouterr()
    assert len(cases) == 2
    for text in (said.err, said.out):
        for _, batch in cases:
            for number, system in enumerate(SYSTEMS, 1):
                assert f"| W2 | {batch} | {system} | {number}.000" in text


def test_a_run_that_is_cut_off_leaves_the_cases_that_ended(
    cases: list[tuple[str, int]], tmp_path: Path
) -> None:
    path = tmp_path / "steps.json"
    with pytest.raises(KeyboardInterrupt):
        training_steps.main(["--backend", "gl", "--works", "W2,W3", "--json", str(path)])
    found = json.loads(path.read_text())
    assert [(r["work"], r["batch"], r["system"]) for r in found["rows"]] == [
        (*case, system) for case in cases for system in SYSTEMS
    ]
    assert all(f"kernels of W2 batch {batch}" in found["machine"] for _, batch in cases)
    assert [one.name for one in tmp_path.iterdir()] == ["steps.json"]


class Steps:
    """Steps of a quarter of a millisecond; waiting for them costs the host as much again."""

    def __init__(self, rises_in: float) -> None:
        self.now = self.busy = 0.0
        self.done = 0
        self.rises_in = rises_in

    def perf_counter(self) -> float:
        return self.now

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.done += 1
            if self.done == 64:
                # The host compiles what sends the steps, and the clock sinks meanwhile.
                self.now += 1.6
                self.busy = 0.0
            spent = 250e-6 if self.busy >= self.rises_in else 1000e-6
            self.now += spent
            self.busy += spent

    def finish(self) -> None:
        self.now += 250e-6


def test_a_step_is_timed_at_full_speed_without_its_beginning_and_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = Steps(rises_in=0.33)
    monkeypatch.setattr(slowest, "time", steps)
    monkeypatch.setattr(timing, "time", steps)
    found = slowest.step_time(steps)  # type: ignore[arg-type]
    assert found.median_ms == pytest.approx(0.25, rel=0.02)
    assert found.worst_ms == pytest.approx(0.25, rel=0.02)


def test_a_heading_says_what_the_step_takes_and_a_doubtful_peak_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def events(index: int, micros: float, traffic: int) -> tuple[KernelEvent, ...]:
        return tuple(
            KernelEvent(step, "forward", index, "RELU", "relu", ("a",), 0.0, micros, 1, traffic)
            for step in range(3)
        )

    # 4 kB in a microsecond are 4 GB/s: twice the peak. 1 kB in 200 µs is next to nothing.
    for kernels, said in (((*events(0, 1.0, 4000), *events(1, 200.0, 1000)), True),
                          (events(1, 200.0, 1000), False)):  # fmt: skip
        profile = Profile("device", "wall clock", 3, 900.0, kernels)
        monkeypatch.setattr(slowest, "measure_peaks", lambda *_: Peaks(gflops=100.0, gbytes=2.0))
        monkeypatch.setattr(
            slowest, "profiled", lambda *_, found=profile: (found, Timing(0.12, 0.1, 0.2))
        )
        assert slowest.main(["--backend", "cpu", "--cases", "W2:128"]) == 0
        out = capsys.readouterr().out
        (heading,) = re.findall(r"^### (.*)$", out, re.MULTILINE)
        total = "201 µs in 2 kernels" if said else "200 µs in 1 kernels"
        assert heading == f"W2, batch 128: a step takes 120 µs; one after another {total}"
        assert ("in doubt: RELU (a) was faster than measured" in out) == said
        assert ("| 100% |" in out) == said


def test_a_profile_of_a_workload_has_its_step_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "WARM_SECONDS", 0.0)
    asked: list[object] = []
    original = slowest.step_time
    monkeypatch.setattr(slowest, "step_time", lambda one: (asked.append(one), original(one))[1])
    with slowest.open_backend("cpu") as opened:
        profile, step = slowest.profiled(opened.backend, "W2", 16, steps=2)
    assert len(asked) == 1
    assert profile.steps == 2
    assert 0 < step.best_ms <= step.median_ms <= step.worst_ms


def test_ratios_beside_a_neighbour_are_paired_by_round() -> None:
    drift = (1.0, 3.0, 0.5, 7.0)
    times = {
        "Glassbox": {False: [2.0 * d for d in drift], True: [6.0 * d for d in drift]},
        "PyTorch": {False: [4.0 * d for d in drift], True: [8.0 * d for d in drift]},
    }
    (row,) = busy_neighbour._ratio_rows("W2", times)
    # However the machine's speed drifts from round to round, the ratios do not.
    assert row.split(" | ")[1:] == [
        "Glassbox to PyTorch",
        "0.50 (0.50-0.50)",
        "0.75 (0.75-0.75)",
        "1.50 (1.50-1.50) |",
    ]


def test_the_cores_of_a_measurement_are_those_allowed() -> None:
    allowed = os.sched_getaffinity(0)
    assert busy_neighbour.chosen_cores(1) <= allowed
    with pytest.raises(SystemExit, match="cores are wanted"):
        busy_neighbour.chosen_cores(len(allowed) + 1)
