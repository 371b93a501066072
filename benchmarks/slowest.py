"""The slowest kernels of each workload, with the share of the device's measured peak they reach.

    python -m benchmarks.slowest --backend gl --cases W2:128,W4:128

A heading says what a step takes at full speed, nothing measured in it. Kernels are timed one after
another, each with a mark behind it, and the median of each counts: the sum of those is more than
the step, which overlaps them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from benchmarks.ours import network_of, ready_to_train
from benchmarks.timing import Timing, enough_steps, machine, measure
from benchmarks.workloads import WORKLOADS
from studio.engine.profiler.events import Profile
from studio.engine.profiler.totals import kernel_totals, raised_peaks
from studio.engine.runtime.backend import Backend, Executable
from studio.engine.runtime.peaks import measure_peaks
from studio.engine.train.devices import open_backend

_CASES = {
    "gl": "W2:128,W2:1024,W3:128,W3:1024,W4:32,W4:128,W1:1,W1:32",
    "cpu": "W2:128,W3:128,W4:32,W1:1",
}
_PEAK = {"gl": (1024, 4096), "cpu": (1024, 16384)}
"""Side of the product and rows of the copy that give the peaks; a GPU chooses its own."""
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
            profile, step = profiled(opened.backend, word, int(batch))
            peaks = raised_peaks(profile, peaks)
            rows = kernel_totals(profile, peaks)
            print(f"\n### {word}, batch {batch}: a step takes {step.median_ms * 1e3:,.0f} µs; "
                  f"one after another {sum(r.median_us for r in rows):,.0f} µs in "
                  f"{len(rows)} kernels\n")  # fmt: skip
            print("| kernel | layers | median µs | share | GFLOP/s | GB/s | bound | of peak |")
            print("|---|---|---|---|---|---|---|---|")
            for row in rows[: options.top]:
                print(f"| {row.mnemonic} | {', '.join(row.owners)[:_MOST_OWNERS]} | "
                      f"{row.median_us:.1f} | {row.share:.1%} | {row.gflops:,.0f} | "
                      f"{row.gbytes:,.0f} | {row.bound} | {row.peak_share or 0:.0%} |")  # fmt: skip
            if peaks.doubt:
                print(f"\nThe peaks are in doubt: {peaks.doubt}.")
    return 0


def profiled(backend: Backend, word: str, batch: int, steps: int = 10) -> tuple[Profile, Timing]:
    """A profile of training steps, or of runs of W1, and what a step takes with nothing in it."""
    work = WORKLOADS[word]
    if work.optimizer:
        with ready_to_train(work, batch, backend) as (_, executable):
            timing = step_time(executable)
            return executable.profile(steps), timing
    network, samples = network_of(work, batch, backend)
    with network:
        executable = network.executable("infer", batch)
        executable.feed(executable.program.inputs[0], samples.inputs[0])
        timing = step_time(executable)
        return executable.profile(steps), timing


def step_time(executable: Executable) -> Timing:
    """What a step takes at full speed."""

    def block(steps: int) -> float:
        begun = time.perf_counter()
        executable.run(steps)
        executable.finish()
        return time.perf_counter() - begun

    executable.run(3)
    executable.finish()
    # What takes a block so long is only known once the clock has risen.
    measure(lambda: block(1), 1, repeats=1)
    steps = enough_steps(block, least=1)
    return measure(lambda: block(steps), steps, warm=0)


if __name__ == "__main__":
    raise SystemExit(main())
