"""One system that runs steps of one workload whenever its parent asks: a child of `busy_neighbour`.

    PYTHONPATH=CHECKOUT python -P benchmarks/step_process.py glassbox W2 --threads 2

Prints ``ready``; then for each line ``SECONDS`` on its input runs steps for about that long and
prints milliseconds a step. Started as a file, so that ``PYTHONPATH`` may name an older checkout.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

STEPS = {"W1": 1, "W2": 8, "W3": 2, "W4": 1}
"""Steps between two readings of the clock, some ten milliseconds."""


def main() -> int:
    """Prepare the workload, then answer until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("system", choices=("glassbox", "torch"))
    parser.add_argument("work", choices=sorted(STEPS))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    # Read when NumPy and PyTorch are loaded.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    ready = _glassbox if options.system == "glassbox" else _torch
    count = STEPS[options.work]
    with ready(options.work, options.threads) as run:
        for _ in range(3):
            run(count)
        _say("ready")
        for line in sys.stdin:
            wanted, done = float(line), 0
            begun = time.perf_counter()
            while (took := time.perf_counter() - begun) < wanted:
                run(count)
                done += count
            _say(f"{took / done * 1e3:.6f}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def _glassbox(name: str, threads: int) -> Iterator[Callable[[int], object]]:
    from benchmarks import ours
    from benchmarks.workloads import WORKLOADS
    from studio.engine.cpu.team import usable_threads
    from studio.engine.train.devices import open_backend

    if usable_threads() != threads:
        raise SystemExit(f"Glassbox uses {usable_threads()} threads here, not {threads}.")
    work = WORKLOADS[name]
    batch = work.batches_cpu[0]
    with ExitStack() as stack:
        backend = stack.enter_context(open_backend("cpu")).backend
        if work.optimizer:
            _, executable = stack.enter_context(ours.ready_to_train(work, batch, backend))
        else:
            network, samples = ours.network_of(work, batch, backend)
            stack.enter_context(network)
            executable = network.executable("infer", batch)
            executable.feed(executable.program.inputs[0], samples.inputs[0])
        yield executable.run


@contextmanager
def _torch(name: str, threads: int) -> Iterator[Callable[[int], object]]:
    import torch

    from benchmarks.peers.torch_steps import eager_step
    from benchmarks.workloads import WORKLOADS

    torch.set_num_threads(threads)
    work = WORKLOADS[name]
    step = eager_step(work, work.batches_cpu[0], "cpu")

    def run(steps: int) -> None:
        for _ in range(steps):
            step()

    yield run


if __name__ == "__main__":
    raise SystemExit(main())
