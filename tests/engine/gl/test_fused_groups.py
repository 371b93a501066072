"""Fused groups give what their parts give: chains, epilogues, merged updates."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.lifetimes import shared_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL, GL_SOFTWARE
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError, NumericError
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.autodiff.whole_programs import values_for
from tests.engine.compiler.networks import Net
from tests.engine.gl.gl_programs import Lines, begun, gradient_group, run_once
from tests.engine.gl.one_line import planned_for
from tests.engine.oracle.interpreter import Interpreter

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


MATRICES = [
    pytest.param((), (), False, False, id="plain"),
    pytest.param((), (), True, True, id="transposed"),
    pytest.param((2, 3), (2, 3), True, False, id="batched"),
    pytest.param((3, 1), (2, 1, 3), False, True, id="both repeat"),
]
"""Leading dimensions of two matrices, and which of them are transposed."""


def turned(array: np.ndarray, transposed: bool) -> np.ndarray:
    return array.swapaxes(-1, -2) if transposed else array


@pytest.mark.slow
@pytest.mark.parametrize("columns", [8, 5])
@pytest.mark.parametrize(("left", "right", "ta", "tb"), MATRICES)
def test_a_bias_and_a_rectifier_follow_a_matrix_product(
    backend: GlBackend,
    rng: np.random.Generator,
    left: tuple[int, ...],
    right: tuple[int, ...],
    ta: bool,
    tb: bool,
    columns: int,
) -> None:
    a, b = rng.standard_normal((*left, 6, 7)), rng.standard_normal((*right, 7, columns))
    bias = rng.standard_normal(columns)
    fed = {"a": turned(a, ta), "b": turned(b, tb), "bias": bias}
    wanted = np.maximum(2 * bias - a @ b, 0)
    lines = Lines()
    given = {name: lines.input(name, array.shape) for name, array in fed.items()}
    product, total = (lines.made(name, wanted.shape, register=True) for name in ("y", "sum"))
    z = lines.made("z", wanted.shape)
    lines.add("forward", "FUSE", kind="epilogue")
    lines.add("forward", "MATMUL", a=given["a"], b=given["b"], y=product, ta=ta, tb=tb)
    lines.add("forward", "ADD", x1=given["bias"], x2=product, y=total, alpha=2.0, beta=-1.0)
    lines.add("forward", "RELU", x=total, y=z)
    lines.add("forward", "END")
    fed = {name: np.ascontiguousarray(array, np.float32) for name, array in fed.items()}
    (found,) = run_once(backend, lines.program(z), 1, z, **fed)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("inner", [8, 5])
@pytest.mark.parametrize(("left", "right", "ta", "tb"), MATRICES)
def test_gradient_of_a_function_follows_that_of_the_left_matrices(
    backend: GlBackend,
    rng: np.random.Generator,
    left: tuple[int, ...],
    right: tuple[int, ...],
    ta: bool,
    tb: bool,
    inner: int,
    adds: bool,
) -> None:
    z, b = rng.standard_normal((*left, 6, inner)), rng.standard_normal((*right, inner, 7))
    a = np.maximum(z, 0)
    dy = rng.standard_normal((a @ b).shape)
    fed = {"z": turned(z, ta), "b": turned(b, tb), "seed": dy}
    lines = Lines()
    given = {name: lines.input(name, array.shape) for name, array in fed.items()}
    x, y = lines.made("x", fed["z"].shape), lines.made("y", dy.shape)
    lines.add("forward", "RELU", x=given["z"], y=x)
    lines.add("forward", "MATMUL", a=x, b=given["b"], y=y, ta=ta, tb=tb)
    lines.add("backward", "COPY", x=given["seed"], y=y.gradient)
    if adds:
        lines.add("backward", "FILL", y=x.gradient, number=0.5)
    lines.add("backward", "FUSE", kind="epilogue")
    kept = ("b",) if adds else ("a", "b")
    lines.add("backward", "GRADS_MATMUL", a=x, b=given["b"], y=y, ta=ta, tb=tb, set=kept)
    lines.add("backward", "GRADS_RELU", x=given["z"], y=x, set=("x",))
    lines.add("backward", "END")
    fed = {name: np.ascontiguousarray(array, np.float32) for name, array in fed.items()}
    fetched = (given["z"].gradient, given["b"].gradient)
    found = run_once(backend, lines.program(y), 1, *fetched, **fed)
    da, db = dy @ turned(b, True), turned(a, True) @ dy
    missing = da.ndim - a.ndim
    repeated = tuple(range(missing)) + tuple(
        d + missing for d, size in enumerate(left) if size == 1 != da.shape[d + missing]
    )
    da = da.sum(axis=repeated, keepdims=True).reshape(a.shape) + 0.5 * adds
    over = tuple(d for d, size in enumerate(right) if size == 1 != db.shape[d])
    db = db.sum(axis=over, keepdims=True) if right else db
    np.testing.assert_allclose(found[0], turned(da * (z > 0), ta), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], turned(db, tb), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [8, 3])
def test_products_of_pictures_and_their_bias_before_a_padded_convolution(
    backend: GlBackend, rng: np.random.Generator, channels: int
) -> None:
    net = Net("pictures")
    x, rows = net.input(5, 4, 6), net.param("rows", 6, channels)
    a = net.emit("product", MatMul, a=net.emit("first", Relu, x=net.conv("conv1", x, 6)), b=rows)
    a = net.emit("sum", Add, x1=a, x2=net.param("bias", channels))
    y = net.conv("conv2", a, 3)
    net.emit("loss", LossMSE, "loss", p=y, t=net.target(5, 4, 3))
    plain, fused = (
        compile_program(
            net.finish(y), backend.target, level, emit_updates=lambda p: emit_updates(p, SGD(0.5))
        )
        for level in (0, 2)
    )
    # The gradient of the product is that of a tensor with a halo.
    assert fused.tensors[a.id].pad
    assert len(shared_gradients(fused)) == 1
    values = values_for(plain, rng, 3) | {"train/rates": np.full(256, 0.5)}
    session, executable = begun(backend, fused, values, 3)
    machine = Interpreter(plain, 3)
    machine.run(values)
    executable.run(1)
    for tensor in plain.of_role(Role.PARAM):
        found = session.read(tensor.name).result(60)
        assert np.abs(found - values[tensor.name]).max() > 1e-3
        np.testing.assert_allclose(found, machine.get(tensor.ref), rtol=1e-4, atol=1e-5)
    executable.close()
    session.close()
