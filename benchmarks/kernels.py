"""Single operations (W5 to W7), ours beside PyTorch's in one process.

python -m benchmarks.kernels --backend cpu
python -m benchmarks.kernels --backend gl
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spot_checks import spot_error
from benchmarks.timing import Row, enough_steps, machine, measure, save, table
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.ops.softmax import Softmax
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend
from studio.engine.train.devices import open_backend

WORST = 1e-5
"""How far a result may be off, as a share of the largest one looked at."""


def matmul(n: int) -> Program:
    """One matrix product."""
    build = ProgramBuilder("matmul", "infer")
    a = build.tensor("a", (BATCH, n), role=Role.INPUT)
    b = build.tensor("b", (n, n), role=Role.INPUT)
    (y,) = build.emit("forward", MatMul, a=a, b=b)
    return build.finish((a, b), (y,))


def one(cls: Any, shape: tuple[int, ...], **attrs: Any) -> Program:
    """One instruction of one operand."""
    build = ProgramBuilder(cls.mnemonic, "infer")
    x = build.tensor("x", (BATCH, *shape), role=Role.INPUT)
    (y,) = build.emit("forward", cls, x=x, **attrs)
    return build.finish((x,), (y,))


def convolution(cls: Any, shape: tuple[int, ...], kernel: tuple[int, ...]) -> Program:
    """A 3x3 convolution of either kind with padding 1."""
    build = ProgramBuilder(cls.mnemonic, "infer")
    x = build.tensor("x", (BATCH, *shape), role=Role.INPUT)
    w = build.tensor("w", kernel, role=Role.INPUT)
    (y,) = build.emit("forward", cls, x=x, w=w, pad_h=1, pad_w=1)
    return build.finish((x, w), (y,))


def chain(length: int) -> Program:
    """Chained adds of 16x16, each its own instruction."""
    build = ProgramBuilder("adds", "infer")
    x = build.tensor("x", (BATCH, 16), role=Role.INPUT)
    b = build.tensor("b", (BATCH, 16), role=Role.INPUT)
    total: Ref = x
    for _ in range(length):
        (total,) = build.emit("forward", Add, x1=total, x2=b)
    return build.finish((x, b), (total,))


def timed(backend: Backend, program: Program, batch: int, work: str, label: int) -> Row:
    """The time of one run of a program, whose results are compared with float64 at some places.

    Raises SystemExit where they are wrong: a fast wrong kernel is no kernel.
    """
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    rng = np.random.default_rng(0)
    given = []
    for tensor in program.inputs:
        shape = program.tensors[tensor].type.bind(batch).shape
        given.append(rng.standard_normal(shape, dtype=np.float32))
        executable.feed(tensor, given[-1])
    executable.run(1)
    error = spot_error(program, given, executable.fetch(Ref(program.outputs[0])).result())
    if not error < WORST:
        raise SystemExit(f"{work} {label}: results are off by {error:.1e} of the largest")

    def block(steps: int) -> float:
        executable.finish()
        begun = time.perf_counter()
        executable.run(steps)
        executable.finish()
        return time.perf_counter() - begun

    steps = enough_steps(block)
    timing = measure(lambda: block(steps), steps)
    found = Row(work, label, f"Glassbox {backend.name}", timing)
    executable.close()
    session.close()
    return found


def rows(backend: Backend, sizes: tuple[int, ...], elements: int) -> list[Row]:
    """All rows of ours."""
    found = [timed(backend, matmul(n), n, "W5", n) for n in sizes]
    found.append(timed(backend, one(Relu, (4096,)), elements // 4096, "W6 relu", elements))
    found.append(timed(backend, one(Softmax, (1024,), step=1024), 4096, "W6 softmax", 4096))
    found.append(timed(backend, convolution(Conv2D, (56, 56, 64), (3, 3, 64, 64)), 8, "W6 conv", 8))
    wide = convolution(DepthwiseConv2D, (112, 112, 64), (3, 3, 64, 1))
    found.append(timed(backend, wide, 8, "W6 depthwise", 8))
    found.append(timed(backend, chain(1000), 16, "W7", 1000))
    return found


def relu_elements(backend: Backend) -> int:
    """Floats the rectifier goes over: 256 Mi on a GPU with room for them, fewer elsewhere.

    They lie there twice, and a third time on their way back to the host.
    """
    if not isinstance(backend, GlBackend) or backend.info.is_software:
        return 16 << 20
    room = backend.info.budget_bytes // 12
    return min(256 << 20, max(16 << 20, 1 << room.bit_length() - 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description="Single operations beside PyTorch.")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args(arguments)
    on_gpu = options.backend == "gl"
    sizes = (1024, 4096) if on_gpu else (1024,)
    with open_backend(options.backend) as opened:
        elements = relu_elements(opened.backend)
        found = rows(opened.backend, sizes, elements)
        device = opened.backend.device
    if not options.no_peers:
        import torch

        from benchmarks.peers import kernels_torch

        torch.set_num_threads(options.threads)
        found += kernels_torch.rows("cuda" if on_gpu else "cpu", sizes, elements)
    facts = {**machine(), "device": device}
    found.sort(key=lambda row: (row.work, row.batch))
    print("\n".join(f"- {key}: {value}" for key, value in facts.items()))
    print()
    print(table(found))
    if options.json is not None:
        save(options.json, found, facts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
