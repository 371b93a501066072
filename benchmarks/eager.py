"""Operations typed one by one, ours beside PyTorch, JAX and TensorFlow.js in one run.

    python -m benchmarks.eager --backend cpu --json eager.json
    python -m benchmarks.eager --backend gl --where              # what a step of W2 waits for

Rows: 1000 dependent additions of 16x16 (microseconds each, recording and running; unfused as the
first time, and fused as when they come again), a step of W2 at batch 128 as a loop written by hand
(milliseconds) in turns with the compiled step of a model, and one addition of 2²⁰ elements with the
same operands in turns with the program's own kernel. A row is the median of blocks, with the best
beside it. TensorFlow.js runs in a process of its own, under Node, on its CPU backend.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ours import ready_to_train
from benchmarks.peers import tfjs_eager
from benchmarks.workloads import WORKLOADS
from studio.engine.runtime.backend import Backend

ADDITIONS = 1000
BLOCKS = 60
STEPS = 200
BATCH = 128
LARGE = 1 << 20
LAYERS = (784, 512, 512, 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cpu", choices=("cpu", "gl"))
    parser.add_argument("--peers", default="torch,jax,tfjs")
    parser.add_argument("--threads", default=str(len(os.sched_getaffinity(0))))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--where", action="store_true", help="where the time of a step of W2 goes")
    options = parser.parse_args(arguments)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, options.threads)
    if options.where:
        where(options.backend)
        return 0
    rows: dict[str, tuple[float, float]] = {}
    rows |= ours(options.backend)
    peers: dict[str, Callable[[], dict[str, tuple[float, float]]]] = {
        "torch": partial(torch_rows, options.backend),
        "jax": partial(jax_rows, options.backend),
        "tfjs": tfjs_rows,
    }
    for peer in filter(None, options.peers.split(",")):
        rows |= peers[peer]()
    for name, (median, best) in rows.items():
        print(f"{name:<64} {median:9.3f} {best:9.3f}")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


def measured(work: Callable[[], object], scale: float, blocks: int = BLOCKS) -> tuple[float, float]:
    """Median and best seconds of a call, times ``scale``."""
    for _ in range(4):
        work()
    found = []
    for _ in range(blocks):
        begin = time.perf_counter()
        work()
        found.append((time.perf_counter() - begin) * scale)
    return statistics.median(found), min(found)


def in_turns(*works: Callable[[], object], blocks: int = 4 * BLOCKS) -> list[tuple[float, float]]:
    """Median and best microseconds of calls that take turns, so that what else runs hits all alike.

    Each is made once before its time counts: the one before it filled the caches.
    """
    found: list[list[float]] = [[] for _ in works]
    for _ in range(blocks):
        for work, times in zip(works, found, strict=True):
            work()
            begin = time.perf_counter()
            for _ in range(3):
                work()
            times.append((time.perf_counter() - begin) * 1e6 / 3)
    return [(statistics.median(times), min(times)) for times in found]


def numbers() -> tuple[np.ndarray[Any, Any], ...]:
    """Pictures, their classes, then weights and biases."""
    draws = np.random.default_rng(0)
    parts: list[np.ndarray[Any, Any]] = [
        draws.normal(size=(BATCH, LAYERS[0])).astype(np.float32),
        draws.integers(0, 10, BATCH).astype(np.int32),
    ]
    for rows, columns in pairwise(LAYERS):
        parts.append((draws.normal(size=(rows, columns)) * 0.05).astype(np.float32))
        parts.append(np.zeros(columns, np.float32))
    return tuple(parts)


def ours(choice: str) -> dict[str, tuple[float, float]]:
    """Our rows."""
    from studio.engine import ops
    from studio.engine.ops import recording

    ops.backend(choice)
    start, step = ops.tensor(np.ones((16, 16))), ops.tensor(np.full((16, 16), 1e-3))

    def additions() -> None:
        x = start
        for _ in range(ADDITIONS):
            x = x + step
        x.numpy()

    device = recording.runner()
    found = {}
    device.fuses = False
    found["ours: an addition of 16x16, unfused, µs"] = measured(additions, 1e6 / ADDITIONS)
    device.fuses = True
    found["ours: an addition of 16x16, fused, µs"] = measured(additions, 1e6 / ADDITIONS)
    found |= _steps(device.backend)
    found |= _large()
    ops.close()
    return found


def where(choice: str) -> None:
    """Print where the time of a step of W2 goes: in calls, in the host's functions, in kernels."""
    from studio.engine import ops
    from studio.engine.ops import recording

    ops.backend(choice)
    record, read = _our_parts()
    for _ in range(STEPS):
        record()
        recording.flush()
        read()
    parts: dict[str, list[float]] = {"recording": [], "handing over": [], "until it is read": []}
    for _ in range(STEPS):
        for found, work in zip(parts.values(), (record, recording.flush, read), strict=True):
            begin = time.perf_counter()
            work()
            found.append((time.perf_counter() - begin) * 1e6)
    for name, each in parts.items():
        print(f"{name:<20} {statistics.median(each):9.1f} {min(each):9.1f} µs")
    seen = cProfile.Profile()
    with seen:
        for _ in range(STEPS):
            record()
            recording.flush()
            read()
    pstats.Stats(seen).sort_stats("tottime").print_stats(25)
    with ops.profile() as kernels:
        record()
        recording.flush()
        read()
    print(kernels.table())
    print(f"{sum(row.calls for row in kernels.rows)} kernels, {kernels.kernel_us:.1f} µs")
    ops.close()


def _our_step() -> Callable[[], object]:
    record, read = _our_parts()

    def step() -> None:
        record()
        read()

    return step


def _our_parts() -> tuple[Callable[[], object], Callable[[], object]]:
    """What types a step of W2, and what reads its loss."""
    from studio.engine import ops

    images, classes, *parts = numbers()
    x, y = ops.tensor(images), ops.tensor(classes)
    weights = [ops.variable(part) for part in parts]

    def loss(*w: Any) -> Any:
        h = ops.relu(x @ w[0] + w[1])
        h = ops.relu(h @ w[2] + w[3])
        rows = h @ w[4] + w[5]
        right = ops.sum(rows * ops.one_hot(y, depth=10), axis=1)
        return ops.mean(ops.logsumexp(rows, axis=1) - right)

    last: list[Any] = []

    def record() -> None:
        value, found = ops.value_and_grads(loss)(*weights)
        for weight, slope in zip(weights, found, strict=True):
            weight.assign(weight - 0.01 * slope)
        # The gradients are there until the loss is read, as in a loop.
        last[:] = [value, found]

    def read() -> None:
        last[0].item()
        last.clear()

    return record, read


def _steps(backend: Backend) -> dict[str, tuple[float, float]]:
    """A step by hand, and that of a model's program of the same network, with its loss each."""
    work = replace(WORKLOADS["W2"], optimizer="sgd")
    with ready_to_train(work, BATCH, backend) as (network, executable):

        def step() -> None:
            executable.run(1)
            network.session.read("train/ring").result()

        by_hand, compiled = in_turns(_our_step(), step, blocks=BLOCKS)
    return {
        "ours: W2 written by hand, ms": (by_hand[0] / 1e3, by_hand[1] / 1e3),
        "ours: W2 compiled, ms": (compiled[0] / 1e3, compiled[1] / 1e3),
    }


def _large() -> dict[str, tuple[float, float]]:
    from studio.engine import ops
    from studio.engine.ops import recording

    a, b = ops.tensor(np.ones(LARGE)), ops.tensor(np.ones(LARGE))

    def add() -> None:
        c = a + b
        c.data()

    plain = ops.listing(lambda: a + b).program
    device = recording.runner()
    executable = device.backend.compile(plain, device.backend.open_session(), 1)
    for tensor in plain.inputs:
        executable.feed(tensor, np.ones(LARGE, np.float32))

    def kernel() -> None:
        executable.run(1)
        executable.finish()

    def run() -> None:
        c = a + b
        recording.flush()
        c.dispose()

    found = in_turns(kernel, run)
    return {
        "ours: an addition of 2^20, read, µs": measured(add, 1e6),
        "ours: an addition of 2^20, µs": found[1],
        "ours: its kernel alone, µs": found[0],
    }


def torch_rows(choice: str) -> dict[str, tuple[float, float]]:
    """PyTorch's rows, without a compiler: on the card beside OpenGL, where it has one."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if choice == "gl" and torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    start = torch.ones(16, 16, device=device)
    step = torch.full((16, 16), 1e-3, device=device)
    images, classes, *parts = numbers()
    x = torch.from_numpy(images).to(device)
    y = torch.from_numpy(classes).long().to(device)
    weights = [torch.from_numpy(part).to(device).requires_grad_() for part in parts]

    def additions() -> None:
        total = start
        for _ in range(ADDITIONS):
            total = total + step
        total.cpu().numpy()

    def train() -> None:
        h = torch.relu(x @ weights[0] + weights[1])
        h = torch.relu(h @ weights[2] + weights[3])
        loss = torch.nn.functional.cross_entropy(h @ weights[4] + weights[5], y)
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= 0.01 * slope
        loss.item()

    a, b = torch.ones(LARGE, device=device), torch.ones(LARGE, device=device)

    def large() -> None:
        torch.add(a, b)
        wait()

    name = f"PyTorch ({device})"
    return {
        f"{name}: an addition of 16x16, µs": measured(additions, 1e6 / ADDITIONS),
        f"{name}: W2 written by hand, ms": measured(train, 1e3),
        f"{name}: an addition of 2^20, µs": measured(large, 1e6),
    }


def jax_rows(choice: str) -> dict[str, tuple[float, float]]:
    """JAX's rows, one operation at a time, on its own choice of device beside OpenGL."""
    import jax
    import jax.numpy as jnp

    device = jax.devices()[0] if choice == "gl" else jax.devices("cpu")[0]
    with jax.default_device(device):
        start, step = jnp.ones((16, 16)), jnp.full((16, 16), 1e-3)
        a, b = jnp.ones(LARGE), jnp.ones(LARGE)

    def additions() -> None:
        total = start
        for _ in range(ADDITIONS):
            total = total + step
        np.asarray(total)

    name = f"JAX ({device.platform})"
    return {
        f"{name}: an addition of 16x16, µs": measured(additions, 1e6 / ADDITIONS, 20),
        f"{name}: an addition of 2^20, µs": measured(lambda: (a + b).block_until_ready(), 1e6),
    }


def tfjs_rows() -> dict[str, tuple[float, float]]:
    """TensorFlow.js' rows, under Node: on the processor, whatever ours run on."""
    found = tfjs_eager.answers(numbers(), additions=ADDITIONS, large=LARGE, blocks=BLOCKS)
    titles = {
        "additions": "an addition of 16x16, µs",
        "step": "W2 written by hand, ms",
        "large": "an addition of 2^20, µs",
    }
    return {
        f"{tfjs_eager.NAME}: {title}": (found[name][0], found[name][1])
        for name, title in titles.items()
    }


if __name__ == "__main__":
    raise SystemExit(main())
