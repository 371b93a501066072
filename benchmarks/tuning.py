"""Step times of W1 to W4 with the shipped choice of kernels and with the measured one.

    python -m benchmarks.tuning --total 60 --json tuning.json
    python -m benchmarks.tuning --all --total 180

Each workload is tuned, and its step then measured by either choice, block by block in turn, so
that the device's clock is the same for both; a training begins from the same weights both times,
and its first losses are shown beside each other. What is found is kept nowhere unless `--keep` says
so. When the time is up the rest is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from benchmarks.ours import network_of, ready_to_train
from benchmarks.timing import machine
from benchmarks.workloads import WORKLOADS, Workload
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import MeasuredChoices, keep_rows
from studio.engine.gl.kernels.specs import SHIPPED
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.tuning.findings import Tuning
from studio.engine.gl.tuning.tuner import tune_kernels
from studio.engine.gl.tuning.whole_steps import in_turn
from studio.engine.runtime.backend import Backend
from studio.engine.train.network.network import Network

LEAST_TUNING = 2.0
"""Seconds a workload gets for its tuning at least."""
SHARE = 0.7
"""Of the time left for a workload, what its tuning may take."""
RUNS = (("W2", 128), ("W3", 128), ("W4", 128), ("W1", 1))
OTHER_RUNS = (("W4", 32), ("W2", 1024), ("W3", 1024), ("W1", 32), ("W1", 128))
LOSSES = 3


def choose_kernels(backend: Backend, work: Workload, batch: int, seconds: float) -> str:
    """Take the shipped kernels, or with ``seconds`` tune first; returns what was done.

    Whatever table the user keeps is not used, so that figures do not hang on it.
    """
    device: object = backend
    if not isinstance(device, GlBackend):
        return "as compiled for the CPU"
    device.choose_by(SHIPPED)
    if not seconds:
        return "shipped choice of kernels"
    network, _ = network_of(work, batch, backend)
    with network:
        mode = "train" if work.optimizer else "infer"
        found = tune_kernels(device, [(network.program(mode), batch)], seconds)
    device.choose_by(MeasuredChoices(found.rows))
    return f"{len(found.rows)} of {len(found.findings)} choices of kernels measured to be better"


class Steps:
    """A workload's step, by the choices that held when it was made ready and by others.

    Args:
        network: the network.
        executable: its program.
        work: what it is.
        feed: gives an executable its inputs, where they are not in the data set.
    """

    def __init__(
        self,
        network: Network,
        executable: GlExecutable,
        work: Workload,
        feed: Callable[[GlExecutable], None] = lambda _: None,
    ) -> None:
        self.network = network
        self.executable = executable
        self.work = work
        self._feed = feed
        session = network.session
        names = session.names() if work.optimizer else ()
        self._start = {name: np.array(session.read(name).result()) for name in names}
        feed(executable)

    @contextmanager
    def again(self, backend: GlBackend) -> Iterator[GlExecutable]:
        """The same program in the same session, by the choices that now hold."""
        old, session = self.executable, self.network.session
        executable = backend.compile(old.program, session, old.batch)
        try:
            self._feed(executable)
            yield executable
        finally:
            executable.close()

    def losses(self, executable: GlExecutable) -> list[float]:
        """Losses of the first steps from the shared start; empty where nothing is trained."""
        if not self.work.optimizer:
            return []
        for name, values in self._start.items():
            self.network.session.write(name, values)
        executable.run(LOSSES)
        ring = self.network.session.read("train/ring").result()
        return [float(row[0]) for row in ring[:LOSSES]]


@contextmanager
def ready(work: Workload, batch: int, backend: GlBackend) -> Iterator[Steps]:
    """A workload ready to run: training where it is trained, inference otherwise."""
    if work.optimizer:
        with ready_to_train(work, batch, backend) as (network, executable):
            yield Steps(network, executable, work)
        return
    network, samples = network_of(work, batch, backend)
    with network:
        values = samples.inputs[0]
        yield Steps(
            network,
            network.executable("infer", batch),
            work,
            lambda executable: executable.feed(executable.program.inputs[0], values),
        )


def compare(
    backend: GlBackend, work: Workload, batch: int, seconds: Callable[[], float]
) -> tuple[dict[str, Any], Tuning]:
    """Tune, and measure steps by either choice in turn."""
    backend.choose_by(SHIPPED)
    with ready(work, batch, backend) as steps:
        shipped = steps.executable
        found = tune_kernels(backend, [(shipped.program, batch)], seconds())
        backend.choose_by(MeasuredChoices(found.rows))
        with steps.again(backend) as tuned:
            losses, tuned_losses = steps.losses(shipped), steps.losses(tuned)
            before, after = in_turn(shipped, tuned, software=backend.info.is_software)
    backend.choose_by(SHIPPED)
    return {
        "work": work.id, "batch": batch, "before_ms": 1e3 * before, "after_ms": 1e3 * after,
        "losses": losses, "tuned_losses": tuned_losses,
        "tuning_seconds": found.seconds, "left": found.left, "clock": found.clock,
        "passed_over": found.passed_over, "dropped": sorted(found.dropped),
        "kernels": [asdict(one) for one in found.findings],
    }, found  # fmt: skip


def report(row: dict[str, Any], found: Tuning) -> None:
    """Print one workload: its line, and a line per better choice."""
    ratio = row["before_ms"] / row["after_ms"]
    print(
        f"{row['work']} batch {row['batch']}: {row['before_ms']:.4f} -> {row['after_ms']:.4f} ms "
        f"({ratio:.2f}x); {len(found.rows)} of {len(found.findings)} better, {found.left} left, "
        f"{found.seconds:.1f} s by {found.clock}"
    )
    if row["losses"]:
        pairs = zip(row["losses"], row["tuned_losses"], strict=True)
        worst = max(abs(a - b) / max(abs(a), 0.1) for a, b in pairs)
        print(f"  first losses {row['losses']}, worst difference {worst:.1e}")
    for one in found.findings:
        if one.improved:
            (variant, parts), best = one.shipped, one.best
            print(
                f"  {one.signature}: {variant}/{parts} {one.shipped_us:.1f} us -> "
                f"{best.variant}/{best.parts} {best.median_us:.1f} us ({best.gain:.2f}x)"
                f"{'' if found.keeps(one) else ', but a step is slower by it'}"
            )
        for refused in one.refused:
            print(f"  {one.signature}: left out {refused}")
    for words in found.passed_over:
        print(f"  passed over {words}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune the workloads one after another until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--works", default="W1,W2,W3,W4")
    parser.add_argument("--batch", type=int, default=0, help="this batch instead of the usual one")
    parser.add_argument("--all", action="store_true", help="all batches of the tables")
    parser.add_argument("--total", type=float, default=60.0, help="seconds for everything")
    parser.add_argument("--keep", action="store_true", help="keep the choices for later runs")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args(arguments)
    end = time.monotonic() + options.total
    wanted = options.works.split(",")
    runs = [run for run in (*RUNS, *(OTHER_RUNS if options.all else ())) if run[0] in wanted]
    if options.batch:
        runs = [(name, options.batch) for name in wanted]
    backend = GlBackend()
    rows = []
    print(backend.device, flush=True)
    for number, (name, batch) in enumerate(runs):
        left = len(runs) - number
        if time.monotonic() >= end:
            print(f"time is up: {', '.join(f'{n} batch {b}' for n, b in runs[number:])} left out")
            break

        def share(left: int = left) -> float:
            """Seconds for this tuning, of what is left for this and the later runs."""
            return max(LEAST_TUNING, SHARE * (end - time.monotonic()) / left)

        row, found = compare(backend, WORKLOADS[name], batch, share)
        report(row, found)
        rows.append(row)
        if options.keep:
            print(f"  kept in {keep_rows(backend.fingerprint, found.rows, found.stale)}")
    facts = {**machine(), "device": backend.device, "driver": backend.fingerprint}
    backend.close()
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": facts, "rows": rows}, indent=1))
    if rows:
        mean = geometric_mean(row["before_ms"] / row["after_ms"] for row in rows)
        print(f"{mean:.3f}x over {len(rows)} workloads (geometric mean)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
