"""What a training step costs when the data set grows: it should cost the same.

python -m benchmarks.data_sizes --backend gl
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.ours import train_rows
from benchmarks.timing import Row, machine, table
from benchmarks.workloads import WORKLOADS
from studio.engine.train.devices import open_backend

SIZES = (1_280, 12_800, 128_000)
"""Samples in the set."""
_BATCH = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a Markdown table; ``batch`` is the number of samples in the set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    parser.add_argument("--works", default="W2,W3")
    options = parser.parse_args(arguments)
    steps = 200 if options.backend == "gl" else 10
    rows: list[Row] = []
    with open_backend(options.backend) as opened:
        for name in options.works.split(","):
            for size in SIZES:
                found = train_rows(WORKLOADS[name], _BATCH, opened.backend, steps, size)
                rows += [Row(row.work, size, row.system, row.timing) for row in found]
        device = opened.backend.device
    print("\n".join(f"- {k}: {v}" for k, v in {**machine(), "device": device}.items()))
    print()
    print(table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
