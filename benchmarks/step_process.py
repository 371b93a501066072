"""Runs steps of workloads when its parent asks: a child of `paired.StepProcess`.

    PYTHONPATH=CHECKOUT python -P benchmarks/step_process.py glassbox --backend gl

Started as a file, so that ``PYTHONPATH`` may name an older checkout, whose ``studio`` and
``benchmarks`` are then measured. Every line of its input is a request in JSON, every line of its
output the answer; one that has ``error`` says why there is none.

| request | answer |
|---|---|
| `{"do": "list", "gpu": false}` | `rows`: work and batch of all that it can run |
| `{"do": "open", "work": "W2", "batch": 128}` | `trains`: whether its steps train |
| `{"do": "train", "steps": 200, "file": "kept.npz"}` | runs steps; the file has all they changed |
| `{"do": "warm", "seconds": 0.5}` | runs for so long; `steps` that take some twenty milliseconds |
| `{"do": "measure", "seconds": 0.5, "steps": 8}` | `ms` of a step |
| `{"do": "close"}` | `step_mib` that the step holds, `peak_mib` that were held at most |
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

BLOCK_SECONDS = 0.02
MOST_STEPS = 2000
"""Steps in a block at most, however short they are."""
OUR_DATA = "data/"
"""How names of tensors begin that hold samples."""

Answer = dict[str, Any]


def main() -> int:
    """Answer until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("system", choices=("glassbox", "torch"))
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    parser.add_argument("--in-order", action="store_true", help="plan and run line after line")
    parser.add_argument("--threads", type=int, default=0, help="all that may be used where 0")
    options = parser.parse_args()
    if options.threads:
        # Read when NumPy and PyTorch are loaded.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = str(options.threads)
    # What libraries print must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system: Glassbox | Torch
    if options.system == "torch":
        system = Torch(options.threads)
    else:
        system = Glassbox(options.backend, options.threads, in_order=options.in_order)
    for line in sys.stdin:
        try:
            answer = answered(system, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    system.close()
    return 0


def answered(system: Glassbox | Torch, request: Answer) -> Answer:
    """The answer to one request."""
    match request["do"]:
        case "list":
            return {"rows": system.rows(request["gpu"])}
        case "open":
            return {"trains": system.open(request["work"], request["batch"])}
        case "train":
            system.train(request["steps"], request["file"])
            return {}
        case "warm":
            return {"steps": warmed(system, request["seconds"])}
        case "measure":
            return {"ms": milliseconds(system, request["seconds"], request["steps"])}
        case "close":
            return system.close()
        case other:
            raise ValueError(f"unknown request {other!r}")


def milliseconds(system: Glassbox | Torch, seconds: float, steps: int) -> float:
    """Milliseconds a step, by blocks of steps for so many seconds; the first does not count."""
    system.run(steps)
    system.finish()
    done, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        system.run(steps)
        done += steps
    system.finish()
    return (time.perf_counter() - begun) / done * 1e3


def warmed(system: Glassbox | Torch, seconds: float) -> int:
    """Run for so long that the clock of a device has risen; steps by whose number blocks are long.

    Of those the beginning and the end, some ten microseconds, hardly count.
    """
    steps, begun = 1, time.perf_counter()
    while True:
        before = time.perf_counter()
        system.run(steps)
        system.finish()
        now = time.perf_counter()
        if now - before < BLOCK_SECONDS and steps < MOST_STEPS:
            steps *= 2
        elif now - begun >= seconds:
            return steps


class Glassbox:
    """Ours, by the ``benchmarks`` and the ``studio`` that Python finds.

    Args:
        backend: ``cpu`` or ``gl``.
        threads: how many it must use on the CPU; 0 for any number.
        in_order: plan OpenGL programs for little memory, and run them line after line.
    """

    def __init__(self, backend: str, threads: int, *, in_order: bool = False) -> None:
        if threads:
            # Only where it is asked: an older tree that this is compared with has it elsewhere.
            from studio.engine.cpu.machine.threads import usable_threads

            if usable_threads() != threads:
                raise SystemExit(f"Glassbox uses {usable_threads()} threads here, not {threads}.")
        self._name, self._in_order = backend, in_order
        self._stack = ExitStack()
        self._backend: Any = None
        self._session: Any = None
        self._executable: Any = None
        self._operations: dict[tuple[str, int], tuple[Any, int]] = {}
        self._set_bytes = 0

    def rows(self, gpu: bool) -> list[tuple[str, int]]:
        """Work and batch, or size, of all that can run."""
        from benchmarks.workloads import WORKLOADS

        whole = [
            (work.id, batch)
            for work in WORKLOADS.values()
            for batch in (work.batches_gpu if gpu else work.batches_cpu)
        ]
        self._operations = self._found_operations(gpu)
        return [*whole, *self._operations]

    def open(self, work: str, batch: int) -> bool:
        """Prepare a row on a device opened for it; whether its steps train."""
        from benchmarks import ours
        from benchmarks.workloads import WORKLOADS

        self.close()
        self._backend = self._stack.enter_context(closing(self._opened()))
        known = WORKLOADS.get(work)
        if known is None:
            self._open_operation(*self._operations[work, batch])
            return False
        if not known.optimizer:
            network, samples = ours.network_of(known, batch, self._backend)
            self._stack.enter_context(network)
            self._executable = network.executable("infer", batch)
            self._executable.feed(self._executable.program.inputs[0], samples.inputs[0])
            return False
        opened = ours.ready_to_train(known, batch, self._backend)
        network, self._executable = self._stack.enter_context(opened)
        self._session = network.session
        data = [self._session.read(name).result() for name in self._kept(samples=True)]
        self._set_bytes = sum(array.nbytes for array in data)
        return True

    def run(self, steps: int) -> None:
        """Run steps; a device may still be at it afterwards."""
        self._executable.run(steps)

    def finish(self) -> None:
        """Wait for what was queued."""
        self._executable.finish()

    def train(self, steps: int, file: str) -> None:
        """Train, then write parameters, slots, statistics, losses and the step block to a file."""
        import numpy as np

        self.run(steps)
        self.finish()
        kept = {name: self._session.read(name).result() for name in self._kept(samples=False)}
        # A slash would be a folder in the archive.
        np.savez(file, **{name.replace("/", "|"): array for name, array in kept.items()})

    def close(self) -> Answer:
        """Give the device back; MiB held by the step, its samples aside, and held at most."""
        found: Answer = {}
        if self._backend is not None:
            memory = self._backend.memory()
            held = memory.persistent_bytes + memory.transient_bytes - self._set_bytes
            found = {"step_mib": held / 2**20, "peak_mib": memory.peak_bytes / 2**20}
        self._stack.close()
        self._backend = self._session = self._executable = None
        self._set_bytes = 0
        return found

    def _opened(self) -> Any:
        """The device, opened anew."""
        from studio.engine.train.devices import open_backend

        backend: Any = open_backend(self._name).backend
        if not self._in_order:
            return backend
        from studio.engine.gl.backend import GlBackend

        with closing(backend):
            target = replace(backend.target, in_order=True)
        return GlBackend(target=target)

    def _kept(self, *, samples: bool) -> list[str]:
        return [n for n in self._session.names() if n.startswith(OUR_DATA) == samples]

    def _found_operations(self, gpu: bool) -> dict[tuple[str, int], tuple[Any, int]]:
        """Programs and batches of the single operations that the checkout's command measures."""
        from unittest.mock import patch

        from benchmarks import kernels

        found: dict[tuple[str, int], tuple[Any, int]] = {}

        def noted(_: Any, program: Any, batch: int, work: str, label: int) -> None:
            found[work, label] = (program, batch)

        with closing(self._opened()) as backend, patch.object(kernels, "timed", noted):
            sizes = (1024, 4096) if gpu else (1024,)
            kernels.rows(backend, sizes, kernels.relu_elements(backend))
        return found

    def _open_operation(self, program: Any, batch: int) -> None:
        import numpy as np

        session = self._stack.enter_context(closing(self._backend.open_session()))
        self._executable = self._backend.compile(program, session, batch)
        self._stack.enter_context(closing(self._executable))
        rng = np.random.default_rng(0)
        for tensor in program.inputs:
            shape = program.tensors[tensor].type.bind(batch).shape
            self._executable.feed(tensor, rng.standard_normal(shape, dtype=np.float32))


class Torch:
    """PyTorch's eager steps on the CPU."""

    def __init__(self, threads: int) -> None:
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._step: Callable[[], object] = lambda: None

    def rows(self, _: bool) -> list[tuple[str, int]]:
        """Work and batch of all that can run."""
        from benchmarks.workloads import WORKLOADS

        return [(work.id, batch) for work in WORKLOADS.values() for batch in work.batches_cpu]

    def open(self, work: str, batch: int) -> bool:
        """Prepare a row."""
        from benchmarks.peers.torch_steps import eager_step
        from benchmarks.workloads import WORKLOADS

        self._step = eager_step(WORKLOADS[work], batch, "cpu")
        return bool(WORKLOADS[work].optimizer)

    def run(self, steps: int) -> None:
        """Run steps."""
        for _ in range(steps):
            self._step()

    def finish(self) -> None:
        """Nothing is queued."""

    def train(self, steps: int, file: str) -> None:
        """Its parameters are not compared."""
        raise ValueError("only Glassbox is compared bit by bit")

    def close(self) -> Answer:
        """Nothing is known of its memory."""
        return {}


if __name__ == "__main__":
    raise SystemExit(main())
