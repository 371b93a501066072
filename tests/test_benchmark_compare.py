"""Two checkouts compared: what a table says, who runs when, and checkouts that differ."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.paired import ROOT, Median, RowError, values_beside

ROWS = [("W2", 128), ("W3", 128), ("W6 relu", 512)]


class Scripted:
    """Stands for a checkout's process; its steps take what a script says."""

    def __init__(
        self,
        name: str,
        took: Callable[[int], float],
        log: list[str],
        rows: list[tuple[str, int]] = ROWS,
        step_mib: float = 4.0,
    ) -> None:
        self.name, self.took, self.log, self.listed = name, took, log, rows
        self.step_mib = step_mib
        self.broken: set[str] = set()
        self.measured = 0

    def rows(self) -> list[tuple[str, int]]:
        return self.listed

    def open(self, work: str, batch: int) -> bool:
        if work in self.broken:
            raise RowError(f"{self.name}: {work} is broken")
        self.log.append(f"open {work} {batch}")
        self.measured = 0
        return work.startswith(("W2", "W3"))

    def train(self, steps: int, file: Path) -> None:
        weights = np.arange(4, dtype=np.float32)
        weights[2] += 0.5 * (self.name == "NEW")
        np.savez(file, **{"dense|kernel": weights, "train|step": np.array([steps])})

    def warm(self, seconds: float) -> int:
        self.log.append(f"warm {self.name}")
        return 8 if self.name == "OLD" else 32

    def measure(self, seconds: float, steps: int) -> float:
        # Both run blocks of the same length.
        assert steps == 8
        self.log.append(self.name)
        self.measured += 1
        return self.took(self.measured - 1)

    def close_row(self) -> tuple[float, float]:
        self.log.append(f"close {self.name}")
        return self.step_mib, 9.0


def options(*words: str) -> argparse.Namespace:
    return compare._options([str(ROOT), str(ROOT), *words])


def remarks(row: compare.Compared, *words: str) -> list[str]:
    return row.remarks(options(*words))


def test_the_one_that_began_is_second_in_the_next_pair() -> None:
    log: list[str] = []
    drift = [1.0 + 0.1 * k for k in range(15)]
    # However the speed drifts from pair to pair, the ratio of a pair does not.
    old = Scripted("OLD", lambda k: drift[k], log)
    new = Scripted("NEW", lambda k: 1.25 * drift[k], log)
    (row,) = compare.compare(old, new, options("--works", "W6"), {})
    turns = [word for word in log if word in ("OLD", "NEW")]
    assert turns == ["OLD", "NEW", "NEW", "OLD"] * 7 + ["OLD", "NEW"]
    assert log[:3] == ["open W6 relu 512", "open W6 relu 512", "warm OLD"]
    assert row.ratio == pytest.approx((1.25, 1.25, 1.25))
    assert remarks(row) == ["SLOWER"]
    assert remarks(row, "--most", "1.3") == []


def test_a_wide_interval_is_measured_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    old = Scripted("OLD", lambda _: 1.0, [])
    uneasy = Scripted("NEW", lambda k: (0.8, 1.0, 1.2)[k % 3], [], step_mib=4.6)
    (row,) = compare.compare(old, uneasy, options("--works", "W2"), {})
    assert len(row.old_ms) == len(row.new_ms) == 30
    assert remarks(row) == ["repeated", "wide", "more memory"]
    assert "| W2 | 128 | 1.0000 | 1.0000 | 1.000 (0.800-1.200) | 4.0 → 4.6 |" in (
        capsys.readouterr().out
    )
    # Disturbed in the first pairs only: the second ones settle it.
    calmer = Scripted("NEW", lambda k: 1.0 if k >= 15 or k % 3 else 0.8, [])
    (row,) = compare.compare(old, calmer, options("--works", "W2"), {})
    assert remarks(row) in (["repeated"], [])
    assert row.ratio is not None
    assert row.ratio.value == 1.0


def test_rows_that_one_lacks_are_named_and_the_others_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old = Scripted("OLD", lambda _: 1.0, [], rows=ROWS[:2])
    new = Scripted("NEW", lambda _: 1.0, [])
    new.broken = {"W3"}
    file = tmp_path / "table.json"
    chosen = options("--works", "W2,W3,W6", "--json", str(file))
    with pytest.raises(SystemExit, match="W6: no such row is in both"):
        compare.compare(old, new, chosen, {})
    assert "W6 relu 512: OLD has no such row" in capsys.readouterr().err
    chosen.works = "W2,W3"
    found = compare.compare(old, new, chosen, {"old": "older"})
    assert [row.failed for row in found] == ["", "NEW: W3 is broken"]
    written = json.loads(file.read_text())
    assert written["machine"] == {"old": "older"}
    assert [row["ratio"] for row in written["rows"]] == [
        {"value": 1.0, "low": 1.0, "high": 1.0}, None
    ]  # fmt: skip


def test_a_checkout_that_cannot_open_its_device_ends_it_in_a_sentence() -> None:
    class Deviceless(Scripted):
        def rows(self) -> list[tuple[str, int]]:
            raise RowError("NEW: BackendError: there is no usable OpenGL here")

    old, new = Scripted("OLD", lambda _: 1.0, []), Deviceless("NEW", lambda _: 1.0, [])
    with pytest.raises(SystemExit, match="no usable OpenGL here"):
        compare.compare(old, new, options(), {})


def test_batches_asked_for_are_those_of_whole_networks() -> None:
    chosen = options("--works", "W6,W2", "--batches", "16,32")
    assert compare.wanted_rows(ROWS, ROWS, chosen) == [("W6 relu", 512), ("W2", 16), ("W2", 32)]


def test_bits_that_differ_are_told_without_times(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (Scripted(name, lambda _: 1.0, []) for name in ("OLD", "NEW"))
    (row,) = compare.compare(old, new, options("--works", "W2", "--bits", "--pairs", "0"), {})
    assert row.bits == "differ by up to 1.7e-01 (dense/kernel)"
    assert row.ratio is None
    assert "OLD" not in old.log
    (row,) = compare.compare(old, new, options("--works", "W6", "--bits"), {})
    assert row.bits == ""


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"w": [1.0, -8.0], "m": [0.0]}, "same"),
        ({"w": [1.0, -8.5], "m": [0.0]}, "differ by up to 6.2e-02 (w)"),
        ({"w": [1.0, -8.0], "m": [-0.0]}, "differ by up to 0.0e+00 (m)"),
        ({"w": [1.0, np.nan], "m": [0.5]}, "differ by up to inf (w)"),
        ({"w": [1.0, -8.0]}, "only in one: m"),
        ({"w": [[1.0, -8.0]], "m": [0.0]}, "w is float32[2] and float32[1, 2]"),
    ],
)
def test_the_largest_difference_is_named(new: dict[str, list[float]], said: str) -> None:
    old = {"w": np.array([1.0, -8.0], np.float32), "m": np.zeros(1, np.float32)}
    given = {name: np.array(values, np.float32) for name, values in new.items()}
    assert compare.difference(old, given) == said


def test_the_interval_of_a_median_leaves_out_what_chance_allows() -> None:
    # 15 values: the true median is beyond the fourth of either end in 3.5 of 100 cases.
    assert values_beside(15) == 3
    assert [values_beside(n) for n in (1, 5, 8, 9, 30)] == [0, 0, 0, 1, 9]
    assert Median.of([5.0, 1.0, 2.0, 3.0]) == (2.5, 1.0, 5.0)
    assert Median.of([float(k) for k in range(15, 0, -1)]) == (8.0, 4.0, 12.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pairs", "14"], "at least 15, or 0, got 14"),
        (["--software"], "go with --backend gl"),
        (["--in-order"], "go with --backend gl"),
        (["--backend", "cuda"], "invalid choice"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options(*words)
    assert said in capsys.readouterr().err


def test_a_folder_that_is_no_checkout_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        compare.main([str(tmp_path), str(ROOT)])
    assert "is no checkout of Glassbox: no studio/__init__.py" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.gl
def test_a_plan_for_memory_is_compared_with_the_usual_one(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    asked = ["--backend", "gl", "--software", "--in-order", "--works", "W2", "--batches", "16"]
    asked += ["--pairs", "0", "--bits", "--json", str(file)]
    assert compare.main([str(ROOT), str(ROOT), *asked]) == 0
    written = json.loads(file.read_text())
    assert written["machine"]["new"].endswith(", in order")
    (row,) = written["rows"]
    assert row["bits"] == "same"
    usual, in_order = row["step_mib"]
    assert 0 < in_order <= usual


@pytest.mark.slow
def test_a_checkout_that_trains_otherwise_is_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real processes: this checkout, and one of another learning rate and without chained adds."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "studio").symlink_to(ROOT / "studio")
    shutil.copytree(ROOT / "benchmarks", other / "benchmarks")
    for name, line, instead in (
        ("ours.py", "rate = 1e-3 if", "rate = 1.5e-3 if"),
        ("kernels.py", "    found.append(timed(backend, chain(1000), 16, \"W7\", 1000))\n", ""),
    ):  # fmt: skip
        text = (other / "benchmarks" / name).read_text()
        assert line in text
        (other / "benchmarks" / name).write_text(text.replace(line, instead))
    file = tmp_path / "table.json"
    asked = ["--works", "W2", "--batches", "8", "--bits", "--json", str(file)]
    assert compare.main([str(other), str(ROOT), "--pairs", "0", *asked]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["bits"].startswith("differ by up to ")
    assert row["step_mib"][0] == row["step_mib"][1] > 1
    assert compare.main([str(ROOT), str(ROOT), "--seconds", "0.001", "--most", "9", *asked]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["bits"] == "same"
    assert len(row["old_ms"]) >= 15
    assert min(row["old_ms"] + row["new_ms"]) > 0
    capsys.readouterr()
    with pytest.raises(SystemExit, match="W7: no such row"):
        compare.main([str(other), str(ROOT), "--works", "W7"])
    assert "W7 1000: OLD has no such row" in capsys.readouterr().err
