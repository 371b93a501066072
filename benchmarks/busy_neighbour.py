"""Steps on two cores, quiet and beside a busy neighbour process, ours against PyTorch's.

    python -m benchmarks.busy_neighbour
    python -m benchmarks.busy_neighbour --works W2,W4 --pairs 20 --seconds 0.4
    python -m benchmarks.busy_neighbour --old ../older --no-torch

Every system has a process of its own. In each round each of them runs twice for ``--seconds``, in
random order: quiet, and beside a process that keeps one core busy. The others sleep meanwhile.
All processes may run on the same ``--threads`` cores, the first of this process's mask (of
different physical cores). Ratios are taken within a round; given are their geometric mean and its
95 % interval. ``busy/quiet`` is the ratio beside the neighbour over the quiet one: how much more of
its speed ours loses. A measurement is repeated while processes that are no part of it take more
than ``--strangers`` of the cores. With ``--old`` the CPU backend of another checkout takes part.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

from benchmarks.paired import ROOT, StepProcess, chosen_cores

WORKS = "W2,W3,W4,W1"
SETTLE_SECONDS = 0.03
"""How long the neighbour runs before a measurement beside it begins."""

WARM_SECONDS = 0.2
"""How long each system runs before it is measured."""

MOST_REPEATS = 20
"""How often a measurement is repeated for the sake of processes that are no part of it."""

Times: TypeAlias = dict[str, dict[bool, list[float]]]
"""Milliseconds a step of each round, by system and whether the neighbour was busy."""


class Neighbour:
    """A process that counts, and sleeps between `resume` and `pause`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.pid = self._process.pid
        self.pause()

    def resume(self) -> None:
        """Let it count."""
        self._process.send_signal(signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)

    def pause(self) -> None:
        """Stop it where it is."""
        self._process.send_signal(signal.SIGSTOP)

    def __enter__(self) -> Neighbour:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


class Strangers:
    """Processor time of processes that are no part of the measurement, where the system tells.

    Args:
        cores: numbers of the processors that count.
        own: processes that are part of it.
    """

    def __init__(self, cores: set[int], own: Sequence[int]) -> None:
        self._names = {f"cpu{core}" for core in cores}
        self._own = own
        self._cores = len(cores)
        self._begun = self._read()

    def share(self) -> float:
        """The share of the cores they took since the last call; 0 where it is not known."""
        before, self._begun = self._begun, self._read()
        seconds = self._begun[0] - before[0]
        return max(0.0, (self._begun[1] - before[1]) / (seconds * self._cores))

    def _read(self) -> tuple[float, float]:
        """The clock, and seconds of processor time that strangers took, both since some time."""
        stat, ticks = Path("/proc/stat"), 0
        if not stat.exists():
            return time.perf_counter(), 0.0
        for line in stat.read_text().splitlines():
            name, *numbers = line.split()
            if name in self._names:
                user, nice, system, _, _, irq, softirq, steal = map(int, numbers[:8])
                ticks += user + nice + system + irq + softirq + steal
        for pid in self._own:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks -= int(fields[11]) + int(fields[12])
        return time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print Markdown tables."""
    options = _options(arguments)
    cores = chosen_cores(options.threads)
    os.sched_setaffinity(0, cores)
    from benchmarks.timing import machine

    print("\n".join(f"- {key}: {value}" for key, value in machine().items()))
    print(f"- processors used: {','.join(map(str, sorted(cores)))}\n")
    print("| work | system | quiet, ms a step | beside a neighbour, ms | slower by |")
    print("|---|---|---|---|---|", flush=True)
    ratios: list[str] = []
    for work in options.works.split(","):
        times = _measure(work, options)
        for system, found in times.items():
            quiet, busy = (statistics.median(found[state]) for state in (False, True))
            print(
                f"| {work} | {system} | {quiet:.3f} | {busy:.3f} | {busy / quiet:.2f} |", flush=True
            )
        ratios += _ratio_rows(work, times)
    print("\n| work | ratio | quiet | beside a neighbour | busy/quiet |\n|---|---|---|---|---|")
    print("\n".join(ratios))
    return 0


def _measure(work: str, options: argparse.Namespace) -> Times:
    wanted = {"Glassbox": ("glassbox", ROOT)}
    if options.torch:
        wanted["PyTorch"] = ("torch", ROOT)
    for checkout in options.old:
        wanted[f"Glassbox in {checkout.name}"] = ("glassbox", checkout.resolve())
    times: Times = {name: {False: [], True: []} for name in wanted}
    order = random.Random(0)
    with ExitStack() as stack:
        neighbour = stack.enter_context(Neighbour())
        systems = {
            name: stack.enter_context(StepProcess(system, checkout, threads=options.threads))
            for name, (system, checkout) in wanted.items()
        }
        (batch,) = (batch for name, batch in systems["Glassbox"].rows() if name == work)
        for one in systems.values():
            one.open(work, batch)
        steps = {name: one.warm(WARM_SECONDS) for name, one in systems.items()}
        own = [os.getpid(), neighbour.pid, *(system.pid for system in systems.values())]
        strangers = Strangers(os.sched_getaffinity(0), own)
        disturbed = 0
        for _ in range(options.pairs):
            for busy in order.sample((False, True), 2):
                if busy:
                    neighbour.resume()
                for name in order.sample(tuple(systems), len(systems)):
                    for _ in range(MOST_REPEATS):
                        strangers.share()
                        found = systems[name].measure(options.seconds, steps[name])
                        if strangers.share() <= options.strangers:
                            break
                    else:
                        disturbed += 1
                    times[name][busy].append(found)
                neighbour.pause()
    if disturbed:
        print(f"{work}: other processes disturbed {disturbed} measurements", file=sys.stderr)
    return times


def _ratio_rows(work: str, times: Times) -> list[str]:
    ours = [name for name in times if name != "PyTorch"]
    pairs = [(name, "PyTorch") for name in ours if "PyTorch" in times]
    pairs += [("Glassbox", older) for older in ours[1:]]
    rows = []
    for first, second in pairs:
        logs = {
            busy: [
                math.log(a / b)
                for a, b in zip(times[first][busy], times[second][busy], strict=True)
            ]
            for busy in (False, True)
        }
        apart = [b - q for b, q in zip(logs[True], logs[False], strict=True)]
        cells = " | ".join(map(_interval, (logs[False], logs[True], apart)))
        rows.append(f"| {work} | {first} to {second} | {cells} |")
    return rows


def _interval(logs: Sequence[float]) -> str:
    """The geometric mean of ratios given by logarithm, with its 95 % interval."""
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.2f}"
    # Student's t for few rounds: 2.1 at 18 degrees of freedom, by a simple approximation.
    spread = (1.96 + 2.4 / (len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - spread), math.exp(mean + spread)
    return f"{math.exp(mean):.2f} ({low:.2f}-{high:.2f})"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--works", default=WORKS)
    parser.add_argument("--pairs", type=int, default=15, help="rounds, quiet and busy")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--strangers", type=float, default=0.05, metavar="SHARE")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--old", type=Path, action="append", default=[], metavar="FOLDER",
                        help="another checkout that takes part; may be given again")  # fmt: skip
    parser.add_argument("--torch", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
