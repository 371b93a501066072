"""Rows of the kernel table against sums worked out by hand and by NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Peaks, kernel_totals
from studio.session.profiling.kernel_rows import RECENT, RING, KernelTimes, matches

PEAKS = Peaks(gflops=100.0, gbytes=10.0)

KINDS = (
    # section, index, mnemonic, kernel, owners, flops, bytes
    ("forward", 0, "CONV2D+RELU", "conv2d (tiles)", ("conv1",), 4_000_000, 20_000),
    ("forward", 1, "ADD", "elements", ("add1",), 1_000, 80_000),
    ("forward", 2, "ADD", "elements", ("add1",), 1_000, 80_000),
    ("backward", 3, "GRADS_CONV2D", "grads_conv2d", ("conv1",), 8_000_000, 60_000),
    ("metrics", 4, "ADVANCE", "advance", ("metrics",), 0, 0),
)


def profile(times: list[float], device: str = "a device") -> Profile:
    events, clock = [], 0.0
    for (section, index, mnemonic, kernel, owners, flops, traffic), spent in zip(
        KINDS, times, strict=True
    ):
        events.append(
            KernelEvent(0, section, index, mnemonic, kernel, owners, clock, spent, flops, traffic)
        )
        clock += spent
    return Profile(device, "wall clock", 1, clock, tuple(events))


def collected(samples: list[list[float]]) -> KernelTimes:
    times = KernelTimes(profile(samples[0]))
    for sample in samples:
        times.add(profile(sample))
    return times


def test_a_row_has_the_statistics_numpy_has(rng: np.random.Generator) -> None:
    samples = rng.uniform(10, 100, (200, len(KINDS)))
    times = collected(samples.tolist())
    rows = {row.mnemonic: row for row in times.rows()}
    conv = rows["CONV2D+RELU"]
    mine = samples[:, 0]
    assert conv.calls == 200
    assert conv.total_ms == pytest.approx(mine.sum() * 1e-3)
    assert conv.mean_us == pytest.approx(mine.mean())
    assert conv.median_us == pytest.approx(np.median(mine))
    assert conv.p95_us == pytest.approx(np.percentile(mine, 95))
    assert (conv.min_us, conv.max_us) == (mine.min(), mine.max())
    assert conv.share == pytest.approx(np.median(mine) / np.median(samples, axis=0).sum())
    assert conv.recent == pytest.approx(mine[-RECENT:])
    # The same kernel of the same layer stands in two places: one row, twice the calls.
    add = rows["ADD"]
    both = samples[:, 1:3]
    assert (add.calls, add.indices) == (400, (1, 2))
    assert add.mean_us == pytest.approx(both.mean())
    assert add.median_us == pytest.approx(np.median(both))
    assert add.max_us == both.max()
    assert times.together_us() == pytest.approx(np.median(samples.sum(axis=1)))
    assert add.recent == pytest.approx(both.sum(axis=1)[-RECENT:])
    assert sum(row.share for row in rows.values()) == pytest.approx(1.0)


def test_one_slow_call_changes_neither_share_nor_roofline_nor_order() -> None:
    usual = [80.0, 20.0, 20.0, 100.0, 5.0]
    calm = collected([usual] * 9).rows(peaks=PEAKS)
    struck = collected([[18_000.0, *usual[1:]], *([usual] * 8)]).rows(peaks=PEAKS)
    for one, other in zip(calm, struck, strict=True):
        assert (one.id, one.share, one.utilisation, one.wasted_us, one.gflops, one.bound) == (
            other.id, other.share, other.utilisation, other.wasted_us, other.gflops, other.bound,
        )  # fmt: skip
    assert max(row.mean_us for row in struck) > 1000


def test_utilisation_and_waste_follow_the_roofline() -> None:
    rows = {r.mnemonic: r for r in collected([[80.0, 20.0, 20.0, 100.0, 5.0]]).rows(peaks=PEAKS)}
    conv = rows["CONV2D+RELU"]  # 4e6 operations at 1e11 a second take 40 µs, 2e4 bytes 2 µs
    assert conv.bound == "arithmetic"
    assert conv.utilisation == pytest.approx(0.5)
    assert conv.wasted_us == pytest.approx(40.0)
    assert conv.gflops == pytest.approx(50.0)
    add = rows["ADD"]  # 8e4 bytes at 1e10 a second take 8 µs of 20
    assert add.bound == "memory"
    assert add.utilisation == pytest.approx(0.4)
    assert add.wasted_us == pytest.approx(12.0)  # of a call, as its median
    assert add.gbytes == pytest.approx(4.0)
    advance = rows["ADVANCE"]
    assert (advance.bound, advance.utilisation, advance.wasted_us) == ("", None, None)
    assert all(row.utilisation is None for row in collected([[1.0] * 5]).rows())


def test_rows_agree_with_the_totals_of_the_command_line() -> None:
    calm = [80.0, 20.0, 30.0, 100.0, 5.0]
    samples = [calm, [81.0, 20.0, 2000.0, 99.0, 5.0], [79.0, 900.0, 31.0, 100.0, 4.0]]
    rows = {row.indices[0]: row for row in collected(samples).rows(peaks=PEAKS)}
    steps = [replace(e, step=n) for n, one in enumerate(samples) for e in profile(one).events]
    whole = Profile("a device", "wall clock", len(samples), 0.0, tuple(steps))
    for total in kernel_totals(whole, PEAKS):
        if total.mnemonic == "ADD":  # two calls there, one row here
            continue
        row = rows[total.index]
        assert row.calls == total.calls == 3
        assert row.mean_us == pytest.approx(total.mean_us)
        assert row.median_us == total.median_us
        assert row.share == pytest.approx(total.share)
        assert row.gflops == pytest.approx(total.gflops)
        if total.peak_share:
            assert row.utilisation == pytest.approx(total.peak_share)
            assert row.bound == total.bound


def test_the_waste_of_a_call_fits_beside_its_median() -> None:
    rows = collected([[80.0, 20.0, 40.0, 100.0, 5.0]] * 4).rows("section", peaks=PEAKS)
    for row in rows:
        if row.wasted_us is not None:
            assert 0 <= row.wasted_us <= row.mean_us


def test_a_kernel_faster_than_the_peak_raises_it() -> None:
    fast = [20.0, 20.0, 20.0, 100.0, 5.0]
    for samples in (1, 2):
        times = collected([fast] * samples)
        assert times.raise_peaks(PEAKS) is PEAKS
        rows = {row.mnemonic: row for row in times.rows(peaks=PEAKS)}
        assert rows["CONV2D+RELU"].utilisation is None
        assert rows["ADD"].utilisation == pytest.approx(0.4)
    times = collected([fast] * 3)
    raised = times.raise_peaks(PEAKS)
    assert raised.gflops == pytest.approx(200.0)  # 4e6 operations in 20 µs
    assert raised.doubt.startswith("CONV2D+RELU (")
    rows = times.rows(peaks=raised)
    conv = next(row for row in rows if row.mnemonic == "CONV2D+RELU")
    assert conv.utilisation == pytest.approx(1.0)
    assert conv.wasted_us == pytest.approx(0.0)
    assert all(row.utilisation is None or row.utilisation <= 1.0 for row in rows)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("layer", {"conv1", "add1", "metrics"}),
        ("section", {"forward", "backward", "metrics"}),
        ("kernel", {"conv2d (tiles)", "elements", "grads_conv2d", "advance"}),
    ],
)
def test_groups_add_up_to_the_same_time(by: str, names: set[str]) -> None:
    times = collected([[80.0, 20.0, 30.0, 100.0, 5.0], [81.0, 21.0, 31.0, 101.0, 6.0]])
    rows = times.rows(by, PEAKS)
    assert {row.id for row in rows} == names
    assert sum(row.total_ms for row in rows) == pytest.approx(475.0 * 1e-3)
    assert [row.share for row in rows] == sorted((r.share for r in rows), reverse=True)
    whole = {index for row in rows for index in row.indices}
    assert whole == {0, 1, 2, 3, 4}


def test_the_line_of_a_row_holds_the_latest_samples_when_the_ring_has_turned() -> None:
    count = RING + 37
    times = collected([[float(n), 1.0, 1.0, 1.0, 1.0] for n in range(1, count + 1)])
    row = next(r for r in times.rows() if r.mnemonic == "CONV2D+RELU")
    assert row.recent == pytest.approx(np.arange(count - RECENT + 1, count + 1))
    assert row.calls == count
    assert row.min_us == 1.0
    kept = np.arange(count - RING + 1, count + 1)
    assert row.p95_us == pytest.approx(np.percentile(kept, 95))


def test_frozen_times_do_not_move() -> None:
    times = collected([[80.0, 20.0, 30.0, 100.0, 5.0]])
    frozen = times.copy()
    times.add(profile([8.0, 2.0, 3.0, 10.0, 0.5]))
    assert [r.total_ms for r in frozen.rows()] == pytest.approx([0.1, 0.08, 0.05, 0.005])
    assert frozen.samples == 1
    assert times.samples == 2


def test_another_program_or_device_does_not_fit() -> None:
    times = collected([[1.0] * 5])
    assert times.fits(profile([2.0] * 5))
    assert not times.fits(profile([2.0] * 5, device="another"))
    fewer = profile([1.0] * 5)
    assert not times.fits(Profile("a device", "wall clock", 1, 1.0, fewer.events[:-1]))


def test_times_go_by_instruction() -> None:
    usual = [80.0, 20.0, 30.0, 100.0, 5.0]
    # One call of a hundred times the length moves nothing, in the table or elsewhere.
    times = collected([usual, [9000.0, *usual[1:]], [82.0, *usual[1:]]])
    assert times.median_us() == {0: 82.0, 1: 20.0, 2: 30.0, 3: 100.0, 4: 5.0}
    assert {row.indices: row.median_us for row in times.rows()}[(0,)] == 82.0


def test_a_filter_looks_at_every_name() -> None:
    row = next(r for r in collected([[1.0] * 5]).rows() if r.mnemonic == "CONV2D+RELU")
    assert matches(row, [])
    assert matches(row, ["conv1", "forw"])
    assert matches(row, ["tiles"])
    assert not matches(row, ["conv1", "backward"])
