"""What it brings to run dispatches side by side: steps by level, and one after another.

python -m benchmarks.gl_order [--works W2,W3,W4] [--batches 128,1024]

For each workload: dispatches and barriers of a step, and milliseconds a step both ways.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from unittest.mock import patch

from benchmarks.ours import train_rows
from benchmarks.workloads import WORKLOADS
from studio.engine.gl import recorder
from studio.engine.gl.recorder import Dispatch
from studio.engine.train.devices import open_backend

STEPS = {"W2": 200, "W3": 100, "W4": 20}
Placed = Sequence[tuple[int, Dispatch]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line per workload and batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--works", default="W2,W3,W4")
    parser.add_argument("--batches", default="", help="those of the table where empty")
    options = parser.parse_args(arguments)
    own = recorder.side_by_side
    for word in options.works.split(","):
        work = WORKLOADS[word]
        batches = [int(b) for b in options.batches.split(",") if b] or work.batches_gpu
        for batch in batches:
            taken: list[str] = []
            for name, order in (("by level", own), ("in program order", _one_after_another)):
                counts: list[tuple[int, int]] = []

                def ordered(placed: Placed, order=order, counts=counts) -> list[Dispatch]:
                    found = order(placed)
                    counts.append((len(found), sum(one.barrier for one in found)))
                    return found

                with patch.object(recorder, "side_by_side", ordered), open_backend("gl") as opened:
                    (row,) = train_rows(work, batch, opened.backend, STEPS[work.id])
                dispatches, barriers = max(counts)
                taken.append(
                    f"{name} {row.timing.median_ms:.4f} ms ({dispatches} dispatches, "
                    f"{barriers} barriers, loss {row.loss:.6f})"
                )
            sys.stdout.write(f"{word} {batch}: {'; '.join(taken)}\n")
            sys.stdout.flush()
    return 0


def _one_after_another(placed: Placed) -> list[Dispatch]:
    return [one for _, one in placed]


if __name__ == "__main__":
    raise SystemExit(main())
