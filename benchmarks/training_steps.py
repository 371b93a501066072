"""Step times of the training workloads W2 to W4 and of W1's inference, ours beside the peers'.

    python -m benchmarks.training_steps --backend cpu --peers torch,jax
    python -m benchmarks.training_steps --backend gl  --peers torch,jax --json steps.json
    python -m benchmarks.training_steps --backend gl  --peers torch --tuned

All systems start from the same weights and run in one process; our first losses are compared with
PyTorch's in the same run. A row is the median of seven blocks of steps; the loss is read
at the end of each block, not at each step. The rows of a case are told as it ends, and the JSON
is written anew, so that a run that is cut off has lost nothing but the case it was in.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

CPU_STEPS = {"W1": 5, "W2": 40, "W3": 8, "W4": 4}
GPU_STEPS = {"W1": 20, "W2": 200, "W3": 100, "W4": 20}
AGREEMENT = 1e-4


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a Markdown table, and write JSON if asked."""
    options = _options(arguments)
    # Read before NumPy and the peers start their threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(options.threads))
    from benchmarks.timing import Row, machine, save, table
    from benchmarks.workloads import WORKLOADS

    facts = machine()
    rows: list[Row] = []
    on_gpu = options.backend == "gl" and not options.software
    for word in options.works.split(","):
        work = WORKLOADS[word]
        for batch in work.batches_gpu if on_gpu else work.batches_cpu:
            steps = (GPU_STEPS if on_gpu else CPU_STEPS)[work.id]
            found = _measure(work, batch, steps, options, facts)
            rows += found
            print(table(found), file=sys.stderr, flush=True)
            if options.json is not None:
                save(options.json, rows, facts)
    print("\n".join(f"- {key}: {value}" for key, value in facts.items()))
    print()
    print(table(rows))
    return 0


def _measure(work, batch, steps, options, facts):
    from benchmarks import ours, tuning
    from studio.engine.train.devices import open_backend

    peers = options.peers.split(",") if options.peers else []
    device = "cuda" if options.backend == "gl" and not options.software else "cpu"
    rows = []
    with open_backend(options.backend) as opened:
        facts[f"glassbox {options.backend}"] = opened.backend.device
        chosen = tuning.choose_kernels(opened.backend, work, batch, options.tuned)
        facts[f"kernels of {work.id} batch {batch}"] = chosen
        if work.optimizer:
            own = ours.first_losses(work, batch, opened.backend, 3)
            rows += ours.train_rows(work, batch, opened.backend, steps)
        else:
            rows += ours.infer_rows(work, batch, opened.backend, steps)
    if "torch" in peers:
        import torch

        from benchmarks.peers import torch_steps

        torch.set_num_threads(options.threads)
        facts["torch"] = torch.__version__
        if work.optimizer:
            _agree(work, own, torch_steps.first_losses(work, batch, device, 3))
            rows += torch_steps.train_rows(work, batch, device, steps)
        else:
            rows += torch_steps.infer_rows(work, batch, device, steps)
    if "jax" in peers:
        import jax

        from benchmarks.peers import jax_steps

        facts["jax"] = jax.__version__
        measured = jax_steps.train_rows if work.optimizer else jax_steps.infer_rows
        rows += measured(work, batch, steps)
    return rows


def _agree(work, own, theirs):
    worst = max(abs(a - b) / max(abs(b), 0.1) for a, b in zip(own, theirs, strict=True))
    verdict = "agree" if worst <= AGREEMENT else "DO NOT AGREE"
    print(f"{work.id}: first losses {verdict} (worst {worst:.1e}): {own} / {theirs}",
          file=sys.stderr, flush=True)  # fmt: skip


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    parser.add_argument("--software", action="store_true", help="the OpenGL device is software")
    parser.add_argument("--peers", default="torch", help="torch, jax, both or empty")
    parser.add_argument("--works", default="W2,W3,W4,W1")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tuned", type=float, nargs="?", const=20.0, default=0.0,
                        metavar="SECONDS", help="choose kernels by measurement first")  # fmt: skip
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
