"""The slowest kernels of each workload, with the share of the device's measured peak they reach.

    python -m benchmarks.slowest --backend gl --cases W2:128,W4:128

Kernels are timed one after another: their sum is more than a step, which overlaps them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.ours import network_of, ready_to_train
from benchmarks.timing import machine
from benchmarks.workloads import WORKLOADS
from studio.engine.profiler.events import Profile
from studio.engine.profiler.totals import kernel_totals
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.peaks import measure_peaks
from studio.engine.train.devices import open_backend

_CASES = {
    "gl": "W2:128,W2:1024,W3:128,W3:1024,W4:32,W4:128,W1:1,W1:32",
    "cpu": "W2:128,W3:128,W4:32,W1:1",
}
_PEAK = {"gl": (4096, 16384), "cpu": (1024, 16384)}
"""Side of the product and rows of the copy that give the peaks."""
_MOST_OWNERS = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a Markdown table per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="gl")
    parser.add_argument("--cases", default="", help="workload:batch, comma-separated")
    parser.add_argument("--top", type=int, default=10)
    options = parser.parse_args(arguments)
    with open_backend(options.backend) as opened:
        peaks = measure_peaks(opened.backend, *_PEAK[options.backend])
        facts = {
            **machine(),
            "device": opened.backend.device,
            "peaks": f"{peaks.gflops:,.0f} GFLOP/s, {peaks.gbytes:,.0f} GB/s",
        }
        print("\n".join(f"- {key}: {value}" for key, value in facts.items()))
        for case in (options.cases or _CASES[options.backend]).split(","):
            word, batch = case.split(":")
            profile = profiled(opened.backend, word, int(batch))
            rows = kernel_totals(profile, peaks)
            print(f"\n### {word}, batch {batch}: {sum(r.mean_us for r in rows):,.0f} µs in "
                  f"{len(rows)} kernels\n")  # fmt: skip
            print("| kernel | layers | µs | share | GFLOP/s | GB/s | bound | of peak |")
            print("|---|---|---|---|---|---|---|---|")
            for row in rows[: options.top]:
                print(f"| {row.mnemonic} | {', '.join(row.owners)[:_MOST_OWNERS]} | "
                      f"{row.mean_us:.1f} | {row.share:.1%} | {row.gflops:,.0f} | "
                      f"{row.gbytes:,.0f} | {row.bound} | {row.peak_share or 0:.0%} |")  # fmt: skip
    return 0


def profiled(backend: Backend, word: str, batch: int, steps: int = 10) -> Profile:
    """A profile of training steps, or of runs of W1."""
    work = WORKLOADS[word]
    if work.optimizer:
        with ready_to_train(work, batch, backend) as (_, executable):
            executable.run(3)
            return executable.profile(steps)
    network, samples = network_of(work, batch, backend)
    with network:
        executable = network.executable("infer", batch)
        executable.feed(executable.program.inputs[0], samples.inputs[0])
        executable.run(3)
        return executable.profile(steps)


if __name__ == "__main__":
    raise SystemExit(main())
