"""Processes of several checkouts that take turns, and the median of what is paired.

Alternating stretches share what changes on a machine: other work, heat, a clock that sinks.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class RowError(RuntimeError):
    """A process could not prepare or run a row; it goes on with others."""


class StepProcess:
    """A process that runs steps of workloads when asked, see ``step_process``.

    Args:
        system: ``glassbox`` or ``torch``.
        checkout: whose ``studio`` and ``benchmarks`` it imports.
        backend: ``cpu`` or ``gl``.
        threads: how many it uses; 0 for all it may.
        software: whether OpenGL is a software renderer's.
        in_order: whether OpenGL programs are planned for little memory and run line after line.
    """

    def __init__(
        self,
        system: str,
        checkout: Path,
        *,
        backend: str = "cpu",
        threads: int = 0,
        software: bool = False,
        in_order: bool = False,
    ) -> None:
        script = ROOT / "benchmarks" / "step_process.py"
        # -P: the folder of the script is not searched for modules.
        command = [sys.executable, "-P", str(script), system, "--backend", backend]
        command += ["--threads", str(threads), *(["--in-order"] if in_order else [])]
        # First of all the checkout; what else is on the path may have the libraries it needs.
        paths = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        if software:
            environment["LIBGL_ALWAYS_SOFTWARE"] = "1"
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = f"{system} in {checkout}"
        self._gpu = backend == "gl" and not software
        self.pid = self._process.pid

    def rows(self) -> list[tuple[str, int]]:
        """Work and batch, or size, of all rows it can run."""
        return [(work, batch) for work, batch in self._ask(do="list", gpu=self._gpu)["rows"]]

    def open(self, work: str, batch: int) -> bool:
        """Prepare a row; whether its steps train."""
        return bool(self._ask(do="open", work=work, batch=batch)["trains"])

    def train(self, steps: int, file: Path) -> None:
        """Run steps, then write all that training keeps to a file."""
        self._ask(do="train", steps=steps, file=str(file))

    def warm(self, seconds: float) -> int:
        """Run for so long; how many steps make a block."""
        return int(self._ask(do="warm", seconds=seconds)["steps"])

    def measure(self, seconds: float, steps: int) -> float:
        """Milliseconds a step, by blocks of so many steps for so many seconds."""
        return float(self._ask(do="measure", seconds=seconds, steps=steps)["ms"])

    def close_row(self) -> tuple[float, float]:
        """Close the row; MiB its step holds, and MiB held at most."""
        found = self._ask(do="close")
        return found.get("step_mib", 0.0), found.get("peak_mib", 0.0)

    def _ask(self, **request: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            line = ""
        else:
            line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._name} ended with status {self._process.wait()}.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RowError(f"{self._name}: {answer['error']}")
        return answer

    def __enter__(self) -> StepProcess:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Median(NamedTuple):
    """A median and the interval that holds the true one in 95 of 100 cases."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Median:
        """By order statistics, whatever the distribution; of fewer than nine values their range."""
        ordered, count = sorted(values), len(values)
        middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        skipped = values_beside(count)
        return cls(middle, ordered[skipped], ordered[count - 1 - skipped])


def values_beside(count: int, outside: float = 0.05) -> int:
    """How many of so many values may be left out at each end of the interval of their median.

    The true median lies below the smallest value that is left with the probability that no more
    values than those left out lie below it, where each does so in one of two cases.
    """
    skipped, cases = 0, 1
    while 2 * (cases := cases + math.comb(count, skipped + 1)) <= outside * 2**count:
        skipped += 1
    return skipped


def chosen_cores(count: int) -> set[int]:
    """The first processors this process may run on, no two of one physical core if possible."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < count:
        raise SystemExit(f"{count} cores are wanted, {len(allowed)} may be used.")
    apart: list[int] = []
    taken: set[str] = set()
    for cpu in allowed:
        place = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        core = place.read_text().strip() if place.exists() else str(cpu)
        if core not in taken:
            taken.add(core)
            apart.append(cpu)
    return set((apart if len(apart) >= count else allowed)[:count])
