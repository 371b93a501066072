"""Kernels planned for GPUs take along the sums that the normalisation behind them begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from studio.engine.compiler.passes.fuse_statistics import fuse_statistics
from studio.engine.compiler.plan_memory import storage_bytes
from studio.engine.compiler.target import GL, GL_SOFTWARE, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.tensor import BATCH, Ref, Tensor
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.families import norm
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.record.device_work import DeviceWork
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.planned import StorageBinding
from studio.engine.isa.program import Program
from studio.engine.runtime.entries import entries
from studio.engine.runtime.live import StepClock
from tests.engine.conformance.backends import opened
from tests.engine.gl.gl_programs import Lines, begun, run_once
from tests.engine.gl.naive import Array, Window, conv, conv_gradients, draw

pytestmark = pytest.mark.gl
EPS, FACTOR = 1e-3, 0.25
COLUMNS = {"batchnorm_columns", "grads_batchnorm_columns"}
SAME = Window((3, 3), pad=(1, 1), end=(1, 1))


@pytest.fixture(scope="module")
def backend() -> Iterator[GlBackend]:
    """A backend that plans for a GPU, whatever it runs on."""
    made = GlBackend(target=GL)
    yield made
    made.close()


def fused(program: Program) -> Program:
    """What the pass makes of a program, every rule kept."""
    found = fuse_statistics(program, GL)
    verify(found, after="fuse_statistics")
    return found


def partial_tensors(program: Program) -> list[Tensor]:
    return [tensor for tensor in program.tensors.values() if tensor.partial]


def kernels(backend: GlBackend, program: Program, batch: int) -> list[str]:
    """What runs, in order."""
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    found = [one.source.name for _, planned in executable.planned for one in planned]
    executable.close()
    session.close()
    return found


def normalisation(lines: Lines, name: str, x: Ref, y: Ref, channels: int) -> dict[str, Ref]:
    """A normalisation with parameters of its own, and these."""
    kept = {part: lines.kept(f"{name}_{part}", (channels,)) for part in PARAMETERS}
    lines.add("forward", "BATCHNORM2D", x=x, y=y, eps=EPS, factor=FACTOR, **kept)
    return kept


PARAMETERS = ("gamma", "beta", "mean", "var")


def parameters(name: str, channels: int) -> dict[str, Array]:
    drawn = {part: np.abs(draw(channels, k + 2)[:, 0]) + 0.5 for k, part in enumerate(PARAMETERS)}
    return {f"{name}_{part}": values.astype(np.float32) for part, values in drawn.items()}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("batch", [1, 3, 37])
@pytest.mark.parametrize(
    ("kernel", "size", "channels", "filters", "stride"),
    [
        ("conv2d_few", (5, 7), 3, 8, 1),
        ("conv2d_direct", (7, 8), 8, 16, 1),
        ("conv2d_direct", (9, 4), 16, 32, 1),
        ("conv2d", (9, 7), 8, 20, 2),
        ("conv2d", (4, 5), 40, 64, 1),
    ],
)
def test_a_convolution_leaves_the_statistics_of_what_it_makes(
    backend: GlBackend,
    kernel: str,
    size: tuple[int, int],
    channels: int,
    filters: int,
    stride: int,
    batch: int,
    large: bool,
) -> None:
    window = SAME._replace(stride=(stride, stride))
    x = draw(batch, *size, channels)
    w = draw(3, 3, channels, filters) * 0.2
    bias = draw(filters) + (1e4 if large else 0.0)
    lines = Lines()
    refs = {
        "x": lines.input("x", (BATCH, *size, channels)),
        "w": lines.kept("w", w.shape),
        "b": lines.kept("b", (filters,)),
    }
    shape = (BATCH, *window.out(*size), filters)
    made, normal, y = lines.made("made", shape), lines.made("normal", shape), lines.made("y", shape)
    lines.add("forward", "CONV2D", **refs, y=made, **window.fields())
    lines.add("forward", "FUSE", kind="epilogue")
    kept = normalisation(lines, "norm", made, normal, filters)
    lines.add("forward", "RELU", x=normal, y=y)
    lines.add("forward", "END")
    program = fused(lines.program(y))
    assert kernels(backend, program, batch) == [kernel, "batchnorm_whole"]
    fed = {name: v.astype(np.float32) for name, v in (("x", x), ("w", w), ("b", bias))}
    given = parameters("norm", filters)
    wanted = (made, y, kept["mean"].gradient, kept["var"].gradient, kept["mean"], kept["var"])
    found = run_once(backend, program, batch, *wanted, **fed, **given)
    exact = conv(x, w, window) + bias
    close = np.testing.assert_allclose
    close(found[0], exact, rtol=1e-5, atol=2e-5)
    # What float32 could not keep of the elements is no matter of the statistics.
    exact = found[0].astype(np.float64)
    mean, var = exact.mean((0, 1, 2)), exact.var((0, 1, 2))
    inverse = 1.0 / np.sqrt(var + EPS)
    y_wanted = (exact - mean) * inverse * given["norm_gamma"] + given["norm_beta"]
    precision = 2e-3 if large else 2e-5
    close(found[1], np.maximum(y_wanted, 0.0), rtol=1e-4, atol=precision)
    close(found[2], mean, rtol=2e-7 if large else 1e-5, atol=1e-5)
    close(found[3], inverse, rtol=1e-4)
    close(found[4], (1 - FACTOR) * given["norm_mean"] + FACTOR * mean, rtol=1e-6, atol=1e-5)
    close(found[5], (1 - FACTOR) * given["norm_var"] + FACTOR * var, rtol=1e-4)


def chain(
    size: tuple[int, int],
    channels: Sequence[int],
    adds: bool,
    halo: bool,
    window: Window = SAME,
) -> tuple[Program, dict[str, Ref], list[Ref]]:
    """Convolution, normalisation, rectifier, convolution, and back to the first one's result."""
    pad = ((0, 0), (1, 1), (1, 1), (0, 0)) if halo else ()
    lines = Lines()
    out = (BATCH, *window.out(*size), channels[2])
    refs = {
        "x": lines.input("x", (BATCH, *size, channels[0])),
        "seed": lines.input("seed", out),
        "w": lines.kept("w", (3, 3, *channels[:2])),
        "v": lines.kept("v", (3, 3, *channels[1:])),
    }
    inner = (BATCH, *size, channels[1])
    made, normal = lines.made("made", inner), lines.made("normal", inner)
    y, z = lines.made("y", inner, pad=pad), lines.made("z", out)
    lines.add("forward", "CONV2D", w=refs["w"], x=refs["x"], y=made, **SAME.fields())
    kept = normalisation(lines, "norm", made, normal, channels[1])
    lines.add("forward", "RELU", x=normal, y=y)
    lines.add("forward", "CONV2D", w=refs["v"], x=y, y=z, **window.fields())
    lines.add("backward", "COPY", x=refs["seed"], y=z.gradient)
    if adds:
        lines.add("backward", "FILL", y=y.gradient, number=0.5)
    lines.add("backward", "FUSE", kind="epilogue")
    fields = {**window.fields(), "set": ("w",) if adds else ("w", "x")}
    lines.add("backward", "GRADS_CONV2D", w=refs["v"], x=y, y=z, **fields)
    lines.add("backward", "GRADS_RELU", x=normal, y=y, set=("x",))
    lines.add("backward", "END")
    fields = {"eps": EPS, "factor": FACTOR, "set": ("x", "gamma", "beta")}
    lines.add("backward", "GRADS_BATCHNORM2D", x=made, y=normal, **kept, **fields)
    results = [made.gradient, kept["gamma"].gradient, kept["beta"].gradient]
    return fused(lines.program(z)), refs, results


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5, 41])
@pytest.mark.parametrize(
    ("size", "channels"), [((7, 8), (4, 8, 16)), ((5, 7), (4, 20, 36)), ((6, 5), (16, 64, 64))]
)
@pytest.mark.parametrize(("adds", "halo"), [(False, False), (True, False), (False, True)])
def test_a_gradient_leaves_the_sums_of_what_it_makes(
    backend: GlBackend,
    size: tuple[int, int],
    channels: tuple[int, int, int],
    batch: int,
    adds: bool,
    halo: bool,
) -> None:
    program, _, results = chain(size, channels, adds, halo)
    assert not COLUMNS & {*kernels(backend, program, batch)}
    check_chain(backend, program, results, size, channels, batch, adds, SAME)


@pytest.mark.slow
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize(
    ("size", "batch", "taken"), [((8, 16), 4, True), ((6, 10), 3, False), ((7, 16), 8, False)]
)
def test_a_strided_gradient_leaves_sums_where_parts_of_its_phases_are_of_one_length(
    backend: GlBackend, size: tuple[int, int], batch: int, taken: bool, adds: bool
) -> None:
    window, channels = SAME._replace(stride=(2, 2)), (4, 16, 32)
    program, _, results = chain(size, channels, adds, False, window)
    assert bool(COLUMNS & {*kernels(backend, program, batch)}) != taken
    check_chain(backend, program, results, size, channels, batch, adds, window)


def check_chain(
    backend: GlBackend,
    program: Program,
    results: Sequence[Ref],
    size: tuple[int, int],
    channels: Sequence[int],
    batch: int,
    adds: bool,
    window: Window,
) -> None:
    """Gradients of a chain's normalisation equal those written out in float64."""
    x, seed = draw(batch, *size, channels[0]), draw(batch, *window.out(*size), channels[2])
    w, v = draw(3, 3, *channels[:2]) * 0.2, draw(3, 3, *channels[1:]) * 0.2
    given = parameters("norm", channels[1])
    fed = {name: a.astype(np.float32) for name, a in zip("xwv", (x, w, v), strict=True)}
    found = run_once(
        backend, program, batch, *results, seed=seed.astype(np.float32), **fed, **given
    )
    made = conv(x, w, SAME)
    mean, var = made.mean((0, 1, 2)), made.var((0, 1, 2))
    inverse = 1.0 / np.sqrt(var + EPS)
    xhat = (made - mean) * inverse
    normal = xhat * given["norm_gamma"] + given["norm_beta"]
    dy, _ = conv_gradients(np.maximum(normal, 0.0), v, seed, window)
    dy = (dy + 0.5 * adds) * (normal > 0)
    axes = (0, 1, 2)
    centred = dy - dy.mean(axes) - xhat * (dy * xhat).mean(axes)
    wanted = (
        given["norm_gamma"] * inverse * centred, (dy * xhat).sum(axes), dy.sum(axes)
    )  # fmt: skip
    for values, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(values, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("few_groups", [False, True])
@pytest.mark.parametrize("batch", [1, 9])
def test_a_sum_and_a_rectifier_follow_a_normalisation(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, batch: int, few_groups: bool
) -> None:
    if few_groups:
        monkeypatch.setattr(norm, "_JOINING_GROUPS", 2)
    size, channels = (17, 16), (4, 8)
    shape = (BATCH, *size, channels[1])
    lines = Lines()
    x, other = lines.input("x", (BATCH, *size, channels[0])), lines.input("other", shape)
    w = lines.kept("w", (3, 3, *channels))
    made, y = (
        lines.made("made", shape),
        lines.made("y", shape, pad=((0, 0), (1, 1), (1, 1), (0, 0))),
    )
    inner = [lines.made(name, shape, register=True) for name in ("normal", "sum")]
    lines.add("forward", "CONV2D", w=w, x=x, y=made, **SAME.fields())
    lines.add("forward", "FUSE", kind="epilogue")
    normalisation(lines, "norm", made, inner[0], channels[1])
    lines.add("forward", "ADD", x1=inner[0], x2=other, y=inner[1], alpha=1.0, beta=2.0)
    lines.add("forward", "RELU", x=inner[1], y=y)
    lines.add("forward", "END")
    program = fused(lines.program(y))
    assert kernels(backend, program, batch) == ["conv2d", "batchnorm_whole"]
    a, b = draw(batch, *size, channels[0]), draw(batch, *size, channels[1])
    kernel, given = draw(3, 3, *channels) * 0.2, parameters("norm", channels[1])
    fed = {"x": a, "other": b, "w": kernel}
    fed = {name: values.astype(np.float32) for name, values in fed.items()}
    (found,) = run_once(backend, program, batch, y, **fed, **given)
    exact = conv(a, kernel, SAME)
    xhat = (exact - exact.mean((0, 1, 2))) / np.sqrt(exact.var((0, 1, 2)) + EPS)
    wanted = xhat * given["norm_gamma"] + given["norm_beta"] + 2.0 * b
    np.testing.assert_allclose(found, np.maximum(wanted, 0.0), rtol=1e-4, atol=2e-5)


@pytest.mark.slow
def test_normalisations_behind_different_kernels_share_a_program(backend: GlBackend) -> None:
    size, batch = (8, 8), 5
    shape = (BATCH, *size, 16)
    lines = Lines()
    x, w, v = (
        lines.input("x", (BATCH, *size, 3)),
        lines.kept("w", (3, 3, 3, 16)),
        lines.kept("v", (3, 3, 16, 16)),
    )
    source, weights, results = x, w, []
    for k in range(2):
        made, normal = lines.made(f"made_{k}", shape), lines.made(f"normal_{k}", shape)
        y = lines.made(f"y_{k}", shape)
        lines.add("forward", "CONV2D", w=weights, x=source, y=made, **SAME.fields())
        lines.add("forward", "FUSE", kind="epilogue")
        normalisation(lines, f"norm{k}", made, normal, 16)
        lines.add("forward", "RELU", x=normal, y=y)
        lines.add("forward", "END")
        source, weights = y, v
        results.append(y)
    program = fused(lines.program(*results))
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    one, other = (
        kernel
        for _, planned in executable.planned
        for kernel in planned
        if kernel.source.name == "batchnorm_whole"
    )
    executable.close()
    session.close()
    assert one.launch != other.launch
    assert one.source.text == other.source.text
    fed = {"x": draw(batch, *size, 3), "w": draw(3, 3, 3, 16), "v": draw(3, 3, 16, 16) * 0.2}
    given = [parameters(f"norm{k}", 16) for k in range(2)]
    fed32 = {name: values.astype(np.float32) for name, values in fed.items()}
    found = run_once(backend, program, batch, *results, **fed32, **given[0], **given[1])
    exact = fed["x"]
    for k, kernel in enumerate((fed["w"], fed["v"])):
        made = conv(exact, kernel, SAME)
        xhat = (made - made.mean((0, 1, 2))) / np.sqrt(made.var((0, 1, 2)) + EPS)
        wanted = xhat * given[k][f"norm{k}_gamma"] + given[k][f"norm{k}_beta"]
        exact = np.maximum(wanted, 0.0)
        np.testing.assert_allclose(found[k], exact, rtol=1e-4, atol=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 6])
def test_two_normalisations_get_the_sums_of_one_gradient(backend: GlBackend, batch: int) -> None:
    size, channels = (6, 5), (3, 8)
    shape = (BATCH, *size, channels[1])
    lines = Lines()
    x, seed = lines.input("x", (BATCH, *size, channels[0])), lines.input("seed", shape)
    weights = [lines.kept(name, (3, 3, *channels)) for name in "wu"]
    v = lines.kept("v", (3, 3, channels[1], channels[1]))
    made = [lines.made(f"made_{k}", shape) for k in range(2)]
    normal = [lines.made(f"normal_{k}", shape) for k in range(2)]
    y, z = lines.made("y", shape), lines.made("z", shape)
    kept = []
    for k in range(2):
        lines.add("forward", "CONV2D", w=weights[k], x=x, y=made[k], **SAME.fields())
        kept.append(normalisation(lines, f"norm{k}", made[k], normal[k], channels[1]))
    lines.add("forward", "ADD", x1=normal[0], x2=normal[1], y=y, alpha=1.0, beta=3.0)
    lines.add("forward", "CONV2D", w=v, x=y, y=z, **SAME.fields())
    lines.add("backward", "COPY", x=seed, y=z.gradient)
    lines.add("backward", "FUSE", kind="epilogue")
    lines.add("backward", "GRADS_CONV2D", w=v, x=y, y=z, **SAME.fields(), set=("w", "x"))
    fields = {"alpha": 1.0, "beta": 3.0, "set": ("x1", "x2")}
    lines.add("backward", "GRADS_ADD", x1=normal[0], x2=normal[1], y=y, **fields)
    lines.add("backward", "END")
    for k in range(2):
        fields = {"eps": EPS, "factor": FACTOR, "set": ("x", "gamma", "beta")}
        lines.add("backward", "GRADS_BATCHNORM2D", x=made[k], y=normal[k], **kept[k], **fields)
    program = fused(lines.program(z))
    assert not COLUMNS & {*kernels(backend, program, batch)}
    fed = {"x": draw(batch, *size, 3), "seed": draw(batch, *size, 8)}
    fed |= {"w": draw(3, 3, *channels), "u": draw(3, 3, *channels) + 0.1, "v": draw(3, 3, 8, 8)}
    fed32 = {name: values.astype(np.float32) for name, values in fed.items()}
    given = [parameters(f"norm{k}", 8) for k in range(2)]
    wanted = [made[k].gradient for k in range(2)] + [kept[k]["gamma"].gradient for k in range(2)]
    found = run_once(backend, program, batch, *wanted, **fed32, **given[0], **given[1])
    dy, _ = conv_gradients(np.zeros((batch, *size, 8)), fed["v"], fed["seed"], SAME)
    axes = (0, 1, 2)
    for k, factor in enumerate((1.0, 3.0)):
        exact = conv(fed["x"], fed["wu"[k]], SAME)
        inverse = 1.0 / np.sqrt(exact.var(axes) + EPS)
        xhat, g = (exact - exact.mean(axes)) * inverse, dy * factor
        dx = g - g.mean(axes) - xhat * (g * xhat).mean(axes)
        dx *= given[k][f"norm{k}_gamma"] * inverse
        np.testing.assert_allclose(found[k], dx, rtol=1e-4, atol=1e-4 * np.abs(dx).max())
        dgamma = (g * xhat).sum(axes)
        np.testing.assert_allclose(
            found[2 + k], dgamma, rtol=1e-4, atol=1e-4 * np.abs(dgamma).max()
        )


def _after_product(lines: Lines, y: Ref) -> tuple[Ref, Array]:
    w = lines.kept("w", (8, 8))
    z = lines.made("z", (BATCH, 8))
    lines.add("forward", "MATMUL", a=y, b=w, y=z)
    lines.add("backward", "COPY", x=lines.input("seed", (BATCH, 8)), y=z.gradient)
    lines.add("backward", "GRADS_MATMUL", a=y, b=w, y=z, set=("a", "b"))
    return z, draw(8, 8).T


def _after_joining(lines: Lines, y: Ref) -> tuple[Ref, Array]:
    z = lines.made("z", (BATCH, 16))
    parts = (lines.input("other", (BATCH, 8)), y)
    lines.add("forward", "CONCAT", xs=parts, y=z)
    lines.add("backward", "COPY", x=lines.input("seed", (BATCH, 16)), y=z.gradient)
    lines.add("backward", "GRADS_CONCAT", xs=parts, y=z, set=("xs",))
    return z, np.eye(16)[:, 8:]


@pytest.mark.slow
@pytest.mark.parametrize("after", [_after_product, _after_joining])
@pytest.mark.parametrize("batch", [1, 70])
def test_a_gradient_of_another_name_leaves_the_sums_to_the_normalisation(
    backend: GlBackend, after: Callable[[Lines, Ref], tuple[Ref, Array]], batch: int
) -> None:
    lines = Lines()
    x, y = lines.input("x", (BATCH, 8)), lines.made("y", (BATCH, 8))
    kept = {part: lines.kept(f"norm_{part}", (8,)) for part in PARAMETERS}
    fields = {"eps": EPS, "factor": FACTOR}
    lines.add("forward", "BATCHNORM", x=x, y=y, **fields, **kept)
    z, back = after(lines, y)
    fields["set"] = ("x", "gamma", "beta")
    lines.add("backward", "GRADS_BATCHNORM", x=x, y=y, **fields, **kept)
    program = lines.program(z)
    assert fused(program) == program
    given = {"x": draw(batch, 8), "seed": draw(batch, back.shape[0], 2)[..., 0]}
    given |= {"other": given["x"], "w": back.T, **parameters("norm", 8)}
    names = {tensor.name for tensor in program.tensors.values()}
    fed = {name: given[name].astype(np.float32) for name in names & given.keys()}
    wanted = (x.gradient, kept["gamma"].gradient, kept["beta"].gradient)
    found = run_once(backend, program, batch, *wanted, **fed)
    dy = given["seed"] @ back
    inverse = 1.0 / np.sqrt(given["x"].var(0) + EPS)
    xhat = (given["x"] - given["x"].mean(0)) * inverse
    centred = dy - dy.mean(0) - xhat * (dy * xhat).mean(0)
    exact = (given["norm_gamma"] * inverse * centred, (dy * xhat).sum(0), dy.sum(0))
    for values, right in zip(found, exact, strict=True):
        np.testing.assert_allclose(values, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


@pytest.mark.parametrize("batch", [1, 70])
def test_a_loss_leaves_the_sums_to_the_normalisation(backend: GlBackend, batch: int) -> None:
    lines = Lines()
    x, y = lines.input("x", (BATCH, 8)), lines.made("y", (BATCH, 8))
    t, loss = lines.input("t", (BATCH, 8)), lines.made("loss", ())
    kept = {part: lines.kept(f"norm_{part}", (8,)) for part in PARAMETERS}
    fields = {"eps": EPS, "factor": FACTOR}
    lines.add("forward", "BATCHNORM", x=x, y=y, **fields, **kept)
    lines.add("forward", "LOSS_MSE", p=y, t=t, y=loss)
    lines.add("backward", "FILL", y=loss.gradient, number=1.0)
    lines.add("backward", "GRADS_LOSS_MSE", p=y, t=t, y=loss, set=("p",))
    fields["set"] = ("x", "gamma", "beta")
    lines.add("backward", "GRADS_BATCHNORM", x=x, y=y, **fields, **kept)
    given = {"x": draw(batch, 8), "t": draw(batch, 8, 2)[..., 0], **parameters("norm", 8)}
    fed = {name: values.astype(np.float32) for name, values in given.items()}
    wanted = (kept["gamma"].gradient, kept["beta"].gradient)
    program = lines.program(loss)
    assert fused(program) == program
    found = run_once(backend, program, batch, *wanted, **fed)
    xhat = (given["x"] - given["x"].mean(0)) / np.sqrt(given["x"].var(0) + EPS)
    dy = xhat * given["norm_gamma"] + given["norm_beta"] - given["t"]
    dy *= 2.0 / dy.size
    for values, right in zip(found, ((dy * xhat).sum(0), dy.sum(0)), strict=True):
        np.testing.assert_allclose(values, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


def small_chain() -> tuple[Program, list[Ref], tuple[int, int], tuple[int, ...]]:
    """A chain whose kernels both leave sums."""
    size, channels = (7, 8), (4, 8, 16)
    program, _, results = chain(size, channels, False, False)
    assert [t.shape for t in partial_tensors(program)] == [(2, 8), (2, 8)]
    return program, results, size, channels


@pytest.mark.slow
def test_few_storages_leave_the_statistics_to_a_dispatch_more(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, results, size, channels = small_chain()
    monkeypatch.setattr(DeviceWork, "caps", replace(backend.work.caps, offered_blocks=8))
    found = kernels(backend, program, 5)
    assert not COLUMNS & {*found}
    assert {"batchnorm_statistics", "batchnorm_elements"} <= {*found}
    assert {"grads_batchnorm_affine", "grads_batchnorm_elements"} <= {*found}
    check_chain(backend, program, results, size, channels, 5, False, SAME)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cpu", "numpy", "gl"])
def test_any_backend_runs_the_groups_part_by_part(kind: str) -> None:
    program, results, size, channels = small_chain()
    for other in opened(kind):
        if isinstance(other, GlBackend) and other.target.is_software:
            found = kernels(other, program, 5)
            assert {"batchnorm_parts", "grads_batchnorm_parts", "grads_batchnorm_totals"} <= {
                *found
            }
        check_chain(other, program, results, size, channels, 5, False, SAME)


@pytest.mark.slow
def test_sums_that_may_not_be_in_parts_are_whole(backend: GlBackend) -> None:
    program, results, size, channels = small_chain()
    whole = [tensor.replace(partial=False) for tensor in partial_tensors(program)]
    program = program.with_tensors(program.tensors.update(whole))
    verify(program)
    batch = 41
    assert {*kernels(backend, program, batch)} >= COLUMNS
    check_chain(backend, program, results, size, channels, batch, False, SAME)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 37])
def test_parts_are_seen_as_they_are_and_join_to_the_sums(backend: GlBackend, batch: int) -> None:
    size = (3, 8)
    lines = Lines()
    x, w = lines.input("x", (BATCH, *size, 4)), lines.kept("w", (3, 3, 4, 8))
    made, y = lines.made("made", (BATCH, *size, 8)), lines.made("y", (BATCH, *size, 8))
    lines.add("forward", "CONV2D", w=w, x=x, y=made, **SAME.fields())
    normalisation(lines, "norm", made, y, 8)
    program = fused(lines.program(made, y))
    (stats,) = partial_tensors(program)
    given = {"x": draw(batch, *size, 4), "w": draw(3, 3, 4, 8), **parameters("norm", 8)}
    session, executable = begun(backend, program, given, batch)
    tap = session.tap(stats.name)
    executable.attach(tap, StepClock())
    tap.request()
    executable.run()
    parts = executable.fetch(stats.ref).result(60).astype(np.float64)
    snapshot = tap.take()
    assert snapshot is not None
    assert snapshot.shape == parts.shape
    np.testing.assert_array_equal(snapshot.array(), parts)
    snapshot.release()
    profiled = [event.mnemonic for event in executable.profile(1).events]
    assert profiled == ["CONV2D+COLUMN_STATS", "BATCHNORM2D"]
    checked = executable.check(keep={stats.ref})[stats.ref]
    exact = executable.fetch(made).result(60).astype(np.float64).reshape(-1, 8)
    (cut,) = executable._storages.row_splits.values()
    executable.close()
    session.close()
    rows = len(exact)
    assert parts.shape == (2, cut.parts, 8)
    assert cut.parts == -(-rows // cut.rows)
    assert (cut.parts > 1) == (batch > 1)
    counts = np.minimum(cut.rows, rows - cut.rows * np.arange(cut.parts))[:, np.newaxis]
    mean = (parts[0] * counts).sum(0) / rows
    squares = (parts[1] + counts * (parts[0] - mean) ** 2).sum(0)
    wanted = np.stack([exact.mean(0), exact.var(0) * rows])
    np.testing.assert_allclose([mean, squares], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(checked, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 8, 300])
@pytest.mark.parametrize(
    ("size", "channels", "filters"), [((4, 4), 3, 128), ((16, 16), 8, 16), ((2, 2), 256, 1024)]
)
def test_parts_take_no_more_room_than_the_plan_gives_them(
    backend: GlBackend, size: tuple[int, int], channels: int, filters: int, batch: int
) -> None:
    lines = Lines()
    shape = (BATCH, *size, filters)
    x, w = lines.input("x", (BATCH, *size, channels)), lines.kept("w", (1, 1, channels, filters))
    made, y = lines.made("made", shape), lines.made("y", shape)
    lines.add("forward", "CONV2D", w=w, x=x, y=made)
    normalisation(lines, "norm", made, y, filters)
    program = fused(lines.program(y))
    (stats,) = partial_tensors(program)
    storage = program.storage(stats.ref)
    planner = Planner(program, batch, 0, backend.work.caps, lambda ref: (0, 0))
    for entry in entries(program):
        planner.plan(entry)
    room = storage_bytes(program, storage, batch, 0, GL)
    assert 2 * planner.row_splits[storage].parts * filters * 4 <= room
    assert room <= 2 * GL.partial_sums * 4


@pytest.mark.parametrize("target", [GL, GL_SOFTWARE], ids=lambda target: target.name)
@pytest.mark.parametrize("batch", [1, 5, 700])
@pytest.mark.parametrize("columns", [3, 8, 130, 1028, 20000])
def test_sums_by_themselves_take_no_more_room_either(
    backend: GlBackend, target: Target, batch: int, columns: int
) -> None:
    lines = Lines()
    x, mean = lines.input("x", (BATCH, 9, columns)), lines.kept("mean", (columns,))
    found = [lines.made(name, (2, columns), partial=True) for name in ("stats", "products")]
    lines.add("forward", "COLUMN_STATS", x=x, y=found[0])
    lines.add("forward", "COLUMN_PRODUCTS", dy=x, x=x, mean=mean, y=found[1])
    program = lines.program()
    verify(program)
    caps = replace(backend.work.caps, is_software=target.is_software)
    planner = Planner(program, batch, 0, caps, lambda ref: (0, 0))
    for ref, entry in zip(found, entries(program), strict=True):
        (one,) = planner.plan(entry)
        storage = program.storage(ref)
        room = storage_bytes(program, storage, batch, 0, target)
        assert StorageBinding(ref, Use.WRITE) in one.bindings
        assert 2 * planner.row_splits[storage].parts * columns * 4 <= room
