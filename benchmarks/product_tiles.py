"""Products a second of every tile on the shapes networks ask for, and which one the table takes.

python -m benchmarks.product_tiles [--software] [--steps N]

The figures behind ``studio/engine/gl/kernels/tiles.py``: run it on a new kind of device and
compare.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from studio.engine.core.tensor import BATCH, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.tiles import REGISTER_TILES, TILES
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic
from studio.engine.isa.program import Program


@dataclass(frozen=True)
class Work:
    """One product: what is run, its operands' shapes (x batched), and the gradient taken."""

    title: str
    mnemonic: str
    w: tuple[int, ...]
    x: tuple[int, ...]
    gradient: str = ""
    stride: int = 1

    @property
    def batch(self) -> int:
        """Rows of the batch."""
        return self.x[0]


def shapes() -> list[Work]:
    """Layers of W2, W3 and W4, a square product, and a 1x1 convolution of W1."""
    found: list[Work] = []
    for gradient in ("", "w", "x"):
        found += [
            Work("square 1024", "LINEAR", (1024, 1024), (1024, 1024), gradient),
            Work("square 4096", "LINEAR", (4096, 4096), (4096, 4096), gradient),
            Work("W2 first", "LINEAR", (512, 784), (128, 784), gradient),
            Work("W2 last", "LINEAR", (10, 512), (128, 512), gradient),
            Work("W3 second", "CONV2D", (3, 3, 32, 64), (128, 14, 14, 32), gradient),
            Work("W4 first stage", "CONV2D", (3, 3, 16, 16), (128, 32, 32, 16), gradient),
            Work("W4 last stage", "CONV2D", (3, 3, 64, 64), (128, 8, 8, 64), gradient),
            Work("W4 stride 2", "CONV2D", (3, 3, 32, 64), (128, 16, 16, 32), gradient, 2),
            Work("W1 1x1", "CONV2D", (1, 1, 512, 512), (1, 14, 14, 512), gradient),
        ]
    found.append(Work("W3 first", "CONV2D", (3, 3, 1, 32), (128, 28, 28, 1)))
    found.append(Work("W3 first", "CONV2D", (3, 3, 1, 32), (128, 28, 28, 1), "w"))
    return found


def program(work: Work) -> tuple[Program, int]:
    """The program of a work, and its products (a multiplication and an addition each)."""
    build = ProgramBuilder("product", "infer")
    x = build.tensor("x", (BATCH, *work.x[1:]), role=Role.INPUT)
    w = build.tensor("w", work.w, role=Role.INPUT)
    forward = by_mnemonic(work.mnemonic)
    grad_ins, fill = by_mnemonic(f"GRADS_{work.mnemonic}"), by_mnemonic("FILL")
    if forward is None or grad_ins is None or fill is None:
        raise LookupError(work.mnemonic)
    fields: dict[str, Any] = {}
    if work.mnemonic == "CONV2D":
        pad = work.w[0] // 2
        fields = {"pad_h": pad, "pad_w": pad, "stride_h": work.stride, "stride_w": work.stride}
    (y,) = build.emit("forward", forward, w=w, x=x, **fields)
    if work.gradient:
        skip = "x" if work.gradient == "w" else "w"
        build.append("backward", fill(y=y.gradient, number=1.0))
        line = grad_ins(w=w, x=x, y=y, set=(work.gradient,), skip=(skip,), **fields)
        build.append("backward", line)
    made = build.finish((x, w), (y,))
    shape = made.tensor(y).shape
    inner = prod(work.w[:-1]) if work.mnemonic == "CONV2D" else work.w[1]
    if work.gradient:
        # The forward product is not part of what is measured.
        made = made.with_sections(forward=(), backward=made.section("backward"))
    return made, work.batch * prod(shape[1:]) * inner


def _macro(text: str, name: str) -> str:
    """The value a kernel's text gives a macro."""
    return text.split(f"#define {name} ", 1)[1].split()[0]


def rate(backend: GlBackend, work: Work, variant: str, steps: int) -> tuple[float, str]:
    """Billions of floating-point operations a second, and the variants that ran."""
    made, products = program(work)
    mnemonic = f"GRADS_{work.mnemonic}" if work.gradient else work.mnemonic
    backend.prefer({mnemonic: variant} if variant else {})
    session = backend.open_session()
    executable = backend.compile(made, session, work.batch)
    for tensor in made.inputs:
        shape = made.tensor(tensor).shape
        bound = tuple(work.batch if d == BATCH else d for d in shape)
        executable.feed(tensor, np.random.default_rng(0).random(bound, np.float32))
    executable.run(3)
    executable.finish()
    begin = time.perf_counter()
    executable.run(steps)
    executable.finish()
    seconds = (time.perf_counter() - begin) / steps
    taken = [one.source.text for _, planned in executable.planned for one in planned]
    names = [_macro(t, "TILE_M") + "x" + _macro(t, "TILE_N") for t in taken if "TILE_M" in t]
    executable.close()
    session.close()
    return 2.0 * products / seconds / 1e9, "+".join(names)


def main() -> int:
    """Print a line per shape and a column per tile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--software", action="store_true", help="register tiles instead")
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    engine, tiles = ("registers", REGISTER_TILES) if given.software else ("tiles", TILES)
    backend = GlBackend()
    print(backend.device)
    print(f"{'GFLOP/s':<20}{'table':>18}" + "".join(f"{t.name:>12}" for t in tiles))
    for work in shapes():
        chosen, taken = rate(backend, work, engine, given.steps)
        title = f"{work.title} d{work.gradient}" if work.gradient else work.title
        cells = [rate(backend, work, f"{engine}_{t.name}", given.steps)[0] for t in tiles]
        print(f"{title:<20}{chosen:>9.0f} {taken:>8}" + "".join(f"{c:>12.0f}" for c in cells))
        sys.stdout.flush()
    backend.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
