"""Dense layers with few outputs equal sums written out in float64, whatever their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.families import choose
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps
from tests.engine.gl.gl_programs import gradient_group, run_once
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl

SIZES = [
    (1, 1, 1),
    (1, 4, 16),
    (3, 5, 2),
    (17, 63, 7),
    (37, 12, 10),
    (128, 512, 10),
    (130, 132, 16),
    (300, 36, 4),
    (600, 20, 1),
    (700, 9, 11),
    (40, 1100, 12),
]
"""Rows, inputs, outputs: one of each, odd ones, four at once, so many rows that they are shared."""


@pytest.mark.parametrize(("rows", "inner", "out"), SIZES)
def test_few_outputs_are_x_times_w_transposed_plus_b(
    backend: GlBackend, rows: int, inner: int, out: int
) -> None:
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    close(run_line(backend, line, "y", variant="few")["y"], x @ w.T + b)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "inner", "out"), SIZES)
def test_gradients_of_few_outputs(backend: GlBackend, rows: int, inner: int, out: int) -> None:
    x, w, b, dy = draw(rows, inner), draw(out, inner), draw(out), draw(rows, out)
    operands = {"w": w, "b": b, "x": x, "y": (rows, out)}
    line = OneLine("GRADS_LINEAR", operands, {"y": dy}, ("x", "y"), set=("x", "w", "b"))
    found = run_line(backend, line, "dx", "dw", "db", variant="few")
    close(found["dx"], dy @ w)
    close(found["dw"], dy.T @ x)
    close(found["db"], dy.sum(0))


HALO = ((0, 0), (1, 2))


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("inner", [12, 7])
def test_rows_of_higher_rank_with_a_halo_and_a_tail(
    backend: GlBackend, inner: int, halo: bool
) -> None:
    x, w = draw(2, 3, inner), draw(6, inner)
    pads = dict.fromkeys("xy", ((0, 0), *HALO)) if halo else {}
    operands = {"w": w, "b": None, "x": x, "y": (2, 3, 6)}
    line = OneLine("LINEAR", operands, None, ("x", "y"), pads)
    line.follow("RELU")
    found = run_line(backend, line, "y", "z", variant="few")
    close(found["y"], x @ w.T)
    close(found["z"], np.maximum(x @ w.T, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["x", "w", "b", "wb", "xw", "xb", "xwb"])
def test_gradients_add_and_are_skipped(backend: GlBackend, wanted: str) -> None:
    rows, inner, out = 9, 10, 3
    x, w, b, dy = draw(rows, inner), draw(out, inner), draw(out), draw(rows, out)
    old = {"y": dy, "w": 2.0 * w, "x": 2.0 * x, "b": 2.0 * b}
    skipped = tuple(name for name in "xwb" if name not in wanted)
    operands = {"w": w, "b": b, "x": x, "y": (rows, out)}
    line = OneLine("GRADS_LINEAR", operands, old, ("x", "y"), set=(), skip=skipped)
    found = run_line(backend, line, *(f"d{name}" for name in wanted), variant="few")
    new = {"x": dy @ w, "w": dy.T @ x, "b": dy.sum(0)}
    for name in wanted:
        close(found[f"d{name}"], old[name] + new[name])


@pytest.mark.slow
@pytest.mark.parametrize("inner", [8, 5])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("adds", [False, True])
def test_gradient_of_an_activation_follows(
    backend: GlBackend, inner: int, halo: bool, adds: bool
) -> None:
    lines, (z, w, _, y) = gradient_group(inner, adds=adds, pad=HALO if halo else ())
    a, dy, kernel = draw(6, inner), draw(6, 5), draw(5, inner)
    backend.prefer({"LINEAR": "few", "GRADS_LINEAR": "few"})
    given = {"z": a.astype(np.float32), "seed": dy.astype(np.float32)}
    found = run_once(
        backend, lines.program(y), 6, y, z.gradient, w.gradient, **given,
        w=kernel.astype(np.float32),
    )  # fmt: skip
    backend.prefer({})
    kept = np.maximum(a, 0.0)
    close(found[0], kept @ kernel.T)
    close(found[1], (dy @ kernel + 0.5 * adds) * (a > 0))
    close(found[2], dy.T @ kept)


def test_only_few_outputs_and_not_too_many_rows_are_chosen_for_on_a_gpu() -> None:
    def chosen(rows: int, inner: int, out: int, software: bool = False) -> list[str]:
        operands = {"w": draw(out, inner), "b": None, "x": draw(1, inner), "y": (1, out)}
        names = []
        for mnemonic in ("LINEAR", "GRADS_LINEAR"):
            line = OneLine(mnemonic, operands, batched=("x", "y"))
            op = BoundInstruction(
                line.program, line.instruction, rows, 1, DeviceCaps(is_software=software)
            )
            names.append(choose(op).name)
        return names

    assert chosen(128, 512, 10) == ["few", "few"]
    assert chosen(3000, 512, 10) == ["few", "tiles"]
    assert chosen(9000, 512, 10) == ["tiles", "tiles"]
    assert chosen(128, 5000, 10) == ["tiles", "tiles"]
    assert chosen(128, 512, 17) == ["tiles", "tiles"]
    assert chosen(128, 512, 10, software=True) == ["registers", "registers"]
