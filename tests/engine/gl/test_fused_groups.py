"""Fused groups give what their parts give: chains, epilogues, merged updates."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.target import GL, GL_SOFTWARE
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError, NumericError
from studio.engine.core.tensor import BATCH, Ref
from studio.engine.gl.backend import GlBackend
from tests.engine.gl.gl_programs import Lines, gradient_group, run_once
from tests.engine.gl.one_line import planned_for

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("width", [8, 5])
def test_chain_keeps_registers_in_variables(
    backend: GlBackend, rng: np.random.Generator, width: int
) -> None:
    lines = Lines()
    shape = (BATCH, 3, width)
    x, row = lines.input("x", shape), lines.input("row", (width,))
    inner = lines.made("inner", shape, register=True)
    y = lines.made("y", shape)
    lines.add("forward", "FUSE", kind="chain")
    lines.add("forward", "MUL", a=x, b=row, y=inner)
    lines.add("forward", "ADD", x1=inner, x2=x, y=y, alpha=2.0, beta=-1.0)
    lines.add("forward", "END")
    program = lines.program(y)
    a = rng.standard_normal((4, 3, width)).astype(np.float32)
    b = rng.standard_normal(width).astype(np.float32)
    (found,) = run_once(backend, program, 4, y, x=a, row=b)
    np.testing.assert_allclose(found, 2 * (a * b) - a, rtol=1e-5, atol=1e-6)


def test_chain_of_gradients_sets_then_adds(backend: GlBackend, rng: np.random.Generator) -> None:
    lines = Lines()
    shape = (BATCH, 6)
    x, seed = lines.input("x", shape), lines.input("seed", shape)
    y, z = lines.made("y", shape), lines.made("z", shape)
    lines.add("forward", "RELU", x=x, y=y)
    lines.add("forward", "SQUARE", x=y, y=z)
    lines.add("backward", "COPY", x=seed, y=z.gradient)
    lines.add("backward", "FUSE", kind="chain")
    lines.add("backward", "GRADS_SQUARE", x=y, y=z, set=("x",))
    lines.add("backward", "GRADS_RELU", x=x, y=y, set=("x",))
    # The same tensor in both operands: the first sets nothing here, both add.
    lines.add("backward", "GRADS_MUL", a=x, b=x, y=z)
    lines.add("backward", "END")
    a, dz = (rng.standard_normal((5, 6)).astype(np.float32) for _ in range(2))
    program = lines.program(z)
    (found,) = run_once(backend, program, 5, x.gradient, x=a, seed=dz)
    wanted = dz * 2 * np.maximum(a, 0) * (a > 0) + 2 * dz * a
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("stored", "halo"), [(True, ()), (False, ()), (False, ((0, 0), (1, 1)))])
def test_epilogue_follows_the_producer(
    backend: GlBackend,
    rng: np.random.Generator,
    stored: bool,
    halo: tuple[tuple[int, int], ...],
) -> None:
    lines = Lines()
    x, bias = lines.input("x", (BATCH, 2, 4)), lines.input("bias", (8,))
    flat = lines.made("flat", (BATCH, 8), register=not stored)
    y, z = lines.made("y", (BATCH, 8), register=True), lines.made("z", (BATCH, 8), pad=halo)
    lines.add("forward", "FUSE", kind="epilogue")
    lines.add("forward", "FLATTEN", x=x, y=flat)
    lines.add("forward", "ADD", x1=flat, x2=bias, y=y)
    lines.add("forward", "RELU", x=y, y=z)
    lines.add("forward", "END")
    program = lines.program(*([z, flat] if stored else [z]))
    a = rng.standard_normal((3, 2, 4)).astype(np.float32)
    b = rng.standard_normal(8).astype(np.float32)
    found = run_once(backend, program, 3, *(Ref(i) for i in program.outputs), x=a, bias=b)
    np.testing.assert_allclose(found[0], np.maximum(a.reshape(3, 8) + b, 0), rtol=1e-6)
    if stored:
        np.testing.assert_array_equal(found[1], a.reshape(3, 8))


def test_update_group_changes_all_parameters_in_one_dispatch(
    backend: GlBackend, rng: np.random.Generator
) -> None:
    shapes = [(3,), (40, 30), (7, 5), (1,)]
    lines = Lines()
    step, rates = lines.kept("step", (8,), DType.int32), lines.kept("rates", (2,))
    weights = [lines.kept(f"w{k}", shape) for k, shape in enumerate(shapes)]
    slots = [lines.kept(f"m{k}", shape) for k, shape in enumerate(shapes)]
    lines.add("update", "BEGIN_UPDATE", step=step)
    for k, w in enumerate(weights):
        lines.add("backward", "FILL", y=w.gradient, number=float(k + 1))
    lines.add("update", "FUSE", kind="update")
    for w, m in zip(weights, slots, strict=True):
        lines.add("update", "UPDATE_MOMENTUM", w=w, g=w.gradient, step=step, rates=rates, m=m)
    lines.add("update", "END")
    program = lines.program()
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    for k, value in enumerate(values):
        session.write(f"w{k}", value)
    session.write("rates", np.array([0.5, 0.25], np.float32))
    session.write("step", np.array([3, 0, 0, 0, 0, 0, 0, 0], np.int32))
    assert executable.run(2) == 2
    (group,) = [planned for entry, planned in executable.planned if entry.kind == "update"]
    assert len(group) == 1
    for k, value in enumerate(values):
        # Two steps of m = 0.9 m - 0.25 g, w += m with g = k + 1.
        first = -0.25 * (k + 1)
        wanted = value + first + (0.9 * first + first)
        np.testing.assert_allclose(session.read(f"w{k}").result(60), wanted, rtol=1e-5)
    assert session.read("step").result(60)[3] == 2
    executable.close()
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("adds", [False, True])
def test_gradient_of_an_activation_is_taken_where_its_dy_is_made(
    backend: GlBackend, rng: np.random.Generator, adds: bool, halo: bool
) -> None:
    lines, (z, w, x, y) = gradient_group(8, adds=adds, pad=((0, 0), (1, 1)) if halo else ())
    a = rng.standard_normal((6, 8)).astype(np.float32)
    dy = rng.standard_normal((6, 5)).astype(np.float32)
    kernel = rng.standard_normal((5, 8)).astype(np.float32)
    fetched = [z.gradient, w.gradient, *([x.gradient] if adds else [])]
    found = run_once(backend, lines.program(y), 6, *fetched, z=a, seed=dy, w=kernel)
    dx = dy @ kernel + 0.5 * adds
    np.testing.assert_allclose(found[0], dx * (a > 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], dy.T @ np.maximum(a, 0), rtol=1e-5, atol=1e-5)
    if adds:
        np.testing.assert_allclose(found[2], dx, rtol=1e-5, atol=1e-5)


def test_gradient_inside_a_group_has_no_storage(backend: GlBackend) -> None:
    lines, (_, _, x, y) = gradient_group(8, adds=False)
    session = backend.open_session()
    executable = backend.compile(lines.program(y), session, 2)
    with pytest.raises(BackendError, match="inside a fused kernel"):
        executable.fetch(x.gradient).result(60)
    executable.close()
    session.close()


def test_check_mode_looks_at_gradients_inside_groups(backend: GlBackend) -> None:
    lines, (*_, y) = gradient_group(8, adds=False)
    program = lines.program(y)
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    executable.feed(program.inputs[0], np.ones((2, 8), np.float32))
    executable.feed(program.inputs[1], np.full((2, 5), 1e38, np.float32))
    session.write("w", np.full((5, 8), 1e3, np.float32))
    with pytest.raises(NumericError) as caught:
        executable.check()
    assert "GRADS_LINEAR" in str(caught.value)
    executable.close()
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("software", [True, False])
@pytest.mark.parametrize("channels", [8, 3])
@pytest.mark.parametrize("affine", [True, False])
def test_normalisation_by_running_statistics_and_a_sum_follow_a_convolution(
    backend: GlBackend,
    rng: np.random.Generator,
    affine: bool,
    channels: int,
    software: bool,
) -> None:
    lines = Lines()
    shape = (BATCH, 4, 5, channels)
    x, other = lines.input("x", (BATCH, 4, 5, 2)), lines.input("other", shape)
    w = lines.kept("w", (1, 1, 2, channels))
    given = {
        name: rng.uniform(0.5, 2.0, channels).astype(np.float32)
        for name in ("mean", "var", *(("gamma", "beta") if affine else ()))
    }
    kept = {name: lines.kept(name, (channels,)) for name in given}
    inner = [lines.made(name, shape, register=True) for name in ("y", "normal", "sum")]
    z = lines.made("z", shape)
    lines.add("forward", "FUSE", kind="epilogue")
    lines.add("forward", "CONV2D", w=w, x=x, y=inner[0], stride_h=1, stride_w=1, pad_h=0, pad_w=0)
    lines.add("forward", "BATCHNORM2D", x=inner[0], y=inner[1], eps=0.01, frozen=True, **kept)
    lines.add("forward", "ADD", x1=other, x2=inner[1], y=inner[2], alpha=1.0, beta=2.0)
    lines.add("forward", "RELU", x=inner[2], y=z)
    lines.add("forward", "END")
    a, kernel = rng.standard_normal((3, 4, 5, 2)), rng.standard_normal((1, 1, 2, channels))
    b = rng.standard_normal((3, 4, 5, channels))
    fed = {name: v.astype(np.float32) for name, v in (("x", a), ("other", b), ("w", kernel))}
    with planned_for(backend, GL_SOFTWARE if software else GL):
        (found,) = run_once(backend, lines.program(z), 3, z, **fed, **given)
    normal = (a @ kernel[0, 0] - given["mean"]) / np.sqrt(given["var"] + 0.01)
    normal = normal * given.get("gamma", 1.0) + given.get("beta", 0.0)
    np.testing.assert_allclose(found, np.maximum(b + 2 * normal, 0), rtol=1e-4, atol=1e-5)
