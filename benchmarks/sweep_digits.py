"""Whether a sweep finds its way from a bad start: digits-cnn from a rate of 1e-6 and 4 filters.

python -m benchmarks.sweep_digits --trials 40 --seeds 5 --workers 2

Sweeps rate and filters with TPE through `glassbox sweep`, then trains the setting that the sample
comes with by as many seeds, measured apart in the same way, and compares the two means.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import machine
from studio.engine.train.project.project import Project
from studio.samples import open_copy

_RATE, _FILTERS = 1e-6, 4
_VARIED = (
    "learning_rate.initial_learning_rate=log:1e-6..1e-1",
    "conv1.filters=4..32",
    "conv2.filters=4..64",
)


def make_worse(path: Path) -> None:
    """Give a copy of digits-cnn the start of the sweep."""
    project = json.loads(path.read_text("utf-8"))
    for layer in project["graph"]["nodes"]:
        if layer["type"] == "Conv2D":
            layer["config"]["filters"] = _FILTERS
    rate = project["training"]["optimizer"]["config"]["learning_rate"]["config"]
    rate["initial_learning_rate"] = _RATE
    path.write_text(json.dumps(project), "utf-8")
    # Raises where that is no project any more.
    Project.load(path)


def sweep(path: Path, words: Sequence[str]) -> dict[str, Any]:
    """The answer of `glassbox sweep`."""
    command = [sys.executable, "-m", "studio", "sweep", str(path), *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def said(trial: Mapping[str, Any]) -> str:
    """Mean and deviation over the seeds."""
    values = trial["by_seed"]
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.5f} ± {spread:.5f}"


def main(arguments: Sequence[str]) -> int:
    """Print both; 1 where the sweep's best is worse by more than the shipped setting's spread."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep_digits")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    same = ["--seeds", str(given.seeds), "--workers", str(given.workers), "--backend", "cpu"]
    print(json.dumps(machine()))
    with tempfile.TemporaryDirectory() as folder:
        shipped = open_copy("digits-cnn", Path(folder) / "shipped")
        # A sweep has two values at least; only the first is looked at, which is the shipped one.
        kept = sweep(shipped, ["--vary", "conv1.filters=16,8", "--sampler", "grid", *same])
        path = open_copy("digits-cnn", Path(folder) / "swept")
        make_worse(path)
        varied = [word for each in _VARIED for word in ("--vary", each)]
        begun = time.perf_counter()
        found = sweep(path, [*varied, "--trials", str(given.trials), *same])
        seconds = time.perf_counter() - begun
    reference = kept["trials"][0]
    valued = [trial for trial in found["trials"] if trial["value"] is not None]
    best = min(valued, key=lambda trial: trial["value"])
    spread = statistics.stdev(reference["by_seed"])
    print(f"shipped setting: {said(reference)} val_loss over {given.seeds} seeds")
    print(f"first trial:     {said(valued[0])} {valued[0]['values']}")
    print(f"best, trial {best['trial']}: {said(best)} {best['values']}")
    print(f"{given.trials} trials took {seconds:.0f} s with {given.workers} workers")
    reached = best["value"] <= reference["value"] + spread
    print("reached" if reached else "not reached")
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
