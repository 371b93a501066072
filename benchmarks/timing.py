"""Medians with spread, the rows of a table, and what machine they were taken on."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from studio.engine.profiler.steady_work import SteadyWork


@dataclass(frozen=True)
class Timing:
    """Milliseconds per step: median of the repeats, fastest, slowest."""

    median_ms: float
    best_ms: float
    worst_ms: float


@dataclass(frozen=True)
class Row:
    """One system on one workload."""

    work: str
    batch: int
    system: str
    timing: Timing
    loss: float = float("nan")
    memory_mib: float = 0.0


WARM_SECONDS = 0.5
"""How long blocks run at least before one counts.

A GPU that waited while a program was compiled has lowered its clock, an H200 from 1980 to 345 MHz,
and raises it only after a third of a second of work. A break begins it anew: the host may compile
in the middle of a block.
"""
_BLOCK_SECONDS = 0.02
_MOST_STEPS = 2000


def _work(block: Callable[[], float], least: int = 1) -> None:
    """Run a block until the device's clock has risen, and so many times at least."""
    work = SteadyWork()
    while least > 0 or work.seconds < WARM_SECONDS:
        took = block()
        work.add(time.perf_counter(), took)
        least -= 1


def measure(block: Callable[[], float], steps: int, repeats: int = 7, warm: int = 2) -> Timing:
    """Run a block of ``steps`` (it returns its seconds) and keep the median of the repeats."""
    _work(block, warm)
    found = sorted(block() / steps * 1e3 for _ in range(repeats))
    return Timing(statistics.median(found), found[0], found[-1])


def enough_steps(block: Callable[[int], float], least: int = 20) -> int:
    """Steps of a block by which its beginning and its end, some ten microseconds, do not count.

    Counted at a risen clock: at that of a GPU which compiles, a block is four times too short.
    """
    _work(lambda: block(least))
    steps = least
    while steps < _MOST_STEPS and block(steps) < _BLOCK_SECONDS:
        steps *= 2
    return steps


def machine() -> dict[str, str]:
    """Date, processor, cores and Python of this machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "cpu": model,
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                     else os.cpu_count()),
        "python": platform.python_version(),
    }  # fmt: skip


def table(rows: Iterable[Row]) -> str:
    """Rows as a Markdown table, the ratio to the first PyTorch row of the same work beside.

    The memory of a step has a column where it is known of any row.
    """
    rows = list(rows)
    weighed = any(row.memory_mib for row in rows)
    heads = ["work", "batch", "system", "ms/step (best-worst)", "ratio to PyTorch eager"]
    heads += ["MiB of a step"] if weighed else []
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        peers = [
            r for r in rows if (r.work, r.batch, r.system) == (row.work, row.batch, "PyTorch eager")
        ]
        ratio = f"{row.timing.median_ms / peers[0].timing.median_ms:.2f}" if peers else ""
        t = row.timing
        lines.append(
            f"| {row.work} | {row.batch} | {row.system} | {t.median_ms:.3f} "
            f"({t.best_ms:.3f}-{t.worst_ms:.3f}) | {ratio} |"
            + (f" {row.memory_mib:.0f} |" if row.memory_mib else " |" if weighed else "")
        )
    return "\n".join(lines)


def save(path: Path, rows: Iterable[Row], facts: dict[str, str]) -> None:
    """Rows and facts as JSON; a loss that is none is null: JSON has no NaN."""
    plain = [asdict(r) | {"loss": r.loss if math.isfinite(r.loss) else None} for r in rows]
    write_json(path, {"machine": facts, "rows": plain})


def write_json(path: Path, data: object) -> None:
    """Write data as JSON; a run that is stopped meanwhile leaves the file as it was."""
    text = json.dumps(data, indent=1, allow_nan=False)
    fresh = path.with_name(path.name + ".part")
    fresh.write_text(text)
    fresh.replace(path)
