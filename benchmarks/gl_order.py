"""What it brings to run dispatches side by side: steps by level, and one after another.

python -m benchmarks.gl_order [--works W2,W3,W4] [--batches 128,1024]

For each workload: dispatches, barriers and memory of a step, and milliseconds a step both ways.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.ours import ready_to_train, train_rows
from benchmarks.workloads import WORKLOADS
from studio.engine.gl.backend import GlBackend

STEPS = {"W2": 200, "W3": 100, "W4": 20}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line per workload and batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--works", default="W2,W3,W4")
    parser.add_argument("--batches", default="", help="those of the table where empty")
    options = parser.parse_args(arguments)
    for word in options.works.split(","):
        work = WORKLOADS[word]
        batches = [int(b) for b in options.batches.split(",") if b] or work.batches_gpu
        for batch in batches:
            taken: list[str] = []
            for name, in_order in (("by level", False), ("in program order", True)):
                backend = GlBackend(in_order=in_order)
                try:
                    (row,) = train_rows(work, batch, backend, STEPS[work.id])
                    with ready_to_train(work, batch, backend) as (_, executable):
                        issued = executable.issued
                finally:
                    backend.close()
                barriers = sum(one.barrier for one in issued)
                taken.append(
                    f"{name} {row.timing.median_ms:.4f} ms ({len(issued)} dispatches, "
                    f"{barriers} barriers, {row.memory_mib:.1f} MiB, loss {row.loss:.6f})"
                )
            sys.stdout.write(f"{word} {batch}: {'; '.join(taken)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
