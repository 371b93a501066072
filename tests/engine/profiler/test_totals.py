"""Totals add up, and the roofline says what a worked example says."""

import json
from dataclasses import replace

import pytest

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import (
    Peaks,
    group_totals,
    kernel_totals,
    raised_peaks,
    share_of_peak,
)
from studio.engine.profiler.trace import chrome_trace


def event(step, index, mnemonic, start, length, owners=("a",), flops=0, traffic=0):
    return KernelEvent(
        step, "forward", index, mnemonic, mnemonic.lower(), owners, start, length, flops, traffic
    )


PROFILE = Profile(
    "a device",
    "wall clock",
    2,
    100.0,
    (
        event(0, 0, "CONV2D", 0.0, 30.0, ("conv1",), flops=3_000_000, traffic=3000),
        event(0, 1, "ADD+RELU", 30.0, 10.0, ("add1", "relu1"), flops=1000, traffic=20_000),
        event(1, 0, "CONV2D", 50.0, 30.0, ("conv1",), flops=3_000_000, traffic=3000),
        event(1, 1, "ADD+RELU", 80.0, 10.0, ("add1", "relu1"), flops=1000, traffic=20_000),
    ),
)


def test_kernels_are_totalled_slowest_first():
    conv, add = kernel_totals(PROFILE)
    assert (conv.mnemonic, conv.calls, conv.mean_us) == ("CONV2D", 2, 30.0)
    assert conv.share == pytest.approx(0.75)
    assert conv.gflops == pytest.approx(100.0)  # 3e6 operations in 30 µs
    assert add.gbytes == pytest.approx(2.0)  # 20,000 bytes in 10 µs
    assert conv.bound == ""
    assert conv.peak_share is None


def test_roofline_names_the_bound_and_the_share():
    conv, add = kernel_totals(PROFILE, Peaks(gflops=200.0, gbytes=8.0))
    assert (conv.bound, conv.peak_share) == ("arithmetic", pytest.approx(0.5))
    assert (add.bound, add.peak_share) == ("memory", pytest.approx(0.25))


def test_three_calls_above_a_roof_raise_it_and_the_roof_is_then_in_doubt():
    peaks = Peaks(gflops=200.0, gbytes=10.0)
    usual = [20.0, 21.0, 22.0, 23.0, 24.0]  # the roof allows 8e4 bytes in 8 µs
    assert peaks.raised_by("ADD (add)", usual, 2e4, 8e4) is peaks
    assert peaks.raised_by("ADD (add)", [*usual, 4.0, 5.0], 2e4, 8e4) is peaks, "two are a slip"
    raised = peaks.raised_by("ADD (add)", [*usual, 4.0, 5.0, 6.0], 2e4, 8e4)
    assert (raised.gflops, raised.gbytes) == (200.0, pytest.approx(8e4 / 6e-6 * 1e-9))
    assert raised.doubt == "ADD (add) was faster than measured"
    usually = peaks.raised_by("ADD (add)", [2.0, 4.0, 4.0, 30.0], 2e4, 8e4)
    assert usually.gbytes == pytest.approx(8e4 / 4e-6 * 1e-9)
    both = Peaks(1.0, 1.0).raised_by("MATMUL (dense)", [10.0] * 3, 2e6, 8e4)
    assert (both.gflops, both.gbytes) == (pytest.approx(200.0), pytest.approx(8.0))
    assert peaks.raised_by("ADD (add)", [0.0, 0.01, 0.5, 0.9], 2e4, 8e4) is peaks, "too short"


def test_no_share_of_the_peak_is_above_one():
    assert share_of_peak(5.0, 10.0) == 0.5
    assert share_of_peak(10.0, 10.0) == 1.0
    assert share_of_peak(11.0, 10.0) is None, "too few calls have raised the roof yet"
    assert share_of_peak(0.1, 0.5) is None, "the clock is too coarse"
    low = Peaks(gflops=1.0, gbytes=0.001)
    assert [t.peak_share for t in kernel_totals(PROFILE, low)] == [None, None]
    events = tuple(replace(e, step=n) for n in range(3) for e in PROFILE.events)
    profile = replace(PROFILE, steps=3 * PROFILE.steps, events=events)
    shares = [t.peak_share for t in kernel_totals(profile, raised_peaks(profile, low))]
    assert all(share is not None and 0 < share <= 1 for share in shares)
    assert max(filter(None, shares)) == pytest.approx(1.0)


def test_groups_split_shared_kernels_evenly():
    groups = {g.name: g for g in group_totals(PROFILE, lambda e: e.owners)}
    assert groups["conv1"].step_us == pytest.approx(30.0)
    assert groups["add1"].step_us == groups["relu1"].step_us == pytest.approx(5.0)
    assert sum(g.share for g in groups.values()) == pytest.approx(1.0)


def held_up(conv: list[float], add: list[float]) -> Profile:
    """A profile of two kernels whose times are given step by step."""
    found = []
    for step, (one, other) in enumerate(zip(conv, add, strict=True)):
        found += [
            event(step, 0, "CONV2D", 0.0, one, ("conv1",), flops=3_000_000, traffic=3000),
            event(step, 1, "ADD+RELU", one, other, ("add1", "relu1"), flops=1000, traffic=20_000),
        ]
    return Profile("a device", "wall clock", len(conv), 0.0, tuple(found))


def test_one_call_held_up_moves_the_mean_and_nothing_else():
    peaks = Peaks(gflops=200.0, gbytes=8.0)
    found = held_up([30.0, 31.0, 29.0, 30.0, 30.0], [9.0, 10.0, 1960.0, 10.0, 11.0])
    conv, add = kernel_totals(found, peaks)
    assert (conv.mnemonic, add.mnemonic) == ("CONV2D", "ADD+RELU")
    assert (conv.median_us, add.median_us) == (30.0, 10.0)
    assert (conv.mean_us, add.mean_us) == (30.0, 400.0)
    assert (conv.share, add.share) == (pytest.approx(0.75), pytest.approx(0.25))
    assert (conv.gflops, add.gbytes) == (pytest.approx(100.0), pytest.approx(2.0))
    assert (conv.peak_share, add.peak_share) == (pytest.approx(0.5), pytest.approx(0.25))
    groups = group_totals(found, lambda e: e.owners)
    assert [(g.name, g.step_us) for g in groups] == [("conv1", 30.0), ("add1", 5.0), ("relu1", 5.0)]
    assert [g.share for g in groups] == [pytest.approx(s) for s in (0.75, 0.125, 0.125)]


def test_of_an_even_number_of_calls_the_median_lies_between_the_two_in_the_middle():
    conv, add = kernel_totals(held_up([10.0, 20.0, 30.0, 900.0], [1.0, 1.0, 3.0, 3.0]))
    assert (conv.median_us, add.median_us) == (25.0, 2.0)


def test_an_empty_profile_has_no_rows():
    empty = Profile("a device", "wall clock", 0, 0.0, ())
    assert kernel_totals(empty) == ()
    assert json.loads(chrome_trace(empty))["traceEvents"]


def test_trace_follows_the_event_format():
    events = json.loads(chrome_trace(PROFILE))["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert {e["ph"] for e in events} == {"X", "M"}
    assert all(e["dur"] >= 0 and {"name", "cat", "ts", "pid", "tid"} <= e.keys() for e in complete)
    kernels = [e for e in complete if e["tid"] == 1]
    assert [e["ts"] for e in kernels] == sorted(e["ts"] for e in kernels)
    assert [e["dur"] for e in complete if e["tid"] == 2] == [40.0, 40.0]
